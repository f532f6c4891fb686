"""The tables by which those who work one crawl in PostgreSQL coordinate: who takes part, who has which shard, parts of
the output, orders. They lie in one schema with those of the frontier.
"""

import json
import os
from typing import Any, Final

from comity.errors import StorageError
from comity.frontier.postgresql import database
from comity.frontier.postgresql.database import USE, Address, translate_errors
from comity_pages._extras import need

OLDEST: Final = 12  # version of PostgreSQL
SERVER: Final = "extract(epoch FROM pg_postmaster_start_time())::float8"
"""Which server this is, as SQL: another one after a restart, or where another took its place."""

# They are small, and room is left in their pages for the rows that take the place of old ones.
CONFIRMED: Final = "confirmed boolean NOT NULL DEFAULT false"
"""The column by which who carries an order out says so; crawls of earlier versions lack it."""
_TABLES: Final = f"""
CREATE TABLE crawl (
    id text NOT NULL, run bigint NOT NULL DEFAULT 1, manifest text NOT NULL, lease double precision NOT NULL,
    ended text, pool bigint, server double precision NOT NULL
);
CREATE TABLE shard (
    number int PRIMARY KEY, token bigint NOT NULL DEFAULT 0, holder text, renewal bigint NOT NULL DEFAULT 0,
    granted bigint, state text, stands text
) WITH (fillfactor = 20);
CREATE TABLE member (
    name text PRIMARY KEY, folder text NOT NULL, beat bigint NOT NULL DEFAULT 0, works boolean NOT NULL
) WITH (fillfactor = 20);
CREATE TABLE part (
    shard int NOT NULL, token bigint NOT NULL, run bigint NOT NULL, holder text NOT NULL, folder text NOT NULL,
    name text NOT NULL, sink text, ledger text, PRIMARY KEY (shard, token)
) WITH (fillfactor = 50);
CREATE TABLE operator_order (
    id bigserial PRIMARY KEY, host text NOT NULL, kind text NOT NULL, seconds double precision,
    at double precision NOT NULL, {CONFIRMED}
)"""
_HEARD: Final = "CREATE TABLE heard_{n} (id bigserial, line text NOT NULL)"  # of a shard: see leased_storage.py


def make(
    db: Any,
    where: Address,
    shards: int,
    manifest: Any,
    *,
    lease: float,
    pages: int | None = None,
    command: tuple[str, str] | None = None,
) -> None:
    """Make the tables of a crawl, all or none. Its first run begins with that. A StorageError: there is one of that
    name.

    Args:
        manifest: what holds for the whole crawl, as JSON can hold it.
        lease: seconds for which a shard is somebody's who is not heard of.
        pages: limit of the whole crawl.
        command: name and folder of what begins it: see `CrawlStore.heartbeat`.
    """
    errors = need("psycopg", "postgresql", USE).errors
    try:
        with translate_errors(where), db.transaction():
            database.make(db, where, shards)
            db.execute(_TABLES)
            granted = None if pages is None else 0
            for number in range(shards):
                db.execute(_HEARD.format(n=number))
                db.execute("INSERT INTO shard (number, granted) VALUES (%s, %s)", (number, granted))
            db.execute(
                f"INSERT INTO crawl (id, manifest, lease, pool, server) VALUES (%s, %s, %s, %s, {SERVER})",
                (os.urandom(8).hex(), json.dumps(manifest), lease, pages),
            )
            if command is not None:
                db.execute("INSERT INTO member (name, folder, works) VALUES (%s, %s, false)", command)
    except StorageError as error:
        if isinstance(error.__cause__, errors.DuplicateSchema | errors.UniqueViolation):
            raise StorageError(f"{where} already contains a crawl", hint="add --resume or --join") from error
        raise


def check_server(db: Any, where: Address, shards: int, workers: int) -> None:
    """See that the server is new enough and has connections enough for all shards and the workers of one machine: else
    some shards would wait for ever."""
    if db.info.server_version < 10_000 * OLDEST:
        raise StorageError(
            f"{where}: PostgreSQL {OLDEST} or later is needed, and this is {db.info.server_version // 10_000}"
        )
    (most,) = db.execute(
        "SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int"
    ).fetchone()
    needed = 2 * shards + 3 * workers + 1
    if needed > most:
        raise StorageError(
            f"{where}: {shards} shards and {workers} workers need {needed} connections, and the server has {most}",
            hint="begin with fewer --shards, or raise max_connections on the server",
        )
