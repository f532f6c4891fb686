"""The demo site shows what a polite crawl is: the server's own log is the witness."""

import asyncio
import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from commands import process

from comity import Crawler, Policy
from comity.demo import serve
from comity.demo.pages import hosts
from comity.net import ClientSettings

NEVER = {
    "library": {"/vault/gold", "/vault/silver", *(f"/shelf/{number}?sort=colour" for number in range(1, 7))},
    "market": {
        *("/basket", "/calendar/2026-11", "/calendar/2026-12", "/scales.exe"),
        *("/rumours", "/secret-a", "/secret-b"),
    },
    "fortress": {"/", "/keep"},
    "fog": {"/"},
}


def test_what_must_not_be_fetched_exists() -> None:
    site = hosts(80)
    for name, paths in NEVER.items():
        assert paths <= set(site[f"{name}.demo.localhost"]), name


async def _crawl(folder: Path) -> tuple[Crawler, list[tuple[float, str, str]]]:
    with serve() as site:
        crawler = Crawler(
            site.seeds,
            folder,
            policy=Policy(min_interval=0.1, allow_addresses=("127.0.0.0/8",)),
            client_settings=ClientSettings(resolve=site.resolve),
        )
        await crawler.run()
        return crawler, [(seen.time, seen.host.partition(".")[0], seen.path) for seen in site.log]


# covers: Y1, F15, W2, W4, L6
@pytest.mark.waits
def test_a_crawl_of_the_demo_is_polite_by_the_servers_own_log(tmp_path: Path) -> None:
    crawler, log = asyncio.run(_crawl(tmp_path))
    by_host = defaultdict(list)
    for time, host, path in log:
        by_host[host].append((time, path))
    for host, paths in NEVER.items():
        assert not paths & {path for _, path in by_host[host]}, host
    for host, requests in by_host.items():
        assert requests[0][1] == "/robots.txt"
        times = [time for time, _ in requests]
        least = {"library": 0.3, "slow": 0.8}.get(host, 0.1)
        # The first page may come after our own interval: until robots.txt is read, no other is known.
        intervals = [later - earlier for earlier, later in pairwise(times[1:])]
        assert min(intervals, default=least) >= least, host
        assert min([times[1] - times[0]] if len(times) > 1 else [0.1]) >= 0.1, host
    fetched = {
        (urlsplit(json.loads(line)["url"]).netloc.partition(".")[0], urlsplit(json.loads(line)["url"]).path)
        for line in (tmp_path / "pages.jsonl").read_text().splitlines()
    }
    expected = {("library", f"/catalogue/{letter}") for letter in "abcdef"}
    expected |= {("library", "/vault/open-day"), ("library", "/reading-room"), ("harbour", "/caf%C3%A9")}
    expected |= {("slow", "/glacier"), ("harbour", "/new-pier"), ("storm", "/eye"), ("market", "/stall/eggs")}
    assert expected <= fetched
    assert crawler.stats.sitemaps == 2
    assert crawler.stats.refused >= 12
    assert crawler.stats.postponed == 1, "the fog has not lifted"
    assert crawler.stats.failed == 4, "500, a dropped connection and two links to nothing"


@pytest.mark.long
@pytest.mark.waits
def test_the_command_crawls_the_demo(tmp_path: Path) -> None:
    answer = process("crawl", "--demo", "-o", str(tmp_path / "out"), "--delay", "0.05", "--json")
    assert answer.returncode == 2, answer.stderr
    assert json.loads(answer.stdout)["pages"] > 30
