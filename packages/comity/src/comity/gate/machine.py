"""The gate: no request leaves without asking it. It owns the robots cache and the throttle of every host.

Theory of operation. A caller asks about a URL and is given one step; it carries the step out, reports, and asks again
until the step is Go or a refusal. To find the step, the gate puts the questions of the table below to what it
knows, in order; the first that is answered with a step ends it, and when all are passed the step is Go.

    question   asks                                                        answered with
    ---------  ----------------------------------------------------------  -------------------------
    address    is it known what shares this host's pace?                   Resolve
    robots     is the origin's robots.txt here and fresh?               FetchRobots, Wait
    verdict    do policy and robots.txt allow the URL?                     Refuse
    circuit    has the host not failed too often in a row?                 CircuitOpen
    hours      does the site allow visits now?                           OutsideVisitTime
    turn       has the host's interval passed, is its last answer read?    Wait
    -          all passed                                                  Go

So a refused URL takes no turn and no waiting time, robots.txt is asked even where a circuit is open, and what is sent
was allowed at the very moment of sending. QUESTIONS is the table; docs/gate.md draws it.

Everything that affects state lives in this package. There is no I/O and no clock: `now` is seconds
on the caller's monotonic clock.
"""

import math
from collections.abc import Callable, Container
from dataclasses import replace
from math import inf
from typing import Final, Literal, NamedTuple

from comity.gate.robots_cache import CachedRobots, RobotsCache
from comity.gate.steps import Body, CircuitOpen, FetchRobots, Go, OutsideVisitTime, Refuse, Resolve, Step, Wait
from comity.gate.throttle import Pause, Throttle, Throttles
from comity.http_rules import is_temporary, retry_delay
from comity.policy import Decision, OriginPolicy, Policy, RobotsResult
from comity_pages import urls
from comity_pages.urls import Url

MAX_UNSWEPT_HOSTS: Final = 10_000  # throttles kept before idle ones are looked for

End = Literal["done", "failed", "timed_out", "abandoned", "withdrawn"]
"""How a request ended: its answer was read or left as wanted; it failed; it took too long; its caller gave it up, which
says nothing about the host; it was never sent.
"""


class _Candidate:
    """A URL on its way through the table."""

    __slots__ = ("host", "key", "known", "now", "origin_policy", "throttle", "url")

    known: CachedRobots  # from the row `robots` on
    origin_policy: OriginPolicy
    throttle: Throttle  # when all are passed

    def __init__(self, url: str, now: float) -> None:
        self.url = Url(url)
        self.now = now
        self.host = self.key = self.url.host


