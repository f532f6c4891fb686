"""A crawl in a store: board, parcels, orders and frontiers are there, and workers settle among themselves who has which
shard. A lease says which are a worker's own: nothing is asked of a site and nothing is kept once that is over.

A command begins the crawl, or goes on with one, or joins those who work on it already; it starts workers, tells how the
whole crawl stands, and gives back the shards of those that die.
"""

import asyncio
import math
import time
from asyncio import wrap_future
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from comity.crawler.cluster.jobs import Job, Watched, WorkerMessage, name_of_process
from comity.crawler.cluster.shard import Shard, ShardEnd
from comity.crawler.cluster.worker_process import WorkerProcess
from comity.crawler.cluster.workers import Workers
from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.finding.limits import Spent
from comity.crawler.observe.snapshot import ShardState, ShardStatus
from comity.crawler.run import recrawl
from comity.crawler.run.relay import ORDER_GRACE_SECONDS
from comity.crawler.storage.board import Board, BoardState, Heartbeat, HeartbeatReply, urls_left
from comity.crawler.storage.crawl_output import FINISHED
from comity.crawler.storage.leased_storage import LeasedStorage
from comity.crawler.storage.leases import MAX_RETRY_SECONDS, LeaseKeeper, Leases, number_of
from comity.crawler.storage.manifest import CrawlManifest, part
from comity.crawler.storage.orders import Order
from comity.crawler.storage.output_folder import check_free, is_same, mark_of, truncate_to_commit
from comity.crawler.storage.store import MAX_BULK_SECONDS, CrawlStore, StoreClock
from comity.crawler.storage.stored_config import StoredConfig
from comity.crawler.storage.tables import check_server, make
from comity.errors import InvalidSetting, StorageError
from comity.frontier.postgresql.database import address
from comity.frontier.postgresql.dialect import PostgresDialect
from comity.frontier.postgresql.store import ShardParcels
from comity.frontier.tables import Tables
from comity.frontier.values import LeaseLost, Run, Superseded, Unreachable

NOTE_SECONDS: Final = 1.0  # seconds: what only counts on is said no more often
MIN_LEASE_SECONDS: Final = 1.0
MAX_LEASE_SECONDS: Final = 600.0

_PASSING_REFUSALS: Final = ("the database system is", "too many", "connection slots")
"""What is in a server's refusal to have us that may pass; psycopg gives no code for it."""


class InStore:
    """A crawl in a store, in which the workers of a command take part: see sharded.ShardedCrawl.

    Attributes:
        config: with what it was begun; of none where it begins.
        run: the one that was the last so far; None where there is none.

    Args:
        folder: of this machine: its parts of the output and of the ledger lie there.
    """

    def __init__(self, folder: Path, workers: Workers, *, refresh: bool) -> None:
        try:
            str(folder.absolute()).encode()
        except UnicodeEncodeError as error:
            raise InvalidSetting(
                "folder: its name or a parent's is not UTF-8, and the store must record it",
                hint="name another with -o",
            ) from error
        if not MIN_LEASE_SECONDS <= workers.lease <= MAX_LEASE_SECONDS:
            raise InvalidSetting(
                f"lease: {workers.lease!r} is not a number of seconds from {MIN_LEASE_SECONDS:g} to 600"
            )
        assert workers.store is not None
        self.folder, self.url, self.store = folder, workers.store, CrawlStore(address(workers.store))
        self.how = "refresh" if refresh and workers.how != "join" else workers.how
        self.lease = workers.lease
        self._on_notice, self._waits = workers.on_notice, False
        self.config = StoredConfig()
        self.run: Run | None = None
        if self.how != "begin":
            with closing(self.store):
                while True:
                    try:
                        stored = self.store.crawl()
                        break
                    except Unreachable as error:
                        time.sleep(self._pause_after(error, stopped=False))
            self.run = stored.run
            self.config = StoredConfig.from_manifest(CrawlManifest.read(stored.manifest, self.store.where))

    @asynccontextmanager
    async def begin(
        self, manifest: CrawlManifest, settings: CrawlSettings, workers: int, stopped: Callable[[], bool]
    ) -> AsyncIterator["StoreCoordination"]:
        with closing(self.store), ThreadPoolExecutor(1, "comity-store") as thread:
            name = name_of_process("command")
            leave: Callable[[], None] = partial(self.store.remove_members, name)
            try:
                while True:
                    try:
                        made = thread.submit(StoreCoordination, self, name, manifest, settings, workers, thread)
                        coordination = await wrap_future(made)
                        break
                    except Unreachable as error:
                        await asyncio.sleep(self._pause_after(error, stopped=stopped()))
                leave = coordination.leave
                yield coordination
            finally:  # also of a run that began and was then refused: whoever tries again would wait for a whole lease
                with suppress(StorageError):
                    await wrap_future(thread.submit(leave))

    def _pause_after(self, error: Unreachable, *, stopped: bool) -> float:
        """Seconds until the store is asked again. Who joins waits for it as a worker does, and where nobody lets them
        in, or they are to stop, the error is raised, as for those who begin."""
        said = str(error)
        turned_away = "FATAL" in said and not any(words in said for words in _PASSING_REFUSALS)
        if self.how != "join" or stopped or turned_away or "resolve host" in said:
            raise error
        if not self._waits:
            self._waits = True
            self._on_notice(f"{error}; waiting for it")
        return MAX_RETRY_SECONDS


