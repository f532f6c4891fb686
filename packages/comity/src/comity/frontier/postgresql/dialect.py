"""How PostgreSQL says what frontier/tables.py asks and changes, for one shard of a crawl."""

from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from comity.frontier.postgresql.database import Address, connect, cut_off, translate_errors
from comity.frontier.values import Unreachable

_NULL: Final = r"\N"  # as COPY takes it


class PostgresDialect:
    """The tables of one shard, over one connection: see tables.Dialect."""

    def __init__(self, db: Any, where: Address, shard: int) -> None:
        self._db = db
        self._where = where
        self._shard = shard
        self.seen = (self.table("seen"),)

    def translate_errors(self) -> AbstractContextManager[None]:
        return translate_errors(self._where)

    def table(self, name: str) -> str:
        return f"{name}_{self._shard}"

    def execute(self, query: str, values: Sequence[Any] = ()) -> Any:
        return self._db.execute(query.replace("?", "%s"), values)

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with self.translate_errors():
            rows: list[Any] = self.execute(query, values).fetchall()
            return rows

    def many(self, columns: str, query: str, values: Sequence[Any]) -> Iterable[Any]:
        return self.rows(f"SELECT {columns} FROM ({query}) AS queue", values)

    def given(self, rows: Collection[Sequence[Any]], **types: str) -> tuple[str, Sequence[Any]]:
        arrays = ", ".join(f"?::{type_}[]" for type_ in types.values())
        columns = [list(column) for column in zip(*rows, strict=True)]
        return f"(SELECT * FROM unnest({arrays}) AS given ({', '.join(types)}))", columns

    def insert(self, table: str, rows: Sequence[Sequence[Any]], at_conflict: str = "", **types: str) -> None:
        given, values = self.given(rows, **types)
        columns = ", ".join(types)
        self.execute(f"INSERT INTO {table} ({columns}) SELECT * FROM {given} AS given {at_conflict}", values)

    def append(self, table: str, columns: str, rows: Sequence[Sequence[Any]]) -> None:
        as_text: list[Iterable[str]] = []  # by column: for each row by itself it takes half as long again
        for column in zip(*rows, strict=True):
            if type(column[0]) is str:
                as_text.append(map(_text, column))
            elif None in column:
                as_text.append([_NULL if number is None else str(number) for number in column])
            else:
                as_text.append(map(int.__repr__, column))
        lines = map("\t".join, zip(*as_text, strict=True))
        with self._db.cursor() as cursor, cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
            copy.write("\n".join(lines) + "\n")

    def delete(self, table: str, ids: Sequence[int], columns: str) -> Iterable[Any]:
        among, value = self.among("id", ids)
        rows: Iterable[Sequence[Any]] = self.execute(f"DELETE FROM {table} WHERE {among} RETURNING {columns}", (value,))
        return rows

    def among(self, column: str, values: Collection[Any]) -> tuple[str, Any]:
        return f"{column} = ANY(?)", list(values)

    def starting(self, column: str, start: str) -> tuple[str, Sequence[Any]]:
        return f"starts_with({column}, ?)", (start,)

    def key(self, text: str) -> str:
        return f"md5({text})"

    def array(self, values: str) -> str:
        return f"json_build_array({values})::text"


class LastCommit(PostgresDialect):
    """The tables of one shard as they were committed last, over a connection of its own. Where that broke it is opened
    again, and what was asked is asked once more: reading twice does no harm."""

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


def _text(value: str) -> str:
    """As COPY takes it."""
    if "\\" in value:
        value = value.replace("\\", r"\\")
    if not value.isprintable():
        value = value.replace("\t", r"\t").replace("\n", r"\n").replace("\r", r"\r")
    return value
