"""The next step, as plain values. Whoever drives the gate carries one out and reports back."""

from dataclasses import dataclass, field
from typing import Literal

from comity.policy import Decision, RobotsResult, Ruling

Body = Literal["read", "streamed"]


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
        key: what shares a pace with the origin's host.
        interval: seconds that were kept to the answer before; None where the request takes no part in the pacing.
    """

    origin: str
    url: str
    cached: RobotsResult | None = None
    key: str = field(default="", compare=False, repr=False)
    interval: float | None = field(default=None, compare=False, repr=False)


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


class Go:
    """Send the request now, then call `Gate.answered` whatever came of it.

    Attributes:
        key: what shares a pace with the URL's host.
        body: how the body of its answer is being read, as `Gate.answered` was told; None where it is not.
    """

    __slots__ = ("_decision", "_ruling", "_wall", "body", "key", "url")

    def __init__(self, url: str, key: str, ruling: Ruling, wall: float) -> None:
        self.url = url
        self.key = key
        self.body: Body | None = None
        self._ruling = ruling
        self._wall = wall  # Unix time at which it was permitted
        self._decision: Decision | None = None

    @property
    def decision(self) -> Decision:
        """Why it may be sent: the ruling that was in force, put into words when somebody asks."""
        if self._decision is None:
            self._decision = self._ruling.decide(self.url, self._wall)
        return self._decision


@dataclass(frozen=True, slots=True)
class Refuse:
    """Do not send it; the decision says why."""

    url: str
    decision: Decision


Step = Resolve | FetchRobots | Wait | Closed | CircuitOpen | Go | Refuse
