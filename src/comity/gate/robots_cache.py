"""What is known of each origin's robots.txt, how long it holds, and who is fetching it. No I/O, no clock."""

import math
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from comity import urls
from comity.policy import Policy, RobotsResult
from comity.policy.settings import DAY

SHORTEST = 60.0  # seconds: a site that forbids caching is still not asked before every page


@dataclass(slots=True)
class Known:
    """One origin. `result` None: never asked; `fetching`: asked, and the answer is on its way.

    `unused`: no question has been decided by this copy yet. Such a copy is used however short its life, or a site
    whose files are stale on arrival would be asked for robots.txt for ever and for nothing else.
    """

    result: RobotsResult | None = None
    fresh_until: float = -math.inf
    fetching: bool = False
    unused: bool = False

    def usable(self, now: float) -> bool:
        """Whether a question may be decided by this copy; a stale one serves while its successor is on its way."""
        return self.result is not None and (now < self.fresh_until or self.fetching or self.unused)


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

    def store(self, result: RobotsResult, now: float) -> None:
        """Keep an answer. While a site is unreachable its last good copy stays in force (RFC 9309, 2.3.1.4)."""
        known = self.of(result.origin)
        known.fetching = False
        if result.kind == "unreachable":
            known.fresh_until = now + self._policy.failure_life
            if known.result is not None and known.result.kind == "read":
                return
        else:
            known.fresh_until = now + self._life(result)
        known.result = result
        known.unused = True

    def used(self, url: str) -> None:
        """A question about this URL was decided."""
        if self._policy.mode != "ignore":
            self.of(urls.origin(url)).unused = False

    def clear(self) -> None:
        self._known = {origin: known for origin, known in self._known.items() if known.fetching}
        for known in self._known.values():
            known.result = None

    def results(self) -> dict[str, RobotsResult]:
        return {origin: known.result for origin, known in self._known.items() if known.result is not None}

    def _life(self, result: RobotsResult) -> float:
        if self._policy.cache_life is not None:
            return self._policy.cache_life
        return freshness(result)


def freshness(result: RobotsResult) -> float:
    """Seconds the answer stays fresh by HTTP (RFC 9111, 4.2), at most 24 hours (RFC 9309, 2.4), a day by default."""
    for directive in result.headers.get("cache-control", "").lower().split(","):
        name, _, value = directive.strip().partition("=")
        if name in ("no-cache", "no-store"):
            return SHORTEST
        if name == "max-age" and value.strip('"').isdigit():
            return min(max(float(value.strip('"')[:9]), SHORTEST), DAY)
    try:
        expires = parsedate_to_datetime(result.headers["expires"]).timestamp()
    except (KeyError, ValueError, OverflowError):
        return DAY
    return min(max(expires - result.fetched_at, SHORTEST), DAY)
