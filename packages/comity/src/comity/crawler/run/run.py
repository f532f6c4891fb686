"""One run of a crawl: takes URLs from the frontier host by host, has them fetched and entered, commits what came of it.

A Run is fully constructed by __init__, of a frontier, an output and a ledger that are open. What may be fetched and
when is decided below, in the gate.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import astuple, dataclass
from typing import Any, Final

from comity.crawler.finding.limits import Quota
from comity.crawler.finding.scope import GROWN, SCOPE
from comity.crawler.observe.snapshot import ShardState
from comity.crawler.observe.stats import UNREACHABLE, StatsCollector
from comity.crawler.run.admission import URLFilter
from comity.crawler.run.checkpoint import RUN_FACT, refilter, run_of
from comity.crawler.run.commits import COMMIT_SECONDS, MAX_COMMIT_URLS, Committer
from comity.crawler.run.control import Control
from comity.crawler.run.discovery import Discovery
from comity.crawler.run.fetcher import Fetcher
from comity.crawler.run.mailbox import Mailbox
from comity.crawler.run.memory import Memory
from comity.crawler.run.page_reader import Reader
from comity.crawler.run.recrawl import refresh_of
from comity.crawler.run.relay import QUESTION_FACT, RobotsRelay
from comity.crawler.run.results import ResultBuffer
from comity.crawler.run.run_config import RunConfig, RunResources
from comity.crawler.run.scheduler import SLOW_FETCH_SECONDS, Scheduler
from comity.crawler.run.unreachable import UnreachableHosts
from comity.crawler.run.waits import Waits
from comity.crawler.storage import orders
from comity.crawler.storage.crawl_output import ENDED, FINISHED
from comity.crawler.storage.orders import Order
from comity.crawler.storage.placement import ShardAssignment
from comity.errors import PluginError, StorageError
from comity.frontier.state_overlay import StateOverlay
from comity.frontier.values import SEEDS, State
from comity.frontier.values import Run as RunNumber
from comity.net import Session
from comity.net.response import Response
from comity.net.turns import Hooks, Relay
from comity.policy import OriginPolicy, RobotsResult

PLACE_FACT: Final = "place"  # says which shard of a crawl this is, and how many URLs that was given so far
STATED_SEEDS_FACT: Final = "seeds stated"  # says how many of the seeds the ledger has
MAX_BATCH_PAGES: Final = 64  # pages visited before that are taken up before others have their turn
MAX_IDLE_SECONDS: Final = 30.0  # seconds between two looks of a shard that has nothing to do; whatever comes wakes it


@dataclass(frozen=True, slots=True)
class End:
    """How a run ended.

    Attributes:
        trouble: the first failure or unreachable robots.txt, in words.
        passing: whether all of that may pass: no answer, 5xx, 429, an unreachable robots.txt.
        refusal: the first URL refused: why, in words.
        limit_reached: the limit of the whole crawl that ended it, by name (`Budget.in_words`).
        deferred: what hosts wait for that it left for a later run, in words.
        left: URLs that still waited when a limit or `stop` ended it.
        unasked: of them, in a refresh, pages that are known: also where the run was stopped.
        blocked: URLs that gave no page because of our rule on addresses (`Policy.allow_addresses`).
    """

    trouble: str | None = None
    passing: bool = True
    refusal: str | None = None
    limit_reached: str | None = None
    deferred: str | None = None
    left: int = 0
    unasked: int = 0
    blocked: int = 0


class Run:
    """One run of one crawl. A StorageError: the folder is another crawl's, or its crawl has not ended and so cannot be
    refreshed."""

    def __init__(self, config: RunConfig, resources: RunResources, control: Control, collector: StatsCollector) -> None:
        settings, clock, frontier = config.settings, config.clock, resources.frontier
        self._config = config
        self._collector = collector
        self.control = control
        self.frontier = frontier
        self.resources = resources
        self.facts = StateOverlay(frontier.load_state, is_new=frontier.load_state(RUN_FACT) is None)
        if config.assignment is None and self.facts.get(PLACE_FACT) is not None:
            raise StorageError(f"{config.folder} holds one shard of a crawl", hint="name the folder above it")
        self.refresh = refresh_of(frontier, settings, config.folder, begin=config.begins_refresh)
        run, around = self._begun_with()
        self.client = Session(
            config.policy, config.client_settings, clock=clock, pace_with=config.pace_with, hooks=self._hooks()
        )
        self.waits = Waits(
            resources.journal, self.client, clock, self.facts.get, keeps_clock=config.storage.keeps_clock
        )
        collector.began(frontier, self.client.driver.pause)
        unstated = self.seeds[self.facts.get(STATED_SEEDS_FACT, 0) :]
        resources.ledger.begin(config.policy, unstated, resources.sink.name, run)
        self.facts.put(STATED_SEEDS_FACT, len(self.seeds))
        memory = Memory(settings.body_memory, config.requests, control.wake)
        self.quota = Quota(settings.budget, settings.host_budget, self.facts.get, lambda: control.granted)
        self.results = ResultBuffer(config, resources, collector, memory, self.quota, self.facts, self.refresh)
        grown = frontier.load_states(GROWN)
        self.filter = URLFilter(config, around, self.results, self._origin_policy_at_once, grown)
        known = frontier.load_states(UNREACHABLE)
        self._unreachable = UnreachableHosts(self.results, clock, config.policy.failure_life, known)
        sink = resources.sink
        reader = Reader(config, resources.reader, sink.read_ahead, keeps_requisites=sink.keeps_requisites)
        discovery = Discovery(settings, self.filter, self.results, self.refresh, self._robots_of, control)
        self.fetcher = Fetcher(
            self.client, reader, self.filter, self.refresh, self._unreachable, discovery, self.results
        )
        self.scheduler = Scheduler(config, control, frontier, self.client, self.fetcher, self.results, self.refresh)
        saved = self._state_to_save
        self.commits = Committer(config, resources, self.results, self.waits, self.scheduler, control, saved)
        self.mailbox = None if config.assignment is None else self._mailbox(config.assignment)
        self._feeding: asyncio.Task[None] | None = None
        self._following: list[asyncio.Task[None]] = []  # beside the fetches
        self._source_error: PluginError | None = None  # raised once the run is committed and sealed
        self._apply_orders()

    async def work(self) -> End:
        """Crawl until nothing is left, a limit is reached or `control` says so."""
        scheduler, commits, clock, limit, deferred = self.scheduler, self.commits, self._config.clock, None, None
        try:
            await self._begin()
            while True:
                if self.control.broken is not None:
                    raise self.control.broken
                if self.control.is_over:
                    self.fetcher.give_up()
                asked_again = self._unreachable.resume_due() if self._unreachable else None
                now = clock.monotonic()
                scheduler.limit(self.quota.used_up(now) is not None)
                scheduler.hosts.fill(now)
                while not self._full() and (host := scheduler.hosts.pop_ready(now)) is not None:
                    scheduler.serve(host, now)
                commits.settle()
                if not commits.under_way:
                    if self._is_over():
                        await commits.commit()  # which may bring hosts their turn
                        if self._is_over():
                            break
                        continue
                    commits.begin(now)
                elif self._is_over():
                    await commits.wait()
                    continue
                await self.control.alarm.sleep(self._next_look(now, asked_again) - now)
            now = clock.monotonic()
            if not self.control.stopping and self._waiting():
                deferred = scheduler.deferred(now)
            if (limit := self.quota.used_up(now)) is not None:
                self._collector.limit = self._config.settings.budget.in_words(limit)
            else:
                self._collector.limit = deferred
        finally:
            under_way = [*self._following, *self.scheduler.tasks]
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)
            if self.mailbox is not None:
                self.mailbox.seal()
            self.scheduler.leave()
            await self.fetcher.close()
            await self.commits.wait()
        self._apply_orders()  # the order that ended it may not have been written down
        self.commits.settle()
        stopped = self.control.stopping or self._source_error is not None
        self.resources.ledger.seal(stopped=stopped)
        self._collector.how = "stopped" if stopped else FINISHED
        self.facts.put(ENDED, self._collector.how)
        self.waits.rest()
        await self.commits.commit(final=True)
        await self.commits.commit()  # so that the sink learns that its last marker is kept
        if self._source_error is not None:
            raise self._source_error
        unasked = 0 if self.refresh is None else self.refresh.visits.unasked(self.refresh.last)
        found = self.results
        trouble = found.trouble or self._unreachable.why()
        return End(trouble, not found.lasting, found.refusal, limit, deferred, self._waiting(), unasked, found.blocked)

    def order(self, order: Order) -> None:
        """Carry out what the operator orders."""
        assignment = self._config.assignment
        if order.order == "end":
            self.resources.ledger.order(*astuple(order), pace=order.host)
            if assignment is None:  # else whoever has all shards tells them to stop
                self._collector.ordered("all hosts", order.order)
                self.control.stop()
                self._config.storage.orders.confirm(order)
        elif assignment is None or assignment.elsewhere(order.host) is None:
            pace = self.scheduler.order(order)
            self.resources.ledger.order(*astuple(order), pace=pace)
            seconds = "" if order.seconds is None else f" {order.seconds:g} s"
            self._collector.ordered(order.host, f"{order.order}{seconds}")
            self._config.storage.orders.confirm(order)
        elif order.order != "slow" or assignment.by == "address":
            # A robots.txt of ours may lead there, and by address the host may turn out to be one of ours.
            self.scheduler.order(order)

    def state(self, now: float) -> tuple[ShardState, float, str | None]:
        """What the run does, or waits for; the seconds until a host has its turn, and which one."""
        if not self.scheduler.has_begun:
            return "starting", 0.0, None
        at_work = self.scheduler.tasks or self.results.waiting or self.commits.under_way or not self._is_fed
        if at_work:
            return "working", 0.0, None
        is_spent = self.control.granted is not None and self.quota.spent.pages >= self.control.granted
        is_idle, is_limited = self.scheduler.is_idle(now), self.scheduler.is_limited
        if is_idle and not (is_limited and self._waiting()):  # then pages wait for a turn, and may have it just now
            return ("robots" if self._collector.stats.postponed else "resting"), 0.0, None
        if is_spent and (is_idle or not is_limited):
            return "pages", 0.0, None
        first, at = self.scheduler.hosts.first(), self.scheduler.hosts.next_time() or now
        return "turn", max(at - now, 0.0), first

    @property
    def _is_fed(self) -> bool:
        """Whether all that comes from elsewhere was taken up."""
        return self._feeding is None or self._feeding.done()

    def _begun_with(self) -> tuple[RunNumber, list[str]]:
        """Take up what earlier runs were given and judge anew what they found; gives the run that begins, and the URLs
        that its scope is to lie around beside what it lay around before."""
        config, facts, remember = self._config, self.facts, self.frontier.save_state
        begun: list[str] = facts.get(SEEDS, [])
        known, around = set(begun), config.seeds
        if config.assignment is not None and (place := facts.get(PLACE_FACT)) is not None:
            around = around[[*place, len(begun)][2] :]  # they only grow in number; earlier versions kept all of them
        own = around if config.assignment is None else config.assignment.own(around)
        self.seeds = [*begun, *(seed for seed in own if seed not in known)]
        scope = facts.get(SCOPE)
        if scope is None or scope["by"] != config.settings.scope:  # it remembers one for each place
            around = self.seeds if config.assignment is None else config.seeds
        elif config.assignment is None:
            around = self.seeds[len(begun) :]
        config.plugins.resume(facts.get("plugins", {}))
        if not self.seeds and config.assignment is None and config.plugins.source is None:
            raise StorageError(
                f"{config.folder} holds a crawl that cannot be resumed without its source plug-in", hint="give it again"
            )
        run = run_of(facts.get(RUN_FACT), None if config.assignment is None else config.assignment.run, config.folder)
        remember(RUN_FACT, [run.crawl, run.number])
        refilter(self.frontier, config.settings, config.policy, around)
        if len(self.seeds) > len(begun) or facts.get(SEEDS) is None:
            remember(SEEDS, self.seeds)
        remember("plugins", config.plugins.names)
        facts.put(ENDED, None)
        if config.assignment is not None:
            config.assignment.settled.began(facts.get)
            facts.put(PLACE_FACT, [config.assignment.number, config.assignment.count, len(config.seeds)])
        return run, around

    def _mailbox(self, assignment: ShardAssignment) -> Mailbox:
        client, ledger, questions = self.client, self.resources.ledger, self.frontier.load_states(QUESTION_FACT)
        relay = RobotsRelay(assignment, client, self.scheduler, self.results, ledger, self.control, questions)
        taken = self.frontier.taken
        return Mailbox(assignment, client.driver, taken, self.results, self.filter, relay, self.control)

    def _hooks(self) -> Hooks:
        """What the client tells; it sends nothing before all of this is made."""
        config = self._config

        def robots(result: RobotsResult) -> None:
            self.results.robots(result)
            self.filter.robots_seen(result)

        def report(pace: str) -> None:
            self.waits.after_request(pace)
            self.scheduler.answered(pace)

        async def relay(wanted: Relay) -> Response | Exception | None:
            return await self.mailbox.relay.ask(wanted) if self.mailbox is not None else None

        async def address_of(look_up: Callable[[str], Awaitable[str]], host: str) -> str:
            return (config.assignment and config.assignment.settled.get(host)) or await look_up(host)

        return Hooks(
            on_robots=robots,
            on_request=lambda request: self.results.request(request),
            on_report=report,
            may_send=lambda: config.storage.is_ours() and self.resources.ledger.anchor.holds(),
            relay=None if config.assignment is None else relay,
            address_of=address_of,
        )

    def _apply_orders(self) -> None:
        for order in self._config.storage.orders.new():
            self.order(order)

    async def _follow_orders(self) -> None:
        try:
            while True:
                await asyncio.sleep(orders.POLL_SECONDS)  # the time of the operator
                self.resources.ledger.anchor.check()
                self._apply_orders()
        except Exception as error:  # a crawl that heeds no order must not go on
            self.control.fail(error)

    async def _feed(self) -> None:
        """Take up what an earlier crawl visited, and what a source names, no faster than the frontier takes it.

        Each run begins at the beginning: what was taken up already, the frontier knows.
        """
        refresh, url_filter = self.refresh, self.filter

        async def until_room() -> None:
            await asyncio.sleep(0)
            await self.results.until_below(MAX_COMMIT_URLS, self.control.wake)

        try:
            for number, visit in enumerate(refresh.visits.until(refresh.last) if refresh is not None else ()):
                url_filter.revisit(visit)
                if number % MAX_BATCH_PAGES == 0:
                    await until_room()
            async with aclosing(self._config.plugins.urls()) as named:
                async for url in named:
                    url_filter.from_source(url)
                    await until_room()
        except PluginError as error:
            self._source_error = error
            self.control.end()
        except Exception as error:
            self.control.fail(error)

    async def _begin(self) -> None:
        """Once the seeds are kept, those too that the last run did not come to: follow orders, take up what comes from
        elsewhere, give hosts their turn."""
        for number, seed in enumerate(
            self.seeds if self._config.assignment is None else self._config.assignment.own(self.seeds)
        ):
            if number % MAX_BATCH_PAGES == 0:  # many take long, and others go on meanwhile
                await asyncio.sleep(0)
                if self.control.is_over:
                    break
            self.filter.discover(seed, depth=0, given=True)
        await self.commits.commit()
        self._following.append(asyncio.ensure_future(self._follow_orders()))
        if self._config.plugins.source is not None or self.refresh is not None:
            self._feeding = asyncio.ensure_future(self._feed())
            self._feeding.add_done_callback(lambda _: self.control.wake())
            self._following.append(self._feeding)
        self.scheduler.resume()
        if self.mailbox is not None:
            self.mailbox.relay.resume()
        if (begin := self._config.listeners.begin) is not None:
            begin()

    def _next_look(self, now: float, asked_again: float | None) -> float:
        """When there is something to do next, if nothing wakes the run before. `asked_again`: seconds until sites that
        could not be reached may be asked again."""
        scheduler = self.scheduler
        times = [] if (due := self.commits.due()) is None else [due]
        ready = scheduler.hosts.next_time()
        if ready is not None and ready < math.inf and not self._full():
            times.append(ready)
        if scheduler.held_up:  # what holds it up may become slow, which nothing tells of
            times.append(now + SLOW_FETCH_SECONDS)
        if (deadline := self.quota.deadline()) is not None and not self._enough():
            times.append(deadline)
        if asked_again is not None:
            times.append(now + asked_again)
        return min(times, default=now + (COMMIT_SECONDS if self._config.assignment is None else MAX_IDLE_SECONDS))

    def _is_over(self) -> bool:
        if self.scheduler.tasks or self.control.is_over or self._config.assignment is not None:
            return not self.scheduler.tasks and self.control.is_over
        return self._enough() or (self._is_fed and self.scheduler.is_idle(self._config.clock.monotonic()))

    def _full(self) -> bool:
        control = self.control
        idle = control.is_over or control.held or self.commits.is_held_up
        idle = idle or not self._config.storage.is_ours()
        more = len(self.scheduler.tasks)
        return idle or self.scheduler.is_full(self._config.clock.monotonic()) or self._enough(more)

    def _enough(self, more: int = 0) -> bool:
        now = self._config.clock.monotonic()
        if self.scheduler.is_limited:  # pages have no turn, but what they need has
            return (deadline := self.quota.deadline()) is not None and now >= deadline
        return self.quota.used_up(now, under_way=more) is not None

    def _origin_policy_at_once(self, url: str) -> OriginPolicy | None:
        """What holds for the origin of a URL, where it is known and the answer is quick."""
        origin_policy = self.client.origin_policy(url)
        return None if origin_policy is None or origin_policy.is_slow(url) else origin_policy

    def _robots_of(self, origin: str) -> RobotsResult | None:
        known = self.client.driver.gate.robots.find(origin)
        return None if known is None else known.result

    def _waiting(self) -> int:
        """URLs that wait in the frontier, but not those that wait for a robots.txt."""
        counts = self.frontier.totals
        return counts[State.UNASKED] + counts[State.QUEUED] - self._collector.stats.postponed

    def _state_to_save(self) -> dict[str, Any]:
        """What is to be remembered for a later run."""
        now, assignment = self._config.clock.monotonic(), self._config.assignment
        state = self.waits.save_state() | self.quota.save_state(now) | self.filter.save_state()
        return state if assignment is None else state | assignment.settled.save_state()
