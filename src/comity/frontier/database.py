"""The frontier's SQLite file: its tables, how it is opened, who may write, what its errors mean in words.

Also the queries that both the crawl and monitoring use, and the read-only view for monitoring.
"""

import json
import os
import sqlite3
import sys
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from comity.errors import InputError, StorageError
from comity.frontier.durable import no_descriptor, no_room
from comity.frontier.values import Entry, EntryKind, Found, State

# PRAGMA user_version; fingerprints lie in the machine's byte order
FORMAT = 4 if sys.byteorder == "little" else 5

# Rows are written where the last ones were: ids only grow, and the one index grows at the end of each host's range.
# `waiting` holds only what waits, `aside` what scope and policy keep out of it (later.py); of the rest there remain a
# fingerprint and a count, and a row in `visit` of each page. `source` has a row for each page that named new
# URLs, `parcel` what other shards are to be told (exchange.py). A first crawl only appends to `visit`, and needs no
# index: it visits a URL once.
_QUEUED = """
    id INTEGER PRIMARY KEY,
    host INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    prefix INTEGER NOT NULL,
    rest TEXT NOT NULL,
    depth INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    state INTEGER NOT NULL,
    hops INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    source INTEGER"""
# IMMEDIATE: a transaction that begins by reading is refused its first write at once where another process, which opens
# the database to read it, is just building the index of the journal; this one waits for that.
SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS host (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    unasked INTEGER NOT NULL DEFAULT 0,
    queued INTEGER NOT NULL DEFAULT 0,
    done INTEGER NOT NULL DEFAULT 0,
    refused INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS waiting ({_QUEUED}
);
CREATE INDEX IF NOT EXISTS turn ON waiting (host, rank);
CREATE TABLE IF NOT EXISTS aside ({_QUEUED},
    why INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS source (id INTEGER PRIMARY KEY, url TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS visit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    url TEXT NOT NULL,
    said TEXT NOT NULL,
    stated REAL
);
CREATE TABLE IF NOT EXISTS fresh (id INTEGER PRIMARY KEY, fingerprints BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS sorted_run (id INTEGER PRIMARY KEY, size INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS run (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS parcel (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    shard INTEGER NOT NULL,
    messages TEXT NOT NULL
);
PRAGMA user_version = {FORMAT};
COMMIT;
"""


def lock(path: Path) -> sqlite3.Connection:
    """Take the crawl for this process, for as long as the connection is open; the system ends it with the process.

    The lock is SQLite's own, on an empty file beside the database, so that others may read the database meanwhile.
    """
    db = sqlite3.connect(path.with_suffix(".lock"), isolation_level=None, timeout=1.0)
    try:
        db.execute("BEGIN EXCLUSIVE")
    except BaseException:
        db.close()
        raise
    return db


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Open, or make, the database. The lock is held already."""
    db = sqlite3.connect(path, isolation_level=None, timeout=10.0, check_same_thread=False)  # commits have their own
    try:
        _check_format(db, path)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA journal_size_limit = 16777216")
        db.execute("PRAGMA cache_size = -32768")  # 32 MiB
        db.executescript(SCHEMA)
    except BaseException:
        db.close()
        raise
    return db


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open the database beside the crawl that writes it."""
    words = "?mode=ro"
    if not os.access(path.parent, os.W_OK) and not path.with_name(f"{path.name}-wal").exists():
        words += "&immutable=1"  # a finished crawl of somebody else: SQLite may not make its index of the journal
    db = sqlite3.connect(path.absolute().as_uri() + words, uri=True, isolation_level=None, timeout=10.0)
    try:
        _check_format(db, path)
    except BaseException:
        db.close()
        raise
    return db


def open_finished(path: Path) -> sqlite3.Connection:
    """Open any database that nobody should be writing any more, so that no file is left beside it."""
    journal = path.with_name(f"{path.name}-wal")
    mode = "mode=ro" if journal.exists() and journal.stat().st_size else "mode=ro&immutable=1"
    return sqlite3.connect(f"{path.resolve().as_uri()}?{mode}", uri=True, timeout=1.0)


def is_running(folder: Path, name: str = "frontier.lock") -> bool:
    """Whether a process, this one or another, crawls into a folder now: its lock says so. Nothing is written."""
    path = folder / name
    if not path.exists():
        return False
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=0.0)) as db:
            db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.Error as error:
        return "locked" in str(error)
    return False


def _check_format(db: sqlite3.Connection, path: Path) -> None:
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version == FORMAT:
        return
    if version or db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
        if not version and db.execute("PRAGMA user_version").fetchone()[0] == FORMAT:
            return  # another process has just made it
        raise StorageError(
            f"{path} was created by another version of comity or on an incompatible machine",
            hint="go on with that one, or start anew in another folder",
        )


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what SQLite says into a StorageError that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        text = str(error)
        if "locked" in text:
            raise StorageError(
                f"{path.parent} is in use by another crawl", hint="wait for it, or choose another folder"
            ) from error
        if "full" in text:
            raise no_room(path) from error
        if getattr(error, "sqlite_errorname", "") in ("SQLITE_IOERR_WRITE", "SQLITE_IOERR_SHMSIZE"):  # or a quota
            raise StorageError(
                f"no room left for {path}, or its disk is failing ({text})",
                hint="fix that, then continue with --resume",
            ) from error
        if "unable to open" in text and (lack := no_descriptor(path)) is not None:
            raise lack from error
        if "readonly" in text or "unable to open" in text:
            raise StorageError(f"{path} cannot be written", hint="check the folder and its permissions") from error
        raise StorageError(f"{path}: {text}") from error


LATER = 1 << 40  # beyond every rank; a postponed URL has twice as much added to its own
_PREFIXES = ("", "https://", "http://")


def rank(found: Found) -> int:
    """The place in its host's queue: by priority, then sitemaps before pages. Ids settle the rest."""
    return found.priority * 2 + (found.kind is not EntryKind.SITEMAP)


def split(found: Found) -> tuple[int, str]:
    """A URL without what its host says already: which prefix stood before, and the rest."""
    for number, scheme in enumerate(_PREFIXES[1:], 1):
        if found.url.startswith(prefix := scheme + found.host):
            return number, found.url[len(prefix) :]
    return 0, found.url  # with a user name, for example


def waiting(
    db: sqlite3.Connection,
    host: str,
    most: int,
    *,
    but_not: Collection[int] = (),
    below: int = 4 * LATER,
    kind: EntryKind | None = None,
) -> list[Entry]:
    """The first URLs of a host's queue, of a kind or of all, but for some ids and those with a rank of `below` on."""
    wanted = "" if kind is None else f"AND kind = {kind:d} "
    # One row: at each row that SQLite hands over, threads fight for the interpreter.
    (rows,) = db.execute(
        "SELECT json_group_array(json_array(rank, id, prefix, rest, depth, kind, attempts, hops, "
        "(SELECT url FROM source WHERE source.id = source_id))) FROM ("
        "SELECT *, source AS source_id FROM waiting WHERE host = (SELECT id FROM host WHERE name = ?) AND rank < ? "
        f"{wanted}AND id NOT IN (SELECT value FROM json_each(?)) ORDER BY rank, id LIMIT ?)",
        (host, below, json.dumps(list(but_not)), most),
    ).fetchone()
    return [
        Entry(
            id_,
            (_PREFIXES[prefix] + host if prefix else "") + rest,
            depth,
            EntryKind(kind),
            attempts,
            hops,
            _priority(rank),
            found_on,
        )
        for rank, id_, prefix, rest, depth, kind, attempts, hops, found_on in sorted(json.loads(rows))
    ]


def _priority(rank: int) -> int:
    return (rank - 2 * LATER if rank >= LATER else rank) >> 1


def counts(db: sqlite3.Connection) -> dict[State, int]:
    """How many URLs are in each state."""
    sums = db.execute("SELECT sum(unasked), sum(queued), sum(done), sum(refused), sum(failed) FROM host").fetchone()
    return dict(zip(State, (number or 0 for number in sums), strict=True))


@dataclass(frozen=True, slots=True)
class HostCounts:
    """How many URLs of a host wait, and what became of the others."""

    host: str
    waiting: int
    done: int
    refused: int
    failed: int


@dataclass(frozen=True, slots=True)
class Standing:
    """How a URL waits in the frontier.

    Attributes:
        postponed: whether it waits for a robots.txt that could not be reached.
        aside: of one that stands aside, what keeps it there; None of one that waits.
    """

    state: State
    postponed: bool
    aside: Literal["scope", "policy", "usage"] | None
    depth: int
    attempts: int
    found_on: str | None


_COLUMNS = "name, unasked + queued, done, refused, failed"


def has_begun(path: Path) -> bool:
    """Whether there is a crawl in a frontier: not where it ended before it was written down what to start from.

    Raises:
        StorageError: it cannot be read.
    """
    if not path.exists():
        return False
    with explained(path), closing(open_for_reading(path)) as db:
        made = db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'run'").fetchone()
        return made is not None and db.execute("SELECT 1 FROM run WHERE key = 'seeds'").fetchone() is not None


class View:
    """The frontier of a crawl folder as it was committed last when the view was opened.

    Raises:
        StorageError: there is none, or it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        if not path.exists():
            raise InputError(f"there is no crawl in {path.parent}", hint="name the folder given to comity crawl -o")
        with explained(path):
            self._db = open_for_reading(path)
            try:
                self._db.execute("BEGIN")
                self.counts()  # the first question settles which instant all answers are of
            except BaseException:
                self._db.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with explained(self._path), closing(self._db):
            self._db.execute("ROLLBACK")

    def counts(self) -> dict[State, int]:
        """How many URLs are in each state."""
        with explained(self._path):
            return counts(self._db)

    def busiest(self, most: int) -> list[HostCounts]:
        """The hosts with most URLs waiting; those with none come last."""
        with explained(self._path):
            rows = self._db.execute(
                f"SELECT {_COLUMNS} FROM host ORDER BY unasked + queued DESC, id LIMIT ?", (most,)
            ).fetchall()
        return [HostCounts(*row) for row in rows]

    def host(self, name: str) -> HostCounts | None:
        """One host, or None where the crawl has not met it."""
        with explained(self._path):
            row = self._db.execute(f"SELECT {_COLUMNS} FROM host WHERE name = ?", (name,)).fetchone()
        return HostCounts(*row) if row else None

    def load_state(self, key: str) -> Any:
        """A fact that the crawl remembers, or None."""
        with explained(self._path):
            row = self._db.execute("SELECT value FROM run WHERE key = ?", (key,)).fetchone()
        return json.loads(row[0]) if row else None

    def stands(self, url: str, host: str) -> Standing | None:
        """How a URL waits, or stands aside; None where it does neither."""
        prefix, rest = split(Found(url, host, 0, EntryKind.PAGE, State.QUEUED))
        for table, why in (("waiting", "NULL"), ("aside", "why")):
            with explained(self._path):
                row = self._db.execute(
                    f"SELECT state, rank, depth, attempts, {why}, (SELECT url FROM source WHERE source.id = source_id) "
                    f"FROM (SELECT *, source AS source_id FROM {table}) WHERE host = "
                    "(SELECT id FROM host WHERE name = ?) AND prefix = ? AND rest = ?",
                    (host, prefix, rest),
                ).fetchone()
            if row:
                state, rank, depth, attempts, aside, found_on = row
                kept_by: Any = None if aside is None else ("scope", "policy", "usage")[aside]  # numbered in later.py
                return Standing(State(state), rank >= LATER, kept_by, depth, attempts, found_on)
        return None

    def waiting(self, host: str, most: int) -> list[Entry]:
        """The next URLs of a host, in the order they will be fetched."""
        with explained(self._path):
            return waiting(self._db, host, most)
