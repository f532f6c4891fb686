"""The frontier in a SQLite file: a store as of store.py.

A batch goes to SQLite in few statements, each for many rows: it works on them without the interpreter, beside the
crawl, where a statement for each row would have the two threads stop each other at every row.
"""

import json
import os
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from itertools import chain
from pathlib import Path
from typing import Any

from comity.frontier.database import explained, lock, open_for_reading, open_for_writing, transaction
from comity.frontier.rules import DurableFrontier
from comity.frontier.seen import Seen
from comity.frontier.store import Row, quick
from comity.frontier.tables import URL, FrontierTables
from comity.frontier.values import Batch

_MOST_ROWS = 64  # of one statement: SQLite takes 999 values everywhere
_KEY = "fingerprint_key"
_CLEAR = (
    "DELETE FROM waiting",
    "DELETE FROM aside",
    "DELETE FROM source",
    "DELETE FROM fresh",
    "DELETE FROM sorted_run",
    "UPDATE host SET unasked = 0, queued = 0, done = 0, refused = 0, failed = 0",
)
# What was found and not visited, because a limit ended the crawl, or scope or policy kept it out.
_WAITING = f"""
INSERT OR IGNORE INTO visit (url, said)
SELECT {URL}, json_array(depth, null, null, null, null, null, (SELECT url FROM source WHERE source.id = source_id))
FROM (SELECT *, source AS source_id FROM {{table}}) AS found
JOIN host ON host.id = found.host WHERE kind = 0 ORDER BY found.id
"""
_STATED = """
UPDATE visit SET stated = json_extract(value, '$[0]') FROM json_each(?) WHERE url = json_extract(value, '$[1]')
"""


