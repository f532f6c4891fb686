"""How a URL lies in the queue's table, and the questions that writer and readers of the frontier both ask."""

import sqlite3

from comity.crawl.frontier.values import Entry, Found, Kind, State

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


def waiting(db: sqlite3.Connection, host: str, most: int) -> list[Entry]:
    """The first URLs of a host's queue."""
    rows = db.execute(
        "SELECT waiting.id, prefix, rest, depth, kind, attempts, hops, rank FROM waiting "
        "WHERE host = (SELECT id FROM host WHERE name = ?) ORDER BY rank, waiting.id LIMIT ?",
        (host, most),
    )
    return [
        Entry(id_, (_PREFIXES[prefix] + host if prefix else "") + rest, depth, Kind(kind), attempts, hops, rank >> 1)
        for id_, prefix, rest, depth, kind, attempts, hops, rank in rows
    ]


def counts(db: sqlite3.Connection) -> dict[State, int]:
    """How many URLs are in each state."""
    sums = db.execute("SELECT sum(unasked), sum(queued), sum(done), sum(refused), sum(failed) FROM host").fetchone()
    return dict(zip(State, (number or 0 for number in sums), strict=True))
