"""The clocks of this machine, in one object, so that tests can hand in another."""

import time


class Clock:
    """The machine's clocks: `monotonic` for waiting, `wall` (Unix time) for evidence. Tests hand in another one.

    Attributes:
        within: seconds by which `wall` may differ from the clock that it follows; None where it follows none.
    """

    within: float | None = None

    monotonic = staticmethod(time.monotonic)  # asked a dozen times a request
    wall = staticmethod(time.time)

    def walls(self) -> tuple[float, ...]:
        """Return Unix time by each clock that there is, `wall` first: any of them may be set meanwhile."""
        return (self.wall(),)

    async def sleep(self, seconds: float) -> None:
        import asyncio

        await asyncio.sleep(seconds)
