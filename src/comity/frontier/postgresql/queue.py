"""The frontier of one shard in PostgreSQL: a store as of store.py, in as few statements.

A commit begins by asking, in its own transaction, whether the shard is still ours (leases.py), and the commit before is
still there: the row with the token stays locked until the end, so that nobody else can have the shard before all of the
commit is there, or nothing. A database that has lost commits, because another server took the place of the first, is so
found out: who has the shard next goes on from what is there, and cuts the files back to it.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from typing import Any, Final

from comity.frontier.messages import AT_ONCE, TAKEN, Parcel
from comity.frontier.postgresql import visits
from comity.frontier.postgresql.database import Address, connect, cut_off, explained
from comity.frontier.postgresql.seen import Fingerprints
from comity.frontier.postgresql.view import CommittedTables, ShardTables
from comity.frontier.rules import DurableFrontier
from comity.frontier.store import Row
from comity.frontier.values import Batch, Displaced

_NULL: Final = r"\N"  # as COPY takes it
_STATES: Final = ("unasked", "queued", "done", "refused", "failed")


class PostgresStore(ShardTables):
    """One shard of a crawl, for who holds it: see store.py.

    Args:
        token: that of the lease (see leases.py).
    """

    def __init__(self, db: Any, where: Address, shard: int, token: int) -> None:
        super().__init__(db, where, shard)
        self._shard = shard
        self._token = token
        self._saved: dict[str, str] = {}  # facts as they were committed last, to write only what changed
        self._refreshes = None
        row = db.execute("SELECT commits FROM fence WHERE (shard, token) = (%s, %s)", (shard, token)).fetchone()
        self._commits: int = 0 if row is None else row[0]  # under this token
        with self.transaction():
            key: bytes = db.execute("SELECT fingerprint_key FROM frontier").fetchone()[0]
        self._seen = Fingerprints(db, shard, key)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A transaction that is nothing unless the shard is ours to its end."""
        try:
            cursor = self._db.execute(
                f"BEGIN; UPDATE fence SET commits = commits + 1 "
                f"WHERE (shard, token, commits) = ({self._shard}, {self._token}, {self._commits})"
            )
            cursor.nextset()
            if cursor.rowcount == 0:
                raise Displaced(
                    f"shard {self._shard} of the crawl in {self._where} is in use by another crawl",
                    hint="wait for it, or take part with --join",
                )
            yield
            self._db.execute("COMMIT")
            self._commits += 1
        except BaseException:
            with suppress(Exception):  # it may be that there is no connection any more, and then nothing to roll back
                self._db.rollback()
            raise

    def tidy(self) -> None:
        """There is nothing to do."""

    def recall(self) -> None:
        self._seen.forget()
        self._saved.clear()
        # An index is made for the first refresh; a first crawl visits a URL once.
        visited = f"{self._where.schema}.visited_{self._shard}"
        self._refreshes = self.rows("SELECT to_regclass(?)", (visited,))[0][0]

    def while_writing(self) -> AbstractContextManager[Any]:
        """The database works on what it is told while the output is written."""
        pipeline: AbstractContextManager[Any] = self._db.pipeline()
        return pipeline

    def meet(self, urls: list[str]) -> dict[int, int]:
        return self._seen.take_up(urls)

    def committed(self, met: Collection[int]) -> None:
        self._seen.committed(met)

    def remove(self, ids: list[int]) -> Iterable[tuple[int, int, int]]:
        rows: Iterable[tuple[int, int, int]] = self._db.execute(
            f"DELETE FROM {self.waiting} WHERE id = ANY(%s) RETURNING id, host, state", (ids,)
        )
        return rows

    def add(self, rows: Sequence[Row]) -> None:
        self._copy(f"{self.waiting} ({self.columns})", map(self._line, rows))

    def add_aside(self, rows: Sequence[Row], why: int) -> None:
        self._copy(f"{self.aside} ({self.columns}, why)", (f"{self._line(row)}\t{why}" for row in rows))

    def _line(self, row: Row) -> str:
        """As COPY takes it."""
        id_, host, rank, prefix, rest, depth, kind, state, hops, source = row
        return (
            f"{self._shard}\t{id_}\t{host}\t{rank}\t{prefix}\t{_text(rest)}\t{depth}\t{kind:d}\t{state:d}\t{hops}\t0\t"
            f"{_NULL if source is None else source}"
        )

    def add_hosts(self, ids: Mapping[str, int]) -> None:
        self._db.execute(
            f"INSERT INTO {self.host} (shard, id, name) SELECT {self._shard}, * FROM unnest(%s::int[], %s::text[])",
            (list(ids.values()), list(ids)),
        )

    def add_sources(self, ids: Mapping[str, int]) -> None:
        rows = (f"{self._shard}\t{number}\t{_text(url)}" for url, number in ids.items())
        self._copy(f"{self.source} (shard, id, url)", rows)

    def send(self, parcels: Iterable[tuple[int, int, str]]) -> None:
        for number, shard, text in parcels:
            self._db.execute(
                "INSERT INTO parcel (sender, id, receiver, messages) VALUES (%s, %s, %s, %s)",
                (self._shard, number, shard, text),
            )

    def forget_parcels(self, delivered: Mapping[int, int]) -> None:
        for shard, number in delivered.items():  # what is known to be taken may be lost since
            self._db.execute(
                "DELETE FROM parcel WHERE sender = %s AND receiver = %s AND id <= %s AND id <= "
                f"(SELECT (value::json ->> %s)::bigint FROM fact_{shard} WHERE key = %s)",
                (self._shard, shard, number, str(self._shard), TAKEN),
            )

    def _copy(self, table: str, rows: Iterable[str]) -> None:
        with self._db.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN") as copy:
            copy.write("\n".join(rows) + "\n")

    def count(self, changes: Mapping[int, Sequence[int]]) -> None:
        sums = ", ".join(f"{name} = host.{name} + more.{name}" for name in _STATES)
        self._db.execute(
            f"UPDATE {self.host} AS host SET {sums} FROM "
            f"unnest(%s::int[], {', '.join(['%s::int[]'] * 5)}) AS more (id, {', '.join(_STATES)}) "
            "WHERE host.id = more.id",
            (list(changes), *(list(column) for column in zip(*changes.values(), strict=True))),
        )

    def write_visits(self, batch: Batch) -> None:
        visits.write_visits(self._db, self._shard, batch, indexed=self._refreshes is not None)

    def begin_refresh(self) -> int:
        return visits.begin_refresh(self._db, self._shard)

    def forget(self, patterns: Iterable[str]) -> None:
        visits.forget(self._db, self._shard, patterns)
        self._saved.clear()

    def keep(self, facts: Mapping[str, str]) -> None:
        """Those that are not what they were."""
        changed = {key: text for key, text in facts.items() if self._saved.get(key) != text}
        if changed:
            visits.keep(self._db, self._shard, changed)
            self._saved |= changed  # should the commit fail, all of it is forgotten

    def drop(self, names: list[str]) -> None:
        self._db.execute(f"DELETE FROM {self.of_run} WHERE key = ANY(%s)", (names,))
        for name in names:
            self._saved.pop(name, None)


