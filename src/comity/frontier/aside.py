"""What stands aside: URLs that our own wishes keep out of the queue (the scope, the policy), not the site's rules.

They are kept so that a later run with other wishes takes them up. Everything here is part of the transaction that is
open; the changes of counts go into a tally: (host, state) -> change.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from comity.frontier import reading
from comity.frontier.values import Kind, State

_SCOPE: Final = 0  # why a row stands aside; its state is that in which it waited
_POLICY: Final = 1  # its state is the one it was counted in when it was settled
_CHUNK: Final = 1000
_COLUMNS: Final = "id, host, rank, prefix, rest, depth, kind, state, hops, attempts"
_URL: Final = "CASE prefix WHEN 0 THEN '' WHEN 1 THEN 'https://' || name ELSE 'http://' || name END || rest"

Inside = Callable[[str, int, Kind], bool]
"""Whether a URL, found so many links from the start, belongs to the crawl."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of judging again: URLs that left the queue, and those that came back; of the latter how many had been
    counted as refused and failed."""

    left: int = 0
    back: int = 0
    refused: int = 0
    failed: int = 0


def settled(db: sqlite3.Connection, kept: Iterable[tuple[State, int]]) -> None:
    """Rows of the queue that are settled by our policy stand aside; they are still to be deleted there."""
    for state, id_ in kept:
        db.execute(
            "INSERT OR IGNORE INTO aside SELECT id, host, rank, prefix, rest, depth, kind, ?, hops, attempts, ? "
            "FROM waiting WHERE id = ?",
            (state, _POLICY, id_),
        )


def found(db: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]) -> None:
    """URLs that our policy refused when they were found; rows as in the queue, without attempts."""
    db.executemany(f"INSERT INTO aside VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, {_POLICY})", rows)


def judge_policy(db: sqlite3.Connection, tally: Counter[tuple[int, int]]) -> Judged:
    """Another policy is in force: what stands aside because of the old one waits again, and what was put off too."""
    counts: Counter[int] = Counter()
    for host, state, number in db.execute(
        "SELECT host, state, count(*) FROM aside WHERE why = ? GROUP BY host, state", (_POLICY,)
    ).fetchall():
        tally[host, state] -= number
        tally[host, State.UNASKED] += number
        counts[state] += number
    db.execute(
        f"INSERT INTO waiting SELECT id, host, rank, prefix, rest, depth, kind, {State.UNASKED:d}, hops, 0 "
        "FROM aside WHERE why = ?",
        (_POLICY,),
    )
    db.execute("DELETE FROM aside WHERE why = ?", (_POLICY,))
    db.execute("UPDATE waiting SET rank = rank - ?, attempts = 0 WHERE rank >= ?", (2 * reading.LATER, reading.LATER))
    return Judged(back=counts.total(), refused=counts[State.REFUSED], failed=counts[State.FAILED])


def judge_scope(db: sqlite3.Connection, inside: Inside, tally: Counter[tuple[int, int]]) -> Judged:
    """Another scope is in force: what waits outside of it stands aside, and what it covers now waits again."""
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
        chosen = [(id_, host, state) for id_, url, depth, kind, host, state in rows if wanted(url, depth, Kind(kind))]
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
