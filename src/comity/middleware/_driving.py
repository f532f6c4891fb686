"""Drives a gate around another library's requests, blocking or on asyncio.

A driver carries out the gate's steps: it waits, has robots.txt fetched, reports. It knows no library, opens no
connection and decides nothing.
"""

import asyncio
import math
import os
import socket
import threading
import time
import weakref
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, Self

from comity import urls
from comity.errors import InvalidSetting, Postponed, check_type
from comity.gate import FetchRobots, Gate, Go, Resolve, Step, Wait
from comity.gate.refusals import error_of, no_turn, postponed, refusal
from comity.gate.retry_after import retry_after
from comity.net.names import in_thread
from comity.policy import Decision, Policy, RobotsResult

MAX_WAIT = 600.0  # seconds
LONGEST_SLEEP = 86_400.0  # seconds: clocks of the operating system take no number of any size


async def _found(host: str) -> str:
    """As `_address`, without keeping the event loop's few threads from other work."""
    try:
        return min(await in_thread(host.strip("[]")))
    except OSError:
        return host


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

    def __init__(self, policy: Policy | None, max_wait: float | None = MAX_WAIT) -> None:
        if max_wait is not None and (
            isinstance(max_wait, bool) or not isinstance(max_wait, int | float) or not 0 < max_wait < math.inf
        ):
            raise InvalidSetting(f"max_wait: {max_wait!r} is neither a number of seconds above zero nor None")
        check_type("policy", policy, Policy, "comity.Policy(agent='MyBot/1.0 (+URL)')")
        self.policy = policy or Policy()
        self.max_wait = max_wait
        self._begin()
        _DRIVERS.add(self)

    def _begin(self) -> None:
        """Begin with nothing known and nothing under way."""
        self._gate = Gate(self.policy, epoch=time.time() - time.monotonic())

    def _forked(self) -> None:
        """In a forked process what was under way in its parent never ends. Hosts are left alone as long as there."""
        now = time.monotonic()
        waits, intervals = self._gate.waits(now), self._gate.intervals()
        self._begin()
        self._gate.left_alone(waits, now, intervals=intervals)

    def __copy__(self) -> Self:
        """Copies of a session are to keep one pace together."""
        return self

    def __deepcopy__(self, _: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process has a gate of its own."""
        return type(self), (self.policy, self.max_wait)

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


_DRIVERS: Final[weakref.WeakSet[_Gated]] = weakref.WeakSet()


def _after_fork() -> None:
    for each in _DRIVERS:
        each._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Driver(_Gated):
    """For libraries that block; any thread may use it.

    Args:
        policy: what may be done.
        max_wait: seconds that a call waits for its turn; None: for ever.

    Raises:
        InvalidSetting
    """

    def _begin(self) -> None:
        super()._begin()
        self._lock = threading.Lock()  # guards the gate, and what follows
        self._lines: dict[str, _ThreadLine] = {}
        self._reported = threading.Condition(self._lock)

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
            with self._lock:
                self._ended(go, turn)
                self._report(go.key)

    def hop(self, step: FetchRobots, url: str) -> None:
        """A robots.txt redirects to `url`: wait for the turn of its host.

        Raises:
            Postponed
        """
        limit = self._limit()
        while True:
            with self._lock:
                taken = self._gate.robots_redirected(step, url, time.monotonic())
                self._report(step.key)
                if isinstance(taken, Wait):
                    self._reported.wait(self._pause(url, taken.until, limit))
                    continue
            if isinstance(taken, FetchRobots):
                return
            self._resolve(taken)

    def _permission(self, url: str, robots: Callable[[FetchRobots], RobotsResult]) -> Go:
        limit = self._limit()
        with self._lock:
            key = self._gate.key(urls.host(url))
            step = self._gate.ask(url, time.monotonic()) if key not in self._lines else None
        while isinstance(step, FetchRobots | Resolve):
            self._take(step, robots)
            step = self._ask(url)
        if step is not None and not isinstance(step, Wait):
            return _granted(url, step)
        with self._lock:
            known = self._gate.known(url, time.monotonic())
        if known is not None and not known.may_fetch:  # a refusal waits for nobody
            raise refusal(known)
        return self._in_line(url, robots, limit)

    def _in_line(self, url: str, robots: Callable[[FetchRobots], RobotsResult], limit: float) -> Go:
        """Wait behind those who came before; only the first asks the gate."""
        host = urls.host(url)
        with self._lock:
            self._pause(url, self._gate.ready_at(host), limit)
            key = self._gate.key(host)
            line = self._lines.get(key)
            if line is None:
                line = self._lines[key] = _ThreadLine(self._lock)
            place = threading.Event()
            line.places.append(place)
            if line.places[0] is place:
                place.set()
        try:
            while not place.wait(min(limit - time.monotonic(), LONGEST_SLEEP)):
                if time.monotonic() >= limit:
                    with self._lock:
                        raise self._crowded_out(url)
            while True:
                with self._lock:
                    step = self._gate.ask(url, time.monotonic())
                    if isinstance(step, Wait):
                        line.changed.wait(self._pause(url, step.until, limit))
                        continue
                if not isinstance(step, FetchRobots | Resolve):
                    return _granted(url, step)
                self._take(step, robots)
        finally:
            with self._lock:
                line.places.remove(place)
                if line.places:
                    line.places[0].set()
                else:
                    del self._lines[key]

    def _ask(self, url: str) -> Step:
        with self._lock:
            return self._gate.ask(url, time.monotonic())

    def _take(self, step: FetchRobots | Resolve, robots: Callable[[FetchRobots], RobotsResult]) -> None:
        if isinstance(step, Resolve):
            self._resolve(step)
            return
        result = None
        try:
            result = robots(step)
        finally:
            with self._lock:
                if result is None:
                    self._gate.robots_abandoned(step, time.monotonic())
                else:
                    self._gate.robots_arrived(result, time.monotonic())
                for key in self._lines:  # of those whose turn a redirect took, too
                    self._report(key)

    def _resolve(self, step: Resolve) -> None:
        address = _address(step.host)
        with self._lock:
            self._gate.resolved(step.host, address)

    def _report(self, key: str) -> None:
        """Something became known about a host: who waits first for that asks again. The lock is held."""
        line = self._lines.get(key)
        if line is not None:
            line.changed.notify_all()
        self._reported.notify_all()


class _ThreadLine:
    """Threads that wait for one host, first come first served: only the first is woken."""

    def __init__(self, lock: threading.Lock) -> None:
        self.places: deque[threading.Event] = deque()
        self.changed = threading.Condition(lock)


@dataclass(slots=True)
class _Line:
    """Who waits for one host: only the first is woken, so that a turn costs the same however many wait."""

    people: int = 0
    first: asyncio.Lock = field(default_factory=asyncio.Lock)


class AsyncDriver(_Gated):
    """For libraries on an asyncio event loop; one loop uses it at a time. Arguments as for `Driver`."""

    def _begin(self) -> None:
        super()._begin()
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

    async def hop(self, step: FetchRobots, url: str) -> None:
        """As `Driver.hop`."""
        limit = self._limit()
        while not isinstance(taken := self._gate.robots_redirected(step, url, time.monotonic()), FetchRobots):
            self._report(step.key)
            await self._take(taken, url, _never, limit)
        self._report(step.key)

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
                self._gate.resolved(host, await _found(host))
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
            for key in list(self._reports):  # of those whose turn a redirect took, too
                self._report(key)

    def _report(self, host: str) -> None:
        event = self._reports.pop(host, None)
        if event is not None:
            event.set()


async def _never(step: FetchRobots) -> RobotsResult:
    raise AssertionError(step)


def _granted(url: str, step: Step) -> Go:
    """The Go, or the error that says why there is none."""
    if isinstance(step, Go):
        return step
    if isinstance(step, FetchRobots | Resolve | Wait):
        raise AssertionError(step)
    raise error_of(step, url, time.monotonic())
