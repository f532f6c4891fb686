"""Fetches one URL through the client, and writes down what came of it.

It decides what an answer is (a page, a redirect, a failure, one to be tried again). Which URL has its turn, and when,
is the scheduler's to say; what a page or a sitemap means is the page processor's.
"""

import asyncio
import math
from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from comity import urls
from comity.crawler.checkpoint import UnreachableHosts
from comity.crawler.commit import CommitBuffer
from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.hosts import Host
from comity.crawler.ledger import Ledger
from comity.crawler.limits import Quota
from comity.crawler.memory import Memory
from comity.crawler.page_processor import PageProcessor
from comity.crawler.recrawl import MOVED, RefreshRun
from comity.crawler.sinks import OURS
from comity.crawler.stats import StatsCollector
from comity.errors import (
    AddressBlocked,
    CircuitOpen,
    FetchError,
    InvalidSetting,
    OutOfHours,
    PaymentRequired,
    PluginError,
    Postponed,
    RenderingFailed,
    RobotsDisallowed,
    StorageError,
    TooLarge,
    UnwantedType,
)
from comity.frontier import Entry, EntryKind, Visit
from comity.http_rules import GONE, PAYMENT_REQUIRED, is_temporary
from comity.net import Response, Session
from comity.policy import Decision
from comity.signals.payment import bad_status

if TYPE_CHECKING:
    from comity.crawler.rendering import Rendered, Renderer


LONGEST_BACKOFF = 60.0  # seconds
LARGEST_SITEMAP = 52_428_800 + 65_536  # bytes: the limit of sitemaps.org, and a little for those who count otherwise
SLOW_SHARE = 3.0  # times as long as rules were asked that take long, others have the event loop
MOST_RESTING = 32  # pages that wait for the browser before they hold up other hosts: each is in memory


