"""The clock that drives the gate. Tests hand in another one and never sleep."""

import asyncio
import time


class Clock:
    """The machine's clocks: `monotonic` for waiting, `wall` (Unix time) for evidence."""

    def monotonic(self) -> float:
        return time.monotonic()

    def wall(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
