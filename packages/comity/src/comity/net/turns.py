"""Turns: the way from a URL to the permission to send its request, over whatever has to be known or waited for first.

Theory of operation. Each way is a generator. It asks the gate, yields what it needs (one of `Need`) and is given what
came of it, until it returns a Go or a Decision, or raises the error that ends the call. It opens no connection and
waits for nothing itself: `AsyncDriver` carries its needs out on an event loop, `blocking_driver.Driver` in the calling
thread.

Who waits for a host waits in line, first come first served, and only the first is woken: a turn costs the same however
many wait. Refusals do not wait.
"""

import asyncio
import math
import os
import random
import weakref
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, Self

from comity.errors import AddressBlocked, FetchError, Postponed, check_type, system_failed
from comity.gate import FetchRobots, Gate, Go, Resolve, Step, Wait
from comity.gate.machine import End
from comity.gate.steps import Body, granted, no_turn, postponed, refusal
from comity.gate.throttle import Pause
from comity.http_rules import is_temporary, stay_away
from comity.net import robots_fetch
from comity.net.client_settings import MAX_WAIT, ClientSettings
from comity.net.clock import Clock
from comity.net.deadlines import Deadline
from comity.net.names import in_thread
from comity.net.needs import Ask, Find, Need, News, Relay, Sleep, T, Way
from comity.net.response import Response
from comity.net.robots_fetch import DriverHooks, RobotsFetching
from comity.policy import Decision, Policy
from comity_pages.urls import Url
from comity_robots.fields import settings_of

LONGEST_SLEEP: Final = 86_400.0  # seconds: clocks of the operating system take no number of any size
NO_HEADERS: Final[Mapping[str, str]] = {}
NO_ANSWER: Final = (FetchError, AddressBlocked, TimeoutError)


