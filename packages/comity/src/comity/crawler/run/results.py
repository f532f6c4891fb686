"""What a crawl found out and has not made durable yet: every outcome is entered here, once. It is gathered on the
crawl's own thread and written in another, so that a disk that takes its time holds nobody up. Entering does not wait
for anything: what has begun to be entered is entered. When it is written, commits.py says."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from comity.crawler.finding.duplicates import Duplicates
from comity.crawler.finding.limits import Quota
from comity.crawler.observe.stats import COUNTED_PAGES, RequestCounters, Stats, StatsCollector
from comity.crawler.output import records
from comity.crawler.output.ledger import Collected
from comity.crawler.output.records import CrawledPage, complete
from comity.crawler.output.sink import Channel
from comity.crawler.run.memory import Memory
from comity.crawler.run.outcomes import TABLE, Deferred, Failed, Outcome, PageKept, Requeued, SitemapRead, Written
from comity.crawler.run.recrawl import COUNTED_ORIGINS, LASTMOD, RefreshRun
from comity.crawler.run.run_config import RunConfig, RunResources
from comity.frontier.rules import Commit
from comity.frontier.state_overlay import StateOverlay
from comity.frontier.values import Batch, EntryKind, Found, Message, State
from comity.net import Response
from comity.net.request_record import RequestRecord
from comity.policy import RobotsResult
from comity.policy.origin_policy import decide

RECORD_BYTES: Final = 1000  # bytes of a record beside its body, about


@dataclass(slots=True, eq=False, repr=False)
class PendingCommit:
    """What one commit is to make durable.

    Attributes:
        records: of the output.
        pages: to be handed out once they are durable.
        settled: by host, ids of URLs that have no turn though they wait in the frontier until the commit is through.
        unread: hosts of which sitemaps were found or read: their pages may have their turn after the commit.
        octets: bytes of bodies and records, about.
        refresh: number of the refresh that it is of; 0 for a first crawl.
    """

    batch: Batch = field(default_factory=Batch)
    records: list[Written] = field(default_factory=list)
    pages: list[CrawledPage] = field(default_factory=list)
    settled: dict[str, set[int]] = field(default_factory=dict)
    unread: set[str] = field(default_factory=set)
    octets: int = 0
    refresh: int = 0

    @property
    def hosts(self) -> set[str]:
        """Those of which URLs wait to be fetched once it is durable."""
        found = {found.host for found in self.batch.found if found.state < State.DONE}
        found |= {found.host for found in self.batch.again}
        return found | self.unread | set(self.batch.resumed)

    def write(
        self,
        resources: RunResources,
        collected: Collected,
        facts: dict[str, Any],
        stats: Stats,
        tally: RequestCounters,
        *,
        final: bool,
    ) -> tuple[Commit, Sequence[tuple[str, dict[str, Any]]], int, float]:
        """Write output, ledger and frontier, all or nothing, and `facts`, `stats` and `tally` with them: in the
        writer's thread. `final`: nothing more is to be written in this run.

        Returns:
            What the frontier makes of it; channel and record of each failure and refusal; records of the ledger, with
            it; the seconds that it took.
        """
        begun = time.perf_counter()
        resources.ledger.anchor.check()  # first: what is opened by its name would lie in another's folder
        counts: Counter[str] = Counter(channel for channel, _, _ in self.records)
        reported = [(channel, record) for channel, record, _ in self.records if channel in ("failures", "refusals")]
        with resources.sink.writing() as sink:
            self.records.reverse()
            while self.records:
                channel, record, answer = self.records.pop()
                if channel == "pages" and isinstance(answer, Response):
                    complete(record, answer, in_utf8=resources.sink.in_utf8, exact=resources.sink.exact)
                sink.add(channel, record, answer)
                del record, answer  # each is let go of once it is written
        with resources.frontier.commit(self.batch) as commit:
            by_rule = [refused for refused in commit.refusals if "trap" not in refused]
            marker = resources.ledger.commit(collected, by_rule, counts)
            with resources.sink.writing() as sink:
                for refused in commit.refusals:
                    refused["refresh"] = self.refresh
                    sink.add("traps" if "trap" in refused else "refusals", refused)
                written = resources.sink.remembered(sink.flush(final=final))
            stats.found += commit.new
            stats.refused += len(by_rule)
            stats.trapped += len(commit.refusals) - len(by_rule)
            commit.facts |= facts | {
                "sink": written,
                "ledger": marker,
                "stats": stats.to_dict(),
                "tally": tally.to_list(by_rule),
            }
        reported += [("refusals", refused) for refused in by_rule]
        return commit, reported, marker["count"], time.perf_counter() - begun


class ResultBuffer:
    """What one crawl found out.

    Attributes:
        trouble: the first failure or unreachable robots.txt of this run, in words.
        lasting: whether there was a failure in this run that will not pass: the site was reached.
        refusal: the first refusal of a URL in this run, in words.
        blocked: URLs that gave no page in this run because of our rule on addresses.
        refresh: number of the refresh that this is; 0 for a first crawl.
        unsaved: what waits for the next commit.
        collector, memory, quota, facts: where it is counted, and what of it is to be remembered.
    """

    def __init__(
        self,
        config: RunConfig,
        resources: RunResources,
        collector: StatsCollector,
        memory: Memory,
        quota: Quota,
        facts: StateOverlay,
        refresh: RefreshRun | None,
    ) -> None:
        duplicates = config.settings.duplicates
        self.stats = collector.stats
        self.trouble: str | None = None
        self.lasting = False
        self.refusal: str | None = None
        self.blocked = 0
        self.refresh = 0 if refresh is None else refresh.number
        self.unsaved = PendingCommit(refresh=self.refresh)
        self._on_their_way = PendingCommit()  # with the commit under way
        self.collector = collector
        self._ledger = resources.ledger
        self.copied = resources.ledger.copy  # an answer's body is a copy that was kept from earlier
        self.memory = memory
        self.quota = quota
        self._duplicates = None if duplicates == "off" else Duplicates(facts, near=duplicates == "near")
        self._hands_out = config.listeners.page is not None
        self._telemetry = resources.telemetry
        self._policy = config.policy
        self.facts = facts

    @property
    def waiting(self) -> bool:
        """Whether anything waits for the next commit."""
        return bool(self.unsaved.batch or self.unsaved.records)

    @property
    def size(self) -> int:
        """URLs settled or found since the last commit."""
        batch = self.unsaved.batch
        return len(batch.settled) + len(batch.found) + len(batch.messages)

    async def until_below(self, size: int, wake: Callable[[], None]) -> None:
        """Come back when less than `size` waits for a commit; `wake` asks for one."""
        while self.size >= size:
            wake()
            await asyncio.sleep(0.001)

    def settled(self, host: str) -> set[int]:
        """The entries of a host that are settled but wait in the frontier until a commit is through."""
        return {*self.unsaved.settled.get(host, ()), *self._on_their_way.settled.get(host, ())}

    def unread(self, host: str) -> bool:
        """Whether sitemaps of a host were found, or read, that wait for a commit."""
        return host in self.unsaved.unread or host in self._on_their_way.unread

    def record(self, outcome: Outcome, host: str) -> Outcome:
        """Enter what came of a URL of a host; gives it as it was entered: a page for which there is no room is to have
        its turn again, in a later run with a higher limit.
        """
        kind, taken, unsaved, page = TABLE[type(outcome)], outcome.taken, self.unsaved, None
        if taken is not None and not self.quota.has_room(host):
            return Requeued(entry=outcome.entry, answer=outcome.answer)
        if outcome.before is not None:
            self._look_back(outcome)  # first: what the page was is forgotten before it is known as it is
        if isinstance(outcome, PageKept):
            outcome = self._marked(outcome)
            page = outcome.page() if self._hands_out else None
        record = None if kind.channel is None else outcome.record()
        more = list(outcome.beside(self.refresh))
        counters = kind.counters
        # What can fail on a page has been done: from here on it is entered, all of it.
        if taken is not None:
            self.quota.kept(host, taken)
        if isinstance(outcome, PageKept):
            self.stats.body_bytes += len(outcome.answer.body)
            self.collector.tally.page(outcome.entry.depth, outcome.shown.content_type)
            assert record is not None
            counters = *counters, *[counter for counter, name in COUNTED_PAGES if record[name] not in (None, False)]
        if page is not None:
            unsaved.pages.append(page)
        for counter in counters:
            setattr(self.stats, counter, getattr(self.stats, counter) + 1)
        if kind.channel is not None and record is not None:
            self._write(kind.channel, record, outcome.answer if kind.with_answer else None)
            if kind.ledger is not None:
                kind.ledger(self._ledger, record)
            if kind.report is not None:
                kind.report(self.collector, record)
            if kind.channel == "refusals":
                self.refusal = self.refusal or record["why"]
        self.blocked += outcome.blocked
        if (trouble := outcome.trouble) is not None:
            self.trouble = self.trouble or trouble
            self.lasting = self.lasting or (isinstance(outcome, Failed) and not outcome.passing)
        if isinstance(outcome, SitemapRead):
            unsaved.unread.add(host)
        outcome.note(unsaved.batch, self.refresh)
        if kind.state is not None:
            unsaved.batch.settled.append((kind.state, outcome.entry.id))
        if kind.state is not None or isinstance(outcome, Deferred):
            unsaved.settled.setdefault(host, set()).add(outcome.entry.id)
        for each in more:
            if isinstance(each, Outcome):
                self.record(each, host)
            else:
                self._write(*each)
        if self._telemetry is not None and kind.state is not None:  # else it is tried again, or told with another
            self._telemetry.outcome(outcome.entry.url, kind.word or type(outcome).__name__.lower())
        return outcome

    def found(self, found: Found, *, again: bool = False) -> None:
        """A URL was discovered. `again`: one that had its turn already, and is to have another."""
        batch = self.unsaved.batch
        (batch.again if again else batch.found).append(found)
        if found.kind is EntryKind.SITEMAP:
            self.unsaved.unread.add(found.host)

    def count(self, counter: Literal["outside", "nofollow", "waited"], number: float) -> None:
        """Something is counted that no record and no URL of the queue says: so many more."""
        setattr(self.stats, counter, getattr(self.stats, counter) + number)

    def message(self, shard: int, message: Message) -> None:
        """Something was found that concerns another shard."""
        self.unsaved.batch.messages.append((shard, message))

    def taken(self, shard: int, number: int) -> None:
        """A parcel of another shard was taken up, all of it."""
        self.unsaved.batch.taken[shard] = number

    def delivered(self, numbers: Mapping[int, int]) -> None:
        """Other shards have taken what was sent to them, up to these parcels."""
        self.unsaved.batch.delivered.update(numbers)

    def resumed(self, host: str, number: int) -> None:
        """The URLs of a host that were put off, this many, are queued again."""
        self.stats.postponed -= number
        self.unsaved.batch.resumed.append(host)

    def robots(self, result: RobotsResult) -> None:
        """A site was asked for its robots.txt."""
        self.collector.robots(result)
        without_rules = result.is_unreadable and decide(self._policy, f"{result.origin}/", result).may_fetch
        for counter, counts in (("without_rules", without_rules), ("robots_cut", result.is_cut)):
            fact = COUNTED_ORIGINS[counter] + result.origin
            if counts and self.facts.get(fact) is None:  # once, though it is asked for again and again
                self.facts.put(fact, 1)
                setattr(self.stats, counter, getattr(self.stats, counter) + 1)
        self._write("robots", records.robots(result), result)
        self._ledger.robots(result)

    def request(self, request: RequestRecord) -> None:
        """A request is over, whatever came of it."""
        self._ledger.request(request)
        self.collector.request(request)
        if self._telemetry is not None:
            self._telemetry.request(request)

    def take(self) -> PendingCommit:
        """All that became of URLs since the last commit, for the one that begins."""
        self._on_their_way, self.unsaved = self.unsaved, PendingCommit(refresh=self.refresh)
        return self._on_their_way

    def committed(self, new: int, refusals: list[dict[str, Any]]) -> None:
        """What was taken is durable: so many URLs were new, and these are the records of those that were refused."""
        self.memory.written(self._on_their_way.octets)
        self._on_their_way = PendingCommit()
        self.stats.found += new
        for record in refusals:
            if "trap" in record:
                self.stats.trapped += 1
            else:
                self.stats.refused += 1
                self.collector.refused(record)
                self.blocked += record["decision"]["verdict"] == "unknown_unreachable"  # else it would have to wait
                self.refusal = self.refusal or record["why"]

    def _marked(self, page: PageKept) -> PageKept:
        """A page with what it repeats, and what a sitemap said of it."""
        if (lastmod := self.facts.get(name := f"{LASTMOD}{page.entry.url}")) is not None:
            self.facts.put(name, None)
            page = replace(page, lastmod=lastmod)
        if self._duplicates is None:
            return page
        shown, canonical = page.shown, page.read.canonical if page.read is not None else None
        duplicate = self._duplicates.keep(
            shown.url, shown.body, sha256=shown.sha256, canonical=canonical, fingerprint=page.fingerprint
        )
        return page if duplicate is None else replace(page, duplicate=duplicate)

    def _look_back(self, outcome: Outcome) -> None:
        """What a page was may count no more: then no other page repeats it from now on."""
        before = outcome.before
        assert before is not None
        if outcome.outdates and before.digest is not None and self._duplicates is not None:
            self._duplicates.forget(before.url, before.digest)
        if outcome.is_left:
            self.unsaved.batch.gone.append(outcome.entry.url)

    def _write(self, channel: Channel, record: dict[str, Any], answer: Response | RobotsResult | None) -> None:
        if self.refresh and "refresh" in record:
            record["refresh"] = self.refresh
        self.unsaved.records.append((channel, record, answer))
        octets = RECORD_BYTES + (len(answer.body) if answer is not None else 0)
        self.unsaved.octets += octets
        self.memory.keep(octets)