@dataclass(slots=True)
class _OrdersRead:
    """How far orders were read: the last of runs before, the last of all, and when one to end was."""

    before: int = 0
    last: int = 0
    ended_at: float = math.inf


class StoreCoordination:
    """See processes.Coordination. Made, the run of so many processes has begun in the store. All here blocks but what
    Processes calls; `thread` is where this is made, and the database is asked."""

    resume_option = "--join"

    def __init__(
        self,
        access: InStore,
        name: str,
        manifest: CrawlManifest,
        settings: CrawlSettings,
        workers: int,
        thread: Executor,
    ) -> None:
        folder, store, how, run, pages = access.folder, access.store, access.how, access.run, settings.max_pages
        self.name = name
        command = self.name, str(folder)
        ours = None if how == "begin" else mark_of(store)
        check_free(folder, ours)
        with store.open() as db:
            check_server(db, store.where, manifest.shards, workers)
            if how == "begin":
                make(
                    db, store.where, manifest.shards, asdict(manifest), lease=access.lease, pages=pages, command=command
                )
        (ours or mark_of(store)).write(folder)
        if how == "refresh":
            manifest.refresh += 1
            save = partial(recrawl.begun, manifest.refresh)
            run = store.begin_run(
                asdict(manifest), pages, after=run, command=command, forget=recrawl.FORGOTTEN_FACTS, save=save
            )
        elif how == "resume":
            run = store.begin_run(asdict(manifest), pages, after=run, command=command)
        crawl = store.crawl()
        truncate_to_commit(store, folder, manifest.sink)
        before = max((number for number, _ in store.orders.since()), default=0)
        self.now = {number: ShardStatus(number) for number in range(manifest.shards)}
        self.limit_reached: str | None = None
        self.ended = False
        self._folder = folder
        self._url = access.url
        self._store = store
        self._manifest, self._settings = manifest, settings
        self._thread = thread
        self._run = run or crawl.run
        self._lease = crawl.lease
        self._names: set[str] = set()  # of all processes started
        self._dead: list[str] = []  # of them, those whose shards others may have, which the store does not know yet
        self._holders: dict[int, str] = {}  # of shards, as seen last
        self._looking: Future[None] | None = None
        self._orders = _OrdersRead(before, before)
        self._take_status(store.status())
        self.earlier = sum(now.stats.pages for now in self.now.values())

    async def sum_up(self, ends: Mapping[int, ShardEnd], *, stopped: bool) -> tuple[int, int]:
        """As of Coordination, here and below."""
        return await wrap_future(self._thread.submit(self._sum_up))

    def _sum_up(self) -> tuple[int, int]:
        with suppress(Superseded):
            self._refresh_status()  # first: a connection that broke is made anew
        truncate_to_commit(self._store, self._folder, self._manifest.sink, self._names)
        state = self._store.status()
        self._take_status(state)
        ended, now = state.ended, self.now.values()
        self.ended = ended is not None and all(each.state == "ended" for each in now)
        self.limit_reached = None if ended in (None, FINISHED) else ended
        if self.limit_reached is None and any(each.state == "pages" for each in now):
            kept = Spent(pages=sum(each.spent.pages for each in now))
            self.limit_reached = self._settings.budget.used_up(kept, 0.0)
        with self._store.open() as db:
            (waiting,) = db.execute("SELECT coalesce(sum(unasked + queued), 0) FROM host").fetchone()
        left = urls_left(int(waiting), now, self._store.pending())
        return left, self._count_unasked() if self._manifest.refresh else 0

    def _count_unasked(self) -> int:
        """Pages known from before the refresh under way that wait still."""
        last = {shard: fact["last"] for shard, fact in self._store.state("refresh").items()}
        with self._store.open(MAX_BULK_SECONDS) as db:
            where = self._store.where
            return sum(Tables(PostgresDialect(db, where, shard)).unasked(id_) for shard, id_ in last.items())

    def job(self, worker: WorkerProcess, job: Job) -> Job:
        self._names.add(job.name)
        manifest = replace(self._manifest, crawl=self._run.crawl, run=self._run.number)
        return replace(job, manifest=manifest, store=self._url, lease=self._lease, orders=self._orders.before)

    def received(self, worker: WorkerProcess, message: WorkerMessage) -> None:
        """Workers ask the store."""

    def shards_of(self, worker: WorkerProcess) -> Collection[int]:
        return [number for number, holder in self._holders.items() if is_same(holder, worker.name)]

    def died(self, worker: WorkerProcess) -> None:
        if worker.process is not None and worker.process.is_child:  # else it may live on, until its leases are over
            self._dead.append(worker.name)

    def has_enough(self, *, stopping: bool) -> bool:
        return stopping or all(now.state == "ended" for now in self.now.values())

    def watch(self) -> bool:
        if self._looking is None or self._looking.done():
            if self._looking is not None:
                self._looking.result()  # raises Superseded, and nothing else
            self._looking = self._thread.submit(self._refresh_status)
        return time.monotonic() >= self._orders.ended_at + ORDER_GRACE_SECONDS  # the shards have written it down

    def _refresh_status(self) -> None:
        """See how all shards stand; while the database is away, what was seen last stays. Superseded is raised."""
        try:
            self._store.heartbeat(self._run, self.name, str(self._folder), works=False)
            while self._dead:
                self._store.remove_members(self._dead[0])
                self._dead.pop(0)
            self._take_status(self._store.status())
            for number, order in self._store.orders.since(self._orders.last):
                if order.order == "end":
                    self._orders.ended_at = min(self._orders.ended_at, time.monotonic())
                    self._store.orders.confirm(order)
                self._orders.last = number
        except Superseded:
            raise
        except StorageError:
            pass

    def leave(self) -> None:
        """Take part no more."""
        self._store.remove_members(self.name, *self._dead)

    def _take_status(self, state: BoardState) -> None:
        for row in state.rows:
            self.now[row.number] = row.now
            if row.holder is not None:
                self._holders[row.number] = row.holder


