"""A crawl in one line: one page, many pages, the links of an index page, or a whole site as it comes in.

What may not be fetched is skipped and logged (logger `comity.crawl`), never raised: a program that wants pages gets
pages. Politeness is the client's: of our own delay and the one that a site asks for, the larger counts.
"""

import asyncio
import logging
import re
import tempfile
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, Never, Self, TypedDict, Unpack

from comity.client import AsyncClient
from comity.client.background import Background
from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.crawler import Crawler
from comity.crawler.finding.scope import Scope
from comity.crawler.finding.uses import Uses
from comity.crawler.observe.stats import Stats
from comity.crawler.output.records import CrawledPage
from comity.crawler.run import checkpoint
from comity.crawler.run.page_reader import read_meta, read_response
from comity.errors import ComityError, InvalidSetting, InvalidURL, RobotsDisallowed, check_type, place_of
from comity.net import ClientSettings, Response
from comity.policy import Decision, Policy, RobotsResult
from comity_pages import urls as addresses

TIMEOUT: Final = 30.0  # seconds
MAX_PAGES_AHEAD: Final = 256  # pages that a crawl may be ahead of the program that reads them
MAX_RECORDS_KEPT: Final = 10_000  # failures, and refusals, that a `Crawl` keeps in memory

_log = logging.getLogger("comity.crawl")


class PageCrawler:
    """Fetches pages by one client, so that robots.txt files and paces hold over all calls.

    Use it as an async context manager, or call `close` when you are done with it.

    Args:
        policy: what may be done.
        max_pages: pages, or links of an index page, that a call gives at most; None for no limit.
        concurrency: requests under way at the same time.
        timeout: seconds for each request.
        delay: seconds between two requests to one host; None for the policy's.
        client: an AsyncClient to share, which stays open; its policy and settings count, and none can be given.

    Raises:
        InvalidSetting
        TypeError: an argument is none; it says where it belongs.
    """

    def __init__(
        self,
        policy: Policy | None = None,
        *,
        max_pages: int | None = 50,
        concurrency: int = 5,
        timeout: float = TIMEOUT,
        delay: float | None = None,
        client: AsyncClient | None = None,
        **others: Never,
    ) -> None:
        for name in others:
            raise TypeError(f"{name} is no argument of PageCrawler: {place_of(name, policy=Policy)}")
        _check(max_pages=max_pages, concurrency=concurrency)
        if client is not None and (policy is not None or delay is not None or timeout != TIMEOUT):
            raise InvalidSetting("client: it has a policy, a delay and a time-out; give them to the client")
        self._owned = client is None
        self._client = client or AsyncClient(
            policy, ClientSettings(timeout=timeout, connections=concurrency), delay=delay
        )
        self._max_pages = max_pages
        self._concurrency = concurrency

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End every connection, unless the client is another one's."""
        if self._owned:
            await self._client.close()

    async def crawl_page(self, url: str) -> CrawledPage | None:
        """Fetch one page; None where it may not be fetched or is not there, which is logged. InvalidURL: it is none."""
        return await _page(self._client, addresses.normalise(url))

    async def crawl_pages(self, urls: str | Iterable[str]) -> list[CrawledPage]:
        """Fetch pages, each URL once, hosts side by side; in the order of the URLs, without those that were skipped."""
        given: dict[str, None] = {}
        for url in (urls,) if isinstance(urls, str) else urls:
            try:
                given[addresses.normalise(url)] = None
            except InvalidURL as error:
                _log.warning("skipped %r: %s", url, error)
        waiting = deque(_side_by_side(given))
        pages: dict[str, CrawledPage] = {}
        under_way, most = 0, len(given) if self._max_pages is None else self._max_pages

        async def work() -> None:
            nonlocal under_way
            while waiting and len(pages) + under_way < most:
                url = waiting.popleft()
                under_way += 1
                try:
                    if (page := await _page(self._client, url)) is not None:
                        pages[url] = page
                finally:
                    under_way -= 1

        # Where the limit made workers leave and a page was skipped after that, there is work for another round.
        while waiting and len(pages) < most:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self._concurrency, len(waiting))):
                    group.create_task(work())
        return [pages[url] for url in given if url in pages]

    async def crawl_index_page(self, url: str, url_pattern: str | re.Pattern[str] = "") -> list[str]:
        """The links of a page that may be followed: those that robots.txt disallows, and `nofollow` ones, are left out.
        `url_pattern`: of the URLs wanted: as in robots.txt (`/blog/*`), or a compiled regular expression that is
        searched for in the URL; empty for all.

        Raises:
            InvalidURL, InvalidSetting
        """
        client = self._client
        scope = Scope(by="any", include=(url_pattern,) if url_pattern and isinstance(url_pattern, str) else ())
        response = await _fetch(client, addresses.normalise(url))
        read = read_response(response) if response is not None else None
        if response is None or read is None or read_meta(response, read, agent=client.policy.asked_as).nofollow:
            return []
        wanted = [
            link.url
            for link in read.links
            if not link.nofollow
            and scope.holds(link.url)
            and (not isinstance(url_pattern, re.Pattern) or url_pattern.search(link.url))
        ]
        gate = asyncio.Semaphore(self._concurrency)

        async def ask(link: str) -> None:
            async with gate:
                await client.check(link)

        # One question for each site makes its robots.txt known; the others need no request.
        origins = {addresses.origin(link): link for link in reversed(wanted)}
        async with asyncio.TaskGroup() as group:
            for link in origins.values():
                group.create_task(ask(link))
        found: list[str] = []
        for link in wanted:
            if self._max_pages is not None and len(found) >= self._max_pages:
                break
            decision = await client.check(link)
            if decision.may_fetch:
                found.append(link)
            else:
                _log.info("skipped %s: %s", link, decision.why)
        return found


