"""Time-outs for many short requests: one timer looks after all of them, where asyncio.timeout makes one for each.

A request is told of its end a little late (a twentieth of its time-out, a quarter of a second at most), never early.
"""

import asyncio
import math
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Final

LONGEST_TICK: Final = 0.25  # seconds


class Deadline:
    """One block of code that must end in time: `with deadlines.within(seconds): ...`.

    Raises:
        TimeoutError: on leaving, where the block was cancelled because its time was over.
    """

    __slots__ = ("_cancelling", "_deadlines", "_task", "expired", "when")

    def __init__(self, deadlines: "Deadlines", when: float) -> None:
        self._deadlines = deadlines
        self.when = when
        self.expired = False

    def __enter__(self) -> "Deadline":
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._cancelling = task.cancelling()
        self._deadlines._open.add(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._deadlines._open.discard(self)
        if self.expired and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def expire(self) -> None:
        self.expired = True
        self._task.cancel()


class Deadlines:
    """The blocks of one event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._open: set[Deadline] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._next = 0.0

    def within(self, seconds: float) -> Deadline:
        """A block that may take so many seconds."""
        now = self._loop.time()
        tick = min(seconds / 20, LONGEST_TICK)
        if self._timer is None or now + tick < self._next:
            self._start(now, tick)
        return Deadline(self, now + seconds)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The time that passes in the block counts for none of the running task's deadlines."""
        task = asyncio.current_task()
        since = self._loop.time()
        held = [(deadline, deadline.when) for deadline in self._open if deadline._task is task]
        for deadline, _ in held:
            deadline.when = math.inf
        try:
            yield
        finally:
            now = self._loop.time()
            for deadline, when in held:
                deadline.when = when + now - since
            if held and self._timer is None:
                nearest = min(deadline.when for deadline, _ in held)
                self._start(now, min(max(nearest - now, 0.001), LONGEST_TICK))

    def _start(self, now: float, tick: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._next = now + tick
        self._timer = self._loop.call_at(self._next, self._look)

    def _look(self) -> None:
        self._timer = None
        now = self._loop.time()
        open_ = [deadline for deadline in self._open if not deadline.expired]
        for deadline in open_:
            if deadline.when <= now:
                deadline.expire()
        nearest = min((deadline.when for deadline in open_ if deadline.when > now), default=None)
        if nearest is not None and nearest < math.inf:
            self._start(now, min(max(nearest - now, 0.001), LONGEST_TICK))

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
