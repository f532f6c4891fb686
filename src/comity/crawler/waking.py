"""A loop's sleep: until its time has come or something has happened, whichever is first. And the turns of long work on
the event loop, so that no site can hold up the others with much of it.
"""

import asyncio
from time import perf_counter
from typing import Final

from comity.net import Clock

LONGEST: Final = 0.01  # seconds that work goes on before others have their turn


class Alarm:
    """What wakes one loop. `set` may be called at any time, before the sleep too."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._event = asyncio.Event()
        self.set = self._event.set

    async def sleep(self, seconds: float) -> None:
        """Until something happens, at most `seconds`."""
        if not self._event.is_set() and seconds > 0:
            waking = asyncio.ensure_future(self._event.wait())
            sleeping = asyncio.ensure_future(self._clock.sleep(seconds))
            try:
                await asyncio.wait((waking, sleeping), return_when=asyncio.FIRST_COMPLETED)
            finally:
                waking.cancel()
                sleeping.cancel()
        elif not self._event.is_set():
            await asyncio.sleep(0)
        self._event.clear()


class Turns:
    """Pieces of long work on one event loop: of those that were interrupted, one goes on at each turn of the loop."""

    def __init__(self) -> None:
        self._line = asyncio.Lock()

    def stretch(self) -> "Stretch":
        """A piece of work that begins now."""
        return Stretch(self._line)


class Stretch:
    """One piece of long work. It asks now and then whether its time `is_over`, and then makes a `pause`."""

    __slots__ = ("_began", "_line")

    def __init__(self, line: asyncio.Lock) -> None:
        self._line = line
        self._began = perf_counter()

    def is_over(self) -> bool:
        return perf_counter() - self._began > LONGEST

    async def pause(self) -> None:
        """Until all others have had their turn."""
        async with self._line:
            await asyncio.sleep(0)
        self._began = perf_counter()
