"""Hosts that share their pace by address, over several shards: looked up once, and then in one shard for good."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sites import HANGS, Site

from comity import Policy
from comity.audit.prove import prove
from comity.audit.url_status import explain_url
from comity.crawler import Crawler
from comity.crawler.cluster.workers import Workers
from comity.crawler.storage import orders
from comity.crawler.storage.folder import FolderCrawl
from comity.crawler.storage.manifest import part
from comity.crawler.storage.open_crawl import open_crawl
from comity.crawler.storage.placement import ShardAssignment, shard_of
from comity.net import ClientSettings

ADDRESSES = "127.0.0.1", "127.0.0.2"
SHARDS = 3
INTERVAL = 0.1
POLICY = Policy(min_interval=INTERVAL, pace_by="address", allow_addresses=("127.0.0.0/8",))
NAMES = {f"h{number}.test": ADDRESSES[number % 2] for number in range(8)}
PAGES = 3

assert shard_of(ADDRESSES[0], SHARDS) != shard_of(ADDRESSES[1], SHARDS)
assert {shard_of(name, SHARDS) for name in NAMES} == set(range(SHARDS))


@pytest.fixture
def sites() -> Iterator[dict[str, Site]]:
    """Two servers, by address; their hosts lead to each other's."""
    with Site(ADDRESSES[0]) as one, Site(ADDRESSES[1]) as other:
        both = {site.address: site for site in (one, other)}
        for page in range(PAGES):
            for site in both.values():
                site.link(f"/{page}", f"/{page + 1}", *(url(both, name, "/0") for name in NAMES))
        for site in both.values():
            site.link(f"/{PAGES}")
        yield both


def url(sites: dict[str, Site], name: str, path: str) -> str:
    return f"http://{name}:{sites[NAMES[name]].port}{path}"


def crawl(sites: dict[str, Site], folder: Path, **more: Any) -> Crawler:
    names = more.pop("resolve", NAMES)
    return Crawler(
        more.pop("seeds", [url(sites, "h0.test", "/0")]),
        folder,
        policy=POLICY,
        settings={"scope": "any", "sitemaps": False},
        client_settings=ClientSettings(resolve=names, timeout=HANGS),
        workers=Workers(more.pop("workers", 1), shards=SHARDS),
        **more,
    )


def pages(folder: Path) -> Counter[str]:
    found: Counter[str] = Counter()
    for each in FolderCrawl(folder).parts:
        lines = (each / "pages.jsonl").read_text(encoding="utf-8").splitlines()
        found.update(json.loads(line)["url"] for line in lines)
    return found


def see_that_all_is_well(sites: dict[str, Site], folder: Path) -> None:
    assert pages(folder) == Counter(url(sites, name, f"/{page}") for name in NAMES for page in range(PAGES + 1))
    for site in sites.values():
        assert min(site.intervals()) >= INTERVAL
    proof = prove(folder)
    assert (proof.findings, proof.hosts) == ([], len(NAMES))
    for name, address in NAMES.items():
        assert open_crawl(folder).shard_of(name) == shard_of(address, SHARDS)


@pytest.mark.long
def test_hosts_of_one_address_keep_one_pace_over_all_shards(sites: dict[str, Site], tmp_path: Path) -> None:
    done = crawl(sites, tmp_path, workers=2)
    asyncio.run(done.run())
    assert (done.end.left, done.end.limit_reached) == (0, None)
    see_that_all_is_well(sites, tmp_path)
    fate = explain_url(tmp_path, url(sites, "h5.test", "/2"))
    assert (fate.fate, fate.found_on) == ("kept", url(sites, "h5.test", "/1"))


