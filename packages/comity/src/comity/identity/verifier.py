"""For a site: who sent a request? Verifies Web Bot Auth signatures, with keys from the directories they name.

The directory's URL comes from the request, so it is fetched through the address guard, without redirects, within
bounds, and kept as its headers say. A directory that cannot be fetched says nothing about keys already known.
"""

import asyncio
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal
from urllib.parse import quote

from comity import client
from comity.domains import registrable
from comity.errors import ComityError, InvalidURL
from comity.http_caching import freshness
from comity.net import ClientSettings, Response
from comity.policy import Policy
from comity.signatures import PublicKey, Refused, Signed, signatures_of
from comity.signatures.base import joined
from comity.signatures.verifying import Kind
from comity_pages import urls

MAX_KEYS: Final = 32
MAX_DIRECTORIES: Final = 10_000
MAX_DIRECTORY_BYTES: Final = 64 * 1024
FAILED_LIFE_SECONDS: Final = 300.0  # seconds for which a directory that failed is left alone (draft, B.5)
MIN_LIFE_SECONDS: Final = 60.0
"""Seconds for which a directory is kept in any case, so that requests do not fetch it one by one."""
MAX_FETCH_SECONDS: Final = 5.0  # seconds for a directory, with all that leads to it
MAX_FETCHES_AT_ONCE: Final = 32
"""Of directories. A request that would need more is told that its keys could not be fetched."""
MAX_REQUESTS_PER_MINUTE: Final = 300  # sent for directories of which no key is known yet
MAX_REQUESTS_PER_SITE: Final = 10
"""Sent to the hosts of one registrable domain in a minute: whoever sends us requests says whom we ask."""
MINUTE_SECONDS: Final = 60.0

