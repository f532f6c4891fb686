"""The frontier's SQLite file: its tables, how it is opened, who may write, and what its errors mean in words."""

import errno
import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from comity.errors import StorageError

LACKING = (errno.EMFILE, errno.ENFILE)  # no file descriptor is left
# PRAGMA user_version; fingerprints lie in the machine's byte order
FORMAT = 2 if sys.byteorder == "little" else 3

# Rows are written where the last ones were: ids only grow, and the one index grows at the end of each host's range.
# `waiting` holds only what waits, `aside` what our own wishes keep out of it (aside.py); of the rest a fingerprint and
# a count remain, and a row in `visit` (visits.py) of each page. A first crawl only appends to that, and needs no index:
# it visits a URL once.
SCHEMA = f"""
BEGIN;
CREATE TABLE IF NOT EXISTS host (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    unasked INTEGER NOT NULL DEFAULT 0,
    queued INTEGER NOT NULL DEFAULT 0,
    done INTEGER NOT NULL DEFAULT 0,
    refused INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS waiting (
    id INTEGER PRIMARY KEY,
    host INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    prefix INTEGER NOT NULL,
    rest TEXT NOT NULL,
    depth INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    state INTEGER NOT NULL,
    hops INTEGER NOT NULL,
    attempts INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS turn ON waiting (host, rank);
CREATE TABLE IF NOT EXISTS aside (
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
    why INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS visit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    url TEXT NOT NULL,
    said TEXT NOT NULL,
    stated REAL
);
CREATE TABLE IF NOT EXISTS fresh (id INTEGER PRIMARY KEY, fingerprints BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS sorted_run (id INTEGER PRIMARY KEY, size INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS run (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
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


def _check_format(db: sqlite3.Connection, path: Path) -> None:
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version == FORMAT:
        return
    if version or db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
        raise StorageError(
            f"{path} was made by another version of comity or another kind of machine",
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
                f"no room left for {path}, or its disk fails ({text})", hint="see to it, then run again with --resume"
            ) from error
        if "unable to open" in text and (lack := no_descriptor(path)) is not None:
            raise lack from error
        if "readonly" in text or "unable to open" in text:
            raise StorageError(f"{path} cannot be written", hint="check the folder and its permissions") from error
        raise StorageError(f"{path}: {text}") from error


@contextmanager
def explained_files(path: Path) -> Iterator[None]:
    """The same for what the system says about a file of ours."""
    try:
        yield
    except OSError as error:
        raise system_error(error, path) from error


def system_error(error: OSError, path: Path) -> StorageError:
    """What the system says about a file or folder of ours, in words for people."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return no_room(path)
    if error.errno in LACKING:
        return _lacking(path, error)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StorageError(f"{path} cannot be written: {error.strerror}", hint="choose another folder with -o")
    return StorageError(f"{path}: {error.strerror or error}", hint="check the folder and its permissions")


def no_room(path: Path) -> StorageError:
    return StorageError(f"no room left for {path}", hint="free some, then run again with --resume")


def no_descriptor(path: Path) -> StorageError | None:
    """The error where a file cannot be opened because this process may open no more, which SQLite does not tell."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return _lacking(path, error) if error.errno in LACKING else None
    return None


def _lacking(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"{path} cannot be opened: {error.strerror}",
        hint="raise this process's limit on open files (ulimit -n), then run again with --resume",
    )
