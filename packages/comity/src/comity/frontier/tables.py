"""What is asked of a frontier's tables and changed in them, in SQL that SQLite and PostgreSQL both understand. SQLite
has a file for each shard, PostgreSQL a partition of each table. What differs between their statements is a method of
Dialect; sqlite/dialect.py and postgresql/dialect.py have the two forms of each.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from typing import Any, Final, Protocol

from comity.frontier.store import LATER, POLICY, SCOPE, USAGE, QueueRow, Row, entry_of, quick
from comity.frontier.values import Batch, Entry, EntryKind, HostCounts, Listed, ListedTable, QueuedURL, State, Visit

URL: Final = "CASE prefix WHEN 0 THEN '' WHEN 1 THEN 'https://' || name ELSE 'http://' || name END || rest"
"""A queued URL, of a row joined with its host's."""
AT_ONCE: Final = 1000  # rows read at a time
_HOST_COUNTS: Final = "name, unasked + queued, done, refused, failed"
_VISITS_AT_ONCE: Final = 500
_COLUMNS: Final = "id, host, rank, prefix, rest, depth, kind, state, hops, source"
_ALL_COLUMNS: Final = f"{_COLUMNS}, attempts"
_STATES: Final = ("unasked", "queued", "done", "refused", "failed")


class Dialect(Protocol):
    """A connection to a frontier's tables, and how its database says what both can do. In a statement, a question mark
    stands for a value. `rows` and blocks of `translate_errors` raise a StorageError, others what the database says."""

    @property
    def seen(self) -> Sequence[str]:
        """The tables of the seen set."""

    def translate_errors(self) -> AbstractContextManager[None]:
        """Turns what the database says into a StorageError that says what to do."""

    def table(self, name: str) -> str:
        """A table of this frontier."""

    def execute(self, query: str, values: Sequence[Any] = ()) -> Any:
        """Carry out a statement in the transaction that is open; gives the cursor."""

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """All rows of an answer."""

    def many(self, columns: str, query: str, values: Sequence[Any]) -> Iterable[Any]:
        """Columns of a query that answers with many rows, in no order."""

    def given(self, rows: Collection[Sequence[Any]], **types: str) -> tuple[str, Sequence[Any]]:
        """Rows as a table of a statement, by names and types of its columns; and the values of that."""

    def insert(self, table: str, rows: Sequence[Sequence[Any]], at_conflict: str = "", **types: str) -> None:
        """Insert rows, by names and types of the columns; `at_conflict`: what happens where one is there, as SQL."""

    def append(self, table: str, columns: str, rows: Sequence[Sequence[Any]]) -> None:
        """The same as fast as can be; not while output is written."""

    def delete(self, table: str, ids: Sequence[int], columns: str) -> Iterable[Any]:
        """Delete rows by id; gives columns of those that were there."""

    def among(self, column: str, values: Collection[Any]) -> tuple[str, Any]:
        """That a column is one of these, and the value of that."""

    def starting(self, column: str, start: str) -> tuple[str, Sequence[Any]]:
        """That a text begins so, and the values of that."""

    def key(self, text: str) -> str:
        """What an index has of a text of any length."""

    def array(self, values: str) -> str:
        """Values as the text of a JSON array."""