class PostgresFrontier(DurableFrontier):
    """One shard of a crawl, for who holds it.

    Args:
        token: that of the lease (see leases.py).
        patience: seconds that a transaction may stand still before the database ends it, so that a process that was
            stopped in the middle of one does not keep the shard from the next.

    Raises:
        StorageError: the crawl is not there or cannot be reached; by a commit also Unreachable: the connection broke,
            and whether all was kept or nothing is to be seen after the next opening.
        Displaced: the shard is not ours, or not any more.
    """

    def __init__(self, where: Address, shard: int, token: int, *, patience: float = 30.0) -> None:
        with explained(where), ExitStack() as stack:
            self._db = stack.enter_context(closing(connect(where, stopped=patience)))
            self._reading = stack.enter_context(closing(CommittedTables(where, shard)))
            super().__init__(PostgresStore(self._db, where, shard, token), self._reading, stack)

    def abandon(self) -> None:
        """Have nothing wait for the database any longer: from any thread. What is under way raises Unreachable."""
        cut_off(self._db)
        self._reading.abandon()


class ShardParcels:
    """What the shards of a crawl have sent: see messages.Post.

    Args:
        connection: a block with that by which it is asked.
        thread: in which that is done, one question at a time.
    """

    def __init__(self, connection: Callable[[], AbstractContextManager[Any]], thread: Executor) -> None:
        self._connection = connection
        self._thread = thread

    async def parcels(self, receiver: int, after: Mapping[int, int]) -> list[tuple[int, Parcel]]:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._read, receiver, after)

    def _read(self, receiver: int, after: Mapping[int, int]) -> list[tuple[int, Parcel]]:
        with self._connection() as db:
            rows = db.execute(
                "SELECT sender, id, receiver, messages FROM unnest(%s::int[], %s::bigint[]) AS known (shard, last) "
                "CROSS JOIN LATERAL (SELECT * FROM parcel WHERE sender = shard AND receiver = %s AND id > last "
                "ORDER BY id LIMIT %s) AS next",  # of each some: else one whose parcels are put off keeps all others'
                (list(after), list(after.values()), receiver, AT_ONCE),
            ).fetchall()
        return [(sender, Parcel(*row)) for sender, *row in rows]


def _text(value: str) -> str:
    """As COPY takes it."""
    if "\\" in value:
        value = value.replace("\\", r"\\")
    if not value.isprintable():
        value = value.replace("\t", r"\t").replace("\n", r"\n").replace("\r", r"\r")
    return value
