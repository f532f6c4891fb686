"""From a URL to the permission to send its request, over whatever has to be known or waited for first.

Theory of operation. Each flow is a generator. It asks the gate, yields what it needs (an `Effect`) and is given what
came of it, until it returns a Go or a Decision, or raises the error that ends the call. It opens no connection and
waits for nothing itself: `async_driver.AsyncDriver` carries its effects out on an event loop, `blocking_driver.Driver`
in the calling thread (docs/decisions/0034-turns.md).

Who waits for a host waits in line, first come first served, and only the first is woken: a turn costs the same however
many wait. Refusals do not wait.

A robots.txt is fetched over its redirects, each in its own host's turn, until there is a result. What it says is not
judged here.
"""

import math
import os
import random
import weakref
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeVar

from comity.errors import AddressBlocked, ComityError, FetchError, Postponed, StaleConnection, check_type
from comity.gate import FetchRobots, Gate, Go, Resolve, Step, Wait
from comity.gate.machine import End
from comity.gate.steps import Body, granted, no_turn, postponed, refusal
from comity.gate.throttle import Pause
from comity.http_caching import combined
from comity.http_rules import MAX_STALE_RETRIES, REDIRECTS, is_temporary, next_hop, retry_delay
from comity.net.client_settings import MAX_WAIT, ClientSettings
from comity.net.clock import Clock
from comity.net.deadlines import timed_out
from comity.net.decoding import ACCEPTED, decoder_for
from comity.net.response import Response
from comity.policy import Decision, Policy, RobotsResult
from comity_pages import urls
from comity_pages.urls import Url
from comity_robots.fields import settings_of

if TYPE_CHECKING:
    from comity.net.request_record import RequestRecord

T = TypeVar("T")

MAX_SLEEP_SECONDS: Final = 86_400.0  # clocks of the operating system take no number of any size
MAX_ROBOTS_SECONDS = 30.0  # for a robots.txt, and for each of its redirects, where no settings say otherwise
MAX_ROBOTS_BYTES: Final = 1024 * 1024  # of a robots.txt that a wrapped library gets (RFC 9309, 2.5: at least 500 KiB)
MAX_ROBOTS_RATIO: Final = 1000.0  # decoded bytes of it for one received; MAX_ROBOTS_BYTES is the limit that counts
REUSABLE_SCHEMES: Final = ("basic ", "bearer ", "license ")
"""Schemes whose credentials hold for more than one URL (RFC 7617, RFC 6750, RSL)."""
NO_HEADERS: Final[Mapping[str, str]] = {}
NO_ANSWER: Final = (FetchError, AddressBlocked, TimeoutError)


class Sleep(NamedTuple):
    """Wait so many seconds."""

    seconds: float


class WaitForEvent(NamedTuple):
    """Wait until the token is woken (`TurnProtocol.wake`), at most so many seconds; give whether it was."""

    token: Hashable
    seconds: float | None


class RequestRobots(NamedTuple):
    """Send the request for a robots.txt, with conditions as headers, and follow no redirect; give the answer, or the
    error (NO_ANSWER) that came instead.
    """

    step: FetchRobots
    conditions: dict[str, str]


class ResolveHost(NamedTuple):
    """Find an address of a host; give the host itself where there is none."""

    host: str


class Relay(NamedTuple):
    """Have the process that keeps the pace of the URL's host ask it for a robots.txt that redirects there; give what
    `RequestRobots` gives, or None where this process keeps it.
    """

    origin: str
    url: str
    conditions: dict[str, str]


Effect = Sleep | WaitForEvent | RequestRobots | ResolveHost | Relay
Flow = Generator[Effect, Any, T]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """Callbacks to the owner of a session, or of a driver.

    Attributes:
        on_robots: called with each robots.txt that is in force, as it arrives.
        on_request: called with each request when it is over.
        on_report: called with a pace when a request that it counts was answered, or never will be.
        may_send: asked right before each request goes out, over a connection that is there; where it says no, nothing
            is sent. For who holds its hosts for a time only.
        relay: carries out `Relay`, on an event loop; None where all paces are kept here.
        address_of: says what a host shares its pace by, given what looks its address up.
        cached_robots: completes a FetchRobots step with a copy kept from earlier; gives None where that copy is fresh,
            and in force already.
    """

    on_robots: Callable[[RobotsResult], None] | None = None
    on_request: "Callable[[RequestRecord], None] | None" = None
    on_report: Callable[[str], None] | None = None
    may_send: Callable[[], bool] | None = None
    relay: Callable[[Relay], Awaitable[Response | Exception | None]] | None = None
    address_of: Callable[[Callable[[str], Awaitable[str]], str], Awaitable[str]] | None = None
    cached_robots: Callable[[FetchRobots], FetchRobots | None] | None = None


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
        """Return what came of it; None: ask `url` now. `at`: Unix time in seconds."""
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
            truncated=answer.truncated,
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


