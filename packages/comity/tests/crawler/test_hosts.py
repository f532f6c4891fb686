"""Hosts in memory are few, however many the crawl has met, and every one of them has its turn."""

import asyncio
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clocks import FakeClock
from sites import Site

from comity import Crawler, CrawlSettings, Policy
from comity.audit.prove import prove
from comity.crawler.run import hosts as room
from comity.crawler.run.fetcher import Fetcher
from comity.crawler.run.hosts import FAR_SECONDS, Hosts
from comity.crawler.run.scheduler import Scheduler
from comity.crawler.storage.folder import FolderStorage
from comity.frontier.sqlite.store import View
from comity.frontier.values import Entry
from comity.net import ClientSettings

ROOM = 8


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MAX_HOSTS", ROOM)


def begun(names: list[str], ready: dict[str, float] | None = None) -> Hosts:
    hosts = Hosts(lambda: iter(list(names)), lambda name: (ready or {}).get(name, 0.0))
    hosts.look_again()
    return hosts


def turns(hosts: Hosts, now: float, most: int = 10_000) -> Iterator[room.Host]:
    for _ in range(most):
        hosts.fill(now)
        host = hosts.pop_ready(now)
        if host is None:
            return
        yield host


@pytest.mark.usefixtures("small")
def test_every_host_in_the_frontier_has_its_turn_though_few_are_in_memory() -> None:
    left = [f"h{number}.example" for number in range(100)]
    hosts = begun(left)
    met = []
    for host in turns(hosts, 1.0):
        assert len(hosts) <= ROOM + 1
        met.append(host.name)
        left.remove(host.name)
        host.drained = True
        hosts.rest(host)
    assert sorted(met) == sorted(f"h{number}.example" for number in range(100))
    assert hosts.next_time() is None


@pytest.mark.usefixtures("small")
def test_hosts_with_much_to_do_take_turns_with_those_that_wait_in_the_frontier() -> None:
    names = [f"h{number}.example" for number in range(3 * ROOM)]
    hosts = begun(names)
    had = dict.fromkeys(names, 0)
    for host in turns(hosts, 1.0, most=12 * len(names)):
        had[host.name] += 1
        if hosts.is_crowded:
            hosts.leave(host)  # it has more to do, in the frontier
        else:
            hosts.push(host, 0.0)
    assert min(had.values()) >= 3


@pytest.mark.usefixtures("small")
def test_hosts_that_are_left_alone_for_long_do_not_keep_others_out() -> None:
    silent = [f"silent{number}.example" for number in range(ROOM)]
    hosts = begun([*silent, "a.example", "b.example"])
    met = []
    for host in turns(hosts, 1.0):
        met.append(host.name)
        if host.name in silent:
            hosts.push(host, 1.0 + 2 * FAR_SECONDS)
        else:
            hosts.rest(host)
    assert sorted(met) == sorted([*silent, "a.example", "b.example"])
    assert hosts.next_time() == 1.0 + 2 * FAR_SECONDS
    assert {host.name for host in turns(hosts, 2.0 + 2 * FAR_SECONDS)} >= set(silent)


@pytest.mark.usefixtures("small")
def test_who_was_stopped_gives_its_place_up_and_comes_back_when_the_order_is_lifted() -> None:
    stopped = [f"stopped{number}.example" for number in range(ROOM)]
    ready = dict.fromkeys(stopped, float("inf"))
    hosts = begun([*stopped, "a.example"], ready)
    for host in turns(hosts, 1.0):
        if host.name in stopped:
            hosts.push(host, float("inf"))
        else:
            hosts.rest(host)
    assert hosts.next_time() == float("inf")
    assert hosts.first() in stopped
    ready.clear()
    hosts.look_again()
    for host in hosts.all():
        hosts.restart(host)
    back = set()
    for host in turns(hosts, 1.0):
        back.add(host.name)
        hosts.rest(host)
    assert back >= set(stopped)


@pytest.mark.usefixtures("small")
def test_a_crawl_begun_again_reads_no_more_hosts_than_it_has_room_for() -> None:
    read = []

    def names() -> Iterator[str]:
        for number in range(1_000_000):
            read.append(number)
            yield f"h{number}.example"

    hosts = Hosts(names, lambda _: 0.0)
    hosts.look_again()
    hosts.fill(1.0)
    assert hosts.pop_ready(1.0) is not None
    assert len(read) == ROOM


def test_a_host_that_is_not_in_memory_costs_no_memory() -> None:
    """A million would do, in eighty times the time."""

    def cost(number: int) -> int:
        hosts = begun([])
        before = tracemalloc.get_traced_memory()[0]
        for each in range(number):
            hosts.found(f"h{each}.example")
        held = tracemalloc.get_traced_memory()[0] - before
        assert len(hosts) == min(number, room.MAX_HOSTS)
        return held

    tracemalloc.start()
    try:
        assert cost(room.MAX_HOSTS + 12_000) <= cost(room.MAX_HOSTS) + 64 * 1024
        assert cost(room.MAX_HOSTS) < 20 * 1024 * 1024
    finally:
        tracemalloc.stop()


