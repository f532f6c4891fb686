"""A crawl in PostgreSQL, worked by several processes that know each other by the store alone."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, closing
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from commands import ALLOW, comity
from examples import first_of
from postgres import Server
from sites import HANGS, Site, linked
from stores import PostgresStore, drop, exists

from comity import CrawlSettings, Policy
from comity.crawler.cluster.in_store import BoardInStore
from comity.crawler.cluster.jobs import Job
from comity.crawler.cluster.member import Member, worker_of
from comity.crawler.output.reader import read_lines
from comity.crawler.storage import leases, tables
from comity.crawler.storage.board import BoardState, Heartbeat, ShardRow
from comity.crawler.storage.leases import Leases
from comity.crawler.storage.manifest import CrawlManifest, stored_in
from comity.crawler.storage.orders import Order
from comity.crawler.storage.output_folder import leave_folder, take_folder, truncate_to_commit
from comity.crawler.storage.placement import shard_of
from comity.crawler.storage.store import CrawlStore, StoreClock
from comity.crawler.storage.stored_config import settings_to_dict
from comity.errors import Postponed, StorageError
from comity.frontier.postgresql import database
from comity.frontier.values import Batch, EntryKind, Found, LeaseLost, State, Unreachable
from comity.net import ClientSettings, Session
from comity.net.turns import Hooks
from comity.policy.policy import policy_to_dict

HOSTS = 6
PAGES = 15
SHARDS = 4
QUICK = Policy(min_interval=0, allow_addresses=("127.0.0.0/8",))


@pytest.fixture
def sites() -> Iterator[list[Site]]:
    """Hosts whose pages lead to each other's."""
    with ExitStack() as stack:
        yield linked(stack, HOSTS, PAGES)


@pytest.fixture
def server(postgres: Server) -> Server:
    return postgres


class Crawl:
    """A crawl in a store, and processes that work it, in this one."""

    def __init__(self, server: Server, seeds: list[str], *, lease: float = 600.0, port: int | None = None) -> None:
        self.url = server.url(f"crawl_{os.getpid()}_{time.monotonic_ns()}", port=port)
        self.store = CrawlStore(database.address(self.url))
        self.lease = lease
        self.seeds = seeds
        self.manifest = CrawlManifest(SHARDS, seeds=seeds)
        self.words: list[tuple[str, Any]] = []

    def begin(self, *, policy: Policy = QUICK, **settings: Any) -> None:
        self.settings = CrawlSettings(scope="any", **settings)
        self.policy = policy
        self.manifest.by = policy.pace_by
        self.manifest.policy, self.manifest.settings = policy_to_dict(policy), settings_to_dict(self.settings)
        with self.store.open() as db:
            tables.make(db, self.store.where, SHARDS, asdict(self.manifest), lease=self.lease)
        self.run = self.store.begin_run(asdict(self.manifest), self.settings.max_pages)

    def member(self, name: str, folder: Path) -> Member:
        folder.mkdir(exist_ok=True)  # as the command that starts it does

        def say(kind: str, *values: Any) -> None:
            self.words.append((f"{name} {kind}", values))

        manifest = replace(self.manifest, crawl=self.run.crawl, run=self.run.number)
        its_name = f"{name}:{time.monotonic_ns()}"
        job = Job(folder, its_name, manifest, self.policy, self.settings, ClientSettings(), self.url, self.lease)
        return worker_of(job, say)

    def said(self, word: str) -> list[Any]:
        return [values for kind, values in self.words if kind == word]


async def until(holds: Callable[[], Any]) -> None:
    async with asyncio.timeout(HANGS):
        while not holds():
            await asyncio.sleep(0.02)


def pages(crawl: Crawl, channel: str = "pages") -> Counter[str]:
    """The URLs in the output of all machines, as far as it is committed."""
    found: Counter[str] = Counter()
    with closing(crawl.store):
        parts = crawl.store.parts()
    for part in parts:
        path = Path(part.folder) / part.name / f"{channel}.jsonl"
        length = ((part.sink or {}).get("committed") or {}).get(channel, 0)
        if path.exists():
            found.update(line.record["url"] for line in read_lines(path) if line.offset + len(line.data) <= length)
    return found


def wanted(sites: list[Site]) -> Counter[str]:
    return Counter(site.url(f"/{page}") for site in sites for page in range(PAGES))


