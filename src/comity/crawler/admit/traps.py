"""URLs that lead a crawler nowhere: too long, too deep, the same segments over and over, calendars and facets without
end, redirect after redirect.

It looks at URLs alone, decides for each by itself or by what it counted of its path (see explosions.py), and says which
trap it is. An ordinary site meets none of the limits; docs/scope.md has the figures.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, Literal

from comity.crawler.admit.explosions import Calendars, Facets

TrapName = Literal["long-url", "deep-path", "repeated-segments", "redirect-chain", "calendar", "facets", "parameters"]
MOST_HOPS: Final = 10
"""Redirects in a row, and sitemaps that name each other."""
MOST_REPEATS: Final = 2
"""Times that two or more segments may follow each other: /a/b/a/b is let pass, /a/b/a/b/a/b is not."""
MOST_ALIKE: Final = 4
"""Times that one segment may stand in a path, wherever: /shop/all/all/all/all is let pass."""
_MOST_LOOKED_AT: Final = 64  # segments


@dataclass(frozen=True, slots=True)
class Trap:
    """Why a URL is left out: the kind of trap, and one sentence."""

    name: TrapName
    why: str


class Traps:
    """Judges the URLs of one crawl. Memory is bounded, whatever the sites do.

    Args:
        today: the day on which the crawl runs; calendars are known by the future.
        recall: gives back what `facts` returned under a name in an earlier run, or None.
    """

    def __init__(
        self,
        *,
        today: date,
        max_length: int | None = 2048,
        max_segments: int | None = 24,
        recall: Callable[[str], Any] = lambda name: None,
    ) -> None:
        self._max_length = max_length
        self._max_segments = max_segments
        self._calendars = Calendars(today, recall)
        self._facets = Facets(recall)

    def judge(self, url: str, *, depth: int = 0) -> Trap | None:
        """Whether a URL in normal form is a trap. One that is let pass counts towards its path's limits, once."""
        shape = shape_trap(url, max_length=self._max_length, max_segments=self._max_segments)
        if shape is not None:
            return shape
        if (why := self._calendars.judge(url, depth)) is not None:
            return Trap("calendar", why)
        if (why := self._facets.forms_exceeded(url)) is not None:
            return Trap("parameters", why)
        if (why := self._facets.choices_exceeded(url)) is not None:
            return Trap("facets", why)
        return None

    def facts(self) -> dict[str, Any]:
        """What was found out since the last call, by name, to be remembered across runs."""
        return self._calendars.facts() | self._facets.facts()


def redirect_trap(url: str, hops: int) -> Trap | None:
    """Whether too many redirects, or sitemaps, led to a URL."""
    if hops <= MOST_HOPS:
        return None
    return Trap("redirect-chain", f"{hops} hops lead to it; the limit is {MOST_HOPS}")


def shape_trap(url: str, *, max_length: int | None, max_segments: int | None) -> Trap | None:
    """Whether a URL is a trap by its looks."""
    if max_length is not None and len(url) > max_length:
        return Trap("long-url", f"it is {len(url)} characters long; the limit is {max_length}")
    start = url.index("/", url.index("//") + 2) + 1
    end = url.find("?", start)
    path = url[start:end] if end >= 0 else url[start:]
    if path.count("/") < MOST_REPEATS:
        return None
    segments = [segment for segment in path.split("/") if segment]
    if max_segments is not None and len(segments) > max_segments:
        return Trap("deep-path", f"its path has {len(segments)} segments; the limit is {max_segments}")
    return _repetition(segments[:_MOST_LOOKED_AT])


def _repetition(segments: list[str]) -> Trap | None:
    words = [segment for segment in segments if not segment.isdigit()]  # /tiles/0/0/0 is no trap
    if len(words) == len(set(words)):
        return None
    for segment in set(words):
        if words.count(segment) > MOST_ALIKE:
            return Trap("repeated-segments", f"{segment[:50]!r} stands in its path {words.count(segment)} times")
    size = len(segments)
    for period in range(2, size // (MOST_REPEATS + 1) + 1):
        alike = 0  # segments in a row that equal the one a period before
        for place in range(period, size):
            alike = alike + 1 if segments[place] == segments[place - period] else 0
            run = segments[place - period + 1 : place + 1]
            if alike >= period * MOST_REPEATS and not all(map(str.isdigit, run)):
                again = "/".join(run)[:80]
                return Trap("repeated-segments", f"{again!r} stands {MOST_REPEATS + 1} times in a row in its path")
    return None
