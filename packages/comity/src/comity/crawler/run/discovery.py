"""What an answer names, and that it is taken up: links, feeds, sitemaps, where a URL leads. Nothing is sent, nothing is
settled; what of it enters the queue is the URL filter's to say. Long work on the event loop goes on in short pieces, so
that no site can hold up the others with much of it."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from time import perf_counter
from typing import Any, Final, Literal

from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.finding.sitemap_names import ANY_HOST, MAX_HOSTS_LEFT
from comity.crawler.run import outcomes
from comity.crawler.run.admission import URLFilter
from comity.crawler.run.control import Control
from comity.crawler.run.recrawl import RefreshRun
from comity.crawler.run.results import ResultBuffer
from comity.frontier.values import Entry, EntryKind
from comity.policy import RobotsResult
from comity_pages import urls
from comity_pages.signals import sitemaps
from comity_pages.signals.links import UNFOLLOWED, Page, Refresh
from comity_pages.signals.robots_meta import RobotsMeta
from comity_pages.signals.sitemaps import may_be_sitemap

MAX_SLICE_SECONDS: Final = 0.01  # seconds that work goes on before others have their turn
LINKS_PER_CHECK: Final = 8  # links taken up between two looks at the time
LINKS_PER_BATCH: Final = 1024  # links of which it is asked whether they were met lately, between two looks
MAX_FOUND_URLS: Final = 20_000  # URLs found that wait for a commit, about: what names more of them is read on after it
FEEDS: Final = frozenset(("application/rss+xml", "application/atom+xml", "application/rdf+xml"))
_SNIFFED_BYTES: Final = 65_536  # bytes of a document that tell what it is


def named_by_page(page: Page, *, is_given: bool, feeds: bool) -> Iterator[tuple[str, EntryKind]]:
    """The canonical URL and, of a page that was given, the feeds: other pages repeat them, or name one for each
    article.
    """
    if page.canonical is not None and page.canonical != page.url:
        yield page.canonical, EntryKind.PAGE
    if feeds and is_given:
        yield from ((each.url, EntryKind.SITEMAP) for each in page.alternates if each.type in FEEDS)


def links_of(page: Page, meta: RobotsMeta, *, follow_nofollow: bool) -> tuple[Sequence[str], Sequence[str]]:
    """The links that a page lets be followed, all of them where the operator says so, and those that it does not."""
    found, rels = zip(*page.links, strict=True) if page.links else ((), ())
    asking = () if follow_nofollow else {rel for rel in set(rels) if meta.nofollow or not UNFOLLOWED.isdisjoint(rel)}
    if not asking:
        return found, ()
    followed = [url for url, rel in page.links if rel not in asking]
    return followed, [url for url, rel in page.links if rel in asking]


def is_sitemap(body: bytes, url: str, *, feeds: bool) -> bool:
    """Whether a document is a sitemap, or a feed where these count; a list of URLs as text cannot be told."""
    reader = sitemaps.SitemapReader(url)
    for _ in reader.read(body[:_SNIFFED_BYTES]):
        break
    return reader.kind in ("urlset", "sitemapindex") or (feeds and reader.kind in ("rss", "atom"))


class SitemapContents:
    """What a sitemap or a feed names, other sitemaps and the pages it may speak of, with its entry where that says
    when the page changed; a feed says only when it came out. It is read once. `origins`: of which it may list URLs,
    beside its own; see `SitemapNames.of`."""

    def __init__(self, body: bytes, url: str, *, origins: Iterable[str] = ()) -> None:
        self._body = body
        self._hosts = {urls.host(url), *map(urls.host, origins)}
        self._reader = sitemaps.SitemapReader(url)
        self._unusable = self._elsewhere = 0
        self._left: set[str] = set()

    def __iter__(self) -> Iterator[tuple[str, EntryKind, sitemaps.SitemapUrl | None]]:
        reader = self._reader
        for item in reader.read(self._body):
            target = urls.join(reader.url, item.loc)
            if target is None:
                self._unusable += 1
            elif isinstance(item, sitemaps.SitemapRef):
                yield target, EntryKind.SITEMAP, None
            elif urls.host(target) in self._hosts:
                yield target, EntryKind.PAGE, item if reader.kind == "urlset" and item.lastmod is not None else None
            else:
                self._elsewhere += 1
                self._left.add(urls.host(target) if len(self._left) < MAX_HOSTS_LEFT else ANY_HOST)

    @property
    def is_none(self) -> bool:
        """Whether what was read is no sitemap, or an empty one: a page that says "not found", for instance."""
        return self._reader.kind == "unknown" or not (self._reader.entries or self._reader.problem)

    @property
    def left(self) -> set[str]:
        """The hosts of which it may list more, for origins that name it later; an index for any."""
        return {ANY_HOST} if self._reader.kind == "sitemapindex" else self._left

    def said(self) -> dict[str, Any]:
        """What its record says of how it was read."""
        reader = self._reader
        return {
            "kind": reader.kind,
            "entries": reader.entries,
            "skipped": reader.skipped + self._unusable,
            "elsewhere": self._elsewhere,
            "problem": reader.problem,
            "stopped_line": reader.stopped_at.line if reader.stopped_at is not None else None,
            "stopped_byte": reader.stopped_at.byte if reader.stopped_at is not None else None,
        }


def latest_change(item: sitemaps.SitemapUrl) -> float | None:
    """The latest Unix time in seconds that the `lastmod` of a sitemap's entry leaves; None where it says none."""
    if item.lastmod is None:
        return None
    try:
        return _end(item.lastmod, item.precision).timestamp()
    except (OverflowError, ValueError):  # the year 9999, or one that is no year here
        return None


