"""Sites whose robots.txt could not be reached: it is so for now (RFC 9309, 2.3.1.4). A site is asked again once its
failure's life is over, in this run if that lasts so long, or else in a later one; no run waits for it."""

import heapq
import math
from collections.abc import Mapping
from typing import Any

from comity.crawler.observe.stats import UNREACHABLE
from comity.crawler.run.results import ResultBuffer
from comity.net import Clock


class UnreachableHosts:
    """The sites that are left alone, host by host: for `longest` seconds at most, whatever was done to the wall clock.
    `saved`: what the crawl remembers of them, by name."""

    def __init__(self, results: ResultBuffer, clock: Clock, longest: float, saved: Mapping[str, Any]) -> None:
        self._results = results
        self._clock = clock
        self._longest = longest
        self._counts: dict[str, int] = {}  # URLs by host
        self._until: dict[str, dict[str, float]] = {}  # by host and origin
        self._why: dict[str, str] = {}  # the last failure of each host, in words
        self._due: list[tuple[float, str]] = []  # a heap; a host whose time was put off stands in it more than once
        now, wall = clock.monotonic(), clock.wall()
        for name, (count, times, why) in saved.items():
            host = name.removeprefix(UNREACHABLE)
            self._counts[host], self._why[host] = count, why
            self._until[host] = {origin: now + min(until - wall, longest) for origin, until in times.items()}
            if any(until - wall > longest for until in times.values()):
                self._remember(host)  # a time that was too far off must not be so for the next run again
            heapq.heappush(self._due, (_last(self._until[host]), host))

    def __bool__(self) -> bool:
        return bool(self._until)

    def holds(self, host: str, origin: str) -> bool:
        """Whether an origin's robots.txt may not be asked for yet."""
        return self._until.get(host, {}).get(origin, -math.inf) > self._clock.monotonic()

    def why(self, host: str | None = None) -> str | None:
        """What failed at a host, in words; of no host in particular, what failed at one that still rests."""
        return next(iter(self._why.values()), None) if host is None else self._why.get(host)

    def postpone(self, host: str, origin: str, why: str, until: float | None = None) -> None:
        """A URL has to wait; `until`: when its robots.txt may be asked for again, None where `holds` knows it."""
        self._why[host] = why
        if until is not None:
            now = self._clock.monotonic()
            times = self._until.setdefault(host, {})
            times[origin] = min(max(until, now), now + self._longest)
            heapq.heappush(self._due, (_last(times), host))
        self._counts[host] = self._counts.get(host, 0) + 1
        self._remember(host)

    def resume_due(self) -> float | None:
        """Have URLs come up again whose time has come: a host's together, once all of its origins may be asked. Gives
        the seconds until that of the next, None if there is none."""
        now = self._clock.monotonic()
        while self._due:
            at, host = self._due[0]
            if host in self._until and _last(self._until[host]) == at:
                if at > now:
                    return at - now
                del self._until[host]
                self._why.pop(host, None)
                self._remember(host)
                self._results.resumed(host, self._counts.pop(host, 0))
            heapq.heappop(self._due)
        return None

    def _remember(self, host: str) -> None:
        """Have a later run know of a host, if it waits."""
        to_wall, times = self._clock.wall() - self._clock.monotonic(), self._until.get(host)
        until = None if times is None else {origin: at + to_wall for origin, at in times.items()}
        self._results.facts.put(
            UNREACHABLE + host, None if until is None else [self._counts[host], until, self._why[host]]
        )


def _last(times: dict[str, float]) -> float:
    return max(times.values())
