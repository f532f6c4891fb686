"""What a later run may take up: URLs that our own settings keep out of the queue, and the pages visited before.

URLs set aside because of the scope, the policy or the uses that are wanted wait until a run in which these are others
judges them again. Of
each page visited the last visit is kept for a refresh: it is appended when its page is committed, and replaced by a row
at the end when the page is visited again. So ids are in the order of the visits, and a refresh has before it the rows
up to the last id that was there when it began.

Everything that changes rows is part of the transaction that is open; changes of counts go into a tally:
(host, state) -> change.
"""

import json
import sqlite3
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, replace
from typing import Any, Final

from comity.frontier.database import LATER
from comity.frontier.tables import POLICY, SCOPE, URL, USAGE, FrontierTables, StateChanges
from comity.frontier.values import Batch, EntryKind, State, Visit

_CHUNK: Final = 1000

Inside = Callable[[str, int, EntryKind], bool]
"""Whether a URL, found so many links from the start, belongs to the crawl."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of judging again: URLs that left the queue, and those that came back; of the latter how many had been
    counted as refused and failed."""

    left: int = 0
    back: int = 0
    refused: int = 0
    failed: int = 0

    def __add__(self, other: "Judged") -> "Judged":
        return Judged(*map(sum, zip(astuple(self), astuple(other), strict=True)))


def judge(
    tables: FrontierTables, state_changes: StateChanges, inside: Inside | None, *, policy: bool, usage: bool
) -> tuple[Judged, Judged]:
    """Judge anew what scope, policy and the uses wanted decided: see `rules.DurableFrontier.judge_again`.

    Returns:
        What came of policy and uses, and of the scope.
    """
    back = Judged()
    if policy:  # what the old one set aside is queued again, and so is what was postponed
        back += _bring_back(tables, POLICY, state_changes)
        tables.execute(f"UPDATE {tables.waiting} SET rank = rank - ?, attempts = 0 WHERE rank >= ?", (2 * LATER, LATER))
    if usage:
        back += _bring_back(tables, USAGE, state_changes)
    if inside is None:
        return back, Judged()
    found = _move(tables, tables.aside, tables.waiting, "", f"why = {SCOPE}", inside, state_changes)
    left = _move(
        tables, tables.waiting, tables.aside, f", {SCOPE}", "true", lambda *url: not inside(*url), state_changes
    )
    return back, Judged(left=left, back=found)


def _bring_back(tables: FrontierTables, why: int, state_changes: StateChanges) -> Judged:
    counts: Counter[int] = Counter()
    for host, state, number in tables.execute(
        f"SELECT host, state, count(*) FROM {tables.aside} WHERE why = ? GROUP BY host, state", (why,)
    ).fetchall():
        state_changes[host, state] -= number
        state_changes[host, State.UNASKED] += number
        counts[state] += number
    renewed = tables.columns.replace("state", f"{State.UNASKED:d}").replace("attempts", "0")
    tables.execute(
        f"INSERT INTO {tables.waiting} ({tables.columns}) SELECT {renewed} FROM {tables.aside} WHERE why = ?", (why,)
    )
    tables.execute(f"DELETE FROM {tables.aside} WHERE why = ?", (why,))
    return Judged(back=counts.total(), refused=counts[State.REFUSED], failed=counts[State.FAILED])


def _move(
    tables: FrontierTables, source: str, target: str, why: str, which: str, wanted: Inside, state_changes: StateChanges
) -> int:
    """Move the rows that are wanted from one table to the other; gives how many there were."""
    sign = 1 if target == tables.waiting else -1
    last = moved = 0
    while rows := tables.execute(
        f"SELECT queue.id, {URL}, depth, kind, host, state FROM {source} AS queue "
        f"JOIN {tables.host} AS host ON host.id = queue.host "
        f"WHERE queue.id > ? AND {which} ORDER BY queue.id LIMIT {_CHUNK}",
        (last,),
    ).fetchall():
        last = rows[-1][0]
        chosen = [
            (id_, host, state) for id_, url, depth, kind, host, state in rows if wanted(url, depth, EntryKind(kind))
        ]
        if not chosen:
            continue
        ids = tables.as_value([id_ for id_, _, _ in chosen])
        tables.execute(
            f"INSERT INTO {target} ({tables.columns}{', why' * bool(why)}) "
            f"SELECT {tables.columns}{why} FROM {source} WHERE id {tables.among}",
            (ids,),
        )
        tables.execute(f"DELETE FROM {source} WHERE id {tables.among}", (ids,))
        for _, host, state in chosen:
            state_changes[host, state] += sign
        moved += len(chosen)
    return moved


