"""One robots.txt out of the answers that another library gives, redirects followed.

It asks through a function of the library's wrapper, never by itself, and never judges the content.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from comity.gate import FetchRobots
from comity.gate.robots_request import RobotsRequest
from comity.policy import Policy, RobotsResult

LONGEST = 1024 * 1024  # bytes of robots.txt that are read (RFC 9309, 2.5: at least 500 KiB)
TIMEOUT = 30.0  # seconds for a robots.txt with all its redirects


@dataclass(frozen=True, slots=True)
class Answer:
    """A library's answer to one request for a robots.txt. `headers`: names in any case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def robots_result(
    policy: Policy, step: FetchRobots, get: Callable[[str], Answer], failures: tuple[type[Exception], ...]
) -> RobotsResult:
    """Fetch a robots.txt. `get` asks for one URL and follows no redirect; `failures` are all its errors."""
    request = RobotsRequest(policy, _unconditional(step))
    result = None
    while result is None:
        try:
            answer = get(request.url)
        except failures as error:
            return request.failed(error, at=time.time())
        result = request.answered(answer.status, answer.headers, answer.body[:LONGEST], at=time.time())
    return result


async def async_robots_result(
    policy: Policy,
    step: FetchRobots,
    get: Callable[[str], Awaitable[Answer]],
    failures: tuple[type[Exception], ...],
) -> RobotsResult:
    """As `robots_result`, and no longer than `TIMEOUT`."""
    request = RobotsRequest(policy, _unconditional(step))
    result = None
    try:
        async with asyncio.timeout(TIMEOUT):
            while result is None:
                answer = await get(request.url)
                result = request.answered(answer.status, answer.headers, answer.body[:LONGEST], at=time.time())
    except failures as error:
        return request.failed(error, at=time.time())
    return result


def _unconditional(step: FetchRobots) -> FetchRobots:
    """The step without the copy at hand: `get` sends no conditions."""
    return replace(step, cached=None)


def body_of(parts: Iterable[bytes]) -> bytes:
    """The start of a robots.txt, as far as it is read.

    Raises:
        TimeoutError: it comes so slowly that it is given up.
    """
    deadline = time.monotonic() + TIMEOUT
    body = bytearray()
    for part in parts:
        body += part
        if len(body) >= LONGEST:
            break
        if time.monotonic() > deadline:
            raise TimeoutError(f"no complete answer within {TIMEOUT:g} s")
    return bytes(body[:LONGEST])
