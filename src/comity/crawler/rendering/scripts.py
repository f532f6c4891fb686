"""Scripts and style sheets that were fetched in this run, so that a site's pages do not ask for them again and again.

Each is asked for once, however many pages want it at the same time. It is a browser's cache for one sitting: what the
site says is not to be stored is not kept.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any, Final

from comity.net import Response

KINDS: Final = ("script", "stylesheet")
MOST: Final = 64 * 1024 * 1024  # bytes
_OVERHEAD: Final = 2000  # bytes of an answer beside its body, about

Key = tuple[str, str, bool]
"""URL; the origin that asks, where it says so; whether credentials are sent: the answer may differ."""


class Scripts:
    """What is kept; the longest unused goes first."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._size = 0
        self._kept: OrderedDict[Key, Response] = OrderedDict()
        self._coming: dict[Key, asyncio.Task[Response]] = {}

    def known(self, key: Key) -> bool:
        """Whether `get` would send nothing."""
        return key in self._kept or key in self._coming

    async def get(self, key: Key, fetch: Callable[[], Coroutine[Any, Any, Response]]) -> Response:
        """The answer for a key, by `fetch` where it is not here; errors are those of `fetch`."""
        if (kept := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
            return kept
        task = self._coming.get(key)
        if task is None:
            task = self._coming[key] = asyncio.get_running_loop().create_task(fetch())
            task.add_done_callback(lambda task: self._arrived(key, task))
        # The page that asked first may be closed while others wait.
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Give up what is under way."""
        tasks = list(self._coming.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _arrived(self, key: Key, task: asyncio.Task[Response]) -> None:
        self._coming.pop(key, None)
        if task.cancelled() or task.exception() is not None or not _may_be_kept(response := task.result()):
            return
        self._kept[key] = response
        self._size += len(response.body) + _OVERHEAD
        while self._size > self._most:
            self._size -= len(self._kept.popitem(last=False)[1].body) + _OVERHEAD


def _may_be_kept(response: Response) -> bool:
    stated = ",".join(response.header_values("Cache-Control")).lower()
    return response.status == 200 and "no-store" not in stated and "*" not in response.header_values("Vary")
