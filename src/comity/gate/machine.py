"""The gate: no request leaves without asking it. It owns the robots cache and the pacing of every host.

Theory of operation. A caller asks about a URL and is told one step; it carries the step out, reports, and asks again
until it is told to go or that it must not. To find the step, the gate puts the questions of the table below to what it
knows, in order; the first that is answered with a step ends it, and when all are passed the step is Go.

    question   asks                                                        answered with
    ---------  ----------------------------------------------------------  -------------------------
    address    is it known what shares this host's pace?                   Resolve
    robots     is the origin's robots.txt at hand and fresh?               FetchRobots, Wait
    verdict    do policy and robots.txt allow the URL?                     Refuse
    circuit    has the host not failed too often in a row?                 CircuitOpen
    hours      does the site receive visits now?                           Closed
    turn       has the host's interval passed, is its last answer read?    Wait
    -          all passed                                                  Go

So a refused URL takes no turn and no waiting time, robots.txt is asked even where a circuit is open, and what is sent
was allowed at the very moment of sending. QUESTIONS is the table; docs/gate.md draws it.

Everything that affects state lives here and in the modules beside it. There is no I/O and no clock: `now` is seconds
on the caller's monotonic clock.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from comity import urls
from comity.gate.asking import Asking, Question
from comity.gate.circuit import Circuit
from comity.gate.pacing import Paces, Pause
from comity.gate.retry_after import retry_after as read_retry_after
from comity.gate.robots_cache import Known, RobotsCache
from comity.gate.steps import Body, CircuitOpen, Closed, FetchRobots, Go, Refuse, Resolve, Step, Wait
from comity.policy import Decision, Policy, RobotsResult, Ruling

BUSY: Final = (429, 503)
SWEEP: Final = 10_000  # paces kept before idle ones are looked for


class Gate:
    """One gate per client or crawl. Not thread-safe: one caller drives it.

    Attributes:
        epoch: Unix time at the zero of the caller's monotonic clock; Visit-time and Request-rate need it.
    """

    def __init__(self, policy: Policy, *, epoch: float = 0.0) -> None:
        self.policy = policy
        self.epoch = epoch
        self._robots = RobotsCache(policy)
        self._ignoring = Known(ruling=Ruling(policy, None)) if policy.mode == "ignore" else None
        self._paces = Paces(policy)
        self._pace = self._paces.of
        self._circuits: dict[str, Circuit] = {}
        self._addresses: dict[str, str] = {}
        self._robots_at: dict[str, str] = {}  # origin -> whose pace counts the request for robots.txt under way
        self._sweep_at = SWEEP
        self._questions = tuple(question.answer for question in QUESTIONS if question.when(policy))
        self._breaks = policy.breaker_failures > 0

    # Questions

    def ask(self, url: str, now: float) -> Step:
        """The next step towards fetching a URL, which must be in normal form (`urls.normalise`).

        Raises:
            InvalidURL: it is not an absolute http or https URL.
        """
        if len(self._paces) >= self._sweep_at:
            self.sweep(now)
        asking = Asking(url, now)
        for answer in self._questions:
            step = answer(self, asking)
            if step is not None:
                return step
        self._pace(asking.key).started(now)
        if self._breaks:
            self._circuit(asking.key).started()
        asking.known.unused = False
        return Go(url, asking.key, asking.ruling, now + self.epoch)

    def consult(self, url: str, now: float) -> Decision | Resolve | FetchRobots | Wait:
        """The decision about a URL without any intention to fetch it, or the step that leads there."""
        asking = Asking(url, now)
        step = self._address(asking) or self._at_hand(asking)
        if step is not None:
            return step
        asking.known.unused = False
        return asking.ruling.decide(url, now + self.epoch)

    def known(self, url: str, now: float) -> Decision | None:
        """The decision about a URL if the robots.txt at hand suffices for it; starts nothing."""
        ruling = self.ruling(url, now)
        return None if ruling is None else ruling.decide(url, now + self.epoch)

    def ruling(self, url: str, now: float) -> Ruling | None:
        """What holds for the origin of a URL, if the robots.txt at hand suffices for it; starts nothing."""
        if self._ignoring is not None:
            return self._ignoring.ruling
        known = self._robots.find(urls.origin(url))
        return known.ruling if known is not None and known.usable(now) else None

    # The table's rows

    def _address(self, asking: Asking) -> Resolve | None:
        key = self._key(asking.host)
        if key is None:
            return Resolve(asking.host)
        asking.key = key
        return None

    def _at_hand(self, asking: Asking) -> FetchRobots | Wait | None:
        if self._ignoring is not None:
            asking.known, asking.ruling = self._ignoring, self._ignoring.must()
            return None
        origin = urls.origin(asking.url)
        known = self._robots.of(origin)
        if known.usable(asking.now):
            asking.known, asking.ruling = known, known.must()
            return None
        if known.fetching:
            return Wait(None, asking.key)
        interval = None
        if self.policy.robots_fetch_counts:
            pace = self._pace(asking.key)
            interval = max(self.policy.min_interval, pace.interval)
            ready = pace.ready_at(interval)
            if ready is None or ready > asking.now:
                return Wait(ready, asking.key)
            pace.started(asking.now)
            self._robots_at[origin] = asking.key
        known.fetching = True
        return FetchRobots(origin, origin + "/robots.txt", known.result, asking.key, interval)

    def _verdict(self, asking: Asking) -> Refuse | None:
        if asking.ruling.allows(asking.url):
            return None
        asking.known.unused = False
        return Refuse(asking.url, asking.ruling.decide(asking.url, asking.now + self.epoch))

    def _unbroken(self, asking: Asking) -> CircuitOpen | None:
        circuit = self._circuits.get(asking.key)
        until = None if circuit is None else circuit.blocked_until(asking.now)
        return None if until is None else CircuitOpen(until, asking.key)

    def _hours(self, asking: Asking) -> Closed | None:
        wall = asking.now + self.epoch
        opens_at = asking.ruling.opens_at(wall)
        return Closed(asking.now + (opens_at - wall), asking.key) if opens_at > wall else None

    def _turn(self, asking: Asking) -> Wait | None:
        ready = self._pace(asking.key).ready_at(asking.ruling.delay_at(asking.now + self.epoch))
        return Wait(ready, asking.key) if ready is None or ready > asking.now else None

    # Reports

    def resolved(self, host: str, address: str) -> None:
        """What came of a Resolve step; where nothing did, hand in the host itself."""
        self._addresses[host] = address

    def robots_arrived(self, result: RobotsResult, now: float) -> RobotsResult:
        """What came of a FetchRobots step. Gives back what is in force now."""
        in_force = self._robots.store(result, now)
        key = self._robots_at.pop(result.origin, None)
        if key is None:
            self._learnt(result.origin, now)
        else:
            if key == self.key(urls.host(result.origin + "/")):
                self._learnt(result.origin, now)
            asked_for = read_retry_after(result.headers.get("retry-after"), result.fetched_at)
            self._pace(key).answered(
                now,
                good=result.kind != "unreachable",
                retry_after=asked_for if result.status in BUSY else None,
            )
        return in_force

    def robots_abandoned(self, step: FetchRobots, now: float) -> None:
        """The driver gave a FetchRobots step up (it was cancelled); the next caller is told to fetch."""
        self._robots.of(step.origin).fetching = False
        if (key := self._robots_at.pop(step.origin, None)) is not None:
            self._pace(key).abandoned(now)

    def robots_withdrawn(self, step: FetchRobots) -> None:
        """A FetchRobots step was not carried out: nothing was sent."""
        self._robots.of(step.origin).fetching = False
        if (key := self._robots_at.pop(step.origin, None)) is not None:
            self._pace(key).withdrawn()

    def robots_redirected(self, step: FetchRobots, url: str, now: float) -> Resolve | Wait | FetchRobots:
        """A robots.txt redirects to `url`, which is asked in its own host's turn: now by the step given, or later."""
        if not self.policy.robots_fetch_counts:
            return FetchRobots(step.origin, url, step.cached, self.key(urls.host(url)))
        if (key := self._robots_at.pop(step.origin, None)) is not None:
            self._pace(key).answered(now)
        key = self._key(urls.host(url))
        if key is None:
            return Resolve(urls.host(url))
        pace = self._pace(key)
        interval = max(self.policy.min_interval, pace.interval)
        ready = pace.ready_at(interval)
        if ready is None or ready > now:
            return Wait(ready, key)
        pace.started(now)
        self._robots_at[step.origin] = key
        return FetchRobots(step.origin, url, step.cached, key, interval)

    def robots_known(self, result: RobotsResult, now: float, *, age: float) -> None:
        """A fresh robots.txt that was fetched `age` seconds ago, by another process or an earlier run."""
        self._robots.store(result, now, age=age)
        self._learnt(result.origin, now)

    def robots_held(self, result: RobotsResult) -> None:
        """A robots.txt of old that is no longer fresh: it decides only if its successor turns out unreachable."""
        self._robots.hold(result)

    def answered(
        self,
        go: Go,
        now: float,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        jitter: float = 1.0,
        body: Body | None = None,
    ) -> None:
        """The head of an answer to a Go step arrived, or (status None) the request failed.

        Args:
            body: how its body is read from now on; then call `body_over` whatever comes of it. None where there is
                none, or nobody could say when it is over.
            retry_after: seconds that a 429 or 503 asked us to stay away.
            jitter: from 0 to 1, how much of the back-off is used this time; a random number spreads retries.
        """
        good = status is not None and status != 429 and status < 500
        asked_for = retry_after if status in BUSY else None
        pace = self._pace(go.key)
        pace.answered(now, good=good, retry_after=asked_for, jitter=jitter)
        go.body = body
        pace.reading += body == "read"
        pace.streams += body == "streamed"

    def body_over(self, go: Go) -> None:
        """The body of an answer was read to its end, or left; nothing where there was none."""
        pace, body, go.body = self._pace(go.key), go.body, None
        pace.reading -= body == "read"
        pace.streams -= body == "streamed"

    def withdrawn(self, go: Go) -> None:
        """A Go step was not carried out: nothing was sent."""
        self._pace(go.key).withdrawn()
        if self.policy.breaker_failures:
            self._circuit(go.key).abandoned()

    def abandoned(self, go: Go, now: float) -> None:
        """The caller gave a Go step up (it was cancelled): it counts for the pace, and says nothing of the host."""
        self._pace(go.key).abandoned(now)
        if self.policy.breaker_failures:
            self._circuit(go.key).abandoned()

    def timed_out(self, go: Go, now: float) -> None:
        """A request that was abandoned, or whose answer had begun, took too long."""
        self._pace(go.key).failed(now)

    def may_retry(self, go: Go) -> bool:
        """Whether a call that failed may be tried again: the probe of an open circuit decides at once."""
        circuit = self._circuits.get(go.key)
        return circuit is None or not circuit.probing

    def finished(self, go: Go, now: float, *, good: bool | None) -> None:
        """A whole call, with its retries, came to its end; the circuit breaker counts these.

        Args:
            good: None where the call says nothing about the host: it was given up, or refused on our side.
        """
        if not self.policy.breaker_failures:
            return
        if good is None:
            self._circuit(go.key).abandoned()
        else:
            self._circuit(go.key).finished(now, good=good)

    # State

    def key(self, host: str) -> str:
        """The name of what shares a pace with a host."""
        return self._key(host) or host

    def pace_of(self, host: str) -> str | None:
        """The same; None where the address that it depends on is not known yet."""
        return self._key(host)

    def ready_at(self, host: str) -> float:
        """When a host may be asked next, as far as is known now."""
        return self._paces.ready_at(self.key(host))

    def pause(self, host: str, now: float) -> Pause:
        """How long a host is left alone and why, as far as is known now; for those who look on."""
        key = self.key(host)
        pace, circuit = self._paces.known(key), self._circuits.get(key)
        pause = Pause(interval=self.policy.min_interval) if pace is None else pace.pause
        until = None if circuit is None else circuit.blocked_until(now)
        return pause if until is None or until < pause.until else replace(pause, until=until, why="circuit_open")

    def waits(self, now: float) -> dict[str, float]:
        """Seconds that each host must still be left alone: what a later run has to be told with `left_alone`.

        A request on its way counts as answered now.
        """
        return self._paces.waits(now)

    def wait_of(self, key: str, now: float) -> tuple[float, float]:
        """Seconds that what shares a pace must still be left alone, and those between two of its requests."""
        return self._paces.wait_of(key, now)

    def intervals(self) -> dict[str, float]:
        """Seconds between two requests, of the hosts that ask for more than the policy's own."""
        return self._paces.intervals()

    def left_alone(
        self,
        waits: Mapping[str, float],
        now: float,
        *,
        intervals: Mapping[str, float] | None = None,
        others: float = 0.0,
    ) -> None:
        """Go on where an earlier run stopped, no host early; hosts not met are left alone for `others` seconds."""
        self._paces.left_alone(waits, now, intervals=intervals, others=others)

    def robots_until(self, url: str) -> float:
        """When the robots.txt of a URL is asked for again; minus infinity where it was not asked for yet."""
        return self._robots.of(urls.origin(url)).fresh_until

    def results(self) -> dict[str, RobotsResult]:
        """What was learned, origin by origin."""
        return self._robots.results()

    def clear(self) -> None:
        """Forget every robots.txt; paces stay."""
        self._robots.clear()

    def sweep(self, now: float) -> None:
        """Forget hosts that may be asked at once anyway."""
        self._paces.sweep(now)
        self._circuits = {key: circuit for key, circuit in self._circuits.items() if not circuit.idle(now)}
        if len(self._addresses) > SWEEP:
            self._addresses.clear()
        self._sweep_at = max(SWEEP, 2 * len(self._paces))

    def _learnt(self, origin: str, now: float) -> None:
        """The interval that an origin asks for is known before its first request: `intervals` tells of it."""
        if (key := self._key(urls.host(origin + "/"))) is not None:
            self._pace(key).interval = self._robots.of(origin).must().delay_at(now + self.epoch)

    def _key(self, host: str) -> str | None:
        match self.policy.pace_by:
            case "host":
                return host
            case "domain":
                from comity.domains import registrable

                return registrable(host)
            case _:
                return self._addresses.get(host)

    def _circuit(self, key: str) -> Circuit:
        circuit = self._circuits.get(key)
        if circuit is None:
            circuit = self._circuits[key] = Circuit(self.policy)
        return circuit


