"""The frontier in a SQLite file: what its store has of its own, and how it is opened."""

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from pathlib import Path
from typing import Final

from comity.frontier.changes import ChangedTables
from comity.frontier.rules import DurableFrontier
from comity.frontier.sqlite.database import explained, lock, open_for_reading, open_for_writing, transaction
from comity.frontier.sqlite.dialect import SqliteDialect
from comity.frontier.sqlite.seen import Seen
from comity.frontier.tables import Tables

_KEY: Final = "fingerprint_key"


class SqliteStore(ChangedTables):
    """The database of one crawl folder, for who writes it: see frontier/store.py.

    Args:
        path: the database; the folder of fingerprints lies beside it under its name.
    """

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
        with explained(self._path):
            self.seen.tidy()
            with transaction(self._db):
                yield

    def reload(self) -> None:
        with explained(self._path):
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
    """Opens, or makes, the frontier of a crawl folder. One process at a time writes; others may read (view.py).

    Args:
        path: the database; the lock and the folder of fingerprints lie beside it under its name.

    Raises:
        StorageError: the file cannot be opened, is damaged, or another crawl uses it.
    """

    def __init__(self, path: Path) -> None:
        with ExitStack() as stack:
            stack.enter_context(explained(path))  # of closing too: the journal is replayed on resume
            stack.enter_context(closing(lock(path)))
            db = stack.enter_context(closing(open_for_writing(path)))
            reader = stack.enter_context(closing(open_for_reading(path)))
            store = SqliteStore(db, path)
            stack.enter_context(closing(store.seen))
            super().__init__(store, Tables(SqliteDialect(reader, path)), stack)
