"""When one host may be asked again. One rule, per host, on a monotonic clock handed in.

A host with an interval has at most one request on its way. The next may start one interval after the previous
answer's head arrived: the head proves that the server had the request by then, so the server's own clock never sees
two requests closer than the interval, whatever the network did to the first of them. Nor does it start before the body
is read, so that slow bodies do not pile up; of streams, which last as long as their readers like, there may be
MOST_STREAMS at once.

The interval is the largest of what policy and site ask for, of what the site's response time suggests, and of a
back-off that doubles with each failure and halves with each success.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from comity.policy import Policy

LONG_AGO = 600.0  # seconds
MOST_STREAMS: Final = 8  # of one host with an interval: who reads one stream may open what it names
SMOOTHING = 0.3  # weight of the newest response time


@dataclass(frozen=True, slots=True)
class Pause:
    """How one host is treated now, for those who look on.

    Attributes:
        until: when it may be asked next, as far as is known; long past where it may be asked at once.
        why: what it waits for, if `until` is to come.
        interval: seconds left after each of its answers.
        under_way: requests on their way to what shares its pace.
    """

    until: float = float("-inf")
    why: Literal["interval", "back_off", "retry_after", "circuit_open"] = "interval"
    interval: float = 0.0
    under_way: int = 0


class Pace:
    """The state of one host: its earliest next start and the requests on their way."""

    __slots__ = (
        "_asked_until",
        "_last_head",
        "_policy",
        "_started",
        "backoff",
        "interval",
        "latency",
        "next_start",
        "reading",
        "streams",
        "under_way",
    )

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._started = self._last_head = self._asked_until = float("-inf")
        self.next_start = float("-inf")
        self.under_way = 0
        self.reading = 0  # answers whose body is being read
        self.streams = 0  # the same, as their readers like
        self.interval = 0.0  # seconds asked for by policy and site, when last known
        self.backoff = 0.0  # seconds
        self.latency = 0.0  # seconds from a request to the head of its answer, smoothed

    def ready_at(self, interval: float) -> float | None:
        """The time at which a request may start (if past: at once); None: not before the next answer, or
        the end of a body.

        Args:
            interval: seconds that policy and site ask for; sites that share a pace may ask for different ones.
        """
        self.interval = interval
        if (self.under_way or self.reading or self.streams >= MOST_STREAMS) and self.wanted > 0.0:
            return None
        return max(self.next_start, self._last_head + interval)

    @property
    def wanted(self) -> float:
        """Seconds to leave after an answer."""
        return max(self.interval, self.backoff, self._policy.adaptive * self.latency)

    @property
    def pause(self) -> Pause:
        """How the host is treated now, and why."""
        if self._asked_until > self._started and self._asked_until >= self.next_start:
            return Pause(self.next_start, "retry_after", self.wanted, self.under_way)
        why: Literal["interval", "back_off"] = "back_off" if self.backoff > self.interval else "interval"
        return Pause(self.next_start, why, self.wanted, self.under_way)

    def idle(self, now: float) -> bool:
        """Whether forgetting this host loses nothing: its time has come, and long ago."""
        busy = self.under_way or self.reading or self.streams
        return not busy and now >= max(self.next_start, self._last_head + LONG_AGO)

    def started(self, now: float) -> None:
        self.under_way += 1
        self._started = now

    def answered(self, now: float, *, good: bool = True, retry_after: float | None = None, jitter: float = 1.0) -> None:
        """The head of an answer arrived, or the request failed for good.

        Args:
            good: False for 429, 5xx and no answer at all.
            retry_after: seconds that the site asked us to stay away.
            jitter: from 0 to 1, how much of the back-off is used this time.
        """
        self.under_way -= 1
        self._last_head = now
        if self._policy.adaptive:
            taken = max(now - self._started, 0.0)
            self.latency = taken if not self.latency else self.latency + SMOOTHING * (taken - self.latency)
        first = self._policy.backoff
        if not good:
            self.backoff = min(max(first, 2 * self.backoff), self._policy.max_backoff) if first else 0.0
        elif self.backoff:
            self.backoff = self.backoff / 2 if self.backoff > first else 0.0
        wait = max(self.interval, self.backoff * jitter, self._policy.adaptive * self.latency)
        if retry_after is not None:
            asked_for = min(retry_after, self._policy.max_retry_after)
            wait = max(wait, asked_for)
            self._asked_until = now + asked_for
        self.next_start = max(self.next_start, now + wait)

    def failed(self, now: float) -> None:
        """A request that is no longer on its way has failed."""
        self.under_way += 1
        self.answered(now, good=False)

    def withdrawn(self) -> None:
        """The request was not sent."""
        self.under_way -= 1

    def abandoned(self, now: float) -> None:
        """The request may or may not have been sent: it counts, but says nothing about the host."""
        self.under_way -= 1
        self._last_head = now
        self.next_start = max(self.next_start, now + self.wanted)


class Paces:
    """All hosts that were asked, or are to be left alone, by the name of what shares a pace."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._paces: dict[str, Pace] = {}
        self._others_from = float("-inf")  # when a host that is not among them may be asked

    def __len__(self) -> int:
        return len(self._paces)

    def of(self, key: str) -> Pace:
        pace = self._paces.get(key)
        if pace is None:
            pace = self._paces[key] = Pace(self._policy)
            pace.next_start = self._others_from
        return pace

    def known(self, key: str) -> Pace | None:
        """That of a host, if it was asked or is to be left alone."""
        return self._paces.get(key)

    def ready_at(self, key: str) -> float:
        """When a host may be asked next, as far as is known now."""
        pace = self._paces.get(key)
        return self._others_from if pace is None else pace.next_start

    def waits(self, now: float) -> dict[str, float]:
        """Seconds that each must still be left alone; a request on its way counts as answered now."""
        times = {
            key: (now + pace.wanted if pace.under_way else pace.next_start) - now for key, pace in self._paces.items()
        }
        return {key: seconds for key, seconds in times.items() if seconds > 0}

    def wait_of(self, key: str, now: float) -> tuple[float, float]:
        """Seconds that one must still be left alone, and its interval."""
        pace = self._paces.get(key)
        return (0.0, 0.0) if pace is None else (max(pace.next_start - now, 0.0), pace.interval)

    def intervals(self) -> dict[str, float]:
        """Seconds between two requests, of the sites that ask for more than the policy's own."""
        least = self._policy.min_interval
        return {key: pace.interval for key, pace in self._paces.items() if pace.interval > least}

    def left_alone(
        self, waits: Mapping[str, float], now: float, *, intervals: Mapping[str, float] | None, others: float
    ) -> None:
        """Go on where an earlier run stopped; see Gate."""
        if others > 0:
            self._others_from = now + others
        for key, seconds in (intervals or {}).items():
            self.of(key).interval = seconds
        for key, seconds in waits.items():
            pace = self.of(key)
            pace.next_start = max(pace.next_start, now + seconds)

    def sweep(self, now: float) -> None:
        """Forget hosts that may be asked at once anyway."""
        self._paces = {key: pace for key, pace in self._paces.items() if not pace.idle(now)}
