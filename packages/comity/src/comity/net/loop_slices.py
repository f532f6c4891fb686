"""Work that many could do at the same moment, shared out over the turns of the event loop.

When a hundred answers are there at once, each needs little time, and all of them together hold up whoever waits for the
loop. So of what is begun, read or unpacked a part is done in each of its turns, first come first served.
"""

import asyncio
from collections import deque


class LoopSlices:
    """For the tasks of one event loop.

    Args:
        most: what may be done in one turn, in whatever it is counted; what is larger has a turn for itself.
    """

    def __init__(self, most: int) -> None:
        self._most = self._left = most
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def take(self, size: int) -> None:
        """Come back when so much may be done: at once where there is room for it in this turn, and it needs not all."""
        loop = asyncio.get_running_loop()
        if self._left == self._most and not self._waiting:
            loop.call_soon(self._next)
        if self._waiting or self._left < size or size >= self._most:
            future = loop.create_future()
            self._waiting.append((size, future))
            await future
        else:
            self._left -= size

    def _next(self) -> None:
        """Another turn of the loop."""
        self._left = self._most
        while self._waiting and (self._left == self._most or self._left >= self._waiting[0][0]):
            size, future = self._waiting.popleft()
            if not future.done():  # else its task was cancelled
                self._left -= size
                future.set_result(None)
        if self._left < self._most or self._waiting:
            asyncio.get_running_loop().call_soon(self._next)
