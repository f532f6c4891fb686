"""Fetching a robots.txt over its redirects, through a function that asks for one URL: the client's, or that of a
wrapped library. It has a time-out and limits of its own and never judges the content.
"""

import time
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from comity import urls
from comity.errors import AddressBlocked, FetchError
from comity.gate import FetchRobots
from comity.gate.robots_cache import RobotsRequest
from comity.net import blocking_driver, driver
from comity.net.deadlines import timed_out, within
from comity.net.decoding import ACCEPTED, decoder_for
from comity.net.transport import MOST_GONE, ConnectionGone
from comity.policy import Policy, RobotsResult

LONGEST: Final = 1024 * 1024  # bytes of robots.txt that are read (RFC 9309, 2.5: at least 500 KiB)
TIMEOUT = 30.0  # seconds for a robots.txt, and for each of its redirects, where no settings say otherwise
REUSABLE: Final = ("basic ", "bearer ")  # schemes whose credentials are not those of one URL (RFC 7617, RFC 6750)
MAX_RATIO: Final = 1000.0  # decoded bytes for one received; LONGEST is the limit that counts


class RobotsAnswer(NamedTuple):
    """The answer to one request for a robots.txt.

    Attributes:
        headers: names in any case.
        cut: whether the body went on where reading it was left off.
        address: the IP address of the server, where it is known.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    cut: bool = False
    address: str | None = None


async def fetch_robots(
    policy: Policy,
    step: FetchRobots,
    hop: driver.Hop,
    get: Callable[[FetchRobots, dict[str, str]], Awaitable[RobotsAnswer]],
    failures: tuple[type[Exception], ...] = (),
    *,
    timeout: float | None = None,
    clock: driver.Clock | None = None,
) -> RobotsResult:
    """What a site answers when it is asked for its robots.txt; no answer is an answer too.

    Args:
        hop: waits until what a redirect leads to may be asked.
        get: asks for a step's URL with conditions as headers, and follows no redirect.
        failures: errors of its that mean that no answer came, beside FetchError and TimeoutError.
        timeout: seconds for each request; None: TIMEOUT.

    Raises:
        Postponed: the turn of a redirect's host would come too late.
    """
    clock, timeout = clock or driver.Clock(), timeout or TIMEOUT
    no_answer: tuple[type[Exception], ...] = (*failures, FetchError, AddressBlocked, TimeoutError)
    exchange, asked = _Exchange(policy, step, timeout), step
    while True:
        outcome: RobotsAnswer | Exception
        try:
            with within(timeout):
                outcome = await get(asked, exchange.request.headers)
        except no_answer as error:
            outcome = error
        if (result := exchange.result(outcome, clock.wall())) is not None:
            return result
        asked = await hop(exchange.request.url)


def fetch_robots_blocking(
    policy: Policy,
    step: FetchRobots,
    hop: blocking_driver.Hop,
    get: Callable[[FetchRobots, dict[str, str], float], RobotsAnswer],
    failures: tuple[type[Exception], ...] = (),
) -> RobotsResult:
    """As `fetch_robots`; `get` is told until when, on the monotonic clock, it may read."""
    no_answer: tuple[type[Exception], ...] = (*failures, FetchError, TimeoutError)
    exchange, asked = _Exchange(policy, step, TIMEOUT), step
    while True:
        outcome: RobotsAnswer | Exception
        try:
            outcome = get(asked, exchange.request.headers, time.monotonic() + TIMEOUT)
        except no_answer as error:
            outcome = error
        if (result := exchange.result(outcome, time.time())) is not None:
            return result
        asked = hop(exchange.request.url)


class _Exchange:
    """What the requests for a robots.txt come to, over its redirects, whoever sends them.

    Attributes:
        request: says what to ask for next.
    """

    def __init__(self, policy: Policy, step: FetchRobots, timeout: float) -> None:
        self.request = RobotsRequest(policy, step)
        self._timeout = timeout
        self._gone = 0

    def result(self, outcome: RobotsAnswer | Exception, at: float) -> RobotsResult | None:
        """What came of it by an answer, or the error that came instead; None: `request` is to be sent in its turn.

        Args:
            at: Unix time in seconds.
        """
        if isinstance(outcome, RobotsAnswer):
            status, address = outcome.status, outcome.address
            result = self.request.answered(status, outcome.headers, outcome.body, at=at, cut=outcome.cut)
            return result if result is None or address is None else replace(result, address=address)
        if isinstance(outcome, ConnectionGone) and self._gone < MOST_GONE:
            self._gone += 1
            return None
        if isinstance(outcome, TimeoutError):
            outcome = timed_out(self.request.url, self._timeout)
        return self.request.failed(outcome, at=at)


def asked_with(
    policy: Policy, url: str, conditions: Mapping[str, str], cause: str, authorization: str | None
) -> dict[str, str]:
    """The headers of a wrapped library's request for a robots.txt: only codings that are undone here, within bounds.

    Args:
        cause, authorization: URL and Authorization of the request that needs it. What opens the page opens the
            robots.txt of its origin too; no other origin is told, and no other header goes with it.
    """
    headers = {"User-Agent": policy.agent, "Accept": "*/*", "Accept-Encoding": ACCEPTED, **conditions}
    if authorization and authorization.lower().startswith(REUSABLE) and urls.origin(url) == urls.origin(cause):
        headers["Authorization"] = authorization
    return headers


class RobotsBody:
    """The start of a robots.txt as it comes in through a wrapped library; RFC 9309, 2.5, lets the rest be ignored.

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
        self._content += part[:room] if self._decoder is None else b"".join(self._decoder.feed(part, room))[:room]

    def end(self) -> bytes:
        """All that is wanted has come."""
        if self._decoder is not None and not self.full:
            self._decoder.close()
        return bytes(self._content)

    def read(self, parts: Iterable[bytes], deadline: float) -> bytes:
        """All that is wanted of parts that come in, undecoded.

        Raises:
            TimeoutError: they come so slowly that they are given up.
        """
        for part in parts:
            self.take(part)
            if self.full:
                break
            if time.monotonic() > deadline:
                raise TimeoutError
        return self.end()

    async def read_async(self, parts: AsyncIterable[bytes]) -> bytes:
        """The same; the deadline is kept further up."""
        async for part in parts:
            self.take(part)
            if self.full:
                break
        return self.end()
