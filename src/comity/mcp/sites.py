"""One pace for each site, whoever asks: tools, prompts and crawls of one server take turns at it.

Tools share one client, whose gate keeps the pace between them. A crawl has a client of its own: while a tool asks a
site that is being crawled, the crawl is held, and the interval lies before and after. It decides no interval itself.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from comity import Crawler, urls
from comity.domains import registrable
from comity.mcp.answers import Unanswerable

LONGEST_WAIT: Final = 60.0  # seconds that an answer waits for its turn
_MOST: Final = 10_000  # sites remembered
_LOOK: Final = 0.02  # seconds between two looks at a crawl that finishes what is under way


def site_of(url: str) -> str:
    """What takes turns here: a registrable domain, so that no crawl of one meets a tool on one of its hosts."""
    return registrable(urls.host(url))


@dataclass(slots=True)
class _Site:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    crawler: Crawler | None = None
    asked: float | None = None  # when it was last asked, on the loop's time
    by: object = None  # whose client asked it then, and so knows of it
    delay: float = 0.0  # seconds to be kept, as last heard
    resuming: asyncio.TimerHandle | None = None  # when the crawl goes on


class Sites:
    """The sites that one server asks.

    Args:
        delay: seconds between two requests to one host that the policy asks for.
    """

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._sites: OrderedDict[str, _Site] = OrderedDict()

    @asynccontextmanager
    async def turn(self, url: str, *, client: object = None) -> AsyncIterator[Callable[[float], None]]:
        """Ask a site while nobody else does. Gives a function to be told of the delay that the site wants.

        Args:
            client: who asks, where it is not the client that all tools share.
        """
        name = site_of(url)
        site = self._of(name)
        async with site.lock:
            crawler = site.crawler
            try:
                if crawler is not None:
                    await self._hold(crawler, site, name)
                else:
                    await self._interval(site, client)
                yield lambda delay: setattr(site, "delay", max(delay, self._delay))
            finally:  # awaits nothing: a client that went away must not leave a crawl held
                loop = asyncio.get_running_loop()
                site.asked, site.by = loop.time(), client
                if crawler is not None:
                    site.resuming = loop.call_later(max(site.delay, self._delay), crawler.go_on)

    def crawled(self, url: str) -> bool:
        """Whether a crawl of the URL's site is under way."""
        return self._of(site_of(url)).crawler is not None

    def crawling(self, seeds: Iterable[str], crawler: Crawler) -> None:
        """From now on these sites are this crawl's: no other begins there, and who asks holds this one."""
        for seed in seeds:
            self._of(site_of(seed)).crawler = crawler

    async def begin(self, seeds: Iterable[str], crawler: Crawler) -> None:
        """Wait until the interval after the last request of another is over at each of these sites."""
        for name in sorted({site_of(seed) for seed in seeds}):
            site = self._of(name)
            async with site.lock:
                await self._interval(site, crawler)

    def end(self, crawler: Crawler) -> None:
        """A crawl is over."""
        for site in self._sites.values():
            if site.crawler is crawler:
                site.crawler, site.by = None, crawler
                site.asked = asyncio.get_running_loop().time()

    async def _interval(self, site: _Site, client: object) -> None:
        """What lies between requests of two clients that know nothing of each other."""
        if site.asked is not None and site.by is not client:
            passed = asyncio.get_running_loop().time() - site.asked
            await _wait(max(site.delay, self._delay) - passed)

    async def _hold(self, crawler: Crawler, site: _Site, name: str) -> None:
        if site.resuming is not None:
            site.resuming.cancel()
        crawler.hold()
        while (now := crawler.snapshot(hosts=1_000)).under_way:
            await asyncio.sleep(_LOOK)
        ours = [host for host in now.hosts if name in host.name]
        site.delay = max([site.delay, self._delay, *(host.interval for host in ours)])
        await _wait(max([site.delay, *(host.wait for host in ours)]))

    def _of(self, name: str) -> _Site:
        site = self._sites.get(name)
        if site is None:
            while len(self._sites) >= _MOST:
                oldest = next((key for key, each in self._sites.items() if each.crawler is None), None)
                if oldest is None or self._sites[oldest].lock.locked():
                    break
                del self._sites[oldest]
            site = self._sites[name] = _Site()
        self._sites.move_to_end(name)
        return site


async def _wait(seconds: float) -> None:
    """
    Raises:
        Unanswerable: it would be longer than anybody waits for an answer.
    """
    if seconds > LONGEST_WAIT:
        raise Unanswerable(
            "postponed", f"The site is not to be asked for {seconds:.0f} s yet.", "Try again after that time."
        )
    await asyncio.sleep(max(seconds, 0))
