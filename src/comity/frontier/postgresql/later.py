"""What a later run may take up, in PostgreSQL: see `frontier.later`, whose rules these statements follow."""

import json
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

from comity.frontier.database import LATER
from comity.frontier.later import Inside, Judged
from comity.frontier.postgresql.database import Address, explained
from comity.frontier.values import Batch, EntryKind, State, Visit

SCOPE: Final = 0  # why a row is set aside; its state is that in which it waited
POLICY: Final = 1  # its state is the one it was counted in when it was settled
USAGE: Final = 2  # likewise
_CHUNK: Final = 1000
_COLUMNS: Final = "shard, id, host, rank, prefix, rest, depth, kind, state, hops, attempts, source"
_URL: Final = "CASE prefix WHEN 0 THEN '' WHEN 1 THEN 'https://' || name ELSE 'http://' || name END || rest"
_SOURCE: Final = "(SELECT url FROM source_{shard} AS source WHERE source.id = queue.source)"
_VISITS_AT_ONCE: Final = 500


def set_aside(db: Any, shard: int, batch: Batch) -> None:
    """Rows of the queue that our own settings refuse stand aside; they are still to be deleted there."""
    rows = [(state, POLICY, id_) for state, id_ in batch.by_policy]
    rows += [(State.REFUSED, USAGE, id_) for id_ in batch.by_usage]
    if rows:
        db.execute(
            f"INSERT INTO aside_{shard} ({_COLUMNS}, why) "
            "SELECT shard, queue.id, host, rank, prefix, rest, depth, kind, "
            f"kept.state, hops, attempts, source, kept.why FROM waiting_{shard} AS queue "
            "JOIN unnest(%s::int[], %s::int[], %s::bigint[]) AS kept (state, why, id) ON kept.id = queue.id "
            "ON CONFLICT DO NOTHING",
            tuple(map(list, zip(*rows, strict=True))),
        )


def judge_policy(db: Any, shard: int, tally: Counter[tuple[int, int]]) -> Judged:
    """Another policy is in force: URLs that the old one set aside are queued again, and so are postponed ones."""
    back = _bring_back(db, shard, POLICY, tally)
    db.execute(f"UPDATE waiting_{shard} SET rank = rank - %s, attempts = 0 WHERE rank >= %s", (2 * LATER, LATER))
    return back


def judge_usage(db: Any, shard: int, tally: Counter[tuple[int, int]]) -> Judged:
    """Other uses are wanted: pages that were refused because of the old ones are queued again."""
    return _bring_back(db, shard, USAGE, tally)


def _bring_back(db: Any, shard: int, why: int, tally: Counter[tuple[int, int]]) -> Judged:
    counts: Counter[int] = Counter()
    for host, state, number in db.execute(
        f"SELECT host, state, count(*) FROM aside_{shard} WHERE why = %s GROUP BY host, state", (why,)
    ).fetchall():
        tally[host, state] -= number
        tally[host, State.UNASKED] += number
        counts[state] += number
    db.execute(
        f"INSERT INTO waiting_{shard} ({_COLUMNS}) SELECT shard, id, host, rank, prefix, rest, depth, kind, "
        f"{State.UNASKED:d}, hops, 0, source FROM aside_{shard} WHERE why = %s",
        (why,),
    )
    db.execute(f"DELETE FROM aside_{shard} WHERE why = %s", (why,))
    return Judged(back=counts.total(), refused=counts[State.REFUSED], failed=counts[State.FAILED])


def judge_scope(db: Any, shard: int, inside: Inside, tally: Counter[tuple[int, int]]) -> Judged:
    """Another scope is in force: queued URLs outside of it are set aside, and URLs within it are queued again."""
    back = _move(db, shard, "aside", "waiting", "", f"why = {SCOPE}", inside, tally)
    left = _move(db, shard, "waiting", "aside", f", {SCOPE}", "true", lambda *url: not inside(*url), tally)
    return Judged(left=left, back=back)


