"""What one shard of a crawl and the others tell each other: parcels that came are taken up, each once and in order.

Where hosts share their pace by address, what depends on an address that is not known here waits until it was looked up.
"""

import asyncio
from collections.abc import Collection, Mapping
from typing import Final

from comity.crawler.run.admission import URLFilter
from comity.crawler.run.control import Control
from comity.crawler.run.relay import RobotsRelay
from comity.crawler.run.results import ResultBuffer
from comity.crawler.storage.placement import ShardAssignment
from comity.frontier.messages import TAKEN_CHAIN, MailboxReader, Parcel, chained, numbers
from comity.net.async_driver import AsyncDriver
from comity_pages import urls

MAX_TAKEN_URLS: Final = 4000  # URLs that wait for a commit beyond which no more is taken in


class Mailbox:
    """The parcels of one shard, in one run; `relay` is what it asks and answers for others. `taken`: by shard the last
    parcel of it that was committed."""

    def __init__(
        self,
        assignment: ShardAssignment,
        driver: AsyncDriver,
        taken: Mapping[int, int],
        results: ResultBuffer,
        url_filter: URLFilter,
        relay: RobotsRelay,
        control: Control,
    ) -> None:
        self._assignment = assignment
        self._results = results
        self._filter = url_filter
        self.relay = relay
        self._control = control
        self._driver = driver
        self._taken: dict[int, int] = dict(taken)  # committed or not
        self._chain: dict[int, str] = numbers(results.facts.get(TAKEN_CHAIN))
        self._delivered: dict[int, int] = {}  # what others are known to have taken
        self._lookups: dict[str, asyncio.Task[None]] = {}  # by host
        self._sealed = False

    @property
    def has_room(self) -> bool:
        """Whether more may be taken in now."""
        return self._results.size < MAX_TAKEN_URLS

    @property
    def processed(self) -> dict[int, int]:
        """By shard its last parcel that was taken up."""
        return dict(self._taken)

    def taken(self, shard: int) -> int:
        """The last parcel of another shard that was taken up."""
        return self._taken.get(shard, 0)

    async def process(self, senders: Collection[int], post: MailboxReader) -> bool:
        """Take up what some other shards have sent, of each in its order; gives whether there may be more to be had."""
        came = await post.parcels(self._assignment.number, {sender: self.taken(sender) for sender in senders})
        put_off = set()
        for sender, parcel in came:
            if sender not in put_off and not self.take_in(sender, parcel):
                put_off.add(sender)
        return bool(came) and not put_off

    def take_in(self, sender: int, parcel: Parcel) -> bool:
        """Take up what another shard sent, if the addresses on which that depends are known; they are looked up. Gives
        whether it was taken up, now or before. If not, nothing later of the same sender may be."""
        if parcel.number <= self.taken(sender):
            return True
        if self._sealed or not self._are_settled(parcel):
            return False
        for message in parcel.messages:
            if message.about is None:
                self._filter.arrived(message)
            else:
                self.relay.arrived(message)
        self._taken[sender] = parcel.number
        self._chain[sender] = chained(self._chain.get(sender), parcel.text)
        self._results.taken(sender, parcel.number)
        self._results.facts.put(TAKEN_CHAIN, dict(self._chain))
        self._control.wake()
        return True

    def delivered(self, last: Mapping[int, int]) -> None:
        """Other shards have taken what was sent up to these parcels: it is forgotten with the next commit."""
        new = {shard: number for shard, number in last.items() if number > self._delivered.get(shard, 0)}
        if new:
            self._delivered.update(new)
            self._results.delivered(new)

    def seal(self) -> None:
        """Take in nothing more: the seal is the last record of a run, and what comes waits for the next one."""
        self._sealed = True
        for task in self._lookups.values():
            task.cancel()

    def _are_settled(self, parcel: Parcel) -> bool:
        settled, assignment = True, self._assignment
        for message in parcel.messages:
            host = urls.host(message.url)
            if message.pace is not None and not message.widens:
                assignment.settled.settle(host, message.pace)
            elif not message.widens and message.about is None and assignment.has_to_settle(host):
                settled = False
                if host not in self._lookups:
                    self._lookups[host] = asyncio.ensure_future(self._find(host))
        return settled

    async def _find(self, host: str) -> None:
        try:
            self._assignment.settled.settle(host, await self._driver.address_of(host))
        finally:
            self._lookups.pop(host, None)
