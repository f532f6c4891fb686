"""What a refresh asks for again: each page with what is known of its last visit, and URLs that gave no page yet.

A visit is appended when its page is committed. When a page is visited again its row is replaced by one at the end: so
ids are in the order of the visits, and a refresh has before it the rows up to the last id that was there when it began.
"""

import json
import sqlite3
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from comity.frontier.database import explained
from comity.frontier.values import Batch, Visit

_CHUNK = 500  # rows read at a time

# What was found and not visited, because a limit ended the crawl or our own wishes kept it out: the URL as reading.py
# splits it.
_WAITING = """
INSERT OR IGNORE INTO visit (url, said)
SELECT CASE prefix WHEN 0 THEN '' WHEN 1 THEN 'https://' || name ELSE 'http://' || name END || rest, json_array(depth)
FROM {table} JOIN host ON host.id = {table}.host WHERE kind = 0 ORDER BY {table}.id
"""
_UNASKED = """
SELECT count(*) FROM waiting JOIN host ON host.id = waiting.host JOIN visit
ON visit.url = CASE prefix WHEN 0 THEN '' WHEN 1 THEN 'https://' || name ELSE 'http://' || name END || rest
WHERE kind = 0 AND visit.id <= ? AND json_extract(said, '$[1]') IS NOT NULL
"""
_STATED = """
UPDATE visit SET stated = json_extract(value, '$[0]') FROM json_each(?) WHERE url = json_extract(value, '$[1]')
"""


def write(db: sqlite3.Connection, batch: Batch) -> None:
    """Take up what a batch says of visits, in the transaction that is open."""
    if batch.visits:
        said: dict[str, tuple[Any, ...]] = {
            v.url: (v.depth, v.digest, v.kept, v.fetched, v.etag, v.modified) for v in batch.visits
        }
        _tell(db, "INSERT OR REPLACE INTO visit (url, said) SELECT key, value FROM json_each(?)", said)
    if batch.owed:
        depths = {url: (depth,) for url, depth in batch.owed}
        _tell(db, "INSERT OR IGNORE INTO visit (url, said) SELECT key, value FROM json_each(?)", depths)
    if batch.gone:
        _tell(db, "DELETE FROM visit WHERE url IN (SELECT value FROM json_each(?))", batch.gone)
    if batch.stated:
        _tell(db, _STATED, batch.stated)


def _tell(db: sqlite3.Connection, statement: str, values: Any) -> None:
    db.execute(statement, (json.dumps(values, separators=(",", ":")),))


def begin(db: sqlite3.Connection) -> int:
    """Begin a refresh, in the transaction that is open; returns the last id that it has before it."""
    db.execute("CREATE UNIQUE INDEX IF NOT EXISTS visited ON visit (url)")
    db.execute("UPDATE visit SET stated = NULL WHERE stated IS NOT NULL")
    for table in ("waiting", "aside"):
        db.execute(_WAITING.format(table=table))
    last: int = db.execute("SELECT coalesce(max(id), 0) FROM visit").fetchone()[0]
    return last


class Visits:
    """Reads what was committed.

    Args:
        db: a connection that is not the one that writes.
    """

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db = db
        self._path = path

    def any(self) -> bool:
        """Whether there is anything to ask for again."""
        with explained(self._path):
            return self._db.execute("SELECT 1 FROM visit LIMIT 1").fetchone() is not None

    def of(self, url: str) -> Visit | None:
        """The last visit of a URL. Asked in a refresh only."""
        with explained(self._path):
            row = self._db.execute("SELECT said, stated FROM visit WHERE url = ?", (url,)).fetchone()
        return replace(Visit(url, *json.loads(row[0])), stated=row[1]) if row else None

    def until(self, last: int) -> Iterator[tuple[str, int]]:
        """URL and depth of what has not been visited since the row `last` was the newest, longest ago first.

        Pages that are known and URLs that have given no page yet take turns, as long as there are both: so a limit
        leaves neither without its share.
        """
        streams = deque((self._until(last, "IS NOT NULL"), self._until(last, "IS NULL")))
        while streams:
            stream = streams.popleft()
            if (found := next(stream, None)) is not None:
                yield found
                streams.append(stream)

    def unasked(self, last: int) -> int:
        """How many pages that are known wait still, of those that `until` gives."""
        with explained(self._path):
            row = self._db.execute(_UNASKED, (last,)).fetchone()
        return int(row[0])

    def _until(self, last: int, digest: str) -> Iterator[tuple[str, int]]:
        at = 0
        while True:
            with explained(self._path):
                rows = self._db.execute(
                    f"SELECT id, url, said FROM visit WHERE id > ? AND id <= ? AND json_extract(said, '$[1]') {digest} "
                    "ORDER BY id LIMIT ?",
                    (at, last, _CHUNK),
                ).fetchall()
            if not rows:
                return
            yield from ((url, json.loads(said)[0]) for _, url, said in rows)
            at = rows[-1][0]