_VISITS_AT_ONCE = 500  # rows read at a time

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


def write_visits(db: sqlite3.Connection, batch: Batch) -> None:
    """Take up what a batch says of visits, in the transaction that is open."""
    if batch.visits:
        said: dict[str, tuple[Any, ...]] = {
            v.url: (v.depth, v.digest, v.kept, v.fetched, v.etag, v.modified, v.found_on) for v in batch.visits
        }
        _tell(db, "INSERT OR REPLACE INTO visit (url, said) SELECT key, value FROM json_each(?)", said)
    if batch.owed:
        depths = {url: (depth, None, None, None, None, None, found_on) for url, depth, found_on in batch.owed}
        _tell(db, "INSERT OR IGNORE INTO visit (url, said) SELECT key, value FROM json_each(?)", depths)
    if batch.gone:
        _tell(db, "DELETE FROM visit WHERE url IN (SELECT value FROM json_each(?))", batch.gone)
    if batch.stated:
        _tell(db, _STATED, batch.stated)


def _tell(db: sqlite3.Connection, statement: str, values: Any) -> None:
    db.execute(statement, (json.dumps(values, separators=(",", ":")),))


def begin_refresh(db: sqlite3.Connection) -> int:
    """Begin a refresh, in the transaction that is open; returns the last id that it has before it."""
    db.execute("CREATE UNIQUE INDEX IF NOT EXISTS visited ON visit (url)")
    db.execute("UPDATE visit SET stated = NULL WHERE stated IS NOT NULL")
    for table in ("waiting", "aside"):
        db.execute(_WAITING.format(table=table))
    last: int = db.execute("SELECT coalesce(max(id), 0) FROM visit").fetchone()[0]
    return last


class Visits:
    """What is known of pages visited, as of the last commit.

    Args:
        tables: over a connection that is not the one that writes.
    """

    def __init__(self, tables: FrontierTables) -> None:
        self._tables = tables

    def any(self) -> bool:
        """Whether there is anything to ask for again."""
        return bool(self._tables.rows(f"SELECT 1 FROM {self._tables.visit} LIMIT 1"))

    def of(self, url: str) -> Visit | None:
        """The last visit of a URL. Asked in a refresh only."""
        tables = self._tables
        rows = tables.rows(f"SELECT said, stated FROM {tables.visit} WHERE {tables.same('url', '?')}", (url,))
        return replace(Visit(url, *json.loads(rows[0][0])), stated=rows[0][1]) if rows else None

    def until(self, last: int) -> Iterator[Visit]:
        """The last visits of what has not been visited since the row `last` was the newest, longest ago first.

        Pages that are known and URLs that have given no page yet take turns, as long as there are both: so a limit
        leaves neither without its share.
        """
        streams = deque((self._until(last, ""), self._until(last, "NOT ")))
        while streams:
            stream = streams.popleft()
            if (found := next(stream, None)) is not None:
                yield found
                streams.append(stream)

    def unasked(self, last: int) -> int:
        """How many pages that are known wait still, of those that `until` gives."""
        tables = self._tables
        rows = tables.rows(
            f"SELECT count(*) FROM {tables.waiting} AS queue JOIN {tables.host} AS host ON host.id = queue.host "
            f"JOIN {tables.visit} AS visit ON {tables.same('visit.url', URL)} "
            f"WHERE kind = 0 AND visit.id <= ? AND {tables.known}",
            (last,),
        )
        return int(rows[0][0])

    def _until(self, last: int, negation: str) -> Iterator[Visit]:
        at = 0
        while rows := self._tables.rows(
            f"SELECT id, url, said FROM {self._tables.visit} WHERE id > ? AND id <= ? "
            f"AND {negation}({self._tables.known}) ORDER BY id LIMIT {_VISITS_AT_ONCE}",
            (at, last),
        ):
            yield from (Visit(url, *json.loads(said)) for _, url, said in rows)
            at = rows[-1][0]
