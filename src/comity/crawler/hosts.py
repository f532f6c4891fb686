"""The hosts of a crawl in memory: which URLs of each wait, and which host may be asked next.

A heap orders hosts by the time they are ready; nothing is polled. Times are the client's monotonic clock.
"""

import heapq
from collections import deque
from dataclasses import dataclass, field

from comity.frontier import Entry


@dataclass(slots=True)
class Host:
    """One host. `delay` None: its robots.txt has not been asked for yet, so nothing but that may be sent."""

    name: str
    queue: deque[Entry] = field(default_factory=deque)
    under_way: set[int] = field(default_factory=set)
    sitemaps: int = 0  # of those under way
    failing: bool = False  # the last request got no good answer
    delay: float | None = None
    not_before: float = 0.0
    held_by: str = "back_off"  # why it is held until then; see snapshot.HostState
    drained: bool = False  # nothing waits in the frontier beyond what is in `queue`
    in_heap: bool = False


class Hosts:
    """All hosts that have or had work."""

    def __init__(self) -> None:
        self._hosts: dict[str, Host] = {}
        self._heap: list[tuple[float, int, Host]] = []
        self._order = 0

    def of(self, name: str) -> Host:
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = Host(name)
        return host

    def all(self) -> list[Host]:
        return list(self._hosts.values())

    def push(self, host: Host, ready_at: float) -> None:
        """Have a host come up at a time; does nothing where it is due to come up already."""
        if not host.in_heap:
            host.in_heap = True
            self._order += 1  # among equals, first come first served
            heapq.heappush(self._heap, (ready_at, self._order, host))

    def pop_ready(self, now: float) -> Host | None:
        """The host that has been ready longest, if any is."""
        if self._heap and self._heap[0][0] <= now:
            host = heapq.heappop(self._heap)[2]
            host.in_heap = False
            return host
        return None

    def first(self) -> Host | None:
        """The host that becomes ready next."""
        return self._heap[0][2] if self._heap else None

    def next_time(self) -> float | None:
        """When the next host becomes ready."""
        return self._heap[0][0] if self._heap else None
