"""Many URLs at once: hosts side by side, in the order in which answers arrive, failures as values.

It decides only what is asked for next; whether and when a request may be sent is the client's.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Final

from comity import urls
from comity.errors import ComityError, InvalidURL
from comity.net.response import Response

Progress = Callable[[int, int], None]
"""Told how many URLs are done, and how many there are."""

HOSTS: Final = 1000  # asked side by side; the others follow as these are done with
CALLS: Final = 4  # to one host at a time, where it has no pace; else one, so that none waits for longer than a turn
AHEAD: Final = 100  # answers that may wait for a slow caller


async def arriving(
    addresses: Sequence[str], get: Callable[[str], Awaitable[Response]], *, paced: bool
) -> AsyncGenerator[tuple[str, Response | ComityError], None]:
    """Each URL with its response or the error that came instead, as they arrive.

    Args:
        paced: whether time must lie between two requests to one host.

    Raises:
        Exception: what `get` raises beside ComityError.
    """
    hosts: dict[str, deque[str]] = {}
    for url in addresses:
        hosts.setdefault(_host(url), deque()).append(url)
    queues = iter(hosts.values())
    arrived: asyncio.Queue[tuple[str, Response | ComityError] | Exception] = asyncio.Queue(AHEAD)

    async def ask(queue: deque[str]) -> None:
        while queue:
            url = queue.popleft()
            try:
                await arrived.put((url, await get(url)))
            except ComityError as error:
                await arrived.put((url, error))
            except Exception as error:  # no failure of a URL's: the caller is to have it
                await arrived.put(error)

    async def work() -> None:
        for queue in queues:
            await asyncio.gather(*(ask(queue) for _ in range(min(1 if paced else CALLS, len(queue)))))

    workers = [asyncio.ensure_future(work()) for _ in range(min(HOSTS, len(hosts)))]
    try:
        for _ in addresses:
            each = await arrived.get()
            if isinstance(each, Exception):
                raise each
            yield each
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


def _host(url: str) -> str:
    try:
        return urls.host(urls.normalise(url))
    except (InvalidURL, TypeError, AttributeError):
        return ""
