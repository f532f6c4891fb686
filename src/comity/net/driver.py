"""AsyncDriver: carries out a gate's steps for callers on an event loop, first come first served.

It waits, has robots.txt fetched, and hands out permissions. The clock and what fetches a robots.txt are handed in; it
opens no connection and decides nothing. `blocking_driver` is the same for callers that block.
"""

import asyncio
import math
import os
import time
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, Self

from comity import urls
from comity.errors import Postponed, check_type
from comity.fields import settings_of
from comity.gate import FetchRobots, Gate, Go, Resolve, Wait
from comity.gate.machine import End
from comity.gate.steps import Body, granted, no_turn, postponed, refusal
from comity.gate.throttle import Pause
from comity.http_rules import BUSY
from comity.http_rules import retry_after as read_retry_after
from comity.net.client_settings import MAX_WAIT, ClientSettings
from comity.net.names import in_thread
from comity.policy import Decision, Policy, RobotsResult

LONGEST_SLEEP: Final = 86_400.0  # seconds: clocks of the operating system take no number of any size

Hop = Callable[[str], Awaitable[FetchRobots]]
"""Waits for the turn of the host that a robots.txt redirects to; gives the step for it."""
RobotsFetch = Callable[[FetchRobots, Hop], Awaitable[RobotsResult | None]]
"""What came of asking for a robots.txt; None: the gate knows already (`Gate.robots_at_hand`)."""


