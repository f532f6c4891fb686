"""When one host may be asked again. One rule, per host, on a monotonic clock handed in.

A host with an interval has at most one request on its way. The next may start one interval after the previous
answer's head arrived: the head proves that the server had the request by then, so the server's own clock never sees
two requests closer than the interval, whatever the network did to the first of them.
"""


class Pace:
    """The state of one host: its last answer, how long to leave it alone, and the requests on their way."""

    __slots__ = ("_answered", "_held", "interval", "under_way")

    def __init__(self) -> None:
        self._answered = float("-inf")
        self._held = float("-inf")
        self.under_way = 0
        self.interval = 0.0

    @property
    def next_start(self) -> float:
        """The earliest next start. It counts with the interval known now: a robots.txt may have just raised it."""
        return max(self._held, self._answered + self.interval)

    def ready_at(self, now: float, interval: float) -> float | None:
        """The time at which a request may start (at most `now`: at once); None: not before the next answer."""
        self.interval = interval
        if interval > 0.0 and self.under_way:
            return None
        return self.next_start

    def started(self) -> None:
        self.under_way += 1

    def answered(self, now: float) -> None:
        """The head of an answer arrived, or the request failed for good."""
        self.under_way -= 1
        self._answered = max(self._answered, now)

    def hold_until(self, until: float) -> None:
        """Not before `until`, whatever the interval (Retry-After)."""
        self._held = max(self._held, until)
