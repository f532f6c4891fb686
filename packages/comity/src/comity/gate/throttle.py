"""When one host may be asked again: its throttle, and the circuit breaker for one that fails again and again.

One rule, per host, on a monotonic clock handed in.

A host with an interval has at most one request on its way. The next may start one interval after the previous
answer's head arrived: the head proves that the server had the request by then, so the server's own clock never sees
two requests closer than the interval, whatever the network did to the first of them. Nor does it start before the body
is read, so that slow bodies do not pile up; of streams, which last as long as their readers like, there may be
MAX_STREAMS_PER_HOST at once.

The interval is the largest of what policy and site ask for, of what the site's response time suggests, and of a
back-off that doubles with each failure and halves with each success. What a site asks for holds for its own requests:
origins that share a pace may ask for different intervals, and none puts another one off by more than the policy's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from comity.policy import Policy

MIN_IDLE_SECONDS: Final = 600.0  # seconds
MIN_CIRCUIT_IDLE_SECONDS: Final = 3600.0  # seconds
MAX_STREAMS_PER_HOST: Final = 8  # of one host with an interval: who reads one stream may open what it names
_NOTHING: Final[Mapping[str, float]] = {}
LATENCY_WEIGHT: Final = 0.3  # weight of the newest response time


@dataclass(frozen=True, slots=True)
class Pause:
    """How one host is treated now, for monitoring.

    Attributes:
        until: when it may be asked next, as far as is known; long past where it may be asked at once.
        why: what it waits for, if `until` is to come.
        interval: seconds left after each of its answers.
        under_way: requests on their way to what shares its pace.
        ordered: seconds that the operator ordered to leave at least (`Throttles.order`).
    """

    until: float = float("-inf")
    why: Literal["interval", "back_off", "retry_after", "circuit_open", "stopped"] = "interval"
    interval: float = 0.0
    under_way: int = 0
    ordered: float = 0.0


class Circuit:
    """closed -> open after `Policy.breaker_failures` -> half-open after `breaker_recovery` -> a probe decides."""

    __slots__ = ("_policy", "failures", "open_until", "probing")

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.failures = 0  # calls in a row
        self.open_until: float | None = None
        self.probing = False

    def blocked_until(self, now: float) -> float | None:
        """None where a call may be made; else when to ask again."""
        if self.open_until is None:
            return None
        if self.probing:
            return now + self._policy.breaker_recovery
        return self.open_until if now < self.open_until else None

    def idle(self, now: float) -> bool:
        """Return whether forgetting this host loses nothing that still matters."""
        if self.open_until is None:
            return not self.failures
        return not self.probing and now > self.open_until + MIN_CIRCUIT_IDLE_SECONDS

    def started(self) -> bool:
        """Begin a request, and return whether it is the probe of a circuit that was open."""
        self.probing = self.open_until is not None
        return self.probing

    def finished(self, now: float, *, good: bool | None) -> None:
        """A call, with all its retries, came to its end; `good` None: it says nothing about the host."""
        self.probing = False
        if good:
            self.failures, self.open_until = 0, None
        elif good is not None:
            self.failures += 1
            if self.failures >= self._policy.breaker_failures:
                self.open_until = now + self._policy.breaker_recovery


class Throttle:
    """The state of one host: its earliest next start, the requests on their way, its circuit."""

    __slots__ = (
        "_asked_until",
        "_free_at",
        "_last_head",
        "_policy",
        "_started",
        "backoff",
        "circuit",
        "floor",
        "interval",
        "latency",
        "operator_interval",
        "reading",
        "stated",
        "streams",
        "under_way",
    )

    def __init__(self, policy: Policy, next_start: float, ordered: float = 0.0) -> None:
        self._policy = policy
        self.operator_interval = ordered  # seconds that the operator ordered to leave at least
        self._started = self._last_head = self._asked_until = float("-inf")
        self._free_at = self.floor = next_start  # floor: of an earlier run, which no order lifts
        self.under_way = 0
        self.reading = 0  # answers whose body is being read
        self.streams = 0  # the same, as their readers like
        self.interval = 0.0  # seconds asked for by policy and the origin that was asked about last
        self.stated = _NOTHING  # origin -> seconds, where they are more than the policy's; "": of an earlier run
        self.backoff = 0.0  # seconds
        self.latency = 0.0  # seconds from a request to the head of its answer, smoothed
        self.circuit = Circuit(policy) if policy.breaker_failures else None

    def ready_at(self, interval: float) -> float | None:
        """Return the time at which a request may start (if past: at once); None: not before the next answer, or the end
        of a body.

        Args:
            interval: seconds that policy and site ask for; sites that share a pace may ask for different ones.
        """
        self.interval = interval
        if (self.under_way or self.reading or self.streams >= MAX_STREAMS_PER_HOST) and self.wanted > 0.0:
            return None
        return max(self._free_at, self._last_head + max(interval, self.operator_interval))

    @property
    def next_start(self) -> float:
        """When the origin that was asked about last may be asked next."""
        return max(self._free_at, self._last_head + self.interval)

    @property
    def wanted(self) -> float:
        """Seconds to leave after an answer."""
        return max(self.interval, self.operator_interval, self.backoff, self._policy.adaptive * self.latency)

    @property
    def longest(self) -> float:
        """Seconds that any of its origins asks for."""
        return max(self.interval, *self.stated.values()) if self.stated else self.interval

    def learn(self, origin: str, interval: float) -> None:
        """The seconds that policy and an origin ask for are known."""
        self.interval = interval
        others = {name: seconds for name, seconds in self.stated.items() if name not in ("", origin)}
        if interval > self._policy.min_interval:
            others[origin] = interval
        self.stated = others or _NOTHING

    def interval_of(self, origin: str) -> float:
        """Return seconds between requests to an origin, as far as is known."""
        return max(self._policy.min_interval, self.stated.get(origin, self.stated.get("", 0.0)))

    def not_before(self, moment: float) -> None:
        """Nothing is asked of it before."""
        self._free_at = max(self._free_at, moment)

    def order(self, seconds: float) -> None:
        """The operator orders to leave at least so many seconds from now on; 0 lifts the order before."""
        before, self.operator_interval = self.operator_interval, seconds
        if seconds < before:  # what else holds it back goes on
            wait = max(
                self._policy.min_interval, self.operator_interval, self.backoff, self._policy.adaptive * self.latency
            )
            self._free_at = min(self._free_at, max(self._last_head + wait, self._asked_until, self.floor))
        self.not_before(self._last_head + seconds)

    def all_ready_at(self, now: float) -> float:
        """Return when any of its origins may be asked; a request on its way counts as answered now."""
        last, wait = (now, max(self.wanted, self.longest)) if self.under_way else (self._last_head, self.longest)
        return max(self._free_at, last + wait)

    def without_orders(self, now: float) -> float:
        """Return the same if its order were lifted."""
        last = now if self.under_way else self._last_head
        wait = max(self.longest, self.backoff, self._policy.adaptive * self.latency)
        return max(last + wait, self._asked_until, self.floor)

    def pause(self, now: float) -> Pause:
        """Return how the host is treated now, and why."""
        until, why = self.next_start, "back_off" if self.backoff > self.interval else "interval"
        if self._asked_until > self._started and self._asked_until >= self.next_start:
            why = "retry_after"
        blocked = None if self.circuit is None else self.circuit.blocked_until(now)
        if blocked is not None and blocked >= until:
            until, why = blocked, "circuit_open"
        return Pause(until, why, self.wanted, self.under_way, self.operator_interval)  # type: ignore[arg-type]

    @property
    def is_backing_off(self) -> bool:
        """Whether it may wait for something else than its interval."""
        open_ = self.circuit is not None and self.circuit.open_until is not None
        return open_ or self.backoff > 0 or self._asked_until > self._started

    def idle(self, now: float) -> bool:
        """Return whether forgetting this host loses nothing: its time has come, and long ago."""
        if self.under_way or self.reading or self.streams:
            return False
        if now < max(self._free_at, self._last_head + max(MIN_IDLE_SECONDS, self.wanted, self.longest)):
            return False
        return self.circuit is None or self.circuit.idle(now)

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
            self.latency = taken if not self.latency else self.latency + LATENCY_WEIGHT * (taken - self.latency)
        first = self._policy.backoff
        if not good:
            self.backoff = min(max(first, 2 * self.backoff), self._policy.max_backoff) if first else 0.0
        elif self.backoff:
            self.backoff = self.backoff / 2 if self.backoff > first else 0.0
        policy = self._policy
        wait = max(policy.min_interval, self.operator_interval, self.backoff * jitter, policy.adaptive * self.latency)
        if retry_after is not None:
            asked_for = min(retry_after, self._policy.max_retry_after)
            wait = max(wait, asked_for)
            self._asked_until = now + asked_for
        self._free_at = max(self._free_at, now + wait)

    def withdrawn(self) -> None:
        """The request was not sent."""
        self.under_way -= 1

    def abandoned(self, now: float) -> None:
        """The request may or may not have been sent: it counts, but says nothing about the host."""
        self.under_way -= 1
        self._last_head = now
        self.not_before(now + max(self.operator_interval, self.backoff, self._policy.adaptive * self.latency))


class Throttles:
    """All hosts that were asked, or must be left alone, by the name of what shares a pace."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.all: dict[str, Throttle] = {}
        self.orders: dict[str, float] = {}  # seconds that the operator ordered to leave at least
        self._others_from = float("-inf")  # when a host that is not among them may be asked
        self._cut_off = float("-inf")  # when an earlier run, which was, may have asked any of them

    def of(self, key: str) -> Throttle:
        throttle = self.all.get(key)
        if throttle is None:
            throttle = self.all[key] = Throttle(self._policy, self._others_from, self.orders.get(key, 0.0))
        return throttle

    def ready_at(self, key: str) -> float:
        """Return when a host may be asked next, as far as is known now."""
        throttle = self.all.get(key)
        return self._others_from if throttle is None else throttle.next_start

    def pause(self, key: str, now: float) -> Pause:
        """Return how long a host is left alone and why, as far as is known now; for monitoring."""
        throttle = self.all.get(key)
        return Pause(interval=self._policy.min_interval) if throttle is None else throttle.pause(now)

    def delays(self, now: float) -> dict[str, float]:
        """Return seconds that each must still be left alone: what a later run hands to `restore_delays`.

        A request on its way counts as answered now.
        """
        times = {key: each.all_ready_at(now) - now for key, each in self.all.items()}
        return {key: seconds for key, seconds in times.items() if seconds > 0}

    def reasons(self, now: float) -> dict[str, tuple[float, str]]:
        """Return seconds that those must still be left alone that wait for more than their interval, and for what; for
        monitoring.
        """
        found = {}
        for key, each in self.all.items():
            if each.is_backing_off:
                pause = each.pause(now)
                if pause.until > now and pause.why != "interval":
                    found[key] = pause.until - now, str(pause.why)
        return found

    def unordered(self, now: float) -> dict[str, float]:
        """Return the seconds of `delays` that would be left if the orders were lifted, of those that have one."""
        return {key: max(self.all[key].without_orders(now) - now, 0.0) for key in self.orders if key in self.all}

    def delay_of(self, key: str, now: float) -> tuple[float, float]:
        """Return seconds that one must still be left alone, and the most between two of its requests."""
        throttle = self.all.get(key)
        return (0.0, 0.0) if throttle is None else (max(throttle.all_ready_at(now) - now, 0.0), throttle.longest)

    def intervals(self) -> dict[str, float]:
        """Return seconds between two requests, of the sites that ask for more than the policy's own."""
        least = self._policy.min_interval
        return {key: each.longest for key, each in self.all.items() if each.longest > least}

    def restore_delays(
        self,
        delays: Mapping[str, float],
        now: float,
        *,
        intervals: Mapping[str, float] | None = None,
        unordered: Mapping[str, float] | None = None,
        others: float | None = None,
    ) -> None:
        """Go on where an earlier run stopped, no host early.

        Args:
            unordered: the seconds of `delays` that no order can lift, where these are not all.
            others: the earlier run was cut off, and may have asked any host just now: those not met are left alone for
                so many seconds, and those that an order slows down for as long as it says.
        """
        if others is not None:
            self._cut_off = now
            self._others_from = now + others
        for key, seconds in (intervals or {}).items():
            self.of(key).learn("", seconds)
        for key, seconds in delays.items():
            throttle = self.of(key)
            throttle.not_before(now + seconds)
            throttle.floor = max(throttle.floor, now + min((unordered or {}).get(key, seconds), seconds))

    def order(self, key: str, seconds: float) -> None:
        """Leave at least so many seconds between two requests from now on, whatever policy and site say; 0 lifts it."""
        throttle = self.of(key)
        throttle.order(seconds)
        if seconds > 0:
            self.orders[key] = seconds
            if throttle.next_start <= self._others_from:  # who is known to wait for longer was not asked at the end
                throttle.not_before(self._cut_off + seconds)
        else:
            self.orders.pop(key, None)

    def sweep(self, now: float) -> None:
        """Forget hosts that may be asked at once anyway."""
        self.all = {key: each for key, each in self.all.items() if not each.idle(now)}
