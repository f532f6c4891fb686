"""One robots.txt out of the answers that another library gives, redirects followed.

It asks through a function of the library's wrapper, never by itself, and never judges the content.
"""

import asyncio
import time
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from comity import urls
from comity.errors import FetchError
from comity.gate import FetchRobots
from comity.gate.robots_request import RobotsRequest
from comity.net.decoding import ACCEPTED, decoder_for
from comity.policy import Policy, RobotsResult

LONGEST = 1024 * 1024  # bytes of robots.txt that are read (RFC 9309, 2.5: at least 500 KiB)
TIMEOUT = 30.0  # seconds for a robots.txt, and for each of its redirects


REUSABLE = ("basic ", "bearer ")  # schemes whose credentials are not those of one URL (RFC 7617, RFC 6750)
MAX_RATIO = 1000.0  # decoded bytes for one received; LONGEST is the limit that counts


def asked_with(policy: Policy, url: str, cause: str, authorization: str | None) -> dict[str, str]:
    """The headers of a request for a robots.txt: only codings that are undone here, within bounds.

    Args:
        cause, authorization: URL and Authorization of the request that needs it. What opens the page opens the
            robots.txt of its origin too; no other origin is told, and no other header goes with it.
    """
    headers = {"User-Agent": policy.agent, "Accept": "*/*", "Accept-Encoding": ACCEPTED}
    if authorization and authorization.lower().startswith(REUSABLE) and urls.origin(url) == urls.origin(cause):
        headers["Authorization"] = authorization
    return headers


@dataclass(frozen=True, slots=True)
class Answer:
    """A library's answer to one request for a robots.txt. `headers`: names in any case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def robots_result(
    policy: Policy,
    step: FetchRobots,
    get: Callable[[str, float], Answer],
    failures: tuple[type[Exception], ...],
    hop: Callable[[FetchRobots, str], None] | None = None,
) -> RobotsResult:
    """Fetch a robots.txt; each of its redirects has a time-out of its own.

    Args:
        get: asks for one URL and follows no redirect; reads until a time of the monotonic clock.
        failures: all its errors, but `FetchError` and `TimeoutError`.
        hop: waits until what a redirect leads to may be asked.
    """
    request = RobotsRequest(policy, _unconditional(step))
    expected: tuple[type[Exception], ...] = (*failures, FetchError, TimeoutError)
    result = None
    while result is None:
        try:
            answer = get(request.url, time.monotonic() + TIMEOUT)
        except expected as error:
            return request.failed(error, at=time.time())
        result = request.answered(answer.status, answer.headers, answer.body[:LONGEST], at=time.time())
        if result is None and hop is not None:
            hop(step, request.url)
    return result


async def async_robots_result(
    policy: Policy,
    step: FetchRobots,
    get: Callable[[str], Awaitable[Answer]],
    failures: tuple[type[Exception], ...],
    hop: Callable[[FetchRobots, str], Awaitable[None]] | None = None,
) -> RobotsResult:
    """As `robots_result`; the deadlines are kept here."""
    request = RobotsRequest(policy, _unconditional(step))
    expected: tuple[type[Exception], ...] = (*failures, FetchError, TimeoutError)
    result = None
    while result is None:
        try:
            async with asyncio.timeout(TIMEOUT):
                answer = await get(request.url)
        except expected as error:
            return request.failed(error, at=time.time())
        result = request.answered(answer.status, answer.headers, answer.body[:LONGEST], at=time.time())
        if result is None and hop is not None:
            await hop(step, request.url)
    return result


def _unconditional(step: FetchRobots) -> FetchRobots:
    """The step without the copy at hand: `get` sends no conditions."""
    return replace(step, cached=None)


class Body:
    """The start of a robots.txt as it comes in; RFC 9309, 2.5, lets the rest be ignored.

    Args:
        headers: of the answer, names in any case.

    Raises:
        FetchError: it is in a content coding that was not asked for, or damaged.
    """

    def __init__(self, url: str, status: int, headers: Mapping[str, str]) -> None:
        codings = [value for name, value in headers.items() if name.lower() == "content-encoding"]
        read = 200 <= status < 300  # no other body is looked at
        self._decoder = decoder_for(codings, url, MAX_RATIO) if read else None
        self._content = bytearray()
        self._received = 0

    @property
    def full(self) -> bool:
        """Whether no more is wanted."""
        return max(self._received, len(self._content)) >= LONGEST

    def take(self, part: bytes) -> None:
        """A part of it, as it was sent."""
        self._received += len(part)
        room = LONGEST - len(self._content)
        self._content += part[:room] if self._decoder is None else self._decoder.feed(part, room)[:room]

    def end(self) -> bytes:
        """All that is wanted has come."""
        if self._decoder is not None and not self.full:
            self._decoder.close()
        return bytes(self._content)


def body_of(body: Body, parts: Iterable[bytes], deadline: float) -> bytes:
    """What parts that come in, undecoded, amount to.

    Raises:
        TimeoutError: it comes so slowly that it is given up.
        FetchError: as `Body`.
    """
    for part in parts:
        body.take(part)
        if body.full:
            break
        if time.monotonic() > deadline:
            raise _too_slow()
    return body.end()


async def async_body_of(body: Body, parts: AsyncIterable[bytes]) -> bytes:
    """As `body_of`; the deadline is kept further up."""
    async for part in parts:
        body.take(part)
        if body.full:
            break
    return body.end()


def _too_slow() -> TimeoutError:
    return TimeoutError(f"no complete answer within {TIMEOUT:g} s")
