"""The crawl: takes URLs from the frontier host by host, fetches them through the client, writes what came.

It keeps the order of things: robots.txt, where it is known, before a URL enters the queue, the gate before each fetch,
output and frontier committed together. What may be fetched and when is decided below, in the gate.
"""

import asyncio
import math
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, aclosing, nullcontext
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from comity import urls
from comity.crawler import orders
from comity.crawler.admission import URLFilter
from comity.crawler.checkpoint import RUN, Begun, UnreachableHosts, judge_again, run_of, settings_in_force
from comity.crawler.commit import CommitBuffer
from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.duplicates import Duplicates
from comity.crawler.facts import Facts
from comity.crawler.fetcher import Fetcher
from comity.crawler.ledger import Ledger
from comity.crawler.limits import Quota
from comity.crawler.memory import Memory
from comity.crawler.orders import Order, Orders
from comity.crawler.page_processor import PageProcessor
from comity.crawler.plugins import Expander, Plugins, Source
from comity.crawler.records import CrawledPage
from comity.crawler.recrawl import ENDED, FINISHED, RefreshRun, not_begun, refresh_of
from comity.crawler.scheduler import SLOW, Alarm, Scheduler
from comity.crawler.shards import ShardPlace
from comity.crawler.sinks import Sink
from comity.crawler.sinks.runner import DEFAULT, LEDGER, SinkRunner, check_free, named
from comity.crawler.snapshot import Phase, Snapshot, take
from comity.crawler.stats import UNREACHABLE, Stats, StatsCollector
from comity.crawler.waits import WaitJournal, WaitJournalFile, Waits
from comity.errors import StorageError, check_type
from comity.frontier import Frontier, State
from comity.frontier.durable import make_folder
from comity.frontier.rules import DurableFrontier
from comity.net import ClientSettings, Clock, Session
from comity.net.names import dns_library
from comity.policy import Decision, OriginPolicy, Policy, RobotsResult, decide

if TYPE_CHECKING:
    from comity.client import AsyncClient

COMMIT_EVERY = 0.5  # seconds
COMMIT_SIZE = 1000  # URLs settled or found
PLACE = "place"  # the fact that says which shard of a crawl this is
FEED_AT_ONCE = 64  # pages visited before that are taken up before others have their turn


