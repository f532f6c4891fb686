"""What is changed in a frontier's tables, in SQL that SQLite and PostgreSQL both understand: see tables.py."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from comity.frontier.store import LATER, Queued, Row, quick
from comity.frontier.tables import AT_ONCE, URL, Tables
from comity.frontier.values import Batch, Visit

_COLUMNS: Final = "id, host, rank, prefix, rest, depth, kind, state, hops, source"
_EVERY: Final = f"{_COLUMNS}, attempts"
_STATES: Final = ("unasked", "queued", "done", "refused", "failed")


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
            self._copy(self._waiting, self._aside, ids, _EVERY if state is None else _with(state=state), why)
        rows: Iterable[Any] = self._sql.delete(self._waiting, ids, "id, host, state")
        return rows

    def bring_back(self, ids: Sequence[int], state: int | None = None) -> None:
        self._copy(self._aside, self._waiting, ids, _EVERY if state is None else _with(state=state, attempts=0))
        self._sql.delete(self._aside, ids, "id")

    def _copy(self, source: str, target: str, ids: Sequence[int], values: str, why: int | None = None) -> None:
        """Copy rows by id; where the target has one, that stays."""
        among, value = self._sql.among("id", ids)
        columns, values = (_EVERY, values) if why is None else (f"{_EVERY}, why", f"{values}, {why}")
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

    def page(self, why: int | None, after: int) -> list[Queued]:
        table, wanted = (self._waiting, "") if why is None else (self._aside, f"AND why = {why} ")
        rows: list[Queued] = self._sql.execute(
            f"SELECT queue.id, {URL}, depth, kind, host, state FROM {table} AS queue "
            f"JOIN {self._host} AS host ON host.id = queue.host "
            f"WHERE queue.id > ? {wanted}ORDER BY queue.id LIMIT {AT_ONCE}",
            (after,),
        ).fetchall()
        return rows

    def write_visits(self, batch: Batch, *, again: bool) -> None:
        told = {visit.url: _told(visit) for visit in batch.visits}
        if gone := [*batch.gone, *(told if again else ())]:
            among, values = self._among_urls(gone)
            self._sql.execute(f"DELETE FROM {self._visit} WHERE {among}", values)
        owed = {
            url: _told(Visit(url, depth, found_on=found_on)) for url, depth, found_on in batch.owed if url not in told
        }
        if owed and again:
            among, values = self._among_urls(owed)
            for (url,) in self._sql.execute(f"SELECT url FROM {self._visit} WHERE {among}", values).fetchall():
                del owed[url]
        if rows := [*told.values(), *owed.values()]:
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
    return ", ".join(f"{values[name]:d}" if name in values else name for name in _EVERY.split(", "))


def _told(v: Visit) -> tuple[str, bool, str]:
    """The row of a visit; what a sitemap states of it is not told."""
    return v.url, v.digest is not None, quick((v.depth, v.digest, v.kept, v.fetched, v.etag, v.modified, v.found_on))
