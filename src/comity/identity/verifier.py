"""For a site: who sent a request? Verifies Web Bot Auth signatures, with keys from the directories they name.

The directory's URL comes from the request, so it is fetched through the address guard, without redirects, within
bounds, and kept as its headers say. A directory that cannot be fetched says nothing about keys already known.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal
from urllib.parse import quote

from comity import client, urls
from comity.errors import ComityError, InvalidURL
from comity.http_caching import freshness
from comity.net import ClientSettings, Response
from comity.policy import Policy
from comity.signatures import PublicKey, Refused, Signed, signatures_of
from comity.signatures.base import joined

MOST_KEYS: Final = 32
MOST_DIRECTORIES: Final = 10_000
LARGEST: Final = 64 * 1024
FAILED: Final = 300.0
"""Seconds for which a directory that failed is left alone (draft, B.5)."""
SHORTEST_KEPT: Final = 60.0
"""Seconds for which a directory is kept in any case, so that requests do not fetch it one by one."""
FETCHING: Final = 5.0
"""Seconds for a directory."""

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


class _NotHad(Exception):
    """The keys of a directory could not be fetched; `str` says why."""


@dataclass(slots=True)
class _Kept:
    keys: Mapping[str, PublicKey]
    fresh_until: float
    failed: str = ""


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
            timeout=FETCHING,
            max_body=LARGEST,
            max_redirects=0,
            max_retries=0,
            max_wait=FETCHING,
            identity=None,
        )
        self._clock = clock
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._under_way: dict[str, asyncio.Task[_Kept]] = {}

    async def verify(self, method: str, url: str, headers: Mapping[str, str]) -> Verdict:
        """Who sent this request?

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
        verdicts = [await self._judged(each) for each in signatures]
        return min(verdicts, key=lambda verdict: ("verified", "invalid", "unverified").index(verdict.outcome))

    async def _judged(self, signature: Signed | Refused) -> Verdict:
        if isinstance(signature, Refused):
            return Verdict("invalid", str(signature))
        try:
            keys = await self._keys(signature)
        except _NotHad as error:
            return Verdict("unverified", str(error))
        key = keys.get(signature.keyid)
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

    async def _keys(self, signature: Signed) -> Mapping[str, PublicKey]:
        """The keys that a URL lists: looked up by the URL, never by the key alone (draft, 3.4)."""
        kept = self._kept.get(signature.url)
        if kept is None or self._clock() >= kept.fresh_until:
            task = self._under_way.get(signature.url)
            if task is None:
                task = asyncio.ensure_future(self._fetched(signature.url, signature.kind))
                self._under_way[signature.url] = task
                task.add_done_callback(lambda _: self._under_way.pop(signature.url, None))
            kept = await asyncio.shield(task)
        self._kept.move_to_end(signature.url)
        if kept.failed and not kept.keys:
            raise _NotHad(kept.failed)
        return kept.keys

    async def _fetched(self, url: str, kind: str) -> _Kept:
        now = self._clock()
        try:
            async with client.AsyncClient(self._policy, self._settings) as asking:
                response = await asking.get(url)
                lasts = freshness(response.headers, now, shortest=SHORTEST_KEPT)
                if kind == "directory":
                    keys = directory_of(response)
                else:
                    given = _json_of(response)
                    if kind == "cimd" and isinstance(given := _set_named(given, url), str):
                        response = await asking.get(given)
                        lasts = min(lasts, freshness(response.headers, now, shortest=SHORTEST_KEPT))
                        given = _json_of(response)
                    keys = keys_in(given, named=False)
            kept = _Kept(keys, now + lasts)
        except (ComityError, ValueError) as error:
            before = self._kept.get(url)  # an outage is no evidence about keys
            kept = _Kept(
                before.keys if before else {}, now + FAILED, f"the keys of {url} could not be fetched: {error}"
            )
        self._kept[url] = kept
        while len(self._kept) > MOST_DIRECTORIES:
            self._kept.popitem(last=False)
        return kept


def directory_of(response: Response) -> dict[str, PublicKey]:
    """The keys of a directory at its well-known place.

    Raises:
        ValueError: the answer is not a directory.
    """
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
    """The JWK set of a client's metadata document, or the URL of one (draft-meunier-webbotauth-registry, 4)."""
    if not isinstance(card, dict) or card.get("client_id") != url:
        raise ValueError("its client_id is not its URL")
    if ("jwks" in card) == ("jwks_uri" in card):
        raise ValueError("it needs either jwks or jwks_uri")
    where = card.get("jwks_uri")
    if where is not None and not str(where).startswith("https://"):
        raise ValueError("its jwks_uri is not an https URL")
    return where or card["jwks"]


def keys_in(given: Any, *, named: bool) -> dict[str, PublicKey]:
    """The Ed25519 keys of a JWK set by their thumbprint; others are passed over.

    Args:
        named: whether a `kid` must be the key's thumbprint: elsewhere it is a label of the set's own.
    """
    keys = given.get("keys") if isinstance(given, dict) else None
    if not isinstance(keys, list) or len(keys) > MOST_KEYS:
        raise ValueError(f"it is not a JWK set of at most {MOST_KEYS} keys")
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
    """Who sent this request? See `KeyLookup.verify`; share a `KeyLookup`: it keeps directories."""
    return await (lookup or KeyLookup()).verify(method, url, headers)


Scope = dict[str, Any]
_PCHAR: Final = "/!$&'()*+,;=:@"
"""What stands in a path as it is beside letters, digits and `-._~` (RFC 3986, 3.3)."""


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
