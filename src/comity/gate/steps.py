"""The next step, as plain values. Whoever drives the gate carries one out and reports back."""

from dataclasses import dataclass

from comity.policy import Decision, RobotsResult


@dataclass(frozen=True, slots=True)
class Resolve:
    """Find the IP address of this host, then call `Gate.resolved` (only where the policy paces by address)."""

    host: str


@dataclass(frozen=True, slots=True)
class FetchRobots:
    """Fetch this robots.txt now, then call `Gate.robots_arrived`. Nobody else is told to meanwhile.

    Attributes:
        cached: the copy at hand, whose `validators` spare its transfer if it is still current (then report
            `cached.renewed(...)`); None where there is none.
    """

    origin: str
    url: str
    cached: RobotsResult | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """Ask again at `until` (seconds of the caller's monotonic clock), or, where that is None, after the next report
    about `key`, which names what shares one pace: the host, unless the policy says otherwise.
    """

    until: float | None
    key: str


@dataclass(frozen=True, slots=True)
class Closed:
    """The site receives no visits before `until` (Visit-time): nothing a caller should stand and wait for."""

    until: float
    key: str


@dataclass(frozen=True, slots=True)
class CircuitOpen:
    """The host failed too often in a row; nothing is sent before `until`. Then one probe decides."""

    until: float
    key: str


@dataclass(frozen=True, slots=True)
class Go:
    """Send the request now, then call `Gate.answered` whatever came of it."""

    url: str
    key: str
    decision: Decision


@dataclass(frozen=True, slots=True)
class Refuse:
    """Do not send it; the decision says why."""

    url: str
    decision: Decision


Step = Resolve | FetchRobots | Wait | Closed | CircuitOpen | Go | Refuse