class BoardInStore(Board):
    """The board of a crawl in a store, as one worker of a run asks it, whose parts of the output lie in `folder`.
    Blocks; one thread at a time. `round` raises Superseded where the run is not the crawl's any more."""

    def __init__(self, store: CrawlStore, leases: Leases, settings: CrawlSettings, run: Run, folder: str) -> None:
        super().__init__(settings)
        self._store = store
        self._leases = leases
        self._run = run
        self._folder = folder
        self._reported: dict[int, tuple[object, float]] = {}

    def status(self) -> BoardState:
        return self._store.status()

    def release(self, holder: str, number: int, token: int, state: ShardState, now: ShardStatus) -> None:
        self._store.report_status({number: (token, now)}, state)
        with self._store.open() as db:
            self._leases.release(db, [number])

    def forget(self) -> None:
        """What was said last may not have been heard."""
        self._reported.clear()

    def _note(self, holder: str, stands: Mapping[int, tuple[int, ShardStatus]]) -> None:
        """As of Board; what is not other than what was said last is not said."""
        self._store.heartbeat(self._run, holder, self._folder)
        at, new = time.monotonic(), {}
        for number, (token, now) in stands.items():
            key = token, now.state, dict(now.sent), dict(now.taken), now.granted, now.spent.pages
            said, since = self._reported.get(number, (None, 0.0))
            if key != said or at - since > NOTE_SECONDS:
                self._reported[number] = key, at
                new[number] = token, now
        self._store.report_status(new)

    def _share(self, holder: str, number: int, token: int, kept: int | None) -> None:
        self._store.adjust_quota(number, token, kept)

    def _end(self, why: str) -> None:
        self._store.end(self._run, why)

    def _take(self, state: BoardState, holder: str, asked: Heartbeat) -> list[tuple[int, int]]:
        """Have one more shard, where one is free and it is our turn."""
        for row in state.to_take(holder, asked, self._leases.tokens):
            with self._store.open() as db:
                token = self._leases.take(db, row.number, None if row.holder else (row.token, row.renewal))
            if token is not None:
                return [(row.number, token)]
        return []


