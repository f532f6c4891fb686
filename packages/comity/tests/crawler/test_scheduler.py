"""Turns of hosts: slow hosts and hosts that share a pace hold up nobody else, and a stop starts nothing new."""

import asyncio
import json
import time
from collections.abc import Collection
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from aiohttp import web
from clocks import FakeClock
from sites import HANGS, Site

from comity import Crawler, CrawlSettings, Policy
from comity.crawler.run import scheduler
from comity.crawler.run.control import Control
from comity.crawler.storage.folder import FolderStorage
from comity.frontier.store import Committed
from comity.frontier.values import Entry, EntryKind
from comity.net import ClientSettings, Session

LOOPBACK = Policy(allow_addresses=("127.0.0.0/8",))


def crawler(
    folder: Path,
    seeds: list[str],
    policy: Policy,
    names: dict[str, str],
    clock: FakeClock | None = None,
    **settings: object,
) -> Crawler:
    return Crawler(
        seeds,
        FolderStorage(folder, clock=clock),
        policy=policy,
        client_settings=ClientSettings(resolve=names),
        settings=CrawlSettings(sitemaps=False, **settings),
    )


def test_a_host_that_had_its_turn_comes_after_those_that_are_ready() -> None:
    hosts = scheduler.Hosts(lambda: iter(()), lambda _: 0.0)
    first, second = hosts.found("first.example"), hosts.found("second.example")
    hosts.push(first, 1.0)
    hosts.push(second, 2.0)
    turns = []
    for _ in range(4):
        host = hosts.pop_ready(5.0)
        assert host is not None
        turns.append(host.name)
        hosts.push(host, 1.0)
    assert turns == ["first.example", "second.example"] * 2


def test_a_shard_that_waits_for_its_first_fetch_comes_before_the_busy_one_beside_it() -> None:
    async def turns() -> None:
        siblings: list[scheduler.Scheduler] = []
        clock, settings = FakeClock(), CrawlSettings(concurrency=4)
        session = Session(LOOPBACK, ClientSettings(), clock=clock)
        given: Any = SimpleNamespace(settings=settings, clock=clock, siblings=siblings, requests=4)
        both = []
        for _ in range(2):
            control, rest = Control(clock), Mock()
            both.append(scheduler.Scheduler(given, control, rest, session, rest, rest, None))
        busy, other = both
        host, entry = busy.hosts.found("busy.example"), Entry(1, "http://busy.example/", 0, EntryKind.PAGE, 0, 0)
        for _ in range(4):
            task: asyncio.Task[Any] = asyncio.ensure_future(asyncio.sleep(0, None))
            busy.tasks.add(task)
            busy._quick[task] = 0.0
        task.cancel()
        await asyncio.gather(*busy.tasks, return_exceptions=True)
        other.hosts.push(other.hosts.found("other.example"), 0.0)
        assert other.is_full(1.0)
        host.under_way.append(entry.id)
        busy._fetched(task, host, entry)
        assert other._control.alarm._rings
        assert busy.is_full(1.0), "it has its part of two"
        assert not other.is_full(1.0)
        assert not busy.is_full(1.0), "the other one was asked and started nothing"

    asyncio.run(turns())


def full_of_links(site: Site) -> None:
    site.link("/", *(f"/{number}" for number in range(100)))
    for number in range(100):
        site.link(f"/{number}")


def sent(folder: Path, name: str) -> list[float]:
    """When requests to hosts with such a name went out, by the crawl's clock."""
    records = [json.loads(line) for line in (folder / "ledger.jsonl").read_text("ascii").splitlines()]
    return [record["sent"] for record in records if record["kind"] == "request" and name in record["host"]]


@pytest.mark.parametrize("pace_by", ["address", "domain"])
def test_hosts_that_share_a_pace_hold_up_nobody_else(pace_by: str, tmp_path: Path) -> None:
    with Site("127.0.0.1") as shared, Site("127.0.0.2") as other:
        full_of_links(shared)
        full_of_links(other)
        names = {f"h{number}.shared.com": "127.0.0.1" for number in range(30)} | {"b.other.com": "127.0.0.2"}
        seeds = [f"http://{name}:{shared.port}/" for name in names if "shared" in name]
        policy = LOOPBACK.with_changes(min_interval=0.1, pace_by=pace_by)
        seeds.append(f"http://b.other.com:{other.port}/")
        asyncio.run(crawler(tmp_path, seeds, policy, names, FakeClock(), max_seconds=2.0, concurrency=4).run())
    for name in ("shared", "other"):
        times = sent(tmp_path, name)
        assert len(times) >= 16, "of 20 that its pace allows"
        assert min(after - before for before, after in pairwise(times)) >= 0.1 - 1e-6  # floats of Unix time


