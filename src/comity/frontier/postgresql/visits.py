"""The pages visited, and how a refresh begins, in PostgreSQL: by the rules of `frontier.visits`."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from comity.frontier.tables import URL
from comity.frontier.values import Batch

_SOURCE: Final = "(SELECT url FROM source_{shard} AS source WHERE source.id = queue.source)"


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


def forget(db: Any, shard: int, patterns: Iterable[str]) -> None:
    """Forget facts by name, in the transaction that is open; `*` stands for anything."""
    for pattern in patterns:
        like = pattern.replace("\\", r"\\").replace("_", r"\_").replace("%", r"\%").replace("*", "%")
        db.execute(f"DELETE FROM fact_{shard} WHERE key LIKE %s", (like,))


def keep(db: Any, shard: int, facts: Mapping[str, str]) -> None:
    """Keep facts, as text, in the transaction that is open."""
    db.execute(
        f"INSERT INTO fact_{shard} SELECT {shard}, * FROM unnest(%s::text[], %s::text[]) "
        "ON CONFLICT (md5(key)) DO UPDATE SET value = excluded.value",
        (list(facts), list(facts.values())),
    )


def begin_again(db: Any, shard: int, patterns: Iterable[str], save: Callable[[int], dict[str, Any]]) -> None:
    """Begin a refresh of a shard, in the transaction that is open: see `DurableFrontier.begin_again`."""
    facts = save(begin_refresh(db, shard))
    forget(db, shard, (*patterns, *facts))
    keep(db, shard, {key: json.dumps(value) for key, value in facts.items() if value is not None})


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
