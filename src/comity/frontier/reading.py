"""How a URL lies in the queue's table, and the questions that writer and readers of the frontier both ask."""

import json
import sqlite3
from collections.abc import Collection

from comity.frontier.values import Entry, Found, Kind, State

LATER = 1 << 40  # beyond every rank; a postponed URL has twice as much added to its own
_PREFIXES = ("", "https://", "http://")


def rank(found: Found) -> int:
    """The place in its host's queue: by priority, then sitemaps before pages. Ids settle the rest."""
    return found.priority * 2 + (found.kind is not Kind.SITEMAP)


def split(found: Found) -> tuple[int, str]:
    """A URL without what its host says already: which prefix stood before, and the rest."""
    for number, scheme in enumerate(_PREFIXES[1:], 1):
        if found.url.startswith(prefix := scheme + found.host):
            return number, found.url[len(prefix) :]
    return 0, found.url  # with a user name, for example


def waiting(
    db: sqlite3.Connection,
    host: str,
    most: int,
    *,
    but_not: Collection[int] = (),
    below: int = 4 * LATER,
    kind: Kind | None = None,
) -> list[Entry]:
    """The first URLs of a host's queue, of a kind or of all, but for some ids and those with a rank of `below` on."""
    wanted = "" if kind is None else f"AND kind = {kind:d} "
    # One row: at each row that SQLite hands over, threads fight for the interpreter.
    (rows,) = db.execute(
        "SELECT json_group_array(json_array(rank, id, prefix, rest, depth, kind, attempts, hops)) FROM ("
        "SELECT * FROM waiting WHERE host = (SELECT id FROM host WHERE name = ?) AND rank < ? "
        f"{wanted}AND id NOT IN (SELECT value FROM json_each(?)) ORDER BY rank, id LIMIT ?)",
        (host, below, json.dumps(list(but_not)), most),
    ).fetchone()
    return [
        Entry(
            id_, (_PREFIXES[prefix] + host if prefix else "") + rest, depth, Kind(kind), attempts, hops, _priority(rank)
        )
        for rank, id_, prefix, rest, depth, kind, attempts, hops in sorted(json.loads(rows))
    ]


def _priority(rank: int) -> int:
    return (rank - 2 * LATER if rank >= LATER else rank) >> 1


def counts(db: sqlite3.Connection) -> dict[State, int]:
    """How many URLs are in each state."""
    sums = db.execute("SELECT sum(unasked), sum(queued), sum(done), sum(refused), sum(failed) FROM host").fetchone()
    return dict(zip(State, (number or 0 for number in sums), strict=True))
