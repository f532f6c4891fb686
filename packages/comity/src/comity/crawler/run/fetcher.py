"""The turn of a URL: it is fetched through the client, what its answer names is taken up, what came of it is entered.

The first two may be given up, and are done again then; the last waits for nothing. It is decided here what an answer
is (a page, a redirect, a failure, one to be tried again). Which URL has its turn, and when, is the scheduler's to say.
"""

import asyncio
import math
from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

from comity.crawler.run import outcomes
from comity.crawler.run.admission import URLFilter
from comity.crawler.run.discovery import Discovery, is_sitemap
from comity.crawler.run.failures import raise_what_is_ours
from comity.crawler.run.hosts import Host
from comity.crawler.run.memory import BodyOctets
from comity.crawler.run.page_reader import Reader, is_page
from comity.crawler.run.recrawl import RefreshRun
from comity.crawler.run.results import ResultBuffer
from comity.crawler.run.unreachable import UnreachableHosts
from comity.errors import (
    AddressBlocked,
    CircuitOpen,
    FetchError,
    OutOfHours,
    PaymentRequired,
    PluginError,
    Postponed,
    RobotsDisallowed,
    TooLarge,
    UnwantedType,
)
from comity.frontier.values import Entry, EntryKind, Visit
from comity.http_rules import GONE, PAYMENT_REQUIRED, is_temporary
from comity.net import Response, Session
from comity.payment import bad_status
from comity.policy import Decision
from comity_pages import urls
from comity_pages.signals.sitemaps import may_be_sitemap

if TYPE_CHECKING:
    from comity.crawler.run.renderer import Renderer

MAX_SITEMAP_BYTES = 52_428_800 + 65_536  # bytes: the limit of sitemaps.org, and a little for those who count otherwise
REST_FACTOR = 3.0  # times as long as rules were asked that take long, others have the event loop
MAX_BACKOFF_SECONDS = 60.0  # seconds
MAX_RESTING_PAGES = 32  # pages that wait for the browser before they hold up other hosts: each is in memory


