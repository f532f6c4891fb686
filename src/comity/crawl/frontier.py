"""The frontier: every URL the crawl knows, and what became of it. Durable in one SQLite file.

Changes are handed in as batches. A batch is one transaction together with the lengths that the output files have
reached, so that after a crash files and frontier are brought back to the same instant (see sink.py).
"""

import json
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any, Self

from comity.errors import StorageError


class State(IntEnum):
    """What became of a URL. UNASKED: its origin's robots.txt has not been read yet, so it is not in the queue."""

    UNASKED = 0
    QUEUED = 1
    DONE = 2
    REFUSED = 3
    FAILED = 4


class Kind(IntEnum):
    """What a URL is fetched for."""

    PAGE = 0
    SITEMAP = 1


@dataclass(frozen=True, slots=True)
class Entry:
    """A URL that waits for its turn."""

    id: int
    url: str
    depth: int
    kind: Kind
    attempts: int
    hops: int  # redirects passed on the way here


@dataclass(frozen=True, slots=True)
class Found:
    """A URL just discovered. `refusal`: the record to write if the URL is new and robots.txt forbids it."""

    url: str
    host: str
    depth: int
    kind: Kind
    state: State
    hops: int = 0
    refusal: dict[str, Any] | None = None


@dataclass(slots=True)
class Batch:
    """Changes since the last commit."""

    settled: list[tuple[State, int]] = field(default_factory=list)
    retried: list[int] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.settled or self.retried or self.found)


_SCHEMA = """
CREATE TABLE IF NOT EXISTS url (
    id INTEGER PRIMARY KEY,
    url TEXT NOT NULL UNIQUE,
    host TEXT NOT NULL,
    depth INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    state INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    hops INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS waiting ON url (host, kind DESC, id) WHERE state < 2;
CREATE TABLE IF NOT EXISTS run (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""


class Frontier:
    """Opens, or makes, the frontier of a crawl folder. One process at a time.

    Raises:
        StorageError: the file cannot be opened, is damaged, or another crawl uses it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._db = sqlite3.connect(path, isolation_level=None, timeout=1.0)
            self._db.execute("PRAGMA locking_mode=EXCLUSIVE")
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._db.executescript(_SCHEMA)
        except sqlite3.Error as error:
            raise self._explained(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._db.close()
        except sqlite3.Error as error:  # a full disk can refuse even this; the journal is replayed on resume
            raise self._explained(error) from error

    def commit(self, batch: Batch, write: Callable[[int, list[dict[str, Any]]], dict[str, Any]]) -> None:
        """Apply a batch.

        Args:
            write: is given the number of URLs that turned out to be new and the refusals among them, makes all
                output durable and returns facts to remember in the same transaction, the lengths of the output
                files above all.
        """
        refusals: list[dict[str, Any]] = []
        new = 0
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._db.executemany("UPDATE url SET state = ? WHERE id = ?", batch.settled)
                self._db.executemany(
                    "UPDATE url SET attempts = attempts + 1 WHERE id = ?", ((id_,) for id_ in batch.retried)
                )
                for found in batch.found:
                    added = self._db.execute(
                        "INSERT OR IGNORE INTO url (url, host, depth, kind, state, hops) VALUES (?, ?, ?, ?, ?, ?)",
                        (found.url, found.host, found.depth, found.kind, found.state, found.hops),
                    )
                    if added.rowcount:
                        new += 1
                        if found.refusal is not None:
                            refusals.append(found.refusal)
                for key, value in write(new, refusals).items():
                    self._remember(key, value)
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise self._explained(error) from error

    def hosts(self) -> list[str]:
        """Hosts that have URLs waiting."""
        return [host for (host,) in self._rows("SELECT DISTINCT host FROM url WHERE state < 2")]

    def waiting(self, host: str, *, but_not: Iterable[int], most: int) -> list[Entry]:
        """URLs of a host that wait for their turn, sitemaps first, then in the order they were found."""
        held = set(but_not)
        rows = self._rows(
            "SELECT id, url, depth, kind, attempts, hops FROM url WHERE host = ? AND state < 2 "
            "ORDER BY kind DESC, id LIMIT ?",
            (host, most + len(held)),
        )
        return [
            Entry(id_, url, depth, Kind(kind), attempts, hops)
            for id_, url, depth, kind, attempts, hops in rows
            if id_ not in held
        ][:most]

    def counts(self) -> dict[State, int]:
        """How many URLs are in each state."""
        counts = dict(self._rows("SELECT state, count(*) FROM url GROUP BY state"))
        return {state: counts.get(state.value, 0) for state in State}

    def remember(self, key: str, value: Any) -> None:
        """Keep a fact about the run, as JSON."""
        try:
            self._remember(key, value)
        except sqlite3.Error as error:
            raise self._explained(error) from error

    def recall(self, key: str, default: Any = None) -> Any:
        """A fact kept with `remember`."""
        rows = self._rows("SELECT value FROM run WHERE key = ?", (key,))
        return json.loads(rows[0][0]) if rows else default

    def _remember(self, key: str, value: Any) -> None:
        self._db.execute("INSERT OR REPLACE INTO run VALUES (?, ?)", (key, json.dumps(value)))

    def _rows(self, query: str, values: tuple[Any, ...] = ()) -> list[Any]:
        try:
            return self._db.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise self._explained(error) from error

    def _explained(self, error: sqlite3.Error) -> StorageError:
        text = str(error)
        if "locked" in text:
            return StorageError(
                f"{self._path.parent} is in use by another crawl", hint="wait for it, or choose another folder"
            )
        if "full" in text:
            return StorageError(f"no room left for {self._path}", hint="free some, then run again with --resume")
        if "readonly" in text or "unable to open" in text:
            return StorageError(f"{self._path} cannot be written", hint="check the folder and its permissions")
        return StorageError(f"{self._path}: {text}")
