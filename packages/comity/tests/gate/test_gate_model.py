"""The gate proved, not hoped: thousands of interleavings of callers, failures, restarts and jumps of the clock.

A driver that behaves as clients do asks the gate, carries out some of the steps, fails some, loses some, and restarts.
After each step the model checks: no two requests to one host closer than its interval, none to a disallowed URL, one
fetch of robots.txt per origin at a time, nothing through an open circuit or outside visiting hours. At the end every
caller that is left is served: no deadlock, always progress.
"""

import math
import os
from collections import defaultdict
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from comity.gate import CircuitOpen, FetchRobots, Gate, Go, OutsideVisitTime, Refuse, Resolve, Wait
from comity.policy import Policy, RobotsResult
from comity_pages import urls

DAY = 86_400.0
EPSILON = 1e-6
HOSTS = ("a.example", "b.example", "www.b.example", "c.example:8080")
PATHS = ("/", "/open", "/private/x", "/robots.txt")
FILES = {
    "nothing": b"",
    "private": b"User-agent: *\nDisallow: /private/\n",
    "slow": b"User-agent: *\nDisallow: /private/\nCrawl-delay: 7\n",
    "rate": b"User-agent: *\nRequest-rate: 1/30\n",
    "hours": b"User-agent: *\nVisit-time: 0600-0845\nDisallow: /private/\n",
    "closed": b"User-agent: *\nDisallow: /\n",
    "hopeless": b"User-agent: *\nCrawl-delay: 100000\n",
}
DELAYS = {"slow": 7.0, "rate": 30.0, "hopeless": 100_000.0}
ADDRESSES = {"a.example": "192.0.2.1", "b.example": "192.0.2.1", "www.b.example": "192.0.2.2", "c.example": "192.0.2.3"}
POLICIES = (
    Policy(),
    Policy(min_interval=0.0, backoff=0.0),
    Policy(min_interval=2.5, robots_fetch_counts=False, cache_life=60.0),
    Policy(min_interval=1.0, pace_by="domain", cache_life=0.0, failure_life=0.0),
    Policy(min_interval=1.0, pace_by="address", adaptive=2.0),
    Policy(min_interval=0.5, breaker_failures=2, breaker_recovery=20.0, max_crawl_delay=60.0),
    Policy(min_interval=0.0, mode="ignore", breaker_failures=3),
    Policy(mode="report_only", min_interval=0.2),
    Policy.preset("google", min_interval=0.3),
)
COUNTS = {"examples": 0, "steps": 0, "requests": 0, "refusals": 0, "robots": 0, "restarts": 0}


@dataclass
class Host:
    """What the host's own server could say about us."""

    arrivals: list[tuple[float, float]] = field(default_factory=list)  # when a request came, the interval due before it
    last_head: float = -math.inf
    under_way: int = 0


