"""What an answer means for the crawl: a redirect, a sitemap or a page is written down, and what it names is taken up.

It reads what came and never asks for more. Whether an answer is a failure, and is tried again, is the fetcher's to say.
Long work on the event loop goes on in short pieces, so that no site can hold up the others with much of it.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Final

from comity import urls
from comity.crawler import admission, link_graph, plugins, records
from comity.crawler.admission import URLFilter
from comity.crawler.commit import CommitBuffer
from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.duplicates import Duplicates, fingerprint_of
from comity.crawler.plugins import Expanded, Plugins
from comity.crawler.records import HTML, CrawledPage, Duplicate, read_meta, read_response, says_not_found
from comity.crawler.uses import Uses
from comity.frontier import Entry, EntryKind, Visit
from comity.net import Response
from comity.net.loop_slices import LoopSlices
from comity.policy import RobotsResult
from comity.signals.links import Page, Refresh
from comity.signals.robots_meta import RobotsMeta
from comity.signals.sitemaps import may_be_sitemap
from comity.usage import Use

if TYPE_CHECKING:
    from comity.crawler.rendering import Rendered

LONGEST: Final = 0.01  # seconds that work goes on before others have their turn


SMALL = 8 * 1024  # bytes that take as long to read as a page takes however small it is
LARGE = 64 * 1024  # bytes of a page that takes some tenths of a millisecond to read


class LongWork:
    """Pieces of long work on one event loop: of those that were interrupted, one goes on at each turn of the loop."""

    def __init__(self) -> None:
        self._line = asyncio.Lock()
        self._turns = LoopSlices(LARGE)

    async def turn(self, size: int) -> None:
        """Until a page of so many bytes may be read: a large one, or a few small ones, at each turn of the loop."""
        await self._turns.take(size + SMALL)

    def stretch(self) -> "Stretch":
        """A piece of work that begins now."""
        return Stretch(self._line)


class Stretch:
    """One piece of long work. It asks now and then whether its time `is_over`, and then makes a `pause`."""

    __slots__ = ("_began", "_line")

    def __init__(self, line: asyncio.Lock) -> None:
        self._line = line
        self._began = perf_counter()

    def is_over(self) -> bool:
        return perf_counter() - self._began > LONGEST

    async def pause(self) -> None:
        """Until all others have had their turn."""
        async with self._line:
            await asyncio.sleep(0)
        self._began = perf_counter()


HUGE = 512 * 1024  # bytes of a page that is read in another thread: some milliseconds
FEW = 8  # links taken up between two looks at the time
MANY = 1024  # links of which it is asked whether they were met lately, between two looks
MOST_FOUND = 20_000  # URLs found that wait for a commit, about: what names more of them is read on after it


@dataclass(frozen=True, slots=True)
class Taken:
    """A page of which the links were taken up, and which is to be kept now.

    Attributes:
        shown: the response, or the page after its scripts ran.
        fingerprint: of its text, where near duplicates are looked for.
    """

    shown: Response
    read: Page | None
    meta: RobotsMeta
    expanded: Expanded
    fingerprint: int | None


class PageProcessor:
    """Reads the answers of one crawl.

    Args:
        agent: ours, as `robots` metas and headers may name it.
        hands_out: whether a program wants the pages.
        dates: whether the `lastmod` of sitemaps counts.
        purposes, use: what the content is wanted for, and the most that is done with it.
        wake: called where a commit is wanted.
        executor: for what takes long and needs nothing of the crawl's.
    """

    def __init__(
        self,
        settings: CrawlSettings,
        agent: str,
        *,
        plugins: Plugins,
        duplicates: Duplicates,
        url_filter: URLFilter,
        buffer: CommitBuffer,
        hands_out: bool,
        dates: bool,
        purposes: Sequence[str],
        use: Use | None,
        wake: Callable[[], None],
        executor: Executor,
    ) -> None:
        self._settings = settings
        self._agent = agent
        self._plugins = plugins
        self._duplicates = duplicates
        self._filter = url_filter
        self._buffer = buffer
        self._hands_out = hands_out
        self._dates = dates
        self._uses = Uses(purposes, settings.only_if, agent, use)
        self._wake = wake
        self._executor = executor
        self._long_work = LongWork()

    def robots_known_already(self, robots: RobotsResult) -> None:
        """A site comes up again: what its robots.txt says may have been forgotten since it was read."""
        if self._filter.forgets:
            self._filter.robots_seen(robots)

    async def sitemaps_of(self, url: str) -> None:
        """Take up the sitemaps of a URL's site, once its robots.txt is known."""
        stretch = self._long_work.stretch()
        for candidate in self._filter.sitemaps_of(url):
            self._filter.candidate(candidate, found_on=None if candidate.guessed else f"{urls.origin(url)}/robots.txt")
            await self._pause(stretch)

    def robots(self, result: RobotsResult) -> None:
        """A robots.txt was read."""
        self._buffer.robots(result)
        self._filter.robots_seen(result)

    def redirect(self, entry: Entry, response: Response) -> None:
        """Follow a redirect, in the turn of the URL that it leads to."""
        target = urls.join(entry.url, response.location or "")
        self._buffer.redirect(entry, response, target)
        if entry.kind is EntryKind.SITEMAP and not may_be_sitemap(target) and self.was_guess(entry):
            return  # sent to the front page, as if it were not there
        if target is not None:
            self._lead(entry, target)

    def _lead(self, entry: Entry, target: str) -> None:
        """Follow where a URL leads instead of it, or beside it, so many links from the start as it is itself."""
        given = entry.depth == 0 and entry.kind is EntryKind.PAGE
        if given:  # example.com -> www.example.com
            self._filter.moved(entry.url, target)
        exactly = given or self._filter.clean(target) == entry.url  # the site insists on its session
        self._filter.discover(
            target, depth=entry.depth, kind=entry.kind, hops=entry.hops + 1, given=exactly, found_on=entry.url
        )

    async def sitemap(self, entry: Entry, response: Response) -> None:
        """Take up what a sitemap or a feed names."""
        stretch = self._long_work.stretch()
        stated = []
        empty = True
        for candidate in admission.in_sitemap(response.body, entry.url, depth=entry.depth, dates=self._dates):
            hops = entry.hops + 1 if candidate.kind is EntryKind.SITEMAP else 0
            self._filter.candidate(candidate, hops=hops, found_on=entry.url)
            empty = False
            if candidate.changed is not None:
                stated.append((candidate.changed, self._filter.clean(candidate.url)))
            await self._pause(stretch)
        self._buffer.sitemap(entry, urls.host(entry.url), stated)
        if not (empty and self.was_guess(entry)):  # a page that says "not found" with status 200, for instance
            self._buffer.stats.sitemaps += 1

    def may_list(self, entry: Entry) -> bool:
        """Whether a URL may be there for what it names, by its own name or by a robots.txt; its answer tells."""
        return entry.kind is EntryKind.SITEMAP or (
            self._settings.sitemaps
            and (self._filter.names(entry.url) or (entry.depth == 0 and may_be_sitemap(entry.url)))
        )

    def lists(self, entry: Entry, response: Response) -> bool:
        """Whether an answer is a sitemap or a feed to be read: it was found as one, a robots.txt names it, or it was
        given by hand and is one."""
        if entry.kind is EntryKind.SITEMAP or not self._settings.sitemaps:
            return entry.kind is EntryKind.SITEMAP
        if self._filter.names(entry.url) and response.content_type not in HTML:
            return True
        return entry.depth == 0 and admission.is_sitemap(response.body, entry.url, feeds=self._settings.feeds)

    def was_guess(self, entry: Entry) -> bool:
        """Whether a sitemap that is not there was looked for in a place nobody named; the next place has its turn."""
        if not self._filter.is_guess(entry.url):
            return False
        candidate = admission.next_guess(entry.url)
        if candidate is not None:
            self._filter.candidate(candidate)
        return True

    async def take_up(self, entry: Entry, response: Response, rendered: "Rendered | None" = None) -> Taken:
        """Read a page and take up what it names; `keep` it next.

        Args:
            rendered: the page after its scripts ran, which counts instead.

        Raises:
            PluginError: the expander failed; nothing of the page is taken up.
        """
        size = len(response.body)
        if size < HUGE:  # answers of many hosts may come at the same moment
            await self._long_work.turn(size)
        shown = response if rendered is None else rendered.shown(response)
        read_it = partial(read_response, response) if rendered is None else partial(rendered.read, response)
        read = read_it() if size < HUGE else await asyncio.get_running_loop().run_in_executor(self._executor, read_it)
        meta = read_meta(response, read, agent=self._agent)
        expanded = self._plugins.expand(shown)
        if (named := plugins.following(read, expanded, response.url)) is not None:
            await self._follow(entry, named, meta)
        fingerprint = None
        if read is not None and self._settings.duplicates == "near":
            # Tens of thousands of words take their time, and the interpreter lets others go on meanwhile.
            make = partial(fingerprint_of, shown.body, read.encoding)
            fingerprint = await asyncio.get_running_loop().run_in_executor(self._executor, make)
        return Taken(shown, read, meta, expanded, fingerprint)

    def keep(
        self,
        entry: Entry,
        response: Response,
        taken: Taken,
        before: Visit | None = None,
        rendered: "Rendered | None" = None,
    ) -> None:
        """Keep a page, unless it is as it was.

        Args:
            taken: what `take_up` made of it.
            before: its last visit, in a refresh.
            rendered: as for `take_up`; the response goes to the output as it is.
        """
        read, meta = taken.read, taken.meta
        stated = self._uses.stated(response, read)
        usage = self._uses.record(stated)
        if (why := self._uses.refusal(stated)) is not None:
            self.forget(before)
            self._buffer.refused_by_usage(entry, response, why, usage)
            return
        if before is not None and before.digest == response.sha256:
            self._buffer.unchanged(entry, "content", before, response)
            return
        self.forget(before)
        duplicate = self._duplicate(taken)
        record = records.page(
            response,
            read,
            depth=entry.depth,
            found_on=entry.found_on,
            noindex=meta.noindex,
            duplicate=duplicate,
            usage=usage,
            headers=self._settings.record_headers,
            soft_404=says_not_found(taken.shown, read),
            misfit=taken.expanded.misfit,
        )
        if rendered is not None:
            record |= rendered.record(response)
        self._buffer.page(entry, response, record, taken.expanded, before=before)
        if self._settings.link_graph and read is not None:
            self._buffer.links(link_graph.edges(taken.shown, read))
        if self._hands_out:
            self._buffer.fresh(
                CrawledPage.of(
                    taken.shown,
                    read,
                    meta,
                    depth=entry.depth,
                    duplicate=duplicate,
                    found_on=entry.found_on,
                    usage=stated,
                )
            )

    def forget(self, before: Visit | None) -> None:
        """What a page was counts no more: no other page repeats it from now on."""
        if before is not None and before.digest is not None and self._settings.duplicates != "off":
            self._duplicates.forget(before.url, before.digest)

    async def _follow(self, entry: Entry, page: Page, meta: RobotsMeta) -> None:
        follows = self._settings.follow_nofollow or not meta.nofollow
        if follows and page.refresh is not None and page.refresh.url != entry.url:
            self._sent_on(entry, page.refresh)
        stretch = self._long_work.stretch()
        links, unfollowed = admission.links_of(page, meta, follow_nofollow=self._settings.follow_nofollow)
        if self._settings.max_depth is not None and entry.depth >= self._settings.max_depth:
            await self._each(links, self._filter.too_deep, stretch)
        else:
            for candidate in admission.named_by_page(page, depth=entry.depth, feeds=self._settings.feeds):
                self._filter.candidate(candidate, found_on=entry.url)
                await self._pause(stretch)
            await self._each(links, partial(self._filter.links, depth=entry.depth + 1, found_on=entry.url), stretch)
        await self._each(unfollowed, self._filter.unfollowed, stretch)

    async def _each(self, links: list[str], take: Callable[[Iterable[str]], None], stretch: Stretch) -> None:
        """Do something with the links that were not met lately, some at a time."""
        for start in range(0, len(links), MANY):
            unmet = self._filter.unmet(links[start : start + MANY])  # of most pages next to none
            for first in range(0, len(unmet), FEW):
                take(unmet[first : first + FEW])
                if stretch.is_over():
                    await self._pause(stretch)
            if stretch.is_over():
                await self._pause(stretch)

    def _sent_on(self, entry: Entry, refresh: Refresh) -> None:
        """A page sends its reader on: a redirect where that is at once or the page was given, a link where it is not.

        The HTML standard has browsers navigate after so many seconds; search engines take 0 for a redirect.
        """
        if refresh.seconds == 0 or entry.depth == 0:
            self._lead(entry, refresh.url)
        elif self._settings.max_depth is None or entry.depth < self._settings.max_depth:
            self._filter.links((refresh.url,), depth=entry.depth + 1, found_on=entry.url)
        else:
            self._filter.too_deep((refresh.url,))

    async def _pause(self, stretch: Stretch) -> None:
        """Let others have their turn where that is due, and a commit take what was found so far where it is much."""
        if stretch.is_over():
            await stretch.pause()
            await self._buffer.until_below(MOST_FOUND, self._wake)

    def _duplicate(self, taken: Taken) -> Duplicate | None:
        if self._settings.duplicates == "off":
            return None
        canonical = taken.read.canonical if taken.read is not None else None
        duplicate = self._duplicates.keep(
            taken.shown.url,
            taken.shown.body,
            sha256=taken.shown.sha256,
            canonical=canonical,
            fingerprint=taken.fingerprint,
        )
        self._buffer.stats.duplicates += duplicate is not None
        return duplicate