class ClientOptions(TypedDict, total=False):
    """Arguments of `PageCrawler` that are about its client."""

    timeout: float
    delay: float | None
    policy: Policy | None
    client: AsyncClient | None


class PageOptions(ClientOptions, TypedDict, total=False):
    """Arguments of `PageCrawler`."""

    max_pages: int | None
    concurrency: int


async def crawl_page(url: str, **options: Unpack[ClientOptions]) -> CrawledPage | None:
    """As `PageCrawler.crawl_page`, by a client of its own unless one is given; arguments as for `PageCrawler`."""
    if others := options.keys() & {"concurrency", "max_pages"}:
        raise TypeError(f"{min(others)} is no argument of crawl_page, which fetches one page: crawl_pages takes it")
    async with PageCrawler(concurrency=1, **options) as crawler:
        return await crawler.crawl_page(url)


async def crawl_pages(urls: str | Iterable[str], **options: Unpack[PageOptions]) -> list[CrawledPage]:
    """As `PageCrawler.crawl_pages`; arguments as for `PageCrawler`."""
    async with PageCrawler(**options) as crawler:
        return await crawler.crawl_pages(urls)


async def crawl_index_page(
    url: str, url_pattern: str | re.Pattern[str] = "", **options: Unpack[PageOptions]
) -> list[str]:
    """As `PageCrawler.crawl_index_page`, without a limit if none is given; arguments as for `PageCrawler`."""
    unlimited: PageOptions = {"max_pages": None}
    async with PageCrawler(**(unlimited | options)) as crawler:
        return await crawler.crawl_index_page(url, url_pattern)


@dataclass(slots=True)
class _Progress:
    """Records and summary of a crawl beside its pages. The generator holds this and not the Crawl, so that a loop that
    is left frees it."""

    failures: list[dict[str, Any]] = field(default_factory=list)
    refusals: list[dict[str, Any]] = field(default_factory=list)
    summary: Stats | None = None
    crawler: Crawler | None = None

    def record(self, channel: str, record: Mapping[str, Any]) -> None:
        kept = self.failures if channel == "failures" else self.refusals
        if len(kept) < MAX_RECORDS_KEPT:
            kept.append(dict(record))


class Crawl:
    """A crawl that runs while its pages are read, by `for` or `async for`; it may be closed with `aclose`.

    Attributes:
        failures: the records of URLs that gave no page, as in the output, once each is durable: `url`, `why`,
            `status`, `attempts`, `depth`, `found_on`.
        refusals: those of URLs that robots.txt, the policy or what is stated about their use kept out: `url`, `why`,
            `decision` and so on. Of both the first MAX_RECORDS_KEPT are kept; the counts in `summary` are whole.
        summary: what the crawl did, in numbers; None until it begins, final when it has ended.
    """

    def __init__(self, progress: _Progress, pages: AsyncGenerator[CrawledPage, None]) -> None:
        self._progress = progress
        self._pages = pages
        self.failures, self.refusals = progress.failures, progress.refusals

    def __repr__(self) -> str:
        return f"<comity.crawler.Crawl, {'not begun' if self.summary is None else f'{self.summary.pages:,} pages'}>"

    @property
    def summary(self) -> Stats | None:
        return self._progress.summary

    def inspect(self) -> Mapping[str, RobotsResult]:
        """As `Crawler.inspect`; empty before the crawl begins."""
        return {} if self._progress.crawler is None else self._progress.crawler.inspect()

    def check(self, url: str) -> Decision | None:
        """As `Crawler.check`."""
        return None if self._progress.crawler is None else self._progress.crawler.check(url)

    def __aiter__(self) -> AsyncGenerator[CrawledPage, None]:
        return self._pages

    async def __anext__(self) -> CrawledPage:
        return await anext(self._pages)

    def __iter__(self) -> Iterator[CrawledPage]:
        """The pages, for programs without an event loop; a loop that is left stops the crawl."""
        background = Background()

        async def following() -> CrawledPage | None:
            return await anext(self._pages, None)

        try:
            while (page := background.run(following())) is not None:
                yield page
        finally:
            background.close(self._pages.aclose())

    async def aclose(self) -> None:
        """Stop the crawl; with a folder it can be gone on with."""
        await self._pages.aclose()


