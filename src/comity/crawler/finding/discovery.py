"""Takes up what an answer names: links, feeds, sitemaps, where a URL leads. Nothing is sent, nothing is settled.

Long work on the event loop goes on in short pieces, so that no site can hold up the others with much of it.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Final, Literal

from comity import urls
from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.finding import admission
from comity.crawler.finding.admission import URLFilter
from comity.crawler.finding.recrawl import RefreshRun
from comity.crawler.run.book import Book
from comity.crawler.run.control import Control
from comity.crawler.run.outcomes import Absent, Known, Outcome, PageRead, PutOff, Redirected, Refused, SitemapRead
from comity.frontier import Entry, EntryKind
from comity.policy import RobotsResult
from comity.signals.links import Page, Refresh
from comity.signals.robots_meta import RobotsMeta
from comity.signals.sitemaps import may_be_sitemap

LONGEST: Final = 0.01  # seconds that work goes on before others have their turn
FEW: Final = 8  # links taken up between two looks at the time
MANY: Final = 1024  # links of which it is asked whether they were met lately, between two looks
MOST_FOUND: Final = 20_000  # URLs found that wait for a commit, about: what names more of them is read on after it


class Stretch:
    """One piece of long work. It asks now and then whether its time `is_over`, and then makes a `pause`."""

    __slots__ = ("_began", "_line")

    def __init__(self, line: asyncio.Lock) -> None:
        self._line = line
        self._began = perf_counter()

    def is_over(self) -> bool:
        return perf_counter() - self._began > LONGEST

    async def pause(self) -> None:
        """Until all others have had their turn. Of what was interrupted, one goes on at each turn of the loop."""
        async with self._line:
            await asyncio.sleep(0)
        self._began = perf_counter()


class Discovery:
    """What the answers of one crawl name.

    Args:
        robots_of: what is known of an origin's robots.txt.
    """

    def __init__(
        self,
        settings: CrawlSettings,
        url_filter: URLFilter,
        book: Book,
        refresh: RefreshRun | None,
        robots_of: Callable[[str], RobotsResult | None],
        control: Control,
    ) -> None:
        self._settings = settings
        self._filter = url_filter
        self._book = book
        self._dates = refresh is not None and refresh.trusts_sitemaps  # whether the `lastmod` of sitemaps counts
        self._robots_of = robots_of
        self._wake = control.wake
        self._line = asyncio.Lock()

    async def take_up(self, outcome: Outcome) -> Outcome:
        """Take up what an outcome names; gives the outcome with what that showed. It may be given up and repeated."""
        entry = outcome.entry
        if self._filter.forgets and (robots := self._robots_of(urls.origin(entry.url))) is not None:
            self._filter.robots_seen(robots)
        match outcome:
            case PageRead(named=Page() as page, meta=meta):
                await self._follow(entry, page, meta)
            case Redirected(target=target):
                is_sitemap = entry.kind is EntryKind.PAGE or may_be_sitemap(target)
                if not is_sitemap and self._filter.is_guess(entry.url):
                    self._filter.guess_sitemap(entry.url, is_missing=True)  # it leads to the front page
                elif target is not None:
                    self._lead(entry, target)
            case SitemapRead():
                return await self._sitemap(outcome)
            case Absent():
                self._filter.guess_sitemap(entry.url, is_missing=True)
            case Known() | Refused() | PutOff():
                await self._sitemaps_of(entry.url)
        return outcome

    def _lead(self, entry: Entry, target: str) -> None:
        """Follow where a URL leads instead of it, or beside it, so many links from the start as it is itself."""
        given = entry.depth == 0 and entry.kind is EntryKind.PAGE
        if given:  # example.com -> www.example.com
            self._filter.moved(entry.url, target)
        exactly = given or self._filter.clean(target) == entry.url  # the site insists on its session
        self._filter.discover(
            target, depth=entry.depth, kind=entry.kind, hops=entry.hops + 1, given=exactly, found_on=entry.url
        )

    async def _sitemaps_of(self, url: str) -> None:
        """The sitemaps of a URL's site, once its robots.txt is known."""
        if not self._settings.sitemaps or self._settings.max_depth == 0:
            return
        origin, stretch = urls.origin(url), Stretch(self._line)
        if not (named := self._filter.sitemaps_of(origin)):
            self._filter.guess_sitemap(url)
        for sitemap in named:
            self._filter.discover(sitemap, depth=1, kind=EntryKind.SITEMAP, found_on=f"{origin}/robots.txt")
            await self._pause(stretch)

    async def _sitemap(self, outcome: SitemapRead) -> Outcome:
        """What a sitemap or a feed names. One that is empty, and that nobody had named, is none: a page that says "not
        found" with status 200, for instance.
        """
        entry, stretch = outcome.entry, Stretch(self._line)
        stated = []
        empty = True
        for url, kind, changed in admission.in_sitemap(outcome.answer.body, entry.url, dates=self._dates):
            hops = entry.hops + 1 if kind is EntryKind.SITEMAP else 0
            self._filter.discover(url, depth=entry.depth, kind=kind, hops=hops, found_on=entry.url)
            empty = False
            if changed is not None:
                stated.append((changed, self._filter.clean(url)))
            await self._pause(stretch)
        if empty and self._filter.is_guess(entry.url):
            self._filter.guess_sitemap(entry.url, is_missing=True)
            return Absent(entry=entry, answer=outcome.answer)
        return replace(outcome, stated=tuple(stated))

    async def _follow(self, entry: Entry, page: Page, meta: RobotsMeta) -> None:
        follows = self._settings.follow_nofollow or not meta.nofollow
        if follows and page.refresh is not None and page.refresh.url != entry.url:
            self._sent_on(entry, page.refresh)
        stretch = Stretch(self._line)
        links, unfollowed = admission.links_of(page, meta, follow_nofollow=self._settings.follow_nofollow)
        if self._settings.max_depth is not None and entry.depth >= self._settings.max_depth:
            await self._leave_out(links, "outside", stretch)
        else:
            for url, kind in admission.named_by_page(page, is_given=entry.depth == 0, feeds=self._settings.feeds):
                self._filter.discover(url, depth=entry.depth + 1, kind=kind, found_on=entry.url)
                await self._pause(stretch)
            for start in range(0, len(links), MANY):
                for number, url in enumerate(self._filter.unmet(links[start : start + MANY])):  # of most next to none
                    self._filter.discover(url, depth=entry.depth + 1, found_on=entry.url)
                    if number % FEW == 0 and stretch.is_over():
                        await self._pause(stretch)
                await self._pause(stretch)
        await self._leave_out(unfollowed, "nofollow", stretch)

    async def _leave_out(self, links: Sequence[str], why: Literal["outside", "nofollow"], stretch: Stretch) -> None:
        for start in range(0, len(links), MANY):
            self._filter.leave_out(links[start : start + MANY], why)
            await self._pause(stretch)

    def _sent_on(self, entry: Entry, refresh: Refresh) -> None:
        """A page sends its reader on: a redirect where that is at once or the page was given, a link where it is not.

        The HTML standard has browsers navigate after so many seconds; search engines take 0 for a redirect.
        """
        if refresh.seconds == 0 or entry.depth == 0:
            self._lead(entry, refresh.url)
        elif self._settings.max_depth is None or entry.depth < self._settings.max_depth:
            self._filter.discover(refresh.url, depth=entry.depth + 1, found_on=entry.url)
        else:
            self._filter.leave_out((refresh.url,), "outside")

    async def _pause(self, stretch: Stretch) -> None:
        """Let others have their turn where that is due, and a commit take what was found so far where it is much."""
        if stretch.is_over():
            await stretch.pause()
            await self._book.until_below(MOST_FOUND, self._wake)
