"""The two stores that a frontier may lie in, opened alike, so that one test can be about both."""

import itertools
import os
from contextlib import closing
from pathlib import Path
from typing import Any

from postgres import Server

from comity.crawler.storage.leases import Leases
from comity.crawler.storage.store import CrawlStore
from comity.crawler.storage.tables import make
from comity.errors import StorageError
from comity.frontier.postgresql import database
from comity.frontier.postgresql.store import PostgresFrontier, PostgresView
from comity.frontier.sqlite.store import Frontier, View

_NUMBERS = itertools.count()
SHARD = 0


def exists(store: CrawlStore) -> bool:
    """Whether a crawl was made there."""
    with store.open() as db:
        return database.is_made(db, store.where)


class Held(PostgresFrontier):
    """The frontier of a shard, with its lease: taken when it is opened, let go when it is closed."""

    def __init__(self, where: database.Address, holder: str = "", shard: int = SHARD) -> None:
        self._lease = database.connect(where)
        try:
            self.leases = Leases(where, holder or f"{os.getpid()}-{next(_NUMBERS)}", 600.0)
            token = self.leases.take(self._lease, shard)
            if token is None:
                raise StorageError(f"the crawl in {where} is in use by another crawl")
            super().__init__(where, shard, token)
        except BaseException:
            self._lease.close()
            raise

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.leases.release(self._lease, list(self.leases.tokens))
        self._lease.close()


def drop(db: Any, where: database.Address) -> None:
    """Remove a crawl's tables with all that is in them."""
    db.execute(f"DROP SCHEMA IF EXISTS {where.schema} CASCADE")


class SqliteStore:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "frontier.sqlite"

    def open(self) -> Frontier:
        return Frontier(self.path)

    def view(self) -> View:
        return View(self.path)


class PostgresStore:
    """A crawl of its own in a server, of as many shards as are said."""

    def __init__(self, server: Server, *, shards: int = 1, lease: float = 600.0) -> None:
        self.server = server
        self.where = database.address(server.url(f"c{os.getpid()}_{next(_NUMBERS)}"))
        with closing(database.connect(self.where)) as db:
            make(db, self.where, shards, {}, lease=lease)

    def open(self, *, shard: int = SHARD) -> Held:
        return Held(self.where, shard=shard)

    def view(self) -> PostgresView:
        return PostgresView(self.where, SHARD)

    def clear(self) -> None:
        """Forget what is in it; leases stay."""
        with closing(database.connect(self.where)) as db:
            for table in ("fact", "host", "waiting", "aside", "source", "seen", "visit", "parcel"):
                db.execute(f"DELETE FROM {table}")

    def remove(self) -> None:
        with closing(database.connect(self.where)) as db:
            drop(db, self.where)


Store = SqliteStore | PostgresStore