def crawl(
    seeds: str | Iterable[str] = (),
    *,
    max_pages: int | None = None,
    max_depth: int | None = None,
    folder: str | Path | None = None,
    refresh: bool = False,
    policy: Policy | None = None,
    settings: CrawlSettings | Mapping[str, Any] | None = None,
    client_settings: ClientSettings | None = None,
    **others: Never,
) -> Crawl:
    """Crawl and hand out each page once, as soon as it is kept: `for page in comity.crawl(url): ...`, or `async for`.

    A crawl that is left before it ends stops; with a folder it can be continued. The crawl waits for a program that
    is slower than the site.

    Args:
        seeds: one URL or several; none to continue the crawl in `folder`.
        max_pages, max_depth: limits, instead of those in `settings`.
        folder: where output and frontier stay; None leaves nothing behind. Pages that an earlier run kept there are
            not handed out again.
        refresh: crawl what `folder` holds again; pages are handed out that are new or have changed.
        settings: everything else: scope, traps, concurrency; a resumed crawl keeps its earlier settings, except
            those given now (see Crawler).

    Raises:
        InvalidURL, InvalidSetting: at once.
        StorageError: while it runs, if the folder cannot be used.
    """
    checkpoint.check_names(others)
    check_type("policy", policy, Policy)
    if not isinstance(settings, Mapping):
        check_type("settings", settings, CrawlSettings)
    check_type("client_settings", client_settings, ClientSettings)
    if not isinstance(seeds, Iterable):
        raise TypeError(f"seeds: expected a URL or several, not {type(seeds).__name__}")
    start = [addresses.normalise(seed) for seed in ((seeds,) if isinstance(seeds, str) else seeds)]
    if not start and folder is None:
        raise InvalidSetting("seeds: give a start URL, or the folder of a crawl to continue")
    changes: dict[str, Any] = {"max_pages": max_pages, "max_depth": max_depth}
    given = settings if isinstance(settings, Mapping) else checkpoint.stated_settings(settings)
    given = {**given, **{name: value for name, value in changes.items() if value is not None}}
    checkpoint.settings_in_force(given, {})  # what is wrong in it is said at once
    if refresh and folder is None:
        raise InvalidSetting("refresh: requires folder=, the crawl to compare with")
    progress = _Progress()
    place = Path(folder) if folder is not None else None
    return Crawl(progress, _crawl(progress, start, place, policy, given, client_settings, refresh))


async def _crawl(
    progress: _Progress,
    seeds: list[str],
    folder: Path | None,
    policy: Policy | None,
    settings: Mapping[str, Any],
    client_settings: ClientSettings | None,
    refresh: bool,
) -> AsyncGenerator[CrawledPage, None]:
    with ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="comity-")))
        pages: deque[CrawledPage] = deque()
        news = asyncio.Event()

        def arrived(page: CrawledPage) -> None:
            pages.append(page)
            news.set()
            if len(pages) >= MAX_PAGES_AHEAD:
                crawler.hold()

        crawler = progress.crawler = Crawler(
            seeds,
            folder,
            policy=policy,
            settings=settings,
            client_settings=client_settings,
            refresh=refresh,
        )
        running = asyncio.ensure_future(crawler.run(on_page=arrived, on_record=progress.record))
        running.add_done_callback(lambda _: news.set())
        over = False
        try:
            while not over:
                await news.wait()
                news.clear()
                over = running.done()
                while pages:
                    page = pages.popleft()
                    if len(pages) < MAX_PAGES_AHEAD // 2:
                        crawler.resume()
                    yield page
            stats = progress.summary = await running
            if not stats.reached and (why := crawler.end.trouble or crawler.end.refusal):
                _log.warning("nothing was fetched: %s", why)
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError, ComityError):
                await running
            progress.summary = crawler.stats


async def _page(client: AsyncClient, url: str) -> CrawledPage | None:
    response = await _fetch(client, url)
    if response is None:
        return None
    read = read_response(response)
    usage = Uses(client.policy.purposes, (), client.policy.asked_as, client.policy.use).stated(response, read)
    return CrawledPage.of(response, read, read_meta(response, read, agent=client.policy.asked_as), usage=usage)


async def _fetch(client: AsyncClient, url: str) -> Response | None:
    try:
        response = await client.get(url)
    except ComityError as error:
        _log.warning("skipped %s: %s", url, error.decision.why if isinstance(error, RobotsDisallowed) else error)
        return None
    if not response.ok:
        _log.warning("skipped %s: HTTP status %d", url, response.status)
        return None
    return response


def _side_by_side(urls: Iterable[str]) -> Iterator[str]:
    """URLs host by host in turn, so that no host's wait holds up the others."""
    hosts: dict[str, list[str]] = {}
    for url in urls:
        hosts.setdefault(addresses.host(url), []).append(url)
    for each in zip_longest(*hosts.values()):
        yield from filter(None, each)


def _check(**numbers: int | None) -> None:
    for name, value in numbers.items():
        if value is not None and (type(value) is not int or value < 1):
            raise InvalidSetting(f"{name}: {value!r} is not a whole number of at least 1")