class Gate:
    """One gate per client or crawl. Not thread-safe: one caller drives it.

    Attributes:
        epoch: Unix time at the zero of the caller's monotonic clock; Visit-time and Request-rate need it.
        robots: the robots.txt files that are known.
        throttles: the hosts that were asked, and when each may be asked again; gates that share them keep one pace.
        stopped: hosts that are asked for nothing more, since the operator ordered so.
    """

    def __init__(self, policy: Policy, *, epoch: float = 0.0, throttles: Throttles | None = None) -> None:
        self.policy = policy
        self.epoch = epoch
        self.robots = RobotsCache(policy)
        self.throttles = throttles or Throttles(policy)
        self.stopped: set[str] = set()
        self._ignoring = (CachedRobots(), OriginPolicy(policy, None)) if policy.mode == "ignore" else None
        self._throttle = self.throttles.of
        self._addresses: dict[str, str] = {}
        self._robots_at: dict[str, str] = {}  # origin -> whose throttle counts the request for robots.txt under way
        self._sweep_at = MAX_UNSWEPT_HOSTS
        self._questions = tuple(question.answer for question in QUESTIONS if question.when(policy))

    # Questions

    def ask(self, url: str, now: float) -> Step:
        """Return the next step towards fetching a URL. Raises InvalidURL: it is not an absolute http or https URL."""
        if len(self.throttles.all) >= self._sweep_at:
            self.sweep(now)
        candidate = _Candidate(url, now)
        for answer in self._questions:
            step = answer(self, candidate)
            if step is not None:
                return step
        throttle = candidate.throttle
        throttle.started(now)
        candidate.known.unused = False
        go = Go(candidate.url, candidate.key, candidate.origin_policy, now + self.epoch)
        go.throttle = throttle
        if throttle.circuit is not None:
            go.probe = throttle.circuit.started()
        return go

    def consult(self, url: str, now: float) -> Decision | Resolve | FetchRobots | Wait:
        """Return the decision about a URL without any intention to fetch it, or the step that leads there."""
        candidate = _Candidate(url, now)
        step = self._address(candidate) or self._at_hand(candidate)
        if step is not None:
            return step
        candidate.known.unused = False
        return candidate.origin_policy.decide(candidate.url, now + self.epoch)

    def origin_policy(self, url: str, now: float) -> OriginPolicy | None:
        """Return what holds for the origin of a URL, if the robots.txt at hand suffices for it; starts nothing."""
        if self._ignoring is not None:
            return self._ignoring[1]
        known = self.robots.find(url.origin if type(url) is Url else urls.origin(url))
        return None if known is None else known.usable(now)

    def pace_of(self, host: str) -> str | None:
        """Return the name of what shares a pace with a host; None where the address that it depends on is not known
        yet."""
        match self.policy.pace_by:
            case "host":
                return host
            case "domain":
                from comity.domains import registrable

                return registrable(host)
            case _:
                return self._addresses.get(host)

    # The table's rows

    def _address(self, candidate: _Candidate) -> Resolve | None:
        key = self.pace_of(candidate.host)
        if key is None:
            return Resolve(candidate.host)
        candidate.key = key
        return None

    def _at_hand(self, candidate: _Candidate) -> FetchRobots | Wait | None:
        if self._ignoring is not None:
            candidate.known, candidate.origin_policy = self._ignoring
            return None
        origin = candidate.url.origin
        known = self.robots.get_or_create(origin)
        usable = known.usable(candidate.now)
        if usable is not None:
            candidate.known, candidate.origin_policy = known, usable
            return None
        if known.fetching:
            return Wait(None, candidate.key)
        step = self._robots_turn(origin, Url(origin + "/robots.txt"), known.result, candidate.key, candidate.now)
        known.fetching = isinstance(step, FetchRobots)
        return step

    def _verdict(self, candidate: _Candidate) -> Refuse | None:
        if candidate.origin_policy.allows(candidate.url):
            return None
        candidate.known.unused = False
        return Refuse(candidate.url, candidate.origin_policy.decide(candidate.url, candidate.now + self.epoch))

    def _unbroken(self, candidate: _Candidate) -> CircuitOpen | None:
        circuit = self._throttle(candidate.key).circuit
        until = None if circuit is None else circuit.blocked_until(candidate.now)
        return None if until is None else CircuitOpen(until, candidate.key)

    def _hours(self, candidate: _Candidate) -> OutsideVisitTime | None:
        hours = candidate.origin_policy.hours
        if hours is None:
            return None
        wall = candidate.now + self.epoch
        opens_at = hours.opens_at(wall)
        if opens_at <= wall:
            return None
        until = candidate.now + (opens_at - wall)  # which rounding may make no later than now
        return OutsideVisitTime(max(until, math.nextafter(candidate.now, math.inf)), candidate.key)

    def _turn(self, candidate: _Candidate) -> Wait | None:
        if self.stopped and candidate.host in self.stopped:
            return Wait(inf, candidate.key)
        candidate.throttle = throttle = self._throttle(candidate.key)
        ready = throttle.ready_at(candidate.origin_policy.delay_at(candidate.now + self.epoch))
        return Wait(ready, candidate.key) if ready is None or ready > candidate.now else None

    def hosts_at(self, paces: Container[str]) -> dict[str, str]:
        """Of the hosts that are known to share one of these paces by their address, that address; for monitoring."""
        return {host: address for host, address in self._addresses.items() if address in paces and address != host}

    # Reports about what has to be known before a request

    def resolved(self, host: str, address: str) -> None:
        """What came of a Resolve step; where nothing did, hand in the host itself."""
        self._addresses[host] = address
        if host != address and (seconds := self.throttles.orders.get(host, 0.0)):  # given before this was known
            self.throttles.order(host, 0.0)
            self.throttles.order(address, max(seconds, self.throttles.orders.get(address, 0.0)))

    def robots_arrived(self, result: RobotsResult, now: float) -> RobotsResult:
        """Take what came of a FetchRobots step, and return what is in force now."""
        in_force = self.robots.store(result, now)
        key = self._robots_at.pop(result.origin, None)
        own = self.pace_of(urls.host(result.origin))
        if key is None or key == own:
            self._learn_interval(result.origin, own, now)
        if key is not None:
            good, asked_for = host_outcome(result)
            self._throttle(key).answered(now, good=good, retry_after=asked_for)
        return in_force

    def robots_at_hand(self, step: FetchRobots, result: RobotsResult, now: float, *, age: float) -> FetchRobots | None:
        """Take a copy for a FetchRobots step, `age` seconds old, from another process or an earlier run.

        None: it is fresh and now in force, nothing was sent. Else the step to be carried out; the copy decides only if
        its successor turns out unreachable.
        """
        if not 0 <= age < result.expires_at - result.fetched_at:
            if step.cached is not None:
                return step
            self.robots.keep_stale(result)
            return FetchRobots(step.origin, step.url, result, step.key, step.interval)
        if (key := self._robots_at.pop(step.origin, None)) is not None:
            self._throttle(key).withdrawn()
        self.robots.store(result, now, age=age)
        self._learn_interval(step.origin, self.pace_of(urls.host(step.origin)), now)
        return None

    def robots_redirected(self, step: FetchRobots, url: Url, now: float) -> Resolve | Wait | FetchRobots:
        """Return the step for a `url` that a robots.txt redirects to, which is asked in its own host's turn: now, or
        later."""
        self.release_robots_turn(step, now)
        key = self.pace_of(url.host)
        if key is None and self.policy.robots_fetch_counts:
            return Resolve(url.host)
        return self._robots_turn(step.origin, url, step.cached, key or url.host, now)

    def release_robots_turn(
        self, step: FetchRobots, now: float, *, good: bool = True, retry_after: float | None = None
    ) -> str | None:
        """End the turn of a FetchRobots step whose answer is no robots.txt of ours: a redirect, or what another gate
        asked for. Return what it was a turn of.

        Args:
            good: False for 429, 5xx and no answer at all.
            retry_after: seconds that a 429 or 503 asked us to stay away.
        """
        if (key := self._robots_at.pop(step.origin, None)) is not None:
            self._throttle(key).answered(now, good=good, retry_after=retry_after)
        return key

    def robots_abandoned(self, step: FetchRobots, now: float) -> None:
        """The driver gave a FetchRobots step up (it was cancelled); the next caller is given the step."""
        self.robots.get_or_create(step.origin).fetching = False
        if (key := self._robots_at.pop(step.origin, None)) is not None:
            self._throttle(key).abandoned(now)

    def _robots_turn(
        self, origin: str, url: Url, cached: RobotsResult | None, key: str, now: float
    ) -> FetchRobots | Wait:
        """Take the host's turn for a request for a robots.txt, as for any other, unless the policy says otherwise."""
        if self.stopped and url.host in self.stopped:
            return Wait(inf, key)
        if not self.policy.robots_fetch_counts:
            return FetchRobots(origin, url, cached, key)
        throttle = self._throttle(key)
        interval = throttle.interval_of(origin)
        ready = throttle.ready_at(interval)
        if ready is None or ready > now:
            return Wait(ready, key)
        throttle.started(now)
        self._robots_at[origin] = key
        return FetchRobots(origin, url, cached, key, interval)

    def _learn_interval(self, origin: str, key: str | None, now: float) -> None:
        """The interval that an origin asks for is known before its first request: `intervals` tells of it."""
        origin_policy = self.robots.get_or_create(origin).origin_policy
        if key is not None and origin_policy is not None:
            self._throttle(key).learn(origin, origin_policy.delay_at(now + self.epoch))

    # Reports about a request

    def headers_received(
        self,
        go: Go,
        now: float,
        status: int,
        *,
        retry_after: float | None = None,
        jitter: float = 1.0,
        body: Body | None = None,
    ) -> None:
        """Status and headers of the answer to a Go step arrived, from which the next request's turn counts.

        Args:
            retry_after: seconds that the answer asked us to stay away.
            jitter: from 0 to 1, how much of the back-off is used this time; a random number spreads retries.
            body: how its body is read from now on until `finished`; None where there is none, or its end will
                not be reported.
        """
        go.status, go.body = status, body
        throttle = go.throttle
        throttle.answered(now, good=not is_temporary(status), retry_after=retry_after, jitter=jitter)
        throttle.reading += body == "read"
        throttle.streams += body == "streamed"

    def finished(
        self, go: Go, now: float, end: End = "done", *, jitter: float = 1.0, again_until: float | None = None
    ) -> bool:
        """End a Go step, whatever came of it. Without `headers_received` before, no answer came.

        Args:
            jitter: as for `headers_received`.
            again_until: until when the call would wait to be tried again; None: it is over.

        Returns:
            Whether to try again: the host may be asked in time, and the request was no probe. The circuit
            breaker counts calls with all their retries.
        """
        throttle = go.throttle
        if go.status is not None:
            throttle.reading -= go.body == "read"
            throttle.streams -= go.body == "streamed"
            go.body = None
            if end == "timed_out":  # after a good head: the host is slow all the same
                throttle.under_way += 1
                throttle.answered(now, good=False, jitter=jitter)
        elif end == "withdrawn":
            throttle.withdrawn()
        elif end == "abandoned":
            throttle.abandoned(now)
        else:
            throttle.answered(now, good=False, jitter=jitter)
        again = again_until is not None and not go.probe and throttle.next_start <= again_until
        if throttle.circuit is not None:
            if end in ("abandoned", "withdrawn"):
                throttle.circuit.finished(now, good=None)
            elif not again:
                throttle.circuit.finished(now, good=end == "done" and (go.status or 500) < 500)
        return again

    # State

    def pause(self, host: str, now: float) -> Pause:
        """Return how long a host is left alone and why, as far as is known now; for monitoring."""
        pause = self.throttles.pause(self.pace_of(host) or host, now)
        return replace(pause, until=inf, why="stopped") if host in self.stopped else pause

    def sweep(self, now: float) -> None:
        """Forget hosts that may be asked at once anyway."""
        self.throttles.sweep(now)
        if len(self._addresses) > MAX_UNSWEPT_HOSTS:
            self._addresses.clear()
        self._sweep_at = max(MAX_UNSWEPT_HOSTS, 2 * len(self.throttles.all))


