"""Turns: drives the gate for one client. It waits, has robots.txt fetched, and hands out permissions, first come first
served. It sends nothing but requests for robots.txt and decides nothing itself.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from comity import urls
from comity.gate import CircuitOpen, Closed, FetchRobots, Gate, Go, Refuse, Resolve, Step, Wait
from comity.gate.refusals import error_of, no_turn, postponed, refusal
from comity.net.clock import Clock
from comity.net.exchange import Exchange
from comity.net.robots import fetch_robots
from comity.net.settings import ClientSettings
from comity.net.transport import Transport
from comity.policy import Decision, Policy, RobotsResult

if TYPE_CHECKING:
    from comity.net.cache import Cache


class _Line:
    """Callers that wait for one host, first come first served."""

    __slots__ = ("people", "turn")

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.people = 0


class Turns:
    """The callers of one client, and the gate that they ask.

    Attributes:
        transport, cache: those of the open client; None while it is closed, or has none.
        on_robots: told of each robots.txt as it arrives.
        on_exchange: told of each request when it is over.
        on_report: told of a pace when a request that it counts was answered, or never will be.
    """

    def __init__(self, gate: Gate, policy: Policy, settings: ClientSettings, clock: Clock) -> None:
        self.transport: Transport | None = None
        self.cache: Cache | None = None
        self.on_robots: Callable[[RobotsResult], None] | None = None
        self.on_exchange: Callable[[Exchange], None] | None = None
        self.on_report: Callable[[str], None] | None = None
        self._gate = gate
        self._policy = policy
        self._settings = settings
        self._clock = clock
        self._reports: dict[str, asyncio.Event] = {}
        self._lines: dict[str, _Line] = {}  # who waits for a host waits in line
        self._waiting: set[asyncio.Task[Any]] = set()  # tasks that wait for a turn

    @property
    def sending(self) -> Transport:
        """The open client's transport.

        Raises:
            RuntimeError: it is closed.
        """
        if self.transport is None:
            raise RuntimeError("the client is not open: async with comity.AsyncClient(...) as client")
        return self.transport

    async def decision(self, url: str) -> Decision:
        """The decision about a URL; robots.txt is fetched if need be."""
        limit = self.limit()
        while True:
            step = self._gate.consult(url, self._clock.monotonic())
            if isinstance(step, Decision):
                return step
            await self._take(step, url, limit)

    async def permission(self, url: str) -> Go:
        """A Go for a URL, when its turn has come. Who waits for a host waits in line; refusals do not wait."""
        self.sending  # noqa: B018 - before the gate is asked
        if not self._lines or self._gate.key(urls.host(url)) not in self._lines:
            step = self._gate.ask(url, self._clock.monotonic())
            if isinstance(step, Go):
                return step
            limit = self.limit()
            while isinstance(step, FetchRobots | Resolve):
                await self._take(step, url, limit)
                step = self._gate.ask(url, self._clock.monotonic())
            if not isinstance(step, Wait):
                return self._granted(url, step)
        else:
            limit = self.limit()
            known = self._gate.known(url, self._clock.monotonic())
            if known is not None and not known.may_fetch:
                raise refusal(known)
        with self._waits():
            return await self._in_line(url, limit)

    async def _in_line(self, url: str, limit: float | None) -> Go:
        key = self._gate.key(urls.host(url))
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = _Line()
        line.people += 1
        try:
            async with line.turn:
                while True:
                    step = self._gate.ask(url, self._clock.monotonic())
                    if not isinstance(step, FetchRobots | Resolve | Wait):
                        return self._granted(url, step)
                    await self._take(step, url, limit)
        finally:
            line.people -= 1
            if not line.people:
                del self._lines[key]

    def _granted(self, url: str, step: Step) -> Go:
        """The Go, or the error that says why there is none."""
        match step:
            case Go():
                return step
            case Refuse() | Closed() | CircuitOpen():
                raise error_of(step, url, self._clock.monotonic())
        raise AssertionError(step)

    async def _take(self, step: Resolve | FetchRobots | Wait, url: str, limit: float | None) -> None:
        match step:
            case FetchRobots():
                await self._fetch_robots(step, limit)
            case Resolve():
                self._gate.resolved(step.host, await self._address_of(step.host))
            case Wait():
                with self._waits():
                    await self._wait(step, url, limit)

    async def _wait(self, step: Wait, url: str, limit: float | None) -> None:
        if step.until is None:
            await self._next_report(step.key, url, limit)
            return
        if limit is not None and step.until > limit:
            raise postponed(url, step.until - self._clock.monotonic())
        await self._clock.sleep(max(step.until - self._clock.monotonic(), 0.0))

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

    def give_up_waiting(self) -> None:
        """Cancel every task that waits for a turn; what was sent goes on."""
        for task in self._waiting:
            task.cancel()

    async def find_pace(self, host: str) -> None:
        """Find out what shares its pace with a host, where that depends on its address."""
        if self._gate.pace_of(host) is None:
            self._gate.resolved(host, await self._address_of(host))

    async def _address_of(self, host: str) -> str:
        try:
            with self.sending.deadlines.within(self._settings.timeout):
                return await self.sending.address_of(host)
        except TimeoutError:
            return host  # a pace of its own

    async def _next_report(self, key: str, url: str, limit: float | None) -> None:
        """Until something is reported about a host."""
        event = self._reports.setdefault(key, asyncio.Event())
        if limit is None:
            await event.wait()
            return
        left = limit - self._clock.monotonic()
        try:
            async with asyncio.timeout(max(left, 0.0)):
                await event.wait()
        except TimeoutError:
            raise no_turn(url, self._settings.max_wait or 0.0) from None

    def limit(self) -> float | None:
        """Until when this call may wait."""
        return None if self._settings.max_wait is None else self._clock.monotonic() + self._settings.max_wait

    def too_long(self, key: str) -> bool:
        """Whether trying again would mean a longer wait than the settings allow."""
        limit = self.limit()
        return limit is not None and self._gate.ready_at(key) > limit

    def report(self, key: str) -> None:
        """Something became known about a host: who waits for that asks again."""
        event = self._reports.pop(key, None) if self._reports else None
        if event is not None:
            event.set()
        if self.on_report is not None:
            self.on_report(key)

    # robots.txt

    async def _fetch_robots(self, step: FetchRobots, limit: float | None) -> None:
        clock, gate = self._clock, self._gate
        cache = self.cache if step.origin not in self._settings.auth else None  # what credentials open is for us alone
        kept = None if cache is None else cache.robots(step.origin, self._policy)
        if kept is not None and kept.fetched_at <= clock.wall() < kept.expires_at:
            gate.robots_withdrawn(step)
            gate.robots_known(kept, clock.monotonic(), age=clock.wall() - kept.fetched_at)
            self.report(step.key)
            self._tell(kept)
            return
        if kept is not None and step.cached is None:
            step = replace(step, cached=kept)
            gate.robots_held(kept)
        asked = [step]  # the hops so far, the last of them under way
        try:
            answer = await fetch_robots(
                step,
                self.sending,
                self._policy,
                self._settings,
                clock,
                turn=partial(self._hop, step, asked, limit),
                on_exchange=self.on_exchange,
            )
        except BaseException:
            gate.robots_abandoned(step, clock.monotonic())
            raise
        else:
            gate.epoch = clock.wall() - clock.monotonic()
            in_force = gate.robots_arrived(answer, clock.monotonic())
        finally:
            for hop in (step, asked[-1]):
                self.report(hop.key)
        if cache is not None:
            cache.keep_robots(in_force)
        self._tell(in_force)

    async def _hop(self, step: FetchRobots, asked: list[FetchRobots], limit: float | None, url: str) -> FetchRobots:
        """Wait for the turn of the host that a robots.txt redirects to."""
        while isinstance(hop := self._gate.robots_redirected(step, url, self._clock.monotonic()), Wait | Resolve):
            self.report(asked[-1].key)
            await self._take(hop, url, limit)
        self.report(asked[-1].key)
        asked.append(hop)
        return hop

    def _tell(self, result: RobotsResult) -> None:
        if self.on_robots is not None:
            self.on_robots(result)
