"""Drives a gate around another library's requests, blocking or on asyncio.

A driver carries out the gate's steps: it waits, has robots.txt fetched, reports. It knows no library, opens no
connection and decides nothing.
"""

import asyncio
import math
import socket
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field

from comity import urls
from comity.errors import InvalidSetting, Postponed, check_type
from comity.gate import FetchRobots, Gate, Go, Resolve, Step, Wait
from comity.gate.refusals import error_of, no_turn, postponed, refusal
from comity.gate.retry_after import retry_after
from comity.policy import Decision, Policy, RobotsResult

MAX_WAIT = 600.0  # seconds
LONGEST_SLEEP = 86_400.0  # seconds: clocks of the operating system take no number of any size


def _address(host: str) -> str:
    """An address of a host; the host itself where it has none."""
    try:
        return min(str(info[4][0]) for info in socket.getaddrinfo(host.strip("[]"), 0, type=socket.SOCK_STREAM))
    except (OSError, UnicodeError):
        return host


class Turn:
    """One request that may be sent now. Say what was `heard`, or leave the block: then it counts as failed.

    Attributes:
        given_up: the request was broken off on our side, which says nothing about the host.
    """

    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        self.status: int | None = None
        self.retry_after: float | None = None
        self.given_up = False

    def heard(self, status: int, retry: str | None) -> None:
        """The head of the answer arrived; `retry` is its Retry-After."""
        self.status = status
        self.retry_after = retry_after(retry, time.time())

    def ended_by(self, error: BaseException) -> None:
        """No answer came, but this: a cancelled task or an interrupted program is no failure of the host's."""
        self.given_up = not isinstance(error, Exception)


class _Gated:
    """What both drivers know: the gate, and how long a call may wait for its turn."""

    def __init__(self, policy: Policy | None, max_wait: float | None) -> None:
        if max_wait is not None and (
            isinstance(max_wait, bool) or not isinstance(max_wait, int | float) or not 0 < max_wait < math.inf
        ):
            raise InvalidSetting(f"max_wait: {max_wait!r} is neither a number of seconds above zero nor None")
        check_type("policy", policy, Policy, "comity.Policy(agent='MyBot/1.0 (+URL)')")
        self.policy = policy or Policy()
        self.max_wait = max_wait
        self._gate = Gate(self.policy, epoch=time.time() - time.monotonic())

    def _limit(self) -> float:
        """Until when a call that begins now may wait."""
        return math.inf if self.max_wait is None else time.monotonic() + self.max_wait

    def _pause(self, url: str, until: float | None, limit: float) -> float:
        """Seconds to wait before the gate is asked again, or a report comes.

        Raises:
            Postponed: the turn comes, or may come, after the limit.
        """
        now = time.monotonic()
        if until is not None and until > limit:
            raise postponed(url, until - now)
        if until is None and now >= limit:
            raise self._crowded_out(url)
        return min(max((limit if until is None else until) - now, 0.0), LONGEST_SLEEP)

    def _crowded_out(self, url: str) -> Postponed:
        return no_turn(url, self.max_wait or 0.0, self._gate.ready_at(urls.host(url)) - time.monotonic())

    def _ended(self, go: Go, turn: Turn) -> None:
        now = time.monotonic()
        if turn.given_up:
            self._gate.abandoned(go, now)
            return
        self._gate.answered(go, now, status=turn.status, retry_after=turn.retry_after)
        self._gate.finished(go, now, good=turn.status is not None and turn.status < 500)


class Driver(_Gated):
    """For libraries that block; any thread may use it.

    Args:
        policy: what may be done.
        max_wait: seconds that a call waits for its turn; None: for ever.

    Raises:
        InvalidSetting
    """

    def __init__(self, policy: Policy | None, max_wait: float | None = MAX_WAIT) -> None:
        super().__init__(policy, max_wait)
        self._changed = threading.Condition()  # its lock guards the gate

    @contextmanager
    def turn(self, url: str, robots: Callable[[FetchRobots], RobotsResult]) -> Iterator[Turn]:
        """Wait until a URL's request may be sent; the block sends it.

        Args:
            robots: fetches a robots.txt when the gate asks for one.

        Raises:
            InvalidURL, RobotsDisallowed, Postponed
        """
        go = self._permission(urls.normalise(url), robots)
        turn = Turn(go.decision)
        try:
            yield turn
        except BaseException as error:
            turn.ended_by(error)
            raise
        finally:
            with self._changed:
                self._ended(go, turn)
                self._changed.notify_all()

    def _permission(self, url: str, robots: Callable[[FetchRobots], RobotsResult]) -> Go:
        limit = self._limit()
        while True:
            with self._changed:
                step = self._gate.ask(url, time.monotonic())
                if isinstance(step, Wait):
                    self._changed.wait(self._pause(url, step.until, limit))
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