def host_outcome(result: RobotsResult) -> tuple[bool, float | None]:
    """Return what a robots.txt says about the host that was asked last: whether its answer was good, and the seconds
    that it asked us to stay away."""
    asked_for = None if result.status is None else retry_delay(result.status, result.headers, result.fetched_at)
    return result.kind != "unreachable", asked_for


class Question(NamedTuple):
    """A row of the table: `answer` gives the step that ends the search, or None to go on."""

    name: str
    asks: str
    steps: tuple[type[Step], ...]
    answer: Callable[[Gate, _Candidate], Step | None]
    when: Callable[[Policy], bool] = lambda _: True  # where the policy makes it a question at all


QUESTIONS: Final = (
    Question(
        "address",
        "is it known what shares this host's pace?",
        (Resolve,),
        Gate._address,
        lambda policy: policy.pace_by != "host",
    ),
    Question("robots", "is the origin's robots.txt here and fresh?", (FetchRobots, Wait), Gate._at_hand),
    Question("verdict", "do policy and robots.txt allow the URL?", (Refuse,), Gate._verdict),
    Question(
        "circuit",
        "has the host not failed too often in a row?",
        (CircuitOpen,),
        Gate._unbroken,
        lambda policy: policy.breaker_failures > 0,
    ),
    Question(
        "hours",
        "does the site allow visits now?",
        (OutsideVisitTime,),
        Gate._hours,
        lambda policy: "visit-time" in policy.honour,
    ),
    Question("turn", "has the host's interval passed, is its last answer read?", (Wait,), Gate._turn),
)


def diagram() -> str:
    """Return the table as a Mermaid flow chart."""
    lines = ["flowchart TD", "    ask([ask]) --> " + QUESTIONS[0].name]
    following = [*(question.name for question in QUESTIONS[1:]), "go"]
    for question, passed in zip(QUESTIONS, following, strict=True):
        lines.append(f'    {question.name}{{"{question.asks}"}} -- yes --> {passed}')
        steps = " or ".join(step.__name__ for step in question.steps)
        lines.append(f"    {question.name} -- no --> {question.name}_step[{steps}]")
    return "\n".join([*lines, "    go([Go])"])
