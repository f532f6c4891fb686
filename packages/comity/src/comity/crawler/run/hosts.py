"""The hosts of one run that are in memory, and when each comes up; all others wait in the frontier alone.

A heap orders hosts by the time they are ready; nothing is polled. At most MAX_HOSTS that have work are in memory. Idle
hosts stay cached until their slot is needed. The frontier names the others that have work,
round after round, as there is room. Where some wait there, a host gives its place up once it had a few of its URLs
fetched, or where it is to be left alone for long. What is forgotten of a host its robots.txt, the gate and the frontier
know.
"""

import heapq
import math
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from comity.crawler.observe.snapshot import HostState, HostStatus
from comity.crawler.observe.stats import StatsCollector
from comity.frontier.values import Entry

MAX_HOSTS = 16_384
HOSTS_PER_TURN: Final = 256  # hosts that the frontier names in one turn of the loop
FAR_SECONDS: Final = 60.0  # seconds: who is to be left alone for longer gives its place up


@dataclass(slots=True, eq=False, repr=False)
class Host:
    """One host. `delay` None: its robots.txt has not been asked for yet, so nothing but that may be sent."""

    name: str
    queue: list[Entry] = field(default_factory=list)  # lists: a crawl meets many hosts, and empty ones are small
    under_way: list[int] = field(default_factory=list)
    origins: tuple[str, ...] = ()  # of which robots.txt was asked for
    sitemaps: int = 0  # of those under way
    failing: bool = False  # the last request got no good answer
    delay: float | None = None
    not_before: float = 0.0
    held_by: str = "back_off"  # why it is held until then; see snapshot.HostState
    waits_since: float | None = None  # since when it is left alone, where that was not counted yet
    drained: bool = False  # nothing waits in the frontier beyond what is in `queue`
    in_heap: bool = False

    def waited(self, ready_at: float, now: float) -> float:
        """Seconds that it was left alone and that were not counted yet, where it is to be until `ready_at`. What the
        operator stopped (infinite) waits for no site."""
        since, self.waits_since = self.waits_since, None
        return 0.0 if since is None or ready_at == math.inf else max(min(ready_at, now) - since, 0.0)


def status_of(host: Host, collector: StatsCollector, now: float) -> HostStatus:
    """How a host stands."""
    busy, queued, more = len(host.under_way), len(host.queue), not host.drained
    if not busy and not queued and not more:
        state, wait = HostState.DRAINED, 0.0
        if times := collector.unreachable.get(host.name):
            state, wait = HostState.UNREACHABLE, max(max(times.values()) - collector.clock.wall(), 0.0)
        return HostStatus(host.name, state, wait, host.delay or 0.0, 0, False, 0)
    pause = collector.pause(host.name)
    until, state = pause.until, HostState(pause.why)
    if host.not_before > until:
        until, state = host.not_before, HostState(host.held_by)
    wait = max(until - now, 0.0)
    if busy and (pause.under_way or not wait):  # else it waits for what shares its pace
        state, wait = HostState.FETCHING if host.delay is not None else HostState.ROBOTS, 0.0
    elif not busy and not host.in_heap:
        state, wait = HostState.LIMIT, 0.0
    elif not wait:
        state = HostState.READY
    interval = pause.interval if host.delay is None else max(host.delay, pause.ordered)
    if math.isinf(wait):
        state, wait = HostState.STOPPED, 0.0
    return HostStatus(host.name, state, wait, interval, queued, more, busy)


