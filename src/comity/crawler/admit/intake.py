"""How URLs come into the frontier: once each, cleaned, in scope, no trap, and queued only where robots.txt allows it.

It asks what is known already and sends no request: where robots.txt was not read yet, the URL waits for that.
"""

from collections.abc import Callable, Iterable

from comity import urls
from comity.crawler import records
from comity.crawler.admit.admission import Admission
from comity.crawler.admit.discovery import Candidate
from comity.crawler.outcome import Outcome
from comity.errors import InvalidURL
from comity.frontier import Found, Kind, State
from comity.policy import OriginPolicy

RECENT = 100_000  # URLs remembered in memory to spare the frontier most repeats


class Intake:
    """The way into one crawl.

    Args:
        ruling: what holds for the origin of a URL in normal form, or None where the site would have to be asked.
    """

    def __init__(self, admission: Admission, ruling: Callable[[str], OriginPolicy | None], outcome: Outcome) -> None:
        self._admission = admission
        self._ruling = ruling
        self._outcome = outcome
        self._recent: set[str] = set()

    def links(self, found: Iterable[str], *, depth: int) -> None:
        """Take up the links of a page."""
        recent = self._recent
        for url in found:
            if url not in recent:
                self.discover(url, depth=depth)

    def candidates(self, found: Iterable[Candidate]) -> None:
        """Take up what something else than a link points to."""
        for candidate in found:
            self.candidate(candidate)

    def candidate(self, candidate: Candidate, *, hops: int = 0) -> None:
        """The same for one; `hops` were passed on the way to it."""
        if candidate.guessed:
            ruling = self._ruling(candidate.url)
            if ruling is None or not ruling.allows(candidate.url):
                return  # nobody named it, so nothing is refused either
        self.discover(candidate.url, depth=candidate.depth, kind=candidate.kind, hops=hops)

    def from_source(self, url: str) -> None:
        """Take up what a source names: it is given by hand, and the scope widens around it."""
        try:
            url = urls.normalise(url)
        except InvalidURL as error:
            self._outcome.no_url(url, str(error))
        else:
            self._admission.given(url)
            self.discover(url, depth=0, given=True)

    def again(self, url: str, *, depth: int) -> None:
        """Take up what was visited in an earlier crawl: it was cleaned then, and was no trap."""
        if self._admission.covers(url, depth=depth, kind=Kind.PAGE):
            self.discover(url, depth=depth, given=True)

    def discover(self, url: str, *, depth: int, kind: Kind = Kind.PAGE, hops: int = 0, given: bool = False) -> None:
        """Take up a URL that is new and in scope (or given by hand): into the queue if robots.txt allows it."""
        if self._met(url) and not given:  # a link may have named it before, and have been cleaned
            return
        if not given:
            clean = self._admission.clean(url)
            if clean is not url and self._met(clean):
                return
            url = clean
            if not self._admission.covers(url, depth=depth, kind=kind):
                self._outcome.stats.outside += 1
                return
        host = urls.host(url)
        trap = self._admission.trap(url, depth=depth, hops=hops, given=given)
        ruling = self._ruling(url) if trap is None else None
        refusal = None
        by_policy = False
        if trap is not None:
            state, refusal = State.REFUSED, records.trap(url, trap, depth=depth)
        elif ruling is None:
            state = State.UNASKED
        elif ruling.allows(url):
            state = State.QUEUED
        elif (decision := ruling.decide(url)).verdict == "unknown_unreachable":
            state = State.UNASKED  # it will be asked for again
        else:
            state, refusal = State.REFUSED, records.refusal(decision, depth=depth)
            by_policy = decision.by_policy
        self._outcome.found(Found(url, host, depth, kind, state, hops, refusal, by_policy=by_policy))

    def _met(self, url: str) -> bool:
        """Whether a URL came up lately; spares the frontier most repeats."""
        if url in self._recent:
            return True
        if len(self._recent) >= RECENT:
            self._recent.clear()
        self._recent.add(url)
        return False
