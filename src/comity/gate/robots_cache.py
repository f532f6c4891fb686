"""What is known of each origin's robots.txt, how long it holds, and who is fetching it. No I/O, no clock."""

import math
from dataclasses import dataclass

from comity.policy import Policy, RobotsResult, Ruling, standing


@dataclass(slots=True)
class Known:
    """One origin. `ruling` None: never asked; `fetching`: asked, and the answer is on its way.

    `unused`: no question has been decided by this copy yet. Such a copy is used however short its life, or a site
    whose files are stale on arrival would be asked for robots.txt for ever and for nothing else.
    """

    result: RobotsResult | None = None
    ruling: Ruling | None = None
    fresh_until: float = -math.inf
    fetching: bool = False
    unused: bool = False

    def usable(self, now: float) -> bool:
        """Whether a question may be decided by this copy; a stale one serves while its successor is on its way."""
        return self.ruling is not None and (now < self.fresh_until or self.fetching or self.unused)


class RobotsCache:
    """Keyed by serialised origin, so that scheme, host and port each tell files apart."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._known: dict[str, Known] = {}

    def of(self, origin: str) -> Known:
        known = self._known.get(origin)
        if known is None:
            known = self._known[origin] = Known()
        return known

    def store(self, answer: RobotsResult, now: float) -> None:
        """Keep an answer, or while a site is unreachable its last good copy (RFC 9309, 2.3.1.4)."""
        known = self.of(answer.origin)
        result = standing(self._policy, known.result, answer)
        known.fetching = False
        known.fresh_until = now + (result.expires_at - answer.fetched_at)
        known.result = result
        known.ruling = Ruling(self._policy, result)
        known.unused = True

    def clear(self) -> None:
        self._known = {origin: known for origin, known in self._known.items() if known.fetching}
        for known in self._known.values():
            known.result = known.ruling = None

    def results(self) -> dict[str, RobotsResult]:
        return {origin: known.result for origin, known in self._known.items() if known.result is not None}
