"""One shard of a crawl in PostgreSQL, worked under a lease: nothing is asked and nothing is kept once that is over."""

import json
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from comity.crawler.orders import Order, read_order
from comity.crawler.shards import ShardPlace, part
from comity.crawler.snapshot import ShardNow
from comity.crawler.stats import Stats
from comity.crawler.waits import WaitJournal
from comity.crawler.workers.shard import Shard
from comity.errors import StorageError
from comity.frontier.postgresql.crawl import CrawlStore, Row
from comity.frontier.postgresql.database import Address, Unreachable
from comity.frontier.postgresql.leases import Leases, number_of
from comity.frontier.postgresql.queue import PostgresFrontier
from comity.frontier.rules import DurableFrontier
from comity.net import Clock

ASKED: Final = 3  # times that the database is asked for its time


class StoreClock(Clock):
    """Wall time as the database has it, so that what one machine writes down another can wait for, and all ledgers
    of a crawl have one time. It runs on the monotonic clock from when the database was asked, so two processes' clocks
    differ by what its answers took.

    Attributes:
        within: seconds by which it may have been wrong when it was made.

    Args:
        at: the database's time, Unix, just now.
        asked: when it was asked for it, by the monotonic clock; None: now.
    """

    def __init__(self, at: float, asked: float | None = None) -> None:
        now = time.monotonic()
        self.within = 0.0 if asked is None else (now - asked) / 2
        self._offset = at - now + self.within

    @classmethod
    def of(cls, store: CrawlStore) -> "StoreClock":
        """The clock of a store, by the quickest of some answers. Blocks; its connection should be there already."""
        clocks = []
        for _ in range(ASKED):
            asked = time.monotonic()
            clocks.append(cls(store.crawl().at, asked))
        return min(clocks, key=lambda clock: clock.within)

    def wall(self) -> float:
        return time.monotonic() + self._offset

    def walls(self) -> tuple[float, ...]:
        """The database's clock, and this machine's: a wait is over once it is by both."""
        return self.wall(), time.time()


class StoredOrders:
    """Orders as they come out of the store; used like Orders."""

    def __init__(self) -> None:
        self._waiting: deque[str] = deque()

    def came(self, text: str) -> None:
        """An order was read."""
        self._waiting.append(text)

    def new(self) -> Iterator[Order]:
        """What came since the last call."""
        while self._waiting:
            if (order := read_order(self._waiting.popleft().encode("ascii", "replace"))) is not None:
                yield order


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
            "INSERT INTO heard_{0} (shard, line) SELECT {0}, %s "
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
        opened: the frontier, once it is.

    Args:
        journal_writer: a connection for delays that no commit has remembered yet, and the thread that uses it.
    """

    keeps_clock = False  # who has the shard next counts the intervals by its own clock, which differs from ours

    def __init__(
        self,
        where: Address,
        shard: int,
        token: int,
        leases: Leases,
        journal_writer: tuple[CrawlStore, ThreadPoolExecutor],
    ) -> None:
        self.orders = StoredOrders()
        self.opened: PostgresFrontier | None = None
        self._where = where
        self._lease = shard, token
        self._leases = leases
        self._journal_writer = journal_writer

    def frontier(self) -> DurableFrontier:
        self.opened = PostgresFrontier(self._where, *self._lease, patience=self._leases.seconds)
        return self.opened

    def journal(self) -> WaitJournal:
        return WaitJournalRows(*self._journal_writer, *self._lease)

    def is_ours(self) -> bool:
        return self._leases.holds(*self._lease)


class LeasedShard:
    """A shard for as long as its lease.

    Args:
        folder: of this machine; the shard's part is made in it, for this lease alone.
        journal_writer: see LeasedStorage.
    """

    def __init__(
        self,
        seeds: list[str],
        folder: Path,
        place: ShardPlace,
        token: int,
        *,
        where: Address,
        leases: Leases,
        journal_writer: tuple[CrawlStore, ThreadPoolExecutor],
        **values: Any,
    ) -> None:
        self.token = token
        self.storage = LeasedStorage(where, place.number, token, leases, journal_writer)
        own = folder / part_of(place.number, token)
        self.shard = Shard(seeds, folder, place, own=own, storage=self.storage, **values)

    @property
    def number(self) -> int:
        return self.shard.place.number

    @property
    def progress(self) -> Any:
        """What differs once anything more was committed; None before its frontier is open."""
        opened = self.storage.opened
        return None if opened is None else (opened.totals, opened.sent, opened.taken)

    def abandon(self) -> None:
        """Have nothing wait for the database any longer: from any thread."""
        if (opened := self.storage.opened) is not None:
            opened.abandon()


def part_of(shard: int, token: int) -> str:
    """The name of the folder in which a holder of a shard keeps its part of the output."""
    number, lot = number_of(token)
    return f"{part(shard)}-{number:06}-{lot:010x}"


def as_text(now: ShardNow) -> str:
    """How a shard stands, for the others."""
    return json.dumps(asdict(replace(now, until=round(now.until, 1), seconds=round(now.seconds, 1))))


def as_said(row: Row) -> ShardNow:
    """How a shard stands by what was said of it last."""
    now = ShardNow(row.number, granted=row.granted)
    if row.stands is not None:
        try:
            values = json.loads(row.stands)
            values["stats"] = Stats(**values["stats"])
            for name in ("sent", "taken"):
                values[name] = {int(shard): number for shard, number in values[name].items()}
            now = ShardNow(**values)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise StorageError(f"shard {row.number}: another version of comity works on this crawl") from error
    state: Any = row.state or "starting"
    if row.holder is None and state not in ("resting", "robots", "pages", "ended"):
        state = "down"
    return replace(now, state=state)
