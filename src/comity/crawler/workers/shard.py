"""One shard of a crawl: a Crawler that keeps to its own hosts, and tells and is told of the others'.

It does not end when nothing is left to do, for another shard may find something for it. Whether all are at rest, and
how many pages it may keep, is for who holds all shards to say (sharded.py, member.py).
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from comity import urls
from comity.crawler.checkpoint import Begun
from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.crawler import PLACE, Crawler
from comity.crawler.orders import Order, Orders
from comity.crawler.placement import PlaceByAddress
from comity.crawler.shards import ShardPlace, part
from comity.crawler.snapshot import HostState, ShardNow, ShardState
from comity.crawler.stats import Stats
from comity.errors import Postponed
from comity.frontier.messages import TAKEN_CHAIN, Parcel, chained, numbers
from comity.gate.steps import postponed
from comity.net import ClientSettings, Clock
from comity.net.needs import GiveBack
from comity.policy import Policy

Borrow = Callable[[int, str, str | None], tuple["asyncio.Future[float | None]", GiveBack]]
"""Asks a shard for the turn of one of its hosts: what it comes to (see `ShardCrawler.lend`), and what is to be called
when it is over. The last argument is that of `lend`.
"""
IDLE_REST: Final = 30.0  # seconds between two looks of a shard that has nothing to do; whatever comes wakes it
COMMIT_EVERY: Final = 0.5  # seconds for each shard of a process, which so commits as often as one crawl does
LATEST_COMMIT: Final = 2.0  # seconds, however many they are; one that has nothing to do commits at once
ORDERS_REST: Final = 1.0  # seconds until who lends and who asks know of the same orders
MOST_TAKEN: Final = 4000  # URLs that wait for a commit beyond which no more is taken in


@dataclass(frozen=True, slots=True)
class ShardEnd:
    """What came of one shard in a run, once it has ended; see the attributes of Crawler."""

    now: ShardNow
    format: str
    refreshes: bool
    left: int
    unasked: int
    trouble: str | None
    passing: bool
    refusal: str | None
    put_off: str | None


class ShardCrawler(Crawler):
    """One shard of a crawl. It is started like a Crawler; `end` has it come to its end once nothing is under way.

    Args:
        seeds: those of the whole crawl.
        folder: of the whole crawl.
        refresh: the number of the refresh that the whole crawl is in; 0 for none.
        own: the folder of this shard; None for the one that has its name.
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
        clock: Clock | None = None,
        sink: str | None = None,
        expander: str | None = None,
        refresh: int = 0,
        own: Path | None = None,
    ) -> None:
        own = own or folder / part(place.number)
        begun = Begun.at(own)
        super().__init__(
            seeds,
            own,
            policy=policy,
            settings=settings,
            client_settings=client_settings,
            clock=clock,
            sink=sink,
            expander=expander,
            refresh=refresh > begun.refresh,
            begun=begun,
        )
        self._place = place
        self._rest = IDLE_REST
        self._orders = Orders(folder)
        self._ending = False
        self._grant: int | None = None
        self.on_sent: Callable[[], None] | None = None  # told when something for other shards was committed
        self.borrow: Borrow | None = None
        self._sent_before: Mapping[int, int] = {}
        self._taken: dict[int, int] = {}  # taken up, committed or not
        self._taken_chain: dict[int, str] = {}
        self._delivered: dict[int, int] = {}  # what others are known to have taken
        self._lent: dict[str, list[float | None]] = {}  # by host: when turns were given that did not come back
        self._begun = False
        self._by_address = place if isinstance(place, PlaceByAddress) else None
        self._look_up: Callable[[str], Awaitable[str]]
        self._lookups: dict[str, asyncio.Task[None]] = {}  # by host
        self._passed_on: dict[str, list[GiveBack]] = {}  # turns of hosts that were found to belong to another shard

    @property
    def place(self) -> ShardPlace:
        assert self._place is not None
        return self._place

    @property
    def is_at_work(self) -> bool:
        """Whether it has requests under way."""
        return bool(self._scheduler.tasks)

    @property
    def has_room(self) -> bool:
        """Whether more may be taken in now."""
        return self._buffer.size < MOST_TAKEN

    async def run(self) -> Stats:
        """As of Crawler."""
        try:
            return await super().run()
        finally:
            for task in self._lookups.values():
                task.cancel()

    def share(self, others: list["ShardCrawler"]) -> None:
        """Share the requests there may be at once, and the commits, with other shards of this process."""
        self._scheduler.peers = [other._scheduler for other in others if other is not self]
        self._commit_every = min(COMMIT_EVERY * len(others), LATEST_COMMIT)

    @property
    def unacknowledged(self) -> bool:
        """Whether anything was sent of which it is not known here that it was taken."""
        return any(number > self._delivered.get(shard, 0) for shard, number in self._frontier.sent.items())

    def taken(self, shard: int) -> int:
        """The last parcel of another shard that was taken up."""
        return self._taken.get(shard, 0)

    def take_in(self, sender: int, parcel: Parcel) -> bool:
        """Take up what another shard sent, if the addresses on which that depends are known; they are looked up.

        Returns:
            Whether it was taken up, now or before. If not, nothing later of the same sender may be.
        """
        if parcel.number <= self.taken(sender):
            return True
        if self._ended is not None:  # the seal is the last record of a run: it waits for the next one
            return False
        if self._by_address is not None and not self._are_settled(parcel, self._by_address):
            return False
        for message in parcel.messages:
            self._filter.arrived(message)
        self._taken[sender] = parcel.number
        self._taken_chain[sender] = chained(self._taken_chain.get(sender), parcel.text)
        self._buffer.taken(sender, parcel.number)
        self._wake.set()
        return True

    def _are_settled(self, parcel: Parcel, place: PlaceByAddress) -> bool:
        unsettled = False
        for message in parcel.messages:
            if message.widens:
                continue
            host = urls.host(message.url)
            if message.pace is not None:
                place.settle(host, message.pace)
            elif place.has_to_settle(host):
                unsettled = True
                if host not in self._lookups:
                    self._lookups[host] = asyncio.ensure_future(self._settle(host, place))
        return not unsettled

    async def _settle(self, host: str, place: PlaceByAddress) -> None:
        place.settle(host, await self._look_up(host))
        self._lookups.pop(host, None)

    async def _address_of(self, host: str) -> str:
        """What a host is paced by here: where it was placed by an address, that holds."""
        return (self._by_address and self._by_address.key(host)) or await self._look_up(host)

    def delivered(self, numbers: Mapping[int, int]) -> None:
        """Other shards have taken what was sent up to these parcels: it is forgotten with the next commit."""
        new = {shard: number for shard, number in numbers.items() if number > self._delivered.get(shard, 0)}
        if new:
            self._delivered.update(new)
            self._buffer.delivered(new)

    def grant(self, pages: int) -> None:
        """So many pages may be kept, over all runs."""
        self._grant = pages
        if self._begun:
            self._quota.granted = pages
            self._wake.set()

    def give_back(self) -> int:
        """Keep of the pages granted those that requests under way may take; gives how many then are granted."""
        if self._grant is not None and self._begun:
            self.grant(min(self._grant, self._quota.spent.pages + len(self._scheduler.tasks)))
        return self._grant or 0

    def end(self) -> None:
        """Start nothing new, since all shards are at rest or a limit is reached."""
        self._ending = True
        if self._begun:
            self._fetcher.give_up()
        self._wake.set()

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
            if self._by_address.has_to_settle(host):
                await self._settle(host, self._by_address)
            if (shard := self.place.elsewhere(host)) is not None:
                return await self._pass_on(shard, host, self._by_address.key(host))
            self._told_pace(host)
        driver = self._client.driver
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
                self._client.driver.gate.resolved(host, known)

    async def _pass_on(self, shard: int, host: str, pace: str | None) -> float | None:
        """Lend the turn of a host that a lookup has placed in another shard: as that one gives it."""
        assert self.borrow is not None
        turn, give_back = self.borrow(shard, host, pace)
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
        self._client.driver.gate.occupy(host, self._clock.monotonic())
        self._lent.setdefault(host, []).append(None)

    def returned(self, host: str, good: bool | None, retry_after: float | None) -> None:
        """The turn that was lent is over; see `Gate.release`."""
        if self.place.elsewhere(host) is not None:
            if passed_on := self._passed_on.get(host):
                passed_on.pop(0)(good, retry_after)
            return
        self._told_pace(host)
        gate, now = self._client.driver.gate, self._clock.monotonic()
        pace = gate.pace_of(host) or host
        interval = max(gate.throttles.delay_of(pace, now)[1], self.policy.min_interval)
        given = self._lent.get(host) or [None]
        self._ledger.lent(host, pace, given.pop(0), now, interval=interval, retry_after=retry_after)
        gate.release(host, now, good=good, retry_after=retry_after)
        self._client.driver.report(pace)

    async def _borrow(self, host: str) -> GiveBack | None:
        shard = self.place.elsewhere(host)
        if shard is None or self.borrow is None or not self.policy.robots_fetch_counts:
            return None
        url = f"http://{host}/"
        if self._ending or self._stopping:  # who would lend it may have ended
            raise Postponed(f"{url}: the crawl ends", url=url, seconds=0.0)
        turn, give_back = self.borrow(shard, host, None)
        try:
            seconds = await self._client.driver.wait_for(turn)
            if seconds is not None:
                if seconds == math.inf and host not in self._client.driver.gate.stopped:
                    seconds = ORDERS_REST
                raise postponed(url, seconds)
        except BaseException:
            give_back(None, None)
            raise
        return give_back

    def now(self, worker: int) -> ShardNow:
        """How it stands; everything it says is committed where it does nothing."""
        now = self._clock.monotonic()
        state, until, host = self._state(now)
        name, why = None, None
        if host is not None:
            pause = self._client.driver.pause(host)
            name, why = host, str(HostState(pause.why))
        spent = self._quota.spent
        spare = 0 if self._grant is None else max(self._grant - spent.pages - len(self._scheduler.tasks), 0)
        return ShardNow(
            self.place.number,
            worker,
            state,
            until,
            name,
            why,
            self._grant,
            spare,
            self._frontier.sent,
            self._frontier.taken,
            spent.pages,
            spent.bytes,
            spent.seconds_at(now),
            self.stats,
            self._buffer.records,
        )

    def result(self, worker: int) -> ShardEnd:
        """What came of it, once `run` has ended."""
        state: ShardState = "stopped" if self.stopped else "resting"
        stands = ShardNow(self.place.number, worker, state, stats=self.stats, records=self._buffer.records)
        return ShardEnd(
            stands,
            self.format,
            self.refreshes,
            self.left,
            self.unasked,
            self.trouble,
            self.passing,
            self.refusal,
            self.put_off,
        )

    def _state(self, now: float) -> tuple[ShardState, float, str | None]:
        at_work = self._scheduler.tasks or self._buffer.waiting or self._committing is not None or self._feeding
        if at_work:
            return "working", 0.0, None
        if self._scheduler.is_idle(now):
            return ("robots" if self.stats.postponed else "resting"), 0.0, None
        if self._quota.granted is not None and self._quota.spent.pages >= self._quota.granted:
            return "pages", 0.0, None
        first, at = self._scheduler.hosts.first(), self._scheduler.hosts.next_time() or now
        return "turn", max(at - now, 0.0), first

    def _state_to_save(self) -> dict[str, Any]:
        state = super()._state_to_save() | {PLACE: [self.place.number, self.place.count]}
        if self._begun:
            state[TAKEN_CHAIN] = dict(self._taken_chain)
        return state if self._by_address is None else state | self._by_address.save_state()

    def _start(self) -> None:
        if self._by_address is not None:
            self._by_address.began(self._frontier.load_state)
            self._look_up, self._client.driver.address_of = self._client.driver.address_of, self._address_of
        super()._start()

    def _begin(self) -> None:
        self._client.driver.borrow = self._borrow
        self._taken = dict(self._frontier.taken)
        self._taken_chain = numbers(self._frontier.load_state(TAKEN_CHAIN))
        self._sent_before = self._frontier.sent
        self._quota.granted = self._grant
        self._begun = True
        super()._begin()

    def _is_over(self) -> bool:
        return not self._scheduler.tasks and (self._stopping or self._ending)

    def _is_much(self) -> bool:
        return super()._is_much() or (not self._scheduler.tasks and self._buffer.waiting)

    def _full(self) -> bool:
        return self._ending or super()._full()

    def _apply_order(self, order: Order) -> None:
        if self.place.elsewhere(order.host) is None:
            super()._apply_order(order)
            return
        if order.order != "slow" or self._by_address is not None:
            # A robots.txt of ours may lead there, and by address the host may turn out to be one of ours.
            self._scheduler.order(order)

    async def _commit(self, *, final: bool = False) -> None:
        await super()._commit(final=final)
        if self.on_sent is not None and self._frontier.sent != self._sent_before:
            self._sent_before = self._frontier.sent
            self.on_sent()
