"""A loop's sleep: until its time has come or something has happened, whichever is first."""

import asyncio

from comity.net import Clock


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
