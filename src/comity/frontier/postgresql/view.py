"""Reading a shard of a crawl in PostgreSQL: the queries that the crawl and monitoring share, and the read-only view."""

import json
from collections.abc import Collection
from contextlib import closing
from typing import Any, Self

from comity.errors import InputError
from comity.frontier import exchange
from comity.frontier.database import LATER, HostCounts, Standing, entry_of, split
from comity.frontier.exchange import Parcel, numbers
from comity.frontier.postgresql.database import Address, connect, explained, is_made
from comity.frontier.values import Entry, EntryKind, Found, State

_COLUMNS = "name, unasked + queued, done, refused, failed"


def counts(db: Any, shard: int) -> dict[State, int]:
    """How many URLs are in each state."""
    sums = db.execute(
        f"SELECT sum(unasked), sum(queued), sum(done), sum(refused), sum(failed) FROM host_{shard}"
    ).fetchone()
    return dict(zip(State, (int(number or 0) for number in sums), strict=True))


def waiting(
    db: Any,
    shard: int,
    host: str,
    most: int,
    *,
    but_not: Collection[int] = (),
    below: int = 4 * LATER,
    kind: EntryKind | None = None,
) -> list[Entry]:
    """The first URLs of a host's queue: see `database.waiting`."""
    wanted = "" if kind is None else f"AND kind = {kind:d} "
    rows = db.execute(
        "SELECT rank, id, prefix, rest, depth, kind, attempts, hops, "
        f"(SELECT url FROM source_{shard} AS source WHERE source.id = queue.source) FROM waiting_{shard} AS queue "
        f"WHERE host = (SELECT id FROM host_{shard} WHERE name = %s) AND rank < %s {wanted}"
        "AND id <> ALL(%s) ORDER BY rank, id LIMIT %s",
        (host, below, list(but_not), most),
    ).fetchall()
    return [entry_of(host, row) for row in rows]


class PostgresView:
    """A shard as it was committed last when the view was opened: see `database.View`.

    Raises:
        StorageError: the database cannot be reached, or there is no such crawl.
    """

    def __init__(self, where: Address, shard: int) -> None:
        self._where = where
        self._shard = shard
        with explained(where):
            self._db = connect(where)
            try:
                if not is_made(self._db, where):
                    raise InputError(f"there is no crawl in {where}", hint="name the URL given to comity crawl --store")
                self._db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                self.counts()  # the first question settles which instant all answers are of
            except BaseException:
                self._db.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with explained(self._where), closing(self._db):
            self._db.execute("ROLLBACK")

    def counts(self) -> dict[State, int]:
        """How many URLs are in each state."""
        with explained(self._where):
            return counts(self._db, self._shard)

    def busiest(self, most: int) -> list[HostCounts]:
        """The hosts with most URLs waiting; those with none come last."""
        rows = self._rows(
            f"SELECT {_COLUMNS} FROM host_{self._shard} ORDER BY unasked + queued DESC, id LIMIT %s", (most,)
        )
        return [HostCounts(*row) for row in rows]

    def host(self, name: str) -> HostCounts | None:
        """One host, or None where the crawl has not met it."""
        rows = self._rows(f"SELECT {_COLUMNS} FROM host_{self._shard} WHERE name = %s", (name,))
        return HostCounts(*rows[0]) if rows else None

    def load_state(self, key: str) -> Any:
        """A fact that the crawl remembers, or None."""
        rows = self._rows(f"SELECT value FROM fact_{self._shard} WHERE key = %s", (key,))
        return json.loads(rows[0][0]) if rows else None

    def stands(self, url: str, host: str) -> Standing | None:
        """How a URL waits, or stands aside; None where it does neither."""
        shard = self._shard
        prefix, rest = split(Found(url, host, 0, EntryKind.PAGE, State.QUEUED))
        for table, why in (("waiting", "NULL::smallint"), ("aside", "why")):
            rows = self._rows(
                f"SELECT state, rank, depth, attempts, {why}, (SELECT url FROM source_{shard} AS source "
                f"WHERE source.id = queue.source) FROM {table}_{shard} AS queue "
                f"WHERE host = (SELECT id FROM host_{shard} WHERE name = %s) AND prefix = %s AND rest = %s",
                (host, prefix, rest),
            )
            if rows:
                state, rank, depth, attempts, aside, found_on = rows[0]
                kept_by: Any = None if aside is None else ("scope", "policy", "usage")[aside]
                return Standing(State(state), rank >= LATER, kept_by, depth, attempts, found_on)
        return None

    def waiting(self, host: str, most: int) -> list[Entry]:
        """The next URLs of a host, in the order they will be fetched."""
        with explained(self._where):
            return waiting(self._db, self._shard, host, most)

    def _rows(self, query: str, values: tuple[Any, ...]) -> list[Any]:
        with explained(self._where):
            rows: list[Any] = self._db.execute(query, values).fetchall()
            return rows


def parcels(
    db: Any, receivers: Collection[int], after: dict[tuple[int, int], int], most: int
) -> list[tuple[int, Parcel]]:
    """What shards have sent to some and these have not taken up: sender and parcel, of each sender the oldest first.

    Args:
        after: by sender and receiver, the parcel taken up last.
    """
    rows = db.execute(
        "SELECT parcel.sender, id, parcel.receiver, messages FROM parcel LEFT JOIN "
        "unnest(%s::int[], %s::int[], %s::bigint[]) AS known (sender, receiver, last) "
        "ON known.sender = parcel.sender AND known.receiver = parcel.receiver "
        "WHERE parcel.receiver = ANY(%s) AND id > coalesce(last, 0) ORDER BY id LIMIT %s",
        (
            [sender for sender, _ in after],
            [receiver for _, receiver in after],
            list(after.values()),
            list(receivers),
            most,
        ),
    ).fetchall()
    return [(sender, Parcel(id_, receiver, exchange.read(text))) for sender, id_, receiver, text in rows]


def taken_of(db: Any, shards: Collection[int]) -> dict[tuple[int, int], int]:
    """The last parcel that each receiver has taken of some senders: by sender and receiver."""
    wanted = set(shards)
    rows = db.execute("SELECT shard, value FROM fact WHERE key = %s", (exchange.TAKEN,)).fetchall()
    return {
        (sender, receiver): number
        for receiver, text in rows
        for sender, number in numbers(json.loads(text)).items()
        if sender in wanted
    }


def pending(db: Any) -> dict[int, int]:
    """How many messages each shard has sent that have not been taken."""
    taken = taken_of(db, [number for (number,) in db.execute("SELECT number FROM shard").fetchall()])
    found: dict[int, int] = {}
    for sender, id_, receiver, count in db.execute(
        "SELECT sender, id, receiver, json_array_length(messages::json) FROM parcel"
    ):
        if id_ > taken.get((sender, receiver), 0):
            found[sender] = found.get(sender, 0) + count
    return found
