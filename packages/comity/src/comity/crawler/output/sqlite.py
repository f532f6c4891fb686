"""Output as one SQLite file: a table for each channel, a row for each record. Rows are numbered upwards and never
changed: the marker is the number of each table's last row, and rows beyond it are deleted when the file is opened
again. It also names the columns that an expander's fields have."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from comity.crawler.output.columns import COLUMNS, ColumnType, Fields, record_of, values, widened
from comity.crawler.output.reader import CHECKED, StoredRecord, is_intact
from comity.crawler.output.sink import CHANNELS, Channel, Received
from comity.errors import StorageError, sqlite_code
from comity.frontier.durable import no_room
from comity.frontier.sqlite.database import check_files, check_tables, open_finished, transaction

NAME = "crawl.sqlite"
_TYPES: dict[ColumnType, str] = {
    "text": "TEXT",
    "integer": "INTEGER",
    "real": "REAL",
    "boolean": "INTEGER",  # 0 or 1
    "bytes": "BLOB",
    "time": "TIMESTAMP",  # text in RFC 3339, which SQLite's own functions, DuckDB and pandas read
    "date": "DATE",
    "json": "TEXT",
}


class Sqlite:
    """`crawl.sqlite`, readable by others while the crawl runs. `fields`: the columns that an expander's fields have
    from the start of a crawl."""

    def __init__(self) -> None:
        self._db: sqlite3.Connection | None = None
        self._path = Path()
        self._rows: dict[Channel, list[list[Any]]] = {channel: [] for channel in CHANNELS}
        self._last: dict[str, int] = {}
        self.fields: Fields = {}
        self._fields = self.fields
        self.pending = 0

    def open(self, folder: Path, committed: Any) -> None:
        self._path = folder / NAME
        self._last = {channel: (committed or {}).get(channel, 0) for channel in CHANNELS}
        self._fields = (committed or {}).get("fields", self.fields)
        check_files(self._path)
        with self._translate_errors():
            self._db = db = sqlite3.connect(self._path, isolation_level=None, timeout=10.0, check_same_thread=False)
            check_tables(db, self._path)
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=FULL")
            with transaction(db):
                for channel in CHANNELS:
                    columns = ", ".join(_column(name, kind) for name, kind in COLUMNS[channel].items())
                    db.execute(f"CREATE TABLE IF NOT EXISTS {channel} (id INTEGER PRIMARY KEY, {columns})")
                    self._go_back(db, channel)

    def add(self, channel: Channel, record: Mapping[str, Any], answer: Received | None = None) -> None:
        if channel == "records":
            self._fields = widened(self._fields, record)
        row = values(channel, record, self._fields if channel == "records" else None)
        self._rows[channel].append(row)
        self.pending += sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)

    def flush(self, *, final: bool) -> dict[str, Any]:
        if self.pending:
            assert self._db is not None
            with self._translate_errors(), transaction(self._db):
                for channel, rows in self._rows.items():
                    self._insert(self._db, channel, rows)
            for rows in self._rows.values():
                rows.clear()
            self.pending = 0
        return {**self._last, "fields": self._fields}

    def close(self) -> None:
        if self._db is not None:
            with self._translate_errors():
                self._db.close()

    def _go_back(self, db: sqlite3.Connection, channel: Channel) -> None:
        committed = self._last[channel]
        db.execute(f"DELETE FROM {channel} WHERE id > ?", (committed,))
        (last,) = db.execute(f"SELECT max(id) FROM {channel}").fetchone()
        if (last or 0) < committed:
            raise StorageError(
                f"{self._path} has {last or 0} {channel}, {committed} were written",
                hint="another program changed it; start a new crawl in another folder",
            )

    def _insert(self, db: sqlite3.Connection, channel: Channel, rows: list[list[Any]]) -> None:
        if not rows:
            return
        columns = ["id", *COLUMNS[channel]]
        if channel == "records":
            there = {name for _, name, *_ in db.execute("PRAGMA table_info(records)")}
            for name, kind in (COLUMNS[channel] | self._fields).items():
                if name not in there:
                    db.execute(f"ALTER TABLE records ADD COLUMN {_column(name, kind)}")
            columns += self._fields
        most = len(columns) - 1  # a row that was added before a field turned up is shorter
        numbered = (
            (number, *row, *[None] * (most - len(row))) for number, row in enumerate(rows, self._last[channel] + 1)
        )
        names, marks = ", ".join(map(_quoted, columns)), ", ".join("?" * len(columns))
        db.executemany(f"INSERT INTO {channel} ({names}) VALUES ({marks})", numbered)
        self._last[channel] += len(rows)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if sqlite_code(error) == sqlite3.SQLITE_FULL:
                raise no_room(self._path) from error
            locked = sqlite_code(error) == sqlite3.SQLITE_BUSY
            what = f"{self._path} is locked by another program" if locked else f"{self._path}: {error}"
            raise StorageError(what, hint="close it there, then --resume" if locked else "") from error


def _column(name: str, kind: ColumnType) -> str:
    return f"{_quoted(name)} {_TYPES[kind]}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def read_back(folder: Path, committed: Mapping[str, Any] | None = None) -> Iterator[StoredRecord]:
    """What lies in the tables; the number of a record is its id."""
    path = folder / NAME
    if not path.exists():
        yield StoredRecord(None, NAME, None)
        return
    channel, number = CHECKED[0], 0
    try:
        with closing(open_finished(path)) as db:
            db.row_factory = sqlite3.Row
            for channel in CHECKED:
                number = 0
                last = ("",) if committed is None else (committed.get(channel, 0),)  # a text is after all numbers
                for row in db.execute(f"SELECT * FROM {channel} WHERE id <= ? ORDER BY id", last):
                    record = record_of(channel, dict(row))
                    number = record.pop("id")
                    yield StoredRecord(channel, f"{NAME}, {channel}", number, record, is_intact(record))
    except (sqlite3.Error, StorageError, KeyError, OverflowError, UnicodeError) as error:
        yield StoredRecord(None, f"{NAME}, {channel}", number + 1, problem=f"it cannot be read: {error}")