class Fetcher:
    """Fetches the URLs of one crawl."""

    def __init__(
        self,
        client: Session,
        reader: Reader,
        url_filter: URLFilter,
        refresh: RefreshRun | None,
        unreachable: UnreachableHosts,
        discovery: Discovery,
        results: ResultBuffer,
    ) -> None:
        self._client = client
        self._reader = reader
        self._filter = url_filter
        self._settings = reader.settings
        self._refresh = refresh
        self._unreachable = unreachable
        self._discovery = discovery
        self._results = results
        self._slow_rules_lock = asyncio.Lock()
        self._renderer: Renderer | None = None
        if reader.settings.renders:
            from comity.crawler.run import renderer as rendering

            self._renderer = rendering.Renderer(client, reader.settings, results)

    @property
    def collects(self) -> bool:
        """Whether what pages need to look as they do is fetched."""
        return self._reader.collects

    @property
    def resting(self) -> int:
        """How many fetches send no request of their own: their pages are in the browser, or wait for it."""
        return 0 if self._renderer is None else min(self._renderer.pages, MAX_RESTING_PAGES)

    def give_up(self) -> None:
        """Cancel the fetches that wait for their turn or for the browser: their URLs wait in the frontier."""
        if self._renderer is not None:
            self._renderer.give_up()
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

    async def take(self, host: Host, entry: Entry, *, known: bool) -> outcomes.Outcome:
        """Carry out the turn of a URL; gives what came of it. `known`: whether what must be known before it may be
        fetched is known."""
        room = self._results.memory.claim()
        try:
            try:
                work = self.fetch(host, entry, room) if known else self.learn(host, entry)
                outcome = await work
                if outcome.answer is not None and outcome.answer.from_cache:
                    self._results.copied(outcome.answer)
                outcome = outcomes.of_its_kind(await self._discovery.apply(outcome))
                outcome = self._results.record(outcome, host.name)
            except Exception as error:
                outcome = self._results.record(outcomes.of_its_kind(self.given_up(entry, error)), host.name)
        finally:
            room.release()
        self._tell(host, outcome)
        return outcome

    async def learn(self, host: Host, entry: Entry) -> outcomes.Outcome:
        """Learn what must be known before a URL may be fetched: whose pace its host shares, then its robots.txt."""
        origin = urls.origin(entry.url)
        if self._unreachable and self._unreachable.holds(host.name, origin):
            return outcomes.Deferred(entry=entry, why=self._unreachable.why(host.name) or "")
        if self._client.driver.gate.pace_of(host.name) is None:
            await self._client.driver.find_pace(host.name)
            return outcomes.Requeued(entry=entry)
        decision = await self._client.check(entry.url)
        if not decision.may_fetch:
            return self._refused(entry, decision)
        return outcomes.RobotsKnown(entry=entry, decision=decision)

    async def fetch(self, host: Host, entry: Entry, room: BodyOctets) -> outcomes.Outcome:
        """Fetch one URL. Errors are for `given_up`. `room` counts the body's octets."""
        await self._ask_slow_rules(entry.url)
        before = self._refresh.before(entry) if self._refresh is not None else None
        if before is not None and self._refresh is not None and self._refresh.spared(before, self._client.clock.wall()):
            return await self._spare(entry, before)
        needed = entry.kind is EntryKind.REQUISITE
        lists = not needed and self._may_list(entry)
        most = max(self._client.settings.max_body, MAX_SITEMAP_BYTES) if lists else None
        response = await self._client.fetch(
            entry.url, headers=self._conditions(before), max_body=most, any_type=lists or needed, budget=room
        )
        if not response.ok or response.location is not None:
            return self._no_page(entry, response, before)
        if needed:
            if not (is_page(response) and self._filter.covers(entry) and self._results.quota.has_room(host.name)):
                requisites = await self._reader.requisites(response, None)
                return outcomes.RequisiteKept(entry=entry, answer=response, requisites=requisites)
            entry = replace(entry, kind=EntryKind.PAGE)  # others may link to it, and it has links
        if entry.kind is EntryKind.PAGE and self._lists(entry, response):
            entry = replace(entry, kind=EntryKind.SITEMAP, depth=max(entry.depth, 1))
        if entry.kind is EntryKind.SITEMAP:
            return outcomes.SitemapRead(entry=entry, answer=response)
        if not self._results.quota.has_room(host.name):  # it stays in the frontier for a later run with a higher limit
            return outcomes.Requeued(entry=entry, answer=response)
        rendered = None if self._renderer is None else await self._renderer.render(entry, response)
        return await self._reader.read(entry, response, before, rendered)

    def given_up(self, entry: Entry, error: Exception) -> outcomes.Outcome:
        """What an error means for a URL. One that is ours and no page's ends the crawl: it is raised again."""
        match error:
            case RobotsDisallowed():
                return self._refused(entry, error.decision)
            case AddressBlocked() | TooLarge() | PluginError():
                return outcomes.Failed(entry=entry, why=error.detail, by_policy=isinstance(error, AddressBlocked))
            case UnwantedType():  # the answer is what it is: asking again would not change it
                return outcomes.Unwanted(entry=entry, error=error)
            case FetchError():
                return self._failed_for_now(entry, error.detail)
            case Postponed():  # visiting hours, an open circuit: the host comes up again in time
                return outcomes.Requeued(entry=entry, error=error)
            case _:
                raise_what_is_ours(error)
                why = f"cannot be processed: {type(error).__name__}: {error}"
                return outcomes.Failed(entry=entry, why=why, ours=True)

    def _no_page(self, entry: Entry, response: Response, before: Visit | None) -> outcomes.Outcome:
        """What an answer is that brings no page."""
        known = before is not None and before.digest is not None
        if response.location is not None:
            target = urls.join(entry.url, response.location)
            return outcomes.Redirected(entry=entry, answer=response, before=before, target=target)
        if response.status == 304 and before is not None and self._conditions(before):
            return outcomes.Unchanged(entry=entry, answer=response, before=before, by="validator")
        if response.status in GONE and known:
            return outcomes.Gone(entry=entry, answer=response, before=before, by="status")
        if entry.kind is EntryKind.SITEMAP and self._filter.is_guess(entry.url):
            return outcomes.GuessedSitemapMissing(entry=entry, answer=response)
        if is_temporary(response.status):
            return self._failed_for_now(entry, f"HTTP status {response.status}", response, before)
        why = f"HTTP status {response.status}"
        error = bad_status(response.url, response.status, response.all_headers, body=response.body)
        if isinstance(error, PaymentRequired):
            asks = "payment" if response.status == PAYMENT_REQUIRED else "a licence"
            why = f"requires {asks}{', ' if error.costs else ''}{error.costs}: {why}"
            return outcomes.PaymentRequiredOutcome(entry=entry, answer=response, before=before, why=why)
        return outcomes.Failed(entry=entry, answer=response, before=before, why=why)

    def _failed_for_now(
        self, entry: Entry, why: str, response: Response | None = None, before: Visit | None = None
    ) -> outcomes.Outcome:
        """A failure that may pass: it is tried a few times."""
        if entry.attempts >= self._settings.retries:
            return outcomes.Failed(entry=entry, answer=response, before=before, why=why, passing=True)
        return outcomes.Retried(entry=replace(entry, attempts=entry.attempts + 1), answer=response)

    def _refused(self, entry: Entry, decision: Decision) -> outcomes.Outcome:
        """A URL may not be fetched: for good, or until its robots.txt can be reached, which is tried a few times."""
        if not decision.may_pass or entry.attempts >= self._settings.retries:
            return outcomes.Refused(entry=entry, decision=decision)
        until = self._client.driver.gate.robots.get_or_create(urls.origin(entry.url)).fresh_until
        return outcomes.Deferred(entry=entry, why=decision.why, until=until)

    def _may_list(self, entry: Entry) -> bool:
        """Whether a URL may be there for what it names, by its own name or by a robots.txt; its answer tells."""
        return entry.kind is EntryKind.SITEMAP or (
            self._settings.sitemaps
            and (self._filter.names(entry.url) or (entry.depth == 0 and may_be_sitemap(entry.url)))
        )

    def _lists(self, entry: Entry, response: Response) -> bool:
        """Whether the answer for a page is a sitemap or a feed to be read: a robots.txt names it, or it was given by
        hand and is one."""
        if not self._settings.sitemaps:
            return False
        if self._filter.names(entry.url) and not is_page(response):
            return True
        return entry.depth == 0 and is_sitemap(response.body, entry.url, feeds=self._settings.feeds)

    async def _ask_slow_rules(self, url: str) -> None:
        """Have the answer about a URL at hand where it takes long: one at a time, and no more than a part of the time.

        Such a URL was not asked about when it was found: a page may name thousands.
        """
        origin_policy = self._client.origin_policy(url)
        if origin_policy is not None and origin_policy.is_slow(url):
            async with self._slow_rules_lock:
                begun = perf_counter()
                await asyncio.get_running_loop().run_in_executor(None, origin_policy.allows, url)
                await asyncio.sleep(REST_FACTOR * (perf_counter() - begun))

    def _conditions(self, before: Visit | None) -> Mapping[str, str]:
        return self._refresh.conditions(before) if self._refresh is not None else {}

    async def _spare(self, entry: Entry, before: Visit) -> outcomes.Outcome:
        """Take a page for unchanged without asking for it, if it might be asked for at all."""
        decision = await self._client.check(entry.url)
        if not decision.may_fetch:
            return outcomes.Refused(entry=entry, decision=decision)
        return outcomes.Unchanged(entry=entry, before=before, by="lastmod")

    def _tell(self, host: Host, outcome: outcomes.Outcome) -> None:
        """What an outcome means for its host."""
        if outcome.answer is not None:
            host.delay, host.failing = outcome.answer.decision.delay, False
        match outcome:
            case outcomes.PageRead():
                pass
            case outcomes.RobotsKnown() | outcomes.Refused():
                host.delay, origin = outcome.decision.delay, urls.origin(outcome.entry.url)
                if origin not in host.origins:
                    host.origins = (*host.origins, origin)
            case outcomes.Deferred():
                self._unreachable.postpone(host.name, urls.origin(outcome.entry.url), outcome.why, outcome.until)
                if outcome.until is not None:
                    host.delay = None  # robots.txt comes first again
            case outcomes.Retried():
                host.failing, host.held_by = True, "back_off"
                seconds = min(2.0 ** (outcome.entry.attempts - 1), MAX_BACKOFF_SECONDS)
                host.not_before = self._client.clock.monotonic() + seconds
            case outcomes.Unwanted():
                host.failing = False
            case outcomes.Requeued(error=Postponed() as error):
                self._hold(host, error)

    def _hold(self, host: Host, error: Postponed) -> None:
        now = self._client.clock.monotonic()
        if math.isinf(error.seconds):
            host.held_by, host.not_before = "stopped", math.inf
            return
        kinds = ((CircuitOpen, "circuit_open"), (OutOfHours, "visiting_hours"))
        host.held_by = next((why for kind, why in kinds if isinstance(error, kind)), "interval")
        if host.not_before <= now:  # of several requests under way the first tells
            self._results.collector.postponed(host.name, host.held_by, error.seconds)
        host.not_before = now + error.seconds
