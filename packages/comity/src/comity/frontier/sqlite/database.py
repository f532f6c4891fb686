"""The frontier's SQLite file: its tables, how it is opened, who may write, what its errors mean in words."""

import os
import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final

from comity.errors import StorageError, StorageFull, sqlite_code
from comity.files import NOT_REGULAR, check_regular, closed_on_error
from comity.frontier.durable import no_descriptor, no_room, of_another_version
from comity.frontier.values import SEEDS

_TABLE: Final = re.compile(  # of columns without expressions, which need brackets
    r"""(?i)CREATE TABLE "?\w+"? ?\((?:[\w\s,]|"[^"]*"|(?<=PRIMARY KEY )\([\w\s,]*\))*+\)( WITHOUT ROWID)?"""
)
_INDEX: Final = re.compile(r'(?i)CREATE (UNIQUE )?INDEX "?\w+"? ON "?\w+"? ?\([\w, "]+\)')  # of columns
# PRAGMA user_version; fingerprints lie in the machine's byte order
FORMAT = 6 if sys.byteorder == "little" else 7

# Rows are written where the last ones were: ids only grow, and the one index grows at the end of each host's range.
# `waiting` holds only what waits, `aside` what scope and policy keep out of it (frontier/refilter.py); of the rest
# there remain a fingerprint and a count, and a row in `visit` of each page. `source` has a row for each page that named
# new URLs, `parcel` what other shards are to be told (frontier/messages.py). A first crawl only appends to `visit`, and
# needs no index: it visits a URL once.
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
    attempts INTEGER NOT NULL DEFAULT 0,
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
    known INTEGER NOT NULL,
    said TEXT NOT NULL,
    stated REAL
);
CREATE TABLE IF NOT EXISTS fresh (id INTEGER PRIMARY KEY, fingerprints BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS sorted_run (id INTEGER PRIMARY KEY, size INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS fact (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
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
    check_files(path.with_suffix(".lock"))
    db = sqlite3.connect(path.with_suffix(".lock"), isolation_level=None, timeout=1.0)
    with closed_on_error(db):
        db.execute("BEGIN EXCLUSIVE")
    return db


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """A block that is kept as a whole or not at all."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Open, or make, the database. The lock is held already."""
    check_files(path)
    db = sqlite3.connect(path, isolation_level=None, timeout=10.0, check_same_thread=False)  # commits have their own
    with closed_on_error(db):
        _check_format(db, path)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA journal_size_limit = 16777216")
        db.execute("PRAGMA cache_size = -32768")  # 32 MiB
        db.executescript(SCHEMA)
    return db


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open the database beside the crawl that writes it."""
    check_files(path)
    words = "?mode=ro"
    if not os.access(path.parent, os.W_OK) and not path.with_name(f"{path.name}-wal").exists():
        words += "&immutable=1"  # a finished crawl of somebody else: SQLite may not make its index of the journal
    db = sqlite3.connect(path.absolute().as_uri() + words, uri=True, isolation_level=None, timeout=10.0)
    with closed_on_error(db):
        _check_format(db, path)
    return db


def open_finished(path: Path) -> sqlite3.Connection:
    """Open any database that nobody should be writing any more, so that no file is left beside it. A StorageError: it
    has more than tables and indexes."""
    check_files(path)
    journal = path.with_name(f"{path.name}-wal")
    mode = "mode=ro" if journal.exists() and journal.stat().st_size else "mode=ro&immutable=1"
    db = sqlite3.connect(f"{path.resolve().as_uri()}?{mode}", uri=True, timeout=1.0)
    with closed_on_error(db):
        check_tables(db, path)
    return db


def check_files(path: Path) -> None:
    """See that a database, and what lies beside it, are regular files where they are there: SQLite waits for a pipe and
    follows links. Else a StorageError."""
    for end in ("", "-wal", "-shm", "-journal"):
        try:
            check_regular(path.with_name(f"{path.name}{end}"))
        except OSError as error:
            raise StorageError(f"{path}{end}: {NOT_REGULAR}", hint="a crawl writes no such thing") from error


def check_tables(db: sqlite3.Connection, path: Path) -> None:
    """See that a database holds tables and indexes alone, of plain columns: a view, a trigger or an expression (of
    CHECK, DEFAULT, an index, a generated column) may go on for ever, or make a value of any size. Else a StorageError.
    """
    for kind, name, root, sql in db.execute("SELECT type, name, rootpage, sql FROM sqlite_schema").fetchall():
        form = {"table": _TABLE, "index": _INDEX}.get(kind)
        is_plain = (kind == "index") if sql is None else form is not None and form.fullmatch(str(sql))
        if not (is_plain and root):  # neither a view nor a virtual table
            raise StorageError(f"{path}: the {kind} {name!r:.80} in it was not written by a crawl")


def is_running(folder: Path, name: str = "frontier.lock") -> bool:
    """Whether a process, this one or another, crawls into a folder now: its lock says so. Nothing is written."""
    path = folder / name
    if not path.exists():
        return False
    check_files(path)
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=0.0)) as db:
            db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.Error as error:
        return sqlite_code(error) == sqlite3.SQLITE_BUSY
    return False


def _check_format(db: sqlite3.Connection, path: Path) -> None:
    check_tables(db, path)
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version == FORMAT:
        return
    if version or db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
        if not version and db.execute("PRAGMA user_version").fetchone()[0] == FORMAT:
            return  # another process has just made it
        raise of_another_version(path, version, FORMAT)


class translate_errors:  # noqa: N801 - used as a function is
    """Turn what SQLite says in the block into a StorageError that says what to do."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, sqlite3.Error):
            raise _in_words(error, self._path) from error


def _in_words(error: sqlite3.Error, path: Path) -> StorageError:
    text, code = str(error), sqlite_code(error)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StorageError(f"{path.parent} is in use by another crawl", hint="wait for it, or choose another folder")
    if code == sqlite3.SQLITE_FULL:
        return no_room(path)
    if getattr(error, "sqlite_errorname", "") in ("SQLITE_IOERR_WRITE", "SQLITE_IOERR_SHMSIZE"):  # or a quota
        return StorageFull(
            f"no room left for {path}, or its disk is failing ({text})", hint="fix that, then continue with --resume"
        )
    if code == sqlite3.SQLITE_CANTOPEN and (lack := no_descriptor(path)) is not None:
        return lack
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
        what = "written" if code == sqlite3.SQLITE_READONLY else "opened"
        return StorageError(f"{path} cannot be {what}", hint="check the folder and its permissions")
    return StorageError(f"{path}: {text}")


def has_begun(path: Path) -> bool:
    """Whether there is a crawl in a frontier: not where it ended before it was written down what to start from."""
    if not path.exists():
        return False
    with translate_errors(path), closing(open_for_reading(path)) as db:
        return begun(db)


def begun(db: sqlite3.Connection) -> bool:
    """Whether there is a crawl in an open frontier."""
    made = db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'fact'").fetchone()
    return made is not None and db.execute("SELECT 1 FROM fact WHERE key = ?", (SEEDS,)).fetchone() is not None
