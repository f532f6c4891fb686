"""The crawl's schema in a PostgreSQL database: how it is named and reached, what its errors mean in words, and the
tables of the frontier.
"""

import os
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

from comity.errors import InvalidSetting, StorageError, StorageFull
from comity.files import closed_on_error
from comity.frontier.durable import no_crawl, of_another_version
from comity.frontier.values import Unreachable
from comity_pages._extras import need

_RIGHTS: Final = "who begins a crawl needs CREATE on the database, and who takes part is the same user"
FORMAT: Final = 7  # of these tables, and of all others in the crawl's schema
USE: Final = "--store with PostgreSQL"
DEFAULT_NAME: Final = "crawl"
# Not by urllib, of which newer versions refuse what libpq takes: several hosts, one of them an address in brackets.
_URL: Final = re.compile(r"[^:]+://([^/?#]*+)((?:/[^?#]*+)?+)(?:\?([^#]*))?")
_PLACE: Final = re.compile(r"[^:]*(:\d*)?|\[[^]]*\](:\d*)?")
_SECRET: Final = re.compile("password|secret", re.IGNORECASE)  # in names of libpq's options
_ESCAPED: Final = re.compile("%[0-9A-Fa-f]{2}")
_NAME: Final = re.compile("[a-z][a-z0-9_]{0,39}")
# SQLSTATE, whole or its class: the connection, a transaction that another kept from its end, an operator's word; too
# many connections, a transaction that stood still, a lock that was not free.
_PASSING: Final = frozenset(("08", "40", "57", "53300", "25P03", "55P03"))
# How long a connection that leads nowhere is waited for. A server on the same machine is reached without TCP.
_REACH: Final = {
    "connect_timeout": 5,
    "keepalives_idle": 3,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 8000,  # milliseconds
}
# A plan made while a table was small is used when it is large: never one that reads all of it.
_SESSION: Final = (
    "SET client_min_messages = error; SET enable_seqscan = off; SET enable_bitmapscan = off; SET jit = off; "
    "SET idle_in_transaction_session_timeout = {stopped}; SET search_path = {schema}; SELECT pg_backend_pid()"
)

# Each shard's rows are in partitions of their own, and so are their indexes, which need no column for the shard. Rows
# of the queue are inserted and deleted, and changed only where a fetch is tried again or put off. `seen` has 64 bits of
# each URL met, the key of both tables and of the set; `fact`, `host` and `shard` are small, and room is left in their
# pages for the rows that take the place of old ones. What a site names is of any length, so no other index than one of
# hashes holds it: a row of a B-tree has 2,704 octets at most.
_QUEUED = """shard int NOT NULL, id bigint NOT NULL, rank bigint NOT NULL, host int NOT NULL, source int,
    depth int NOT NULL, hops int NOT NULL, attempts int NOT NULL DEFAULT 0, prefix smallint NOT NULL,
    kind smallint NOT NULL, state smallint NOT NULL, {why}rest text NOT NULL"""