def _paces_otherwise(policy: Policy) -> bool:
    return policy.pace_by != "host"


def _may_break(policy: Policy) -> bool:
    return policy.breaker_failures > 0


def _keeps_hours(policy: Policy) -> bool:
    return "visit-time" in policy.honour


QUESTIONS: Final = (
    Question("address", "is it known what shares this host's pace?", (Resolve,), Gate._address, _paces_otherwise),
    Question("robots", "is the origin's robots.txt at hand and fresh?", (FetchRobots, Wait), Gate._at_hand),
    Question("verdict", "do policy and robots.txt allow the URL?", (Refuse,), Gate._verdict),
    Question("circuit", "has the host not failed too often in a row?", (CircuitOpen,), Gate._unbroken, _may_break),
    Question("hours", "does the site receive visits now?", (Closed,), Gate._hours, _keeps_hours),
    Question("turn", "has the host's interval passed, is its last answer read?", (Wait,), Gate._turn),
)


def diagram() -> str:
    """The table as a Mermaid flow chart."""
    lines = ["flowchart TD", "    ask([ask]) --> " + QUESTIONS[0].name]
    following = [*(question.name for question in QUESTIONS[1:]), "go"]
    for question, passed in zip(QUESTIONS, following, strict=True):
        lines.append(f'    {question.name}{{"{question.asks}"}} -- yes --> {passed}')
        steps = " or ".join(step.__name__ for step in question.steps)
        lines.append(f"    {question.name} -- no --> {question.name}_step[{steps}]")
    return "\n".join([*lines, "    go([Go])"])
