"""Whose turn it is: visits are started for hosts that are ready, in the order of each host's queue.

A host with an interval has one visit at a time. When it may be asked again is the gate's to say; whether anything may
be started at all is the crawler's.
"""

import asyncio
from collections.abc import Callable

from comity.crawl.again.revisits import Refresh
from comity.crawl.budget import Spending
from comity.crawl.frontier import Entry, Frontier, Kind
from comity.crawl.hosts import Host, Hosts
from comity.crawl.outcome import Outcome
from comity.crawl.settings import CrawlSettings
from comity.crawl.stats import Stats
from comity.crawl.visiting import Visitor
from comity.net import AsyncClient, Clock

REFILL = 256  # URLs of one host held in memory


class Schedule:
    """The hosts of one run and the visits under way.

    Attributes:
        tasks: visits under way.
        broken: the first error that ends the crawl.

    Args:
        wake: called when a visit is over.
    """

    def __init__(self, settings: CrawlSettings, clock: Clock, wake: Callable[[], None]) -> None:
        self.hosts = Hosts()
        self.tasks: set[asyncio.Task[Entry | None]] = set()
        self.broken: BaseException | None = None
        self._settings = settings
        self._clock = clock
        self._wake = wake
        # Known when the crawl starts:
        self._frontier: Frontier
        self._client: AsyncClient
        self._visitor: Visitor
        self._spending: Spending
        self._outcome: Outcome
        self._stats: Stats
        self._refresh: Refresh | None

    def began(
        self,
        frontier: Frontier,
        client: AsyncClient,
        visitor: Visitor,
        spending: Spending,
        outcome: Outcome,
        stats: Stats,
        refresh: Refresh | None,
    ) -> None:
        """The crawl starts with these."""
        self._frontier = frontier
        self._client = client
        self._visitor = visitor
        self._spending = spending
        self._outcome = outcome
        self._stats = stats
        self._refresh = refresh

    @property
    def asking(self) -> int:
        """Visits that have a request to make still."""
        return len(self.tasks) - self._visitor.resting

    def go_on(self) -> None:
        """Give every host of which URLs wait its turn."""
        for name in self._frontier.hosts():
            self.hosts.push(self.hosts.of(name), 0.0)

    def found(self, name: str) -> None:
        """More of a host's URLs wait in the frontier."""
        host = self.hosts.of(name)
        host.drained = False
        self.again(host)

    def serve(self, host: Host, now: float) -> None:
        """Start the next request of a host that is ready."""
        ready_at = max(host.not_before, self._client.ready_at(host.name))
        if ready_at > now:  # put off while it stood in the heap, by Retry-After for example
            self.hosts.push(host, ready_at)
            return
        if self._spending.used_up_on(host.name, now, under_way=len(host.under_way)):
            return
        if not host.queue and not self._refill(host):
            return
        entry = host.queue.popleft()
        host.under_way.add(entry.id)
        host.sitemaps += entry.kind is Kind.SITEMAP
        self._spending.started(host.name, now)
        task = asyncio.get_running_loop().create_task(self._visitor.visit(host, entry))
        self.tasks.add(task)
        task.add_done_callback(lambda task: self._visited(task, host, entry))
        self.again(host)

    def _refill(self, host: Host) -> bool:
        if host.drained:
            return False
        taken = host.under_way | self._outcome.settled()
        waiting = self._frontier.waiting(host.name, but_not=taken, most=REFILL)
        host.drained = len(waiting) < REFILL
        if self._refresh is not None:
            met, waiting = waiting, self._refresh.in_turn(host, waiting, unread=self._outcome.unread(host.name))
            host.drained = host.drained and waiting is met
        host.queue.extend(waiting)
        return bool(waiting)

    def again(self, host: Host) -> None:
        """Have a host come up again, if it has work and room."""
        if host.in_heap or (not host.queue and host.drained):
            return
        if self._spending.used_up_on(host.name, self._clock.monotonic(), under_way=len(host.under_way)):
            return  # what waits stays in the frontier for a later run with a higher limit
        if host.delay is None or host.delay > 0:  # one at a time; the wait is counted once
            if host.under_way:
                return
            ready_at = max(host.not_before, self._client.ready_at(host.name))
            self._stats.waited += max(ready_at - self._clock.monotonic(), 0.0)
            self.hosts.push(host, ready_at)
        elif len(host.under_way) < self._settings.per_host:
            self.hosts.push(host, max(host.not_before, self._client.ready_at(host.name)))

    def _visited(self, task: asyncio.Task[Entry | None], host: Host, entry: Entry) -> None:
        self.tasks.discard(task)
        host.under_way.discard(entry.id)
        host.sitemaps -= entry.kind is Kind.SITEMAP
        self._wake()
        if task.cancelled():
            return
        if (error := task.exception()) is not None:
            self.broken = self.broken or error
            return
        # Only now may the URL be taken again: before, it would have been under way twice.
        if (once_more := task.result()) is not None:
            if once_more is entry and self._refresh is not None:
                host.drained = False  # it waits in the frontier, behind the sitemaps just found
            elif once_more is entry:
                host.queue.appendleft(entry)
            else:
                host.queue.append(once_more)
        self.again(host)
