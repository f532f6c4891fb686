"""A frontier's tables as both SQL stores have them, and what is asked and changed in SQL that both understand.

SQLite has a file for each shard, PostgreSQL a partition of each table; what differs between their statements is said
here in one place. What each does in its own way is in queue.py and postgresql/queue.py.
"""

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from comity.errors import InputError
from comity.frontier.committed import FrontierView
from comity.frontier.database import begun, explained, open_for_reading
from comity.frontier.store import LATER, POLICY, SCOPE, USAGE, entry_of
from comity.frontier.values import Entry, EntryKind, HostCounts, Listed, ListedTable, QueuedURL, State, Visit

URL: Final = "CASE prefix WHEN 0 THEN '' WHEN 1 THEN 'https://' || name ELSE 'http://' || name END || rest"
"""A queued URL, of a row joined with its host's."""
_HOST_COUNTS: Final = "name, unasked + queued, done, refused, failed"
_AT_ONCE: Final = 1000  # rows read at a time
_VISITS_AT_ONCE: Final = 500


class FrontierTables:
    """The tables of a SQLite file, over one connection: see store.py. Statements have a question mark for values."""

    waiting, aside, host, source, visited, of_run = "waiting", "aside", "host", "source", "visit", "run"
    columns = "id, host, rank, prefix, rest, depth, kind, state, hops, attempts, source"
    known = "json_extract(said, '$[1]') IS NOT NULL"  # of a visit: there was a page
    among = "IN (SELECT value FROM json_each(?))"  # of a column; the value is that of `as_value`

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db: Any = db
        self._path = path

    # What differs between the two

    def execute(self, query: str, values: Sequence[Any] = ()) -> Any:
        """Carry out a statement in the transaction that is open; gives the cursor."""
        return self._db.execute(query, values)

    def explained(self) -> AbstractContextManager[None]:
        """Turns the store's errors into a StorageError that says what to do."""
        return explained(self._path)

    @staticmethod
    def as_value(ids: Sequence[Any]) -> Any:
        """Ids, or names, as one value of a statement."""
        return json.dumps(ids)

    @staticmethod
    def same(one: str, other: str) -> str:
        """That two expressions are the same URL, as the index of visits has them."""
        return f"{one} = {other}"

    @staticmethod
    def starting(start: str) -> tuple[str, tuple[str, ...]]:
        """That a fact's name begins so, and the values of that."""
        return "key >= ? AND key < ?", (start, f"{start}\U0010ffff")

    def ordered(self, query: str, values: Sequence[Any]) -> Iterable[Any]:
        """The rows of the queue that a query gives, in its order, with the URL of the source in the place of its id."""
        # One row: at each row that SQLite hands over, threads fight for the interpreter.
        ((rows,),) = self.rows(
            "SELECT json_group_array(json_array(rank, id, prefix, rest, depth, kind, attempts, hops, "
            f"(SELECT url FROM source WHERE source.id = queue.source))) FROM ({query}) AS queue",
            values,
        )
        return sorted(json.loads(rows))

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """All rows of an answer.

        Raises:
            StorageError
        """
        with self.explained():
            rows: list[Any] = self.execute(query, values).fetchall()
            return rows

    # What is asked

    def counts(self) -> list[int]:
        """As of Committed, here and below."""
        query = f"SELECT sum(unasked), sum(queued), sum(done), sum(refused), sum(failed) FROM {self.host}"
        return [int(number or 0) for number in self.rows(query)[0]]

    def hosts(self, after: int) -> list[tuple[int, str]]:
        return self.rows(
            f"SELECT id, name FROM {self.host} WHERE id > ? AND unasked + queued > 0 ORDER BY id LIMIT {_AT_ONCE}",
            (after,),
        )

    def busiest(self, most: int) -> list[HostCounts]:
        query = f"SELECT {_HOST_COUNTS} FROM {self.host} ORDER BY unasked + queued DESC, id LIMIT ?"
        return [HostCounts(*row) for row in self.rows(query, (most,))]

    def host_counts(self, name: str) -> HostCounts | None:
        rows = self.rows(f"SELECT {_HOST_COUNTS} FROM {self.host} WHERE name = ?", (name,))
        return HostCounts(*rows[0]) if rows else None

    def fact(self, name: str) -> str | None:
        rows = self.rows(f"SELECT value FROM {self.of_run} WHERE key = ?", (name,))
        return rows[0][0] if rows else None

    def facts(self, start: str) -> dict[str, str]:
        which, values = self.starting(start)
        return dict(self.rows(f"SELECT key, value FROM {self.of_run} WHERE {which}", values))

    def queue(
        self, host: str, most: int, *, but_not: Collection[int], below: int, kind: EntryKind | None
    ) -> list[Entry]:
        wanted = "" if kind is None else f"AND kind = {kind:d} "
        rows = self.ordered(
            f"SELECT rank, id, prefix, rest, depth, kind, attempts, hops, source FROM {self.waiting} "
            f"WHERE host = (SELECT id FROM {self.host} WHERE name = ?) AND rank < ? {wanted}"
            f"AND NOT (id {self.among}) ORDER BY rank, id LIMIT ?",
            (host, below, self.as_value(list(but_not)), most),
        )
        return [entry_of(host, row) for row in rows]

    def stands(self, host: str, prefix: int, rest: str) -> QueuedURL | None:
        for table, why in ((self.waiting, "CAST(NULL AS smallint)"), (self.aside, "why")):
            rows = self.rows(
                f"SELECT state, rank, depth, attempts, {why}, (SELECT url FROM {self.source} AS source "
                f"WHERE source.id = queue.source) FROM {table} AS queue "
                f"WHERE host = (SELECT id FROM {self.host} WHERE name = ?) AND prefix = ? AND rest = ?",
                (host, prefix, rest),
            )
            if rows:
                state, rank, depth, attempts, aside, found_on = rows[0]
                kept_by: Any = None if aside is None else {SCOPE: "scope", POLICY: "policy", USAGE: "usage"}[aside]
                return QueuedURL(State(state), rank >= LATER, kept_by, depth, attempts, found_on)
        return None

    def visit(self, url: str) -> Visit | None:
        rows = self.rows(f"SELECT said, stated FROM {self.visited} WHERE {self.same('url', '?')}", (url,))
        return replace(Visit(url, *json.loads(rows[0][0])), stated=rows[0][1]) if rows else None

    def visits(self, after: int, last: int, *, known: bool) -> list[tuple[int, Visit]]:
        rows = self.rows(
            f"SELECT id, url, said FROM {self.visited} WHERE id > ? AND id <= ? "
            f"AND {'' if known else 'NOT '}({self.known}) ORDER BY id LIMIT {_VISITS_AT_ONCE}",
            (after, last),
        )
        return [(id_, Visit(url, *json.loads(said))) for id_, url, said in rows]

    def unasked(self, last: int) -> int:
        rows = self.rows(
            f"SELECT count(*) FROM {self.waiting} AS queue JOIN {self.host} AS host ON host.id = queue.host "
            f"JOIN {self.visited} AS visit ON {self.same('visit.url', URL)} "
            f"WHERE kind = 0 AND visit.id <= ? AND {self.known}",
            (last,),
        )
        return int(rows[0][0])

    def listed(self, table: ListedTable, sought: str, *, after: int, most: int, looks: int) -> Listed:
        name = {"visit": self.visited, "waiting": self.waiting, "aside": self.aside}[table]
        ((last, looked),) = self.rows(
            f"SELECT max(id), count(*) FROM (SELECT id FROM {name} WHERE id > ? ORDER BY id LIMIT ?) AS looked",
            (after, looks),
        )
        escaped = sought.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
        within = r"BETWEEN ? AND ? AND {} LIKE ? ESCAPE '\'"
        values = (after + 1, last or after, f"%{escaped}%", most)
        urls: list[tuple[int, str, QueuedURL | Visit]]
        if table == "visit":
            rows = self.rows(
                f"SELECT id, url, said FROM {name} WHERE id {within.format('lower(url)')} AND {self.known} "
                "ORDER BY id LIMIT ?",
                values,
            )
            urls = [(id_, url, Visit(url, *json.loads(said))) for id_, url, said in rows]
        else:
            rows = self.rows(
                f"SELECT queue.id, {URL}, state, rank, depth, attempts, (SELECT url FROM {self.source} AS source "
                f"WHERE source.id = queue.source) FROM {name} AS queue JOIN {self.host} AS host "
                f"ON host.id = queue.host WHERE queue.id {within.format(f'lower({URL})')} "
                f"{f'AND why = {SCOPE} ' if table == 'aside' else ''}ORDER BY queue.id LIMIT ?",
                values,
            )
            aside: Any = "scope" if table == "aside" else None
            urls = [
                (id_, url, QueuedURL(State(state), rank >= LATER, aside, depth, attempts, found_on))
                for id_, url, state, rank, depth, attempts, found_on in rows
            ]
        if len(urls) == most:
            last = urls[-1][0]
            ((looked,),) = self.rows(f"SELECT count(*) FROM {name} WHERE id BETWEEN ? AND ?", (after + 1, last))
            return Listed(urls, last, looked)
        return Listed(urls, last if looked == looks else None, looked)

    # What is changed

    def host_ids(self, names: Sequence[str]) -> dict[str, int]:
        """As of Store, here and below."""
        query = f"SELECT name, id FROM {self.host} WHERE name {self.among}"
        return dict(self.execute(query, (self.as_value(names),)).fetchall())

    def last_host(self) -> int:
        (last,) = self.execute(f"SELECT coalesce(max(id), 0) FROM {self.host}").fetchone()
        return int(last)

    def set_aside(self, ids: Sequence[int], state: int, why: int) -> None:
        self.execute(
            f"INSERT INTO {self.aside} ({self.columns}, why) SELECT {self.columns.replace('state', f'{state:d}')}, "
            f"{why} FROM {self.waiting} WHERE id {self.among} ON CONFLICT DO NOTHING",
            (self.as_value(ids),),
        )

    def retry(self, ids: Sequence[int], times: int) -> None:
        self.execute(
            f"UPDATE {self.waiting} SET attempts = attempts + ? WHERE id {self.among}", (times, self.as_value(ids))
        )

    def postpone(self, ids: Sequence[int]) -> None:
        self.execute(
            f"UPDATE {self.waiting} SET rank = rank + ?, attempts = attempts + 1 WHERE id {self.among} AND rank < ?",
            (2 * LATER, self.as_value(ids), LATER),
        )

    def resume(self, hosts: Sequence[int] | None) -> None:
        values: tuple[Any, ...]
        if hosts is None:
            query, values = "rank = rank - ?, attempts = 0 WHERE rank >= ?", (2 * LATER, LATER)
        else:
            query = f"rank = rank - ? WHERE host {self.among} AND rank >= ?"
            values = (2 * LATER, self.as_value(hosts), LATER)
        self.execute(f"UPDATE {self.waiting} SET {query}", values)

    def bring_back(self, why: int, state: int) -> dict[tuple[int, int], int]:
        counts = self.execute(
            f"SELECT host, state, count(*) FROM {self.aside} WHERE why = ? GROUP BY host, state", (why,)
        ).fetchall()
        renewed = self.columns.replace("state", f"{state:d}").replace("attempts", "0")
        self.execute(
            f"INSERT INTO {self.waiting} ({self.columns}) SELECT {renewed} FROM {self.aside} WHERE why = ?", (why,)
        )
        self.execute(f"DELETE FROM {self.aside} WHERE why = ?", (why,))
        return {(host, before): number for host, before, number in counts}

    def page(self, aside: bool, after: int) -> list[tuple[int, str, int, int, int, int]]:
        rows: list[tuple[int, str, int, int, int, int]] = self.execute(
            f"SELECT queue.id, {URL}, depth, kind, host, state FROM {self.aside if aside else self.waiting} AS queue "
            f"JOIN {self.host} AS host ON host.id = queue.host "
            f"WHERE queue.id > ? {f'AND why = {SCOPE} ' if aside else ''}ORDER BY queue.id LIMIT {_AT_ONCE}",
            (after,),
        ).fetchall()
        return rows

    def move(self, ids: Sequence[int], *, aside: bool) -> None:
        source, target, why = (self.waiting, self.aside, f", {SCOPE}") if aside else (self.aside, self.waiting, "")
        self.execute(
            f"INSERT INTO {target} ({self.columns}{', why' * aside}) "
            f"SELECT {self.columns}{why} FROM {source} WHERE id {self.among}",
            (self.as_value(ids),),
        )
        self.execute(f"DELETE FROM {source} WHERE id {self.among}", (self.as_value(ids),))


