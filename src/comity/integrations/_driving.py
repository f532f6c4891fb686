"""Drives a gate around another library's requests, blocking or on asyncio.

A driver carries out the gate's steps: it waits, has robots.txt fetched, reports. It knows no library, opens no
connection and decides nothing.
"""

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from comity import urls
from comity.gate import CircuitOpen, Closed, FetchRobots, Gate, Go, Refuse, Resolve, Wait
from comity.gate.refusals import error_of
from comity.gate.retry_after import retry_after
from comity.policy import Decision, Policy, RobotsResult


def _address(host: str) -> str:
    """An address of a host; the host itself where it has none."""
    try:
        return min(str(info[4][0]) for info in socket.getaddrinfo(host.strip("[]"), 0, type=socket.SOCK_STREAM))
    except (OSError, UnicodeError):
        return host


class Turn:
    """One request that may be sent now. Say what was `heard`, or leave the block: then it counts as failed."""

    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        self.status: int | None = None
        self.retry_after: float | None = None

    def heard(self, status: int, retry: str | None) -> None:
        """The head of the answer arrived; `retry` is its Retry-After."""
        self.status = status
        self.retry_after = retry_after(retry, time.time())


class Driver:
    """For libraries that block; any thread may use it."""

    def __init__(self, policy: Policy | None) -> None:
        self.policy = policy or Policy()
        self._gate = Gate(self.policy, epoch=time.time() - time.monotonic())
        self._changed = threading.Condition()  # its lock guards the gate

    @contextmanager
    def turn(self, url: str, robots: Callable[[FetchRobots], RobotsResult]) -> Iterator[Turn]:
        """Wait until a URL's request may be sent; the block sends it.

        Args:
            robots: fetches a robots.txt when the gate asks for one.

        Raises:
            InvalidURL, RobotsDisallowed
        """
        go = self._permission(urls.normalise(url), robots)
        turn = Turn(go.decision)
        try:
            yield turn
        finally:
            with self._changed:
                self._gate.answered(go, time.monotonic(), status=turn.status, retry_after=turn.retry_after)
                self._changed.notify_all()

    def _permission(self, url: str, robots: Callable[[FetchRobots], RobotsResult]) -> Go:
        while True:
            with self._changed:
                step = self._gate.ask(url, time.monotonic())
                if isinstance(step, Wait):
                    self._changed.wait(None if step.until is None else max(step.until - time.monotonic(), 0.0))
                    continue
            if isinstance(step, Go):
                return step
            if isinstance(step, Resolve):
                address = _address(step.host)
                with self._changed:
                    self._gate.resolved(step.host, address)
                continue
            if not isinstance(step, FetchRobots):
                raise error_of(step, url, time.monotonic())
            result = None
            try:
                result = robots(step)
            finally:
                with self._changed:
                    if result is None:
                        self._gate.robots_abandoned(step, time.monotonic())
                    else:
                        self._gate.robots_arrived(result, time.monotonic())
                    self._changed.notify_all()


class AsyncDriver:
    """For libraries on an asyncio event loop; one loop uses it at a time."""

    def __init__(self, policy: Policy | None) -> None:
        self.policy = policy or Policy()
        self._gate = Gate(self.policy, epoch=time.time() - time.monotonic())
        self._reports: dict[str, asyncio.Event] = {}

    @asynccontextmanager
    async def turn(self, url: str, robots: Callable[[FetchRobots], Awaitable[RobotsResult]]) -> AsyncIterator[Turn]:
        """As `Driver.turn`."""
        go = await self.permission(url, robots)
        turn = Turn(go.decision)
        try:
            yield turn
        finally:
            self.answered(go, turn)

    async def permission(self, url: str, robots: Callable[[FetchRobots], Awaitable[RobotsResult]]) -> Go:
        """The first half of `turn`, where a library has no block to put around a request."""
        url = urls.normalise(url)
        while True:
            step = self._gate.ask(url, time.monotonic())
            match step:
                case Go():
                    return step
                case FetchRobots():
                    await self._fetch_robots(step, robots)
                case Resolve(host=host):
                    self._gate.resolved(host, await asyncio.to_thread(_address, host))
                case Wait(until=None, key=key):
                    await self._reports.setdefault(key, asyncio.Event()).wait()
                case Wait(until=float() as until):
                    await asyncio.sleep(max(until - time.monotonic(), 0.0))
                case Refuse() | Closed() | CircuitOpen():
                    raise error_of(step, url, time.monotonic())

    def answered(self, go: Go, turn: Turn) -> None:
        """The second half of `turn`: the request is over, or its answer has begun."""
        self._gate.answered(go, time.monotonic(), status=turn.status, retry_after=turn.retry_after)
        self._report(go.key)

    async def _fetch_robots(self, step: FetchRobots, robots: Callable[[FetchRobots], Awaitable[RobotsResult]]) -> None:
        try:
            result = await robots(step)
        except BaseException:
            self._gate.robots_abandoned(step, time.monotonic())
            raise
        else:
            self._gate.robots_arrived(result, time.monotonic())
        finally:
            self._report(self._gate.key(urls.host(step.url)))

    def _report(self, host: str) -> None:
        event = self._reports.pop(host, None)
        if event is not None:
            event.set()