class Fetcher:
    """Fetches the URLs of one crawl."""

    def __init__(
        self,
        client: Session,
        pages: PageProcessor,
        quota: Quota,
        buffer: CommitBuffer,
        ledger: Ledger,
        collector: StatsCollector,
        settings: CrawlSettings,
        refresh: RefreshRun | None,
        unreachable: UnreachableHosts,
        memory: Memory,
    ) -> None:
        self._client = client
        self._pages = pages
        self._quota = quota
        self._buffer = buffer
        self._ledger = ledger
        self._clock = collector.clock
        self._collector = collector
        self._settings = settings
        self._refresh = refresh
        self._unreachable = unreachable
        self._memory = memory
        self._slow_rules_lock = asyncio.Lock()
        self._rendering: set[asyncio.Task[Any]] = set()
        self._renderer: Renderer | None = None
        if settings.render:
            from comity.crawler import rendering

            self._renderer = rendering.Renderer(client, settings, buffer, ledger)

    @property
    def resting(self) -> int:
        """How many fetches send no request of their own: their pages are in the browser, or wait for it."""
        return 0 if self._renderer is None else min(self._renderer.pages, MOST_RESTING)

    def give_up(self) -> None:
        """Cancel the fetches that wait for their turn or for the browser: their URLs wait in the frontier."""
        for task in self._rendering:
            task.cancel()
        self._client.driver.give_up_waiting()

    async def close(self) -> None:
        """End the browser, if there is one; none may be under way."""
        if self._renderer is not None:
            await self._renderer.close()

    def knows(self, host: Host, entry: Entry) -> bool:
        """Whether a URL may be fetched in its turn; else `learn` comes first, origin by origin."""
        origin = urls.origin(entry.url)
        if host.delay is None or origin not in host.origins or self._client.driver.gate.pace_of(host.name) is None:
            return False
        return not (self._unreachable and self._unreachable.holds(host.name, origin))

    async def learn(self, host: Host, entry: Entry) -> Entry | None:
        """Learn what must be known before a URL may be fetched: whose pace its host shares, then its robots.txt.

        Gives the entry back where the URL is to be fetched when the host is ready again.
        """
        origin = urls.origin(entry.url)
        if self._unreachable and self._unreachable.holds(host.name, origin):
            self._unreachable.postpone(entry, host.name, origin)
            return None
        try:
            if self._client.driver.gate.pace_of(host.name) is None:
                await self._client.driver.find_pace(host.name)
                return entry
            decision = await self._client.check(entry.url)
            host.delay = decision.delay
            if origin not in host.origins:
                host.origins = (*host.origins, origin)
            self._read_known_robots(origin)
            await self._pages.sitemaps_of(entry.url)
            if decision.may_fetch:
                return entry
            self._refused(host, entry, decision)
        except Exception as error:
            return self._not_answered(host, entry, error)
        return None

    async def fetch(self, host: Host, entry: Entry) -> Entry | None:
        """Fetch one URL and write down what came; gives the entry back where it is to have its turn again."""
        claim = self._memory.claim()
        try:
            await self._ask_slow_rules(entry.url)
            before = self._refresh.before(entry) if self._refresh is not None else None
            if before is not None and self._refresh is not None and self._refresh.spared(before, self._clock.wall()):
                return await self._spare(host, entry, before)
            lists = self._pages.may_list(entry)
            most = max(self._client.settings.max_body, LARGEST_SITEMAP) if lists else None
            response = await self._client.fetch(
                entry.url, headers=self._conditions(before), max_body=most, any_type=lists, room=claim
            )
            if response.from_cache:
                self._ledger.copy(response)
            host.delay = response.decision.delay
            host.failing = False
            self._read_known_robots(urls.origin(response.url))
            rendered = None
            if response.ok and entry.kind is EntryKind.PAGE and self._pages.lists(entry, response):
                entry = replace(entry, kind=EntryKind.SITEMAP, depth=max(entry.depth, 1))
            if self._renderer is not None and response.ok and entry.kind is EntryKind.PAGE:
                if not self._quota.has_room(host.name):
                    return entry
                rendered = await self._rendered(self._renderer, entry, response)
            return await self._answered(host, entry, response, before, rendered)
        except Exception as error:
            return self._not_answered(host, entry, error)
        finally:
            claim.release()

    def _not_answered(self, host: Host, entry: Entry, error: Exception) -> Entry | None:
        """What an error means for a URL; gives the entry back where it is to have its turn again."""
        match error:
            case (
                RenderingFailed() | StorageError() | InvalidSetting() | MemoryError()
            ):  # ours, and no page's: it is asked for again
                raise error
            case RobotsDisallowed():
                self._refused(host, entry, error.decision)
            case AddressBlocked() | TooLarge() | PluginError():
                self._buffer.failed(entry, str(error), by_policy=isinstance(error, AddressBlocked))
            case UnwantedType():  # the answer is what it is: asking again would not change it
                host.failing = False
                self._buffer.unwanted(entry, error)
            case FetchError():
                return self._fail_or_retry(host, entry, str(error))
            case Postponed():  # visiting hours, an open circuit: the host comes up again in time
                self._postpone(host, error)
                return entry
            case _:  # one page that defeats us must not end the crawl
                self._buffer.failed(entry, f"{OURS}{type(error).__name__}: {error}")
        return None

    def _read_known_robots(self, origin: str) -> None:
        known = self._client.driver.gate.robots.find(origin)
        if known is not None and known.result is not None:
            self._pages.robots_known_already(known.result)

    async def _ask_slow_rules(self, url: str) -> None:
        """Have the answer about a URL at hand where it takes long: one at a time, and no more than a part of the time.

        Such a URL was not asked about when it was found: a page may name thousands.
        """
        origin_policy = self._client.origin_policy(url)
        if origin_policy is not None and origin_policy.is_slow(url):
            async with self._slow_rules_lock:
                begun = perf_counter()
                await asyncio.get_running_loop().run_in_executor(None, origin_policy.allows, url)
                await asyncio.sleep(SLOW_SHARE * (perf_counter() - begun))

    async def _rendered(self, renderer: "Renderer", entry: Entry, response: Response) -> "Rendered | None":
        task = asyncio.current_task()
        assert task is not None
        self._rendering.add(task)
        try:
            return await renderer.render(entry, response)
        finally:
            self._rendering.discard(task)

    def _conditions(self, before: Visit | None) -> Mapping[str, str]:
        return self._refresh.conditions(before) if self._refresh is not None else {}

    async def _spare(self, host: Host, entry: Entry, before: Visit) -> Entry | None:
        """Take a page for unchanged without asking for it, if it might be asked for at all."""
        decision = await self._client.check(entry.url)
        if not decision.may_fetch:
            self._buffer.refused(entry, decision)
        elif self._quota.has_room(host.name):
            self._buffer.unchanged(entry, "lastmod", before)
            self._quota.kept(host.name, 0)
        else:
            return entry
        return None

    async def _answered(
        self, host: Host, entry: Entry, response: Response, before: Visit | None, rendered: "Rendered | None"
    ) -> Entry | None:
        if before is not None and response.status in (*GONE, *MOVED):
            self._pages.forget(before)
            self._buffer.dismissed(entry)
        if response.location is not None:
            self._pages.redirect(entry, response)
            if before is not None and before.digest is not None and response.status in MOVED:
                self._buffer.gone(entry, before, response)
        elif response.ok and entry.kind is EntryKind.SITEMAP:
            await self._pages.sitemap(entry, response)
        elif response.ok:
            if not self._quota.has_room(host.name):
                return entry  # stays in the frontier for a later run with a higher limit
            taken = await self._pages.take_up(entry, response, rendered)
            if not self._quota.has_room(host.name):
                return entry
            self._pages.keep(entry, response, taken, before, rendered)
            self._quota.kept(host.name, len(response.body))
        elif response.status == 304 and before is not None and self._conditions(before):
            if not self._quota.has_room(host.name):
                return entry
            self._buffer.unchanged(entry, "validator", before, response)
            self._quota.kept(host.name, 0)
        elif response.status in GONE and before is not None and before.digest is not None:
            self._buffer.gone(entry, before, response)
        elif entry.kind is EntryKind.SITEMAP and self._pages.was_guess(entry):
            self._buffer.done(entry)
        elif is_temporary(response.status):
            return self._fail_or_retry(host, entry, f"HTTP status {response.status}", response)
        else:
            unpaid = isinstance(bad_status(response.url, response.status, response.all_headers), PaymentRequired)
            asks = f"wants {'payment' if response.status == PAYMENT_REQUIRED else 'a licence'}: " if unpaid else ""
            self._buffer.failed(entry, f"{asks}HTTP status {response.status}", response, unpaid=unpaid)
        return None

    def _refused(self, host: Host, entry: Entry, decision: Decision) -> None:
        """A URL may not be fetched: for good, or until its robots.txt can be reached, which is tried a few times."""
        if decision.verdict != "unknown_unreachable" or entry.attempts >= self._settings.retries:
            self._buffer.refused(entry, decision)
            return
        until = self._client.driver.gate.robots.of(urls.origin(entry.url)).fresh_until
        self._unreachable.postpone(entry, host.name, urls.origin(entry.url), decision, until=until)
        host.delay = None  # robots.txt comes first again

    def _fail_or_retry(self, host: Host, entry: Entry, why: str, response: Response | None = None) -> Entry | None:
        if entry.attempts >= self._settings.retries:
            self._buffer.failed(entry, why, response, passing=True)
            return None
        host.failing = True
        host.held_by = "back_off"
        host.not_before = self._clock.monotonic() + min(2.0**entry.attempts, LONGEST_BACKOFF)
        return self._buffer.retried(entry)

    def _postpone(self, host: Host, error: Postponed) -> None:
        now = self._clock.monotonic()
        if math.isinf(error.seconds):
            host.held_by, host.not_before = "stopped", math.inf
            return
        kinds = ((CircuitOpen, "circuit_open"), (OutOfHours, "visiting_hours"))
        host.held_by = next((why for kind, why in kinds if isinstance(error, kind)), "interval")
        if host.not_before <= now:  # of several requests under way the first tells
            self._collector.postponed(host.name, host.held_by, error.seconds)
        host.not_before = now + error.seconds