def _move(
    db: Any,
    shard: int,
    source: str,
    target: str,
    why: str,
    which: str,
    wanted: Inside,
    tally: Counter[tuple[int, int]],
) -> int:
    """Move the rows that are wanted from one table to the other; gives how many there were."""
    sign = 1 if target == "waiting" else -1
    last = moved = 0
    while rows := db.execute(
        f"SELECT queue.id, {_URL}, depth, kind, host, state FROM {source}_{shard} AS queue "
        f"JOIN host_{shard} AS host ON host.id = queue.host WHERE queue.id > %s AND {which} "
        f"ORDER BY queue.id LIMIT {_CHUNK}",
        (last,),
    ).fetchall():
        last = rows[-1][0]
        chosen = [
            (id_, host, state) for id_, url, depth, kind, host, state in rows if wanted(url, depth, EntryKind(kind))
        ]
        if not chosen:
            continue
        ids = [id_ for id_, _, _ in chosen]
        db.execute(
            f"WITH moved AS (DELETE FROM {source}_{shard} WHERE id = ANY(%s) RETURNING *) "
            f"INSERT INTO {target}_{shard} ({_COLUMNS}{', why' * bool(why)}) SELECT {_COLUMNS}{why} FROM moved",
            (ids,),
        )
        for _, host, state in chosen:
            tally[host, state] += sign
        moved += len(chosen)
    return moved


def write_visits(db: Any, shard: int, batch: Batch, *, indexed: bool) -> None:
    """Take up what a batch says of visits, in the transaction that is open.

    Args:
        indexed: whether a URL may have a row already: in a refresh. A first crawl only appends.
    """
    table = f"visit_{shard}"
    said: dict[str, tuple[bool, str]] = {}
    for v in batch.visits:
        said[v.url] = (
            v.digest is not None,
            _json((v.depth, v.digest, v.kept, v.fetched, v.etag, v.modified, v.found_on)),
        )
    if indexed and (gone := [*said, *batch.gone]):
        db.execute(f"DELETE FROM {table} WHERE md5(url) = ANY(SELECT md5(unnest(%s::text[])))", (gone,))
    elif batch.gone:
        db.execute(f"DELETE FROM {table} WHERE url = ANY(%s)", (batch.gone,))
    owed = {url: (False, _json((depth, *(None,) * 5, found_on))) for url, depth, found_on in batch.owed}
    owed = {url: values for url, values in owed.items() if url not in said}
    if owed and indexed:
        known = db.execute(
            f"SELECT url FROM {table} WHERE md5(url) = ANY(SELECT md5(unnest(%s::text[])))", (list(owed),)
        ).fetchall()
        for (url,) in known:
            owed.pop(url, None)
    _append(db, shard, said | owed)
    if batch.stated:
        stated = {url: at for at, url in batch.stated}
        db.execute(
            f"UPDATE {table} AS visit SET stated = new.stated "
            "FROM unnest(%s::text[], %s::float8[]) AS new (url, stated) WHERE md5(visit.url) = md5(new.url)",
            (list(stated), list(stated.values())),
        )


def _append(db: Any, shard: int, rows: dict[str, tuple[bool, str]]) -> None:
    if rows:
        known, said = zip(*rows.values(), strict=True)
        db.execute(
            f"INSERT INTO visit_{shard} (shard, url, known, said) "
            f"SELECT {shard}, * FROM unnest(%s::text[], %s::bool[], %s::text[])",
            (list(rows), list(known), list(said)),
        )


def begin_refresh(db: Any, shard: int) -> int:
    """Begin a refresh, in the transaction that is open; returns the last id that it has before it.

    What waits is remembered as something that is yet to be visited; what was met is forgotten.
    """
    table = f"visit_{shard}"
    db.execute(f"CREATE UNIQUE INDEX IF NOT EXISTS visited_{shard} ON {table} (md5(url))")
    db.execute(f"UPDATE {table} SET stated = NULL WHERE stated IS NOT NULL")
    for queue in ("waiting", "aside"):
        db.execute(
            f"INSERT INTO {table} (shard, url, known, said) SELECT {shard}, url, false, "
            "json_build_array(depth, null, null, null, null, null, found_on)::text "
            f"FROM (SELECT queue.id, {_URL} AS url, depth, {_SOURCE.format(shard=shard)} AS found_on "
            f"FROM {queue}_{shard} AS queue JOIN host_{shard} AS host ON host.id = queue.host WHERE kind = 0) AS found "
            f"WHERE NOT EXISTS (SELECT 1 FROM {table} AS visit WHERE md5(visit.url) = md5(found.url)) ORDER BY id"
        )
    (last,) = db.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchone()
    for each in ("waiting", "aside", "source", "seen"):
        db.execute(f"DELETE FROM {each}_{shard}")
    db.execute(f"UPDATE host_{shard} SET unasked = 0, queued = 0, done = 0, refused = 0, failed = 0")
    return int(last)


