"""`comity frontier`: what a crawl has before it, while it runs and after."""

import asyncio
import json
import re
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from commands import ALLOW, comity, complaint, process
from sites import Site

from comity import Crawler, Policy
from comity.crawler.cluster.workers import Workers
from comity.crawler.storage import orders
from comity.crawler.storage.crawl import Delay
from comity.crawler.storage.open_crawl import open_crawl
from comity.frontier.sqlite.database import has_begun
from comity.frontier.sqlite.store import Frontier
from comity.frontier.values import Batch, EntryKind, Found, State
from comity.net import ClientSettings


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = [
        Found(f"https://a.example/{n}", "a.example", 1, EntryKind.PAGE, State.QUEUED, priority=-n) for n in range(4)
    ]
    found.append(Found("https://b.example/map.xml", "b.example", 0, EntryKind.SITEMAP, State.UNASKED))
    found.append(Found("https://b.example/no", "b.example", 0, EntryKind.PAGE, State.REFUSED, refusal={}))
    with Frontier(tmp_path / "frontier.sqlite") as frontier:
        frontier.save_state("seeds", ["https://a.example/"])
        with frontier.commit(Batch(found=found)):
            pass
        with frontier.commit(Batch(settled=[(State.FAILED, 1)], retried=[2])):
            pass
    return tmp_path


def test_it_shows_counts_hosts_and_what_comes_next(folder: Path) -> None:
    answer = comity("frontier", str(folder))
    assert answer.returncode == 0, answer.stderr
    assert [line.split() for line in answer.stdout.splitlines()] == [
        "0 kept, 3 queued, 1 waiting for robots.txt, 1 refused, 1 failed".split(),
        [],
        ["host", "queued", "answered", "refused", "failed"],
        ["a.example", "3", "0", "0", "1"],
        ["b.example", "1", "0", "1", "0"],
        [],
        ["next", "of", "each"],
        ["https://a.example/3", "(depth", "1,", "priority", "-3)"],
        ["https://b.example/map.xml", "(depth", "0,", "sitemap)"],
    ]


@pytest.mark.parametrize("named", ["A.example:8080", "http://a.example:8080/x", "a.example"])
def test_a_host_may_be_named_with_its_port_to_look_at_it_and_to_order_which_holds_for_all_its_ports(
    named: str, folder: Path
) -> None:
    shown = json.loads(comity("frontier", str(folder), "--host", named, "--json").stdout)
    assert [each["host"] for each in shown["hosts"]] == ["a.example"]
    ordered = comity("frontier", "slow", str(folder), named, "30")
    assert ordered.returncode == 0
    assert "between requests to a.example" in ordered.stdout
    assert ("all ports of a.example" in ordered.stderr) == (":8080" in named)
    assert complaint(comity("frontier", str(folder), "--host", "a b")).startswith("comity: ")


def test_one_host_is_shown_in_its_order_up_to_the_limit(folder: Path) -> None:
    shown = json.loads(comity("frontier", str(folder), "--host", "A.example", "--limit", "3", "--json").stdout)
    assert shown["counts"] == {"unasked": 1, "queued": 3, "done": 0, "refused": 1, "failed": 1}
    counts = {"waiting": 3, "done": 0, "refused": 0, "failed": 1}
    assert shown["hosts"] == [{"host": "a.example", **counts, "until": None, "why": None}]
    assert [entry["url"][-1] for entry in shown["next"]] == ["3", "2", "1"]
    assert shown["next"][2] == {
        "url": "https://a.example/1",
        "host": "a.example",
        "kind": "page",
        "priority": -1,
        "depth": 1,
        "attempts": 1,
        "redirects": 0,
    }
    assert "tried once" in comity("frontier", str(folder), "--host", "a.example").stdout


def test_it_reads_beside_a_crawl_that_runs(folder: Path) -> None:
    with Frontier(folder / "frontier.sqlite") as frontier:
        with frontier.commit(Batch(settled=[(State.DONE, 2)])):
            pass
        assert json.loads(process("frontier", str(folder), "--json").stdout)["counts"]["done"] == 1
        with frontier.commit(Batch(settled=[(State.DONE, 3)])):
            pass


