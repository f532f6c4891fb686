"""The turn of one URL: it is fetched, what its answer names is taken up, and what came of it is entered.

The first two may be given up, and are done again then; the last waits for nothing.
"""

import math
from typing import Final

from comity import urls
from comity.crawler.finding.discovery import Discovery
from comity.crawler.progress.stats import StatsCollector
from comity.crawler.run.book import Book
from comity.crawler.run.fetcher import Fetcher
from comity.crawler.run.hosts import Host
from comity.crawler.run.memory import Memory
from comity.crawler.run.outcomes import Again, Known, Outcome, PageRead, PutOff, Refused, Retried, Unwanted
from comity.crawler.run.unreachable import UnreachableHosts
from comity.errors import CircuitOpen, OutOfHours, Postponed
from comity.frontier import Entry

LONGEST_BACKOFF: Final = 60.0  # seconds


class Turns:
    """The turns of one crawl's URLs."""

    def __init__(
        self,
        fetcher: Fetcher,
        discovery: Discovery,
        book: Book,
        memory: Memory,
        unreachable: UnreachableHosts,
        collector: StatsCollector,
    ) -> None:
        self._fetcher = fetcher
        self._discovery = discovery
        self._book = book
        self._memory = memory
        self._unreachable = unreachable
        self._collector = collector

    async def take(self, host: Host, entry: Entry, *, known: bool) -> Outcome:
        """Carry out the turn of a URL; gives what came of it.

        Args:
            known: whether what must be known before it may be fetched is known.
        """
        room = self._memory.claim()
        try:
            try:
                work = self._fetcher.fetch(host, entry, room) if known else self._fetcher.learn(host, entry)
                outcome = await work
                if outcome.answer is not None and outcome.answer.from_cache:
                    self._book.copied(outcome.answer)
                outcome = self._book.enter(await self._discovery.take_up(outcome), host.name)
            except Exception as error:
                outcome = self._book.enter(self._fetcher.given_up(entry, error), host.name)
        finally:
            room.release()
        self._tell(host, outcome)
        return outcome

    def _tell(self, host: Host, outcome: Outcome) -> None:
        """What an outcome means for its host."""
        if outcome.answer is not None:
            host.delay, host.failing = outcome.answer.decision.delay, False
        match outcome:
            case PageRead():
                pass
            case Known() | Refused():
                host.delay, origin = outcome.decision.delay, urls.origin(outcome.entry.url)
                if origin not in host.origins:
                    host.origins = (*host.origins, origin)
            case PutOff():
                self._unreachable.postpone(host.name, urls.origin(outcome.entry.url), outcome.why, outcome.until)
                if outcome.until is not None:
                    host.delay = None  # robots.txt comes first again
            case Retried():
                host.failing, host.held_by = True, "back_off"
                seconds = min(2.0 ** (outcome.entry.attempts - 1), LONGEST_BACKOFF)
                host.not_before = self._collector.clock.monotonic() + seconds
            case Unwanted():
                host.failing = False
            case Again(error=Postponed() as error):
                self._hold(host, error)

    def _hold(self, host: Host, error: Postponed) -> None:
        now = self._collector.clock.monotonic()
        if math.isinf(error.seconds):
            host.held_by, host.not_before = "stopped", math.inf
            return
        kinds = ((CircuitOpen, "circuit_open"), (OutOfHours, "visiting_hours"))
        host.held_by = next((why for kind, why in kinds if isinstance(error, kind)), "interval")
        if host.not_before <= now:  # of several requests under way the first tells
            self._collector.postponed(host.name, host.held_by, error.seconds)
        host.not_before = now + error.seconds