class Callers(RuleBasedStateMachine):
    """Callers with URLs, a network that may fail, and the gate between them."""

    def __init__(self) -> None:
        super().__init__()
        COUNTS["examples"] += 1
        self.now = 1000.0
        self.policy = POLICIES[0]
        self.gate = Gate(self.policy, epoch=0.0)
        self.waiting: list[str] = []
        self.sent: list[Go] = []
        self.reading: list[Go] = []
        self.robots_asked: dict[str, FetchRobots] = {}
        self.files: dict[str, str] = {}  # origin -> the file that the gate was last given, or "unreachable"
        self.hosts: dict[str, Host] = defaultdict(Host)
        self.failures: dict[str, int] = defaultdict(int)
        self.open_until: dict[str, float] = {}
        self.probing: set[str] = set()

    # What the world does

    @rule(policy=st.sampled_from(POLICIES))
    @precondition(lambda self: not self.sent and not self.waiting and not self.hosts)
    def choose_policy(self, policy: Policy) -> None:
        self.policy = policy
        self.gate = Gate(policy, epoch=0.0)

    @rule(host=st.sampled_from(HOSTS), path=st.sampled_from(PATHS))
    def a_caller_comes(self, host: str, path: str) -> None:
        if len(self.waiting) < 12:
            self.waiting.append(f"http://{host}{path}")

    @rule(number=st.integers(0, 11))
    @precondition(lambda self: self.waiting)
    def a_caller_asks(self, number: int) -> None:
        self._ask(self.waiting[number % len(self.waiting)])

    @rule(seconds=st.one_of(st.floats(0.0, 3.0), st.floats(0.0, 100.0), st.sampled_from((3_600.0, DAY, 2 * DAY))))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(seconds=st.floats(-DAY, DAY))
    def the_wall_clock_jumps(self, seconds: float) -> None:
        self.gate.epoch += seconds

    @rule(
        number=st.integers(0, 20),
        status=st.sampled_from((200, 200, 200, 404, 429, 500, 503, None)),
        wish=st.none() | st.floats(0, 90),
        body=st.booleans(),
    )
    @precondition(lambda self: self.sent)
    def an_answer_comes(self, number: int, status: int | None, wish: float | None, body: bool) -> None:
        self._answer(self.sent[number % len(self.sent)], status, wish, body=body and status is not None)

    @rule(number=st.integers(0, 20))
    @precondition(lambda self: self.reading)
    def a_body_ends(self, number: int) -> None:
        self._over(self.reading.pop(number % len(self.reading)))

    @rule(number=st.integers(0, 20), sent=st.booleans())
    @precondition(lambda self: self.sent)
    def a_caller_is_cancelled(self, number: int, sent: bool) -> None:
        go = self.sent.pop(number % len(self.sent))
        host = self.hosts[go.key]
        host.under_way -= 1
        self.probing.discard(go.key)
        if sent:
            host.last_head = self.now
            self.gate.finished(go, self.now, "abandoned")
        else:
            host.arrivals.pop()
            self.gate.finished(go, self.now, "withdrawn")

    @rule(number=st.integers(0, 3), file=st.sampled_from((*FILES, "unreachable", "missing")))
    @precondition(lambda self: self.robots_asked)
    def a_robots_txt_comes(self, number: int, file: str) -> None:
        self._robots(list(self.robots_asked)[number % len(self.robots_asked)], file)

    @rule(number=st.integers(0, 3))
    @precondition(lambda self: self.robots_asked)
    def a_robots_fetch_is_cancelled(self, number: int) -> None:
        step = self.robots_asked.pop(list(self.robots_asked)[number % len(self.robots_asked)])
        self._robots_over(step)
        self.gate.robots_abandoned(step, self.now)

    @rule(gap=st.floats(0.0, 50.0))
    def the_program_restarts(self, gap: float) -> None:
        """All that was on its way is lost; how long hosts are to be left alone was written down."""
        COUNTS["restarts"] += 1
        waits, stopped = self.gate.throttles.delays(self.now), self.now
        for go in self.sent:
            self.hosts[go.key].last_head = self.now
        for host in self.hosts.values():
            host.under_way = 0
        self.sent.clear()
        self.reading.clear()
        self.robots_asked.clear()
        self.files.clear()
        self.failures.clear()
        self.open_until.clear()
        self.probing.clear()
        self.now += gap
        self.gate = Gate(self.policy, epoch=self.gate.epoch)
        self.gate.throttles.restore_delays(
            {key: seconds - (self.now - stopped) for key, seconds in waits.items()}, self.now
        )

    @rule()
    def all_is_forgotten(self) -> None:
        self.gate.robots.clear()
        for origin in list(self.files):
            if origin not in self.robots_asked:
                del self.files[origin]

    @rule()
    def hosts_that_are_idle_are_forgotten(self) -> None:
        self.gate.sweep(self.now)

    # What must hold

    @invariant()
    def every_host_was_left_alone_for_its_interval(self) -> None:
        for host in self.hosts.values():
            for arrival, earliest in host.arrivals[-3:]:
                assert arrival >= earliest - EPSILON

    def teardown(self) -> None:
        """Always progress: with a network that works again, everybody is served in bounded time and steps."""
        for _ in range(600):
            for origin in list(self.robots_asked):
                self._robots(origin, "private")
            for go in list(self.sent):
                self._answer(go, 200, None)
            while self.reading:
                self._over(self.reading.pop())
            if not self.waiting:
                return
            before = len(self.waiting), len(self.robots_asked), len(self.sent)
            soonest = min((self._ask(url) for url in list(self.waiting)), default=self.now)
            if (len(self.waiting), len(self.robots_asked), len(self.sent)) == before:
                assert math.isfinite(soonest), "everybody waits for nothing"
                self.now = max(self.now, soonest)
        raise AssertionError(f"{self.waiting} were never served")

    # How a driver behaves

    def _ask(self, url: str) -> float:
        """Ask once and carry out what can be; gives the time at which asking again makes sense."""
        COUNTS["steps"] += 1
        step = self.gate.ask(url, self.now)
        event(type(step).__name__)
        origin, host = urls.origin(url), urls.host(url)
        match step:
            case Resolve():
                assert self.policy.pace_by == "address"
                self.gate.resolved(host, ADDRESSES[host])
                return self.now
            case FetchRobots():
                assert self.policy.mode != "ignore"
                assert origin not in self.robots_asked, "one fetch at a time per origin"
                self.robots_asked[origin] = step
                COUNTS["robots"] += 1
                if self.policy.robots_fetch_counts:
                    self._arrival(self._key(host), 0.0)
                return self.now
            case Wait(until=None):
                assert self.sent or self.robots_asked or self.reading, "waits for a report that nobody owes"
                return math.inf
            case Wait(until=until) | OutsideVisitTime(until=until) | CircuitOpen(until=until):
                assert until is not None
                assert until > self.now
                if isinstance(step, OutsideVisitTime):
                    assert self.files[origin] == "hours"
                return until
            case Refuse(decision=decision):
                assert not decision.may_fetch
                COUNTS["refusals"] += 1
                self.waiting.remove(url)
                return self.now
            case Go():
                self._go(step, url, origin)
                return self.now

    def _go(self, go: Go, url: str, origin: str) -> None:
        self.waiting.remove(url)
        self.sent.append(go)
        COUNTS["requests"] += 1
        file = self.files.get(origin)
        assert go.decision.may_fetch
        if self.policy.mode != "ignore":
            assert file is not None, "robots.txt comes first"
        if self.policy.mode == "respect" and not url.endswith("/robots.txt"):
            assert file not in ("closed", "unreachable")
            assert file == "nothing" or file in ("missing", "rate", "hopeless") or "/private/" not in url
            assert not (file == "hopeless" and self.policy.max_crawl_delay is not None)
        if file == "hours" and "visit-time" in self.policy.honour:
            minute = (self.now + self.gate.epoch) % DAY / 60
            assert 6 * 60 - EPSILON <= minute < 8 * 60 + 46 + EPSILON
        if self.policy.breaker_failures:
            assert self.now >= self.open_until.get(go.key, -math.inf), "the circuit is open"
            assert go.key not in self.probing, "one probe at a time"
            if go.key in self.open_until:
                self.probing.add(go.key)
        asked = DELAYS.get(file or "", 0.0) if self.policy.honour else 0.0
        self._arrival(go.key, max(self.policy.min_interval, asked if self.policy.mode != "ignore" else 0.0))

    def _arrival(self, key: str, interval: float) -> None:
        host = self.hosts[key]
        if interval > 0:
            assert host.under_way == 0, "one request at a time where there is an interval"
            assert key not in [go.key for go in self.reading], "one body at a time, too"
        least = max(self.policy.min_interval, interval)
        host.arrivals.append((self.now, host.last_head + least))
        host.under_way += 1

    def _answer(self, go: Go, status: int | None, wish: float | None, *, body: bool = False) -> None:
        self.sent.remove(go)
        host = self.hosts[go.key]
        host.under_way -= 1
        host.last_head = self.now
        if status is not None:
            self.gate.headers_received(go, self.now, status, retry_after=wish, body="read" if body else None)
        if body:
            self.reading.append(go)
        else:
            self._over(go)
        if status in (429, 503) and wish is not None:
            assert self.gate.throttles.ready_at(go.key) >= self.now + min(wish, self.policy.max_retry_after) - EPSILON

    def _key(self, host: str) -> str:
        return self.gate.pace_of(host) or host

    def _over(self, go: Go) -> None:
        good = go.status is not None and go.status < 500
        self.gate.finished(go, self.now)
        self.probing.discard(go.key)
        self.failures[go.key] = 0 if good else self.failures[go.key] + 1
        if good:
            self.open_until.pop(go.key, None)
        elif self.failures[go.key] >= self.policy.breaker_failures > 0:
            self.open_until[go.key] = self.now + self.policy.breaker_recovery

    def _robots(self, origin: str, file: str) -> None:
        step = self.robots_asked.pop(origin)
        self._robots_over(step)
        wall = self.now + self.gate.epoch
        if file == "unreachable":
            result = RobotsResult.unreachable(origin, step.url, "down", policy=self.policy, fetched_at=wall)
        else:
            status = 404 if file == "missing" else 200
            body = FILES.get(file, b"")
            result = RobotsResult.from_response(origin, step.url, status, body, policy=self.policy, fetched_at=wall)
        in_force = self.gate.robots_arrived(result, self.now)
        if file != "unreachable":
            self.files[origin] = file
        elif not in_force.stale:
            lasted = wall - (in_force.unreachable_since or wall)
            life = self.policy.unreachable_life
            self.files[origin] = "missing" if life is not None and lasted >= life else "unreachable"

    def _robots_over(self, step: FetchRobots) -> None:
        if self.policy.robots_fetch_counts:
            host = self.hosts[self._key(urls.host(step.url))]
            host.under_way -= 1
            host.last_head = self.now


@pytest.mark.parametrize("examples", [100, pytest.param(1000, marks=pytest.mark.long)])
def test_whatever_callers_do_the_gate_keeps_to_the_rules_and_serves_them_all(examples: int) -> None:
    COUNTS.update(dict.fromkeys(COUNTS, 0))
    tried = settings(
        max_examples=int(os.environ.get("COMITY_MODEL_EXAMPLES", examples)),
        stateful_step_count=60,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    run_state_machine_as_test(Callers, settings=tried)
    print(f"\ngate model: {COUNTS}")
    assert COUNTS["requests"] > examples
    assert COUNTS["refusals"] > examples / 8
    assert COUNTS["restarts"] > examples / 8