_SCHEMA = f"""
CREATE SCHEMA {{schema}};
SET LOCAL search_path = {{schema}};
CREATE TABLE frontier (format int NOT NULL, fingerprint_key bytea NOT NULL);
CREATE TABLE fence (
    shard int PRIMARY KEY, token bigint NOT NULL DEFAULT 0, commits bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 20);
CREATE TABLE parcel (
    sender int NOT NULL, id bigint NOT NULL, receiver int NOT NULL, messages text NOT NULL, PRIMARY KEY (sender, id)
);
CREATE INDEX parcel_receiver ON parcel (receiver, sender, id);
CREATE TABLE fact (shard int NOT NULL, key text NOT NULL, value text NOT NULL) PARTITION BY LIST (shard);
CREATE TABLE host (
    shard int NOT NULL, id int NOT NULL, name text NOT NULL, unasked bigint NOT NULL DEFAULT 0,
    queued bigint NOT NULL DEFAULT 0, done bigint NOT NULL DEFAULT 0, refused bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0
) PARTITION BY LIST (shard);
CREATE TABLE waiting ({_QUEUED.format(why="")}) PARTITION BY LIST (shard);
CREATE TABLE aside ({_QUEUED.format(why="why smallint NOT NULL, ")}) PARTITION BY LIST (shard);
CREATE TABLE source (shard int NOT NULL, id int NOT NULL, url text NOT NULL) PARTITION BY LIST (shard);
CREATE TABLE seen (fingerprint bigint NOT NULL, shard int NOT NULL) PARTITION BY LIST (shard);
CREATE TABLE visit (
    shard int NOT NULL, id bigserial, url text NOT NULL, known boolean NOT NULL, said text NOT NULL,
    stated double precision
) PARTITION BY LIST (shard)"""
_PARTITION = """
CREATE TABLE fact_{n} PARTITION OF fact (shard DEFAULT {n}) FOR VALUES IN ({n}) WITH (fillfactor = 40);
CREATE UNIQUE INDEX ON fact_{n} (md5(key));
CREATE INDEX ON fact_{n} USING hash (key);
CREATE TABLE host_{n} PARTITION OF host (shard DEFAULT {n}) FOR VALUES IN ({n}) WITH (fillfactor = 50);
CREATE UNIQUE INDEX ON host_{n} (id);
CREATE INDEX ON host_{n} USING hash (name);
CREATE TABLE waiting_{n} PARTITION OF waiting (shard DEFAULT {n}) FOR VALUES IN ({n});
CREATE UNIQUE INDEX ON waiting_{n} (id);
CREATE INDEX ON waiting_{n} (host, rank, id);
CREATE TABLE aside_{n} PARTITION OF aside (shard DEFAULT {n}) FOR VALUES IN ({n});
CREATE UNIQUE INDEX ON aside_{n} (id);
CREATE TABLE source_{n} PARTITION OF source (shard DEFAULT {n}) FOR VALUES IN ({n});
CREATE UNIQUE INDEX ON source_{n} (id);
CREATE TABLE seen_{n} PARTITION OF seen (shard DEFAULT {n}) FOR VALUES IN ({n});
CREATE UNIQUE INDEX ON seen_{n} (fingerprint);
CREATE TABLE visit_{n} PARTITION OF visit (shard DEFAULT {n}) FOR VALUES IN ({n});
CREATE UNIQUE INDEX ON visit_{n} (id);
INSERT INTO fence (shard) VALUES ({n})"""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a crawl is kept: a database as libpq takes it, perhaps with a password, and the crawl's name in it
    (`?crawl=NAME`)."""

    conninfo: str
    name: str = DEFAULT_NAME

    @property
    def schema(self) -> str:
        return f"comity_{self.name}"

    def _shown(self) -> tuple[str, list[str]]:
        """The address without a password, and its options."""
        read = _URL.fullmatch(self.conninfo)
        assert read is not None, "`address` has read it"
        authority, path, query = read.groups()
        user, at, place = authority.rpartition("@")  # `address` sees to it that there is no other
        return f"postgresql://{user.partition(':')[0]}{at}{place}{path}", [
            each for each in (query or "").split("&") if each
        ]

    def __str__(self) -> str:
        """The address without a password."""
        shown, _ = self._shown()
        return shown if self.name == DEFAULT_NAME else f"{shown}?crawl={self.name}"

    @property
    def without_password(self) -> str:
        """A URL that leads to the same crawl, whoever has the password."""
        shown, query = self._shown()
        options = [each for each in query if not _SECRET.search(unquote(each.split("=")[0]))]
        options += [] if self.name == DEFAULT_NAME else [f"crawl={self.name}"]
        return f"{shown}{'?' * bool(options)}{'&'.join(options)}"


def address(url: str) -> Address:
    """Where a URL such as `postgresql://user@host/database?crawl=NAME` leads; else an InvalidSetting."""
    scheme, _, _ = url.partition("://")
    if scheme.lower() not in ("postgresql", "postgres") or scheme == url:
        raise InvalidSetting("store: not a postgresql:// URL", hint="write postgresql://USER@HOST/DATABASE")
    read = _URL.fullmatch(url)
    if read is None:
        raise _unread()
    authority, path, options = read.groups()
    user, _, places = authority.rpartition("@")
    query = [each for each in (options or "").split("&") if each]
    if (
        not url.isprintable()
        or "%" in _ESCAPED.sub("", url)
        or "@" in user + path
        or not all(_PLACE.fullmatch(place) for place in places.split(","))
        or not all("=" in each for each in query)
    ):
        raise _unread()
    # As libpq reads it: a plus sign is one. Nothing but our own word is taken out.
    names = [each.partition("=")[2] for each in query if each.partition("=")[0] == "crawl"]
    name = names[-1] if names else DEFAULT_NAME
    if not _NAME.fullmatch(name):
        raise InvalidSetting(f"store: {name!r} cannot be a crawl's name: at most 40 of a-z, 0-9 and _, a letter first")
    rest = "&".join(each for each in query if each.partition("=")[0] != "crawl")
    return Address(f"postgresql://{authority}{path}{'?' * bool(rest)}{rest}", name)


def _unread() -> InvalidSetting:
    """Nothing of the URL is shown: a password may be anywhere in it."""
    return InvalidSetting(
        "store: it cannot be read as postgresql://USER:PASSWORD@HOST:PORT/DATABASE",
        hint="characters other than letters and digits in a user or a password are written as %XX: @ as %40, / as %2F",
    )


@contextmanager
def translate_errors(where: Address) -> Iterator[None]:
    """Turn what PostgreSQL says into a StorageError that says what to do."""
    psycopg = need("psycopg", "postgresql", USE)
    errors = psycopg.errors
    try:
        yield
    except (errors.UndefinedTable, errors.InvalidSchemaName) as error:
        raise no_crawl(where, "start one with --store, or see ?crawl=NAME") from error
    except (errors.DiskFull, errors.OutOfMemory) as error:
        raise StorageFull(f"no room left in {where}: {_said(error)}", hint="then continue with --resume") from error
    except (errors.InsufficientPrivilege, errors.InvalidAuthorizationSpecification) as error:
        raise StorageError(f"{where}: {_said(error)}", hint=_RIGHTS) from error
    except errors.ReadOnlySqlTransaction as error:
        raise Unreachable(
            f"{where} cannot be written now: {_said(error)}", hint="check that it is not a standby"
        ) from error
    except psycopg.Error as error:
        if _passes(error):
            raise Unreachable(
                f"{where} cannot be reached: {_said(error)}", hint="check that it runs and lets this user in"
            ) from error
        raise StorageError(f"{where}: {_said(error)}") from error


def _passes(error: Any) -> bool:
    """Whether the same may be answered otherwise later: what it says is about the connection, not about what was asked.

    psycopg's OperationalError is more than that: an index row that is too long is one.
    """
    if error.sqlstate is None:
        psycopg = need("psycopg", "postgresql", USE)
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return error.sqlstate[:2] in _PASSING or error.sqlstate in _PASSING


def _said(error: Exception) -> str:
    return " ".join(str(error).split())


def connect(where: Address, *, stopped: float = 0.0, **options: Any) -> Any:
    """A connection to the database whose tables are the crawl's, in autocommit. `stopped`: seconds that a transaction
    may stand still before the server ends it; 0: for ever."""
    psycopg = need("psycopg", "postgresql", USE)
    with translate_errors(where):
        db = psycopg.connect(where.conninfo, autocommit=True, client_encoding="utf8", **_REACH, **options)
        with closed_on_error(db), cutting_off(_REACH["connect_timeout"], db):
            cursor = db.execute(_SESSION.format(schema=where.schema, stopped=int(stopped * 1000)))
            while cursor.nextset():
                pass
            (process,) = cursor.fetchone()
            if process != db.info.backend_pid:  # one that pools connections stands between
                _see_that_sessions_stay(where, process)
    return db


def _see_that_sessions_stay(where: Address, process: int) -> None:
    """See that no other client is given the server's process that one has: a pool that gives each transaction whichever
    is free loses what is set for a session."""
    psycopg = need("psycopg", "postgresql", USE)
    with psycopg.connect(where.conninfo, client_encoding="utf8", **_REACH) as other:
        with cutting_off(_REACH["connect_timeout"], other):
            (its,) = other.execute("SELECT pg_backend_pid()").fetchone()
        other.rollback()
    if its == process:
        raise StorageError(
            f"{where}: the connection pool changes connections between transactions, and a crawl needs one that stays",
            hint="let it pool sessions (pgbouncer: pool_mode = session), or name the server itself",
        )


def cut_off(db: Any) -> None:
    """Have whoever waits for the database wait no longer: from any thread, while another uses the connection."""
    with suppress(Exception), socket.socket(fileno=os.dup(db.fileno())) as same:  # unless it is closed already
        same.shutdown(socket.SHUT_RDWR)


class _Watch:
    """Cuts connections off whose time is over, in one thread for all; it ends when there is nothing to watch."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._due: dict[object, tuple[float, Any]] = {}
        self._runs = False

    def begin(self, seconds: float, db: Any) -> object:
        key = object()
        with self._lock:
            self._due[key] = time.monotonic() + seconds, db
            if not self._runs:
                self._runs = True
                threading.Thread(target=self._run, name="comity-watch", daemon=True).start()
            self._lock.notify()
        return key

    def end(self, key: object) -> None:
        with self._lock:
            self._due.pop(key, None)

    def _run(self) -> None:
        with self._lock:
            while self._due:
                now = time.monotonic()
                for key in [key for key, (at, _) in self._due.items() if at <= now]:
                    cut_off(self._due.pop(key)[1])
                self._lock.wait(min((at - now for at, _ in self._due.values()), default=_IDLE))
                if not self._due:
                    self._lock.wait(_IDLE)
            self._runs = False


_IDLE: Final = 5.0  # seconds after which a watch over nothing ends
_WATCH: Final = _Watch()


@contextmanager
def cutting_off(seconds: float, db: Any) -> Iterator[None]:
    """Wait for the database so long and no longer. libpq itself would wait for ever for one that stays silent."""
    key = _WATCH.begin(seconds, db)
    try:
        yield
    finally:
        _WATCH.end(key)


def is_made(db: Any, where: Address) -> bool:
    """Whether there is a crawl of that name; a StorageError where it is another version's."""
    if db.execute("SELECT to_regclass(%s)", (f"{where.schema}.frontier",)).fetchone()[0] is None:
        return False
    row = db.execute("SELECT format FROM frontier").fetchone()
    if row is None or row[0] != FORMAT:
        raise of_another_version(where, None if row is None else row[0], FORMAT)
    return True


def make(db: Any, where: Address, shards: int) -> None:
    """Make the frontiers of a crawl, in the transaction that is open."""
    db.execute(_SCHEMA.format(schema=where.schema))
    for number in range(shards):
        db.execute(_PARTITION.format(n=number))
    db.execute("INSERT INTO frontier VALUES (%s, %s)", (FORMAT, os.urandom(16)))
