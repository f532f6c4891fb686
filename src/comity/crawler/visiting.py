"""One visit: a URL is fetched through the client, and what came of it is written down.

It decides what an answer is (a page, a redirect, a failure, one to be tried again). Which URL has its turn, and when,
is the crawler's to say; what a page or a sitemap means is the reader's.
"""

import asyncio
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from comity import urls
from comity.crawler.again.revisits import GONE, MOVED, Refresh, conditions
from comity.crawler.again.unreachable import Unreachable
from comity.crawler.budget import Spending
from comity.crawler.hosts import Host
from comity.crawler.ledger import Ledger
from comity.crawler.memory import Memory
from comity.crawler.outcome import Outcome
from comity.crawler.reading import Reader
from comity.crawler.settings import CrawlSettings
from comity.crawler.watch.watching import Watch
from comity.errors import (
    AddressBlocked,
    CircuitOpen,
    FetchError,
    OutOfHours,
    PluginError,
    Postponed,
    RenderingFailed,
    RobotsDisallowed,
    TooLarge,
    UnwantedType,
)
from comity.frontier import Entry, Kind, Visit
from comity.net import Response, Session
from comity.policy import Decision

if TYPE_CHECKING:
    from comity.crawler.rendering import Rendered, Renderer

LONGEST_BACKOFF = 60.0  # seconds
LARGEST_SITEMAP = 52_428_800 + 65_536  # bytes: the limit of sitemaps.org, and a little for those who count otherwise
SLOW_SHARE = 3.0  # times as long as rules were asked that take long, others have the event loop
MOST_RESTING = 32  # pages that wait for the browser before they hold up other hosts: each is in memory