class Crawler:
    """One crawl into one folder; a folder that holds an unfinished crawl is continued.

    Args:
        seeds: absolute URLs to start from, or one; the crawl stays on their hosts, or as far around them as the
            settings say.
        folder: where frontier and output lie; made if need be.
        sink: the output: a format's name, a plug-in as `MODULE:NAME`, or an object; None for what the crawl was begun
            with, JSON Lines if it is new.
        policy: None for what the crawl was begun with, the default policy if it is new.
        begun: what was read of the folder already; None: it is read now.
        settings: the settings, or a mapping of some. A resumed crawl keeps its earlier ones, field by
            field, except those given now: what a mapping names, or what differs from the default in a CrawlSettings.
            So `{"max_pages": None}` lifts a limit. Patterns in `exclude` add to those before; `()` lifts them.
        source, expander: plug-ins, each as an object or as `MODULE:NAME`.
        refresh: crawl what the folder's finished crawl covers again, asking for a page only if it has changed; `stats`
            says how many are new, changed, gone and unchanged, the channel `changes` which.
        pace_with: a client on the event loop that the crawl runs on; to each host, both keep one pace together.

    Raises:
        InvalidURL: a seed is not a web address.
        StorageError: the folder cannot be used, or its crawl has not ended and so cannot be refreshed.
    """

    def __init__(
        self,
        seeds: str | Iterable[str],
        folder: str | Path,
        *,
        policy: Policy | None = None,
        settings: CrawlSettings | Mapping[str, Any] | None = None,
        client_settings: ClientSettings | None = None,
        clock: Clock | None = None,
        sink: Sink | str | None = None,
        source: Source | str | None = None,
        expander: Expander | str | None = None,
        refresh: bool = False,
        begun: Begun | None = None,
        pace_with: "AsyncClient | None" = None,
    ) -> None:
        check_type("policy", policy, Policy)
        if not isinstance(settings, Mapping):
            check_type("settings", settings, CrawlSettings)
        check_type("client_settings", client_settings, ClientSettings)
        self.seeds = [urls.normalise(seed) for seed in ((seeds,) if isinstance(seeds, str) else seeds)]
        self.folder = Path(folder)
        self._begun_with = begun or Begun.at(self.folder)
        self.policy = policy or self._begun_with.policy or Policy()
        self.settings = settings_in_force(settings, self._begun_with.settings, refresh=refresh)
        self.trouble: str | None = None  # the first failure or unreachable robots.txt, in words
        self.passing = True  # whether all of that may pass: no answer, 5xx, 429, an unreachable robots.txt
        self.refusal: str | None = None  # the first URL refused in the last run: why, in words
        self.limit_reached: str | None = None  # the limit of the whole crawl that ended the last run, in words
        self.put_off: str | None = None  # what hosts wait for that the last run left for a later one, in words
        self.left = 0  # URLs that still waited when a limit or `stop` ended the last run
        self.unasked = 0  # of them, in a refresh, pages that are known: also where the run was stopped
        self.on_page: Callable[[CrawledPage], None] | None = None  # set before `run`; told of each page once committed
        self.on_record: Callable[[str, dict[str, Any]], None] | None = None  # the same of each failure and refusal
        self.on_begin: Callable[[], None] | None = None  # set before `run`; told when nothing refuses it any more
        self._client_settings = client_settings or ClientSettings()
        self._pace_with = None if pace_with is None else pace_with._session
        self._clock = clock or Clock()
        self._collector = StatsCollector(self._clock)
        self.stats = self._collector.stats
        self._wake = Alarm(self._clock)
        self._scheduler = Scheduler(self.settings, self._clock, self._wake.set)
        self._stopping = False
        self._held = False
        self._given_sink = sink
        self._begins_refresh = refresh
        self._ended: str | None = None
        self._plugins = Plugins(source, expander)
        self._place: ShardPlace | None = None  # which shard of a crawl this is
        self._commit_every = self._rest = COMMIT_EVERY  # seconds between two looks where nothing is to be done
        self._orders = Orders(self.folder)
        self._feeding: asyncio.Task[None] | None = None
        self._committing: asyncio.Task[None] | None = None
        self._facts = Facts(lambda name: self._frontier.load_state(name))
        # Made when the crawl starts:
        self._writer: ThreadPoolExecutor
        self._reading_executor: ThreadPoolExecutor  # has no thread until something is given to it
        self._frontier: DurableFrontier
        self._sink: SinkRunner
        self._ledger: Ledger
        self._client: Session
        self._quota: Quota
        self._duplicates: Duplicates
        self._memory: Memory
        self._buffer: CommitBuffer
        self._filter: URLFilter
        self._fetcher: Fetcher
        self._refresh: RefreshRun | None
        self._unreachable: UnreachableHosts
        self._waits: Waits

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called: URLs may be waiting for a later run."""
        return self._stopping

    def snapshot(self, *, hosts: int = 10, rules: int = 10) -> Snapshot:
        """How the crawl stands, with its busiest hosts and rules: from any thread, before, while and after it runs."""
        phase: Phase = "stopping" if self._stopping else "held" if self._held else "running"
        return take(
            self._collector,
            self._scheduler.hosts.all(),
            phase,
            len(self._scheduler.tasks),
            most_hosts=hosts,
            most_rules=rules,
        )

    def inspect(self) -> Mapping[str, RobotsResult]:
        """The robots.txt files of this run, origin by origin, those met last where there are very many: while the crawl
        runs and after it. Each has `robots`: groups, rules, crawl delay, sitemaps.
        """
        return self._client.driver.gate.robots.results() if hasattr(self, "_client") else {}

    def check(self, url: str) -> Decision | None:
        """The decision about a URL by what was learned in this run; None where that is nothing of its site. Nothing is
        sent.

        Raises:
            InvalidURL
        """
        url = urls.normalise(url)
        result = self.inspect().get(urls.origin(url))
        return None if result is None else decide(self.policy, url, result)

    @property
    def format(self) -> str:
        """What the output is written as: a format's name, or a plug-in's `MODULE:NAME`. Known once the crawl runs."""
        return self._sink.name

    @property
    def refreshes(self) -> bool:
        """Whether this is a refresh, or goes on with one. Known once the crawl runs."""
        return self._refresh is not None

    def stop(self) -> None:
        """Start nothing new; what is under way is finished and written."""
        self._stopping = True
        self._wake.set()

    def hold(self) -> None:
        """Start nothing until `go_on`; what is under way is finished and written."""
        self._held = True

    def go_on(self) -> None:
        """Start requests again after `hold`."""
        if self._held:
            self._held = False
            self._wake.set()

    async def run(self) -> Stats:
        """Crawl until nothing is left, `max_pages` is reached or `stop` was called."""
        sink = None if self._given_sink is None else named(self._given_sink)
        has_start = bool(self.seeds) or self._plugins.source is not None
        if (self._begins_refresh or not has_start) and not self._begun_with.is_there:
            raise not_begun(self.folder, "refresh" if self._begins_refresh else "continue")
        if self.settings.render:  # what lacks is said before a folder is there
            from comity.crawler.rendering.browser import Browser

            Browser(self.settings.render_browser)
        if self._client_settings.nameservers:
            dns_library()
        if not (self.folder / "frontier.sqlite").exists():
            check_free(self.folder, DEFAULT if sink is None else sink.name, LEDGER)
        make_folder(self.folder)
        with (
            self._collector.running(self.folder),
            self._open_frontier() as self._frontier,
            nullcontext(SinkRunner(sink, self.folder, self._frontier)) as self._sink,
            Ledger(self.folder / LEDGER, self._frontier.load_state("ledger"), self._clock) as self._ledger,
            ThreadPoolExecutor(1, "comity-read") as self._reading_executor,
            ThreadPoolExecutor(1, "comity-commit") as self._writer,  # left when it is at rest
            self._sink.opened(self._writer),
            ExitStack() as resources,
        ):
            async with Session(
                self.policy, self._client_settings, clock=self._clock, pace_with=self._pace_with
            ) as self._client:
                self._waits = resources.enter_context(
                    Waits(self._open_journal(), self._client, self._clock, self._facts.get)
                )
                self._start()
                self._waits.then, self._client.driver.on_report = (
                    self._client.driver.on_report,
                    self._waits.after_request,
                )
                self._client.on_request = self._buffer.request
                await self._commit()
                self._begin()
                if self.on_begin is not None:
                    self.on_begin()
                following = asyncio.get_running_loop().create_task(self._follow_orders())
                try:
                    await self._loop()
                    now = self._clock.monotonic()
                    if not self._stopping and self._waiting():
                        self.put_off = self._scheduler.put_off(now)
                    self.limit_reached = self._collector.limit = self._quota.used_up(now) or self.put_off
                finally:
                    self.trouble, self.passing = self._buffer.trouble, not self._buffer.lasting
                    self.refusal = self._buffer.refusal
                    under_way = [following, *self._scheduler.tasks, *([self._feeding] if self._feeding else ())]
                    for task in under_way:
                        task.cancel()
                    await asyncio.gather(*under_way, return_exceptions=True)
                    await self._fetcher.close()
                    if self._committing is not None:
                        await asyncio.wait([self._committing])
                        if not self._committing.cancelled():
                            self._committing.exception()  # raised below, unless something else ends the run
                if self._committing is not None:
                    self._committing.result()
                self._ledger.seal(stopped=self._stopping)
                self._ended = self._collector.how = "stopped" if self._stopping else FINISHED
                await self._commit(final=True)
                await self._commit()  # so that the sink learns that its last marker is kept
                self.left = self._waiting()
                if self._refresh is not None:
                    self.unasked = self._refresh.visits.unasked(self._refresh.last)
        return self.stats

    def _open_frontier(self) -> DurableFrontier:
        return Frontier(self.folder / "frontier.sqlite")

    def _open_journal(self) -> WaitJournal:
        return WaitJournalFile(self.folder / "frontier.waits")

    # The loop

    def _start(self) -> None:
        load_state, remember, settings = self._facts.get, self._frontier.save_state, self.settings
        if self._place is None and load_state(PLACE) is not None:
            raise StorageError(f"{self.folder} holds one shard of a crawl", hint="name the folder above it")
        trusts = settings.trust_lastmod and settings.sitemaps
        refresh = self._refresh = refresh_of(
            self._frontier,
            begin=self._begins_refresh,
            folder=self.folder,
            trusts_sitemaps=trusts,
            in_full=bool(settings.only_if),
        )
        begun: list[str] = load_state("seeds", [])
        new = [seed for seed in self.seeds if seed not in begun]
        self.seeds = [*begun, *new]
        self._plugins.go_on(load_state("plugins", {}))
        if not self.seeds and self._plugins.source is None:
            raise StorageError(
                f"{self.folder} holds a crawl that cannot be resumed without its source plug-in", hint="give it again"
            )
        run = run_of(load_state(RUN), None if self._place is None else self._place.run, self.folder)
        remember(RUN, [run.crawl, run.number])
        judge_again(self._frontier, settings, self.policy, new)
        remember("seeds", self.seeds)
        remember("plugins", self._plugins.names)
        today = datetime.fromtimestamp(self._clock.wall(), UTC).date()
        self._collector.began(self._frontier, self._client.driver.pause)
        requests = max(settings.concurrency, self._client_settings.connections)
        self._memory = Memory(settings.body_memory, requests, self._wake.set)
        self._buffer = CommitBuffer(
            self._collector, self._ledger, self._memory, refresh=refresh.number if refresh else 0
        )
        self.stats = self._collector.stats
        self._ledger.begin(self.policy, self.seeds, self._sink.name, run)
        self._quota = Quota(settings.budget, settings.host_budget, load_state)
        self._duplicates = Duplicates(self._facts, near=settings.duplicates == "near")
        self._filter = URLFilter(
            settings,
            new,
            self._buffer,
            today=today,
            facts=self._facts,
            origin_policy=self._origin_policy_at_once,
            place=self._place,
        )
        pages = PageProcessor(
            settings,
            self.policy.asked_as,
            plugins=self._plugins,
            duplicates=self._duplicates,
            url_filter=self._filter,
            buffer=self._buffer,
            hands_out=self.on_page is not None,
            dates=refresh is not None and trusts,
            purposes=self.policy.purposes,
            use=self.policy.use if self.policy.mode == "respect" else None,
            wake=self._wake.set,
            executor=self._reading_executor,
        )
        self._client.on_robots = pages.robots
        known = self._frontier.load_states(UNREACHABLE)
        silent = self._unreachable = UnreachableHosts(self._buffer, self._clock, self.policy.failure_life, known)
        self._fetcher = Fetcher(
            self._client,
            pages,
            self._quota,
            self._buffer,
            self._ledger,
            self._collector,
            settings,
            refresh,
            silent,
            self._memory,
        )
        self._scheduler.began(
            self._frontier, self._client, self._fetcher, self._quota, self._buffer, self.stats, refresh
        )
        for order in self._orders.new():
            self._apply_order(order)
        for seed in self.seeds if self._place is None else self._place.own(self.seeds):
            self._filter.discover(seed, depth=0, given=True)

    def _apply_order(self, order: Order) -> None:
        """Carry out what the operator orders of a host."""
        pace = self._scheduler.order(order)
        self._ledger.order(order, pace)
        seconds = "" if order.seconds is None else f" {order.seconds:g} s"
        self._collector.ordered(order.host, f"{order.order}{seconds}")

    async def _follow_orders(self) -> None:
        try:
            while True:
                await asyncio.sleep(orders.EVERY)  # the time of the operator
                for order in self._orders.new():
                    self._apply_order(order)
        except Exception as error:  # a crawl that heeds no order must not go on
            self._scheduler.broken = self._scheduler.broken or error
            self._wake.set()

    def _begin(self) -> None:
        if self._plugins.source is not None or self._refresh is not None:
            self._feeding = asyncio.get_running_loop().create_task(self._feed())
        self._scheduler.go_on()

    async def _loop(self) -> None:
        next_commit = self._clock.monotonic() + self._commit_every
        while True:
            if self._scheduler.broken is not None:
                raise self._scheduler.broken
            if self._stopping:
                self._fetcher.give_up()
            asked_again = self._unreachable.resume_due() if self._unreachable else None
            now = self._clock.monotonic()
            self._scheduler.hosts.fill(now)
            while not self._full() and (host := self._scheduler.hosts.pop_ready(now)) is not None:
                self._scheduler.serve(host, now)
            if self._committing is not None and self._committing.done():
                self._committing.result()
                self._committing = None
            if self._committing is None:
                if self._is_over():
                    await self._commit()  # which may bring hosts their turn
                    if self._is_over():
                        return
                    continue
                if now >= next_commit or self._is_much():
                    self._committing = asyncio.get_running_loop().create_task(self._commit())
                    self._committing.add_done_callback(lambda _: self._wake.set())
                    next_commit = now + self._commit_every
            if self._committing is not None and self._is_over():
                await asyncio.wait([self._committing])
                continue
            times = []
            if self._committing is None and (self._buffer.waiting or self._scheduler.tasks):
                times.append(next_commit)
            ready = self._scheduler.hosts.next_time()
            if ready is not None and ready < math.inf and not self._full():
                times.append(ready)
            if self._scheduler.held_up:  # what holds it up may become slow, which nothing tells of
                times.append(now + SLOW)
            if (deadline := self._quota.deadline()) is not None and not self._enough():
                times.append(deadline)
            if asked_again is not None:
                times.append(now + asked_again)
            await self._wake.sleep(min(times, default=now + self._rest) - now)

    def _is_over(self) -> bool:
        """Whether nothing is under way and nothing more is to be started."""
        nothing_left = self._feeding is None and self._scheduler.is_idle(self._clock.monotonic())
        return not self._scheduler.tasks and (self._stopping or self._enough() or nothing_left)

    def _is_much(self) -> bool:
        """Whether so much waits for the next commit that it should not wait for its time."""
        memory = self._memory
        is_much = self._buffer.size >= COMMIT_SIZE or self._buffer.pending >= memory.limit // 8
        return is_much or self._is_held_up() or (memory.is_short and self._buffer.pending > 0)

    def _is_held_up(self) -> bool:
        """Whether so much waits to be written that no request may be started."""
        return max(self._memory.kept, self._sink.pending) >= self._memory.limit

    def _full(self) -> bool:
        idle = self._stopping or self._held or self._is_held_up()
        return idle or self._scheduler.is_full(self._clock.monotonic()) or self._enough(len(self._scheduler.tasks))

    def _enough(self, more: int = 0) -> bool:
        return self._quota.used_up(self._clock.monotonic(), under_way=more) is not None

    # From one commit to the next

    async def _feed(self) -> None:
        """Take up what was visited before a refresh and what a source names, no faster than the frontier takes it.

        Each run begins at the beginning: what was taken up already, the frontier knows.
        """
        try:
            if self._refresh is not None:
                for number, visit in enumerate(self._refresh.visits.until(self._refresh.last)):
                    self._filter.revisit(visit)
                    if number % FEED_AT_ONCE == 0:
                        await self._until_room()
            async with aclosing(self._plugins.urls()) as named:
                async for url in named:
                    self._filter.from_source(url)
                    await self._until_room()
        except Exception as error:
            self._scheduler.broken = self._scheduler.broken or error
        finally:
            self._feeding = None
            self._wake.set()

    async def _until_room(self) -> None:
        await asyncio.sleep(0)
        await self._buffer.until_below(COMMIT_SIZE, self._wake.set)

    async def _commit(self, *, final: bool = False) -> None:
        """Make everything so far durable, hand out new pages and give hosts with new URLs their turn."""
        for name, value in self._state_to_save().items():
            self._facts.put(name, value)
        commit = self._buffer.take(self._facts.take())
        carry_out = partial(commit.carry_out, self._frontier, self._sink, self._ledger, final=final)
        await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._writer, carry_out))
        self._buffer.committed(commit)
        self._facts.committed()
        self._waits.committed()
        if self.on_page is not None:
            for page in commit.pages:
                self.on_page(page)
        if self.on_record is not None:
            for channel, record in commit.told:
                self.on_record(channel, record)
        for name in commit.hosts:
            self._scheduler.found(name, () if name in commit.batch.resumed else commit.queued.get(name, ()))

    def _origin_policy_at_once(self, url: str) -> OriginPolicy | None:
        """What holds for the origin of a URL, where it is known and the answer is quick."""
        origin_policy = self._client.origin_policy(url)
        return None if origin_policy is None or origin_policy.is_slow(url) else origin_policy

    def _waiting(self) -> int:
        """URLs that wait in the frontier, but not those that wait for a robots.txt."""
        counts = self._frontier.totals
        return counts[State.UNASKED] + counts[State.QUEUED] - self.stats.postponed

    def _state_to_save(self) -> dict[str, Any]:
        """What is to be remembered for a later run."""
        now = self._clock.monotonic()
        state = {ENDED: self._ended} | self._waits.save_state(at_rest=self._ended is not None)
        state |= self._unreachable.save_state()
        return state | self._quota.save_state(now) | self._filter.save_state()
