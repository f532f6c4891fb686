"""Sites whose robots.txt cannot be reached: their URLs stay in the frontier and have their turn when it is asked again.

RFC 9309, 2.3.1.4: unreachable is for now. A site is asked again once its failure's life is over, in this run if that
lasts so long, or else in a later one; no run waits for it. Times are the client's monotonic clock, as the gate's are;
only what goes from run to run is Unix time.
"""

import heapq
import math
from collections.abc import Mapping
from typing import Any

from comity.crawler.outcome import Outcome
from comity.crawler.watch.watching import UNREACHABLE
from comity.frontier import Entry
from comity.net import Clock
from comity.policy import Decision


class Unreachable:
    """The sites that are left alone, host by host.

    Args:
        longest: seconds that a failure is remembered at most, whatever was done to the wall clock.
        recalled: the facts under names that begin with UNREACHABLE, as `facts` returned them in earlier runs.
    """

    def __init__(self, outcome: Outcome, clock: Clock, longest: float, recalled: Mapping[str, Any]) -> None:
        self._outcome = outcome
        self._clock = clock
        self._longest = longest
        self._counts: dict[str, int] = {}  # URLs by host
        self._until: dict[str, dict[str, float]] = {}  # by host and origin
        self._due: list[tuple[float, str]] = []  # a heap; a host whose time was put off stands in it more than once
        self._changed: set[str] = set()
        now, wall = clock.monotonic(), clock.wall()
        for name, (count, times) in recalled.items():
            host = name.removeprefix(UNREACHABLE)
            self._counts[host] = count
            self._until[host] = {origin: now + min(until - wall, longest) for origin, until in times.items()}
            if any(until - wall > longest for until in times.values()):
                self._changed.add(host)  # a time that was too far off must not be so for the next run again
            heapq.heappush(self._due, (_end(self._until[host]), host))

    def __bool__(self) -> bool:
        return bool(self._until)

    def holds(self, host: str, origin: str) -> bool:
        """Whether an origin's robots.txt may not be asked for yet."""
        return self._until.get(host, {}).get(origin, -math.inf) > self._clock.monotonic()

    def postpone(
        self, entry: Entry, host: str, origin: str, decision: Decision | None = None, *, until: float = 0.0
    ) -> None:
        """A URL has to wait.

        Args:
            decision: what says so; None where `holds` does.
            until: when its robots.txt may be asked for again.
        """
        if decision is not None:
            now = self._clock.monotonic()
            times = self._until.setdefault(host, {})
            times[origin] = min(max(until, now), now + self._longest)
            heapq.heappush(self._due, (_end(times), host))
        self._changed.add(host)
        self._counts[host] = self._counts.get(host, 0) + 1
        self._outcome.postponed(entry, decision.why if decision else f"{origin}/robots.txt could not be reached")

    def recall_due(self) -> float | None:
        """Have URLs come up again whose time has come. Gives the seconds until that of the next, None if there is none.

        A host's come up together, once all of its origins may be asked.
        """
        now = self._clock.monotonic()
        while self._due:
            at, host = self._due[0]
            if host in self._until and _end(self._until[host]) == at:
                if at > now:
                    return at - now
                del self._until[host]
                self._changed.add(host)
                self._outcome.recalled(host, self._counts.pop(host, 0))
            heapq.heappop(self._due)
        return None

    def facts(self) -> dict[str, Any]:
        """What a later run has to know, of the hosts of which something changed; None where they wait no more."""
        to_wall = self._clock.wall() - self._clock.monotonic()
        facts: dict[str, Any] = {}
        for host in self._changed:
            times = self._until.get(host)
            until = None if times is None else {origin: at + to_wall for origin, at in times.items()}
            facts[UNREACHABLE + host] = None if until is None else [self._counts[host], until]
        self._changed.clear()
        return facts


def _end(times: dict[str, float]) -> float:
    return max(times.values())