class Visitor:
    """Visits URLs for one crawl."""

    def __init__(
        self,
        client: Session,
        reader: Reader,
        spending: Spending,
        outcome: Outcome,
        ledger: Ledger,
        watch: Watch,
        settings: CrawlSettings,
        refresh: Refresh | None,
        unreachable: Unreachable,
        memory: Memory,
    ) -> None:
        self._client = client
        self._reader = reader
        self._spending = spending
        self._outcome = outcome
        self._ledger = ledger
        self._clock = watch.clock
        self._watch = watch
        self._settings = settings
        self._refresh = refresh
        self._unreachable = unreachable
        self._memory = memory
        self._scales = asyncio.Lock()
        self._rendering: set[asyncio.Task[Any]] = set()
        self._origins: set[str] = set()  # of which robots.txt was asked for
        self._renderer: Renderer | None = None
        if settings.render:
            from comity.crawler import rendering

            self._renderer = rendering.Renderer(client, settings, outcome, ledger)

    @property
    def resting(self) -> int:
        """How many visits send no request of their own: their pages are in the browser, or wait for it."""
        return 0 if self._renderer is None else min(self._renderer.pages, MOST_RESTING)

    def give_up(self) -> None:
        """Cancel the visits that wait for their turn or for the browser: their URLs wait in the frontier."""
        for task in self._rendering:
            task.cancel()
        self._client.driver.give_up_waiting()

    async def close(self) -> None:
        """End the browser, if there is one; no visit may be under way."""
        if self._renderer is not None:
            await self._renderer.close()

    async def visit(self, host: Host, entry: Entry) -> Entry | None:
        """Fetch one URL and write down what came; gives the entry back where it is to be tried again."""
        origin = urls.origin(entry.url)
        if self._unreachable and self._unreachable.holds(host.name, origin):
            self._unreachable.postpone(entry, host.name, origin)
            return None
        claim = self._memory.claim()
        try:
            if (
                self._client.driver.gate.pace_of(host.name) is None
            ):  # its turn comes again once it is known whose pace it shares
                await self._client.driver.find_pace(host.name)
                return entry
            # robots.txt first, origin by origin; the URL has its turn when the host is ready again
            if host.delay is None or origin not in self._origins:
                decision = await self._client.check(entry.url)
                host.delay = decision.delay
                self._origins.add(origin)
                await self._reader.sitemaps_of(entry.url)
                if decision.may_fetch:
                    return entry
                self._refused(host, entry, decision)
                return None
            await self._weigh(entry.url)
            before = self._refresh.before(entry) if self._refresh is not None else None
            if before is not None and self._is_spared(before):
                return await self._spare(host, entry, before)
            lists = self._reader.may_list(entry)
            most = max(self._client.settings.max_body, LARGEST_SITEMAP) if lists else None
            response = await self._client.fetch(
                entry.url, headers=conditions(before), max_body=most, any_type=lists, room=claim
            )
            if response.from_cache:
                self._ledger.copy(response)
            host.delay = response.decision.delay
            host.failing = False
            rendered = None
            if response.ok and entry.kind is Kind.PAGE and self._reader.lists(entry, response):
                entry = replace(entry, kind=Kind.SITEMAP, depth=max(entry.depth, 1))
            if self._renderer is not None and response.ok and entry.kind is Kind.PAGE:
                if not self._spending.has_room(host.name):
                    return entry
                rendered = await self._rendered(self._renderer, entry, response)
            return await self._answered(host, entry, response, before, rendered)
        except RenderingFailed:  # every page would be kept without its scripts: the operator is to know
            raise
        except RobotsDisallowed as error:
            self._refused(host, entry, error.decision)
        except (AddressBlocked, TooLarge, PluginError) as error:
            self._outcome.failed(entry, str(error), by_policy=isinstance(error, AddressBlocked))
        except UnwantedType as error:  # the answer is what it is: asking again would not change it
            host.failing = False
            self._outcome.unwanted(entry, error)
        except FetchError as error:
            return self._fail_or_retry(host, entry, str(error))
        except Postponed as error:  # visiting hours, an open circuit: the host comes up again in time
            self._postpone(host, error)
            return entry
        except Exception as error:  # one page that defeats us must not end the crawl
            self._outcome.failed(entry, f"cannot be processed: {type(error).__name__}: {error}")
        finally:
            claim.release()
        return None

    async def _weigh(self, url: str) -> None:
        """Have the answer about a URL at hand where it takes long: one at a time, and no more than a part of the time.

        Such a URL was not asked about when it was found: a page may name thousands.
        """
        ruling = self._client.origin_policy(url)
        if ruling is not None and ruling.is_slow(url):
            async with self._scales:
                begun = perf_counter()
                await asyncio.get_running_loop().run_in_executor(None, ruling.allows, url)
                await asyncio.sleep(SLOW_SHARE * (perf_counter() - begun))

    async def _rendered(self, renderer: "Renderer", entry: Entry, response: Response) -> "Rendered | None":
        task = asyncio.current_task()
        assert task is not None
        self._rendering.add(task)
        try:
            return await renderer.render(entry, response)
        finally:
            self._rendering.discard(task)

    def _is_spared(self, before: Visit) -> bool:
        return self._refresh is not None and self._refresh.spared(before, self._clock.wall())

    async def _spare(self, host: Host, entry: Entry, before: Visit) -> Entry | None:
        """Take a page for unchanged without asking for it, if it might be asked for at all."""
        decision = await self._client.check(entry.url)
        if not decision.may_fetch:
            self._outcome.refused(entry, decision)
        elif self._spending.has_room(host.name):
            self._outcome.unchanged(entry, "lastmod", before)
            self._spending.kept(host.name, 0)
        else:
            return entry
        return None

    async def _answered(
        self, host: Host, entry: Entry, response: Response, before: Visit | None, rendered: "Rendered | None"
    ) -> Entry | None:
        if before is not None and response.status in (*GONE, *MOVED):
            self._reader.forget(before)
            self._outcome.dismissed(entry)
        if response.location is not None:
            self._reader.redirect(entry, response)
            if before is not None and before.digest is not None and response.status in MOVED:
                self._outcome.gone(entry, before, response)
        elif response.ok and entry.kind is Kind.SITEMAP:
            await self._reader.sitemap(entry, response)
        elif response.ok:
            if not self._spending.has_room(host.name):
                return entry  # stays in the frontier for a later run with a higher limit
            taken = await self._reader.take_up(entry, response, rendered)
            if not self._spending.has_room(host.name):
                return entry
            self._reader.keep(entry, response, taken, before, rendered)
            self._spending.kept(host.name, len(response.body))
        elif response.status == 304 and before is not None and conditions(before):
            if not self._spending.has_room(host.name):
                return entry
            self._outcome.unchanged(entry, "validator", before, response)
            self._spending.kept(host.name, 0)
        elif response.status in GONE and before is not None and before.digest is not None:
            self._outcome.gone(entry, before, response)
        elif entry.kind is Kind.SITEMAP and self._reader.was_guess(entry):
            self._outcome.done(entry)
        elif response.status == 429 or response.status >= 500:
            return self._fail_or_retry(host, entry, f"HTTP status {response.status}", response)
        else:
            self._outcome.failed(entry, f"HTTP status {response.status}", response)
        return None

    def _refused(self, host: Host, entry: Entry, decision: Decision) -> None:
        """A URL may not be fetched: for good, or until its robots.txt can be reached, which is tried a few times."""
        if decision.verdict != "unknown_unreachable" or entry.attempts >= self._settings.retries:
            self._outcome.refused(entry, decision)
            return
        until = self._client.driver.gate.robots.of(urls.origin(entry.url)).fresh_until
        self._unreachable.postpone(entry, host.name, urls.origin(entry.url), decision, until=until)
        host.delay = None  # robots.txt comes first again

    def _fail_or_retry(self, host: Host, entry: Entry, why: str, response: Response | None = None) -> Entry | None:
        if entry.attempts >= self._settings.retries:
            self._outcome.failed(entry, why, response, passing=True)
            return None
        host.failing = True
        host.held_by = "back_off"
        host.not_before = self._clock.monotonic() + min(2.0**entry.attempts, LONGEST_BACKOFF)
        return self._outcome.retried(entry)

    def _postpone(self, host: Host, error: Postponed) -> None:
        now = self._clock.monotonic()
        kinds = ((CircuitOpen, "circuit_open"), (OutOfHours, "visiting_hours"))
        host.held_by = next((why for kind, why in kinds if isinstance(error, kind)), "interval")
        if host.not_before <= now:  # of several requests under way the first tells
            self._watch.postponed(host.name, host.held_by, error.seconds)
        host.not_before = now + error.seconds
