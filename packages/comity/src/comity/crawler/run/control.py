"""What a crawl is told from outside: to stop, to hold, to come to its end, how many pages it may keep.

It may be told before it runs. Whatever changes wakes the loop of the crawl.
"""

import asyncio

from comity.net import Clock


class WakeEvent:
    """What wakes one loop. `set` may be called at any time, before the sleep too."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rings = False
        self._sleeping: asyncio.Future[None] | None = None

    def set(self) -> None:
        self._rings = True
        if self._sleeping is not None:
            self._sleeping.cancel()

    async def sleep(self, seconds: float) -> None:
        """Until something happens, at most `seconds`."""
        if not self._rings and seconds > 0:
            self._sleeping = asyncio.ensure_future(self._clock.sleep(seconds))
            try:
                await asyncio.wait((self._sleeping,))
            finally:
                self._sleeping.cancel()
                self._sleeping = None
        elif not self._rings:
            await asyncio.sleep(0)
        self._rings = False


class Control:
    """What one crawl was told, and what woke it.

    Attributes:
        stopping: nothing new is started: what waits is for a later run.
        held: nothing is started for now.
        ending: nothing new is started, since all shards of the crawl are at rest or a limit is reached.
        granted: pages that may be kept, over all runs, where several shards share the limit; None where they do not.
        broken: the first error that ends the crawl.
        alarm: wakes the crawl's loop.
    """

    def __init__(self, clock: Clock) -> None:
        self.stopping = self.held = self.ending = False
        self.granted: int | None = None
        self.broken: BaseException | None = None
        self.alarm = WakeEvent(clock)
        self.wake = self.alarm.set

    def stop(self) -> None:
        self.stopping = True
        self.wake()

    def hold(self) -> None:
        self.held = True

    def resume(self) -> None:
        """Start requests again after `hold`."""
        if self.held:
            self.held = False
            self.wake()

    def end(self) -> None:
        self.ending = True
        self.wake()

    def grant(self, pages: int) -> None:
        self.granted = pages
        self.wake()

    def fail(self, error: BaseException) -> None:
        """The crawl cannot go on."""
        self.broken = self.broken or error
        self.wake()

    @property
    def is_over(self) -> bool:
        """Whether nothing new is to be started in this run."""
        return self.stopping or self.ending