class SqliteStore(FrontierTables):
    """The database of one crawl folder, for who writes it: see store.py.

    Args:
        path: the database; the folder of fingerprints lies beside it under its name.
    """

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        super().__init__(db, path)
        text = self.fact(_KEY)
        key = os.urandom(16).hex() if text is None else json.loads(text)
        if text is None:
            self.keep({_KEY: json.dumps(key)})
        self.seen = Seen(db, path.with_suffix(".seen"), bytes.fromhex(key))

    def committed(self, met: Collection[int]) -> None:
        """They are in memory already."""

    def while_writing(self) -> AbstractContextManager[None]:
        return nullcontext()

    def transaction(self) -> AbstractContextManager[None]:
        return transaction(self._db)

    def recall(self) -> None:
        self.seen.reload()

    def tidy(self) -> None:
        self.seen.tidy()

    def meet(self, urls: list[str]) -> dict[int, int]:
        fingerprints = self.seen.unknown(urls)
        self.seen.add(fingerprints)
        return fingerprints

    def remove(self, ids: list[int]) -> Iterable[tuple[int, int, int]]:
        # One row: at each row that SQLite hands over, threads fight for the interpreter.
        (rows,) = self._db.execute(
            "SELECT json_group_array(json_array(id, host, state)) FROM waiting "
            "WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(ids),),
        ).fetchone()
        self._db.execute("DELETE FROM waiting WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(ids),))
        found: list[tuple[int, int, int]] = json.loads(rows)
        return found

    def add(self, rows: Sequence[Row]) -> None:
        """Many rows to a statement; of which there are few, so that SQLite has each at hand."""
        start, many = 0, _MOST_ROWS
        while start < len(rows):
            while many > len(rows) - start:
                many //= 2
            values = ", ".join(["(?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?)"] * many)
            self._db.execute(
                f"INSERT INTO waiting VALUES {values}", list(chain.from_iterable(rows[start : start + many]))
            )
            start += many

    def add_aside(self, rows: Sequence[Row], why: int) -> None:
        self._db.executemany(f"INSERT INTO aside VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, {why})", rows)

    def add_hosts(self, ids: Mapping[str, int]) -> None:
        self._db.executemany("INSERT INTO host (name, id) VALUES (?, ?)", ids.items())

    def add_sources(self, ids: Mapping[str, int]) -> None:
        self._db.execute(
            "INSERT INTO source SELECT json_extract(value, '$[1]'), json_extract(value, '$[0]') FROM json_each(?)",
            (json.dumps(list(ids.items())),),
        )

    def count(self, changes: Mapping[int, Sequence[int]]) -> None:
        alike: dict[tuple[int, ...], list[int]] = {}  # of most hosts the same number of URLs was settled and found
        for host, its in sorted(changes.items()):
            alike.setdefault(tuple(its), []).append(host)
        self._db.executemany(
            "UPDATE host SET unasked = unasked + ?, queued = queued + ?, done = done + ?, refused = refused + ?, "
            "failed = failed + ? WHERE id IN (SELECT value FROM json_each(?))",
            [(*its, json.dumps(hosts)) for its, hosts in alike.items()],
        )

    def write_visits(self, batch: Batch) -> None:
        if batch.visits:
            said: dict[str, tuple[Any, ...]] = {
                v.url: (v.depth, v.digest, v.kept, v.fetched, v.etag, v.modified, v.found_on) for v in batch.visits
            }
            self._tell("INSERT OR REPLACE INTO visit (url, said) SELECT key, value FROM json_each(?)", said)
        if batch.owed:
            depths = {url: (depth, None, None, None, None, None, found_on) for url, depth, found_on in batch.owed}
            self._tell("INSERT OR IGNORE INTO visit (url, said) SELECT key, value FROM json_each(?)", depths)
        if batch.gone:
            self._tell("DELETE FROM visit WHERE url IN (SELECT value FROM json_each(?))", batch.gone)
        if batch.stated:
            self._tell(_STATED, batch.stated)

    def _tell(self, statement: str, values: Any) -> None:
        self._db.execute(statement, (quick(values),))

    def begin_refresh(self) -> int:
        self._db.execute("CREATE UNIQUE INDEX IF NOT EXISTS visited ON visit (url)")
        self._db.execute("UPDATE visit SET stated = NULL WHERE stated IS NOT NULL")
        for table in ("waiting", "aside"):
            self._db.execute(_WAITING.format(table=table))
        last: int = self._db.execute("SELECT coalesce(max(id), 0) FROM visit").fetchone()[0]
        for statement in _CLEAR:
            self._db.execute(statement)
        return last

    def forget(self, patterns: Iterable[str]) -> None:
        self._db.executemany("DELETE FROM run WHERE key GLOB ?", [(pattern,) for pattern in patterns])

    def send(self, parcels: Iterable[tuple[int, int, str]]) -> None:
        self._db.executemany("INSERT INTO parcel (id, shard, messages) VALUES (?, ?, ?)", parcels)

    def forget_parcels(self, delivered: Mapping[int, int]) -> None:
        self._db.executemany("DELETE FROM parcel WHERE shard = ? AND id <= ?", delivered.items())

    def keep(self, facts: Mapping[str, str]) -> None:
        self._tell("INSERT OR REPLACE INTO run SELECT key, value FROM json_each(?)", facts)

    def drop(self, names: list[str]) -> None:
        self._db.execute("DELETE FROM run WHERE key IN (SELECT value FROM json_each(?))", (json.dumps(names),))


class Frontier(DurableFrontier):
    """Opens, or makes, the frontier of a crawl folder. One process at a time writes; others may read (tables.View).

    Args:
        path: the database; the lock and the folder of fingerprints lie beside it under its name.

    Raises:
        StorageError: the file cannot be opened, is damaged, or another crawl uses it.
    """

    def __init__(self, path: Path) -> None:
        with explained(path), ExitStack() as stack:
            stack.enter_context(closing(lock(path)))
            db = stack.enter_context(closing(open_for_writing(path)))
            reader = stack.enter_context(closing(open_for_reading(path)))
            store = SqliteStore(db, path)
            stack.enter_context(closing(store.seen))
            super().__init__(store, FrontierTables(reader, path), stack)
