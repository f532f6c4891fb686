"""What a shard keeps in a store while somebody has its lease: queue, waits and orders. Its output lies in a folder."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from comity.crawler.storage.crawl import OrderSource, WaitJournal
from comity.crawler.storage.leases import Leases
from comity.crawler.storage.manifest import CrawlManifest
from comity.crawler.storage.orders import Order
from comity.crawler.storage.store import CrawlStore, StoreClock
from comity.crawler.storage.stored_config import StoredConfig
from comity.frontier.postgresql.store import PostgresFrontier
from comity.frontier.rules import DurableFrontier
from comity.frontier.values import Unreachable
from comity.net import Clock


class StoredOrders:
    """Orders of a shard for as long as its lease; used like Orders. `given`: those that were read of the store, to
    which more are added as they come."""

    def __init__(self, given: Sequence[Order], writer: tuple[CrawlStore, ThreadPoolExecutor], lease: tuple[int, int]):
        self._given = given
        self._read = 0
        self._store, self._thread = writer
        self._lease = lease

    def new(self) -> Iterator[Order]:
        """What came since the last call."""
        while self._read < len(self._given):
            self._read += 1
            yield self._given[self._read - 1]

    def confirm(self, order: Order) -> None:
        """As of Orders; the crawl's own thread does not wait for the store."""
        with suppress(RuntimeError):  # the process ends; where the store fails, it is carried out nevertheless
            self._thread.submit(self._store.orders.confirm, order, self._lease)


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
    """A shard that keeps all in the store, but for its output, for as long as its lease: see RunStorage. Orders and
    clock are the store's. `lease`: its number and token; `journal_writer`: a connection for delays that no commit has
    remembered yet, and the thread that uses it."""

    keeps_clock = False  # who has the shard next counts the intervals by its own clock, which differs from ours

    def __init__(
        self,
        folder: Path,
        manifest: CrawlManifest,
        lease: tuple[int, int],
        leases: Leases,
        clock: StoreClock,
        journal_writer: tuple[CrawlStore, ThreadPoolExecutor],
        orders: Sequence[Order],
    ) -> None:
        self.folder = folder
        self.orders: OrderSource = StoredOrders(orders, journal_writer, lease)
        self.clock: Clock = clock
        self._config = StoredConfig.from_manifest(manifest)
        self._opened: PostgresFrontier | None = None
        self._lease = lease
        self._leases = leases
        self._journal_writer = journal_writer

    def abandon(self) -> None:
        """The lease is over: from any thread."""
        if self._opened is not None:
            self._opened.abandon()

    def config(self) -> StoredConfig:
        return self._config

    def frontier(self) -> DurableFrontier:
        self._opened = PostgresFrontier(self._journal_writer[0].where, *self._lease, patience=self._leases.seconds)
        return self._opened

    def journal(self) -> WaitJournal:
        return WaitJournalRows(*self._journal_writer, *self._lease)

    def is_ours(self) -> bool:
        return self._leases.holds(*self._lease)
