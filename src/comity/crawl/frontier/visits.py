"""What a refresh asks for again: each page with what is known of its last visit, and URLs that gave no page yet.

A visit is appended when its page is committed. When a page is visited again its row is replaced by one at the end: so
ids are in the order of the visits, and a refresh has before it the rows up to the last id that was there when it began.
"""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from comity.crawl.frontier.database import explained, open_for_reading
from comity.crawl.frontier.values import Batch, Visit

_COLUMNS = "url, depth, digest, kept, fetched, etag, modified, stated"
_CHUNK = 500  # rows read at a time

# What was found and not visited, because a limit ended the crawl: the URL as reading.py splits it.
_WAITING = """
INSERT OR IGNORE INTO visit (url, depth)
SELECT CASE prefix WHEN 0 THEN '' WHEN 1 THEN 'https://' || name ELSE 'http://' || name END || rest, depth
FROM waiting JOIN host ON host.id = waiting.host WHERE kind = 0 ORDER BY waiting.id
"""


def write(db: sqlite3.Connection, batch: Batch) -> None:
    """Take up what a batch says of visits, in the transaction that is open."""
    if batch.visits:
        db.executemany(
            f"INSERT OR REPLACE INTO visit ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, NULL)",
            [(v.url, v.depth, v.digest, v.kept, v.fetched, v.etag, v.modified) for v in batch.visits],
        )
    if batch.owed:
        db.executemany("INSERT OR IGNORE INTO visit (url, depth) VALUES (?, ?)", batch.owed)
    if batch.gone:
        db.executemany("DELETE FROM visit WHERE url = ?", [(url,) for url in batch.gone])
    if batch.stated:
        db.executemany("UPDATE visit SET stated = ? WHERE url = ?", batch.stated)


def begin(db: sqlite3.Connection) -> int:
    """Begin a refresh, in the transaction that is open; returns the last id that it has before it."""
    db.execute("CREATE UNIQUE INDEX IF NOT EXISTS visited ON visit (url)")
    db.execute("UPDATE visit SET stated = NULL WHERE stated IS NOT NULL")
    db.execute(_WAITING)
    last: int = db.execute("SELECT coalesce(max(id), 0) FROM visit").fetchone()[0]
    return last


class Visits:
    """Reads what was committed, on a connection of its own: a commit that takes its time holds no question up."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: sqlite3.Connection | None = None  # in a refresh only

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._opened is not None:
            self._opened.close()

    def any(self) -> bool:
        """Whether there is anything to ask for again."""
        with explained(self._path):
            return self._db.execute("SELECT 1 FROM visit LIMIT 1").fetchone() is not None

    def of(self, url: str) -> Visit | None:
        """The last visit of a URL. Asked in a refresh only."""
        with explained(self._path):
            row = self._db.execute(f"SELECT {_COLUMNS} FROM visit WHERE url = ?", (url,)).fetchone()
        return Visit(*row) if row else None

    def until(self, last: int) -> Iterator[tuple[str, int]]:
        """URL and depth of what has not been visited since the row `last` was the newest, longest ago first."""
        at = 0
        while True:
            with explained(self._path):
                rows = self._db.execute(
                    "SELECT id, url, depth FROM visit WHERE id > ? AND id <= ? ORDER BY id LIMIT ?", (at, last, _CHUNK)
                ).fetchall()
            if not rows:
                return
            yield from ((url, depth) for _, url, depth in rows)
            at = rows[-1][0]

    @property
    def _db(self) -> sqlite3.Connection:
        if self._opened is None:
            self._opened = open_for_reading(self._path)
        return self._opened
