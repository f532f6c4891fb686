"""Fetches a site's llms.txt, as politely as any page, and caches it as long as HTTP caching allows.

robots.txt and the address guard apply; whatever goes wrong means that there is none, with the reason in the evidence.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakKeyDictionary

from comity.digests import sha256_of
from comity.errors import ComityError
from comity.http_caching import combined, freshness
from comity.http_rules import GONE, is_temporary
from comity.net import Response
from comity.retrieve.evidence import Manifest
from comity.retrieve.plugins import Fetcher, HttpClient, fetch
from comity_pages.signals import llms
from comity_pages.signals.llms import LlmsTxt

FAILURE_LIFE: Final = 300.0  # seconds an llms.txt that could not be fetched is not asked for again
MAX_ORIGINS: Final = 500  # origins of one client whose llms.txt is kept


@dataclass(slots=True)
class _Kept:
    """The llms.txt files that one client has read, by origin, each with its expiry and evidence."""

    files: dict[str, tuple[float, LlmsTxt | None, Manifest]] = field(default_factory=dict)
    locks: dict[str, asyncio.Lock] = field(default_factory=dict)


_KEPT: WeakKeyDictionary[HttpClient, _Kept] = WeakKeyDictionary()


async def llms_txt(
    client: HttpClient,
    origin: str,
    fetcher: Fetcher | None = None,
    read: Callable[..., Awaitable[Any]] = asyncio.to_thread,
) -> tuple[LlmsTxt | None, Manifest]:
    """The llms.txt of an origin, None if there is none, and the evidence.

    It is kept for the life of the client within HTTP freshness, at most a day; what a fetcher brings is not kept.
    """
    if fetcher is not None:
        found, manifest, _ = await _read(client, origin, fetcher, read)
        return found, manifest
    kept = _KEPT.setdefault(client, _Kept())
    async with kept.locks.setdefault(origin, asyncio.Lock()):  # one request, however many wait for it
        known = kept.files.get(origin)
        if known is None or known[0] <= time.monotonic():
            found, manifest, life = await _read(client, origin, None, read)
            while len(kept.files) >= MAX_ORIGINS:
                kept.files.pop(next(iter(kept.files)), None)
            known = kept.files[origin] = (time.monotonic() + life, found, manifest)
    kept.locks.pop(origin, None)
    return known[1], known[2]


async def _read(
    client: HttpClient, origin: str, fetcher: Fetcher | None, read: Callable[..., Awaitable[Any]]
) -> tuple[LlmsTxt | None, Manifest, float]:
    url = f"{origin}/llms.txt"
    try:
        answer = await fetch(client, fetcher, url, {"Accept": "text/markdown, text/plain;q=0.9, */*;q=0.1"})
    except ComityError as error:
        manifest = Manifest("llms.txt", origin, url, None, None, None, problem=str(error))
        return None, manifest, FAILURE_LIFE
    if not 200 <= answer.status < 300:
        problem = "there is none" if answer.status in GONE else f"HTTP status {answer.status}"
        life = FAILURE_LIFE if is_temporary(answer.status) else _life(answer)
        return None, _manifest(origin, answer, None, problem), life
    found: LlmsTxt = await read(llms.parse, answer.body, answer.url)
    return found, _manifest(origin, answer, sha256_of(answer.body), found.problem), _life(answer)


def _manifest(origin: str, answer: Response, digest: str | None, problem: str | None) -> Manifest:
    return Manifest("llms.txt", origin, answer.url, answer.status, digest, answer.fetched_at, answer.redirects, problem)


def _life(answer: Response) -> float:
    return freshness(combined(answer.headers), answer.fetched_at)
