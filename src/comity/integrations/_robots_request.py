"""One robots.txt out of the answers that another library gave, redirects followed.

It asks through a function of the library's wrapper, never by itself, and never judges the content.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass

from comity import urls
from comity.gate import FetchRobots
from comity.net.async_client import REDIRECTS
from comity.policy import Policy, RobotsResult

LONGEST = 1024 * 1024  # bytes of robots.txt that are read (RFC 9309, 2.5: at least 500 KiB)
TIMEOUT = 30.0  # seconds for a robots.txt with all its redirects


@dataclass(frozen=True, slots=True)
class Answer:
    """A library's answer to one request for a robots.txt. `headers`: names in any case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class RobotsRequest:
    """One robots.txt with its redirects (RFC 9309, 2.3.1.2). Ask `url` and hand in the answer, until a result comes."""

    def __init__(self, policy: Policy, step: FetchRobots) -> None:
        self.url = step.url
        self._policy = policy
        self._origin = step.origin
        self._passed: list[str] = []

    def answered(self, answer: Answer) -> RobotsResult | None:
        """What came of it; None: `url` is the next hop."""
        headers = {name.lower(): value for name, value in answer.headers.items()}
        problem = None
        if answer.status in REDIRECTS:
            location = headers.get("location", "")
            target = urls.join(self.url, location)
            if target is None:
                problem = f"redirects to {location!r}, which is no web address"
            elif target in self._passed or target == self.url:
                problem = "redirects in a loop"
            elif len(self._passed) >= self._policy.robots_redirects:
                problem = f"redirects more than {self._policy.robots_redirects} times"
            else:
                self._passed.append(self.url)
                self.url = target
                return None
        return RobotsResult.from_response(
            self._origin,
            self.url,
            answer.status,
            answer.body[:LONGEST],
            fetched_at=time.time(),
            dialect=self._policy.dialect,
            headers=headers,
            redirects=tuple(self._passed),
            error=problem,
        )

    def failed(self, error: Exception) -> RobotsResult:
        """There was no answer."""
        text = str(error) or type(error).__name__
        return RobotsResult.unreachable(
            self._origin, self.url, text, fetched_at=time.time(), redirects=tuple(self._passed)
        )


def robots_result(
    policy: Policy, step: FetchRobots, get: Callable[[str], Answer], failures: tuple[type[Exception], ...]
) -> RobotsResult:
    """Fetch a robots.txt. `get` asks for one URL and follows no redirect; `failures` are all its errors."""
    request = RobotsRequest(policy, step)
    result = None
    while result is None:
        try:
            answer = get(request.url)
        except failures as error:
            return request.failed(error)
        result = request.answered(answer)
    return result


async def async_robots_result(
    policy: Policy,
    step: FetchRobots,
    get: Callable[[str], Awaitable[Answer]],
    failures: tuple[type[Exception], ...],
) -> RobotsResult:
    """As `robots_result`, and no longer than `TIMEOUT`."""
    request = RobotsRequest(policy, step)
    result = None
    try:
        async with asyncio.timeout(TIMEOUT):
            while result is None:
                result = request.answered(await get(request.url))
    except failures as error:
        return request.failed(error)
    return result


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
