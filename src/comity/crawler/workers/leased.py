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
from comity.crawler.workers.shard import ShardCrawler
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


class LeasedShard(ShardCrawler):
    """A shard for as long as its lease.

    Args:
        folder: of this machine; the shard's part is made in it, for this lease alone.
        journal_writer: a connection for delays that no commit has remembered yet, and the thread that uses it.
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
        super().__init__(seeds, folder, place, own=folder / part_of(place.number, token), **values)
        self.token = token
        self._where = where
        self._leases = leases
        self._journal_writer = journal_writer
        self._orders = StoredOrders()  # type: ignore[assignment]

    def order(self, text: str) -> None:
        """An order was given."""
        self._orders.came(text)  # type: ignore[attr-defined]

    @property
    def is_ours(self) -> bool:
        """Whether the lease holds."""
        return self._leases.holds(self.place.number, self.token)

    @property
    def has_begun(self) -> bool:
        """Whether its frontier is open, so that it can be told and asked."""
        return self._begun

    @property
    def progress(self) -> Any:
        """What differs once anything more was committed; None before its frontier is open."""
        return (self._frontier.totals, self._frontier.sent, self._frontier.taken) if self._begun else None

    def abandon(self) -> None:
        """Have nothing wait for the database any longer: from any thread."""
        if isinstance(opened := getattr(self, "_frontier", None), PostgresFrontier):
            opened.abandon()

    def _open_frontier(self) -> DurableFrontier:
        return PostgresFrontier(self._where, self.place.number, self.token, patience=self._leases.seconds)

    def _open_journal(self) -> WaitJournal:
        return WaitJournalRows(*self._journal_writer, self.place.number, self.token)

    def _begin(self) -> None:
        self._client.may_send = self._may_send
        super()._begin()

    def _may_send(self) -> bool:
        return self.is_ours

    def _state_to_save(self) -> dict[str, Any]:
        """As after a crash: who has the shard next counts the intervals by its own clock, which differs from ours."""
        return super()._state_to_save() | {"at_rest": False}

    def _full(self) -> bool:
        return not self.is_ours or super()._full()


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
