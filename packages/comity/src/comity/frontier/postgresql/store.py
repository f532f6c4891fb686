"""The frontier of one shard in PostgreSQL: a store as of frontier/store.py, in as few statements.

A commit begins by asking, in its own transaction, whether the shard is still ours by its token, and the commit before
is still there: the row with the token stays locked until the end, so that nobody else can have the shard before all of
the commit is there, or nothing. A database that has lost commits, because another server took the place of the first,
is so found out: who has the shard next goes on from what is there, and cuts the files back to it.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from typing import Any

from comity.files import closed_on_error
from comity.frontier.committed import FrontierView
from comity.frontier.durable import no_crawl
from comity.frontier.messages import AT_ONCE, TAKEN, Parcel
from comity.frontier.postgresql.database import Address, connect, cut_off, is_made, translate_errors
from comity.frontier.postgresql.dialect import LastCommit, PostgresDialect
from comity.frontier.postgresql.seen import Fingerprints
from comity.frontier.rules import DurableFrontier
from comity.frontier.tables import ChangedTables, Tables, one_instant
from comity.frontier.values import LeaseLost


class PostgresStore(ChangedTables):
    """One shard of a crawl, for who holds it by a token; a later holder has a greater one: see frontier/store.py."""

    def __init__(self, db: Any, where: Address, shard: int, token: int) -> None:
        super().__init__(PostgresDialect(db, where, shard))
        self._db = db
        self._where = where
        self._shard = shard
        self._token = token
        row = db.execute("SELECT commits FROM fence WHERE (shard, token) = (%s, %s)", (shard, token)).fetchone()
        self._commits: int = 0 if row is None else row[0]  # under this token
        with self._fenced():
            key: bytes = db.execute("SELECT fingerprint_key FROM frontier").fetchone()[0]
        self._seen = Fingerprints(db, shard, key)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with translate_errors(self._where), self._fenced():
            yield
        self._seen.committed()

    @contextmanager
    def _fenced(self) -> Iterator[None]:
        """A transaction that is nothing unless the shard is ours to its end."""
        try:
            cursor = self._db.execute(
                f"BEGIN; UPDATE fence SET commits = commits + 1 "
                f"WHERE (shard, token, commits) = ({self._shard}, {self._token}, {self._commits})"
            )
            cursor.nextset()
            if cursor.rowcount == 0:
                raise LeaseLost(
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

    def reload(self) -> None:
        self._seen.forget()

    def while_writing(self) -> AbstractContextManager[Any]:
        """The database works on what it is told while the output is written."""
        pipeline: AbstractContextManager[Any] = self._db.pipeline()
        return pipeline

    def add_unseen(self, urls: list[str]) -> dict[int, int]:
        return self._seen.add_unseen(urls)

    def exchange(self, parcels: Mapping[int, tuple[int, str]], delivered: Mapping[int, int]) -> None:
        for number, (receiver, text) in parcels.items():
            self._db.execute(
                "INSERT INTO parcel (sender, id, receiver, messages) VALUES (%s, %s, %s, %s)",
                (self._shard, number, receiver, text),
            )
        for receiver, number in delivered.items():  # what is known to be taken may be lost since
            self._db.execute(
                "DELETE FROM parcel WHERE sender = %s AND receiver = %s AND id <= %s AND id <= "
                f"(SELECT (value::json ->> %s)::bigint FROM fact_{receiver} WHERE key = %s)",
                (self._shard, receiver, number, str(self._shard), TAKEN),
            )


class PostgresFrontier(DurableFrontier):
    """One shard of a crawl, for who holds it.

    Args:
        token: of who holds the shard; a later holder's is greater.
        patience: seconds that a transaction may stand still before the database ends it, so that a process that was
            stopped in the middle of one does not keep the shard from the next.

    Raises:
        StorageError: the crawl is not there or cannot be reached; by a commit also Unreachable: the connection broke,
            and whether all was kept or nothing is to be seen after the next opening.
        LeaseLost: the shard is not ours, or not any more.
    """

    def __init__(self, where: Address, shard: int, token: int, *, patience: float = 30.0) -> None:
        with ExitStack() as stack:
            stack.enter_context(translate_errors(where))
            self._db = stack.enter_context(closing(connect(where, stopped=patience)))
            self._last_commit = stack.enter_context(closing(LastCommit(where, shard)))
            super().__init__(PostgresStore(self._db, where, shard, token), Tables(self._last_commit), stack)

    def abandon(self) -> None:
        """Have nothing wait for the database any longer: from any thread. What is under way raises Unreachable."""
        cut_off(self._db)
        self._last_commit.abandon()


class PostgresView(FrontierView):
    """One shard of a crawl, for who reads it; an InputError where there is no such crawl."""

    def __init__(self, where: Address, shard: int) -> None:
        with translate_errors(where):
            db = connect(where)
            with closed_on_error(db):
                if not is_made(db, where):
                    raise no_crawl(where, "name the URL given to comity crawl --store")
            dialect = PostgresDialect(db, where, shard)
            begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
            super().__init__(Tables(dialect), one_instant(db, dialect, begin))


class ShardParcels:
    """What the shards of a crawl have sent: see messages.MailboxReader. `connection` gives a block with that by
    which it is asked, one question at a time, in `thread`."""

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
