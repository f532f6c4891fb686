"""A clock for tests: sleeping takes no time, and the clock moves on only when nothing else can happen."""

import asyncio
import time
from collections.abc import Iterator
from types import CoroutineType, FrameType
from typing import Any, Final
from weakref import WeakKeyDictionary

from sites import HANGS

from comity.net import Clock

_EXCHANGES: Final = ("aiohttp.", "comity.net.transport", "comity.net.connections", "comity.net.names")
"""Modules that wait for a server while a request is under way."""


class FakeClock(Clock):
    """Starts at 1,000 s. Sleepers wake in the order of their deadlines once all else is at rest, however long it takes:
    no request waits for its answer, no thread of an executor works for the loop, no callback is ready to run.
    """

    def __init__(self, start: float = 1_000.0) -> None:
        self.now = start
        self.slept: list[float] = []
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []
        self._pump: asyncio.Task[None] | None = None
        self._working: WeakKeyDictionary[asyncio.AbstractEventLoop, set[asyncio.Future[Any]]] = WeakKeyDictionary()

    def monotonic(self) -> float:
        self._watch_executors()
        return self.now

    def wall(self) -> float:
        return 1_800_000_000.0 + self.now

    async def sleep(self, seconds: float) -> None:
        self._watch_executors()
        self.slept.append(seconds)
        future = asyncio.get_running_loop().create_future()
        sleeper = (self.now + seconds, future)
        self._sleepers.append(sleeper)
        if self._pump is None or self._pump.done():
            self._pump = asyncio.ensure_future(self._advance())
        try:
            await future
        finally:
            if sleeper in self._sleepers:
                self._sleepers.remove(sleeper)

    def _watch_executors(self) -> None:
        """Know from now on of all that the running loop gives to threads."""
        loop = asyncio._get_running_loop()
        if loop is None or loop in self._working:
            return
        working = self._working[loop] = set()
        give = loop.run_in_executor

        def noted(*arguments: Any) -> asyncio.Future[Any]:
            future = give(*arguments)
            working.add(future)
            future.add_done_callback(working.discard)
            return future

        loop.run_in_executor = noted  # type: ignore[method-assign]

    async def _advance(self) -> None:
        while self._sleepers:
            await self._rest()
            if self._sleepers:
                self.now = max(self.now, min(deadline for deadline, _ in self._sleepers))
                for deadline, future in self._sleepers:
                    if deadline <= self.now and not future.done():
                        future.set_result(None)
                await asyncio.sleep(0)
                self._sleepers = [sleeper for sleeper in self._sleepers if not sleeper[1].done()]

    async def _rest(self) -> None:
        """Wait until nothing is under way but sleepers."""
        loop = asyncio.get_running_loop()
        begun = time.monotonic()
        while True:
            await asyncio.sleep(0.02)  # for what the test itself does in real time
            for _ in range(100):  # callbacks that are ready, and those that they make ready
                await asyncio.sleep(0)
                if not getattr(loop, "_ready", ()):
                    break
            if not self._working.get(loop) and not any(_waits_for_a_server(task) for task in asyncio.all_tasks()):
                return
            if time.monotonic() > begun + HANGS:
                for _, future in self._sleepers:
                    if not future.done():
                        future.set_exception(TimeoutError("a request or a thread did not end: the clock stands still"))


def _waits_for_a_server(task: "asyncio.Task[Any]") -> bool:
    """Whether the innermost frame of the project or of aiohttp in a task is in the middle of a request."""
    modules = [str(frame.f_globals.get("__name__")) for frame in _frames(task.get_coro())]
    ours = [module for module in modules if module.startswith(("aiohttp.", "comity."))]
    return bool(ours) and ours[-1].startswith(_EXCHANGES)


def _frames(waiting: object) -> Iterator[FrameType]:
    """The frames of a coroutine and of what it waits for, outermost first."""
    while isinstance(waiting, CoroutineType):
        if waiting.cr_frame is not None:
            yield waiting.cr_frame
        waiting = waiting.cr_await
