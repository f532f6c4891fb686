"""What became of URLs: the record of each, the counts, and its new state in the frontier, from one commit to the next.

It keeps output and frontier together and decides nothing: that a URL is kept, refused or given up is said elsewhere.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from comity.crawl import records
from comity.crawl.frontier import Batch, Entry, Found, Frontier, State
from comity.crawl.ledger import Ledger
from comity.crawl.page import CrawledPage
from comity.crawl.plugins import Expanded
from comity.crawl.sinks.guarded import GuardedSink
from comity.crawl.stats import Stats
from comity.net import Response
from comity.policy import Decision, RobotsResult


class Outcome:
    """The books of one crawl.

    Attributes:
        stats: counts over all runs so far.
        trouble: the first failure or unreachable robots.txt of this run, in words.
    """

    def __init__(self, frontier: Frontier, sink: GuardedSink, ledger: Ledger) -> None:
        self.stats = Stats(**frontier.recall("stats", {}))
        self.trouble: str | None = None
        self._frontier = frontier
        self._sink = sink
        self._ledger = ledger
        self._batch = Batch()
        self._fresh: list[CrawledPage] = []

    @property
    def waiting(self) -> bool:
        """Whether anything waits for the next commit."""
        return bool(self._batch)

    @property
    def size(self) -> int:
        """URLs settled or found since the last commit."""
        return len(self._batch.settled) + len(self._batch.found)

    def settled(self) -> set[int]:
        """The entries that are settled but wait in the frontier until the next commit."""
        return {id_ for _, id_ in self._batch.settled}

    def found(self, found: Found) -> None:
        """A URL was discovered."""
        self._batch.found.append(found)

    def done(self, entry: Entry) -> None:
        """Nothing more is to be done about a URL, and there is nothing to write."""
        self._batch.settled.append((State.DONE, entry.id))

    def page(self, entry: Entry, response: Response, record: dict[str, Any], expanded: Expanded) -> None:
        """A page is kept, with what the expander made of it."""
        self._sink.add("pages", record, response)
        for made in expanded.records:
            self._sink.add("records", {"url": response.url, "record": made})
        self.stats.pages += 1
        self.stats.body_bytes += len(response.body)
        self.done(entry)

    def fresh(self, page: CrawledPage) -> None:
        """A page to be handed out once it is committed."""
        self._fresh.append(page)

    def redirect(self, entry: Entry, response: Response, target: str | None) -> None:
        """A URL leads elsewhere; `target` is None where that is no web address."""
        self._sink.add("redirects", records.redirect(response, target, depth=entry.depth), response)
        self.stats.redirects += 1
        self.done(entry)

    def robots(self, result: RobotsResult) -> None:
        """A site was asked for its robots.txt."""
        self._sink.add("robots", records.robots(result), result)
        self._ledger.robots(result)

    def refused(self, entry: Entry, decision: Decision) -> None:
        """A URL may not be fetched."""
        record = records.refusal(decision, depth=entry.depth)
        self._sink.add("refusals", record)
        self._ledger.refusal(record)
        self.stats.refused += 1
        if decision.verdict == "unknown_unreachable":
            self.trouble = self.trouble or decision.why
        self._batch.settled.append((State.REFUSED, entry.id))

    def failed(self, entry: Entry, why: str, response: Response | None = None) -> None:
        """A URL is given up."""
        attempts = entry.attempts + 1
        status = response.status if response else None
        record = records.failure(entry.url, why, depth=entry.depth, attempts=attempts, status=status)
        self._sink.add("failures", record, response)
        self.stats.failed += 1
        self.trouble = self.trouble or why
        self._batch.settled.append((State.FAILED, entry.id))

    def unsent(self, entry: Entry, why: str) -> None:
        """A URL is given up before it was asked for: its host may not be asked for too long."""
        self._ledger.unsent(entry.url, why)
        self.failed(entry, why)

    def no_url(self, text: str, why: str) -> None:
        """What was given to start from is no web address."""
        self._sink.add("failures", records.failure(text, why, depth=0, attempts=0))
        self._ledger.unsent(text, why)
        self.stats.failed += 1

    def retried(self, entry: Entry) -> Entry:
        """A URL is to be tried again: the entry as it is then."""
        self._batch.retried.append(entry.id)
        return replace(entry, attempts=entry.attempts + 1)

    def commit(self, facts: Callable[[], dict[str, Any]], *, final: bool = False) -> tuple[set[str], list[CrawledPage]]:
        """Make everything so far durable.

        Args:
            facts: gives what is to be remembered beside it.
            final: the run ends with this.

        Returns:
            The hosts of which URLs were found to fetch, and the pages that were kept, since the last commit.
        """
        batch, self._batch = self._batch, Batch()
        collected = self._ledger.collect()

        def write(new: int, refusals: list[dict[str, Any]]) -> dict[str, Any]:
            for record in refusals:
                if "trap" in record:
                    self._sink.add("traps", record)
                    self.stats.trapped += 1
                else:
                    self._sink.add("refusals", record)
                    self.stats.refused += 1
            self.stats.found += new
            return {
                "sink": self._sink.flush(final=final),
                "ledger": self._ledger.commit(collected, [record for record in refusals if "trap" not in record]),
                "stats": self.stats.to_dict(),
                **facts(),
            }

        self._frontier.commit(batch, write)
        fresh, self._fresh = self._fresh, []
        return {found.host for found in batch.found if found.state < State.DONE}, fresh
