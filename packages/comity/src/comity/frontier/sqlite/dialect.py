"""How SQLite says what frontier/tables.py asks and changes. Rows go to SQLite, and many come from it, as one value: it
works on them without the interpreter, beside the crawl. At each row that it hands over, and at each statement, the two
threads would fight for the interpreter."""

import json
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from pathlib import Path
from typing import Any, Final

from comity.frontier.sqlite.database import translate_errors
from comity.frontier.store import quick

_MAX_ROWS: Final = 64  # of one statement: SQLite takes 999 values everywhere


class SqliteDialect:
    """The tables of a file, over one connection: see tables.Dialect."""

    seen = ("fresh", "sorted_run")

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db = db
        self._path = path

    def translate_errors(self) -> AbstractContextManager[None]:
        return translate_errors(self._path)

    def table(self, name: str) -> str:
        return name

    def execute(self, query: str, values: Sequence[Any] = ()) -> Any:
        return self._db.execute(query, values)

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with self.translate_errors():
            return self._db.execute(query, values).fetchall()

    def many(self, columns: str, query: str, values: Sequence[Any]) -> Iterable[Any]:
        ((rows,),) = self.rows(f"SELECT json_group_array(json_array({columns})) FROM ({query}) AS queue", values)
        found: list[Sequence[Any]] = json.loads(rows)
        return found

    def given(self, rows: Collection[Sequence[Any]], **types: str) -> tuple[str, Sequence[Any]]:
        columns = ", ".join(f"json_extract(value, '$[{number}]') AS {name}" for number, name in enumerate(types))
        return f"(SELECT {columns} FROM json_each(?))", (quick(list(rows)),)

    def insert(self, table: str, rows: Sequence[Sequence[Any]], at_conflict: str = "", **types: str) -> None:
        self.append(table, ", ".join(types), rows, at_conflict)

    def append(self, table: str, columns: str, rows: Sequence[Sequence[Any]], at_conflict: str = "") -> None:
        """Many rows to a statement; of which there are few, so that SQLite has each at hand."""
        start, many = 0, _MAX_ROWS
        row = f"({', '.join('?' * len(rows[0]))})"
        while start < len(rows):
            while many > len(rows) - start:
                many //= 2
            self._db.execute(
                f"INSERT INTO {table} ({columns}) VALUES {', '.join([row] * many)} {at_conflict}",
                list(chain.from_iterable(rows[start : start + many])),
            )
            start += many

    def delete(self, table: str, ids: Sequence[int], columns: str) -> Iterable[Any]:
        among, value = self.among("id", ids)
        found = self.many(columns, f"SELECT * FROM {table} WHERE {among}", (value,))
        self._db.execute(f"DELETE FROM {table} WHERE {among}", (value,))
        return found

    def among(self, column: str, values: Collection[Any]) -> tuple[str, Any]:
        return f"{column} IN (SELECT value FROM json_each(?))", quick(list(values))

    def starting(self, column: str, start: str) -> tuple[str, Sequence[Any]]:
        return f"{column} >= ? AND {column} < ?", (start, f"{start}\U0010ffff")

    def key(self, text: str) -> str:
        return text

    def array(self, values: str) -> str:
        return f"json_array({values})"
