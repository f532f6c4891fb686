"""A circuit breaker for one host: after so many failed calls in a row nothing is sent, until one probe succeeds."""

from comity.policy import Policy


class Circuit:
    """closed -> open after `Policy.breaker_failures` -> half-open after `breaker_recovery` -> a probe decides."""

    __slots__ = ("_policy", "failures", "open_until", "probing")

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.failures = 0  # calls in a row
        self.open_until: float | None = None
        self.probing = False

    def blocked_until(self, now: float) -> float | None:
        """None where a call may be made; else when to ask again."""
        if self.open_until is None:
            return None
        if self.probing:
            return now + self._policy.breaker_recovery
        return self.open_until if now < self.open_until else None

    def started(self) -> None:
        """A request begins; on a circuit that was open it is the probe."""
        self.probing = self.open_until is not None

    def finished(self, now: float, *, good: bool) -> None:
        """A call, with all its retries, came to its end."""
        self.probing = False
        if good:
            self.failures, self.open_until = 0, None
            return
        self.failures += 1
        if self.failures >= self._policy.breaker_failures:
            self.open_until = now + self._policy.breaker_recovery

    def abandoned(self) -> None:
        """A call was given up by its caller: it decides nothing."""
        self.probing = False