def as_stated(item: sitemaps.SitemapUrl) -> str:
    """The `lastmod` of a sitemap's entry, as precise as it was stated."""
    text = item.lastmod.isoformat() if item.lastmod is not None else ""
    return text[: {"year": 4, "month": 7, "day": 10}.get(item.precision or "")]


def _end(start: datetime, precision: str | None) -> datetime:
    match precision:
        case "year":
            return start.replace(year=start.year + 1)
        case "month":
            return (start + timedelta(days=32)).replace(day=1)
        case "day":
            return start + timedelta(days=1)
        case _:
            return start + timedelta(minutes=1)


class TimeSlice:
    """One piece of long work. It asks now and then whether its time `is_over`, and then makes a `pause`."""

    __slots__ = ("_began", "_line")

    def __init__(self, line: asyncio.Lock) -> None:
        self._line = line
        self._began = perf_counter()

    def is_over(self) -> bool:
        return perf_counter() - self._began > MAX_SLICE_SECONDS

    async def pause(self) -> None:
        """Until all others have had their turn. Of what was interrupted, one goes on at each turn of the loop."""
        async with self._line:
            await asyncio.sleep(0)
        self._began = perf_counter()


class Discovery:
    """What the answers of one crawl name. `robots_of`: what is known of an origin's robots.txt."""

    def __init__(
        self,
        settings: CrawlSettings,
        url_filter: URLFilter,
        results: ResultBuffer,
        refresh: RefreshRun | None,
        robots_of: Callable[[str], RobotsResult | None],
        control: Control,
    ) -> None:
        self._settings = settings
        self._filter = url_filter
        self._results = results
        self._dates = refresh is not None and refresh.trusts_sitemaps  # whether the `lastmod` of sitemaps counts
        self._robots_of = robots_of
        self._wake = control.wake
        self._line = asyncio.Lock()

    async def apply(self, outcome: outcomes.Outcome) -> outcomes.Outcome:
        """Take up what an outcome names; gives the outcome with what that showed. It may be given up and repeated."""
        entry = outcome.entry
        if self._filter.forgets and (robots := self._robots_of(urls.origin(entry.url))) is not None:
            self._filter.robots_seen(robots)
        stretch = TimeSlice(self._line)
        hops = entry.hops + 1 if entry.kind is EntryKind.REQUISITE else 0  # so that no chain of sheets is endless
        for url in outcome.requisites:  # before links, some of which may lead to the same
            self._filter.discover(url, depth=entry.depth + 1, kind=EntryKind.REQUISITE, hops=hops, found_on=entry.url)
            await self._pause(stretch)
        match outcome:
            case outcomes.PageRead(named=Page() as page, meta=meta):
                await self._follow(entry, page, meta)
            case outcomes.Redirected(target=target):
                is_sitemap = entry.kind is EntryKind.PAGE or may_be_sitemap(target)
                if not is_sitemap and self._filter.is_guess(entry.url):
                    self._filter.guess_sitemap(entry.url, is_missing=True)  # it leads to the front page
                elif target is not None:
                    self._lead(entry, target)
            case outcomes.SitemapRead():
                return await self._sitemap(outcome)
            case outcomes.GuessedSitemapMissing():
                self._filter.guess_sitemap(entry.url, is_missing=True)
            case outcomes.RobotsKnown() | outcomes.Refused() | outcomes.Deferred():
                await self._sitemaps_of(entry.url)
        return outcome

    def _lead(self, entry: Entry, target: str) -> None:
        """Follow where a URL leads instead of it, or beside it, so many links from the start as it is itself."""
        given = entry.depth == 0 and entry.kind is EntryKind.PAGE
        if given:  # example.com -> www.example.com
            self._filter.moved(entry.url, target)
        exactly = given or self._filter.clean(target) == entry.url  # the site insists on its session
        if entry.kind is EntryKind.SITEMAP:
            self._filter.was_read(entry, (ANY_HOST,))
        self._filter.discover(
            target,
            depth=entry.depth,
            kind=entry.kind,
            hops=entry.hops + 1,
            given=exactly,
            found_on=entry.url,
            named_by=self._filter.naming(entry.url) if entry.kind is EntryKind.SITEMAP else (),
        )

    async def _sitemaps_of(self, url: str) -> None:
        """The sitemaps of a URL's site, once its robots.txt is known."""
        if not self._settings.sitemaps or self._settings.max_depth == 0:
            return
        origin, stretch = urls.origin(url), TimeSlice(self._line)
        if not self._filter.reaches(origin):  # a sitemap of others lies there
            return
        if not (named := self._filter.sitemaps_of(origin)):
            self._filter.guess_sitemap(url)
        for sitemap in named:
            robots_txt = f"{origin}/robots.txt"
            self._filter.discover(sitemap, depth=1, kind=EntryKind.SITEMAP, found_on=robots_txt, named_by=(origin,))
            await self._pause(stretch)

    async def _sitemap(self, outcome: outcomes.SitemapRead) -> outcomes.Outcome:
        """What a sitemap or a feed names, and how it was read."""
        entry, stretch = outcome.entry, TimeSlice(self._line)
        stated = []
        origins = self._filter.sitemap_names.of(entry.url)
        host, naming = urls.host(entry.url), self._filter.naming(entry.url)
        contents = SitemapContents(outcome.answer.body, entry.url, origins=origins)
        for url, kind, dated in contents:
            named_by = naming if kind is EntryKind.SITEMAP else ()
            if urls.host(url) != host:  # what lies on a third host, only the site of the index itself may name
                named_by = named_by[:1]
            hops = entry.hops + 1 if kind is EntryKind.SITEMAP else 0
            self._filter.discover(url, depth=entry.depth, kind=kind, hops=hops, found_on=entry.url, named_by=named_by)
            if dated is not None:
                self._filter.dated(url, entry.depth, as_stated(dated))
                if self._dates and (changed := latest_change(dated)) is not None:
                    stated.append((changed, self._filter.clean(url)))
            await self._pause(stretch)
        if contents.is_none and self._filter.is_guess(entry.url):
            self._filter.guess_sitemap(entry.url, is_missing=True)
            return outcomes.GuessedSitemapMissing(entry=entry, answer=outcome.answer)
        self._filter.was_read(entry, contents.left, origins)
        said = contents.said()
        kind_read = outcomes.SitemapRead if said["problem"] is None else outcomes.SitemapCut
        return kind_read(entry=entry, answer=outcome.answer, stated=tuple(stated), said=said)

    async def _follow(self, entry: Entry, page: Page, meta: RobotsMeta) -> None:
        follows = self._settings.follow_nofollow or not meta.nofollow
        if follows and page.refresh is not None and page.refresh.url != entry.url:
            self._sent_on(entry, page.refresh)
        stretch = TimeSlice(self._line)
        links, unfollowed = links_of(page, meta, follow_nofollow=self._settings.follow_nofollow)
        if self._settings.max_depth is not None and entry.depth >= self._settings.max_depth:
            await self._leave_out(links, "outside", stretch)
        else:
            for url, kind in named_by_page(page, is_given=entry.depth == 0, feeds=self._settings.feeds):
                self._filter.discover(url, depth=entry.depth + 1, kind=kind, found_on=entry.url)
                await self._pause(stretch)
            for start in range(0, len(links), LINKS_PER_BATCH):
                for number, url in enumerate(
                    self._filter.unmet(links[start : start + LINKS_PER_BATCH])
                ):  # of most next to none
                    self._filter.discover(url, depth=entry.depth + 1, found_on=entry.url)
                    if number % LINKS_PER_CHECK == 0 and stretch.is_over():
                        await self._pause(stretch)
                await self._pause(stretch)
        await self._leave_out(unfollowed, "nofollow", stretch)

    async def _leave_out(self, links: Sequence[str], why: Literal["outside", "nofollow"], stretch: TimeSlice) -> None:
        for start in range(0, len(links), LINKS_PER_BATCH):
            self._filter.leave_out(links[start : start + LINKS_PER_BATCH], why)
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

    async def _pause(self, stretch: TimeSlice) -> None:
        """Let others have their turn where that is due, and a commit take what was found so far where it is much."""
        if stretch.is_over():
            await stretch.pause()
            await self._results.until_below(MAX_FOUND_URLS, self._wake)
