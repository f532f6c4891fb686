"""Reading a crawl in PostgreSQL: the tables of a shard and its read-only view."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from comity.errors import InputError
from comity.frontier.committed import FrontierView
from comity.frontier.postgresql.database import Address, connect, cut_off, explained, is_made
from comity.frontier.tables import FrontierTables, one_instant
from comity.frontier.values import Unreachable


class ShardTables(FrontierTables):
    """The tables of one shard, over one connection."""

    columns = f"shard, {FrontierTables.columns}"
    known = "known"
    among = "= ANY(?)"

    def __init__(self, db: Any, where: Address, shard: int) -> None:
        self._db = db
        self._where = where
        self.waiting, self.aside, self.host, self.source, self.visited, self.of_run = (
            f"{name}_{shard}" for name in ("waiting", "aside", "host", "source", "visit", "fact")
        )

    def execute(self, query: str, values: Sequence[Any] = ()) -> Any:
        """Carry out a statement in the transaction that is open; gives the cursor."""
        return self._db.execute(query.replace("?", "%s"), values)

    def explained(self) -> AbstractContextManager[None]:
        """Turns the store's errors into a StorageError that says what to do."""
        return explained(self._where)

    @staticmethod
    def as_value(ids: Sequence[Any]) -> Any:
        """Ids, or names, as one value of a statement."""
        return ids

    @staticmethod
    def starting(start: str) -> tuple[str, tuple[str, ...]]:
        """As of `FrontierTables`."""
        return "starts_with(key, ?)", (start,)

    @staticmethod
    def same(one: str, other: str) -> str:
        """That two expressions are the same URL, as the index of visits has them."""
        return f"md5({one}) = md5({other})"

    def ordered(self, query: str, values: Sequence[Any]) -> list[Any]:
        """As of `FrontierTables`."""
        return self.rows(
            "SELECT rank, id, prefix, rest, depth, kind, attempts, hops, "
            f"(SELECT url FROM {self.source} AS source WHERE source.id = queue.source) FROM ({query}) AS queue "
            "ORDER BY rank, id",
            values,
        )


class CommittedTables(ShardTables):
    """The tables of one shard as they were committed last, over a connection of its own. Where that broke it is opened
    again, and what was asked is asked once more: reading twice does no harm.

    Raises:
        StorageError: the database cannot be reached.
    """

    def __init__(self, where: Address, shard: int) -> None:
        super().__init__(connect(where), where, shard)
        self._abandoned = False

    def close(self) -> None:
        self._db.close()

    def abandon(self) -> None:
        """Have nobody wait for the database any longer: from any thread."""
        self._abandoned = True
        cut_off(self._db)

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """As of FrontierTables."""
        try:
            return super().rows(query, values)
        except Unreachable:
            if self._abandoned:
                raise
            self._db.close()
            self._db = connect(self._where)
            if self._abandoned:
                raise
            return super().rows(query, values)


class PostgresView(FrontierView):
    """One shard.

    Raises:
        StorageError: the database cannot be reached, or there is no such crawl.
    """

    def __init__(self, where: Address, shard: int) -> None:
        with explained(where):
            db = connect(where)
            try:
                if not is_made(db, where):
                    raise InputError(f"no crawl in {where}", hint="name the URL given to comity crawl --store")
            except BaseException:
                db.close()
                raise
            begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
            tables = ShardTables(db, where, shard)
            super().__init__(tables, one_instant(db, tables, begin))
