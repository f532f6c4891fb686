"""One shard of a crawl: a Crawler that keeps to its own hosts, and lends and borrows their turns.

Whether all are at rest, and how many pages it may keep, is for who holds all shards to say (sharded.py, member.py).
"""

import asyncio
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from comity.crawler.checkpoint import Begun
from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.crawler import Crawler
from comity.crawler.mailbox import Mailbox
from comity.crawler.membership import CrawlStorage, FolderStorage, Membership
from comity.crawler.placement import PlaceByAddress
from comity.crawler.run import End, Run
from comity.crawler.scheduler import Scheduler
from comity.crawler.shards import ShardPlace, part
from comity.crawler.snapshot import HostState, ShardNow, ShardState
from comity.errors import Postponed
from comity.gate.steps import postponed
from comity.net import ClientSettings, Clock
from comity.net.needs import GiveBack
from comity.policy import Policy

Borrow = Callable[[int, str, str | None], tuple["asyncio.Future[float | None]", GiveBack]]
"""Asks a shard for the turn of one of its hosts: what it comes to (see `ShardCrawler.lend`), and what is to be called
when it is over. The last argument is that of `lend`.
"""
ORDERS_REST: Final = 1.0  # seconds until who lends and who asks know of the same orders


@dataclass(frozen=True, slots=True)
class ShardEnd:
    """How one shard stands once its run has ended, and how that ended."""

    now: ShardNow
    end: End


