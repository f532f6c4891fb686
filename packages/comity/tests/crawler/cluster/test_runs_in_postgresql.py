"""Runs of a crawl in PostgreSQL: who belongs to an earlier one, or to another crawl, takes nothing and writes nothing;
what a database that has lost its last commits gave out is not given out twice.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from commands import ALLOW, comity
from postgres import Server
from sites import HANGS, Site, linked
from stores import PostgresStore, drop, exists

from comity import CrawlSettings, Policy
from comity.crawler.cluster.in_store import InStore
from comity.crawler.cluster.jobs import Job, name_of_process, on_machine
from comity.crawler.cluster.member import Member, worker_of
from comity.crawler.cluster.worker_process import WorkerProcess
from comity.crawler.cluster.workers import Workers
from comity.crawler.observe.snapshot import ShardStatus
from comity.crawler.storage import leases, tables
from comity.crawler.storage.leases import Leases, number_of
from comity.crawler.storage.manifest import LOST_PREFIX, CrawlManifest
from comity.crawler.storage.output_folder import take_folder, truncate_to_commit
from comity.crawler.storage.store import CrawlStore, StoreClock
from comity.crawler.storage.stored_config import settings_to_dict
from comity.errors import StorageError
from comity.frontier.messages import AT_ONCE
from comity.frontier.postgresql import database
from comity.frontier.postgresql.store import ShardParcels
from comity.frontier.values import Batch, EntryKind, Found, LeaseLost, Message, Run, State, Superseded
from comity.net import ClientSettings
from comity.policy.policy import policy_to_dict

QUICK = Policy(min_interval=0, allow_addresses=("127.0.0.0/8",))
SHARDS = 4
TABLES = ("crawl", "fence", "shard", "part", "parcel", "fact", "host", "waiting", "aside", "source", "seen", "visit")


class Crawl:
    """A crawl in a store that has been begun."""

    def __init__(self, server: Server, seeds: list[str], *, lease: float = 600.0) -> None:
        self.url = server.url(f"runs_{os.getpid()}_{time.monotonic_ns()}")
        self.store = CrawlStore(database.address(self.url))
        self.settings = CrawlSettings(scope="any")
        self.manifest = CrawlManifest(
            SHARDS, seeds=seeds, policy=policy_to_dict(QUICK), settings=settings_to_dict(self.settings)
        )
        self.lease = lease
        self.make()

    def make(self) -> None:
        with self.store.open() as db:
            tables.make(db, self.store.where, SHARDS, asdict(self.manifest), lease=self.lease)

    def drop(self) -> None:
        with closing(self.store), self.store.open() as db:
            drop(db, self.store.where)

    def next_run(self) -> Run:
        return self.store.begin_run(asdict(self.manifest), None)

    def member(self, run: Run, folder: Path) -> Member:
        folder.mkdir(exist_ok=True)  # as the command that starts it does
        manifest = replace(self.manifest, crawl=run.crawl, run=run.number)
        name = f"m:{time.monotonic_ns()}"
        return worker_of(
            Job(folder, name, manifest, QUICK, self.settings, ClientSettings(), self.url, self.lease), lambda *_: None
        )

    async def works(self, run: Run, folder: Path) -> None:
        """A worker, from its beginning to its end."""
        async with asyncio.timeout(HANGS):
            await self.member(run, folder).run(lambda _: None)


@pytest.fixture
def crawl(postgres: Server, site: Site) -> Iterator[Crawl]:
    site.link("/", "/1")
    site.link("/1")
    made = Crawl(postgres, [site.url("/")], lease=1.0)
    yield made
    made.drop()


@pytest.fixture
def store(postgres: Server) -> Iterator[PostgresStore]:
    made = PostgresStore(postgres, shards=2, lease=1.0)
    yield made
    made.remove()


def found(number: int) -> Found:
    return Found(f"http://a.example/{number}", "a.example", 0, EntryKind.PAGE, State.QUEUED)


def wait_for(holds: Callable[[], Any]) -> None:
    deadline = time.monotonic() + HANGS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_worker_of_an_earlier_run_takes_nothing_and_says_why_it_ends(
    crawl: Crawl, site: Site, tmp_path: Path
) -> None:
    earlier = crawl.store.crawl().run
    now = crawl.next_run()
    assert now == Run(earlier.crawl, earlier.number + 1)
    with pytest.raises(Superseded, match=r"run 2 of the crawl in .* has begun.* and this is run 1"):
        asyncio.run(crawl.works(earlier, tmp_path / "old"))
    assert site.seen == []
    assert crawl.store.parts() == []
    assert all(row.holder is None for row in crawl.store.status().rows)
    asyncio.run(crawl.works(now, tmp_path / "new"))
    assert {row.now.state for row in crawl.store.status().rows} == {"ended"}


def test_a_crawl_that_is_begun_anew_under_one_name_is_another(crawl: Crawl, site: Site, tmp_path: Path) -> None:
    earlier = crawl.store.crawl().run
    crawl.drop()
    crawl.make()
    with pytest.raises(Superseded, match="another crawl has begun"):
        asyncio.run(crawl.works(earlier, tmp_path / "old"))
    assert site.seen == []
    crawl.store.end(earlier, "by the one before")
    assert crawl.store.crawl().ended is None


def test_no_lease_of_an_earlier_run_keeps_anything(crawl: Crawl) -> None:
    earlier = crawl.store.crawl().run
    with closing(database.connect(crawl.store.where)) as db:
        old = Leases(crawl.store.where, "old", 1.0, run=earlier)
        token = old.take(db, 0)
        assert token is not None
        crawl.next_run()  # a lease later: it is seen to stand still
        old.renew(db)
        assert old.tokens == {}
        with pytest.raises(Superseded):
            old.take(db, 1)
        crawl.store.report_status({0: (token, ShardStatus(0, state="working"))})
        assert crawl.store.adjust_quota(0, token) is None
    (row, *_) = crawl.store.status().rows
    assert (row.now.state, row.holder) == ("down", None)


def test_of_two_that_begin_a_run_at_once_one_is_refused(crawl: Crawl) -> None:
    before = crawl.store.crawl().run
    told: list[Run | StorageError] = []

    def begin(name: str) -> None:
        store = CrawlStore(crawl.store.where)
        with closing(store):
            try:
                told.append(store.begin_run(asdict(crawl.manifest), None, after=before, command=(name, "folder")))
            except StorageError as error:
                told.append(error)

    both = [threading.Thread(target=begin, args=(name,)) for name in ("one", "other")]
    for each in both:
        each.start()
    for each in both:
        each.join()
    (refused,) = [each for each in told if isinstance(each, StorageError)]
    assert "is being crawled by another command" in str(refused)
    assert [each for each in told if isinstance(each, Run)] == [Run(before.crawl, before.number + 1)]


def test_a_command_that_has_begun_a_run_and_no_worker_yet_is_there(crawl: Crawl) -> None:
    run = crawl.store.begin_run(asdict(crawl.manifest), None, command=("one", "folder"))
    over = threading.Event()

    def beat() -> None:
        with closing(CrawlStore(crawl.store.where)) as store:
            while not over.wait(0.1):
                store.heartbeat(run, "one", "folder", works=False)

    beating = threading.Thread(target=beat)
    beating.start()
    try:
        with pytest.raises(StorageError, match="is being crawled by another command"):
            crawl.next_run()
        assert crawl.store.is_running()
    finally:
        over.set()
        beating.join()
    assert not crawl.store.is_running(), "a lease later: it died"
    assert crawl.next_run().number == run.number + 1


def test_a_lease_is_over_by_the_clock_of_who_looks_and_by_no_other(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = [1000.0]
    monkeypatch.setattr(leases, "now", lambda: at[0])
    monkeypatch.setattr("comity.crawler.storage.store.now", lambda: at[0])
    with closing(database.connect(store.where)) as db, closing(CrawlStore(store.where)) as looking:
        mine, theirs = Leases(store.where, "mine", 1.0), Leases(store.where, "theirs", 1.0)
        assert mine.take(db, 0) is not None

        def taken() -> int | None:
            row = looking.status().rows[0]
            return theirs.take(db, 0, None if row.holder else (row.token, row.renewal))

        assert taken() is None
        time.sleep(1.2)  # by the database's clock
        assert taken() is None
        at[0] += 0.9
        mine.renew(db)
        at[0] += 0.9
        assert taken() is None, "it was renewed"
        at[0] += 0.9
        assert taken() is None, "that was seen 0.9 s ago"
        seen = looking.status().rows[0]
        at[0] += 0.2
        mine.renew(db)
        assert theirs.take(db, 0, (seen.token, seen.renewal)) is None, "it was renewed between look and take"
        assert taken() is None
        at[0] += 1.0
        assert taken() is not None


def test_a_lease_is_there_with_its_part_of_the_output_or_not_at_all(store: PostgresStore) -> None:
    def stalls(_shard: int, _token: int) -> tuple[str, str]:
        with closing(database.connect(store.where)) as other:
            assert Leases(store.where, "other", 1.0).take(other, 0, (0, 0)) is None
        raise KeyboardInterrupt

    with closing(database.connect(store.where)) as db, closing(CrawlStore(store.where)) as looking:
        one = Leases(store.where, "one", 1.0, part=stalls)
        with pytest.raises(KeyboardInterrupt):
            one.take(db, 0)
        assert (looking.status().rows[0].token, looking.status().rows[0].holder, looking.parts()) == (0, None, [])
        assert one.tokens == {}
        two = Leases(store.where, "two", 1.0, part=lambda shard, token: ("there", f"{shard}-{token}"))
        token = two.take(db, 0)
        (part,) = looking.parts()
        assert (part.token, part.holder, part.folder, part.name) == (token, "two", "there", f"0-{token}")


def test_who_is_suspended_while_taking_a_shard_keeps_it_from_nobody(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("comity.crawler.storage.store.MAX_STOPPED_SECONDS", 0.2)

    def suspended(_shard: int, _token: int) -> tuple[str, str]:
        until = time.monotonic() + HANGS
        with closing(database.connect(store.where)) as other:
            while Leases(store.where, "other", 1.0).take(other, 0) is None:
                assert time.monotonic() < until
                time.sleep(0.05)
        return "here", "part"

    one = Leases(store.where, "one", 1.0, part=suspended)
    with closing(CrawlStore(store.where)) as stopped:
        with pytest.raises(database.Unreachable), stopped.open(patience=2 * HANGS) as db:
            one.take(db, 0)
        assert one.tokens == {}
        assert (stopped.status().rows[0].holder, stopped.parts()) == ("other", [])


def test_a_part_keeps_its_marker_when_the_next_begins_while_it_is_noted(store: PostgresStore) -> None:
    def part(shard: int, token: int) -> tuple[str, str]:
        return "there", f"{shard}-{token}"

    with closing(database.connect(store.where)) as db, closing(CrawlStore(store.where)) as looking:
        first = Leases(store.where, "first", 600.0, part=part)
        token = first.take(db, 0)
        assert token is not None
        noting = threading.Thread(target=looking.end_part, args=(0, token, {"committed": 1}))
        with closing(database.connect(store.where)) as other, other.transaction():
            Leases(store.where, "first", 600.0, part=part).take(other, 0)
            noting.start()
            time.sleep(0.3)
            assert noting.is_alive(), "it waits for the lease that begins"
        noting.join(HANGS)
        before, after = looking.parts()
        assert (before.sink, after.sink) == ({"committed": 1}, None)


class Failover:
    """A database that is set back to where it was, as one is that takes the place of the first without its last
    commits.
    """

    def __init__(self, where: database.Address) -> None:
        self._where = where
        with closing(database.connect(where)) as db:
            for table in TABLES:
                db.execute(f"CREATE TABLE before_{table} AS SELECT * FROM {table}")

    def happens(self) -> None:
        with closing(database.connect(self._where)) as db, db.transaction():
            for table in TABLES:
                columns = ", ".join(
                    name
                    for (name,) in db.execute(
                        "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0", (table,)
                    )
                )
                db.execute(f"DELETE FROM {table}")
                db.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM before_{table}")
            db.execute("UPDATE crawl SET server = server - 1")


def test_a_shard_whose_commits_the_database_has_lost_is_its_holder_s_no_more(store: PostgresStore) -> None:
    frontier = store.open()
    with frontier.commit(Batch(found=[found(1)])) as commit:
        commit.facts |= {"sink": 1}
    failover = Failover(store.where)
    with frontier.commit(Batch(found=[found(2)])) as commit:
        commit.facts |= {"sink": 2}
    failover.happens()
    with pytest.raises(LeaseLost):
        with frontier.commit(Batch(found=[found(3)])) as commit:
            commit.facts |= {"sink": 3}
    frontier._open.close()
    with closing(database.connect(store.where)) as db:
        assert db.execute("SELECT value FROM fact WHERE key = 'sink'").fetchone() == ("1",)


def test_a_lease_that_the_database_has_lost_is_given_out_to_nobody_again(store: PostgresStore) -> None:
    failover = Failover(store.where)
    with closing(database.connect(store.where)) as db, closing(CrawlStore(store.where)) as looking:
        one, other = Leases(store.where, "one", 1.0), Leases(store.where, "other", 1.0)
        before = one.take(db, 0)
        assert before is not None
        failover.happens()
        assert other.take(db, 0) is None, "another server has come: who had what is not known"
        deadline = time.monotonic() + HANGS
        after = None
        while after is None and time.monotonic() < deadline:
            (row, _) = looking.status().rows
            held = one.holds(0, before)
            after = other.take(db, 0, None if row.holder else (row.token, row.renewal))
            assert after is None or not held
        assert after is not None
        assert number_of(after)[0] == number_of(before)[0], "the number is given out twice"
        assert after != before, "the lot is not"
        one.renew(db)
        assert one.tokens == {}


def test_no_parcel_is_forgotten_that_a_receiver_has_taken_and_the_database_has_lost(store: PostgresStore) -> None:
    sender, receiver = store.open(shard=0), store.open(shard=1)
    message = Message("http://b.example/", 1, EntryKind.PAGE)
    with sender.commit(Batch(messages=[(1, message)])):
        pass
    with closing(CrawlStore(store.where)) as looking:
        ((_, parcel),) = looking.parcels()
        with sender.commit(Batch(delivered={1: parcel.number})):
            pass
        assert looking.parcels(), "it is not taken by what the database knows"
        with receiver.commit(Batch(taken={0: parcel.number})):
            pass
        with sender.commit(Batch(delivered={1: parcel.number})):
            pass
        assert looking.parcels() == []
    for each in (sender, receiver):
        each.__exit__(None, None, None)


def test_a_shard_that_sends_much_holds_up_no_other(store: PostgresStore) -> None:
    """What it sent may have to wait for an address, and is read again and again."""
    with ExitStack() as stack:
        thread = stack.enter_context(ThreadPoolExecutor(1))
        db = stack.enter_context(closing(database.connect(store.where)))
        many, one = (stack.enter_context(store.open(shard=number)) for number in range(2))
        for sender, number in ((many, AT_ONCE + 2), (one, 1)):
            for page in range(number):
                message = Message(f"http://b.example/{page}", 1, EntryKind.PAGE)
                with sender.commit(Batch(messages=[(2, message)])):
                    pass
        found = asyncio.run(ShardParcels(lambda: nullcontext(db), thread).parcels(2, {0: 0, 1: 0}))
    assert [sender for sender, _ in found] == [0] * AT_ONCE + [1]


class _Shell(WorkerProcess):
    """As much of a worker as its board asks about."""

    def __init__(self, name: str) -> None:
        self.name = name


def test_a_worker_that_has_the_number_of_another_machine_s_has_not_its_shards(crawl: Crawl, tmp_path: Path) -> None:
    joined = InStore(tmp_path, Workers(2, store=crawl.url, how="join"), refresh=False)
    manifest = joined.config.manifest
    assert manifest is not None
    ours, theirs = name_of_process(0), on_machine(name_of_process(0), "elsewhere")
    with closing(database.connect(crawl.store.where)) as db:
        for name, shard in ((ours, 0), (theirs, 1)):
            assert Leases(crawl.store.where, name, 600.0).take(db, shard) is not None

    async def had() -> list[list[int]]:
        async with joined.begin(manifest, CrawlSettings(), 1, lambda: False) as coordination:
            return [list(coordination.shards_of(_Shell(name))) for name in (ours, theirs)]

    assert asyncio.run(had()) == [[0], [1]]


def test_a_part_that_the_database_has_lost_is_none_of_the_crawl_s(crawl: Crawl, tmp_path: Path) -> None:
    take_folder(crawl.store, tmp_path)
    failover = Failover(crawl.store.where)
    asyncio.run(crawl.works(crawl.store.crawl().run, tmp_path))
    (path,) = [path for path in tmp_path.rglob("pages.jsonl") if path.stat().st_size]
    failover.happens()
    truncate_to_commit(crawl.store, tmp_path, "jsonl")
    assert not path.exists()
    assert (tmp_path / f"{LOST_PREFIX}{path.parent.name}" / path.name).stat().st_size
    asyncio.run(crawl.works(crawl.store.crawl().run, tmp_path))
    kept = [json.loads(line)["url"] for path in tmp_path.glob("shard-*/pages.jsonl") for line in path.open()]
    assert sorted(kept) == sorted(set(kept))
    assert len(kept) == 2


@pytest.mark.long
def test_a_command_that_was_suspended_over_a_run_follows_none_of_its_old_rules(
    postgres: Server, tmp_path: Path
) -> None:
    url = postgres.url(f"suspended_{os.getpid()}_{time.monotonic_ns()}")
    store = CrawlStore(database.address(url))
    words = [sys.executable, "-m", "comity", "crawl", "--store", url, "-q"]
    policy = ["--scope", "any", "--shards", str(SHARDS), *ALLOW]
    with ExitStack() as stack:
        sites = linked(stack, 6, 30)
        stack.callback(store.close)

        def run(*more: str) -> "subprocess.Popen[bytes]":
            process = subprocess.Popen(
                [*words, *more], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        def held_by(process: "subprocess.Popen[bytes]") -> int:
            return sum(f":{process.pid}:" in (row.holder or "") for row in store.status().rows)

        seeds = [site.url("/0") for site in sites]
        one = run(*seeds, *policy, "--delay", "0.3", "--lease", "2s", "-o", str(tmp_path / "one"))
        wait_for(lambda: exists(store) and held_by(one) == SHARDS)
        other = run("--join", "-o", str(tmp_path / "other"))
        wait_for(lambda: held_by(other) == SHARDS // 2)
        os.killpg(other.pid, signal.SIGSTOP)
        one.send_signal(signal.SIGINT)
        one.wait(HANGS)
        most = sum(stats["pages"] for stats in store.state("stats").values()) + 12
        later = ["--resume", "--delay", "1", "--exclude", "/2*", "--max-pages", str(most), *ALLOW]
        again = run(*later, "-o", str(tmp_path / "one"))
        wait_for(lambda: store.crawl().run.number == 2 and held_by(again) > 0)
        asked = [len(site.seen) for site in sites]
        os.killpg(other.pid, signal.SIGCONT)
        _, said = other.communicate(timeout=HANGS)
        assert b"run 2 of the crawl in" in said, said
        assert other.returncode == 73
        again.wait(HANGS)
        for site, before in zip(sites, asked, strict=True):
            assert not [path for path in site.paths()[before:] if path.startswith("/2")]
            assert min(site.intervals()[before:], default=1.0) > 0.99
        told = comity("prove", str(tmp_path / "one"), str(tmp_path / "other"), "--store", url)
        assert told.returncode == 0, told
        kept = comity("pages", str(tmp_path / "one"), str(tmp_path / "other"), "--store", url).stdout.splitlines()
        assert len({json.loads(line)["url"] for line in kept}) == len(kept) <= most
        with store.open() as db:
            drop(db, store.where)


@pytest.mark.long
def test_a_step_of_the_database_s_clock_shortens_no_wait_that_a_site_asked_for(
    crawl: Crawl, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    async def busy(_: web.Request) -> web.StreamResponse:
        asked.append(time.monotonic())
        if len(asked) == 1:
            return web.Response(status=503, headers={"Retry-After": "3"})
        return web.Response(text="<p>1</p>", content_type="text/html")

    site.set("/1", busy)
    told: list[Callable[[Any], None]] = []
    run = crawl.store.crawl().run

    async def work(name: str, requests: int) -> None:
        async with asyncio.timeout(HANGS):
            working = asyncio.ensure_future(crawl.member(run, tmp_path / name).run(told.append))
            while len(asked) < requests and not working.done():
                await asyncio.sleep(0.02)
            told.pop()(("stop",))
            await working

    asyncio.run(work("first", 1))
    clock = StoreClock.of
    monkeypatch.setattr(StoreClock, "of", lambda store: StoreClock(clock(store).wall() + 1000.0))
    asyncio.run(work("second", 2))
    assert asked[1] - asked[0] > 2.99
