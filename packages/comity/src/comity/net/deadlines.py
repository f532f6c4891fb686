"""Time-outs for many short requests: one timer of an event loop looks after all of them, where asyncio.timeout makes
one for each, which costs a request 7 us more. The time that is spent waiting for our own side does not count.

A request is told of its end a little late (a twentieth of its time-out, a quarter of a second at most), never early.
"""

import asyncio
import math
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Final
from weakref import WeakKeyDictionary

from comity.errors import Timeout

MAX_TICK_SECONDS: Final = 0.25  # seconds


class Deadline:
    """One block of code that may take so many seconds: `with Deadline(seconds): ...`.

    Args:
        url: of the request that the block is about, for the error.

    Raises:
        TimeoutError: on leaving, where the block was cancelled because its time was over; Timeout where `url` is given.
    """

    __slots__ = ("_cancelling", "_seconds", "_timer", "_url", "expired", "task", "when")

    task: asyncio.Task[object]
    when: float

    def __init__(self, seconds: float, url: str | None = None) -> None:
        self._seconds = seconds
        self._url = url
        self.expired = False

    def __enter__(self) -> None:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None
        self.task = task
        self._cancelling = task.cancelling()
        timer = _TIMERS.get(loop)
        if timer is None:
            timer = _TIMERS[loop] = _Timer()
        self._timer = timer
        timer.open.add(self)
        now = loop.time()
        self.when = now + self._seconds
        tick = min(self._seconds / 20, MAX_TICK_SECONDS)
        if now + tick < timer.next:
            timer.start(loop, now + tick)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.open.discard(self)
        if self.expired and self.task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise (TimeoutError() if self._url is None else timed_out(self._url, self._seconds)) from error


def timed_out(url: str, seconds: float) -> Timeout:
    return Timeout(
        f"no complete answer from {url} within {seconds:.3g} s", url=url, hint="raise the time-out or try later"
    )


class _Timer:
    """The timer of one event loop, and the blocks it looks after."""

    def __init__(self) -> None:
        self.open: set[Deadline] = set()
        self.next = math.inf  # when it goes off

    def start(self, loop: asyncio.AbstractEventLoop, when: float) -> None:
        if when < self.next:
            self.next = when
            loop.call_at(when, self._look, loop, when)

    def _look(self, loop: asyncio.AbstractEventLoop, when: float) -> None:
        if when != self.next:  # one was started since that goes off sooner, and this one is not needed
            return
        self.next, now = math.inf, loop.time()
        for deadline in self.open:
            if deadline.when <= now and not deadline.expired:
                deadline.expired = True
                deadline.task.cancel()
        nearest = min((each.when for each in self.open if not each.expired), default=math.inf)
        if nearest < math.inf:
            self.start(loop, now + min(max(nearest - now, 0.001), MAX_TICK_SECONDS))


_TIMERS: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, _Timer]] = WeakKeyDictionary()


@contextmanager
def deadlines_paused() -> Iterator[None]:
    """Leave the time that passes in the block out of all time-outs of the running task."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    timer, since = _TIMERS.get(loop), loop.time()
    held = [(each, each.when) for each in timer.open if each.task is task] if timer is not None else []
    for deadline, _ in held:
        deadline.when = math.inf
    try:
        yield
    finally:
        now = loop.time()
        for deadline, when in held:
            deadline.when = when + now - since
        if timer is not None and held:
            nearest = min(deadline.when for deadline, _ in held)
            timer.start(loop, now + min(max(nearest - now, 0.001), MAX_TICK_SECONDS))