@contextmanager
def one_instant(db: Any, tables: FrontierTables, begin: str) -> Iterator[None]:
    """All that is asked meanwhile is answered as of now; the connection is closed then.

    Args:
        begin: the statement that begins a transaction that reads.
    """
    with closing(db):
        db.execute(begin)
        # The first question settles which instant all answers are of; a crawl may have met a million hosts.
        tables.rows(f"SELECT 1 FROM {tables.host} LIMIT 1")
        yield
        db.execute("ROLLBACK")


class View(FrontierView):
    """The frontier of a crawl folder.

    Raises:
        StorageError: there is none, or it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise InputError(f"no crawl in {path.parent}", hint="name the folder given to comity crawl -o")
        with explained(path):
            self._begin(open_for_reading(path), path)

    def _begin(self, db: sqlite3.Connection, path: Path) -> None:
        tables = FrontierTables(db, path)
        super().__init__(tables, one_instant(db, tables, "BEGIN"))

    @classmethod
    def begun(cls, path: Path) -> "View | None":
        """The same; None where no crawl has begun in it.

        Raises:
            StorageError: it cannot be read.
        """
        if not path.exists():
            return None
        with explained(path):
            db = open_for_reading(path)
            try:
                if not begun(db):
                    db.close()
                    return None
                view = cls.__new__(cls)
                view._begin(db, path)
            except BaseException:
                db.close()
                raise
            return view
