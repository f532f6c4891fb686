"""Whose turn it is: fetches are started for hosts that are ready, in the order of each host's queue.

Times are the client's monotonic clock. A host with an interval has one request at a time, and so have hosts that share
a pace. When a host may be asked again is the gate's to say, which hosts are in memory hosts.py's.

Where the number of pages is limited, a sitemap has its turn when fewer pages wait than may be kept, one at a time, so
that what it names counts for the next; and no more sitemaps are asked for than pages may be kept. So a limit on pages
is one on requests too, but for robots.txt, redirects and what fails.
"""

import asyncio
import math
from collections import deque
from collections.abc import Sequence

from comity.crawler.run.control import Control
from comity.crawler.run.fetcher import Fetcher
from comity.crawler.run.hosts import FAR_SECONDS, Host, Hosts
from comity.crawler.run.outcomes import Outcome, Requeued, Retried, RobotsKnown
from comity.crawler.run.recrawl import RefreshRun
from comity.crawler.run.results import ResultBuffer
from comity.crawler.run.run_config import RunConfig
from comity.crawler.storage.orders import Order
from comity.frontier.rules import DurableFrontier
from comity.frontier.values import Entry, EntryKind, Found
from comity.net import Session
from comity.times import format_duration


def in_turn(refresh: RefreshRun, host: Host, waiting: list[Entry], *, unread: bool) -> list[Entry]:
    """What of a host's next URLs, sitemaps first, may have its turn in a refresh: sitemaps come before the pages they
    may speak of. `unread`: sitemaps were found, or read, that are not committed yet."""
    if not refresh.trusts_sitemaps:
        return waiting
    if host.delay is None:  # its robots.txt, which names its sitemaps, is asked for in the turn of one URL
        return waiting[:1]
    sitemaps = [entry for entry in waiting if entry.kind is EntryKind.SITEMAP]
    return sitemaps or ([] if unread or host.sitemaps else waiting)


MAX_HOST_URLS = 256  # URLs of one host held in memory
MAX_PACED_HOST_URLS = 16  # where there is an interval between two of them
MAX_PACED_URLS = 1 << 16  # of all hosts with an interval, where there are many
MAX_PARKED_HOSTS = 64  # hosts of one pace that wait for it in memory once half of the places there are taken
REPEATED_OUTCOMES = (Retried, RobotsKnown, Requeued)
SLOW_FETCH_SECONDS = 2.0  # seconds after which a fetch no longer keeps others from starting


