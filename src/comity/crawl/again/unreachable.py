"""Sites whose robots.txt cannot be reached: their URLs stay in the frontier and have their turn when it is asked again.

RFC 9309, 2.3.1.4: unreachable is for now. A site is asked again once its failure's life is over, in this run if that
lasts so long, or else in a later one; no run waits for it. Times are the client's monotonic clock, as the gate's are;
only what goes from run to run is Unix time.
"""

import math
from collections.abc import Callable
from typing import Any

from comity.crawl.frontier import Entry
from comity.crawl.outcome import Outcome
from comity.net import Clock
from comity.policy import Decision


class Unreachable:
    """The sites that are left alone, host by host.

    Args:
        longest: seconds that a failure is remembered at most, whatever was done to the wall clock.
        recall: gives back what `facts` returned under a name in an earlier run, or the default.
    """

    def __init__(self, outcome: Outcome, clock: Clock, longest: float, recall: Callable[[str, Any], Any]) -> None:
        self._outcome = outcome
        self._clock = clock
        self._longest = longest
        self._counts: dict[str, int] = recall("postponed", {})  # URLs by host
        self._until: dict[str, dict[str, float]] = recall("unreachable", {})  # by host and origin
        now, wall = clock.monotonic(), clock.wall()
        for times in self._until.values():
            times.update({origin: now + min(until - wall, longest) for origin, until in times.items()})
        self._next = min(map(_end, self._until.values()), default=math.inf)
        self._changed = bool(self._until)  # a time that was too far off must not be so for the next run again

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
            until = min(max(until, now), now + self._longest)
            self._until.setdefault(host, {})[origin] = until
            self._next = min(self._next, until)
        self._changed = True
        self._counts[host] = self._counts.get(host, 0) + 1
        self._outcome.postponed(entry, decision.why if decision else f"{origin}/robots.txt could not be reached")

    def recall_due(self) -> float | None:
        """Have URLs come up again whose time has come. Gives the seconds until that of the next, None if there is none.

        A host's come up together, once all of its origins may be asked.
        """
        now = self._clock.monotonic()
        if now >= self._next:
            for host in [host for host, times in self._until.items() if _end(times) <= now]:
                self._changed = True
                del self._until[host]
                self._outcome.recalled(host, self._counts.pop(host, 0))
            self._next = min(map(_end, self._until.values()), default=math.inf)
        return self._next - now if self._until else None

    def facts(self) -> dict[str, Any]:
        """What a later run has to know, where it changed."""
        if not self._changed:
            return {}
        self._changed = False
        to_wall = self._clock.wall() - self._clock.monotonic()
        until = {host: {origin: at + to_wall for origin, at in times.items()} for host, times in self._until.items()}
        return {"postponed": dict(self._counts), "unreachable": until}


def _end(times: dict[str, float]) -> float:
    return max(times.values())