class TurnProtocol:
    """What both drivers do: they ask the gate, and know how long a call may wait for its turn.

    Args:
        policy: what may be done.
        max_wait: seconds that a call waits for its turn; None: for ever.
        clock: for tests.
        pace_with: another, on the same event loop, with which it keeps one pace to each host.
        jitter: whether back-offs are spread at random.
        robots_timeout: seconds for a robots.txt and for each of its redirects; None: MAX_ROBOTS_SECONDS.

    Raises:
        InvalidSetting
    """

    def __init__(
        self,
        policy: Policy | None = None,
        max_wait: float | None = MAX_WAIT,
        clock: Clock | None = None,
        pace_with: "TurnProtocol | None" = None,
        hooks: Hooks | None = None,
        *,
        jitter: bool = False,
        robots_timeout: float | None = None,
    ) -> None:
        check_type("policy", policy, Policy)
        self.policy = policy or Policy()
        self.max_wait: float | None = settings_of(ClientSettings)["max_wait"].checked(max_wait)
        self.clock = clock or Clock()
        self.hooks = hooks or Hooks()
        self._uses_jitter = jitter
        self._robots_timeout = robots_timeout
        self._begin(pace_with)
        _ALL.add(self)

    def _begin(self, other: "TurnProtocol | None" = None) -> None:
        """Begin with nothing known and nothing under way, but what is of another with which it keeps one pace."""
        throttles = None if other is None else other.gate.throttles
        self.gate: Gate = Gate(self.policy, epoch=self.clock.wall() - self.clock.monotonic(), throttles=throttles)
        # By pace: who waits, each a token.
        self._lines: dict[str, deque[object]] = {} if other is None else other._lines
        # What callers wait for, by token.
        self._events: dict[Hashable, Any] = {} if other is None else other._events
        # All that keep one pace, where these are several.
        self._sharing: weakref.WeakSet[TurnProtocol] | None = None
        if other is not None:
            self._sharing = other._sharing = other._sharing or weakref.WeakSet((other,))
            self._sharing.add(self)

    def _forked(self) -> None:
        """In a forked process what was under way in its parent never ends. Hosts are left alone as long as there."""
        before, now, wall = self.gate, self.clock.monotonic(), self.clock.wall()
        self._begin()
        for result in before.robots.results().values():
            self.gate.robots.store(result, now, age=max(wall - result.fetched_at, 0.0))
        throttles = before.throttles
        self.gate.throttles.restore_delays(throttles.delays(now), now, intervals=throttles.intervals())

    def __copy__(self) -> Self:
        """Copies of a session are to keep one pace together."""
        return self

    def __deepcopy__(self, _: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process begins with a new gate."""
        return type(self), (self.policy, self.max_wait)

    # Questions that need nothing

    def known(self, url: str) -> Decision | None:
        """Return the decision about a URL in normal form, if the robots.txt at hand suffices for it."""
        now = self.clock.monotonic()
        origin_policy = self.gate.origin_policy(url, now)
        return None if origin_policy is None else origin_policy.decide(url, now + self.gate.epoch)

    def ready_at(self, host: str) -> float:
        """Return when a host may be asked next, as far as is known now; infinite where the operator stopped it."""
        if self.gate.stopped and host in self.gate.stopped:
            return math.inf
        return self.gate.throttles.ready_at(self.gate.pace_of(host) or host)

    def pause(self, host: str) -> Pause:
        """Return how long a host is left alone and why; times are the clock's monotonic time."""
        return self.gate.pause(host, self.clock.monotonic())

    # Reports

    def headers_received(
        self, go: Go, status: int, headers: Mapping[str, str] = NO_HEADERS, *, body: Body | None = None
    ) -> None:
        """The head of the answer arrived.

        Args:
            headers: in lower case, or whatever the case of a name is asked for in.
            body: see `Gate.headers_received`.
        """
        later, jitter = None, 1.0  # what is left of a back-off after a good answer is waited for in full
        if is_temporary(status):
            later, jitter = retry_delay(status, headers, self.clock.wall()), self._jitter()
        self.gate.headers_received(go, self.clock.monotonic(), status, retry_after=later, jitter=jitter, body=body)
        if body != "read":  # while a body is read no turn is given
            self.report(go.key)

    def finished(self, go: Go, end: End = "done", *, may_repeat: bool = False) -> bool:
        """End a request; see `Gate.finished`. Return whether to try again, where the call `may_repeat`."""
        limit = self._limit() if may_repeat else None
        jitter = 1.0 if end == "done" else self._jitter()
        again = self.gate.finished(go, self.clock.monotonic(), end, jitter=jitter, again_until=limit)
        self.report(go.key)
        return again

    @property
    def robots_timeout(self) -> float:
        """Seconds for a robots.txt, and for each of its redirects."""
        return self._robots_timeout or MAX_ROBOTS_SECONDS

    def _jitter(self) -> float:
        return random.random() if self._uses_jitter else 1.0

    def report(self, key: str) -> None:
        """Something became known about a host: who waits for that asks again."""
        if self._events:
            self.wake(key)
        for each in self._sharing or (self,):
            if each.hooks.on_report is not None:
                each.hooks.on_report(key)

    def wake(self, token: Hashable) -> None:
        """Wake who waits for the token."""
        event = self._events.pop(token, None)
        if event is not None:
            event.set()

    # Flows

    def decision_on(self, url: Url) -> Flow[Decision]:
        """To the decision about a URL; robots.txt is fetched if need be. Raises Postponed."""
        limit = self._limit()
        while not isinstance(step := self.gate.consult(url, self.clock.monotonic()), Decision):
            yield from self._take(step, url, limit)
        return step

    def first_step(self, url: Url) -> Step | None:
        """Return the gate's first word on a URL; None where others wait for its host already."""
        if self._lines and self._key(url) in self._lines:
            return None
        return self.gate.ask(url, self.clock.monotonic())

    def permission_for(self, url: Url, step: Step | None) -> Flow[Go]:
        """To a Go for a URL, when its turn has come.

        Args:
            step: its `first_step`.

        Raises:
            RobotsDisallowed, Postponed
        """
        limit = self._limit()
        if step is not None:
            while isinstance(step, FetchRobots | Resolve):
                yield from self._take(step, url, limit)
                step = self.gate.ask(url, self.clock.monotonic())
            if not isinstance(step, Wait):
                return granted(url, step, self.clock.monotonic())
        else:
            known = self.known(url)
            if known is not None and not known.may_fetch:
                raise refusal(known)
        key, place = self._key(url), object()
        self._pause(url, self.gate.throttles.ready_at(key), limit)
        line = self._lines.setdefault(key, deque())
        line.append(place)
        try:
            while line[0] is not place:
                yield from self._wait_for_event(place, url, limit)
            while True:
                step = self.gate.ask(url, self.clock.monotonic())
                if not isinstance(step, FetchRobots | Resolve | Wait):
                    return granted(url, step, self.clock.monotonic())
                yield from self._take(step, url, limit)
        finally:
            self._events.pop(place, None)
            line.remove(place)
            if line:
                self.wake(line[0])
            else:
                del self._lines[key]

    def _take(self, step: Resolve | FetchRobots | Wait, url: Url, limit: float) -> Flow[None]:
        match step:
            case FetchRobots():
                yield from self._fetch_robots(step, limit)
            case Resolve():
                self.gate.resolved(step.host, (yield ResolveHost(step.host)))
            case Wait(None, key):
                self._pause(url, None, limit)
                yield from self._wait_for_event(key, url, limit)
            case Wait():
                yield Sleep(self._pause(url, step.until, limit))

    def _wait_for_event(self, token: Hashable, url: Url, limit: float) -> Flow[None]:
        seconds = None if limit == math.inf else max(limit - self.clock.monotonic(), 0.0)
        if (
            not (yield WaitForEvent(token, seconds and min(seconds, MAX_SLEEP_SECONDS)))
            and (seconds or 0.0) <= MAX_SLEEP_SECONDS
        ):
            raise self._queue_timeout(url)

    # The way to a robots.txt

    def _fetch_robots(self, step: FetchRobots, limit: float) -> Flow[None]:
        """Ask for a robots.txt over its redirects, each in its own host's turn; no answer is an answer too."""
        if self.hooks.cached_robots is not None:
            fresh = self.hooks.cached_robots(step)
            if fresh is None:
                self.report(step.key)
                return
            step = fresh
        request, asked, stale = RobotsRequest(self.policy, step), step, 0
        outcome: Any = None
        result: RobotsResult | None = None
        try:
            while True:
                if outcome is None:
                    outcome = yield RequestRobots(asked, request.headers)
                wall = self.clock.wall()
                if isinstance(outcome, Response):
                    result = request.answered(outcome, at=wall)
                elif isinstance(outcome, StaleConnection) and stale < MAX_STALE_RETRIES:
                    stale += 1
                else:
                    if isinstance(outcome, TimeoutError):
                        outcome = timed_out(request.url, self.robots_timeout)
                    result = request.failed(outcome, at=wall)
                if result is not None:
                    break
                outcome = None
                if self.hooks.relay is not None:
                    # Ours is over before another's is waited for: two that wait for each other would do so for ever.
                    if (key := self.gate.release_robots_turn(asked, self.clock.monotonic())) is not None:
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

    def relayed_robots(self, origin: str, text: str, conditions: dict[str, str]) -> Flow[Response | Exception]:
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
                outcome: Response | Exception = yield RequestRobots(taken, conditions)
            except BaseException:
                self.gate.robots_abandoned(taken, self.clock.monotonic())
                self.report(taken.key)
                raise
            good, asked_for = False, None
            if isinstance(outcome, Response):
                good = not is_temporary(outcome.status)
                asked_for = retry_delay(outcome.status, combined(outcome.headers), self.clock.wall())
            self.gate.release_robots_turn(taken, self.clock.monotonic(), good=good, retry_after=asked_for)
            self.report(taken.key)
            if not isinstance(outcome, StaleConnection):
                break
        return timed_out(url, self.robots_timeout) if isinstance(outcome, TimeoutError) else outcome

    # How long a call may wait

    def _key(self, url: Url) -> str:
        return self.gate.pace_of(url.host) or url.host

    def _limit(self) -> float:
        """Until when a call that begins now may wait."""
        return math.inf if self.max_wait is None else self.clock.monotonic() + self.max_wait

    def _pause(self, url: Url, until: float | None, limit: float) -> float:
        """Return seconds to wait before the gate is asked again, or a report comes.

        Raises:
            Postponed: the turn comes, or may come, after the limit.
        """
        now = self.clock.monotonic()
        if until is not None and (until > limit or until == math.inf):
            raise postponed(url, until - now)
        if until is None and now >= limit:
            raise self._queue_timeout(url)
        return min(max((limit if until is None else until) - now, 0.0), MAX_SLEEP_SECONDS)

    def _queue_timeout(self, url: Url) -> Postponed:
        ready = self.gate.throttles.ready_at(self._key(url))
        return no_turn(url, self.max_wait or 0.0, ready - self.clock.monotonic())


def robots_request_headers(
    policy: Policy, url: Url, conditions: Mapping[str, str], cause: str, authorization: str | None
) -> dict[str, str]:
    """Return the headers of a wrapped library's request for a robots.txt: only codings that are undone here, within
    bounds.

    Args:
        cause, authorization: URL and Authorization of the request that needs it. What opens the page opens the
            robots.txt of its origin too; no other origin gets it, and no other header goes with it.
    """
    headers = {"User-Agent": policy.agent, "Accept": "*/*", "Accept-Encoding": ACCEPTED, **conditions}
    if authorization and authorization.lower().startswith(REUSABLE_SCHEMES) and url.origin == urls.origin(cause):
        headers["Authorization"] = authorization
    return headers


@contextmanager
def no_answer(url: str, *errors: type[Exception]) -> Iterator[None]:
    """In the block, these errors of a wrapped library mean that no answer came."""
    try:
        yield
    except errors as error:
        raise FetchError(str(error) or type(error).__name__, url=url) from error


class RobotsBody:
    """The start of a robots.txt as it comes in through a wrapped library; RFC 9309, 2.5, lets the rest be ignored.

    Args:
        headers: of the answer, names in any case.

    Raises:
        FetchError: it is in a content coding that was not asked for, or damaged.
    """

    def __init__(self, url: str, status: int, headers: Mapping[str, str]) -> None:
        codings = [value for name, value in headers.items() if name.lower() == "content-encoding"]
        read = 200 <= status < 300  # no other body is looked at
        self._decoder = decoder_for(codings, url, MAX_ROBOTS_RATIO) if read else None
        self._content = bytearray()
        self._received = 0

    @property
    def is_full(self) -> bool:
        """Whether as much was read as is wanted."""
        return max(self._received, len(self._content)) >= MAX_ROBOTS_BYTES

    def take(self, part: bytes) -> None:
        """A part of it, as it was sent."""
        self._received += len(part)
        room = MAX_ROBOTS_BYTES - len(self._content)
        self._content += part[:room] if self._decoder is None else b"".join(self._decoder.feed(part, room))[:room]

    def end(self) -> bytes:
        """Return what was read: all that is wanted has come."""
        if self._decoder is not None and not self.is_full:
            self._decoder.close()
        return bytes(self._content)


_ALL: Final[weakref.WeakSet[TurnProtocol]] = weakref.WeakSet()


def reset_in_forks(those: Iterable[Any]) -> None:
    """Have each of those that there are then know that this is a child process, where processes fork."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: [each._forked() for each in those])


reset_in_forks(_ALL)