class Turns(RobotsFetching):
    """What both drivers know: the gate, and how long a call may wait for its turn.

    Args:
        policy: what may be done.
        max_wait: seconds that a call waits for its turn; None: for ever.
        clock: for tests.
        pace_with: another, on the same event loop, with which it keeps one pace to each host.

    Raises:
        InvalidSetting
    """

    def __init__(
        self,
        policy: Policy | None = None,
        max_wait: float | None = MAX_WAIT,
        clock: Clock | None = None,
        pace_with: "Turns | None" = None,
        hooks: DriverHooks | None = None,
    ) -> None:
        check_type("policy", policy, Policy)
        self.policy = policy or Policy()
        self.max_wait: float | None = settings_of(ClientSettings)["max_wait"].checked(max_wait)
        self.clock = clock or Clock()
        self.hooks = hooks or DriverHooks()
        self._begin(pace_with)
        _ALL.add(self)

    def _begin(self, other: "Turns | None" = None) -> None:
        """Begin with nothing known and nothing under way, but what is of another with which it keeps one pace."""
        throttles = None if other is None else other.gate.throttles
        self.gate: Gate = Gate(self.policy, epoch=self.clock.wall() - self.clock.monotonic(), throttles=throttles)
        # By pace: who waits, each a token.
        self._lines: dict[str, deque[object]] = {} if other is None else other._lines
        # Events that somebody waits for, by token.
        self._told: dict[Hashable, Any] = {} if other is None else other._told
        # All that keep one pace, where these are several.
        self._sharing: weakref.WeakSet[Turns] | None = None
        if other is not None:
            self._sharing = other._sharing = other._sharing or weakref.WeakSet((other,))
            self._sharing.add(self)

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
        """Another process begins with a new gate."""
        return type(self), (self.policy, self.max_wait)

    # Questions that need nothing

    def known(self, url: str) -> Decision | None:
        """The decision about a URL in normal form, if the robots.txt at hand suffices for it."""
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

    # Reports

    def headers_received(
        self, go: Go, status: int, headers: Mapping[str, str] = NO_HEADERS, *, body: Body | None = None
    ) -> None:
        """The head of the answer arrived.

        Args:
            headers: in lower case, or whatever the case of a name is asked for in.
            body: see `Gate.headers_received`.
        """
        later, jitter = None, 1.0  # what is left of a back-off after a good answer is waited for in full
        if is_temporary(status):
            later, jitter = stay_away(status, headers, self.clock.wall()), self._jitter()
        self.gate.headers_received(go, self.clock.monotonic(), status, retry_after=later, jitter=jitter, body=body)
        if body != "read":  # while a body is read no turn is given
            self.report(go.key)

    def finished(self, go: Go, end: End = "done", *, may_repeat: bool = False) -> bool:
        """The request is over; see `Gate.finished`. Gives whether to try again, where the call `may_repeat`."""
        limit = self._limit() if may_repeat else None
        jitter = 1.0 if end == "done" else self._jitter()
        again = self.gate.finished(go, self.clock.monotonic(), end, jitter=jitter, again_until=limit)
        self.report(go.key)
        return again

    def _jitter(self) -> float:
        return random.random() if self.hooks.jitter else 1.0

    def report(self, key: str) -> None:
        """Something became known about a host: who waits for that asks again."""
        if self._told:
            self.tell(key)
        for each in self._sharing or (self,):
            if each.hooks.on_report is not None:
                each.hooks.on_report(key)

    def tell(self, token: Hashable) -> None:
        """Wake who waits for the token."""
        event = self._told.pop(token, None)
        if event is not None:
            event.set()

    # Ways

    def decision_on(self, url: Url) -> Way[Decision]:
        """To the decision about a URL; robots.txt is fetched if need be.

        Raises:
            Postponed
        """
        limit = self._limit()
        while not isinstance(step := self.gate.consult(url, self.clock.monotonic()), Decision):
            yield from self._take(step, url, limit)
        return step

    def first_step(self, url: Url) -> Step | None:
        """The gate's first word on a URL; None where others wait for its host already."""
        if self._lines and self._key(url) in self._lines:
            return None
        return self.gate.ask(url, self.clock.monotonic())

    def permission_for(self, url: Url, step: Step | None) -> Way[Go]:
        """To a Go for a URL, when its turn has come.

        Args:
            step: its `first_step`.

        Raises:
            RobotsDisallowed, Postponed
        """
        limit = self._limit()
        if step is not None:
            while isinstance(step, FetchRobots | Resolve):
                yield from self._take(step, url, limit)
                step = self.gate.ask(url, self.clock.monotonic())
            if not isinstance(step, Wait):
                return granted(url, step, self.clock.monotonic())
        else:
            known = self.known(url)
            if known is not None and not known.may_fetch:
                raise refusal(known)
        key, place = self._key(url), object()
        self._pause(url, self.gate.throttles.ready_at(key), limit)
        line = self._lines.setdefault(key, deque())
        line.append(place)
        try:
            while line[0] is not place:
                yield from self._news(place, url, limit)
            while True:
                step = self.gate.ask(url, self.clock.monotonic())
                if not isinstance(step, FetchRobots | Resolve | Wait):
                    return granted(url, step, self.clock.monotonic())
                yield from self._take(step, url, limit)
        finally:
            self._told.pop(place, None)
            line.remove(place)
            if line:
                self.tell(line[0])
            else:
                del self._lines[key]

    def _take(self, step: Resolve | FetchRobots | Wait, url: Url, limit: float) -> Way[None]:
        match step:
            case FetchRobots():
                yield from self._fetch_robots(step, limit)
            case Resolve():
                self.gate.resolved(step.host, (yield Find(step.host)))
            case Wait(None, key):
                self._pause(url, None, limit)
                yield from self._news(key, url, limit)
            case Wait():
                yield Sleep(self._pause(url, step.until, limit))

    def _news(self, token: Hashable, url: Url, limit: float) -> Way[None]:
        seconds = None if limit == math.inf else max(limit - self.clock.monotonic(), 0.0)
        if not (yield News(token, seconds and min(seconds, LONGEST_SLEEP))) and (seconds or 0.0) <= LONGEST_SLEEP:
            raise self._crowded_out(url)

    # How long a call may wait

    def _key(self, url: Url) -> str:
        return self.gate.pace_of(url.host) or url.host

    def _limit(self) -> float:
        """Until when a call that begins now may wait."""
        return math.inf if self.max_wait is None else self.clock.monotonic() + self.max_wait

    def _pause(self, url: Url, until: float | None, limit: float) -> float:
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

    def _crowded_out(self, url: Url) -> Postponed:
        ready = self.gate.throttles.ready_at(self._key(url))
        return no_turn(url, self.max_wait or 0.0, ready - self.clock.monotonic())


Get = Callable[[FetchRobots, dict[str, str]], Awaitable[Response]]
"""Sends one request for a robots.txt, with conditions as headers; follows no redirect."""


