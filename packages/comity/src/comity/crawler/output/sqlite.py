"""An export as one SQLite file: a table for each channel, a row for each record, numbered upwards."""

import sqlite3
from contextlib import closing
from pathlib import Path

from comity.crawler.output.columns import ColumnType
from comity.crawler.output.source import Source

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


def write(source: Source, path: Path) -> None:
    """Write all channels."""
    tables, rows = source.in_columns()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = OFF")  # nobody reads it before it is whole
        db.execute("PRAGMA synchronous = OFF")
        inserts = {}
        for channel, columns in tables.items():
            kinds = ", ".join(f"{_quoted(name)} {_TYPES[kind]}" for name, kind in columns.items())
            db.execute(f"CREATE TABLE {channel} (id INTEGER PRIMARY KEY, {kinds})")
            marks = ", ".join("?" * len(columns))
            inserts[channel] = f"INSERT INTO {channel} ({', '.join(map(_quoted, columns))}) VALUES ({marks})"
        db.execute("BEGIN")
        for channel, row in rows:
            db.execute(inserts[channel], row)
        db.execute("COMMIT")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
