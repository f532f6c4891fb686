"""How a robots.txt is fetched: one request after another over its redirects, each in its own host's turn, until there
is a result. The content is not judged here, and nothing is sent: that is what a driver does for `Ask`.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from comity.errors import AddressBlocked, ComityError
from comity.gate import FetchRobots, Gate, Resolve, Wait
from comity.http_caching import combined
from comity.http_rules import REDIRECTS, is_temporary, next_hop, stay_away
from comity.net.clock import Clock
from comity.net.deadlines import timed_out
from comity.net.needs import Ask, Relay, Way
from comity.net.response import Response
from comity.net.transport import MAX_STALE_RETRIES, StaleConnection
from comity.policy import Policy, RobotsResult
from comity_pages.urls import Url

TIMEOUT = 30.0  # seconds for a robots.txt, and for each of its redirects, where no settings say otherwise


class RobotsRequest:
    """What a FetchRobots step asks for: ask `url` with `headers`, hand in the answer, until a result comes.

    It goes by RFC 9309, 2.3.1.2: the result governs the origin that was asked for, wherever the redirects lead.

    Attributes:
        url: what to ask for next.
    """

    def __init__(self, policy: Policy, step: FetchRobots) -> None:
        self.url = step.url
        self._policy = policy
        self._step = step
        self._passed: list[str] = []

    @property
    def headers(self) -> dict[str, str]:
        """Conditions that spare the transfer of a copy at hand that is still current."""
        cached = self._step.cached
        return cached.validators if cached is not None and cached.url == self.url else {}

    def answered(self, answer: Response, *, at: float) -> RobotsResult | None:
        """What came of it; None: ask `url` now. `at`: Unix time in seconds."""
        status, headers = answer.status, combined(answer.headers)
        if status == 304 and self.headers and self._step.cached is not None:
            return replace(
                self._step.cached.renewed(self._policy, headers, at),
                address=answer.address or self._step.cached.address,
            )
        problem = ""
        if status in REDIRECTS:
            location, most = headers.get("location", ""), self._policy.robots_redirects
            target, problem = next_hop(self.url, location, self._passed, most, setting="robots_redirects")
            if target is not None:
                self._passed.append(self.url)
                self.url = target
                return None
        return RobotsResult.from_response(
            self._step.origin,
            self.url,
            status,
            answer.body,
            policy=self._policy,
            fetched_at=at,
            headers=headers,
            redirects=tuple(self._passed),
            error=problem or None,
            cut=answer.truncated,
            address=answer.address,
        )

    def failed(self, error: Exception, *, at: float) -> RobotsResult:
        """There was no answer."""
        text = error.detail if isinstance(error, ComityError) else str(error)
        return RobotsResult.unreachable(
            self._step.origin,
            self.url,
            text or type(error).__name__,
            policy=self._policy,
            fetched_at=at,
            redirects=tuple(self._passed),
            blocked=isinstance(error, AddressBlocked),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverHooks:
    """What a session tells its driver, and is told and asked by it.

    Attributes:
        jitter: whether back-offs are spread at random.
        robots_timeout: seconds for a robots.txt and for each of its redirects; None: TIMEOUT.
        at_hand: completes a FetchRobots step with a copy kept from earlier; None where that copy is fresh, and in force
            already.
        relay: carries out `Relay`, on an event loop; None where all paces are kept here.
        on_robots: told of each robots.txt that is in force, as it arrives.
        on_report: told of a pace when a request that it counts was answered, or never will be.
    """

    jitter: bool = False
    robots_timeout: float | None = None
    at_hand: Callable[[FetchRobots], FetchRobots | None] | None = None
    relay: Callable[[Relay], Awaitable[Response | Exception | None]] | None = None
    on_robots: Callable[[RobotsResult], None] | None = None
    on_report: Callable[[str], None] | None = None


class RobotsFetching:
    """The way from a FetchRobots step to a robots.txt that is in force."""

    policy: Policy
    gate: Gate
    clock: Clock
    hooks: DriverHooks

    def report(self, key: str) -> None:
        """Something became known about a host."""
        raise NotImplementedError

    def _take(self, step: Resolve | FetchRobots | Wait, url: Url, limit: float) -> Way[None]:
        raise NotImplementedError

    def _limit(self) -> float:
        raise NotImplementedError

    def _fetch_robots(self, step: FetchRobots, limit: float) -> Way[None]:
        """Ask for a robots.txt over its redirects, each in its own host's turn; no answer is an answer too."""
        if self.hooks.at_hand is not None:
            fresh = self.hooks.at_hand(step)
            if fresh is None:
                self.report(step.key)
                return
            step = fresh
        request, asked, gone = RobotsRequest(self.policy, step), step, 0
        outcome: Any = None
        result: RobotsResult | None = None
        try:
            while True:
                if outcome is None:
                    outcome = yield Ask(asked, request.headers)
                wall = self.clock.wall()
                if isinstance(outcome, Response):
                    result = request.answered(outcome, at=wall)
                elif isinstance(outcome, StaleConnection) and gone < MAX_STALE_RETRIES:
                    gone += 1
                else:
                    if isinstance(outcome, TimeoutError):
                        outcome = timed_out(request.url, self.hooks.robots_timeout or TIMEOUT)
                    result = request.failed(outcome, at=wall)
                if result is not None:
                    break
                outcome = None
                if self.hooks.relay is not None:
                    # Ours is over before another's is waited for: two that wait for each other would do so for ever.
                    if (key := self.gate.robots_let_go(asked, self.clock.monotonic())) is not None:
                        self.report(key)
                    outcome = yield Relay(step.origin, request.url, request.headers)
                    if outcome is not None:
                        continue
                before = asked.key
                while not isinstance(
                    taken := self.gate.robots_redirected(step, request.url, self.clock.monotonic()), FetchRobots
                ):
                    self.report(before)
                    yield from self._take(taken, request.url, limit)
                self.report(before)
                asked = taken
            self.gate.epoch = self.clock.wall() - self.clock.monotonic()
            in_force = self.gate.robots_arrived(result, self.clock.monotonic())
        except BaseException:
            self.gate.robots_abandoned(step, self.clock.monotonic())
            raise
        finally:
            for each in {step.key, asked.key}:
                self.report(each)
        if self.hooks.on_robots is not None:
            self.hooks.on_robots(in_force)

    def relayed_robots(self, origin: str, text: str, conditions: dict[str, str]) -> Way[Response | Exception]:
        """To the answer of a host of ours, in its turn, to which an origin's robots.txt redirects that another gate
        asks for; what is sent is recorded here. An error stands for no answer.

        Raises:
            Postponed
        """
        url, limit = Url(text), self._limit()
        step = FetchRobots(origin, url)
        for _ in range(1 + MAX_STALE_RETRIES):
            while not isinstance(taken := self.gate.robots_redirected(step, url, self.clock.monotonic()), FetchRobots):
                yield from self._take(taken, url, limit)
            try:
                outcome: Response | Exception = yield Ask(taken, conditions)
            except BaseException:
                self.gate.robots_abandoned(taken, self.clock.monotonic())
                self.report(taken.key)
                raise
            good, asked_for = False, None
            if isinstance(outcome, Response):
                good = not is_temporary(outcome.status)
                asked_for = stay_away(outcome.status, combined(outcome.headers), self.clock.wall())
            self.gate.robots_let_go(taken, self.clock.monotonic(), good=good, retry_after=asked_for)
            self.report(taken.key)
            if not isinstance(outcome, StaleConnection):
                break
        return timed_out(url, self.hooks.robots_timeout or TIMEOUT) if isinstance(outcome, TimeoutError) else outcome
