"""What may enter the queue as far as our own wishes go: cleaned, in scope, no trap. robots.txt is asked elsewhere.

It holds what one crawl knows of its sites for that: the scope as redirects move it, counts of paths, what each
robots.txt says of parameters and sitemaps. No I/O.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import date
from typing import Any, Final

from comity import urls
from comity.crawler.admit import discovery
from comity.crawler.admit.cleaning import Cleaning
from comity.crawler.admit.discovery import Candidate
from comity.crawler.admit.scope import Scope
from comity.crawler.admit.traps import Trap, Traps, redirect_trap
from comity.crawler.settings import CrawlSettings
from comity.frontier import Kind
from comity.policy import RobotsResult

_PLAIN: Final = Cleaning()


class Admission:
    """The wishes of one crawl.

    Args:
        seeds: URLs in normal form that the scope lies around.
        today: the day on which the crawl runs.
        recall: gives back what `facts` returned under a name in an earlier run, or None.
    """

    def __init__(
        self, settings: CrawlSettings, seeds: Iterable[str], *, today: date, recall: Callable[[str], Any]
    ) -> None:
        self._settings = settings
        self._scope: Scope = settings.scope_around(seeds, recall("scope"))
        self._scope_kept: Scope | None = None  # as `facts` gave it out last
        self._given: list[str] = []
        self._traps = Traps(
            today=today,
            max_length=settings.max_url_length,
            max_segments=settings.max_path_segments,
            recall=recall,
        )
        self._cleanings: dict[str, Cleaning] = {}  # by origin, where robots.txt has a word in it
        self._sitemaps: dict[str, tuple[str, ...]] = {}  # by origin, as robots.txt names them

    def robots_seen(self, result: RobotsResult) -> None:
        """Take note of what a robots.txt says of sitemaps and parameters."""
        if result.robots is None:
            return
        if named := discovery.named_sitemaps(result.origin, result.robots):
            self._sitemaps[result.origin] = named
        cleaning = Cleaning.from_robots(record.value for record in result.robots.records("clean-param"))
        if cleaning.rules:
            self._cleanings[result.origin] = cleaning

    def clean(self, url: str) -> str:
        """A URL without what only tracks or names a session; the same object where there is nothing to take."""
        if not self._settings.clean_urls:
            return url
        return (self._cleanings.get(urls.origin(url), _PLAIN) if self._cleanings else _PLAIN).clean(url)

    def covers(self, url: str, *, depth: int, kind: Kind) -> bool:
        """Whether a URL is in scope. Sitemaps and feeds only name URLs: for them the host is enough."""
        return self._scope.holds(url, depth=depth) if kind is Kind.PAGE else self._scope.reaches(url)

    def trap(self, url: str, *, depth: int, hops: int, given: bool) -> Trap | None:
        """Whether a URL leads nowhere. One given by hand is taken as it is, except after too many redirects."""
        found = redirect_trap(url, hops)
        if found is None and self._settings.traps and not given:
            found = self._traps.judge(url, depth=depth)
        return found

    def given(self, url: str) -> None:
        """A URL given by hand while the crawl runs. The scope covers it from the next `facts` on: many at a time."""
        self._given.append(url)

    def moved(self, origin: str, target: str) -> None:
        """A URL given by hand redirected: example.com to www.example.com, for instance."""
        self._scope = self._scope.moved(origin, target)

    def sitemaps_of(self, url: str) -> Iterator[Candidate]:
        """The sitemaps of a URL's site, or the first place to look for one."""
        if self._settings.sitemaps and self._settings.max_depth != 0:
            origin = urls.origin(url)
            yield from discovery.sitemaps_of(origin, self._sitemaps.get(origin, ()))

    def names(self, url: str) -> bool:
        """Whether the robots.txt of a URL's site names it as a sitemap."""
        return bool(self._sitemaps) and url in self._sitemaps.get(urls.origin(url), ())

    def is_guess(self, url: str) -> bool:
        """Whether a sitemap's URL is a place that nobody named."""
        return discovery.is_guess(url, self._sitemaps.get(urls.origin(url), ()))

    def facts(self) -> dict[str, Any]:
        """What changed since the last call, by name, to be remembered across runs."""
        facts = self._traps.facts()
        if self._given:
            self._scope = self._scope.widened(self._given)
            self._given.clear()
        if self._scope is not self._scope_kept:
            self._scope_kept = self._scope
            facts["scope"] = self._scope.to_dict()
        return facts