class ShardsInStore:
    """See member.Shards."""

    def __init__(self, job: Job, worker: Watched) -> None:
        assert job.store is not None
        self._job = job
        where = address(job.store)
        self.where = str(where)
        self._store = CrawlStore(where)
        self._thread = ThreadPoolExecutor(1, "comity-store")
        self.post = ShardParcels(self._store.open, self._thread)
        self._journal_writer = CrawlStore(where), ThreadPoolExecutor(1, "comity-journal")
        self._storages: dict[tuple[int, int], LeasedStorage] = {}  # by shard and token
        self._orders: list[Order] = []
        self._order = 0  # the last one read
        run, folder = Run(job.manifest.crawl, job.manifest.run), str(job.folder.absolute())
        self._leases = Leases(
            where, job.name, job.lease, run=run, part=lambda shard, token: (folder, part_of(shard, token))
        )
        self._board = BoardInStore(self._store, self._leases, job.settings, run, folder)
        self._keeper = LeaseKeeper(self._leases, where, self._lost, worker.works)

    def _lost(self, shard: int, token: int) -> None:  # in another thread: the loop may wait for the database just now
        if (storage := self._storages.get((shard, token))) is not None:
            storage.abandon()

    async def round(self, asked: Heartbeat) -> HeartbeatReply:
        try:
            answer: HeartbeatReply = await self._in_thread(self._board.round, self._job.name, asked)
            for number, token in answer.taken:
                clock = await self._in_thread(StoreClock.of, self._store)
                self._storages = {lease: storage for lease, storage in self._storages.items() if lease[0] != number}
                folder, lease = self._job.folder / part_of(number, token), (number, token)
                kept = self._leases, clock, self._journal_writer, self._orders
                self._storages[lease] = LeasedStorage(folder, self._job.manifest, lease, *kept)
            orders: list[tuple[int, Order]] = await self._in_thread(self._store.orders.since, self._order)
        except (Unreachable, LeaseLost):
            self._board.forget()
            for number in self._leases.tokens.keys() - asked.busy:
                self._leases.forget(number)  # taken, and then the connection broke: it is taken once more
            raise
        for number, order in orders:
            self._order = number
            if order.order == "end" and number <= self._job.orders:
                continue  # which was for a run before
            self._orders.append(order)  # which all shards read
        return answer

    def storage(self, number: int, token: int) -> LeasedStorage:
        if self._keeper.ident is None:
            self._keeper.start()
        return self._storages[number, token]

    def forget(self, number: int) -> None:
        self._leases.forget(number)

    async def release(self, shard: Shard, state: ShardState) -> None:
        number, now = shard.assignment.number, shard.now(0)
        await self._in_thread(self._board.release, self._job.name, number, shard.token, state, now)

    def received(self, message: WorkerMessage) -> None:
        """It says nothing about shards."""

    async def close(self) -> None:
        self._keeper.close()
        with suppress(StorageError):
            await self._in_thread(self._leave)
        self._thread.shutdown(wait=False)
        journal, writer = self._journal_writer
        writer.submit(journal.close)
        writer.shutdown(wait=False)

    def _leave(self) -> None:
        self._store.remove_members(self._job.name)  # with the shards too that were forgotten
        self._store.close()

    async def _in_thread(self, work: Callable[..., Any], *values: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, partial(work, *values))


def part_of(shard: int, token: int) -> str:
    """The name of the folder in which a holder of a shard keeps its part of the output."""
    number, nonce = number_of(token)
    return f"{part(shard)}-{number:06}-{nonce:010x}"