class Hosts:
    """The hosts of one run. `names` gives the hosts that have work in the frontier, `ready_at` says when a host may be
    asked."""

    def __init__(self, names: Callable[[], Iterator[str]], ready_at: Callable[[str], float]) -> None:
        self._names = names
        self._ready_at = ready_at
        self._hosts: dict[str, Host] = {}
        self._heap: list[tuple[float, int, Host]] = []
        self._order = 0
        self._looked = 0.0  # when it was last looked who is ready
        self._resting: OrderedDict[str, None] = OrderedDict()  # with nothing to do; those that rest for longest first
        self._named: Iterator[str] | None = None  # the round under way, through the hosts in the frontier
        self._missed = False  # whether some have work there that the round may not come to
        self._aside: tuple[float, str] | None = None  # the first of those that are left alone: until when, and who
        self._look_at = 0.0  # when to look again who is left alone for long

    def __len__(self) -> int:
        return len(self._hosts)

    # Which hosts are in memory

    @property
    def is_full(self) -> bool:
        """Whether there is no room for another one that has work."""
        return len(self._hosts) - len(self._resting) >= MAX_HOSTS

    @property
    def is_half_full(self) -> bool:
        """Whether half of the places are taken by hosts that have work."""
        return len(self._hosts) - len(self._resting) > MAX_HOSTS // 2

    @property
    def is_crowded(self) -> bool:
        """Whether others wait in the frontier for a place here."""
        return self.is_full and (self._missed or self._named is not None)

    def all(self) -> list[Host]:
        """Those in memory."""
        return list(self._hosts.values())

    def found(self, name: str) -> Host | None:
        """A host that has more work in the frontier; None where it has to wait there."""
        host = self._hosts.get(name)
        if host is None:
            if self.is_full:
                self._missed = True
                return None
            host = self._add(name)
        return host

    def fill(self, now: float) -> None:
        """Have hosts that wait in the frontier come up, where there is room: a few at a time."""
        if self._aside is not None and self._aside[0] <= now:
            self._aside, self._missed = None, True
        if self.is_crowded and now >= self._look_at:
            self._look_at = now + FAR_SECONDS / 2
            self._leave_far(now)
        for _ in range(HOSTS_PER_TURN):
            if self.is_full or not (self._missed or self._named is not None):
                return
            if self._named is None:
                self._named, self._missed = self._names(), False
            name = next(self._named, None)
            if name is None:
                self._named = None
            elif name not in self._hosts:
                ready_at = self._ready_at(name)
                if now + FAR_SECONDS < ready_at and len(self._hosts) > MAX_HOSTS // 2:
                    self._note_aside(name, ready_at)
                else:
                    self.push(self._add(name), 0.0)

    def rest(self, host: Host) -> None:
        """A host has nothing to do, until more of it is found or a limit is raised: another may have its place."""
        if host.name in self._hosts:
            self._resting[host.name] = None
            self._make_room(0)

    def leave(self, host: Host, *, until: float | None = None) -> None:
        """A host that does not stand in the heap gives its place up: what it has to do waits in the frontier. `until`:
        when it may come up again; None: in the next round."""
        del self._hosts[host.name]
        if until is None:
            self._missed = True
        else:
            self._note_aside(host.name, until)

    def look_again(self) -> None:
        """Hosts that are not in memory may have their turn: the crawl starts, or what held them back was lifted."""
        self._missed = True

    def _add(self, name: str) -> Host:
        self._make_room(1)
        host = self._hosts[name] = Host(name)
        return host

    def _make_room(self, more: int) -> None:
        while self._resting and len(self._hosts) + more > MAX_HOSTS:
            del self._hosts[self._resting.popitem(last=False)[0]]

    def _leave_far(self, now: float) -> None:
        """Hosts that are to be left alone for long give their places up."""
        near: list[tuple[float, int, Host]] = []
        for entry in self._heap:
            if entry[0] <= now + FAR_SECONDS or entry[2].under_way:
                near.append(entry)
            else:
                self.leave(entry[2], until=entry[0])
        self._heap = near
        heapq.heapify(self._heap)

    def _note_aside(self, name: str, until: float) -> None:
        self._aside = (until, name) if self._aside is None else min(self._aside, (until, name))

    # When each comes up

    def push(self, host: Host, ready_at: float) -> None:
        """Have a host come up at a time; does nothing where it is due to come up already.

        One that might have had its turn before comes after those that are ready: else all URLs of one host would be
        fetched at once, each over a connection of its own, and then those of the next.
        """
        if not host.in_heap:
            host.in_heap = True
            self._resting.pop(host.name, None)
            self._order += 1  # among equals, first come first served
            heapq.heappush(self._heap, (max(ready_at, self._looked), self._order, host))

    def pop_ready(self, now: float) -> Host | None:
        """The host that has been ready longest, if any is."""
        self._looked = now
        if self._heap and self._heap[0][0] <= now:
            host = heapq.heappop(self._heap)[2]
            host.in_heap = False
            return host
        return None

    def restart(self, host: Host) -> None:
        """Have a host that is to come up come up at once: what held it back was lifted."""
        if host.in_heap and any(entry[2] is host for entry in self._heap):  # else it is parked
            self._heap = [entry for entry in self._heap if entry[2] is not host]
            heapq.heapify(self._heap)
            host.in_heap = False
            self.push(host, 0.0)

    def first(self) -> str | None:
        """The name of the host that becomes ready next."""
        if self._aside is not None and (not self._heap or self._aside[0] < self._heap[0][0]):
            return self._aside[1]
        return self._heap[0][2].name if self._heap else None

    def next_time(self) -> float | None:
        """When the next host becomes ready, or is to be looked for in the frontier; infinite where the operator stopped
        all that have work."""
        if (self._missed or self._named is not None) and not self.is_full:
            return self._looked
        times = [self._heap[0][0]] if self._heap else []
        if self._aside is not None:
            times.append(self._aside[0])
        if self.is_crowded and (not times or min(times) > self._look_at):
            times.append(self._look_at)
        return min(times, default=None)
