"""One robots.txt over its redirects, sans-I/O: ask `url` with `headers`, hand in the answer, until a result comes.

It goes by RFC 9309, 2.3.1.2: the result governs the origin that was asked for, wherever the redirects lead.
"""

from collections.abc import Mapping
from typing import Final

from comity import urls
from comity.gate.steps import FetchRobots
from comity.policy import Policy, RobotsResult
from comity.policy.outcome import combined

REDIRECTS: Final = (301, 302, 303, 307, 308)


class RobotsRequest:
    """What a FetchRobots step asks for.

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

    def answered(
        self, status: int, headers: Mapping[str, str], body: bytes, *, at: float, cut: bool = False
    ) -> RobotsResult | None:
        """What came of it; None: ask `url` now.

        Args:
            headers: of the answer, names in any case.
            at: Unix time in seconds.
            cut: whether the body went on where reading it was left off.
        """
        headers = combined(headers)
        if status == 304 and self.headers and self._step.cached is not None:
            return self._step.cached.renewed(self._policy, headers, at)
        problem = None
        if status in REDIRECTS:
            location = headers.get("location", "")
            target = urls.join(self.url, location)
            if target is None:
                problem = f"redirects to {location!r:.200}, which is no web address"
            elif target in self._passed or target == self.url:
                problem = "redirects in a loop"
            elif len(self._passed) >= self._policy.robots_redirects:
                problem = f"redirects more than {self._policy.robots_redirects} times"
            else:
                self._passed.append(self.url)
                self.url = target
                return None
        return RobotsResult.from_response(
            self._step.origin,
            self.url,
            status,
            body,
            policy=self._policy,
            fetched_at=at,
            headers=headers,
            redirects=tuple(self._passed),
            error=problem,
            cut=cut,
        )

    def failed(self, error: Exception, *, at: float) -> RobotsResult:
        """There was no answer."""
        text = str(error) or type(error).__name__
        return RobotsResult.unreachable(
            self._step.origin, self.url, text, policy=self._policy, fetched_at=at, redirects=tuple(self._passed)
        )