@pytest.mark.parametrize(("count", "pace_by"), first_of((2, "host"), (1, "host"), (2, "address")))
def test_processes_that_know_each_other_by_the_store_alone_crawl_as_one(
    server: Server, sites: list[Site], tmp_path: Path, count: int, pace_by: str
) -> None:
    crawl = Crawl(server, [sites[0].url("/0")])
    crawl.begin(policy=QUICK.with_changes(pace_by=pace_by))

    async def work() -> None:
        await asyncio.gather(*(crawl.member(str(n), tmp_path / str(n)).run(lambda _: None) for n in range(count)))

    asyncio.run(work())
    assert pages(crawl) == wanted(sites)
    assert pages(crawl, "refusals") == Counter(site.url("/private/x") for site in sites)
    assert not ["/private/x" in site.paths() for site in sites].count(True)
    assert all(site.paths().count("/robots.txt") == 1 for site in sites)
    assert {row.now.state for row in crawl.store.status().rows} == {"ended"}
    assert crawl.store.pending() == {}
    crawl.store.close()


@pytest.mark.long
def test_who_comes_later_gets_its_share_and_nothing_is_there_twice(
    server: Server, sites: list[Site], tmp_path: Path
) -> None:
    crawl = Crawl(server, [site.url("/0") for site in sites])
    crawl.begin(policy=QUICK.with_changes(min_interval=0.2))

    def held(name: str) -> int:
        return sum((row.holder or "").startswith(name) for row in crawl.store.status().rows)

    async def work() -> None:
        first = asyncio.ensure_future(crawl.member("first", tmp_path / "first").run(lambda _: None))
        await until(lambda: held("first") == SHARDS)
        second = asyncio.ensure_future(crawl.member("second", tmp_path / "second").run(lambda _: None))
        await until(lambda: held("second") == SHARDS // 2 or second.done())
        assert not second.done()
        assert held("first") == SHARDS // 2
        await asyncio.gather(first, second)

    asyncio.run(work())
    assert pages(crawl) == wanted(sites)
    crawl.store.close()


@pytest.mark.long
def test_a_robots_txt_that_redirects_is_asked_for_by_the_process_that_has_the_host(
    server: Server, sites: list[Site], tmp_path: Path
) -> None:
    asking = sites[0]
    number = shard_of(asking.address, SHARDS)
    lender = next(site for site in sites if shard_of(site.address, SHARDS) % 2 != number % 2)
    asking.set("/robots.txt", status=301, headers={"Location": lender.url("/robots-of-another")})
    lender.set("/robots-of-another", "User-agent: *\nDisallow: /private/\nDisallow: /3\n", content_type="text/plain")
    crawl = Crawl(server, [site.url("/0") for site in sites])
    crawl.begin(policy=QUICK.with_changes(min_interval=0.1))

    async def work() -> None:
        await asyncio.gather(*(crawl.member(str(n), tmp_path / str(n)).run(lambda _: None) for n in range(2)))

    asyncio.run(work())
    assert lender.paths().count("/robots-of-another") == 1
    assert min(lender.intervals()) > 0.09
    assert "/3" not in asking.paths()
    assert "/4" in asking.paths()
    crawl.store.close()


@pytest.mark.long
def test_the_limit_on_pages_is_exact_over_all_processes(server: Server, sites: list[Site], tmp_path: Path) -> None:
    crawl = Crawl(server, [site.url("/0") for site in sites])
    crawl.begin(max_pages=37)

    async def work() -> None:
        await asyncio.gather(*(crawl.member(str(n), tmp_path / str(n)).run(lambda _: None) for n in range(2)))

    asyncio.run(work())
    assert pages(crawl).total() == len(pages(crawl)) == 37
    crawl.store.close()


@pytest.mark.long
def test_an_order_reaches_whoever_has_the_host(server: Server, sites: list[Site], tmp_path: Path) -> None:
    crawl = Crawl(server, [site.url("/0") for site in sites])
    crawl.begin(policy=QUICK.with_changes(min_interval=0.1))
    stopped = sites[2]

    async def work() -> None:
        working = asyncio.ensure_future(crawl.member("one", tmp_path / "one").run(lambda _: None))
        await until(lambda: len(stopped.paths()) > 3)
        told = await asyncio.to_thread(comity, "frontier", "stop", "--store", crawl.url, stopped.address)
        assert "effective now" in told.stdout, told
        await until(lambda: _in_force(tmp_path, stopped.address))
        asked = len(stopped.paths())
        await until(lambda: {row.now.state for row in crawl.store.status().rows} == {"ended"} or working.done())
        await working
        assert len(stopped.paths()) <= asked + 1, "one request may have been on its way"

    asyncio.run(work())
    for site in sites:
        if site is not stopped:
            assert site.paths().count("/0") == 1
    shown = comity("frontier", "--store", crawl.url)
    assert f"{stopped.address} " in shown.stdout, shown
    assert shown.stdout.count("  ended\n") == SHARDS, shown
    crawl.store.close()


def _in_force(folder: Path, host: str) -> bool:
    return any(
        line.record.get("kind") == "order" and line.record.get("host") == host
        for path in folder.rglob("ledger.jsonl")
        for line in read_lines(path)
    )


def test_nothing_goes_out_over_a_connection_that_is_there_once_the_lease_is_over(site: Site) -> None:
    site.link("/1")
    site.link("/2")

    async def work() -> None:
        ours = True
        async with Session(QUICK, ClientSettings(max_wait=None), hooks=Hooks(may_send=lambda: ours)) as session:
            assert (await session.fetch(site.url("/1"))).status == 200
            ours = False
            with pytest.raises(Postponed, match="belongs to another process"):
                await session.fetch(site.url("/2"))
            ours = True
            assert (await session.fetch(site.url("/2"))).status == 200

    asyncio.run(work())
    assert site.paths() == ["/robots.txt", "/1", "/2"]


@pytest.mark.long
def test_who_stops_leaves_its_shards_to_the_others(server: Server, sites: list[Site], tmp_path: Path) -> None:
    crawl = Crawl(server, [site.url("/0") for site in sites])
    crawl.begin(policy=QUICK.with_changes(min_interval=0.1))

    async def work() -> None:
        told: list[Callable[[Any], None]] = []
        first = asyncio.ensure_future(crawl.member("first", tmp_path / "first").run(told.append))
        second = asyncio.ensure_future(crawl.member("second", tmp_path / "second").run(lambda _: None))
        await until(lambda: sum(len(site.seen) for site in sites) > 3 * HOSTS)
        told[0](("stop",))
        await first
        assert not any((row.holder or "").startswith("first") for row in crawl.store.status().rows), (
            "the lease is not run out"
        )
        await second

    asyncio.run(work())
    assert pages(crawl) == wanted(sites)
    crawl.store.close()


@pytest.mark.long
def test_a_shard_taken_just_when_its_process_is_to_stop_is_let_go(
    server: Server, sites: list[Site], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = Crawl(server, [site.url("/0") for site in sites])
    crawl.begin()

    async def work() -> None:
        told: list[Callable[[Any], None]] = []
        loop, go_round = asyncio.get_running_loop(), BoardInStore.round

        def stopped_meanwhile(board: BoardInStore, holder: str, asked: Any) -> Any:
            answer = go_round(board, holder, asked)
            if answer.taken:
                loop.call_soon_threadsafe(told[0], ("stop",))
            return answer

        monkeypatch.setattr(BoardInStore, "round", stopped_meanwhile)
        async with asyncio.timeout(HANGS):
            await crawl.member("only", tmp_path / "only").run(told.append)

    asyncio.run(work())
    assert not any(row.holder for row in crawl.store.status().rows)
    crawl.store.close()


@pytest.mark.long
def test_a_lease_ends_for_its_holder_before_it_ends_for_others(server: Server) -> None:
    store = PostgresStore(server, lease=4.0)
    with closing(database.connect(store.where)) as db:
        mine, theirs = Leases(store.where, "mine", 4.0), Leases(store.where, "theirs", 4.0)
        token = mine.take(db, 0)
        assert token is not None
        assert mine.holds(0, token)
        assert theirs.take(db, 0) is None, "somebody has it"
        later = None
        looking = CrawlStore(store.where)
        deadline = time.monotonic() + HANGS
        while later is None and time.monotonic() < deadline:
            held = mine.holds(0, token)
            (row,) = looking.status().rows
            later = theirs.take(db, 0, None if row.holder else (row.token, row.renewal))
            assert later is None or not held or not mine.holds(0, token)
        looking.close()
        assert later is not None
        assert later > token
        assert not mine.holds(0, token)
        mine.renew(db)
        assert mine.tokens == {}, "it learns that it has lost the shard"
        assert theirs.holds(0, later)
        theirs.release(db, [0])
        assert (mine.take(db, 0) or 0) > later, "what is let go is free at once"
    store.remove()


def test_a_clock_that_is_set_changes_no_lease(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    store = PostgresStore(server, lease=600.0)
    with closing(database.connect(store.where)) as db:
        mine = Leases(store.where, "mine", 600.0)
        token = mine.take(db, 0)
        assert token is not None
        monkeypatch.setattr(time, "time", lambda: 4e9)
        assert mine.holds(0, token)
        monkeypatch.setattr(leases, "now", lambda: 1e12)  # it was asleep
        assert not mine.holds(0, token)
    store.remove()


def test_a_new_holder_waits_for_a_commit_that_is_under_way(server: Server) -> None:
    store = PostgresStore(server)
    frontier = store.open()
    found = Found("http://a.example/1", "a.example", 0, EntryKind.PAGE, State.QUEUED)
    with closing(database.connect(store.where)) as db:
        taken: list[int | None] = []

        with frontier.commit(Batch(found=[found])):
            over = db.execute("SELECT token, renewal FROM shard").fetchone()  # it lasts too long
            taken.append(Leases(store.where, "other", 600.0).take(db, 0, over))
        assert taken == [None], "the commit was there first"
        over = db.execute("SELECT token, renewal FROM shard").fetchone()
        assert Leases(store.where, "other", 600.0).take(db, 0, over) is not None
        with pytest.raises(LeaseLost, match="in use by another"), frontier.commit(Batch(found=[found])):
            pass
    assert frontier.counts()[State.QUEUED] == 1
    frontier.__exit__()
    store.remove()


class Wire:
    """Between a process and the database: passes octets on, holds them back, or ends every connection."""

    def __init__(self, server: Server) -> None:
        self._to = server.port
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def up(self) -> AsyncIterator[int]:
        listening = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        try:
            yield listening.sockets[0].getsockname()[1]
        finally:
            listening.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            self.cut()

    def hold(self) -> None:
        self._flowing.clear()

    def go_on(self) -> None:
        self._flowing.set()

    def cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        back, forth = await asyncio.open_connection("127.0.0.1", self._to)
        self._writers |= {writer, forth}

        async def flow(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            with contextlib.suppress(OSError):
                while data := await source.read(1 << 16):
                    await self._flowing.wait()
                    target.write(data)
                    await target.drain()
            target.close()

        await asyncio.gather(flow(reader, forth), flow(back, writer))


@pytest.mark.long
@pytest.mark.waits
@pytest.mark.parametrize("lost", ["cut", "silent"])
def test_who_cannot_reach_the_database_asks_for_nothing_and_goes_on_once_it_can(
    server: Server, sites: list[Site], tmp_path: Path, lost: str
) -> None:
    crawl = Crawl(server, [site.url("/0") for site in sites], lease=2.0)
    crawl.begin(policy=QUICK.with_changes(min_interval=0.2))

    def asked() -> int:
        return sum(len(site.seen) for site in sites)

    async def work() -> None:
        wire = Wire(server)
        loop = asyncio.new_event_loop()  # of its own thread: who waits for the database must not hold the wire up
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        up = wire.up()
        port = asyncio.run_coroutine_threadsafe(up.__aenter__(), loop).result(HANGS)
        url, crawl.url = crawl.url, crawl.url.replace(f"?host={server.socket}&port={server.port}", "?")
        crawl.url = crawl.url.replace("comity@/", f"comity@127.0.0.1:{port}/")
        try:
            working = asyncio.ensure_future(crawl.member("one", tmp_path / "one").run(lambda _: None))
            await until(lambda: asked() > 3 * HOSTS)
            loop.call_soon_threadsafe(wire.hold)
            if lost == "cut":
                loop.call_soon_threadsafe(wire.cut)
            await until(lambda: crawl.said("one notice"))
            (trouble,) = crawl.said("one notice")[0]
            assert "cannot be reached" in trouble
            await until(lambda: not any(row.holder for row in crawl.store.status().rows))
            before = asked()
            await asyncio.sleep(0.5)  # nothing is waited for: should it go wrong, here is the time for it
            assert asked() == before, "the leases are over"
            loop.call_soon_threadsafe(wire.go_on)
            loop.call_soon_threadsafe(wire.cut)
            await working
        finally:
            crawl.url = url
            asyncio.run_coroutine_threadsafe(up.__aexit__(None, None, None), loop).result(HANGS)
            loop.call_soon_threadsafe(loop.stop)
            thread.join(HANGS)
            loop.close()

    asyncio.run(work())
    assert [values[0].rpartition(" ")[2] for values in crawl.said("one notice")][-1] == "back"
    assert pages(crawl) == wanted(sites)
    for site in sites:
        assert min(site.intervals()) > 0.19, "a new holder waits as after a crash"
    crawl.store.close()


@pytest.mark.long
def test_a_lease_taken_just_when_the_connection_breaks_is_not_kept_in_vain(
    server: Server, sites: list[Site], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = Crawl(server, [site.url("/0") for site in sites])
    crawl.begin()
    take, broken = Leases.take, []

    def breaks(leases: Leases, db: Any, *values: Any) -> int | None:
        token = take(leases, db, *values)
        if token is not None and len(broken) < 3:
            broken.append(token)
            raise Unreachable("the connection broke")
        return token

    monkeypatch.setattr(Leases, "take", breaks)

    async def work() -> None:
        async with asyncio.timeout(HANGS):
            await crawl.member("one", tmp_path / "one").run(lambda _: None)

    asyncio.run(work())
    assert len(broken) == 3
    assert pages(crawl) == wanted(sites)
    crawl.store.close()


@pytest.mark.long
def test_the_command_crawls_into_a_store_and_who_joins_after_the_end_hears_what_came_of_it(
    server: Server, sites: list[Site], tmp_path: Path
) -> None:
    url = server.url(f"command_{os.getpid()}_{time.monotonic_ns()}")
    seeds = [site.url("/0") for site in sites]
    words = [*ALLOW, "--scope", "any", "--delay", "0", "--shards", str(SHARDS), "--max-pages", "30"]
    done = comity("crawl", *seeds, "--store", url, *words, "-q", "--json", "-o", str(tmp_path / "out"))
    assert done.returncode == 0, done
    said = json.loads(done.stdout)
    assert (said["pages"], said["ended"]) == (30, "the limit of 30 pages is reached")
    lines = [line for path in tmp_path.rglob("pages.jsonl") for line in read_lines(path)]
    assert len({line.record["url"] for line in lines}) == len(lines) == 30
    again = comity("crawl", "--store", url, "--join", "-q", "--json", "-o", str(tmp_path / "other"))
    assert json.loads(again.stdout)["pages"] == 30
    more = ["--resume", "--max-pages", "50", "-o", str(tmp_path / "out")]
    resumed = comity("crawl", "--store", url, *ALLOW, "--delay", "0", "-q", "--json", *more)
    assert json.loads(resumed.stdout)["pages"] == 50, resumed
    lines = [line for path in tmp_path.rglob("pages.jsonl") for line in read_lines(path)]
    assert len({line.record["url"] for line in lines}) == len(lines) == 50
    refused = comity("crawl", *seeds, "--store", url, "-o", str(tmp_path / "third"))
    assert "already contains a crawl" in refused.stderr, refused
    where = database.address(url)
    with closing(database.connect(where)) as db:
        drop(db, where)
    gone = comity("crawl", "--store", url, "--join", "-o", str(tmp_path / "other"))
    assert "no crawl in" in gone.stderr, gone


@pytest.mark.long
def test_two_crawls_in_one_database_know_nothing_of_each_other(
    server: Server, sites: list[Site], tmp_path: Path
) -> None:
    crawls = {
        f"{name}_{os.getpid()}_{time.monotonic_ns()}": site for name, site in zip(("one", "two"), sites, strict=False)
    }
    commands = [
        (
            sys.executable,
            "-m",
            "comity",
            "crawl",
            site.url("/0"),
            "--store",
            server.url(name),
            *ALLOW,
            "--delay",
            "0",
            "-q",
        )
        for name, site in crawls.items()
    ]
    with ExitStack() as stack:
        running = [
            stack.enter_context(subprocess.Popen([*words, "-o", str(tmp_path / name)], stdout=subprocess.DEVNULL))
            for words, name in zip(commands, crawls, strict=True)
        ]
        assert [each.wait(HANGS) for each in running] == [0, 0]
    for name, site in crawls.items():
        told = comity("pages", str(tmp_path / name), "--store", server.url(name))
        found = Counter(json.loads(line)["url"] for line in told.stdout.splitlines())
        assert found == Counter(site.url(f"/{page}") for page in range(PAGES))
        assert comity("prove", str(tmp_path / name), "--store", server.url(name)).returncode == 0


@pytest.mark.long
def test_a_machine_dies_and_another_goes_on(server: Server, sites: list[Site], tmp_path: Path) -> None:
    url = server.url(f"machines_{os.getpid()}_{time.monotonic_ns()}")
    store = CrawlStore(database.address(url))
    words = ["--store", url, "-q", "--json"]
    policy = [*ALLOW, "--scope", "any", "--delay", "0.2", "--shards", str(SHARDS), "--lease", "2s"]

    def asked() -> int:
        return sum(len(site.seen) for site in sites)

    def until(holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + HANGS
        while not holds() and time.monotonic() < deadline:
            time.sleep(0.02)

    seeds = [site.url("/0") for site in sites]
    first = subprocess.Popen(
        [sys.executable, "-m", "comity", "crawl", *seeds, *policy, *words, "-o", str(tmp_path / "first")],
        stdout=subprocess.DEVNULL,
    )
    with closing(store):
        until(lambda: asked() > 2 * HOSTS or first.poll() is not None)
        first.kill()
        first.wait()
        second = comity("crawl", *words, "--join", "-o", str(tmp_path / "second"))
        assert second.returncode == 0, second
        assert json.loads(second.stdout)["pages"] == HOSTS * PAGES
        again = comity("crawl", *words, "--join", "-o", str(tmp_path / "first"))
        assert json.loads(again.stdout)["ended"] == "the queue is empty"
        found = Counter(line.record["url"] for path in tmp_path.rglob("pages.jsonl") for line in read_lines(path))
        assert found == wanted(sites), "what was not committed is cut off"
        assert all(min(site.intervals()) > 0.19 for site in sites)
        with store.open() as db:
            drop(db, store.where)


@pytest.mark.long
def test_the_shards_of_a_worker_that_was_killed_wait_for_no_lease(
    server: Server, sites: list[Site], tmp_path: Path
) -> None:
    url = server.url(f"killed_{os.getpid()}_{time.monotonic_ns()}")
    store = CrawlStore(database.address(url))
    words = ["--store", url, "--lease", "10m", "--workers", "2"]
    policy = [*ALLOW, "--scope", "any", "--delay", "0.2", "--shards", str(SHARDS), "-q", "--json"]
    command = [sys.executable, "-m", "comity", "crawl", *words, *policy, "-o", str(tmp_path / "out")]
    deadline = time.monotonic() + HANGS
    crawl = subprocess.Popen([*command, *(site.url("/0") for site in sites)], stdout=subprocess.PIPE)
    try:
        with closing(store):
            workers: set[int] = set()
            while len(workers) < 2 or sum(len(site.seen) for site in sites) < 3 * HOSTS:
                assert crawl.poll() is None
                assert time.monotonic() < deadline
                with contextlib.suppress(StorageError):  # it has not begun
                    workers = {row.now.worker for row in store.status().rows if row.holder and row.now.kept} - {0}
                time.sleep(0.02)
        os.kill(min(workers), signal.SIGKILL)
        said, _ = crawl.communicate(timeout=HANGS)
    finally:
        crawl.kill()
    assert json.loads(said)["pages"] == HOSTS * PAGES
    found = Counter(line.record["url"] for path in tmp_path.rglob("pages.jsonl") for line in read_lines(path))
    assert found == wanted(sites)
    assert all(min(site.intervals()) > 0.19 for site in sites)
    with closing(store), store.open() as db:
        drop(db, store.where)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--join",), "add --store"),
        (("--store", "mysql://x/y"), "not a postgresql:// URL"),
        (("--store", "postgresql://h/d?crawl=A-B"), "cannot be a crawl's name"),
        (("--store", "postgresql://127.0.0.1:1/d?connect_timeout=2"), "cannot be reached"),
        (("--store", "postgresql://h/d", "--lease", "0.1"), "is not a number of seconds from 1"),
        (("--store", "postgresql://h/d", "--source", "a:b"), "not possible with --store"),
        (("--store", "postgresql://h/d", "--refresh", "--join"), "--join excludes --resume and --refresh"),
    ],
)
def test_what_cannot_be_is_said_in_words(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = comity("crawl", "http://127.0.0.1/", "-o", str(tmp_path / "out"), *words)
    assert done.returncode != 0
    assert said in done.stderr, done
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://crawler:sec/ret@h/d",
        "postgresql://crawler:sec@ret@h/d",
        "postgresql://crawler:sec%ret@h/d",
        "postgresql://crawler:sec?ret@h/d",
        "postgresql://crawler:sec#ret@h/d",
        "postgresql://crawler:secret@h/d\x01",
        "mysql://crawler:sec@ret@h/d",
        "mysql://h/d?password=secret",
        "",
    ],
)
def test_no_message_shows_a_password_however_the_store_is_written(tmp_path: Path, url: str) -> None:
    done = comity("crawl", "http://127.0.0.1/", "-o", str(tmp_path / "out"), "--store", url)
    assert done.returncode == 64, done
    assert "postgresql://USER" in done.stderr
    assert "sec" not in done.stderr
    assert "ret" not in done.stderr


def test_an_address_is_given_on_as_it_was_written() -> None:
    for written in ("postgresql:///d?host=/run/x", "postgresql://u:a+b%20c@h1:1,[::1]:2/d?options=-c%20jit%3Doff"):
        where = database.address(f"{written}&crawl=one")
        assert (where.conninfo, where.name) == (written, "one")
    assert str(where) == "postgresql://u@h1:1,[::1]:2/d?crawl=one"
    for odd in ("postgresql://crawler:sec\u2100ret@h/d", "postgresql://[crawler:secret@h/d"):  # libpq takes both
        assert database.address(odd).conninfo == odd
        assert str(database.address(odd)) == odd.replace(":sec\u2100ret", "").replace(":secret", "")


@pytest.mark.long
def test_a_folder_is_one_crawl_s(server: Server, site: Site, tmp_path: Path) -> None:
    site.link("/")
    words = [site.url("/"), *ALLOW, "--delay", "0", "-q", "-o", str(tmp_path / "out")]
    one, other = (server.url(f"{name}_{os.getpid()}_{time.monotonic_ns()}") for name in ("one", "other"))
    assert comity("crawl", *words, "--store", one).returncode == 0
    written = {path: path.read_bytes() for path in tmp_path.rglob("*.jsonl")}
    assert any(written.values())
    taken = comity("crawl", *words, "--store", other)
    assert f"holds parts of another crawl, in {database.address(one)} (choose another folder" in taken.stderr, taken
    store = CrawlStore(database.address(other))
    with closing(store):
        assert not exists(store), "nothing is begun that cannot go on"
    assert comity("crawl", *words[:-1], str(tmp_path / "new"), "--store", other).returncode == 0
    joined = comity("crawl", "--store", other, "--join", "-o", str(tmp_path / "out"))
    assert "holds parts of another crawl" in joined.stderr, joined
    assert comity("crawl", "--store", one, "--join", "-q", "-o", str(tmp_path / "out")).returncode == 0
    assert {path: path.read_bytes() for path in tmp_path.joinpath("out").rglob("*.jsonl")} == written
    for url in (one, other):
        with closing(database.connect(database.address(url))) as db:
            drop(db, database.address(url))


def test_a_machine_s_folder_is_read_and_crawled_into_with_its_store_only(
    server: Server, site: Site, tmp_path: Path
) -> None:
    site.link("/")
    url, folder = server.url(f"read_{os.getpid()}_{time.monotonic_ns()}"), tmp_path / "out"
    report = tmp_path / "report.html"
    words = ["--delay", "0", "-q", "-o", str(folder), "--store", url, "--report", str(report)]
    assert comity("crawl", site.url("/"), *ALLOW, *words).returncode == 0
    assert "<h1>comity <span>127.0.0.1</span></h1>" in report.read_text()
    for read in (("prove", folder), ("pages", folder), ("report", folder, "-o", report), ("inspect", folder)):
        done = comity(*map(str, read), "--store", url)
        assert (done.returncode, done.stderr) == (0, ""), (read, done)
    assert json.loads(comity("why", str(folder), site.url("/"), "--json", "--store", url).stdout)["fate"] == "kept"
    part = next(folder.glob("shard-*"))
    for refused in (
        ("prove", part),
        ("pages", part),
        ("crawl", site.url("/"), *ALLOW, "-o", folder),
        ("crawl", "--resume", "-o", folder),
        ("crawl", "--refresh", "-o", folder),
    ):
        done = comity(*map(str, refused))
        assert done.returncode != 0, refused
        assert f"the crawl in {database.address(url)}" in done.stderr, (refused, done)
        assert "--store URL" in done.stderr
    with closing(database.connect(database.address(url))) as db:
        drop(db, database.address(url))


def test_a_server_that_will_not_do_is_refused_before_anything_is_begun(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = server.url(f"small_{os.getpid()}_{time.monotonic_ns()}")
    words = ["crawl", "http://127.0.0.1/", *ALLOW, "-q", "-o", str(tmp_path / "out"), "--store", url]
    done = comity(*words, "--shards", "256")
    assert "256 shards and 1 workers need 516 connections, and the server has" in done.stderr, done
    monkeypatch.setattr(tables, "OLDEST", 999)
    done = comity(*words)
    assert "PostgreSQL 999 or later is needed" in done.stderr, done
    store = CrawlStore(database.address(url))
    with closing(store):
        assert not exists(store)


def test_a_crawl_that_is_begun_can_be_joined_at_once(server: Server) -> None:
    where = database.address(server.url(f"begun_{os.getpid()}_{time.monotonic_ns()}"))
    store = CrawlStore(where)
    with closing(store), store.open() as db:
        tables.make(db, where, SHARDS, {}, lease=600.0, pages=7)
        assert store.crawl().pool == 7, "who joins before anything else is said keeps the limit"
        assert {row.granted for row in store.status().rows} == {0}
        drop(db, where)


@pytest.mark.long
def test_a_shard_whose_end_could_not_be_said_is_taken_again(
    server: Server, sites: list[Site], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = Crawl(server, [site.url("/0") for site in sites], lease=2.0)
    crawl.begin()
    note, broken = CrawlStore.report_status, []

    def breaks(store: CrawlStore, stands: Any, state: str | None = None) -> None:
        if not broken and state == "ended":
            broken.append(stands)
            store.close()
            raise Unreachable("the connection broke")
        note(store, stands, state)

    monkeypatch.setattr(CrawlStore, "report_status", breaks)

    async def work() -> None:
        async with asyncio.timeout(HANGS):
            await crawl.member("one", tmp_path / "one").run(lambda _: None)

    asyncio.run(work())
    assert broken
    assert pages(crawl) == wanted(sites)
    assert {row.now.state for row in crawl.store.status().rows} == {"ended"}
    crawl.store.close()


def test_no_order_is_missed_that_is_given_beside_another(server: Server) -> None:
    crawl = Crawl(server, [])
    crawl.begin()
    with closing(CrawlStore(crawl.store.where)) as one, closing(CrawlStore(crawl.store.where)) as other:
        with one.open() as db, db.transaction():
            one.orders.give(Order("first.example", "stop"))
            second = threading.Thread(target=other.orders.give, args=(Order("second.example", "stop"),))
            second.start()
            deadline = time.monotonic() + HANGS
            while second.is_alive() and not crawl.store.orders.since(0) and time.monotonic() < deadline:
                with crawl.store.open() as looking:
                    if looking.execute(
                        "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'operator_order'::regclass"
                    ).fetchone():
                        break
                time.sleep(0.01)
            assert crawl.store.orders.since(0) == [], "who read the second now would never read the first"
        second.join()
    assert [order.host for _, order in crawl.store.orders.since(0)] == ["first.example", "second.example"]
    with crawl.store.open() as db:
        drop(db, crawl.store.where)
    crawl.store.close()


@pytest.mark.long
def test_a_worker_far_from_its_command_marks_its_folder_and_cuts_back_what_nobody_writes_to(
    server: Server, site: Site, tmp_path: Path
) -> None:
    site.link("/", "/1")
    site.link("/1")
    folder = tmp_path / "far"
    crawl, other = Crawl(server, [site.url("/")]), Crawl(server, [site.url("/")])
    for each in (crawl, other):
        each.begin()
    take_folder(crawl.store, folder)
    asyncio.run(crawl.member("far", folder).run(lambda _: None))
    ours = stored_in(folder)
    assert ours is not None
    assert ours.crawl == crawl.store.crawl().run.crawl
    with pytest.raises(StorageError, match="holds parts of another crawl"):
        take_folder(other.store, folder)
    take_folder(crawl.store, folder)
    path = next(path for path in folder.rglob("pages.jsonl") if path.stat().st_size)
    whole = path.read_bytes()
    with path.open("ab") as file:
        file.write(b"what was not committed")
    number = int(path.parent.name.split("-")[1])
    with crawl.store.open() as db:
        db.execute("UPDATE shard SET holder = %s WHERE number = %s", ("elsewhere:7:0:1", number))
    leave_folder(crawl.store, folder, "jsonl")
    assert path.read_bytes() != whole, "somebody writes to it"
    truncate_to_commit(crawl.store, folder, "jsonl", {"here:7:0:1"})
    assert path.read_bytes() == whole, "who wrote to it is dead"
    with path.open("ab") as file:
        file.write(b"what was not committed")
    with crawl.store.open() as db:
        db.execute("UPDATE shard SET holder = NULL WHERE number = %s", (number,))
    leave_folder(crawl.store, folder, "jsonl")
    assert path.read_bytes() == whole
    assert pages(crawl) == Counter([site.url("/"), site.url("/1")])
    for each in (crawl, other):
        with each.store.open() as db:
            drop(db, each.store.where)
        each.store.close()


@pytest.mark.long
def test_no_interval_is_cut_short_where_a_shard_is_handed_on_and_the_clocks_of_the_two_processes_differ(
    server: Server, sites: list[Site], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = Crawl(server, [site.url("/0") for site in sites])
    crawl.begin(policy=QUICK.with_changes(min_interval=2.0))
    told: list[Callable[[Any], None]] = []

    async def work(name: str, requests: int) -> None:
        async with asyncio.timeout(HANGS):
            working = asyncio.ensure_future(crawl.member(name, tmp_path / name).run(told.append))
            await until(lambda: all(len(site.seen) >= requests for site in sites) or working.done())
            told.pop()(("stop",))
            await working

    asyncio.run(work("first", 1))
    clock = StoreClock.of
    monkeypatch.setattr(StoreClock, "of", lambda store: StoreClock(clock(store).wall() + 5.0))
    asyncio.run(work("second", 2))
    assert all(min(site.intervals()) > 1.99 for site in sites)
    with crawl.store.open() as db:
        drop(db, crawl.store.where)
    crawl.store.close()


def test_a_shard_that_was_lost_makes_nobody_let_go_one_that_is_taken_again_at_once() -> None:
    stopped: list[int] = []

    def held(number: int) -> Any:
        control = SimpleNamespace(stop=lambda: stopped.append(number))
        shard = SimpleNamespace(control=control, is_ours=lambda: number in ours)
        return SimpleNamespace(leaving=False, shard=shard)

    ours = {2}  # of the others the end was not seen yet
    member: Any = SimpleNamespace(_held={number: held(number) for number in (1, 2, 3)})
    rows = [ShardRow(number, holder=holder) for number, holder in enumerate(("other", "other", "ours", "ours"))]
    enough = BoardState(rows, 3, None, None, 0.0).answer("ours", Heartbeat()).enough
    assert enough == 1
    Member._release_surplus(member, enough)
    assert stopped == []
    ours.add(3)
    Member._release_surplus(member, enough)
    Member._release_surplus(member, enough)
    assert stopped == [3], "one at a time"
