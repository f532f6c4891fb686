"""The gate: no request leaves without asking it. It owns the robots cache and the pacing of every host.

Theory of operation. A caller asks about a URL and is told one step; it carries the step out, reports, and asks again
until it is told Go or Refuse. For each question, in this order:

    robots.txt of the origin   host's pace          step
    -------------------------  -------------------  ------------------------------------------
    not known, not fetching    not ready            Wait
    not known, not fetching    ready                FetchRobots (the host's pace counts it)
    not known, being fetched   -                    Wait for the report
    known, forbids             -                    Refuse (takes no slot and no waiting time)
    known, allows              not ready            Wait
    known, allows              ready                Go (the host's pace counts it)

Everything that affects state lives here and in the two modules beside it. There is no I/O and no clock: `now` is
seconds on the caller's monotonic clock.
"""

from comity import urls
from comity.gate.pacing import Pace
from comity.gate.robots_cache import RobotsCache
from comity.gate.steps import FetchRobots, Go, Refuse, Step, Wait
from comity.policy import Decision, Policy, RobotsResult, decide


class Gate:
    """One gate per client or crawl. Not thread-safe: one caller drives it."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._robots = RobotsCache(policy)
        self._paces: dict[str, Pace] = {}

    def ask(self, url: str, now: float) -> Step:
        """The next step towards fetching a URL, which must be in normal form (`urls.normalise`).

        Raises:
            InvalidURL: it is not an absolute http or https URL.
        """
        step = self._judge(url, now)
        if not isinstance(step, Decision):
            return step
        if not step.may_fetch:
            self._robots.used(url)
            return Refuse(url, step)
        host = urls.host(url)
        pace = self._pace(host)
        ready = pace.ready_at(now, step.delay)
        if ready is None or ready > now:
            return Wait(ready, host)
        pace.started()
        self._robots.used(url)
        return Go(url, host, step)

    def consult(self, url: str, now: float) -> Decision | FetchRobots | Wait:
        """The decision about a URL without any intention to fetch it, or the step that leads there."""
        step = self._judge(url, now)
        if isinstance(step, Decision):
            self._robots.used(url)
            self._pace(urls.host(url)).interval = step.delay  # so that `ready_at` knows it before the first request
        return step

    def known(self, url: str, now: float) -> Decision | None:
        """The decision about a URL if the robots.txt at hand suffices for it; starts nothing."""
        if self.policy.mode == "ignore":
            return decide(self.policy, url, None)
        known = self._robots.of(urls.origin(url))
        return decide(self.policy, url, known.result) if known.usable(now) and known.result is not None else None

    def _judge(self, url: str, now: float) -> Decision | FetchRobots | Wait:
        if self.policy.mode == "ignore":
            return decide(self.policy, url, None)
        origin = urls.origin(url)
        known = self._robots.of(origin)
        if known.usable(now):
            return decide(self.policy, url, known.result)
        host = urls.host(url)
        if known.fetching:
            return Wait(None, host)
        if self.policy.robots_fetch_counts:
            pace = self._pace(host)
            ready = pace.ready_at(now, max(self.policy.min_interval, pace.interval))
            if ready is None or ready > now:
                return Wait(ready, host)
            pace.started()
        known.fetching = True
        return FetchRobots(origin, origin + "/robots.txt")

    def robots_arrived(self, result: RobotsResult, now: float) -> None:
        """What came of a FetchRobots step."""
        self._robots.store(result, now)
        if self.policy.robots_fetch_counts:
            self._pace(urls.host(result.origin + "/robots.txt")).answered(now)

    def robots_abandoned(self, step: FetchRobots, now: float) -> None:
        """The driver gave a FetchRobots step up (it was cancelled); the next caller is told to fetch."""
        self._robots.of(step.origin).fetching = False
        if self.policy.robots_fetch_counts:
            self._pace(urls.host(step.url)).answered(now)

    def answered(self, go: Go, now: float, *, status: int | None = None, retry_after: float | None = None) -> None:
        """The head of an answer to a Go step arrived, or (status None) the request failed.

        Args:
            retry_after: seconds that a 429 or 503 asked us to stay away.
        """
        pace = self._pace(go.host)
        pace.answered(now)
        if status in (429, 503) and retry_after is not None:
            pace.hold_until(now + retry_after)

    def ready_at(self, host: str) -> float:
        """When a host may be asked next, as far as is known now."""
        return self._pace(host).next_start

    def results(self) -> dict[str, RobotsResult]:
        """What was learned, origin by origin."""
        return self._robots.results()

    def clear(self) -> None:
        """Forget every robots.txt; paces stay."""
        self._robots.clear()

    def _pace(self, host: str) -> Pace:
        pace = self._paces.get(host)
        if pace is None:
            pace = self._paces[host] = Pace()
        return pace
