"""What a later run may take up, in PostgreSQL: see `frontier.later`, whose rules these statements follow."""

import json
from typing import Any, Final

from comity.frontier.postgresql.view import ShardTables
from comity.frontier.tables import POLICY, URL, USAGE
from comity.frontier.values import Batch, State

_SOURCE: Final = "(SELECT url FROM source_{shard} AS source WHERE source.id = queue.source)"


def set_aside(db: Any, shard: int, batch: Batch) -> None:
    """Rows of the queue that our own settings refuse stand aside; they are still to be deleted there."""
    rows = [(state, POLICY, id_) for state, id_ in batch.by_policy]
    rows += [(State.REFUSED, USAGE, id_) for id_ in batch.by_usage]
    if rows:
        db.execute(
            f"INSERT INTO aside_{shard} ({ShardTables.columns}, why) "
            "SELECT shard, queue.id, host, rank, prefix, rest, depth, kind, "
            f"kept.state, hops, attempts, source, kept.why FROM waiting_{shard} AS queue "
            "JOIN unnest(%s::int[], %s::int[], %s::bigint[]) AS kept (state, why, id) ON kept.id = queue.id "
            "ON CONFLICT DO NOTHING",
            tuple(map(list, zip(*rows, strict=True))),
        )


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
            f"FROM (SELECT queue.id, {URL} AS url, depth, {_SOURCE.format(shard=shard)} AS found_on "
            f"FROM {queue}_{shard} AS queue JOIN host_{shard} AS host ON host.id = queue.host WHERE kind = 0) AS found "
            f"WHERE NOT EXISTS (SELECT 1 FROM {table} AS visit WHERE md5(visit.url) = md5(found.url)) ORDER BY id"
        )
    (last,) = db.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchone()
    for each in ("waiting", "aside", "source", "seen"):
        db.execute(f"DELETE FROM {each}_{shard}")
    db.execute(f"UPDATE host_{shard} SET unasked = 0, queued = 0, done = 0, refused = 0, failed = 0")
    return int(last)


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
