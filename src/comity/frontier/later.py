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
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any, Final

from comity.frontier import database
from comity.frontier.database import explained
from comity.frontier.values import Batch, EntryKind, State, Visit

_SCOPE: Final = 0  # why a row is set aside; its state is that in which it waited
_POLICY: Final = 1  # its state is the one it was counted in when it was settled
_USAGE: Final = 2  # likewise
_CHUNK: Final = 1000
_COLUMNS: Final = "id, host, rank, prefix, rest, depth, kind, state, hops, attempts, source"
_URL: Final = "CASE prefix WHEN 0 THEN '' WHEN 1 THEN 'https://' || name ELSE 'http://' || name END || rest"

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


def set_aside(db: sqlite3.Connection, batch: Batch) -> None:
    """Rows of the queue that our own settings refuse stand aside; they are still to be deleted there."""
    rows = [(state, _POLICY, id_) for state, id_ in batch.by_policy]
    rows += [(State.REFUSED, _USAGE, id_) for id_ in batch.by_usage]
    db.executemany(
        "INSERT OR IGNORE INTO aside "
        "SELECT id, host, rank, prefix, rest, depth, kind, ?, hops, attempts, source, ? FROM waiting WHERE id = ?",
        rows,
    )


def add_refused(db: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]) -> None:
    """URLs that our policy refused when they were found; rows as in the queue, without attempts."""
    db.executemany(f"INSERT INTO aside VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, {_POLICY})", rows)


def judge_policy(db: sqlite3.Connection, tally: Counter[tuple[int, int]]) -> Judged:
    """Another policy is in force: URLs that the old one set aside are queued again, and so are postponed ones."""
    back = _bring_back(db, _POLICY, tally)
    db.execute("UPDATE waiting SET rank = rank - ?, attempts = 0 WHERE rank >= ?", (2 * database.LATER, database.LATER))
    return back


def judge_usage(db: sqlite3.Connection, tally: Counter[tuple[int, int]]) -> Judged:
    """Other uses are wanted: pages that were refused because of the old ones are queued again."""
    return _bring_back(db, _USAGE, tally)


def _bring_back(db: sqlite3.Connection, why: int, tally: Counter[tuple[int, int]]) -> Judged:
    counts: Counter[int] = Counter()
    for host, state, number in db.execute(
        "SELECT host, state, count(*) FROM aside WHERE why = ? GROUP BY host, state", (why,)
    ).fetchall():
        tally[host, state] -= number
        tally[host, State.UNASKED] += number
        counts[state] += number
    db.execute(
        f"INSERT INTO waiting SELECT id, host, rank, prefix, rest, depth, kind, {State.UNASKED:d}, hops, 0, source "
        "FROM aside WHERE why = ?",
        (why,),
    )
    db.execute("DELETE FROM aside WHERE why = ?", (why,))
    return Judged(back=counts.total(), refused=counts[State.REFUSED], failed=counts[State.FAILED])


def judge_scope(db: sqlite3.Connection, inside: Inside, tally: Counter[tuple[int, int]]) -> Judged:
    """Another scope is in force: queued URLs outside of it are set aside, and URLs within it are queued again."""
    back = _move(db, "aside", "waiting", f"{_COLUMNS}", f"why = {_SCOPE}", inside, tally)
    left = _move(db, "waiting", "aside", f"{_COLUMNS}, {_SCOPE}", "true", lambda *url: not inside(*url), tally)
    return Judged(left=left, back=back)


def _move(
    db: sqlite3.Connection,
    source: str,
    target: str,
    columns: str,
    which: str,
    wanted: Inside,
    tally: Counter[tuple[int, int]],
) -> int:
    """Move the rows that are wanted from one table to the other; gives how many there were."""
    sign = 1 if target == "waiting" else -1
    last = moved = 0
    while rows := db.execute(
        f"SELECT {source}.id, {_URL}, depth, kind, host, state FROM {source} JOIN host ON host.id = {source}.host "
        f"WHERE {source}.id > ? AND {which} ORDER BY {source}.id LIMIT {_CHUNK}",
        (last,),
    ).fetchall():
        last = rows[-1][0]
        chosen = [
            (id_, host, state) for id_, url, depth, kind, host, state in rows if wanted(url, depth, EntryKind(kind))
        ]
        if not chosen:
            continue
        ids = json.dumps([id_ for id_, _, _ in chosen])
        there = "WHERE id IN (SELECT value FROM json_each(?))"
        db.execute(f"INSERT INTO {target} SELECT {columns} FROM {source} {there}", (ids,))
        db.execute(f"DELETE FROM {source} {there}", (ids,))
        for _, host, state in chosen:
            tally[host, state] += sign
        moved += len(chosen)
    return moved


_VISITS_AT_ONCE = 500  # rows read at a time

# What was found and not visited, because a limit ended the crawl, or scope or policy kept it out.
_WAITING = f"""
INSERT OR IGNORE INTO visit (url, said)
SELECT {_URL}, json_array(depth, null, null, null, null, null, (SELECT url FROM source WHERE source.id = source_id))
FROM (SELECT *, source AS source_id FROM {{table}}) AS found
JOIN host ON host.id = found.host WHERE kind = 0 ORDER BY found.id
"""
_UNASKED = f"""
SELECT count(*) FROM waiting JOIN host ON host.id = waiting.host JOIN visit
ON visit.url = {_URL}
WHERE kind = 0 AND visit.id <= ? AND json_extract(said, '$[1]') IS NOT NULL
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
    """Reads what was committed.

    Args:
        db: a connection that is not the one that writes.
    """

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db = db
        self._path = path

    def any(self) -> bool:
        """Whether there is anything to ask for again."""
        with explained(self._path):
            return self._db.execute("SELECT 1 FROM visit LIMIT 1").fetchone() is not None

    def of(self, url: str) -> Visit | None:
        """The last visit of a URL. Asked in a refresh only."""
        with explained(self._path):
            row = self._db.execute("SELECT said, stated FROM visit WHERE url = ?", (url,)).fetchone()
        return replace(Visit(url, *json.loads(row[0])), stated=row[1]) if row else None

    def until(self, last: int) -> Iterator[Visit]:
        """The last visits of what has not been visited since the row `last` was the newest, longest ago first.

        Pages that are known and URLs that have given no page yet take turns, as long as there are both: so a limit
        leaves neither without its share.
        """
        streams = deque((self._until(last, "IS NOT NULL"), self._until(last, "IS NULL")))
        while streams:
            stream = streams.popleft()
            if (found := next(stream, None)) is not None:
                yield found
                streams.append(stream)

    def unasked(self, last: int) -> int:
        """How many pages that are known wait still, of those that `until` gives."""
        with explained(self._path):
            row = self._db.execute(_UNASKED, (last,)).fetchone()
        return int(row[0])

    def _until(self, last: int, digest: str) -> Iterator[Visit]:
        at = 0
        while True:
            with explained(self._path):
                rows = self._db.execute(
                    f"SELECT id, url, said FROM visit WHERE id > ? AND id <= ? AND json_extract(said, '$[1]') {digest} "
                    "ORDER BY id LIMIT ?",
                    (at, last, _VISITS_AT_ONCE),
                ).fetchall()
            if not rows:
                return
            yield from (Visit(url, *json.loads(said)) for _, url, said in rows)
            at = rows[-1][0]
