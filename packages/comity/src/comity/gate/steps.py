"""The next step, as plain values, and the errors that say in words why a step lets a request not pass.

Whoever drives the gate carries a step out and reports back.
"""

from dataclasses import dataclass, field
from math import ceil, isinf
from typing import Literal, NamedTuple

from comity import errors
from comity.gate.throttle import Throttle
from comity.policy import Decision, OriginPolicy, RobotsResult
from comity.times import format_duration
from comity_pages.urls import Url

Body = Literal["read", "streamed"]


class Resolve(NamedTuple):
    """Find the IP address of this host, then call `Gate.resolved` (only where the policy paces by address)."""

    host: str


@dataclass(frozen=True, slots=True)
class FetchRobots:
    """Fetch this robots.txt now, then call `Gate.robots_arrived`. No other caller gets this step until then.

    Attributes:
        cached: the copy at hand, whose `validators` spare its transfer if it is still current (then report
            `cached.renewed(...)`); None where there is none.
        key: what shares a pace with the host of the URL.
        interval: seconds that were kept to the answer before; None where the request takes no part in the pacing.
    """

    origin: str
    url: Url
    cached: RobotsResult | None = None
    key: str = field(default="", compare=False, repr=False)
    interval: float | None = field(default=None, compare=False, repr=False)


class Wait(NamedTuple):
    """Ask again at `until` (seconds of the caller's monotonic clock), or, where that is None, after the next report
    about `key`, which names what shares one pace: the host, unless the policy says otherwise.
    """

    until: float | None
    key: str


class OutsideVisitTime(NamedTuple):
    """The site accepts no visits before `until` (Visit-time); callers should not wait for it."""

    until: float
    key: str


class CircuitOpen(NamedTuple):
    """The host failed too often in a row; nothing is sent before `until`. Then one probe decides."""

    until: float
    key: str


class Go:
    """Send the request now, then call `Gate.finished` whatever came of it.

    Attributes:
        key: what shares a pace with the URL's host.
        throttle: the throttle of `key`; only where a request will be sent.
        probe: whether the answer decides about an open circuit, so that the call must not be tried again.
        status: HTTP status of the answer, once `Gate.headers_received` was called.
        body: how the body of its answer is being read, as `Gate.headers_received` was given it; None where it is not.
    """

    __slots__ = ("_decision", "_origin_policy", "_wall", "body", "key", "probe", "status", "throttle", "url")

    throttle: Throttle

    def __init__(self, url: Url, key: str, origin_policy: OriginPolicy, wall: float) -> None:
        self.url = url
        self.key = key
        self.probe = False
        self.status: int | None = None
        self.body: Body | None = None
        self._origin_policy = origin_policy
        self._wall = wall  # Unix time at which it was permitted
        self._decision: Decision | None = None

    @property
    def decision(self) -> Decision:
        """Why it may be sent: the policy that was in force, put into words when somebody asks."""
        if self._decision is None:
            self._decision = self._origin_policy.decide(self.url, self._wall)
        return self._decision


class Refuse(NamedTuple):
    """Do not send it; the decision says why."""

    url: str
    decision: Decision


Step = Resolve | FetchRobots | Wait | OutsideVisitTime | CircuitOpen | Go | Refuse


def refusal(decision: Decision) -> errors.RobotsDisallowed:
    """Return the error that says a decision refuses a URL, naming the agent and the rule."""
    unreachable = decision.verdict == "unknown_unreachable"
    kind = errors.RobotsUnreachable if unreachable else errors.RobotsDisallowed
    return kind(
        f"{decision.url} may not be fetched by {decision.agent}: {decision.why}", url=decision.url, decision=decision
    )


def postponed(url: str, seconds: float) -> errors.Postponed:
    """Return the error for a wait that is longer than a call may take, or has no end."""
    if isinf(seconds):
        return errors.Postponed.at(url, "its host was stopped by the operator", seconds=seconds)
    return errors.Postponed(
        f"{url} cannot be requested for another {format_duration(seconds)}: its host must rest until then",
        url=url,
        seconds=seconds,
        hint=f"try again later, or raise max_wait to {ceil(seconds)}",
    )


def no_turn(url: str, waited: float, seconds: float = 0.0) -> errors.Postponed:
    """Return the error for a call that waited for other requests to its host as long as it may."""
    return errors.Postponed(
        f"{url} could not be sent within {format_duration(waited)}: other requests to its host are waiting",
        url=url,
        seconds=max(seconds, 0.0),
        hint="try again later, send fewer requests at once, or raise max_wait",
    )


def granted(url: str, step: Step, now: float) -> Go:
    """Return the Go, or the error for a step that ends a call without one.

    Raises:
        RobotsDisallowed, OutOfHours, CircuitOpen
    """
    match step:
        case Go():
            return step
        case Refuse():
            raise refusal(step.decision)
        case OutsideVisitTime():
            kind: type[errors.Postponed] = errors.OutOfHours
            why = "its site allows no visits now (Visit-time)"
        case CircuitOpen():
            kind, why = errors.CircuitOpen, "its host failed too often in a row"
        case _:
            raise AssertionError(step)
    seconds = max(step.until - now, 0.0)
    raise kind(
        f"{url} cannot be requested for another {format_duration(seconds)}: {why}",
        url=url,
        seconds=seconds,
        hint="try again later",
    )
