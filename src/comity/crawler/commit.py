"""What became of URLs since the last commit, and how it is made durable: output, ledger and frontier all or nothing.

It is gathered on the crawl's own thread and written in another, so that a disk that takes its time holds nobody up.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from comity import urls
from comity.crawler import records, recrawl
from comity.crawler.ledger import Collected, Ledger
from comity.crawler.memory import Memory
from comity.crawler.plugins import Expanded
from comity.crawler.records import CrawledPage, Grounds, PageChange
from comity.crawler.sinks import Channel
from comity.crawler.sinks.runner import SinkRunner
from comity.crawler.stats import Stats, StatsCollector, Tally
from comity.errors import UnwantedType
from comity.frontier import Batch, Entry, EntryKind, Found, Message, State, Visit
from comity.frontier.rules import DurableFrontier, Queued
from comity.net import Response
from comity.net.request_record import RequestRecord
from comity.policy import Decision, RobotsResult

RECORD = 1000  # bytes of a record beside its body, about
Written = tuple[Channel, dict[str, Any], Response | RobotsResult | None]


class CommitBuffer:
    """What one crawl found out and has not made durable yet.

    Attributes:
        stats: counts over all runs so far.
        trouble: the first failure or unreachable robots.txt of this run, in words.
        lasting: whether there was a failure in this run that will not pass: the site was reached.
        refusal: the first refusal of a URL in this run, in words.
        pending: bytes, about, that wait for the next commit.
        records: of the ledger, that are committed.

    Args:
        memory: is told of the bodies that wait for a commit.
        refresh: number of the refresh that this is; 0 for a first crawl.
    """

    def __init__(self, collector: StatsCollector, ledger: Ledger, memory: Memory, *, refresh: int = 0) -> None:
        self.stats = collector.stats
        self._refresh = refresh
        self.trouble: str | None = None
        self.lasting = False
        self.refusal: str | None = None
        self.pending = 0
        self.records = 0
        self._collector = collector
        self._ledger = ledger
        self._memory = memory
        self._batch = Batch()
        self._records: list[Written] = []
        self._fresh: list[CrawledPage] = []
        self._settled: dict[str, set[int]] = {}  # by host, ids that wait in the frontier until the next commit
        self._on_their_way: dict[str, set[int]] = {}  # the same of the commit under way
        self._unread: set[str] = set()
        self._unread_on_their_way: set[str] = set()

    @property
    def waiting(self) -> bool:
        """Whether anything waits for the next commit."""
        return bool(self._batch or self._records)

    @property
    def size(self) -> int:
        """URLs settled or found since the last commit."""
        return len(self._batch.settled) + len(self._batch.found) + len(self._batch.messages)

    async def until_below(self, size: int, wake: Callable[[], None]) -> None:
        """Come back when less than `size` waits for a commit; `wake` asks for one."""
        while self.size >= size:
            wake()
            await asyncio.sleep(0.001)

    def settled(self, host: str) -> set[int]:
        """The entries of a host that are settled but wait in the frontier until a commit is through."""
        return {*self._settled.get(host, ()), *self._on_their_way.get(host, ())}

    def unread(self, host: str) -> bool:
        """Whether sitemaps of a host were found, or read, that wait for a commit."""
        return host in self._unread or host in self._unread_on_their_way

    def found(self, found: Found) -> None:
        """A URL was discovered."""
        self._batch.found.append(found)
        if found.kind is EntryKind.SITEMAP:
            self._unread.add(found.host)

    def message(self, shard: int, message: Message) -> None:
        """Something was found that concerns another shard."""
        self._batch.messages.append((shard, message))

    def taken(self, shard: int, number: int) -> None:
        """A parcel of another shard was taken up, all of it."""
        self._batch.taken[shard] = number

    def delivered(self, numbers: Mapping[int, int]) -> None:
        """Other shards have taken what was sent to them, up to these parcels."""
        self._batch.delivered.update(numbers)

    def sitemap(self, entry: Entry, host: str, stated: list[tuple[float, str]]) -> None:
        """A sitemap was read; `stated` is the latest time of a change that it leaves, and the page's URL."""
        self._batch.stated += stated
        self._unread.add(host)
        self.done(entry)

    def done(self, entry: Entry) -> None:
        """Nothing more is to be done about a URL, and there is nothing to write."""
        self._settle(entry, State.DONE)

    def page(
        self,
        entry: Entry,
        response: Response,
        record: dict[str, Any],
        expanded: Expanded,
        *,
        before: Visit | None = None,
    ) -> None:
        """A page is kept, with what the expander made of it. `before`: its last visit, in a refresh."""
        self._write("pages", record, response)
        for made in expanded.records:
            self._write("records", {"url": response.url, "record": made})
        if self._refresh:
            change: PageChange = "new" if before is None or before.digest is None else "changed"
            self._changed(entry, change, "content", before, response)
        self._batch.visits.append(recrawl.visited(response, depth=entry.depth, found_on=entry.found_on))
        self.stats.pages += 1
        self.stats.body_bytes += len(response.body)
        self.stats.soft_404 += record["soft_404"] is not None
        self.stats.misfit += record["misfit"] is not None
        self.done(entry)

    def unchanged(self, entry: Entry, by: Grounds, before: Visit, response: Response | None = None) -> None:
        """A page is as it was; `response` is None where the site was not asked."""
        self._changed(entry, "unchanged", by, before, response, answer=response)
        self._batch.visits.append(recrawl.confirmed(before, response))
        self.done(entry)

    def gone(self, entry: Entry, before: Visit, response: Response) -> None:
        """A page is no longer there: an error or a redirect in its place, which is the answer to keep."""
        answer = None if response.location is not None else response  # that of a redirect is kept with it
        self._changed(entry, "gone", "status", before, response, answer=answer)
        self.done(entry)

    def dismissed(self, entry: Entry) -> None:
        """A refresh need not ask for a URL again."""
        self._batch.gone.append(entry.url)

    def _changed(
        self,
        entry: Entry,
        change: PageChange,
        by: Grounds,
        before: Visit | None,
        response: Response | None,
        *,
        answer: Response | None = None,
    ) -> None:
        record = records.change(entry, change, by, refresh=self._refresh, before=before, response=response)
        self._write("changes", record, answer)
        setattr(self.stats, change, getattr(self.stats, change) + 1)

    def fresh(self, page: CrawledPage) -> None:
        """A page to be handed out once it is committed."""
        self._fresh.append(page)

    def redirect(self, entry: Entry, response: Response, target: str | None) -> None:
        """A URL leads elsewhere; `target` is None where that is no web address."""
        self._write("redirects", records.redirect(entry, response, target), response)
        self.stats.redirects += 1
        self.done(entry)

    def request(self, request: RequestRecord) -> None:
        """A request is over, whatever came of it."""
        self._ledger.request(request)
        self._collector.request(request)

    def robots(self, result: RobotsResult) -> None:
        """A site was asked for its robots.txt."""
        self._collector.robots(result)
        self._write("robots", records.robots(result), result)
        self._ledger.robots(result)

    def refused(self, entry: Entry, decision: Decision) -> None:
        """A URL may not be fetched."""
        record = records.refusal(decision, depth=entry.depth, found_on=entry.found_on)
        self._write("refusals", record)
        self._ledger.refusal(record)
        self._collector.refused(record)
        self.stats.refused += 1
        if decision.verdict == "unknown_unreachable":
            self.trouble = self.trouble or decision.why
        self.refusal = self.refusal or decision.why
        self._settle(entry, State.REFUSED)
        if decision.by_policy:
            self._batch.by_policy.append((State.REFUSED, entry.id))

    def refused_by_usage(self, entry: Entry, response: Response, why: str, usage: dict[str, Any] | None) -> None:
        """A page was fetched, and is not kept because of what is stated about its use."""
        self._write("refusals", records.refusal_by_usage(entry, response, why, usage))
        self.stats.refused += 1
        self.refusal = self.refusal or why
        self._settle(entry, State.REFUSED)
        self._batch.by_usage.append(entry.id)
        if self._refresh:  # the page that was kept before is out: should it be kept again, it is a new one
            self._batch.visits.append(Visit(entry.url, entry.depth, found_on=entry.found_on))

    def links(self, edges: Iterable[dict[str, Any]]) -> None:
        """The links of a page, for the link graph."""
        for edge in edges:
            self._write("links", edge)

    def part_refused(self, entry: Entry, decision: Decision) -> None:
        """Something that a page wanted to load may not be fetched; the page's own entry is not settled by that."""
        record = records.refusal(decision, depth=entry.depth, found_on=entry.url, needed_by=entry.url)
        self._write("refusals", record)
        self._ledger.refusal(record)
        self.stats.refused += 1

    def postponed(self, entry: Entry, why: str) -> None:
        """A URL has to wait until its host is resumed; that counts as a try."""
        self.trouble = self.trouble or why
        self.stats.postponed += 1
        self._batch.postponed.append(entry.id)
        self._leave_out(entry)

    def resumed(self, host: str, number: int) -> None:
        """The postponed URLs of a host, this many, are queued again."""
        self.stats.postponed -= number
        self._batch.resumed.append(host)

    def failed(
        self,
        entry: Entry,
        why: str,
        response: Response | None = None,
        *,
        passing: bool = False,
        by_policy: bool = False,
        unpaid: bool = False,
    ) -> None:
        """A URL is given up; where the failure may pass, a refresh asks for it again. `by_policy`: it is our own policy
        that has nothing sent. `unpaid`: the site asks for payment or a licence."""
        if passing and entry.kind is EntryKind.PAGE:
            self._batch.owed.append((entry.url, entry.depth, entry.found_on))
        attempts = entry.attempts + 1
        status = response.status if response else None
        record = records.failure(
            entry.url, why, depth=entry.depth, attempts=attempts, status=status, found_on=entry.found_on
        )
        self._write("failures", record, response)
        self._collector.failed(entry.url, why)
        self.stats.failed += 1
        self.stats.unpaid += unpaid
        self.trouble = self.trouble or why
        self.lasting = self.lasting or not passing
        self._settle(entry, State.FAILED)
        if by_policy:
            self._batch.by_policy.append((State.FAILED, entry.id))

    def unwanted(self, entry: Entry, error: UnwantedType) -> None:
        """A URL is of a content type that the settings leave out."""
        self._write("unwanted", records.unwanted(error, entry))
        self.stats.unwanted += 1
        self.done(entry)

    def no_url(self, text: str, why: str) -> None:
        """What was given to start from is no web address."""
        self._write("failures", records.failure(text, why, depth=0, attempts=0))
        self._ledger.unsent(text, why)
        self._collector.failed(text, why)
        self.stats.failed += 1

    def retried(self, entry: Entry) -> Entry:
        """A URL is to be tried again: the entry as it is then."""
        self._batch.retried.append(entry.id)
        return replace(entry, attempts=entry.attempts + 1)

    def take(self, state: dict[str, Any]) -> "Commit":
        """All that became of URLs since the last commit, to be made durable by `Commit.carry_out`.

        Args:
            state: what is to be saved with it, by name.
        """
        stats, tally = replace(self.stats), self._collector.tally.copy()
        commit = Commit(
            self._batch, self._records, self._ledger.collect(), self._fresh, stats, tally, state, self._refresh
        )
        commit.octets, self.pending = self.pending, 0
        commit.hosts |= self._unread
        self._batch, self._records, self._fresh = Batch(), [], []
        self._unread, self._unread_on_their_way = set(), self._unread
        self._settled, self._on_their_way = {}, self._settled
        return commit

    def committed(self, commit: "Commit") -> None:
        """A commit is durable: what it found out counts from now on."""
        self._memory.written(commit.octets)
        self.records = commit.records
        self._on_their_way = {}
        self._unread_on_their_way = set()
        self.stats.found += commit.new
        self.stats.refused += len(commit.refusals)
        for record in commit.refusals:
            self._collector.refused(record)
            self.refusal = self.refusal or record["why"]
        self._collector.committed(commit.seconds)
        self.stats.trapped += commit.trapped

    def _settle(self, entry: Entry, state: State) -> None:
        self._batch.settled.append((state, entry.id))
        self._leave_out(entry)

    def _leave_out(self, entry: Entry) -> None:
        self._settled.setdefault(urls.host(entry.url), set()).add(entry.id)

    def _write(self, channel: Channel, record: dict[str, Any], answer: Response | RobotsResult | None = None) -> None:
        if self._refresh and "refresh" in record:
            record["refresh"] = self._refresh
        self._records.append((channel, record, answer))
        octets = RECORD + (len(answer.body) if answer is not None else 0)
        self.pending += octets
        self._memory.keep(octets)


