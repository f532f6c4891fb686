"""The tables of a frontier as both stores have them, and the questions asked of them in SQL that both understand.

SQLite has a file for each shard, PostgreSQL a partition of each table; what differs between their statements is said
here in one place, so that a rule of the frontier is written once.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from comity.errors import InputError
from comity.frontier.database import LATER, begun, entry_of, explained, open_for_reading, split
from comity.frontier.values import Entry, EntryKind, Found, State, Visit

SCOPE, POLICY, USAGE = range(3)
"""Why a row is set aside. Its state is that in which it waited (scope), or was counted when it was settled."""
URL = "CASE prefix WHEN 0 THEN '' WHEN 1 THEN 'https://' || name ELSE 'http://' || name END || rest"
"""A queued URL, of a row joined with its host's."""


class StateChanges(Counter[tuple[int, int]]):
    """Changes of how many URLs of a host are in a state: by the host's id and the state."""

    def of(self, state: State) -> int:
        """Of all hosts together."""
        return sum(change for (_, of), change in self.items() if of == state)

    def by_host(self) -> dict[int, list[int]]:
        """By the host's id, the change of each state."""
        hosts: dict[int, list[int]] = {}
        for (host, state), change in self.items():
            hosts.setdefault(host, [0] * len(State))[state] += change
        return hosts


class FrontierTables:
    """The tables of a SQLite file, over one connection. Statements have a question mark for each value."""

    waiting, aside, host, source, visit, facts = "waiting", "aside", "host", "source", "visit", "run"
    columns = "id, host, rank, prefix, rest, depth, kind, state, hops, attempts, source"
    known = "json_extract(said, '$[1]') IS NOT NULL"  # of a visit: there was a page
    among = "IN (SELECT value FROM json_each(?))"  # of a column; the value is that of `as_value`

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db: Any = db
        self._path = path

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

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """All rows of an answer.

        Raises:
            StorageError
        """
        with self.explained():
            rows: list[Any] = self.execute(query, values).fetchall()
            return rows

    def queue(
        self,
        host: str,
        most: int,
        *,
        but_not: Collection[int] = (),
        below: int = 4 * LATER,
        kind: EntryKind | None = None,
    ) -> list[Entry]:
        """The first URLs of a host's queue, of a kind or of all, without some ids and ranks of `below` and more."""
        wanted = "" if kind is None else f"AND kind = {kind:d} "
        rows = self.ordered(
            f"SELECT rank, id, prefix, rest, depth, kind, attempts, hops, source FROM {self.waiting} "
            f"WHERE host = (SELECT id FROM {self.host} WHERE name = ?) AND rank < ? {wanted}"
            f"AND NOT (id {self.among}) ORDER BY rank, id LIMIT ?",
            (host, below, self.as_value(list(but_not)), most),
        )
        return [entry_of(host, row) for row in rows]

    def ordered(self, query: str, values: Sequence[Any]) -> Iterable[Any]:
        """The rows of the queue that a query gives, in its order, with the URL of the source in the place of its id."""
        # One row: at each row that SQLite hands over, threads fight for the interpreter.
        ((rows,),) = self.rows(
            "SELECT json_group_array(json_array(rank, id, prefix, rest, depth, kind, attempts, hops, "
            f"(SELECT url FROM source WHERE source.id = queue.source))) FROM ({query}) AS queue",
            values,
        )
        return sorted(json.loads(rows))


@dataclass(frozen=True, slots=True)
class HostCounts:
    """How many URLs of a host wait, and what became of the others."""

    host: str
    waiting: int
    done: int
    refused: int
    failed: int


_HOST_COUNTS = "name, unasked + queued, done, refused, failed"


@dataclass(frozen=True, slots=True)
class QueuedURL:
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


@dataclass(frozen=True, slots=True)
class Listed:
    """URLs of one table, in the order of their rows.

    Attributes:
        urls: each with its row's id and what the row says.
        last: id of the last row that was looked at; None where no row is left.
        looked: rows looked at.
    """

    urls: list[tuple[int, str, QueuedURL | Visit]]
    last: int | None
    looked: int


class CommittedFrontier:
    """What a frontier says of itself as of a commit: of the last one, or of that which a view has before it."""

    _tables: FrontierTables

    def counts(self) -> dict[State, int]:
        """How many URLs are in each state."""
        query = f"SELECT sum(unasked), sum(queued), sum(done), sum(refused), sum(failed) FROM {self._tables.host}"
        (sums,) = self._tables.rows(query)
        return dict(zip(State, (int(number or 0) for number in sums), strict=True))

    def hosts(self) -> Iterator[str]:
        """Hosts that have URLs waiting, in the order they were met; a few at a time are held in memory."""
        last = 0
        while rows := self._tables.rows(
            f"SELECT id, name FROM {self._tables.host} WHERE id > ? AND unasked + queued > 0 ORDER BY id LIMIT 1000",
            (last,),
        ):
            yield from (name for _, name in rows)
            last = rows[-1][0]

    def load_state(self, key: str, default: Any = None) -> Any:
        """A fact about the run, kept with `save_state` or by a commit."""
        rows = self._tables.rows(f"SELECT value FROM {self._tables.facts} WHERE key = ?", (key,))
        return json.loads(rows[0][0]) if rows else default