class Scheduler:
    """The hosts of one run and the fetches under way.

    Attributes:
        tasks: fetches under way.
        has_begun: whether hosts may have their turn.
        is_limited: whether a limit of the whole crawl is reached, and only what pages need has its turn.
        held_up: whether only its siblings keep it from its first fetch.
        siblings: this and others that share the requests there may be at once.
    """

    def __init__(
        self,
        config: RunConfig,
        control: Control,
        frontier: DurableFrontier,
        client: Session,
        fetcher: Fetcher,
        results: ResultBuffer,
        refresh: RefreshRun | None,
    ) -> None:
        self.hosts = Hosts(frontier.hosts, client.driver.ready_at)
        self.tasks: set[asyncio.Task[Outcome]] = set()
        self._quick: dict[asyncio.Task[Outcome], float] = {}  # fetches that count, the oldest first: when begun
        self._holders: dict[str, Host] = {}  # by the pace that hosts share: the one that has a fetch
        self._parked: dict[str, deque[Host]] = {}  # hosts that are ready but for that
        self._left: set[str] = set()  # of these paces, those of which others wait in the frontier alone
        self.held_up = self.has_begun = self.is_limited = False
        self._settings = config.settings
        self._most = config.requests
        self._clock = config.clock
        self._control = control
        self._frontier = frontier
        self._client = client
        self._fetcher = fetcher
        self._results, self._quota = results, results.quota
        self._refresh = refresh
        self.siblings: list[Scheduler] = config.siblings
        self.siblings.append(self)

    def is_full(self, now: float) -> bool:
        """Whether no fetch may be started now. Slow hosts hold up nobody: what takes long, or goes to a host that
        failed before, counts only towards the connections that there may be."""
        quick, resting = self._quick, self._fetcher.resting
        while quick and quick[oldest := next(iter(quick))] < now - SLOW_FETCH_SECONDS:
            del quick[oldest]
        if len(self.siblings) > 1:
            return self._is_full_with_siblings(now)
        return len(quick) - resting >= self._settings.concurrency or len(self.tasks) - resting >= self._most

    def _is_full_with_siblings(self, now: float) -> bool:
        """The same where others share what there may be: each that is at work has as large a part."""
        quick = tasks = at_work = 0
        for other in self.siblings:
            quick, tasks = quick + len(other._quick), tasks + len(other.tasks)
            at_work += other is self or bool(other.tasks) or other.held_up
        share = -(-self._settings.concurrency // at_work)
        full = quick >= self._settings.concurrency or tasks >= self._most or len(self._quick) >= share
        # One that has fetches of its own looks again when they end; another one has to be woken.
        ready = self.hosts.next_time()
        self.held_up = full and not self.tasks and ready is not None and ready <= now
        return full

    def is_idle(self, now: float) -> bool:
        """Whether no host comes up in this run: none has work, or all are to be left alone for longer than it waits."""
        ready, longest = self.hosts.next_time(), self._settings.longest_wait
        return ready is None or ready == math.inf or (longest is not None and ready > now + longest)

    def deferred(self, now: float) -> str | None:
        """Why hosts that have work wait for a later run, in words; None where none does."""
        name, ready = self.hosts.first(), self.hosts.next_time()
        if name is None or ready is None or not self.is_idle(now):
            return None
        is_one = sum(host.in_heap for host in self.hosts.all()) == 1 and not self.hosts.is_crowded
        if ready == math.inf:
            others = "" if is_one else ", as was every host with work"
            return f"{name} was stopped by the operator{others}"
        waits = f"{name} must rest for another {format_duration(ready - now)}"
        others = "" if is_one else ", others with work longer"
        return f"{waits}{others}; a run waits {format_duration(self._settings.longest_wait or 0.0)} at most"

    def resume(self) -> None:
        """Give every host of which URLs wait its turn."""
        self.has_begun = True
        self.hosts.look_again()

    def limit(self, is_reached: bool) -> None:
        """A limit of the whole crawl is reached, or is no more."""
        if self._fetcher.collects and is_reached is not self.is_limited:
            self.is_limited = is_reached
            for host in self.hosts.all():
                self.reschedule(host)
            self.hosts.look_again()

    def leave(self) -> None:
        """Share no requests any more: the run is over."""
        self.siblings.remove(self)
        now, ready_at = self._clock.monotonic(), self._client.driver.ready_at
        for host in self.hosts.all():
            self._results.count("waited", host.waited(max(host.not_before, ready_at(host.name)), now))

    def found(self, name: str, queued: Sequence[tuple[int, Found]] = ()) -> None:
        """More of a host's URLs wait in the frontier. `queued`: ids and URLs, where these are all that was added to the
        host's queue."""
        host = self.hosts.found(name)
        if host is None:
            return
        was_drained, host.drained = host.drained, False
        if queued and was_drained and not host.queue:
            self._take_over(host, queued)
        self.reschedule(host)

    def _take_over(self, host: Host, queued: Sequence[tuple[int, Found]]) -> None:
        """Of a host of which nothing else waits, what was just added need not be read from the frontier."""
        if len(queued) > self._most_paced() or self._refresh is not None or self._quota.room(host.name) is not None:
            return  # only the frontier can tell what of it has its turn, or there is too much
        taken = self._results.settled(host.name).union(host.under_way)  # read since they were committed
        entries = [found.queued(id_) for id_, found in queued if id_ not in taken]
        host.queue.extend(sorted(entries, key=lambda entry: (entry.priority, entry.kind is EntryKind.PAGE, entry.id)))
        host.drained = True

    def serve(self, host: Host, now: float) -> None:
        """Start the next request of a host that is ready."""
        ready_at = max(host.not_before, self._client.driver.ready_at(host.name))
        self._results.count("waited", host.waited(ready_at, now))
        if ready_at > now:  # put off while it stood in the heap, by Retry-After for example
            self._push(host)
            return
        used_up = self._quota.used_up_on(host.name, now, under_way=len(host.under_way))
        if self._fetcher.collects and used_up != "seconds" and (used_up or self.is_limited):
            used_up = None if self._keep_requisites(host) else "pages"
        if used_up or (not host.queue and not self._refill(host)):
            self._rest(host)
            if self._parked:
                self._next(self._client.driver.gate.pace_of(host.name) or host.name)
            return
        if self._client.policy.pace_by != "host" and not self._takes_pace(host):
            return
        entry = host.queue.pop(0)
        known = self._fetcher.knows(host, entry)
        host.under_way.append(entry.id)
        host.sitemaps += entry.kind is EntryKind.SITEMAP
        self._quota.started(host.name, now, lists=known and entry.kind is EntryKind.SITEMAP)
        task = asyncio.get_running_loop().create_task(self._fetcher.take(host, entry, known=known))
        self.tasks.add(task)
        if not host.failing:
            self._quick[task] = now
        task.add_done_callback(lambda task: self._fetched(task, host, entry))
        self.reschedule(host)

    def _keep_requisites(self, host: Host) -> bool:
        """Leave the pages of a host in the frontier, and take what pages need of it; says whether there is any."""
        host.queue = [entry for entry in host.queue if entry.kind is EntryKind.REQUISITE]
        if not host.queue:
            taken = self._results.settled(host.name).union(host.under_way)
            kind = EntryKind.REQUISITE
            host.queue = list(self._frontier.waiting(host.name, but_not=taken, most=self._most_paced(), kind=kind))
        host.drained = False
        return bool(host.queue)

    def _refill(self, host: Host) -> bool:
        if host.drained:
            return False
        taken = self._results.settled(host.name).union(host.under_way)
        most = self._most_paced() if self._is_paced(host) else MAX_HOST_URLS
        if self._fetcher.collects and (
            needed := self._frontier.waiting(host.name, but_not=taken, most=most, kind=EntryKind.REQUISITE)
        ):
            host.queue.extend(needed)
            return True
        room, lists = self._quota.room(host.name), self._quota.lists_left(host.name)
        unread = host.sitemaps > 0 or self._results.unread(host.name)
        kind = EntryKind.PAGE if lists == 0 or (room is not None and self._refresh is None) else None
        waiting = self._frontier.waiting(host.name, but_not=taken, most=most, kind=kind)
        host.drained = len(waiting) < most
        if self._refresh is None and room is not None:
            sitemaps = []
            if lists and not unread:  # what was read and is not committed may name enough
                sitemaps = self._frontier.waiting(host.name, but_not=taken, most=1, kind=EntryKind.SITEMAP)
            host.drained = host.drained and not sitemaps and not unread
            if len(waiting) < min(room, most):
                waiting = sitemaps + waiting
        elif self._refresh is not None:
            met, waiting = waiting, in_turn(self._refresh, host, waiting, unread=unread)
            if lists and waiting and waiting[0].kind is EntryKind.SITEMAP:
                waiting = waiting[:lists]
            host.drained = host.drained and waiting is met
        host.queue.extend(waiting)
        return bool(waiting)

    def _most_paced(self) -> int:
        """URLs held in memory of a host with an interval."""
        return max(min(MAX_PACED_HOST_URLS, MAX_PACED_URLS // len(self.hosts)), 1)

    def _takes_pace(self, host: Host) -> bool:
        """Whether a host has the turn among those that share its pace; if not, it comes up after the one that has."""
        pace = self._client.driver.gate.pace_of(host.name)
        if pace is None or not self._is_paced(host):
            return True
        if self._holders.setdefault(pace, host) is host:
            return True
        parked = self._parked.setdefault(pace, deque())
        if len(parked) >= MAX_PARKED_HOSTS and self.hosts.is_half_full and not host.under_way:
            self._left.add(pace)
            self.hosts.leave(host, until=self._clock.monotonic() + FAR_SECONDS)
            return False
        host.in_heap, host.waits_since = True, self._clock.monotonic()
        parked.append(host)
        return False

    def answered(self, pace: str) -> None:
        """A request was answered, or never will be: the next of those that share its pace may have its turn."""
        if self._client.policy.pace_by != "host" and self._holders.pop(pace, None) is not None:
            self._next(pace)

    def _next(self, pace: str) -> None:
        """Have the next host that is parked come up, unless another has the turn."""
        parked = self._parked.get(pace, deque())
        while parked and pace not in self._holders:
            following = parked.popleft()
            following.in_heap = False
            self.reschedule(following)
            if following.in_heap and following.name not in self._client.driver.gate.stopped:
                return
        if not parked:
            self._parked.pop(pace, None)
            if pace in self._left:
                self._left.remove(pace)
                self.hosts.look_again()

    def order(self, order: Order) -> str:
        """Carry out what the operator orders of a host; gives the name of what shares its pace."""
        gate = self._client.driver.gate
        pace = gate.pace_of(order.host) or order.host
        if order.order == "stop":
            gate.stopped.add(order.host)
        elif order.order == "slow":
            gate.throttles.order(pace, order.seconds or 0.0)
        else:
            gate.stopped.discard(order.host)
            gate.throttles.order(pace, 0.0)
            for host in self.hosts.all():
                if (
                    (gate.pace_of(host.name) or host.name) == pace
                    or host.name == order.host
                    or (host.held_by == "stopped" and host.name not in gate.stopped)  # its robots.txt leads there
                ):
                    host.not_before = 0.0 if host.held_by in ("stopped", "interval") else host.not_before
                    self.hosts.restart(host)
            self.hosts.look_again()
        self._control.wake()
        return pace

    def _is_paced(self, host: Host) -> bool:
        """Whether a host has one fetch at a time. It has until its robots.txt is known."""
        if host.delay is None or host.delay > 0:
            return True
        gate = self._client.driver.gate
        return bool(gate.throttles.orders) and (gate.pace_of(host.name) or host.name) in gate.throttles.orders

    def reschedule(self, host: Host) -> None:
        """Have a host come up again, if it has work and room."""
        if host.in_heap:
            self._push(host)
        elif (not host.queue and host.drained) or (
            not self._fetcher.collects
            and self._quota.used_up_on(host.name, self._clock.monotonic(), under_way=len(host.under_way))
        ):  # what waits stays in the frontier for a later run with a higher limit
            self._rest(host)
        elif len(host.under_way) < (1 if self._is_paced(host) else self._settings.per_host):
            self._push(host)

    def _push(self, host: Host) -> None:
        """Have a host come up when it may be asked; it waits for that from when nothing of it is under way."""
        if host.waits_since is None and not host.under_way:
            host.waits_since = self._clock.monotonic()
        if not host.in_heap:
            self.hosts.push(host, max(host.not_before, self._client.driver.ready_at(host.name)))

    def _rest(self, host: Host) -> None:
        """A host has nothing to do until more is found. One that waits for a commit keeps its place: that finds it."""
        if not host.under_way and not self._results.unread(host.name):
            self.hosts.rest(host)

    def _fetched(self, task: asyncio.Task[Outcome], host: Host, entry: Entry) -> None:
        self.tasks.discard(task)
        self._quick.pop(task, None)
        host.under_way.remove(entry.id)
        host.sitemaps -= entry.kind is EntryKind.SITEMAP
        if (
            self._holders
            and self._holders.get(pace := self._client.driver.gate.pace_of(host.name) or host.name) is host
        ):
            self.answered(pace)
        self._control.wake()
        for other in self.siblings:
            if other.held_up:  # and stays so until it has looked, so that this one leaves it its part
                other._control.wake()
        if task.cancelled():
            return
        if (error := task.exception()) is not None:
            self._control.fail(error)
            return
        # Only now may the URL be taken again: before, it would have been under way twice.
        outcome = task.result()
        comes_again = isinstance(outcome, REPEATED_OUTCOMES)
        if isinstance(outcome, Retried):
            host.queue.append(outcome.entry)
        elif comes_again and self._refresh is None:
            host.queue.insert(0, outcome.entry)
        elif comes_again:
            host.drained = False  # it waits in the frontier, behind the sitemaps just found
        # What only robots.txt was asked for has not had its turn: it would come back to the same place for ever.
        is_idle = not (host.under_way or host.in_heap or host.queue or host.drained)
        if is_idle and not comes_again and self.hosts.is_crowded:
            ready_at = max(host.not_before, self._client.driver.ready_at(host.name))
            self.hosts.leave(host, until=ready_at if ready_at > self._clock.monotonic() else None)
        else:
            self.reschedule(host)