Outcome = Literal["verified", "invalid", "unverified"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a request's signatures prove.

    Attributes:
        outcome: `verified`: the URL lists the key, which signed this request. `invalid`: a signature does not hold.
            `unverified`: it carries none, or the keys could not be fetched.
        why: one sentence.
        agent: the URL that is the signer's identity; None unless verified.
        keyid: the key's thumbprint; None unless verified.
        expires: seconds since 1970; None unless verified.
        covered: the components of the request that are signed.
        nonce: for sites that accept each signature once.
    """

    outcome: Outcome
    why: str
    agent: str | None = None
    keyid: str | None = None
    expires: int | None = None
    covered: tuple[str, ...] = ()
    nonce: str | None = None

    @property
    def verified(self) -> bool:
        return self.outcome == "verified"


@dataclass(slots=True)
class _Kept:
    keys: Mapping[str, PublicKey]
    fresh_until: float
    failed: str = ""


_Where = tuple[Kind, str]  # kind and URL of a directory: what a URL answers is read by its kind


class _Sent:
    """The requests of the last minute, and whether another may be sent."""

    def __init__(self) -> None:
        self._sent: deque[tuple[float, str]] = deque()
        self._to_site: Counter[str] = Counter()

    def add(self, url: str, now: float, *, known: bool) -> None:
        """Send one more.

        Args:
            known: whether keys of that directory are known: then others' requests do not keep it from being asked.

        Raises:
            ValueError: it is one too many.
        """
        while self._sent and not 0 <= now - self._sent[0][0] < MINUTE_SECONDS:  # a clock may have been set back
            _, gone = self._sent.popleft()
            self._to_site[gone] -= 1
            if not self._to_site[gone]:
                del self._to_site[gone]
        site = registrable(urls.host(url))
        if self._to_site[site] >= MAX_REQUESTS_PER_SITE:
            raise ValueError(f"{site} was asked {MAX_REQUESTS_PER_SITE} times within a minute")
        if len(self._sent) >= MAX_REQUESTS_PER_MINUTE and not known:
            raise ValueError(f"{MAX_REQUESTS_PER_MINUTE} requests for keys were sent within a minute")
        self._sent.append((now, site))
        self._to_site[site] += 1


class KeyLookup:
    """Key directories, each fetched once for as long as its headers allow. Use it inside one event loop.

    Args:
        policy, settings: of the client that fetches them; by default public addresses only.
        clock: seconds since 1970; for tests.
    """

    def __init__(
        self,
        policy: Policy | None = None,
        settings: ClientSettings | None = None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._policy = policy or Policy(agent="comity-verifier/1.0")
        self._policy = self._policy.with_changes(mode="ignore", min_interval=0.0)
        self._settings = replace(  # bounds that a hostile request cannot move (draft, 6.7)
            settings or ClientSettings(),
            timeout=MAX_FETCH_SECONDS,
            max_body=MAX_DIRECTORY_BYTES,
            max_redirects=0,
            max_retries=0,
            max_wait=MAX_FETCH_SECONDS,
            identity=None,
            auth={},  # a stranger names the URL
            licences={},
            cache=None,
            cache_pages=False,
        )
        self._clock = clock
        self._kept: OrderedDict[_Where, _Kept] = OrderedDict()
        self._under_way: dict[_Where, asyncio.Task[_Kept]] = {}
        self._sent = _Sent()

    async def verify(self, method: str, url: str, headers: Mapping[str, str]) -> Verdict:
        """Say who sent a request.

        Args:
            method: as sent, such as `GET`.
            url: absolute URL that was requested: the site's own authority, path and query as they were sent.
            headers: the request's fields; several of one name joined by a comma.
        """
        try:
            signatures = signatures_of(method, url, headers)
        except (Refused, InvalidURL) as error:
            return Verdict("invalid", str(error))
        if not signatures:
            return Verdict("unverified", "the request carries no Web Bot Auth signature")
        now = self._clock()
        signatures = [_at(each, now) for each in signatures]
        asked = list(dict.fromkeys((each.kind, each.url) for each in signatures if isinstance(each, Signed)))
        known = {where: kept for where in asked if (kept := self._kept.get(where)) and now < kept.fresh_until}
        for where in known:
            self._kept.move_to_end(where)
        verdict = self._judged(signatures, known)
        unknown = next((where for where in asked if where not in known), None)
        if unknown is not None and not verdict.verified:  # one directory for one request, however many it names
            known[unknown] = await self._had(unknown)
            verdict = self._judged(signatures, known)
        return verdict

    def _judged(self, signatures: list[Signed | Refused], known: Mapping[_Where, _Kept]) -> Verdict:
        """Return the best that the signatures prove by these directories."""
        verdicts = [self._verdict(each, known) for each in signatures]
        return min(verdicts, key=lambda verdict: ("verified", "invalid", "unverified").index(verdict.outcome))

    def _verdict(self, signature: Signed | Refused, known: Mapping[_Where, _Kept]) -> Verdict:
        if isinstance(signature, Refused):
            return Verdict("invalid", str(signature))
        kept = known.get((signature.kind, signature.url))
        if kept is None:
            return Verdict("unverified", f"{signature.url} was not asked for its keys: a request has one URL asked")
        if kept.failed and not kept.keys:
            return Verdict("unverified", kept.failed)
        key = kept.keys.get(signature.keyid)
        if key is None:
            return Verdict("unverified", f"{signature.url} does not list the key {signature.keyid}")
        try:
            signature.check(key, self._clock())
        except Refused as error:
            return Verdict("invalid", str(error))
        return Verdict(
            "verified",
            f"signed by a key that {signature.identity} lists",
            signature.identity,
            signature.keyid,
            signature.expires,
            signature.covered,
            signature.nonce,
        )

    async def _had(self, where: _Where) -> _Kept:
        """Return the keys that a URL lists: looked up by the URL, never by the key alone (draft, 3.4)."""
        task = self._under_way.get(where)
        if task is None:
            try:
                if len(self._under_way) >= MAX_FETCHES_AT_ONCE:
                    raise ValueError(f"{MAX_FETCHES_AT_ONCE} directories are being fetched")
                self._send(where, where[1])
            except ValueError as error:
                return self._failed(where, error)
            task = asyncio.ensure_future(self._fetched(where))
            self._under_way[where] = task
            task.add_done_callback(lambda _: self._under_way.pop(where, None))
        return await asyncio.shield(task)

    def _send(self, where: _Where, url: str) -> None:
        """Raises ValueError: no request is sent there now."""
        before = self._kept.get(where)
        self._sent.add(url, self._clock(), known=before is not None and bool(before.keys))

    def _failed(self, where: _Where, error: Exception) -> _Kept:
        """Return what is known after a failure: an outage, ours or theirs, is no evidence about keys."""
        before, why = self._kept.get(where), f"the keys of {where[1]} could not be fetched: {error}"
        return _Kept(before.keys if before else {}, self._clock() + FAILED_LIFE_SECONDS, why)

    async def _fetched(self, where: _Where) -> _Kept:
        now, (kind, url) = self._clock(), where
        try:
            async with asyncio.timeout(MAX_FETCH_SECONDS), client.AsyncClient(self._policy, self._settings) as asking:
                response = await asking.get(url)
                lasts = freshness(response.headers, now, shortest=MIN_LIFE_SECONDS)
                if kind == "directory":
                    keys = directory_of(response)
                else:
                    given = _json_of(response)
                    if kind == "cimd" and isinstance(given := _set_named(given, url), str):
                        self._send(where, given)
                        response = await asking.get(given)
                        lasts = min(lasts, freshness(response.headers, now, shortest=MIN_LIFE_SECONDS))
                        given = _json_of(response)
                    keys = keys_in(given, named=False)
            kept = _Kept(keys, now + lasts)
        except TimeoutError:
            kept = self._failed(where, TimeoutError(f"it took longer than {MAX_FETCH_SECONDS:g} s"))
        except (ComityError, ValueError) as error:
            kept = self._failed(where, error)
        self._kept[where] = kept
        while len(self._kept) > MAX_DIRECTORIES:
            self._kept.popitem(last=False)
        return kept


def _at(signature: Signed | Refused, now: float) -> Signed | Refused:
    """Return a signature, or that it does not hold at a time: then its directory need not be asked."""
    try:
        if isinstance(signature, Signed):
            signature.check_time(now)
    except Refused as error:
        return error
    return signature


def directory_of(response: Response) -> dict[str, PublicKey]:
    """Return the keys of a directory at its well-known place. Raises ValueError: the answer is not a directory."""
    from comity.identity.published import DIRECTORY_TYPE

    given = _json_of(response)
    if response.content_type != DIRECTORY_TYPE:
        raise ValueError(f"it is served as {response.content_type or 'no type'}, not as {DIRECTORY_TYPE}")
    return keys_in(given, named=True)


def _json_of(response: Response) -> Any:
    if response.status != 200:
        raise ValueError(f"{response.url} answered {response.status}, and only 200 counts")
    return response.json()


def _set_named(card: Any, url: str) -> Any:
    """Return the JWK set of a client's metadata document, or the URL of one (draft-meunier-webbotauth-registry, 4)."""
    if not isinstance(card, dict) or card.get("client_id") != url:
        raise ValueError("its client_id is not its URL")
    if ("jwks" in card) == ("jwks_uri" in card):
        raise ValueError("it needs either jwks or jwks_uri")
    where = card.get("jwks_uri")
    if where is not None and not str(where).startswith("https://"):
        raise ValueError("its jwks_uri is not an https URL")
    return where or card["jwks"]


def keys_in(given: Any, *, named: bool) -> dict[str, PublicKey]:
    """Return the Ed25519 keys of a JWK set by their thumbprint; others are passed over.

    Args:
        named: whether a `kid` must be the key's thumbprint: elsewhere it is a label of the set's own.
    """
    keys = given.get("keys") if isinstance(given, dict) else None
    if not isinstance(keys, list) or len(keys) > MAX_KEYS:
        raise ValueError(f"it is not a JWK set of at most {MAX_KEYS} keys")
    found = {}
    for jwk in keys:
        try:
            key = PublicKey.from_jwk(jwk)
        except (ValueError, AttributeError):
            continue
        if not named or jwk.get("kid") in (None, key.thumbprint):
            found[key.thumbprint] = key
    return found


async def verify(method: str, url: str, headers: Mapping[str, str], lookup: KeyLookup | None = None) -> Verdict:
    """Say who sent a request, as `KeyLookup.verify` does; share a `KeyLookup`, which keeps directories."""
    return await (lookup or KeyLookup()).verify(method, url, headers)


Scope = dict[str, Any]
_PCHAR: Final = "/!$&'()*+,;=:@"  # what stands in a path as it is beside letters, digits and `-._~` (RFC 3986, 3.3)


class VerifyingMiddleware:
    """ASGI middleware: puts the `Verdict` on each HTTP request's scope, as `web_bot_auth`. It refuses nobody.

    Args:
        app: the ASGI application.
        origin: the site's own origin, such as `https://example.com`: what the request says of its host is not believed.
            A target that does not begin with `/` (RFC 9112, 3.2.2 to 3.2.4) is never verified.

    Raises:
        InvalidURL: the origin is none.
    """

    def __init__(self, app: Callable[..., Awaitable[None]], origin: str, lookup: KeyLookup | None = None) -> None:
        self._app, self._origin, self._lookup = app, urls.origin(origin), lookup or KeyLookup()

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = joined((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"])
            path, query = scope.get("raw_path") or quote(scope["path"], _PCHAR).encode(), scope.get("query_string", b"")
            target = (path.partition(b"?")[0] + (b"?" + query if query else b"")).decode("latin-1")
            if target.startswith("/"):
                verdict = await self._lookup.verify(scope["method"], self._origin + target, headers)
            else:
                why = f"the request's target, {target!r:.100}, does not begin with /, so it is no path of this site"
                verdict = Verdict("invalid" if "signature" in headers else "unverified", why)
            scope["web_bot_auth"] = verdict
        await self._app(scope, receive, send)
