"""A file that many processes share: robots.txt files and pages that were fetched, so that they need not be again.

It is a convenience: a file that is damaged is set aside and begun anew, one that cannot be written is done without;
either is said once, as a warning, and nothing of a crawl or a call ever fails because of it. A file that bears no mark
of ours is left as it is.
"""

import json
import os
import sqlite3
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

from multidict import CIMultiDict, CIMultiDictProxy

from comity import http_caching
from comity.digests import sha256_of
from comity.errors import sqlite_code
from comity.http_caching import combined
from comity.net.client_settings import APPLICATION_ID, ClientSettings, not_ours
from comity.net.response import Response
from comity.policy import Policy, RobotsResult
from comity_robots.as_json import jsonable

VERSION: Final = 2
MAX_BUSY_SECONDS: Final = 0.25  # seconds that another process may hold the file
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS robots (access TEXT NOT NULL, origin TEXT NOT NULL, record TEXT NOT NULL,
                                   body BLOB NOT NULL, PRIMARY KEY (access, origin)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS page (access TEXT NOT NULL, url TEXT NOT NULL, status INTEGER NOT NULL,
                                 headers TEXT NOT NULL, fetched_at REAL NOT NULL, fresh_until REAL NOT NULL,
                                 body BLOB NOT NULL, PRIMARY KEY (access, url));
"""
_UNBOUND: Final = (
    "BEGIN IMMEDIATE; DROP TABLE IF EXISTS robots; DROP TABLE IF EXISTS page; PRAGMA user_version = 0; COMMIT"
)
"""What version 1 kept does not say how it was fetched."""
_ACCESS: Final = "verify_tls proxy headers resolve nameservers identity sign max_ratio".split()
_ACCESS_OF_PAGES: Final = "content_types max_body".split()
_KEPT: Final = (
    *("origin", "url", "kind", "status", "error", "fetched_at", "expires_at", "redirects", "headers"),
    *("unreachable_since", "left_out", "blocked"),
)
DAMAGE: Final = (ValueError, KeyError, TypeError, AttributeError, OverflowError)
T = TypeVar("T")


def fresh_until(page: Response) -> float:
    """Return Unix time until which a page may be used without asking (RFC 9111, 4.2); `fetched_at` where never."""
    return page.fetched_at + http_caching.stated_freshness(combined(page.headers), page.fetched_at)


def is_fresh(page: Response, wall: float) -> bool:
    """Return whether a page may be used without asking at a Unix time; one kept later than that, by a wrong clock, may
    not."""
    return page.fetched_at <= wall < fresh_until(page)


def conditions(page: Response) -> dict[str, str]:
    """Request headers that ask whether a page is still current (RFC 9110, 13.1)."""
    return http_caching.validators(combined(page.headers))


def _may_be_kept(page: Response) -> bool:
    """Return whether a page may be kept, and keeping it spares anything."""
    headers = combined(page.headers)
    spares = http_caching.validators(headers) or http_caching.stated_freshness(headers, page.fetched_at) > 0
    return page.status == 200 and http_caching.may_be_shared(headers) and bool(spares)


def _renewed(headers: Mapping[str, str], by: Mapping[str, str]) -> Mapping[str, str]:
    """Return a page's headers after a 304, with what its headers say now (RFC 9111, 4.3.4)."""
    new = {name.lower() for name in by if name.lower() != "content-length"}
    kept = [(name, value) for name, value in headers.items() if name.lower() not in new]
    return CIMultiDictProxy(CIMultiDict([*kept, *((name, value) for name, value in by.items() if name.lower() in new)]))


def access_of(policy: Policy, settings: ClientSettings) -> tuple[str, str]:
    """Return what a robots.txt, and what a page, depends on beside its URL, each in one word: whom we reach, as whom,
    and what we take. Another client is given it only where that is the same, so that a strict one gets nothing that a
    lax one let in."""
    set_to = [getattr(settings, name) for name in _ACCESS]
    trusted = "" if settings.ca_file is None else sha256_of(Path(settings.ca_file).read_bytes())
    parts = [*set_to, trusted, sorted(policy.allow_addresses), sorted(policy.allow_hosts)]
    of_pages = [*parts, *(getattr(settings, name) for name in _ACCESS_OF_PAGES)]
    one, other = (sha256_of(json.dumps(jsonable(each), sort_keys=True).encode()) for each in (parts, of_pages))
    return one, other


class HttpCache:
    """The file, which its owner alone may read or write. Any number of processes may have it open.

    Args:
        path: made if need be, with the folder it lies in.
        access: see `access_of`.
    """

    def __init__(self, path: Path, access: tuple[str, str] = ("", "")) -> None:
        self._path = path
        self._access, self._page_access = access
        self._db: sqlite3.Connection | None = None
        self._warned = False
        self._inode = 0
        self._open()

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def robots(self, origin: str, policy: Policy) -> RobotsResult | None:
        """Return the robots.txt last kept for an origin, fresh or not, judged by this policy."""
        asked = "SELECT record, body FROM robots WHERE access = ? AND origin = ?"
        row = self._try(lambda db: db.execute(asked, (self._access, origin)).fetchone())
        if row is None:
            return None
        try:
            result = _result(json.loads(row[0]), bytes(row[1]), policy)
        except DAMAGE:
            return None  # written by a version that knew other fields, or by another program
        return result if result.origin == origin else None

    def keep_robots(self, result: RobotsResult) -> None:
        record = json.dumps({name: jsonable(getattr(result, name)) for name in _KEPT})
        values = (self._access, result.origin, record, result.body)
        self._try(lambda db: db.execute("INSERT OR REPLACE INTO robots VALUES (?, ?, ?, ?)", values))

    def page(self, url: str) -> Response | None:
        """Return the page last kept for a URL, as it was served; `fetched_at` is when the server last sent or confirmed
        it."""
        asked = "SELECT status, headers, body, fetched_at FROM page WHERE access = ? AND url = ?"
        row = self._try(lambda db: db.execute(asked, (self._page_access, url)).fetchone())
        if row is None:
            return None
        try:
            headers = CIMultiDictProxy(CIMultiDict([(str(name), str(value)) for name, value in json.loads(row[1])]))
            head: dict[str, Any] = {"url": str(url), "status": int(row[0]), "headers": headers}
            return Response(**head, fetched_at=float(row[3]), body=bytes(row[2]), elapsed=0.0, from_cache=True)
        except DAMAGE:
            return None

    def keep(self, response: Response, cached: Response | None) -> Response:
        """Keep the response for the next time, and return it, or the page kept from earlier where the server confirmed
        it."""
        if response.status == 304 and cached is not None:
            page = replace(
                cached,
                headers=_renewed(cached.headers, response.headers),
                fetched_at=response.fetched_at,
                history=response.history,
                go=response.go,
                address=response.address,
                elapsed=response.elapsed,
            )
            # What the headers of a 304 forbid to keep is forgotten.
            self._write(page.url, page if http_caching.may_be_shared(combined(page.headers)) else None)
            return page
        if _may_be_kept(response):
            self._write(response.url, response)
        elif cached is not None and response.status == 200:  # what is kept is not what is served now
            self._write(response.url, None)
        return response

    def _write(self, url: str, page: Response | None) -> None:
        """Keep a page, or with None forget the one kept for a URL."""
        if page is None:
            self._try(lambda db: db.execute("DELETE FROM page WHERE access = ? AND url = ?", (self._page_access, url)))
            return
        head = (self._page_access, url, page.status, json.dumps(page.all_headers), page.fetched_at, fresh_until(page))
        self._try(lambda db: db.execute("INSERT OR REPLACE INTO page VALUES (?, ?, ?, ?, ?, ?, ?)", (*head, page.body)))

    def clear(self) -> None:
        """Forget every robots.txt; pages stay."""
        self._try(lambda db: db.execute("DELETE FROM robots"))

    def _open(self) -> None:
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._db = self._connected()
        except sqlite3.OperationalError as error:
            self._warn(f"{self._path} cannot be used as a cache ({error}): continuing without")
        except sqlite3.DatabaseError as error:
            self._set_aside(error)
        except OSError as error:
            self._warn(f"{self._path} cannot be used as a cache ({error.strerror}): continuing without")

    def _inode_now(self) -> int:
        try:
            return self._path.stat().st_ino
        except OSError:
            return 0

    def _connected(self) -> sqlite3.Connection:
        if (why := not_ours(str(self._path))) is not None:
            raise sqlite3.OperationalError(f"it {why}")
        _keep_to_owner(self._path)
        self._inode = self._inode_now()
        db = sqlite3.connect(self._path, timeout=MAX_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            (version,) = db.execute("PRAGMA user_version").fetchone()
            if version == 1:
                db.executescript(_UNBOUND)
            elif version not in (0, VERSION):
                raise sqlite3.DatabaseError(f"it has version {version}, not {VERSION}")
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")  # first: in the file itself, not in its log
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            db.executescript(_TABLES)
            db.execute(f"PRAGMA user_version = {VERSION}")
            db.execute("SELECT origin FROM robots LIMIT 1").fetchone()
        except BaseException:
            db.close()
            raise
        self._inode = self._inode_now()
        return db

    def _set_aside(self, error: sqlite3.DatabaseError) -> None:
        """Begin a new file; the damaged one keeps its content under another name."""
        self.close()
        if self._inode_now() not in (0, self._inode):  # another process has begun a new one already
            with suppress(sqlite3.Error):
                self._db = self._connected()
            return
        number = 1
        while (aside := self._path.with_name(f"{self._path.name}.damaged-{number}")).exists():
            number += 1
        try:
            self._path.rename(aside)
            for extra in ("-wal", "-shm"):
                self._path.with_name(self._path.name + extra).unlink(missing_ok=True)
            self._db = self._connected()
        except (OSError, sqlite3.Error) as second:
            self._db = None
            self._warn(f"{self._path} is damaged ({error}) and cannot be replaced ({second}): continuing without")
            return
        self._warn(f"{self._path} was damaged ({error}): it is kept as {aside.name}, and a new cache begun")

    def _try(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        if self._db is None:
            return None
        try:
            return work(self._db)
        except sqlite3.OperationalError as error:  # full, locked, read-only
            if sqlite_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                return None
            self._warn(f"{self._path} cannot be used for now ({error}): continuing without")
        except sqlite3.DatabaseError as error:
            self._set_aside(error)
        return None

    def _warn(self, message: str) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(f"comity: {message}", RuntimeWarning, stacklevel=4)


def _keep_to_owner(path: Path) -> None:
    """Make a file that no other user can read or write; one that is there is closed to them. SQLite gives the files
    beside it the same rights. Raises OSError."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        return
    with suppress(PermissionError):  # another user's
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)


def _result(record: dict[str, Any], body: bytes, policy: Policy) -> RobotsResult:
    origin, url, status, error = record["origin"], record["url"], record["status"], record["error"]
    known: Any = {"policy": policy, "fetched_at": float(record["fetched_at"]), "redirects": tuple(record["redirects"])}
    if status is None:
        blocked = record.get("blocked") is True
        result = RobotsResult.unreachable(origin, url, error or "", blocked=blocked, **known)
    else:
        known["headers"] = {str(name): str(value) for name, value in record["headers"].items()}
        cut = record.get("left_out") is True
        result = RobotsResult.from_response(origin, url, _status(status), body, error=error, truncated=cut, **known)
    if record["unreachable_since"] is None:
        return result
    recorded = record["expires_at"]  # None: for the life of a client, which another one need not keep to
    return replace(
        result,
        error=error,
        unreachable_since=float(record["unreachable_since"]),
        expires_at=result.expires_at if recorded is None else float(recorded),
    )


def _status(value: Any) -> int:
    if not isinstance(value, int) or not 100 <= value <= 599:
        raise ValueError(f"{value!r:.20} is not an HTTP status")
    return value
