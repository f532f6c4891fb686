"""A clock for tests: sleeping takes no time, and the clock moves on only when nothing else can happen."""

import asyncio

from comity.net import Clock


class FakeClock(Clock):
    """Starts at 1,000 s. Sleepers wake in the order of their deadlines once the real I/O has come to rest."""

    def __init__(self, start: float = 1_000.0) -> None:
        self.now = start
        self.slept: list[float] = []
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []
        self._pump: asyncio.Task[None] | None = None

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> float:
        return 1_800_000_000.0 + self.now

    async def sleep(self, seconds: float) -> None:
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

    async def _advance(self) -> None:
        while self._sleepers:
            await asyncio.sleep(0.02)  # real time for real I/O on loopback
            if self._sleepers:
                self.now = max(self.now, min(deadline for deadline, _ in self._sleepers))
                for deadline, future in self._sleepers:
                    if deadline <= self.now and not future.done():
                        future.set_result(None)
                await asyncio.sleep(0)
                self._sleepers = [sleeper for sleeper in self._sleepers if not sleeper[1].done()]
