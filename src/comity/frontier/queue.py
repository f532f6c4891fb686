"""The frontier in a SQLite file: what rules.py asks of a store.

A batch goes to SQLite in few statements, each for many rows: it works on them without the interpreter, beside the
crawl, where a statement for each row would have the two threads stop each other at every row.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import chain
from pathlib import Path

from comity.frontier import later
from comity.frontier.database import explained, lock, open_for_reading, open_for_writing
from comity.frontier.rules import DurableFrontier, Row
from comity.frontier.seen import Seen
from comity.frontier.tables import FrontierTables
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
            self._db = stack.enter_context(closing(open_for_writing(path)))
            reader = stack.enter_context(closing(open_for_reading(path)))
            row = self._db.execute("SELECT value FROM run WHERE key = ?", (_KEY,)).fetchone()
            key = os.urandom(16).hex() if row is None else json.loads(row[0])
            if row is None:
                self._keep({_KEY: json.dumps(key)})
            self._seen = stack.enter_context(closing(Seen(self._db, path.with_suffix(".seen"), bytes.fromhex(key))))
            super().__init__(FrontierTables(reader, path), FrontierTables(self._db, path))
            self._open = stack.pop_all()

    def _close(self) -> None:
        self._open.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def _recall(self) -> None:
        self._seen.reload()

    def _tidy(self) -> None:
        self._seen.tidy()

    def _meet(self, urls: list[str]) -> dict[int, int]:
        fingerprints = self._seen.unknown(urls)
        self._seen.add(fingerprints)
        return fingerprints

    def _remove(self, ids: list[int]) -> Iterable[tuple[int, int, int]]:
        # One row: at each row that SQLite hands over, threads fight for the interpreter.
        (rows,) = self._db.execute(
            "SELECT json_group_array(json_array(id, host, state)) FROM waiting "
            "WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(ids),),
        ).fetchone()
        self._db.execute("DELETE FROM waiting WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(ids),))
        found: list[tuple[int, int, int]] = json.loads(rows)
        return found

    def _queue(self, rows: Sequence[Row]) -> None:
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

    def _add_aside(self, rows: Sequence[Row], why: int) -> None:
        self._db.executemany(f"INSERT INTO aside VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, {why})", rows)

    def _add_hosts(self, ids: Mapping[str, int]) -> None:
        self._db.executemany("INSERT INTO host (name, id) VALUES (?, ?)", ids.items())

    def _add_sources(self, ids: Mapping[str, int]) -> None:
        self._db.execute(
            "INSERT INTO source SELECT json_extract(value, '$[1]'), json_extract(value, '$[0]') FROM json_each(?)",
            (json.dumps(list(ids.items())),),
        )

    def _count(self, changes: Mapping[int, Sequence[int]]) -> None:
        alike: dict[tuple[int, ...], list[int]] = {}  # of most hosts the same number of URLs was settled and found
        for host, its in sorted(changes.items()):
            alike.setdefault(tuple(its), []).append(host)
        self._db.executemany(
            "UPDATE host SET unasked = unasked + ?, queued = queued + ?, done = done + ?, refused = refused + ?, "
            "failed = failed + ? WHERE id IN (SELECT value FROM json_each(?))",
            [(*its, json.dumps(hosts)) for its, hosts in alike.items()],
        )

    def _write_visits(self, batch: Batch) -> None:
        later.write_visits(self._db, batch)

    def _begin_refresh(self) -> int:
        last = later.begin_refresh(self._db)
        for statement in _CLEAR:
            self._db.execute(statement)
        return last

    def _forget(self, patterns: Iterable[str]) -> None:
        self._db.executemany("DELETE FROM run WHERE key GLOB ?", [(pattern,) for pattern in patterns])

    def _send(self, parcels: Iterable[tuple[int, int, str]]) -> None:
        self._db.executemany("INSERT INTO parcel (id, shard, messages) VALUES (?, ?, ?)", parcels)

    def _forget_parcels(self, delivered: Mapping[int, int]) -> None:
        self._db.executemany("DELETE FROM parcel WHERE shard = ? AND id <= ?", delivered.items())

    def _keep(self, facts: Mapping[str, str]) -> None:
        values = json.dumps(facts)
        self._db.execute("INSERT OR REPLACE INTO run SELECT key, value FROM json_each(?)", (values,))

    def _drop(self, names: list[str]) -> None:
        self._db.execute("DELETE FROM run WHERE key IN (SELECT value FROM json_each(?))", (json.dumps(names),))
