"""The shards of a worker where the crawl lies in a store: board, parcels, orders and frontiers are there, and a lease
says which shards are its own. Nothing is asked of a site and nothing is kept once that is over. What a shard keeps
there, queue, waits and orders, is its LeasedStorage; its output lies in a folder.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, Final

from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.places.orders import Order
from comity.crawler.progress.snapshot import ShardState
from comity.crawler.run.checkpoint import Begun
from comity.crawler.run.scheduler import Scheduler
from comity.crawler.run.waits import WaitJournal
from comity.crawler.sharding.shards import CrawlManifest, part
from comity.crawler.workers.board import Look, RoundAnswer, RoundRequest, seconds_of
from comity.crawler.workers.jobs import Job, Watched, Word
from comity.crawler.workers.leases import LeaseKeeper, Leases, number_of
from comity.crawler.workers.shard import Shard
from comity.crawler.workers.store import CrawlStore, StoreClock, one_instant
from comity.errors import StorageError
from comity.frontier.postgresql.database import Address, address
from comity.frontier.postgresql.queue import PostgresFrontier, ShardParcels
from comity.frontier.rules import DurableFrontier
from comity.frontier.values import Displaced, Run, Unreachable

SAID_EVERY: Final = 1.0  # seconds: what only counts on is said no more often


class StoredBoard:
    """The board of a crawl in a store: see board.py. Blocks; one thread at a time.

    Args:
        run: the one that the worker belongs to.
        folder: of this machine, where its parts of the output lie.
    """

    def __init__(self, store: CrawlStore, leases: Leases, settings: CrawlSettings, run: Run, folder: str) -> None:
        self._store = store
        self._leases = leases
        self._settings = settings
        self._run = run
        self._folder = folder
        self._said: dict[int, tuple[object, float]] = {}

    def round(self, asked: RoundRequest) -> RoundAnswer:
        """Say how our shards stand, and be answered.

        Raises:
            Superseded: the run is not the crawl's any more.
        """
        store, leases = self._store, self._leases
        members = store.here(self._run, leases.holder, self._folder)
        self._say(asked)
        for shard, token, kept in asked.shares:
            store.share(shard, token, kept)
        with one_instant(store):  # pages of the limit are on their way between the two
            crawl, rows = store.crawl(), store.rows()
        look = Look(rows, members, crawl.pool, crawl.ended, seconds_of(rows, {}, 0.0))
        if look.ended is None and (why := look.why_over(self._settings)) is not None:
            store.end(self._run, why)
        answer = look.answer(leases.holder, asked)
        if asked.take:
            answer.taken = self._take(look, asked)
        return answer

    def forget(self) -> None:
        """What was said last may not have been heard."""
        self._said.clear()

    def _say(self, asked: RoundRequest) -> None:
        """How our shards stand, where that is not what was said last."""
        at, new = time.monotonic(), {}
        for number, (token, now) in asked.stands.items():
            key = token, now.state, dict(now.sent), dict(now.taken), now.granted, now.spent.pages
            said, since = self._said.get(number, (None, 0.0))
            if key != said or at - since > SAID_EVERY:
                self._said[number] = key, at
                new[number] = token, now
        self._store.say(new)

    def _take(self, look: Look, asked: RoundRequest) -> list[tuple[int, int]]:
        """Have one more shard, where one is free and it is our turn."""
        leases = self._leases
        for row in look.to_take(leases.holder, asked, leases.tokens):
            with self._store.open() as db:
                token = leases.take(db, row.number, None if row.holder else (row.token, row.renewal))
            if token is not None:
                return [(row.number, token)]
        return []


class StoredOrders:
    """Orders as they come out of the store; used like Orders."""

    def __init__(self, so_far: Sequence[Order]) -> None:
        self._waiting = deque(so_far)
        self.came = self._waiting.append

    def new(self) -> Iterator[Order]:
        """What came since the last call."""
        while self._waiting:
            yield self._waiting.popleft()


class WaitJournalRows:
    """What was heard of a shard's hosts, kept in the database: whoever has the shard next may be another machine.

    The crawl's own thread does not wait for it; a line is there some milliseconds after it was added.
    """

    def __init__(self, store: CrawlStore, writer: ThreadPoolExecutor, shard: int, token: int) -> None:
        self._store = store
        self._writer = writer
        self._shard = shard
        self._token = token
        self._trouble: BaseException | None = None

    def add(self, line: bytes) -> None:
        self._run(
            "INSERT INTO heard_{0} (line) SELECT %s "
            "WHERE EXISTS (SELECT 1 FROM fence WHERE shard = {0} AND token = {1})",
            line.decode("ascii").rstrip("\n"),
        )

    def check(self) -> None:
        if self._trouble is not None:
            raise self._trouble

    def clear(self) -> None:
        self._run("DELETE FROM heard_{0} WHERE EXISTS (SELECT 1 FROM fence WHERE shard = {0} AND token = {1})")

    def lines(self) -> list[bytes]:
        def read() -> list[bytes]:
            with self._store.open() as db:
                rows = db.execute(f"SELECT line FROM heard_{self._shard} ORDER BY id").fetchall()
            return [line.encode("ascii", "replace") for (line,) in rows]

        return self._writer.submit(read).result()

    def close(self) -> None:
        """The connection is for all shards of this process."""

    def _run(self, statement: str, *values: str) -> None:
        def run() -> None:
            try:
                self._execute(statement, values)
            except Unreachable:  # once more, over a new connection: what a site asked for is not to be forgotten
                self._execute(statement, values)

        with suppress(RuntimeError):  # the process ends
            self._writer.submit(run).add_done_callback(self._done)

    def _execute(self, statement: str, values: Sequence[str]) -> None:
        with self._store.open() as db:
            db.execute(statement.format(self._shard, self._token), values)

    def _done(self, future: "Future[None]") -> None:
        if not future.cancelled():
            self._trouble = self._trouble or future.exception()


class LeasedStorage:
    """A shard that keeps all in the store, but for its output, for as long as its lease.

    Attributes:
        orders: what the operator orders, as it comes out of the store.
        clock: the store's.

    Args:
        manifest: of the crawl, with what it was begun.
        journal_writer: a connection for delays that no commit has remembered yet, and the thread that uses it.
    """

    keeps_clock = False  # who has the shard next counts the intervals by its own clock, which differs from ours

    def __init__(
        self,
        where: Address,
        manifest: CrawlManifest,
        shard: int,
        token: int,
        leases: Leases,
        clock: StoreClock,
        journal_writer: tuple[CrawlStore, ThreadPoolExecutor],
        orders: Sequence[Order],
    ) -> None:
        self.orders = StoredOrders(orders)
        self.clock = clock
        self._begun = Begun.of(manifest)
        self._opened: PostgresFrontier | None = None
        self._where = where
        self._lease = shard, token
        self._leases = leases
        self._journal_writer = journal_writer

    @property
    def progress(self) -> Any:
        """What differs once anything more is committed; None before the frontier is open."""
        return None if (opened := self._opened) is None else (opened.totals, opened.sent, opened.taken)

    def abandon(self) -> None:
        """The lease is over: from any thread."""
        if self._opened is not None:
            self._opened.abandon()

    def begun(self) -> Begun:
        return self._begun

    def frontier(self) -> DurableFrontier:
        self._opened = PostgresFrontier(self._where, *self._lease, patience=self._leases.seconds)
        return self._opened

    def journal(self) -> WaitJournal:
        return WaitJournalRows(*self._journal_writer, *self._lease)

    def is_ours(self) -> bool:
        return self._leases.holds(*self._lease)


class ShardsInStore:
    """See member.Shards."""

    def __init__(self, job: Job, worker: Watched) -> None:
        assert job.store is not None
        self._job = job
        self._address = where = address(job.store)
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
        self._board = StoredBoard(self._store, self._leases, job.settings, run, folder)
        self._keeper = LeaseKeeper(self._leases, where, self._lost, worker.works)

    def _lost(self, shard: int, token: int) -> None:  # in another thread: the loop may wait for the database just now
        if (storage := self._storages.get((shard, token))) is not None:
            storage.abandon()

    async def round(self, asked: RoundRequest) -> RoundAnswer:
        try:
            answer: RoundAnswer = await self._in_thread(self._board.round, asked)
            for number, token in answer.taken:
                clock = await self._in_thread(StoreClock.of, self._store)
                self._storages = {lease: storage for lease, storage in self._storages.items() if lease[0] != number}
                self._storages[number, token] = self._storage(number, token, clock)
            orders: list[tuple[int, Order]] = await self._in_thread(self._store.orders, self._order)
        except (Unreachable, Displaced):
            self._board.forget()
            for number in self._leases.tokens.keys() - asked.busy:
                self._leases.forget(number)  # taken, and then the connection broke: it is taken once more
            raise
        for number, order in orders:
            self._order = number
            if order.order == "end" and number <= self._job.orders:
                continue  # which was for a run before
            self._orders.append(order)
            for storage in self._storages.values():
                storage.orders.came(order)
        return answer

    def _storage(self, number: int, token: int, clock: StoreClock) -> LeasedStorage:
        manifest, leases = self._job.manifest, self._leases
        return LeasedStorage(self._address, manifest, number, token, leases, clock, self._journal_writer, self._orders)

    def begin(self, number: int, token: int, beside: list[Scheduler], sent: Callable[[], None]) -> Shard:
        if self._keeper.ident is None:
            self._keeper.start()
        job, storage = self._job, self._storages[number, token]
        place, own = job.manifest.place(number), job.folder / part_of(number, token)
        return Shard(job, place, storage, own=own, clock=storage.clock, beside=beside, on_sent=sent)

    def holds(self, number: int, token: int) -> bool:
        return self._leases.holds(number, token)

    def progress(self, number: int, token: int) -> Any:
        return self._storages[number, token].progress

    def forget(self, number: int) -> None:
        self._leases.forget(number)

    async def let_go(self, shard: Shard, token: int, state: ShardState) -> None:
        number, now = shard.place.number, shard.now(0)

        def let_go() -> None:
            self._store.say({number: (token, now)}, state)
            with self._store.open() as db:
                self._leases.release(db, [number])

        await self._in_thread(let_go)

    def heard(self, word: Word) -> None:
        """It says nothing about shards."""

    async def close(self) -> None:
        self._keeper.close()
        with suppress(StorageError):
            await self._in_thread(self._leave)
        self._thread.shutdown(wait=False)
        self._journal_writer[1].shutdown(wait=False)

    def _leave(self) -> None:
        self._store.gone(self._job.name)  # with the shards too that were forgotten
        self._store.close()

    async def _in_thread(self, work: Callable[..., Any], *values: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, partial(work, *values))


def part_of(shard: int, token: int) -> str:
    """The name of the folder in which a holder of a shard keeps its part of the output."""
    number, lot = number_of(token)
    return f"{part(shard)}-{number:06}-{lot:010x}"
