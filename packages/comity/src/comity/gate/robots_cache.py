"""What is known of each origin's robots.txt. Sans-I/O."""

import math
from dataclasses import dataclass
from typing import Final

from comity.policy import OriginPolicy, Policy, RobotsResult, stale_if_error
from comity.policy.presets import DAY

MAX_CACHE_BYTES: Final = 256 * 1024 * 1024  # of robots.txt files kept
MAX_ORIGINS: Final = 100_000
ORIGIN_OVERHEAD_BYTES: Final = 2048  # bytes that an origin costs besides its file


@dataclass(slots=True)
class CachedRobots:
    """One origin. `origin_policy` None: never asked; `fetching`: asked, and the answer is on its way.

    `unused`: no question has been decided by this copy yet. Such a copy is used however short its life, for a day at
    most, or a site whose files are stale on arrival would be asked for robots.txt for ever and for nothing else.
    """

    result: RobotsResult | None = None
    origin_policy: OriginPolicy | None = None
    fresh_until: float = -math.inf
    arrived_at: float = -math.inf
    fetching: bool = False
    unused: bool = False

    def usable(self, now: float) -> OriginPolicy | None:
        """Return what a question may be decided by; a stale copy serves while its successor is on its way."""
        usable = now < self.fresh_until or ((self.fetching or self.unused) and now < self.arrived_at + DAY)
        return self.origin_policy if usable else None


class RobotsCache:
    """What is known of each origin's robots.txt, how long it holds, and who is fetching it.

    Keyed by serialised origin, so that scheme, host and port each tell files apart. Bounded: what was stored longest
    ago is forgotten first, and asked for again when it is needed.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._known: dict[str, CachedRobots] = {}
        self._bytes = 0

    def find(self, origin: str) -> CachedRobots | None:
        return self._known.get(origin)

    def get_or_create(self, origin: str) -> CachedRobots:
        known = self._known.get(origin)
        if known is None:
            known = self._known[origin] = CachedRobots()
        return known

    def store(self, answer: RobotsResult, now: float, *, age: float = 0.0) -> RobotsResult:
        """Keep an answer, or while a site is unreachable its last good copy (RFC 9309, 2.3.1.4).

        Args:
            age: seconds since it was fetched.

        Returns:
            What is in force from now on.
        """
        known = self._known.pop(answer.origin, None) or CachedRobots()
        self._bytes -= _cost(known)
        result = stale_if_error(self._policy, known.result, answer)
        known.fetching = False
        known.arrived_at = now - age
        known.fresh_until = now + (result.expires_at - answer.fetched_at) - age
        known.result = result
        known.origin_policy = OriginPolicy(self._policy, result)
        known.unused = True
        self._known[answer.origin] = known
        self._bytes += _cost(known)
        self._make_room()
        return result

    def keep_stale(self, result: RobotsResult) -> None:
        """Keep a copy that decides nothing by itself."""
        known = self.get_or_create(result.origin)
        self._bytes -= _cost(known)
        known.result = result
        self._bytes += _cost(known)
        self._make_room()

    def clear(self) -> None:
        """Forget every robots.txt; what is on its way is still awaited."""
        self._known = {origin: known for origin, known in self._known.items() if known.fetching}
        self._bytes = 0
        for known in self._known.values():
            known.result = known.origin_policy = None

    def results(self) -> dict[str, RobotsResult]:
        """Return what was learned, origin by origin."""
        return {origin: known.result for origin, known in dict(self._known).items() if known.result is not None}

    def _make_room(self) -> None:
        while len(self._known) > MAX_ORIGINS or self._bytes > MAX_CACHE_BYTES:
            oldest = next((origin for origin, known in self._known.items() if not known.fetching), None)
            if oldest is None or len(self._known) == 1:
                return
            self._bytes -= _cost(self._known.pop(oldest))


def _cost(known: CachedRobots) -> int:
    return ORIGIN_OVERHEAD_BYTES + 2 * len(known.result.body) if known.result is not None else 0