@pytest.mark.long
def test_it_says_of_each_host_of_all_shards_until_when_it_is_left_alone_and_why(tmp_path: Path) -> None:
    whys = ("retry_after", "unreachable", "stopped", "interval")
    with ExitStack() as stack:
        sites = [stack.enter_context(Site(f"127.0.0.{number + 1}")) for number in range(len(whys))]
        busy, silent, stopped, slowed = sites
        for site in sites:
            site.link("/", "/1", "/2")
            site.link("/1")
        busy.set("/1", status=503, headers={"Retry-After": "300"})
        silent.set("/robots.txt", status=500)
        orders.give(tmp_path, stopped.address, "stop")
        orders.give(tmp_path, slowed.address, "slow", 3000)
        crawl = Crawler(
            [site.url("/") for site in sites],
            tmp_path,
            policy=Policy(min_interval=0, backoff=0.1, max_backoff=0.1, allow_addresses=("127.0.0.0/8",)),
            settings={"sitemaps": False},
            client_settings=ClientSettings(max_retries=0),
            workers=Workers(2, shards=3),
        )
        hosts = [site.address for site in sites]

        async def run() -> dict[str, Delay]:
            running = asyncio.ensure_future(crawl.run())
            found: dict[str, Delay] = {}
            while not running.done() and [found[host].why for host in hosts if host in found] != list(whys):
                await asyncio.sleep(0.05)
                found = open_crawl(tmp_path).delays(hosts) if all(map(has_begun, databases)) else {}
            crawl.stop()
            await running
            return found

        databases = [tmp_path / f"shard-{number:03}" / "frontier.sqlite" for number in range(3)]
        begun = time.time()
        found = asyncio.run(run())
    assert [found[host].why for host in hosts] == list(whys)
    assert found[stopped.address].until is None
    for site, seconds in ((busy, 300.0), (slowed, 3000.0)):
        assert begun + seconds - 1 < (found[site.address].until or 0) < time.time() + seconds
    told = {each["host"]: each for each in json.loads(comity("frontier", str(tmp_path), "--json").stdout)["hosts"]}
    assert [told[host]["why"] for host in hosts] == list(whys), "a later run has to wait as well"
    lines = {line.split()[0]: line for line in comity("frontier", str(tmp_path)).stdout.splitlines() if line}
    assert lines[stopped.address].endswith("  stopped by the operator")
    assert re.search(r"  for (\d+ s|\d minutes) \(Retry-After\)$", lines[busy.address])
    assert lines[silent.address].endswith("(robots.txt unreachable)")


def test_a_host_that_shares_its_address_waits_for_the_others(tmp_path: Path, site: Site) -> None:
    names = ["one.test", "two.test"]
    site.set("/", status=503, headers={"Retry-After": "300"})
    crawler = Crawler(
        [site.url("/").replace(site.address, name) for name in names],
        tmp_path,
        policy=Policy(min_interval=0, pace_by="address", allow_addresses=("127.0.0.0/8",)),
        settings={"sitemaps": False, "longest_wait": 10},
        client_settings=ClientSettings(resolve=dict.fromkeys(names, site.address), max_retries=0),
    )
    asyncio.run(crawler.run())
    assert [found.why for found in open_crawl(tmp_path).delays([*names, "other.test"]).values()] == ["retry_after"] * 2
    lines = comity("frontier", str(tmp_path)).stdout.splitlines()
    assert sum("(Retry-After)" in line for line in lines) == 2


def test_what_is_wrong_is_said_in_one_line(folder: Path, tmp_path: Path) -> None:
    unknown = comity("frontier", str(folder), "--host", "c.example")
    assert unknown.returncode == 66
    assert "'c.example'" in complaint(unknown)
    for words in (("show", str(folder), "--host", ""), ("stop", str(folder), "")):
        empty = comity("frontier", *words)
        assert empty.returncode == 64
        assert complaint(empty) == "comity: '' names no host (write for example www.example.com)"
    nothing = comity("frontier", str(tmp_path / "nothing"))
    assert nothing.returncode == 66
    assert "no crawl in" in complaint(nothing)
    assert not (tmp_path / "nothing").exists()


def test_a_finished_crawl_has_nothing_waiting(site: Site, tmp_path: Path) -> None:
    site.link("/", "/a")
    site.link("/a")
    folder = str(tmp_path / "out")
    assert comity("crawl", site.url("/"), "-o", folder, "--delay", "0", *ALLOW).returncode == 0
    told = comity("frontier", folder).stdout
    assert told.startswith("2 kept, 0 queued, 0 waiting for robots.txt, 0 refused, 0 failed\n"), (
        "guesses at a sitemap are none"
    )


def test_a_url_too_long_for_a_name_of_a_file_is_told_to_be_no_url(tmp_path: Path) -> None:
    told = comity("why", str(tmp_path), "a" * 400)
    assert told.returncode == 64
    assert "needs a scheme" in told.stderr


def test_frontier_says_that_its_store_lacks_a_url() -> None:
    told = comity("frontier", "--store")
    assert told.returncode == 64
    assert told.stderr == "comity: Option '--store' requires an argument. (try: comity frontier --help)\n"


def test_an_option_without_its_argument_leads_to_the_help_of_its_command() -> None:
    told = comity("crawl", "--report")
    assert told.returncode == 64
    assert told.stderr == "comity: Option '--report' requires an argument. (try: comity crawl --help)\n"