class Clock:
    """The machine's clocks: `monotonic` for waiting, `wall` (Unix time) for evidence. Tests hand in another one."""

    monotonic = staticmethod(time.monotonic)  # asked a dozen times a request
    wall = staticmethod(time.time)

    def walls(self) -> tuple[float, ...]:
        """Unix time by each clock that there is, `wall` first: any of them may be set while nobody looks."""
        return (self.wall(),)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class GateDriver:
    """What both drivers know: the gate, and how long a call may wait for its turn."""

    def __init__(
        self, policy: Policy | None = None, max_wait: float | None = MAX_WAIT, clock: Clock | None = None
    ) -> None:
        check_type("policy", policy, Policy)
        self.policy = policy or Policy()
        self.max_wait: float | None = settings_of(ClientSettings)["max_wait"].checked(max_wait)
        self.clock = clock or Clock()
        self._begin()
        _DRIVERS.add(self)

    def _begin(self) -> None:
        """Begin with nothing known and nothing under way."""
        self.gate = Gate(self.policy, epoch=self.clock.wall() - self.clock.monotonic())

    def _forked(self) -> None:
        """In a forked process what was under way in its parent never ends. Hosts are left alone as long as there."""
        before, now, wall = self.gate, self.clock.monotonic(), self.clock.wall()
        self._begin()
        for result in before.robots.results().values():
            self.gate.robots.store(result, now, age=max(wall - result.fetched_at, 0.0))
        throttles = before.throttles
        self.gate.throttles.restore_delays(throttles.delays(now), now, intervals=throttles.intervals())

    def __copy__(self) -> Self:
        """Copies of a session are to keep one pace together."""
        return self

    def __deepcopy__(self, _: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process has a gate of its own."""
        return type(self), (self.policy, self.max_wait)

    def known(self, url: str) -> Decision | None:
        """The decision about a normalised URL if the robots.txt at hand suffices for it."""
        now = self.clock.monotonic()
        origin_policy = self.gate.origin_policy(url, now)
        return None if origin_policy is None else origin_policy.decide(url, now + self.gate.epoch)

    def ready_at(self, host: str) -> float:
        """When a host may be asked next, as far as is known now; infinite where the operator stopped it."""
        if self.gate.stopped and host in self.gate.stopped:
            return math.inf
        return self.gate.throttles.ready_at(self.gate.pace_of(host) or host)

    def pause(self, host: str) -> Pause:
        """How long a host is left alone and why; times are the clock's monotonic time."""
        return self.gate.pause(host, self.clock.monotonic())

    def _key(self, url: str) -> str:
        host = urls.host(url)
        return self.gate.pace_of(host) or host

    def _limit(self) -> float:
        """Until when a call that begins now may wait."""
        return math.inf if self.max_wait is None else self.clock.monotonic() + self.max_wait

    def _pause(self, url: str, until: float | None, limit: float) -> float:
        """Seconds to wait before the gate is asked again, or a report comes.

        Raises:
            Postponed: the turn comes, or may come, after the limit.
        """
        now = self.clock.monotonic()
        if until is not None and (until > limit or until == math.inf):
            raise postponed(url, until - now)
        if until is None and now >= limit:
            raise self._crowded_out(url)
        return min(max((limit if until is None else until) - now, 0.0), LONGEST_SLEEP)

    def _crowded_out(self, url: str) -> Postponed:
        ready = self.gate.throttles.ready_at(self._key(url))
        return no_turn(url, self.max_wait or 0.0, ready - self.clock.monotonic())


_DRIVERS: Final[weakref.WeakSet[GateDriver]] = weakref.WeakSet()


def _after_fork() -> None:
    for each in _DRIVERS:
        each._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class _HostLine:
    """Who waits for one host: only the first is woken, so that a turn costs the same however many wait."""

    __slots__ = ("first", "waiting")

    def __init__(self) -> None:
        self.first = asyncio.Lock()
        self.waiting = 0


async def system_address(host: str) -> str:
    """An address of a host by the system's resolver; the host itself where it has none."""
    try:
        return min(await in_thread(host.strip("[]")))
    except OSError:
        return host


class AsyncDriver(GateDriver):
    """For callers on an asyncio event loop; one loop uses it at a time.

    Args:
        policy: what may be done.
        max_wait: seconds that a call waits for its turn; None: for ever.
        clock: for tests.

    Attributes:
        address_of: finds an address of a host, where the policy paces by addresses.
        on_robots: told of each robots.txt that is in force, as it arrives.
        on_report: told of a pace when a request that it counts was answered, or never will be.

    Raises:
        InvalidSetting
    """

    def __init__(
        self, policy: Policy | None = None, max_wait: float | None = MAX_WAIT, clock: Clock | None = None
    ) -> None:
        self.address_of: Callable[[str], Awaitable[str]] = system_address
        self.on_robots: Callable[[RobotsResult], None] | None = None
        self.on_report: Callable[[str], None] | None = None
        super().__init__(policy, max_wait, clock)

    def _begin(self) -> None:
        super()._begin()
        self._reports: dict[str, asyncio.Event] = {}
        self._lines: dict[str, _HostLine] = {}
        self._waiting: set[asyncio.Task[Any]] = set()  # tasks that wait for a turn

    @asynccontextmanager
    async def turn(self, url: str, robots: RobotsFetch) -> AsyncIterator[Go]:
        """Wait until a URL's request may be sent; the block sends it, and says when `headers_received`.

        Args:
            robots: fetches a robots.txt when the gate asks for one.

        Raises:
            InvalidURL, RobotsDisallowed, Postponed
        """
        go = await self.permission(urls.normalise(url), robots)
        try:
            yield go
        except BaseException as error:
            self.finished(go, "failed" if isinstance(error, Exception) else "abandoned")
            raise
        self.finished(go)

    async def decision(self, url: str, robots: RobotsFetch) -> Decision:
        """The decision about a normalised URL; robots.txt is fetched if need be.

        Raises:
            Postponed
        """
        limit = self._limit()
        while not isinstance(step := self.gate.consult(url, self.clock.monotonic()), Decision):
            await self._take(step, url, robots, limit)
        return step

    async def permission(self, url: str, robots: RobotsFetch) -> Go:
        """A Go for a normalised URL when its turn has come. Who waits for a host waits in line; refusals do not wait.

        Raises:
            RobotsDisallowed, Postponed
        """
        if not self._lines or self._key(url) not in self._lines:
            step = self.gate.ask(url, self.clock.monotonic())
            if isinstance(step, Go):
                return step
            limit = self._limit()
            while isinstance(step, FetchRobots | Resolve):
                await self._take(step, url, robots, limit)
                step = self.gate.ask(url, self.clock.monotonic())
            if not isinstance(step, Wait):
                return granted(url, step, self.clock.monotonic())
        else:
            limit = self._limit()
            known = self.known(url)
            if known is not None and not known.may_fetch:
                raise refusal(known)
        with self._waits():
            return await self._in_line(url, robots, limit)

    def headers_received(
        self, go: Go, status: int, retry_after: str | None = None, *, jitter: float = 1.0, body: Body | None = None
    ) -> None:
        """The head of the answer arrived.

        Args:
            retry_after: its Retry-After, as sent.
            jitter, body: see `Gate.headers_received`.
        """
        later = read_retry_after(retry_after, self.clock.wall()) if status in BUSY else None
        self.gate.headers_received(go, self.clock.monotonic(), status, retry_after=later, jitter=jitter, body=body)
        if body != "read":  # nobody has a turn before that is over
            self.report(go.key)

    def finished(self, go: Go, end: End = "done", *, jitter: float = 1.0, may_repeat: bool = False) -> bool:
        """The request is over; see `Gate.finished`. Gives whether to try again, where the call `may_repeat`."""
        limit = self._limit() if may_repeat else None
        again = self.gate.finished(go, self.clock.monotonic(), end, jitter=jitter, again_until=limit)
        self.report(go.key)
        return again

    def report(self, key: str) -> None:
        """Something became known about a host: who waits for that asks again."""
        event = self._reports.pop(key, None) if self._reports else None
        if event is not None:
            event.set()
        if self.on_report is not None:
            self.on_report(key)

    def robots_let_go(self, step: FetchRobots) -> None:
        """A robots.txt redirects to where somebody else gives the turn: ours is over before that one is waited for."""
        if (key := self.gate.robots_let_go(step, self.clock.monotonic())) is not None:
            self.report(key)

    def give_up_waiting(self) -> None:
        """Cancel every task that waits for a turn; what was sent goes on."""
        for task in self._waiting:
            task.cancel()

    async def wait_for(self, turn: "asyncio.Future[Any]") -> Any:
        """What a turn that somebody else gives comes to; `give_up_waiting` ends it too."""
        with self._waits():
            return await turn

    async def find_pace(self, host: str) -> None:
        """Find out what shares its pace with a host, where that depends on its address."""
        if self.gate.pace_of(host) is None:
            self.gate.resolved(host, await self.address_of(host))

    async def _in_line(self, url: str, robots: RobotsFetch, limit: float) -> Go:
        key = self._key(url)
        self._pause(url, self.gate.throttles.ready_at(key), limit)
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = _HostLine()
        line.waiting += 1
        try:
            if line.first.locked() and limit < math.inf:
                try:
                    async with asyncio.timeout(limit - self.clock.monotonic()):
                        await line.first.acquire()
                except TimeoutError:
                    raise self._crowded_out(url) from None
            else:
                await line.first.acquire()
            try:
                while True:
                    step = self.gate.ask(url, self.clock.monotonic())
                    if not isinstance(step, FetchRobots | Resolve | Wait):
                        return granted(url, step, self.clock.monotonic())
                    await self._take(step, url, robots, limit)
            finally:
                line.first.release()
        finally:
            line.waiting -= 1
            if not line.waiting:
                del self._lines[key]

    async def _take(self, step: Resolve | FetchRobots | Wait, url: str, robots: RobotsFetch, limit: float) -> None:
        match step:
            case FetchRobots():
                await self._fetch_robots(step, robots, limit)
            case Resolve():
                self.gate.resolved(step.host, await self.address_of(step.host))
            case Wait():
                with self._waits():
                    await self._wait(step, url, limit)

    async def _wait(self, step: Wait, url: str, limit: float) -> None:
        seconds = self._pause(url, step.until, limit)
        if step.until is not None:
            await self.clock.sleep(seconds)
            return
        event = self._reports.setdefault(step.key, asyncio.Event())
        try:
            async with asyncio.timeout(max(limit - self.clock.monotonic(), 0.0) if limit < math.inf else None):
                await event.wait()
        except TimeoutError:
            raise self._crowded_out(url) from None

    @contextmanager
    def _waits(self) -> Iterator[None]:
        """The task that runs this waits for a turn."""
        task = asyncio.current_task()
        if task is None or task in self._waiting:
            yield
            return
        self._waiting.add(task)
        try:
            yield
        finally:
            self._waiting.discard(task)

    async def _fetch_robots(self, step: FetchRobots, robots: RobotsFetch, limit: float) -> None:
        key = step.key  # whose turn the request under way has taken

        async def hop(url: str) -> FetchRobots:
            nonlocal key
            while True:
                taken = self.gate.robots_redirected(step, url, self.clock.monotonic())
                self.report(key)
                if isinstance(taken, FetchRobots):
                    key = taken.key
                    return taken
                await self._take(taken, url, robots, limit)

        result = None
        try:
            result = await robots(step, hop)
            if result is not None:
                self.gate.epoch = self.clock.wall() - self.clock.monotonic()
                result = self.gate.robots_arrived(result, self.clock.monotonic())
        except BaseException:
            self.gate.robots_abandoned(step, self.clock.monotonic())
            raise
        finally:
            for each in {step.key, key}:
                self.report(each)
        if result is not None and self.on_robots is not None:
            self.on_robots(result)