@pytest.mark.long
def test_what_was_settled_outlives_the_process_that_settled_it(sites: dict[str, Site], tmp_path: Path) -> None:
    running = crawl(sites, tmp_path, workers=2)

    async def run() -> None:
        task = asyncio.ensure_future(running.run())
        while not running.processes:
            await asyncio.sleep(0.01)
        for worker in running.processes:
            while not running.stats.pages or not worker.begun:
                assert not task.done()
                await asyncio.sleep(0.01)
            worker.kill()
            while not worker.is_dead or worker.begun:  # started again
                await asyncio.sleep(0.01)
                if worker.deaths:
                    break
        await task

    asyncio.run(run())
    see_that_all_is_well(sites, tmp_path)
    before = {site.address: len(site.seen) for site in sites.values()}
    swapped = {name: next(each for each in ADDRESSES if each != address) for name, address in NAMES.items()}
    asyncio.run(crawl(sites, tmp_path, resolve=swapped, seeds=[]).run())
    assert {site.address: len(site.seen) for site in sites.values()} == before, "nothing is looked up or asked again"
    see_that_all_is_well(sites, tmp_path)


@pytest.mark.long
def test_a_redirect_of_robots_txt_is_followed_by_the_shard_of_the_address(
    sites: dict[str, Site], tmp_path: Path
) -> None:
    here, there = (
        next(name for name in NAMES if NAMES[name] == address and shard_of(name, SHARDS) != shard_of(address, SHARDS))
        for address in ADDRESSES
    )
    sites[ADDRESSES[0]].set("/robots.txt", status=301, headers={"Location": url(sites, there, "/theirs.txt")})
    sites[ADDRESSES[0]].link("/alone", "/private/x")
    sites[ADDRESSES[1]].set("/theirs.txt", "User-agent: *\nDisallow: /private/\n")
    done = crawl(sites, tmp_path, seeds=[url(sites, here, "/alone")])
    asyncio.run(done.run())
    assert (done.stats.pages, done.stats.refused) == (1, 1)
    assert sites[ADDRESSES[1]].paths() == ["/theirs.txt"]
    assert prove(tmp_path).findings == []
    ledger = tmp_path / part(shard_of(ADDRESSES[1], SHARDS)) / "ledger.jsonl"
    records = [json.loads(line) for line in ledger.read_text().splitlines()]
    (sent,) = (record for record in records if record["kind"] == "request")
    assert (sent["host"], sent["pace"]) == (there, ADDRESSES[1])


def test_a_name_without_an_address_is_its_own_shard_s(sites: dict[str, Site], tmp_path: Path) -> None:
    lost = "lost.invalid"
    done = crawl(sites, tmp_path, seeds=[f"http://{lost}/"])
    asyncio.run(done.run())
    assert done.stats.pages == 0
    assert (done.stats.postponed, done.end.left) == (1, 0)
    assert open_crawl(tmp_path).shard_of(lost) == shard_of(lost, SHARDS)


def test_an_order_holds_for_a_host_that_is_met_later(sites: dict[str, Site], tmp_path: Path) -> None:
    orders.give(tmp_path, "h1.test", "stop", None)
    done = crawl(sites, tmp_path)

    async def run() -> None:
        task = asyncio.ensure_future(done.run())
        while done.stats.pages < (PAGES + 1) * (len(NAMES) - 1):
            assert not task.done()
            await asyncio.sleep(0.02)
        done.stop()
        await task

    asyncio.run(run())
    assert pages(tmp_path) == Counter(
        url(sites, name, f"/{page}") for name in NAMES if name != "h1.test" for page in range(PAGES + 1)
    )


def test_a_shard_knows_of_a_host_what_it_settled_or_was_told(tmp_path: Path) -> None:
    first = shard_of("a.test", 2)
    settles, other = (ShardAssignment(number, 2, "address") for number in (first, 1 - first))
    assert settles.has_to_settle("a.test")
    assert settles.elsewhere("a.test") == first
    assert other.elsewhere("a.test") == first
    address = next(each for each in map(str, range(9)) if shard_of(each, 2) != first)
    settles.settled.settle("a.test", address)
    settles.settled.settle("a.test", "another")  # too late
    other.settled.settle("a.test", address)
    assert (settles.elsewhere("a.test"), other.elsewhere("a.test")) == (1 - first, None)
    state = other.settled.save_state() | other.settled.save_state()
    again = ShardAssignment(1 - first, 2, "address")
    again.settled.began(state.get)
    assert (again.settled.get("a.test"), again.elsewhere("a.test")) == (address, None)
    assert again.settled.save_state() == {}
    again.settled.settle("b.test", "x")
    assert not again.settled.save_state().keys() & state.keys(), "what was kept stays"
