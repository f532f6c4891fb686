"""What a crawl is fed beside what it finds: in a refresh the pages visited before, and what a source names.

Each run begins at the beginning: what was taken up already, the frontier knows.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing

from comity.crawler.admit.intake import Intake
from comity.crawler.again.revisits import Refresh
from comity.crawler.plugins import Plugins

_STRETCH = 64  # URLs taken up before others have their turn


async def feed(
    intake: Intake, refresh: Refresh | None, plugins: Plugins, until_room: Callable[[], Awaitable[None]]
) -> None:
    """Feed a crawl to the end.

    Args:
        until_room: comes back when the frontier can take more.
    """
    if refresh is not None:
        for number, (url, depth) in enumerate(refresh.visits.until(refresh.last)):
            intake.again(url, depth=depth)
            if number % _STRETCH == 0:
                await asyncio.sleep(0)
                await until_room()
    if plugins.source is not None:
        async with aclosing(plugins.urls()) as named:
            async for url in named:
                intake.from_source(url)
                await asyncio.sleep(0)
                await until_room()