def test_a_host_whose_time_is_up_passes_its_turn_on(tmp_path: Path) -> None:
    with Site() as site:
        full_of_links(site)
        names = {f"h{number}.shared.com": "127.0.0.1" for number in range(4)}
        seeds = [f"http://{name}:{site.port}/" for name in names]
        policy = LOOPBACK.with_changes(min_interval=0.5, pace_by="domain")
        # The first host's time ends between the request before its turn and its turn, that of the others does not.
        crawl = crawler(tmp_path, seeds, policy, names, FakeClock(), max_seconds_per_host=1.75)
        asyncio.run(crawl.run())
        assert site.paths().count("/robots.txt") == 4
        assert len({seen.headers["Host"] for seen in site.seen if seen.path == "/"}) >= 2
    times = sent(tmp_path, "shared")
    assert len(times) >= 6
    assert min(after - before for before, after in pairwise(times)) >= 0.5


def test_a_stop_starts_nothing_new_though_many_wait(tmp_path: Path) -> None:
    with Site() as site:

        async def busy(request: web.Request) -> web.Response:
            return web.Response(status=503, headers={"Retry-After": "20"})

        site.set("/", busy)
        names = {f"h{number}.shared.com": "127.0.0.1" for number in range(10)}
        crawl = crawler(
            tmp_path,
            [f"http://{name}:{site.port}/" for name in names],
            LOOPBACK.with_changes(min_interval=0.01, pace_by="domain"),
            names,
        )

        async def stopped() -> float:
            running = asyncio.ensure_future(crawl.run())
            while "/" not in site.paths():
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.2)
            crawl.stop()
            began = time.monotonic()
            await running
            return time.monotonic() - began

        assert asyncio.run(asyncio.wait_for(stopped(), HANGS)) < 15, "the site asked for 20 s"
        assert site.paths().count("/") == 1


def test_slow_hosts_hold_up_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "SLOW_FETCH_SECONDS", 0.3)
    with Site() as site, Site("127.0.0.2") as pit:
        full_of_links(site)

        async def never(request: web.Request) -> web.Response:
            await asyncio.sleep(2 * HANGS)
            return web.Response()

        pit.set("/robots.txt", never)
        names = {f"pit{number}.test": "127.0.0.2" for number in range(10)} | {"good.test": "127.0.0.1"}
        seeds = [f"http://{name}:{pit.port}/" for name in names if "pit" in name]
        crawl = crawler(
            tmp_path,
            [*seeds, f"http://good.test:{site.port}/"],
            LOOPBACK.with_changes(min_interval=0.05),
            names,
            concurrency=4,
        )

        async def run() -> None:
            running = asyncio.ensure_future(crawl.run())
            until = time.monotonic() + HANGS
            while crawl.stats.pages < 10 and time.monotonic() < until:
                await asyncio.sleep(0.05)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

        asyncio.run(run())
        assert crawl.stats.pages >= 10


def test_of_a_host_with_an_interval_few_urls_are_in_memory(tmp_path: Path) -> None:
    with Site() as site:
        full_of_links(site)
        crawl = crawler(tmp_path, [site.url("/")], LOOPBACK.with_changes(min_interval=0.05), {}, max_pages=6)
        held = []

        async def run() -> None:
            running = asyncio.ensure_future(crawl.run())
            while not running.done():
                held.extend(host.queued for host in crawl.snapshot().hosts)
                await asyncio.sleep(0.02)
            await running

        asyncio.run(run())
        assert 0 < max(held) <= scheduler.MAX_PACED_HOST_URLS


class Reads:
    """What is asked of the frontier's queue while a crawl runs: of which host, and which ids are to be left out."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[str, set[int]]] = []
        self.hosts: dict[int, str] = {}  # by the id of a URL
        queue = Committed.queue

        def noted(
            committed: Committed, host: str, *, but_not: Collection[int], most: int, kind: EntryKind | None = None
        ) -> list[Entry]:
            entries = queue(committed, host, but_not=but_not, most=most, kind=kind)
            self.asked.append((host, set(but_not)))
            self.hosts |= {entry.id: host for entry in entries}
            return entries

        monkeypatch.setattr(Committed, "queue", noted)


def test_what_is_found_on_a_host_of_which_nothing_else_waits_is_not_read_from_the_frontier(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reads = Reads(monkeypatch)
    with Site() as site:
        for number in range(12):
            site.link(f"/{number}", f"/{number + 1}")
        site.link("/12")
        asyncio.run(crawler(tmp_path, [site.url("/0")], LOOPBACK.with_changes(min_interval=0.5), {}, FakeClock()).run())
        assert site.paths() == ["/robots.txt", *(f"/{number}" for number in range(13))]
    assert len(reads.asked) < 4


def test_only_urls_of_a_host_itself_are_left_out_when_its_queue_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reads = Reads(monkeypatch)
    with Site() as site:
        full_of_links(site)
        names = {f"h{number}.com": "127.0.0.1" for number in range(3)}
        seeds = [f"http://{name}:{site.port}/" for name in names]
        policy = LOOPBACK.with_changes(min_interval=0.01)
        asyncio.run(crawler(tmp_path, seeds, policy, names, FakeClock()).run())
        assert len(site.seen) == 3 * 102
    for host, but_not in reads.asked:
        assert {reads.hosts[each] for each in but_not if each in reads.hosts} <= {host}