def forget(db: Any, shard: int, patterns: Iterable[str]) -> None:
    """Forget facts by name, in the transaction that is open; `*` stands for anything."""
    for pattern in patterns:
        like = pattern.replace("\\", r"\\").replace("_", r"\_").replace("%", r"\%").replace("*", "%")
        db.execute(f"DELETE FROM fact_{shard} WHERE key LIKE %s", (like,))


def begin_refreshes(db: Any, patterns: Iterable[str], save: Callable[[int], dict[str, Any]]) -> None:
    """Begin a refresh of all shards, which nobody has, in the transaction that is open: see `queue.begin_again`."""
    db.execute("UPDATE fence SET token = token + 1")  # nothing more is kept of who had a shard before
    for (shard,) in db.execute("SELECT number FROM shard").fetchall():
        facts = save(begin_refresh(db, shard))
        forget(db, shard, (*patterns, *facts))
        kept = {key: json.dumps(value) for key, value in facts.items() if value is not None}
        db.execute(
            f"INSERT INTO fact_{shard} SELECT {shard}, * FROM unnest(%s::text[], %s::text[])",
            (list(kept), list(kept.values())),
        )
    db.execute("UPDATE shard SET stands = NULL")


class Visits:
    """Reads what was committed: see `frontier.later.Visits`.

    Args:
        db: a connection that is not the one that writes.
    """

    def __init__(self, db: Any, where: Address, shard: int) -> None:
        self._db = db
        self._where = where
        self._shard = shard

    def any(self) -> bool:
        """Whether there is anything to ask for again."""
        return bool(self._rows(f"SELECT 1 FROM visit_{self._shard} LIMIT 1", ()))

    def of(self, url: str) -> Visit | None:
        """The last visit of a URL. Asked in a refresh only."""
        rows = self._rows(f"SELECT said, stated FROM visit_{self._shard} WHERE md5(url) = md5(%s)", (url,))
        return replace(Visit(url, *json.loads(rows[0][0])), stated=rows[0][1]) if rows else None

    def until(self, last: int) -> Iterator[Visit]:
        """As `frontier.later.Visits.until`."""
        streams = deque((self._until(last, "known"), self._until(last, "NOT known")))
        while streams:
            stream = streams.popleft()
            if (found := next(stream, None)) is not None:
                yield found
                streams.append(stream)

    def unasked(self, last: int) -> int:
        """How many pages that are known wait still, of those that `until` gives."""
        shard = self._shard
        rows = self._rows(
            f"SELECT count(*) FROM waiting_{shard} AS queue JOIN host_{shard} AS host ON host.id = queue.host "
            f"JOIN visit_{shard} AS visit ON md5(visit.url) = md5({_URL}) WHERE kind = 0 AND visit.id <= %s AND known",
            (last,),
        )
        return int(rows[0][0])

    def _until(self, last: int, which: str) -> Iterator[Visit]:
        at = 0
        while True:
            rows = self._rows(
                f"SELECT id, url, said FROM visit_{self._shard} WHERE id > %s AND id <= %s AND {which} "
                "ORDER BY id LIMIT %s",
                (at, last, _VISITS_AT_ONCE),
            )
            if not rows:
                return
            yield from (Visit(url, *json.loads(said)) for _, url, said in rows)
            at = rows[-1][0]

    def _rows(self, query: str, values: tuple[Any, ...]) -> list[Any]:
        with explained(self._where):
            rows: list[Any] = self._db.execute(query, values).fetchall()
            return rows


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