async def system_address(host: str) -> str:
    """An address of a host by the system's resolver; the host itself where it has none. A SystemFailed: it could not
    be asked."""
    try:
        return min(await in_thread(host.strip("[]")))
    except OSError as error:
        if (failed := system_failed(error)) is not None:
            raise failed from error
        return host


class AsyncDriver(Turns):
    """For callers on an asyncio event loop; one loop uses it at a time.

    Attributes:
        address_of: finds an address of a host, where the policy paces by addresses.
    """

    address_of: Callable[[str], Awaitable[str]] = staticmethod(system_address)

    def _begin(self, other: Turns | None = None) -> None:
        super()._begin(other)
        self._waiting: dict[asyncio.Task[Any], Callable[[], Exception] | None] = {}  # tasks that wait for a turn

    @asynccontextmanager
    async def turn(self, url: str, get: Get) -> AsyncIterator[Go]:
        """Wait until a URL's request may be sent; the block sends it, and says when `headers_received`.

        Args:
            get: asks for a robots.txt when the gate wants one.

        Raises:
            InvalidURL, RobotsDisallowed, Postponed
        """
        go = await self.permission(Url(url), get)
        try:
            yield go
        except BaseException as error:
            self.finished(go, "failed" if isinstance(error, Exception) else "abandoned")
            raise
        self.finished(go)

    async def decision(self, url: Url, get: Get) -> Decision:
        """The decision about a URL. Errors as for `decision_on`."""
        return await self._run(self.decision_on(url), get)

    async def relayed(self, asked: Relay, get: Get) -> Response | Exception:
        """What a host of ours answers to who has us relay. Errors as for `relayed_robots`."""
        return await self._run(self.relayed_robots(*asked), get)

    async def permission(self, url: Url, get: Get) -> Go:
        """A Go for a URL when its turn has come. Errors as for `permission_for`."""
        step = self.first_step(url) if self._lines else self.gate.ask(url, self.clock.monotonic())
        return step if isinstance(step, Go) else await self._run(self.permission_for(url, step), get)

    def give_up_waiting(self, error: Callable[[], Exception] | None = None) -> None:
        """Cancel every task that waits for a turn, or have an error raised there; what was sent goes on."""
        for task in self._waiting:
            self._waiting[task] = error
            task.cancel()

    async def wait_for(self, turn: "asyncio.Future[Any]") -> Any:
        """What a turn that somebody else gives comes to; `give_up_waiting` ends it too."""
        with self._waits():
            return await turn

    async def find_pace(self, host: str) -> None:
        """Find out what shares its pace with a host, where that depends on its address."""
        if self.gate.pace_of(host) is None:
            self.gate.resolved(host, await self.address_of(host))

    async def _run(self, way: Way[T], get: Get) -> T:
        try:
            need = next(way)
            while True:
                try:
                    outcome = await self._carried_out(need, get)
                except BaseException as error:
                    need = way.throw(error)
                else:
                    need = way.send(outcome)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    async def _carried_out(self, need: Need, get: Get) -> Any:
        match need:
            case Ask(step, conditions):
                try:
                    with Deadline(self.hooks.robots_timeout or robots_fetch.TIMEOUT):
                        return await get(step, conditions)
                except NO_ANSWER as error:
                    return error
            case Find(host):
                return await self.address_of(host)
            case Relay():
                return await self.hooks.relay(need) if self.hooks.relay is not None else None
            case Sleep(seconds):
                with self._waits():
                    return await self.clock.sleep(seconds)
            case News(token, most):
                event = self._told.setdefault(token, asyncio.Event())
                with self._waits():
                    try:
                        async with asyncio.timeout(most):
                            return await event.wait()
                    except TimeoutError:
                        return False

    @contextmanager
    def _waits(self) -> Iterator[None]:
        """The task that runs this waits for a turn."""
        task = asyncio.current_task()
        if task is None or task in self._waiting:
            yield
            return
        self._waiting[task] = None
        try:
            yield
        except asyncio.CancelledError:
            error = self._waiting[task]
            if error is not None and task.uncancel() == 0:
                raise error() from None
            raise
        finally:
            del self._waiting[task]


_ALL: Final[weakref.WeakSet[Turns]] = weakref.WeakSet()


def _after_fork() -> None:
    for each in _ALL:
        each._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