@dataclass(slots=True)
class _Line:
    """Who waits for one host: only the first is woken, so that a turn costs the same however many wait."""

    people: int = 0
    first: asyncio.Lock = field(default_factory=asyncio.Lock)


class AsyncDriver(_Gated):
    """For libraries on an asyncio event loop; one loop uses it at a time. Arguments as for `Driver`."""

    def __init__(self, policy: Policy | None, max_wait: float | None = MAX_WAIT) -> None:
        super().__init__(policy, max_wait)
        self._reports: dict[str, asyncio.Event] = {}
        self._lines: dict[str, _Line] = {}

    @asynccontextmanager
    async def turn(self, url: str, robots: Callable[[FetchRobots], Awaitable[RobotsResult]]) -> AsyncIterator[Turn]:
        """As `Driver.turn`."""
        go = await self.permission(url, robots)
        turn = Turn(go.decision)
        try:
            yield turn
        except BaseException as error:
            turn.ended_by(error)
            raise
        finally:
            self.ended(go, turn)

    async def permission(self, url: str, robots: Callable[[FetchRobots], Awaitable[RobotsResult]]) -> Go:
        """The first half of `turn`, where a library has no block to put around a request."""
        url = urls.normalise(url)
        limit = self._limit()
        if self._gate.key(urls.host(url)) not in self._lines:
            step = self._gate.ask(url, time.monotonic())
            while isinstance(step, FetchRobots | Resolve):
                await self._take(step, url, robots, limit)
                step = self._gate.ask(url, time.monotonic())
            if not isinstance(step, Wait):
                return _granted(url, step)
        known = self._gate.known(url, time.monotonic())
        if known is not None and not known.may_fetch:  # a refusal waits for nobody
            raise refusal(known)
        return await self._in_line(url, robots, limit)

    def ended(self, go: Go, turn: Turn) -> None:
        """The second half of `turn`: the request is over, or its answer has begun."""
        self._ended(go, turn)
        self._report(go.key)

    async def _in_line(self, url: str, robots: Callable[[FetchRobots], Awaitable[RobotsResult]], limit: float) -> Go:
        host = urls.host(url)
        self._pause(url, self._gate.ready_at(host), limit)
        key = self._gate.key(host)
        line = self._lines.setdefault(key, _Line())
        line.people += 1
        try:
            try:
                async with asyncio.timeout(None if limit == math.inf else limit - time.monotonic()):
                    await line.first.acquire()
            except TimeoutError:
                raise self._crowded_out(url) from None
            try:
                while True:
                    step = self._gate.ask(url, time.monotonic())
                    if not isinstance(step, FetchRobots | Resolve | Wait):
                        return _granted(url, step)
                    await self._take(step, url, robots, limit)
            finally:
                line.first.release()
        finally:
            line.people -= 1
            if not line.people:
                del self._lines[key]

    async def _take(
        self,
        step: FetchRobots | Resolve | Wait,
        url: str,
        robots: Callable[[FetchRobots], Awaitable[RobotsResult]],
        limit: float,
    ) -> None:
        match step:
            case FetchRobots():
                await self._fetch_robots(step, robots)
            case Resolve(host=host):
                self._gate.resolved(host, await asyncio.to_thread(_address, host))
            case Wait(until=None, key=key):
                report = self._reports.setdefault(key, asyncio.Event())
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._pause(url, None, limit)):
                        await report.wait()
            case Wait(until=until):
                await asyncio.sleep(self._pause(url, until, limit))

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


def _granted(url: str, step: Step) -> Go:
    """The Go, or the error that says why there is none."""
    if isinstance(step, Go):
        return step
    if isinstance(step, FetchRobots | Resolve | Wait):
        raise AssertionError(step)
    raise error_of(step, url, time.monotonic())