def crawl_of(
    site: Site,
    names: list[str],
    folder: Path,
    clock: FakeClock,
    *,
    interval: float = 1.0,
    **settings: Any,
) -> Crawler:
    """A crawl from the first page of many hosts, all of them one site."""
    return Crawler(
        [f"http://{name}:{site.port}/" for name in names],
        FolderStorage(folder, clock=clock),
        policy=Policy(min_interval=interval, allow_addresses=("127.0.0.0/8",)),
        client_settings=ClientSettings(resolve=dict.fromkeys(names, "127.0.0.1")),
        settings=CrawlSettings(sitemaps=False, **settings),
    )


@pytest.mark.usefixtures("small")
def test_a_crawl_of_more_hosts_than_there_is_room_for_asks_each_for_all_its_pages_and_none_twice(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("comity.crawler.run.scheduler.MAX_PACED_HOST_URLS", 2)
    names = [f"h{number}.test" for number in range(3 * ROOM)]
    with Site() as site:
        site.link("/", *(f"/{number}" for number in range(5)))
        for number in range(5):
            site.link(f"/{number}")
        most = 0

        def page(_: object) -> None:
            nonlocal most
            assert crawl.running is not None
            most = max(most, len(crawl.running.scheduler.hosts))

        crawl = crawl_of(site, names, tmp_path, clock)
        stats = asyncio.run(crawl.run(on_page=page))
        assert stats.pages == 6 * len(names)
        assert most <= ROOM + 1
        asked = [(seen.headers["Host"], seen.path) for seen in site.seen if seen.path != "/robots.txt"]
        assert len(asked) == len(set(asked)) == 6 * len(names)


@pytest.mark.usefixtures("small")
def test_what_is_counted_and_remembered_by_host_is_bounded_and_limits_for_each_hold_all_the_same(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("comity.crawler.finding.limits.MAX_HOSTS", ROOM)
    monkeypatch.setattr("comity.crawler.output.ledger._MAX_PACES", ROOM)
    monkeypatch.setattr("comity.crawler.run.admission.MAX_ORIGINS", ROOM)
    names = [f"h{number}.test" for number in range(4 * ROOM)]
    with Site() as site:
        site.set("/robots.txt", "User-agent: *\nClean-param: sid /\nSitemap: /map.xml\n")
        site.link("/", *(f"/{number}" for number in range(9)))
        for number in range(9):
            site.link(f"/{number}")
        held: list[int] = []

        def page(_: object) -> None:
            run = crawl.running
            assert run is not None
            held.append(max(len(run.resources.ledger._answered), len(run.filter._sitemaps)))

        crawl = crawl_of(site, names, tmp_path, clock, max_pages_per_host=3)
        stats = asyncio.run(crawl.run(on_page=page))
        assert stats.pages == 3 * len(names)
        assert max(held) <= ROOM
        assert prove(tmp_path).holds


def test_while_a_crawl_runs_only_longer_waits_than_the_policys_interval_are_written_down(
    site: Site, tmp_path: Path, clock: FakeClock
) -> None:
    """One that is cut off has every other host left alone for the interval. When it ends, all are written down."""
    names = [f"h{number}.test" for number in range(5)]
    site.link("/", "/a", "/b")
    site.link("/a")
    site.link("/b")
    waits: list[object] = []

    def page(_: object) -> None:
        assert crawl.running is not None
        waits.append(crawl.running.frontier.load_state("waits"))

    crawl = crawl_of(site, names, tmp_path, clock, interval=5.0)
    assert asyncio.run(crawl.run(on_page=page)).pages == 15
    assert all(each == {} for each in waits)
    with View(tmp_path / "frontier.sqlite") as view:
        assert set(view.load_state("waits")) <= set(names)
        assert view.load_state("waits")


@pytest.mark.parametrize("trusts_sitemaps", [True, False])
def test_a_refresh_of_more_hosts_than_there_is_room_for_asks_each_for_all_its_pages(
    trusts_sitemaps: bool, tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host of which no more than robots.txt was read has not had its turn yet: it keeps its place."""
    monkeypatch.setattr(room, "MAX_HOSTS", 2)
    monkeypatch.setattr("comity.crawler.run.admission.MAX_RECENT_URLS", 2)
    names = [f"h{number}.test" for number in range(5)]
    learn, learnt = Fetcher.learn, 0

    async def counted(self: Fetcher, host: room.Host, entry: Entry) -> Entry | None:
        nonlocal learnt
        learnt += 1
        if learnt > 50 * len(names):
            crawl.stop()
        return await learn(self, host, entry)

    monkeypatch.setattr(Fetcher, "learn", counted)
    with Site() as site:
        site.set("/robots.txt", "User-agent: *\nSitemap: /map.xml\n")
        site.link("/", "/a")
        site.link("/a")
        for refresh in (False, True):
            site.seen.clear()
            learnt = 0
            crawl = Crawler(
                [] if refresh else [f"http://{name}:{site.port}/" for name in names],
                FolderStorage(tmp_path, clock=clock),
                policy=Policy(min_interval=1.0, allow_addresses=("127.0.0.0/8",)),
                client_settings=ClientSettings(resolve=dict.fromkeys(names, "127.0.0.1")),
                settings=CrawlSettings(trust_lastmod=trusts_sitemaps, concurrency=1),
                refresh=refresh,
            )
            asyncio.run(crawl.run())
            assert not crawl.stopped, "it learns the same again and again"
            asked = [(seen.headers["Host"], seen.path) for seen in site.seen if seen.path in ("/", "/a")]
            assert len(asked) == len(set(asked)) == 2 * len(names)


def test_hosts_that_share_a_pace_take_no_more_than_half_of_the_places_though_they_were_met_first(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "MAX_HOSTS", 2 * ROOM)
    monkeypatch.setattr("comity.crawler.run.scheduler.MAX_PARKED_HOSTS", 2)
    blogs = [f"b{number}.blogs.test" for number in range(2 * ROOM)]
    others = [f"www.other{number}.test" for number in range(2)]
    with Site() as site:
        site.link("/start", *(f"http://{name}:{site.port}/" for name in blogs), "/next")
        site.link("/next", *(f"http://{name}:{site.port}/" for name in others))
        site.link("/", "/a", "/b", "/c")
        for path in ("/a", "/b", "/c"):
            site.link(path)
        crawl = Crawler(
            f"http://start.test:{site.port}/start",
            FolderStorage(tmp_path, clock=clock),
            policy=Policy(min_interval=1.0, pace_by="domain", allow_addresses=("127.0.0.0/8",)),
            client_settings=ClientSettings(resolve=dict.fromkeys(["start.test", *blogs, *others], "127.0.0.1")),
            settings=CrawlSettings(sitemaps=False, scope="any"),
        )
        parked: list[int] = []
        takes = Scheduler._takes_pace

        def counted(scheduler: Scheduler, host: room.Host) -> bool:
            taken = takes(scheduler, host)
            parked.append(sum(map(len, scheduler._parked.values())))
            return taken

        monkeypatch.setattr(Scheduler, "_takes_pace", counted)
        assert asyncio.run(crawl.run()).pages == 2 + 4 * len(blogs + others)
    assert 2 < max(parked) <= ROOM


def test_what_robots_txt_says_of_parameters_holds_for_a_host_that_comes_back_though_it_was_forgotten(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "MAX_HOSTS", 2)
    monkeypatch.setattr("comity.crawler.run.scheduler.MAX_PACED_HOST_URLS", 1)
    monkeypatch.setattr("comity.crawler.run.admission.MAX_ORIGINS", 3)
    names = [f"h{number}.test" for number in range(5)]
    with Site() as site:
        site.set("/robots.txt", "User-agent: *\nClean-param: sid /p\n")
        site.link("/", *(f"/{number}" for number in range(4)))
        for number in range(4):
            site.link(f"/{number}", f"/p?sid={number}")
            site.link(f"/p?sid={number}")
        site.link("/p")
        crawl = crawl_of(site, names, tmp_path, clock)
        assert asyncio.run(crawl.run()).pages == 6 * len(names)
        assert sum(seen.path == "/p" for seen in site.seen) == len(names)


def test_what_was_met_lately_has_the_same_places_however_much_is_met(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("comity.crawler.run.admission.MAX_RECENT_URLS", 4)
    pages = [f"/{number}" for number in range(12)]
    with Site() as site:
        for page in ("/", *pages):
            site.link(page, *pages)
        policy = Policy(min_interval=0, allow_addresses=("127.0.0.0/8",))
        crawl = Crawler(site.url("/"), FolderStorage(tmp_path, clock=clock), policy=policy)
        asyncio.run(crawl.run())
        assert sorted(path for path in site.paths() if path in pages) == sorted(pages), "each once all the same"
    assert crawl.running is not None
    met = [site.url(path) for path in ("/", *pages)]
    assert len(crawl.running.filter.unmet(met)) == len(met) - 4


def test_a_link_is_looked_for_in_one_place_of_what_was_met_lately(tmp_path: Path, clock: FakeClock) -> None:
    compared = []

    class Counted(str):
        def __eq__(self, other: object) -> bool:
            compared.append(other)
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    with Site() as site:
        crawl = Crawler(
            site.url("/"), FolderStorage(tmp_path, clock=clock), policy=Policy(allow_addresses=("127.0.0.0/8",))
        )
        asyncio.run(crawl.run())
        links = [Counted(site.url(f"/{number}")) for number in range(100)]
        assert crawl.running is not None
        assert len(crawl.running.filter.unmet(links)) == len(links)
    assert len(compared) <= len(links)