class Commit:
    """What one commit makes durable, and what came of it.

    Attributes:
        pages: pages to be handed out once it is durable.
        hosts: those of which URLs were found to fetch, or sitemaps read: they may have their turn then.
        queued: what it added to the queue, by host; see `frontier.rules.Queued`.
        told: channel and record of each failure and refusal.
        new, trapped: URLs among those found that were new; trapped.
        refusals: the records of those that a rule refused.
        seconds: that it took to carry it out.
        octets: of what it writes, about.
        records: of the ledger, with it.
    """

    def __init__(
        self,
        batch: Batch,
        records: list[Written],
        collected: Collected,
        pages: list[CrawledPage],
        stats: Stats,
        tally: Tally,
        state: dict[str, Any],
        refresh: int,
    ) -> None:
        self.batch = batch
        self._refresh = refresh
        self.pages = pages
        self.hosts = {found.host for found in batch.found if found.state < State.DONE} | set(batch.resumed)
        self.queued: Queued = {}
        self.new = self.trapped = 0
        self.refusals: list[dict[str, Any]] = []
        self.told = [(channel, record) for channel, record, _ in records if channel in ("failures", "refusals")]
        self.seconds = 0.0
        self.octets = self.records = 0
        self._records = records
        self._collected = collected
        self._stats = stats
        self._tally = tally
        self._unsaved = state

    def carry_out(self, frontier: DurableFrontier, sink: SinkRunner, ledger: Ledger, *, final: bool) -> None:
        """Write output, ledger and frontier, all or nothing. Only one at a time; any thread.

        Args:
            final: the run ends with this.
        """
        begun = time.perf_counter()
        counts: Counter[str] = Counter(channel for channel, _, _ in self._records)
        self._records.reverse()
        while self._records:  # each is let go of once it is written
            channel, record, answer = self._records.pop()
            if channel == "pages" and isinstance(answer, Response):
                records.complete(record, answer, in_utf8=sink.in_utf8)
            sink.add(channel, record, answer)
            del record, answer

        def write(new: int, refusals: list[dict[str, Any]]) -> dict[str, Any]:
            for record in refusals:
                record["refresh"] = self._refresh
                sink.add("traps" if "trap" in record else "refusals", record)
            by_rule = [record for record in refusals if "trap" not in record]
            self.new, self.trapped, self.refusals = new, len(refusals) - len(by_rule), by_rule
            self.told += [("refusals", record) for record in by_rule]
            stats, tally = self._stats.to_dict(), self._tally.to_list(by_rule)
            for name, more in (("found", new), ("refused", len(by_rule)), ("trapped", self.trapped)):
                stats[name] += more
            marker = ledger.commit(self._collected, by_rule, counts)
            self.records = marker["count"]
            return {"sink": sink.flush(final=final), "ledger": marker, "stats": stats, "tally": tally, **self._unsaved}

        self.queued = frontier.commit(self.batch, write)
        self.seconds = time.perf_counter() - begun
