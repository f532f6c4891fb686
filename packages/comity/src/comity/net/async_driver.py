"""AsyncDriver: carries out the effects of turns on an event loop."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from comity.errors import system_failed
from comity.gate import FetchRobots, Go
from comity.net import turns
from comity.net.deadlines import Deadline
from comity.net.names import in_thread
from comity.net.response import Response
from comity.policy import Decision
from comity_pages.urls import Url

Get = Callable[[FetchRobots, dict[str, str]], Awaitable[Response]]
"""Sends one request for a robots.txt, with conditions as headers; follows no redirect."""


async def system_address(host: str) -> str:
    """Return an address of a host by the system's resolver; the host itself where it has none. A SystemFailed: it could
    not be asked."""
    try:
        return min(await in_thread(host.strip("[]")))
    except OSError as error:
        if (failed := system_failed(error)) is not None:
            raise failed from error
        return host


class AsyncDriver(turns.TurnProtocol):
    """For callers on an asyncio event loop; one loop uses it at a time.

    Attributes:
        address_of: finds an address of a host, where the policy paces by addresses.
    """

    address_of: Callable[[str], Awaitable[str]] = staticmethod(system_address)

    def _begin(self, other: turns.TurnProtocol | None = None) -> None:
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
        """Return the decision about a URL. Errors as for `decision_on`."""
        return await self._run(self.decision_on(url), get)

    async def relayed(self, asked: turns.Relay, get: Get) -> Response | Exception:
        """Return what a host of ours answers to who has us relay. Errors as for `relayed_robots`."""
        return await self._run(self.relayed_robots(*asked), get)

    async def permission(self, url: Url, get: Get) -> Go:
        """Return a Go for a URL when its turn has come. Errors as for `permission_for`."""
        step = self.first_step(url) if self._lines else self.gate.ask(url, self.clock.monotonic())
        return step if isinstance(step, Go) else await self._run(self.permission_for(url, step), get)

    def give_up_waiting(self, error: Callable[[], Exception] | None = None) -> None:
        """Cancel every task that waits for a turn, or have an error raised there; what was sent goes on."""
        for task in self._waiting:
            self._waiting[task] = error
            task.cancel()

    async def wait_for(self, turn: "asyncio.Future[Any]") -> Any:
        """Return what a turn that somebody else gives comes to; `give_up_waiting` ends it too."""
        with self._waits():
            return await turn

    async def find_pace(self, host: str) -> None:
        """Find out what shares its pace with a host, where that depends on its address."""
        if self.gate.pace_of(host) is None:
            self.gate.resolved(host, await self.address_of(host))

    async def _run(self, flow: turns.Flow[turns.T], get: Get) -> turns.T:
        try:
            effect = next(flow)
            while True:
                try:
                    outcome = await self._carry_out(effect, get)
                except BaseException as error:
                    effect = flow.throw(error)
                else:
                    effect = flow.send(outcome)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    async def _carry_out(self, effect: turns.Effect, get: Get) -> Any:
        match effect:
            case turns.RequestRobots(step, conditions):
                try:
                    with Deadline(self.robots_timeout):
                        return await get(step, conditions)
                except turns.NO_ANSWER as error:
                    return error
            case turns.ResolveHost(host):
                return await self.address_of(host)
            case turns.Relay():
                return await self.hooks.relay(effect) if self.hooks.relay is not None else None
            case turns.Sleep(seconds):
                with self._waits():
                    return await self.clock.sleep(seconds)
            case turns.WaitForEvent(token, seconds):
                event = self._events.setdefault(token, asyncio.Event())
                with self._waits():
                    try:
                        async with asyncio.timeout(seconds):
                            return await event.wait()
                    except TimeoutError:
                        return False

    @contextmanager
    def _waits(self) -> Iterator[None]:
        """Count the task that runs the block among those that wait for a turn."""
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


async def read_robots(url: str, status: int, headers: Mapping[str, str], parts: AsyncIterable[bytes]) -> Response:
    """As `blocking_driver.read_robots`; the deadline is kept further up."""
    body = turns.RobotsBody(url, status, headers)
    async for part in parts:
        body.take(part)
        if body.is_full:
            break
    return Response(url=url, status=status, headers=headers, body=body.end(), truncated=body.is_full)