class Tables:
    """The tables of a frontier, for who reads them: see `store.Committed`."""

    def __init__(self, dialect: Dialect) -> None:
        self._sql = dialect
        names = ("waiting", "aside", "host", "source", "visit", "fact")
        self._waiting, self._aside, self._host, self._source, self._visit, self._fact = map(dialect.table, names)

    def counts(self) -> list[int]:
        query = f"SELECT sum(unasked), sum(queued), sum(done), sum(refused), sum(failed) FROM {self._host}"
        return [int(number or 0) for number in self._sql.rows(query)[0]]

    def hosts(self, after: int) -> list[tuple[int, str]]:
        return self._sql.rows(
            f"SELECT id, name FROM {self._host} WHERE id > ? AND unasked + queued > 0 ORDER BY id LIMIT {AT_ONCE}",
            (after,),
        )

    def busiest(self, most: int) -> list[HostCounts]:
        query = f"SELECT {_HOST_COUNTS} FROM {self._host} ORDER BY unasked + queued DESC, id LIMIT ?"
        return [HostCounts(*row) for row in self._sql.rows(query, (most,))]

    def host_counts(self, name: str) -> HostCounts | None:
        rows = self._sql.rows(f"SELECT {_HOST_COUNTS} FROM {self._host} WHERE name = ?", (name,))
        return HostCounts(*rows[0]) if rows else None

    def fact(self, name: str) -> str | None:
        rows = self._sql.rows(f"SELECT value FROM {self._fact} WHERE key = ?", (name,))
        return rows[0][0] if rows else None

    def facts(self, start: str) -> dict[str, str]:
        which, values = self._sql.starting("key", start)
        return dict(self._sql.rows(f"SELECT key, value FROM {self._fact} WHERE {which}", values))

    def queue(
        self, host: str, *, most: int, but_not: Collection[int] = (), below: int = LATER, kind: EntryKind | None = None
    ) -> list[Entry]:
        wanted = "" if kind is None else f"AND kind = {kind:d} "
        held, ids = self._sql.among("id", but_not)
        rows = self._sql.many(
            f"rank, id, prefix, rest, depth, kind, attempts, hops, {self._found_on}",
            f"SELECT * FROM {self._waiting} WHERE host = (SELECT id FROM {self._host} WHERE name = ?) "
            f"AND rank < ? {wanted}AND NOT ({held}) ORDER BY rank, id LIMIT ?",
            (host, below, ids, most),
        )
        return [entry_of(host, row) for row in sorted(rows)]

    def queue_entry(self, host: str, prefix: int, rest: str) -> QueuedURL | None:
        for table, why in ((self._waiting, "CAST(NULL AS smallint)"), (self._aside, "why")):
            rows = self._sql.rows(
                f"SELECT state, rank, depth, attempts, {why}, {self._found_on} FROM {table} AS queue "
                f"WHERE host = (SELECT id FROM {self._host} WHERE name = ?) AND prefix = ? AND rest = ?",
                (host, prefix, rest),
            )
            if rows:
                state, rank, depth, attempts, aside, found_on = rows[0]
                kept_by: Any = None if aside is None else {SCOPE: "scope", POLICY: "policy", USAGE: "usage"}[aside]
                return QueuedURL(State(state), rank >= LATER, kept_by, depth, attempts, found_on)
        return None

    def visit(self, url: str) -> Visit | None:
        rows = self._sql.rows(f"SELECT said, stated FROM {self._visit} WHERE {self._same('url', '?')}", (url,))
        return replace(Visit(url, *json.loads(rows[0][0])), stated=rows[0][1]) if rows else None

    def visits(self, after: int, last: int, *, known: bool) -> list[tuple[int, Visit]]:
        rows = self._sql.rows(
            f"SELECT id, url, said FROM {self._visit} WHERE id > ? AND id <= ? "
            f"AND {'' if known else 'NOT '}known ORDER BY id LIMIT {_VISITS_AT_ONCE}",
            (after, last),
        )
        return [(id_, Visit(url, *json.loads(said))) for id_, url, said in rows]

    def unasked(self, last: int) -> int:
        rows = self._sql.rows(
            f"SELECT count(*) FROM {self._waiting} AS queue JOIN {self._host} AS host ON host.id = queue.host "
            f"JOIN {self._visit} AS visit ON {self._same('visit.url', URL)} "
            "WHERE kind = 0 AND visit.id <= ? AND known",
            (last,),
        )
        return int(rows[0][0])

    def listed(self, table: ListedTable, sought: str, *, after: int, most: int, looks: int) -> Listed:
        name = {"visit": self._visit, "waiting": self._waiting, "aside": self._aside}[table]
        ((last, looked),) = self._sql.rows(
            f"SELECT max(id), count(*) FROM (SELECT id FROM {name} WHERE id > ? ORDER BY id LIMIT ?) AS looked",
            (after, looks),
        )
        escaped = sought.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
        within = r"BETWEEN ? AND ? AND {} LIKE ? ESCAPE '\'"
        values = (after + 1, last or after, f"%{escaped}%", most)
        urls: list[tuple[int, str, QueuedURL | Visit]]
        if table == "visit":
            rows = self._sql.rows(
                f"SELECT id, url, said FROM {name} WHERE id {within.format('lower(url)')} AND known "
                "ORDER BY id LIMIT ?",
                values,
            )
            urls = [(id_, url, Visit(url, *json.loads(said))) for id_, url, said in rows]
        else:
            rows = self._sql.rows(
                f"SELECT queue.id, {URL}, state, rank, depth, attempts, {self._found_on} FROM {name} AS queue "
                f"JOIN {self._host} AS host ON host.id = queue.host WHERE queue.id {within.format(f'lower({URL})')} "
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
            ((looked,),) = self._sql.rows(f"SELECT count(*) FROM {name} WHERE id BETWEEN ? AND ?", (after + 1, last))
            return Listed(urls, last, looked)
        return Listed(urls, last if looked == looks else None, looked)

    @property
    def _found_on(self) -> str:
        """The URL of what named a URL, of a row of `queue`."""
        return f"(SELECT url FROM {self._source} AS source WHERE source.id = queue.source)"

    def _same(self, one: str, other: str) -> str:
        """That two texts are the same, as an index has them."""
        return f"{self._sql.key(one)} = {self._sql.key(other)}"


class ChangedTables(Tables):
    """The tables of a frontier, for who writes them, in the transaction that is open: see `store.Store`."""

    def host_ids(self, names: Sequence[str]) -> dict[str, int]:
        among, value = self._sql.among("name", names)
        ids = dict(self._sql.execute(f"SELECT name, id FROM {self._host} WHERE {among}", (value,)).fetchall())
        if new := [name for name in names if name not in ids]:
            (last,) = self._sql.execute(f"SELECT coalesce(max(id), 0) FROM {self._host}").fetchone()
            made = list(enumerate(new, last + 1))
            self._sql.insert(self._host, made, id="int", name="text")
            ids.update({name: number for number, name in made})
        return ids

    def add(self, rows: Sequence[Row], why: int | None = None) -> None:
        if why is None:
            self._sql.append(self._waiting, _COLUMNS, rows)
        else:
            self._sql.append(self._aside, f"{_COLUMNS}, why", [(*row, why) for row in rows])

    def add_sources(self, ids: Mapping[str, int]) -> None:
        self._sql.append(self._source, "id, url", [(number, url) for url, number in ids.items()])

    def count(self, changes: Mapping[int, Sequence[int]]) -> None:
        alike: dict[tuple[int, ...], list[int]] = {}  # of most hosts the same number of URLs was settled and found
        for host, its in sorted(changes.items()):
            alike.setdefault(tuple(its), []).append(host)
        sums = ", ".join(f"{name} = {name} + ?" for name in _STATES)
        for its, hosts in alike.items():
            among, value = self._sql.among("id", hosts)
            self._sql.execute(f"UPDATE {self._host} SET {sums} WHERE {among}", (*its, value))

    def remove(
        self, ids: Sequence[int], why: int | None = None, state: int | None = None
    ) -> Iterable[tuple[int, int, int]]:
        if why is not None:
            self._copy(self._waiting, self._aside, ids, _ALL_COLUMNS if state is None else _with(state=state), why)
        rows: Iterable[Any] = self._sql.delete(self._waiting, ids, "id, host, state")
        return rows

    def bring_back(self, ids: Sequence[int], state: int | None = None) -> None:
        self._copy(self._aside, self._waiting, ids, _ALL_COLUMNS if state is None else _with(state=state, attempts=0))
        self._sql.delete(self._aside, ids, "id")

    def _copy(self, source: str, target: str, ids: Sequence[int], values: str, why: int | None = None) -> None:
        """Copy rows by id; where the target has one, that stays."""
        among, value = self._sql.among("id", ids)
        columns, values = (_ALL_COLUMNS, values) if why is None else (f"{_ALL_COLUMNS}, why", f"{values}, {why}")
        self._sql.execute(
            f"INSERT INTO {target} ({columns}) SELECT {values} FROM {source} WHERE {among} ON CONFLICT DO NOTHING",
            (value,),
        )

    def retry(self, ids: Sequence[int], times: int, *, later: bool = False) -> None:
        among, value = self._sql.among("id", ids)
        self._sql.execute(
            f"UPDATE {self._waiting} SET rank = rank + ?, attempts = attempts + ? WHERE {among} AND rank < ?",
            (2 * LATER if later else 0, times, value, LATER),
        )

    def resume(self, hosts: Sequence[int] | None) -> None:
        query, values = "rank >= ?", [LATER]
        if hosts is None:
            reset = ", attempts = 0"
        else:
            reset = ""
            among, value = self._sql.among("host", hosts)
            query, values = f"{among} AND {query}", [value, *values]
        self._sql.execute(f"UPDATE {self._waiting} SET rank = rank - ?{reset} WHERE {query}", (2 * LATER, *values))

    def page(self, why: int | None, after: int) -> list[QueueRow]:
        table, wanted = (self._waiting, "") if why is None else (self._aside, f"AND why = {why} ")
        rows: list[QueueRow] = self._sql.execute(
            f"SELECT queue.id, {URL}, depth, kind, host, state FROM {table} AS queue "
            f"JOIN {self._host} AS host ON host.id = queue.host "
            f"WHERE queue.id > ? {wanted}ORDER BY queue.id LIMIT {AT_ONCE}",
            (after,),
        ).fetchall()
        return rows

    def write_visits(self, batch: Batch, *, again: bool) -> None:
        visited = {visit.url: _visit_row(visit) for visit in batch.visits}
        if gone := [*batch.gone, *(visited if again else ())]:
            among, values = self._among_urls(gone)
            self._sql.execute(f"DELETE FROM {self._visit} WHERE {among}", values)
        owed = {
            url: _visit_row(Visit(url, depth, found_on=found_on))
            for url, depth, found_on in batch.owed
            if url not in visited
        }
        if owed and again:
            among, values = self._among_urls(owed)
            for (url,) in self._sql.execute(f"SELECT url FROM {self._visit} WHERE {among}", values).fetchall():
                del owed[url]
        if rows := [*visited.values(), *owed.values()]:
            self._sql.insert(self._visit, rows, url="text", known="bool", said="text")
        if batch.stated:
            new, values = self._sql.given(batch.stated, stated="float8", url="text")
            self._sql.execute(
                f"UPDATE {self._visit} AS visit SET stated = new.stated FROM {new} AS new "
                f"WHERE {self._same('visit.url', 'new.url')}",
                values,
            )

    def _among_urls(self, urls: Iterable[str]) -> tuple[str, Sequence[Any]]:
        """That a visit is of one of these, and the values of that."""
        given, values = self._sql.given([(url,) for url in urls], url="text")
        key = self._sql.key("url")
        return f"{key} IN (SELECT {key} FROM {given} AS given)", values

    def begin_refresh(self) -> int:
        visited, key = self._sql.table("visited"), self._sql.key("url")
        self._sql.execute(f"CREATE UNIQUE INDEX IF NOT EXISTS {visited} ON {self._visit} ({key})")
        self._sql.execute(f"UPDATE {self._visit} SET stated = NULL WHERE stated IS NOT NULL")
        said = self._sql.array("depth, NULL, NULL, NULL, NULL, NULL, found_on")
        for queue in (self._waiting, self._aside):
            self._sql.execute(
                f"INSERT INTO {self._visit} (url, known, said) SELECT url, false, {said} FROM "
                f"(SELECT queue.id, {URL} AS url, depth, {self._found_on} AS found_on FROM {queue} AS queue "
                f"JOIN {self._host} AS host ON host.id = queue.host WHERE kind = 0) AS found "
                f"WHERE NOT EXISTS (SELECT 1 FROM {self._visit} AS visit "
                f"WHERE {self._same('visit.url', 'found.url')}) ORDER BY id"
            )
        (last,) = self._sql.execute(f"SELECT coalesce(max(id), 0) FROM {self._visit}").fetchone()
        for table in (self._waiting, self._aside, self._source, *self._sql.seen):
            self._sql.execute(f"DELETE FROM {table}")
        self._sql.execute(f"UPDATE {self._host} SET {', '.join(f'{name} = 0' for name in _STATES)}")
        return int(last)

    def keep(self, facts: Mapping[str, str | None]) -> None:
        kept = [(name, text) for name, text in facts.items() if text is not None]
        if kept:
            otherwise = f"ON CONFLICT ({self._sql.key('key')}) DO UPDATE SET value = excluded.value"
            self._sql.insert(self._fact, kept, otherwise, key="text", value="text")
        if gone := [name for name, text in facts.items() if text is None]:
            among, value = self._sql.among("key", gone)
            self._sql.execute(f"DELETE FROM {self._fact} WHERE {among}", (value,))

    def forget(self, start: str) -> None:
        which, values = self._sql.starting("key", start)
        self._sql.execute(f"DELETE FROM {self._fact} WHERE {which}", values)


def _with(**values: int) -> str:
    """The columns of a queued row, some of them with other values."""
    return ", ".join(f"{values[name]:d}" if name in values else name for name in _ALL_COLUMNS.split(", "))


def _visit_row(v: Visit) -> tuple[str, bool, str]:
    """The row of a visit, without what a sitemap states of it."""
    return v.url, v.digest is not None, quick((v.depth, v.digest, v.kept, v.fetched, v.etag, v.modified, v.found_on))


@contextmanager
def one_instant(db: Any, dialect: Dialect, begin: str) -> Iterator[None]:
    """All that is asked meanwhile is answered as of now; the connection is closed then. `begin`: the statement that
    begins a transaction that reads."""
    with dialect.translate_errors(), closing(db):
        db.execute(begin)
        # The first question settles which instant all answers are of; a crawl may have met a million hosts.
        dialect.rows(f"SELECT 1 FROM {dialect.table('host')} LIMIT 1")
        yield
        db.execute("ROLLBACK")
