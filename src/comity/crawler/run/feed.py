"""What a crawl takes up beside what it finds: pages that an earlier crawl visited, and what a source plug-in names."""

import asyncio
from contextlib import aclosing
from typing import Final

from comity.crawler.finding.admission import URLFilter
from comity.crawler.finding.recrawl import RefreshRun
from comity.crawler.plugins import Plugins
from comity.crawler.run.book import Book
from comity.crawler.run.commits import SIZE
from comity.crawler.run.control import Control

AT_ONCE: Final = 64  # pages visited before that are taken up before others have their turn


async def feed(
    plugins: Plugins, refresh: RefreshRun | None, url_filter: URLFilter, book: Book, control: Control
) -> None:
    """Take up all that comes from elsewhere, no faster than the frontier takes it; what fails ends the crawl.

    Each run begins at the beginning: what was taken up already, the frontier knows.
    """

    async def until_room() -> None:
        await asyncio.sleep(0)
        await book.until_below(SIZE, control.wake)

    try:
        for number, visit in enumerate(refresh.visits.until(refresh.last) if refresh is not None else ()):
            url_filter.revisit(visit)
            if number % AT_ONCE == 0:
                await until_room()
        async with aclosing(plugins.urls()) as named:
            async for url in named:
                url_filter.from_source(url)
                await until_room()
    except Exception as error:
        control.fail(error)