class Shard:
    """One shard of a crawl, in one run: a Crawler that was given a place among all. `control.end` has it come to its
    end once nothing is under way.

    Attributes:
        crawler: what crawls it.
        control: how it is told to stop and to end, and how many pages it may keep.

    Args:
        seeds: those of the whole crawl.
        folder: of the whole crawl.
        beside: the schedulers of this process's shards, which share the requests there may be at once.
        refresh: the number of the refresh that the whole crawl is in; 0 for none.
        own: the folder of this shard; None for the one that has its name.
        on_sent: told when something for other shards was committed.
        borrow: see Borrow; None where no shard lends.
    """

    def __init__(
        self,
        seeds: list[str],
        folder: Path,
        place: ShardPlace,
        *,
        policy: Policy,
        settings: Mapping[str, Any] | CrawlSettings,
        client_settings: ClientSettings,
        beside: list[Scheduler] | None = None,
        clock: Clock | None = None,
        sink: str | None = None,
        expander: str | None = None,
        refresh: int = 0,
        own: Path | None = None,
        storage: CrawlStorage | None = None,
        on_begin: Callable[[], None] | None = None,
        on_sent: Callable[[], None] = lambda: None,
        borrow: Borrow | None = None,
    ) -> None:
        own = own or folder / part(place.number)
        begun = Begun.at(own)
        self.place = place
        self._policy = policy
        self._clock = clock or Clock()
        self._borrow = borrow
        self._by_address = place if isinstance(place, PlaceByAddress) else None
        self._lent: dict[str, list[float | None]] = {}  # by host: when turns were given that did not come back
        self._passed_on: dict[str, list[GiveBack]] = {}  # turns of hosts that were found to belong to another shard
        self.crawler = Crawler(
            seeds,
            own,
            policy=policy,
            settings=settings,
            client_settings=client_settings,
            clock=self._clock,
            sink=sink,
            expander=expander,
            refresh=refresh > begun.refresh,
            begun=begun,
            on_begin=on_begin,
            storage=storage or FolderStorage(own, folder),
            membership=Membership(place, [] if beside is None else beside, on_sent, self.borrow),
        )
        self.control = self.crawler.control
        self.run = self.crawler.run

    @property
    def running(self) -> Run:
        """The run that is under way, or is over. There is one once it `has_begun`."""
        assert self.crawler.running is not None
        return self.crawler.running

    @property
    def has_begun(self) -> bool:
        """Whether its frontier is open, so that it can be told and asked."""
        return self.crawler.running is not None

    @property
    def mailbox(self) -> Mailbox:
        """What others send to it. There is one once it `has_begun`."""
        return self.running.mailbox

    def give_back(self) -> int:
        """Keep of the pages granted those that requests under way may take; gives how many then are granted."""
        granted = self.control.granted
        if granted is not None and self.has_begun:
            run = self.running
            self.control.grant(min(granted, run.quota.spent.pages + len(run.scheduler.tasks)))
        return self.control.granted or 0

    async def lend(self, host: str, pace: str | None = None) -> float | None:
        """Wait for the turn of a host of ours and give it to another shard, which has it until it is `returned`.

        A request to a host is made by its own shard. Only where a robots.txt redirects to a host of another does the
        one that asked for it follow, with the turn that the other gives it.

        Args:
            pace: what the host shares its pace by, where another shard had to look that up.

        Returns:
            None where it is given; else the seconds for which the host is not to be asked, infinite where the operator
            stopped it: longer than a call may wait (`max_wait`).
        """
        if self._by_address is not None:
            self._told_pace(host, pace)
            await self.mailbox.settle(host)
            if (shard := self.place.elsewhere(host)) is not None:
                return await self._pass_on(shard, host, self._by_address.key(host))
            self._told_pace(host)
        driver = self.running.client.driver
        limit = math.inf if driver.max_wait is None else self._clock.monotonic() + driver.max_wait
        while (again := driver.gate.reserve(host, now := self._clock.monotonic())) is not None:
            if again == math.inf or again > limit:
                return again - now
            await self._clock.sleep(max(again - now, 0.0))
        self._lent.setdefault(host, []).append(now)
        return None

    def _told_pace(self, host: str, pace: str | None = None) -> None:
        """Have the gate know what a host shares its pace by, where hosts are placed by that."""
        if self._by_address is not None:
            if pace is not None:
                self._by_address.settle(host, pace)
            if (known := self._by_address.key(host)) is not None:
                self.running.client.driver.gate.resolved(host, known)

    async def _pass_on(self, shard: int, host: str, pace: str | None) -> float | None:
        """Lend the turn of a host that a lookup has placed in another shard: as that one gives it."""
        assert self._borrow is not None
        turn, give_back = self._borrow(shard, host, pace)
        try:
            seconds = await turn
        except BaseException:
            give_back(None, None)
            raise
        if seconds is None:
            self._passed_on.setdefault(host, []).append(give_back)
        else:
            give_back(None, None)
        return seconds

    def has_lent(self, host: str, pace: str | None = None) -> None:
        """Another shard has the turn of a host of ours, from a process before this one; `pace` as of `lend`."""
        self._told_pace(host, pace)
        if self.place.elsewhere(host) is not None:  # with that process ended what it had asked for
            return
        self.running.client.driver.gate.occupy(host, self._clock.monotonic())
        self._lent.setdefault(host, []).append(None)

    def returned(self, host: str, good: bool | None, retry_after: float | None) -> None:
        """The turn that was lent is over; see `Gate.release`."""
        if self.place.elsewhere(host) is not None:
            if passed_on := self._passed_on.get(host):
                passed_on.pop(0)(good, retry_after)
            return
        self._told_pace(host)
        gate, now = self.running.client.driver.gate, self._clock.monotonic()
        pace = gate.pace_of(host) or host
        interval = max(gate.throttles.delay_of(pace, now)[1], self._policy.min_interval)
        given = self._lent.get(host) or [None]
        self.running.opened.ledger.lent(host, pace, given.pop(0), now, interval=interval, retry_after=retry_after)
        gate.release(host, now, good=good, retry_after=retry_after)
        self.running.client.driver.report(pace)

    async def borrow(self, host: str) -> GiveBack | None:
        """Ask for the turn of a host of another shard, which a robots.txt of ours redirects to."""
        shard = self.place.elsewhere(host)
        if shard is None or self._borrow is None or not self._policy.robots_fetch_counts:
            return None
        url = f"http://{host}/"
        if self.control.is_over:  # who would lend it may have ended
            raise Postponed(f"{url}: the crawl ends", url=url, seconds=0.0)
        turn, give_back = self._borrow(shard, host, None)
        driver = self.running.client.driver
        try:
            seconds = await driver.wait_for(turn)
            if seconds is not None:
                if seconds == math.inf and host not in driver.gate.stopped:
                    seconds = ORDERS_REST
                raise postponed(url, seconds)
        except BaseException:
            give_back(None, None)
            raise
        return give_back

    def now(self, worker: int) -> ShardNow:
        """How it stands; everything it says is committed where it does nothing."""
        run, now = self.running, self._clock.monotonic()
        state, until, host = run.state(now)
        granted, spent = self.control.granted, run.quota.spent
        return ShardNow(
            self.place.number,
            worker,
            state,
            until,
            host,
            None if host is None else str(HostState(run.client.driver.pause(host).why)),
            granted,
            0 if granted is None else max(granted - spent.pages - len(run.scheduler.tasks), 0),
            run.frontier.sent,
            run.frontier.taken,
            spent.pages,
            spent.bytes,
            spent.seconds_at(now),
            self.crawler.stats,
            run.commits.records,
        )

    def result(self, worker: int) -> ShardEnd:
        """What came of it, once `run` has ended."""
        state: ShardState = "stopped" if self.control.stopping else "resting"
        crawler = self.crawler
        stands = ShardNow(self.place.number, worker, state, stats=crawler.stats, records=self.running.commits.records)
        return ShardEnd(stands, crawler.end)
