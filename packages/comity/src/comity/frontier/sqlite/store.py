"""The frontier in a SQLite file: what its store has of its own, how it is opened, what shards of a folder have sent."""

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from pathlib import Path
from typing import Final, Self

from comity.files import closed_on_error
from comity.frontier.committed import FrontierView
from comity.frontier.durable import no_crawl
from comity.frontier.messages import AT_ONCE, TAKEN, Parcel, numbers
from comity.frontier.rules import DurableFrontier
from comity.frontier.sqlite.database import (
    begun,
    lock,
    open_for_reading,
    open_for_writing,
    transaction,
    translate_errors,
)
from comity.frontier.sqlite.dialect import SqliteDialect
from comity.frontier.sqlite.seen import Seen
from comity.frontier.tables import ChangedTables, Tables, one_instant

_PARCELS: Final = "SELECT id, shard, messages FROM parcel WHERE id > ? AND shard = ? ORDER BY id LIMIT ?"
_KEY: Final = "fingerprint_key"


class SqliteStore(ChangedTables):
    """The database of one crawl folder, for who writes it: see frontier/store.py. The folder of fingerprints lies
    beside it under its name."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        super().__init__(SqliteDialect(db, path))
        self._db = db
        self._path = path
        text = self.fact(_KEY)
        key = os.urandom(16).hex() if text is None else json.loads(text)
        if text is None:
            self.keep({_KEY: json.dumps(key)})
        self.seen = Seen(db, path.with_suffix(".seen"), bytes.fromhex(key))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with translate_errors(self._path):
            self.seen.tidy()
            with transaction(self._db):
                yield

    def reload(self) -> None:
        with translate_errors(self._path):
            self.seen.reload()

    def while_writing(self) -> AbstractContextManager[None]:
        return nullcontext()

    def add_unseen(self, urls: list[str]) -> dict[int, int]:
        fingerprints = self.seen.unknown(urls)
        self.seen.add(fingerprints)
        return fingerprints

    def exchange(self, parcels: Mapping[int, tuple[int, str]], delivered: Mapping[int, int]) -> None:
        rows = [(number, receiver, text) for number, (receiver, text) in parcels.items()]
        self._db.executemany("INSERT INTO parcel (id, shard, messages) VALUES (?, ?, ?)", rows)
        self._db.executemany("DELETE FROM parcel WHERE shard = ? AND id <= ?", delivered.items())


class Frontier(DurableFrontier):
    """Opens, or makes, the frontier of a crawl folder: the database at `path`, and beside it under its name the lock
    and the folder of fingerprints. One process at a time writes; others may read."""

    def __init__(self, path: Path) -> None:
        with ExitStack() as stack:
            stack.enter_context(translate_errors(path))  # of closing too: the journal is replayed on resume
            stack.enter_context(closing(lock(path)))
            db = stack.enter_context(closing(open_for_writing(path)))
            reader = stack.enter_context(closing(open_for_reading(path)))
            store = SqliteStore(db, path)
            stack.enter_context(closing(store.seen))
            super().__init__(store, Tables(SqliteDialect(reader, path)), stack)


class View(FrontierView):
    """The frontier of a crawl folder, for who reads it; an InputError where there is none."""

    def __init__(self, path: Path, db: sqlite3.Connection | None = None) -> None:
        """`db`: where it is open already."""
        if not path.exists():
            raise no_crawl(path.parent)
        with translate_errors(path):
            db = db or open_for_reading(path)
            dialect = SqliteDialect(db, path)
            super().__init__(Tables(dialect), one_instant(db, dialect, "BEGIN"))

    @classmethod
    def begun(cls, path: Path) -> Self | None:
        """The same; None where no crawl has begun in it."""
        if not path.exists():
            return None
        with translate_errors(path):
            db = open_for_reading(path)
            with closed_on_error(db):
                if begun(db):
                    return cls(path, db)
            db.close()
        return None


class FolderMailboxes:
    """The parcels of the shards of a folder: see messages.MailboxReader. `path_of`: the database of a shard."""

    def __init__(self, path_of: Callable[[int], Path]) -> None:
        self._path_of = path_of
        self._open: dict[int, sqlite3.Connection] = {}

    async def parcels(self, receiver: int, after: Mapping[int, int]) -> list[tuple[int, Parcel]]:
        found = []
        for sender, last in after.items():
            with translate_errors(path := self._path_of(sender)):
                if sender not in self._open:
                    self._open[sender] = open_for_reading(path)
                rows = self._open[sender].execute(_PARCELS, (last, receiver, AT_ONCE)).fetchall()
            found += [(sender, Parcel(*row)) for row in rows]
        return found

    def close(self) -> None:
        for db in self._open.values():
            db.close()


def pending(paths: Mapping[int, Path]) -> dict[int, int]:
    """How many messages each shard has sent that have not been taken; `paths`: by shard, its database."""
    taken: dict[int, dict[int, int]] = {}  # by receiver
    for receiver, path in paths.items():
        with translate_errors(path), closing(open_for_reading(path)) as db:
            row = db.execute("SELECT value FROM fact WHERE key = ?", (TAKEN,)).fetchone()
        taken[receiver] = numbers(json.loads(row[0]) if row else None)
    found = {}
    for sender, path in paths.items():
        with translate_errors(path), closing(open_for_reading(path)) as db:
            rows = db.execute("SELECT id, shard, json_array_length(messages) FROM parcel").fetchall()
        found[sender] = sum(count for number, shard, count in rows if number > taken.get(shard, {}).get(sender, 0))
    return found