class TablesView(CommittedFrontier):
    """A frontier as it was committed last when the view was opened, within one transaction that reads.

    Args:
        db: the connection; it is closed with the view.
        begin: the statement that begins the transaction.
    """

    def __init__(self, db: Any, tables: FrontierTables, begin: str) -> None:
        self._db = db
        self._tables = tables
        try:
            db.execute(begin)
            # The first question settles which instant all answers are of; a crawl may have met a million hosts.
            self._tables.rows(f"SELECT 1 FROM {self._tables.host} LIMIT 1")
        except BaseException:
            db.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._tables.explained():
            try:
                self._db.execute("ROLLBACK")
            finally:
                self._db.close()

    def busiest(self, most: int) -> list[HostCounts]:
        """The hosts with most URLs waiting; those with none come last."""
        rows = self._tables.rows(
            f"SELECT {_HOST_COUNTS} FROM {self._tables.host} ORDER BY unasked + queued DESC, id LIMIT ?", (most,)
        )
        return [HostCounts(*row) for row in rows]

    def host(self, name: str) -> HostCounts | None:
        """One host, or None where the crawl has not met it."""
        rows = self._tables.rows(f"SELECT {_HOST_COUNTS} FROM {self._tables.host} WHERE name = ?", (name,))
        return HostCounts(*rows[0]) if rows else None

    def listed(
        self, table: Literal["visit", "waiting", "aside"], sought: str, *, after: int, most: int, looks: int
    ) -> Listed:
        """The pages visited, the URLs that wait, or those that the scope keeps aside, as far as they contain a text.

        Args:
            sought: in lower case; capitals in a URL count as small letters.
            after: id of the row after which to begin; 0 for the first.
            most: URLs that are given, and `looks` rows that are looked at, whatever they hold.
        """
        tables = self._tables
        name = {"visit": tables.visit, "waiting": tables.waiting, "aside": tables.aside}[table]
        if not sought:
            looks = min(looks, 10 * most)
        ((last, looked),) = tables.rows(
            f"SELECT max(id), count(*) FROM (SELECT id FROM {name} WHERE id > ? ORDER BY id LIMIT ?) AS looked",
            (after, looks),
        )
        escaped = sought.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
        within = r"BETWEEN ? AND ? AND {} LIKE ? ESCAPE '\'"
        values = (after + 1, last or after, f"%{escaped}%", most)
        urls: list[tuple[int, str, QueuedURL | Visit]]
        if table == "visit":
            rows = tables.rows(
                f"SELECT id, url, said FROM {name} WHERE id {within.format('lower(url)')} AND {tables.known} "
                "ORDER BY id LIMIT ?",
                values,
            )
            urls = [(id_, url, Visit(url, *json.loads(said))) for id_, url, said in rows]
        else:
            rows = tables.rows(
                f"SELECT queue.id, {URL}, state, rank, depth, attempts, (SELECT url FROM {tables.source} AS source "
                f"WHERE source.id = queue.source) FROM {name} AS queue JOIN {tables.host} AS host "
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
            ((looked,),) = tables.rows(f"SELECT count(*) FROM {name} WHERE id BETWEEN ? AND ?", (after + 1, last))
            return Listed(urls, last, looked)
        return Listed(urls, last if looked == looks else None, looked)

    def stands(self, url: str, host: str) -> QueuedURL | None:
        """How a URL waits, or stands aside; None where it does neither."""
        prefix, rest = split(Found(url, host, 0, EntryKind.PAGE, State.QUEUED))
        tables = self._tables
        for table, why in ((tables.waiting, "CAST(NULL AS smallint)"), (tables.aside, "why")):
            rows = tables.rows(
                f"SELECT state, rank, depth, attempts, {why}, (SELECT url FROM {tables.source} AS source "
                f"WHERE source.id = queue.source) FROM {table} AS queue "
                f"WHERE host = (SELECT id FROM {tables.host} WHERE name = ?) AND prefix = ? AND rest = ?",
                (host, prefix, rest),
            )
            if rows:
                state, rank, depth, attempts, aside, found_on = rows[0]
                kept_by: Any = None if aside is None else {SCOPE: "scope", POLICY: "policy", USAGE: "usage"}[aside]
                return QueuedURL(State(state), rank >= LATER, kept_by, depth, attempts, found_on)
        return None

    def waiting(self, host: str, most: int) -> list[Entry]:
        """The next URLs of a host, in the order they will be fetched."""
        return self._tables.queue(host, most)


class View(TablesView):
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
        super().__init__(db, FrontierTables(db, path), "BEGIN")

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
