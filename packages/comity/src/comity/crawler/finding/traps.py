"""URLs that lead a crawler nowhere: too long, too deep, the same segments over and over, calendars and facets without
end, redirect after redirect.

It looks at URLs alone. An ordinary site meets none of the limits; docs/scope.md has the figures. Counts are kept for
the paths used last, in bitmaps (linear counting), which take the same room whatever is counted. That a path is a trap
outlasts the run; counts below that do not.
"""

import base64
import math
import re
from array import array
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import Final, Literal
from zlib import crc32

from comity.frontier.state_overlay import StateOverlay

MAX_PATHS: Final = 4096  # counted at the same time, of each kind
MAX_DAYS_AHEAD: Final = 2 * 366
MAX_DAYS_BACK: Final = 5 * 366  # days from today that a calendar without end may still reach
MIN_CALENDAR_DEPTH: Final = 16  # links from the start at which a far future day is taken for a calendar without end
MIN_CALENDAR_DATES: Final = 20
MAX_FORMS_PER_PATH: Final = 200  # different lists of parameter names on one path
MAX_CHOICES: Final = {3: 10_000, 4: 2_000, 5: 500}
"""Combinations of that many parameters on one path (5: or more), none of them an identifier. Beyond it all are refused:
those let pass before are known to the frontier already."""
MAX_USES_OF_IDENTIFIER: Final = 20  # combinations that each value of an identifier stands in, on average
MAX_PARAMETERS: Final = 32

MAX_LISTED_BITS: Final = 32  # bits that are kept by their numbers

_FORM_BITS: Final = 8192
_CHOICE_BITS: Final = 16_384
_VALUE_BITS: Final = 1024
_CALENDAR_BITS: Final = 256
_DATE_IN_PATH: Final = re.compile(
    r"/([0-9]{4})(?:[-/]([0-9]{1,2})(?:[-/]([0-9]{1,2}))?|([01][0-9])([0-3][0-9]))?/?(?:index\.html?)?$"
)
_DATE_VALUE: Final = re.compile(r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?|([01][0-9])([0-3][0-9])?)(?:T.*)?")
_PARTS: Final = {  # of a date, by the names that parameters have for them
    **dict.fromkeys(("year", "y", "yr", "yyyy", "jahr", "annee", "anno", "ano"), "year"),
    **dict.fromkeys(("month", "m", "mon", "mm", "monat", "mois", "mes", "mese"), "month"),
    **dict.fromkeys(("day", "d", "dd", "tag", "jour", "dia", "giorno"), "day"),
}


class Bitmap:
    """How many different things were put in, roughly, in a fixed amount of memory (linear counting).

    Most paths are met with one or two: while there are few, it keeps the numbers of those set, not all bits.
    """

    __slots__ = ("_bits", "_few", "_set", "_size")

    def __init__(self, size: int, octets: bytes | None = None) -> None:
        self._size = size
        self._few: array[int] | None = array("H") if octets is None else None
        self._bits = bytearray(octets or b"")
        self._set = int.from_bytes(self._bits, "little").bit_count()

    def add(self, thing: str) -> None:
        place = self._place(thing)
        if self._few is not None:
            if place not in self._few:
                self._few.append(place)
                self._set += 1
                if self._set > MAX_LISTED_BITS:
                    self._bits, self._few = bytearray(bytes(self)), None
        elif not self._bits[place >> 3] >> (place & 7) & 1:
            self._bits[place >> 3] |= 1 << (place & 7)
            self._set += 1

    def __contains__(self, thing: str) -> bool:
        place = self._place(thing)
        return place in self._few if self._few is not None else bool(self._bits[place >> 3] >> (place & 7) & 1)

    def __bytes__(self) -> bytes:
        if self._few is None:
            return bytes(self._bits)
        return sum(1 << place for place in self._few).to_bytes(self._size // 8, "little")

    @property
    def count(self) -> float:
        """Infinite where the bitmap is all but full."""
        free = self._size - self._set
        return -self._size * math.log(free / self._size) if free * 20 > self._size else math.inf

    def _place(self, thing: str) -> int:
        # Alike texts have alike checksums; multiplied, they fall apart.
        return (crc32(thing.encode("utf-8", "surrogatepass")) * 0x9E3779B1 >> 16 & 0xFFFF) % self._size


@dataclass(slots=True)
class _Calendar:
    endless: bool
    dates: Bitmap = field(default_factory=lambda: Bitmap(_CALENDAR_BITS))


class Calendars:
    """Knows calendars without end: pages that differ in a date alone, reached one by one far into the future."""

    def __init__(self, today: date, facts: StateOverlay) -> None:
        self._today = today.toordinal()
        self._calendars = lru_cache(MAX_PATHS)(lambda key: _Calendar(bool(facts.get(f"calendar {key}"))))
        self._facts = facts

    def judge(self, url: str, depth: int) -> str | None:
        """Why a URL belongs to a calendar without end, or None."""
        found = dated(url)
        if found is None:
            return None
        key, day = found
        calendar = self._calendars(key)
        away = day - self._today
        if not calendar.endless:
            calendar.dates.add(str(day))
            if away <= MAX_DAYS_AHEAD or depth < MIN_CALENDAR_DEPTH or calendar.dates.count < MIN_CALENDAR_DATES:
                return None
            calendar.endless = True
            self._facts.put(f"calendar {key}", True)
        if -MAX_DAYS_BACK <= away <= MAX_DAYS_AHEAD:
            return None
        return f"it is one of an endless series of dates at {key}"


def dated(url: str) -> tuple[str, int] | None:
    """What a URL is without its date, and that date as a day's number; None where no date ends its path and none
    stands in its query."""
    path, _, query = url.partition("?")
    if query:
        return _dated_query(path, query)
    match = _DATE_IN_PATH.search(path)
    if match is None or match.start() < path.index("//") + 3:
        return None
    number = _day_in(match)
    return None if number is None else (path[: match.start()] + "/#", number)


def _dated_query(path: str, query: str) -> tuple[str, int] | None:
    names: list[str] = []
    parts: dict[str, str] = {}
    number: int | None = None
    for parameter in query.split("&")[:MAX_PARAMETERS]:
        name, _, value = parameter.partition("=")
        names.append(name)
        part = _PARTS.get(name.lower())
        if part is not None and (len(value) == 4 if part == "year" else len(value) <= 2):
            parts[part] = value
        elif number is None and (match := _DATE_VALUE.fullmatch(value)) is not None:
            number = _day_in(match)
    if "year" in parts:
        number = _day(parts["year"], parts.get("month"), parts.get("day"))
    return None if number is None else (f"{path}?{'&'.join(names)}"[:512], number)


def _day_in(match: re.Match[str]) -> int | None:
    year, month, day, month2, day2 = match.groups()
    return _day(year, month or month2, day or day2)


def _day(year: str, month: str | None, day: str | None) -> int | None:
    if not year.isdecimal() or not 1000 <= int(year) <= 9998:
        return None
    numbers = [int(part) if part and part.isdecimal() and len(part) <= 2 else 1 for part in (month, day)]
    if not (1 <= numbers[0] <= 12 and 1 <= numbers[1] <= 31):
        return None
    return date(int(year), numbers[0], min(numbers[1], 28)).toordinal() + max(numbers[1] - 28, 0)


class _Forms:
    __slots__ = ("exceeded", "seen")

    def __init__(self, kept: str | None) -> None:
        self.exceeded = kept is not None
        self.seen = Bitmap(_FORM_BITS, base64.b64decode(kept) if kept else None)


@dataclass(slots=True)
class _Choices:
    exceeded: bool
    seen: Bitmap = field(default_factory=lambda: Bitmap(_CHOICE_BITS))
    values: dict[str, Bitmap] = field(default_factory=dict)
    look_at: float = 0.0  # how many combinations there must be before it is worth looking again


class Facets:
    """Knows filters that combine freely: many forms of query on one path, or many combinations of few values."""

    def __init__(self, facts: StateOverlay) -> None:
        self._forms = lru_cache(MAX_PATHS)(lambda key: _Forms(facts.get(f"forms {key}")))
        self._choices = lru_cache(MAX_PATHS)(lambda key: _Choices(bool(facts.get(f"choices {key}"))))
        self._facts = facts

    def forms_exceeded(self, url: str) -> str | None:
        """Why a URL's list of parameters is one too many on its path, or None."""
        path, _, query = url.partition("?")
        if "&" not in query:
            return None
        forms = self._forms(path)
        form = "&".join(parameter.partition("=")[0] for parameter in query.split("&"))
        if not forms.exceeded:
            forms.seen.add(form)
            if forms.seen.count > MAX_FORMS_PER_PATH:
                forms.exceeded = True
                self._facts.put(f"forms {path}", base64.b64encode(bytes(forms.seen)).decode())
            return None
        if form in forms.seen:
            return None
        return f"{path} was found with {MAX_FORMS_PER_PATH} different lists of parameters"

    def choices_exceeded(self, url: str) -> str | None:
        """Why a URL's combination of values is one too many on its path, or None."""
        path, _, query = url.partition("?")
        if query.count("&") < 2:
            return None
        pairs = [parameter for parameter in query.split("&") if parameter]
        if len(pairs) < 3:
            return None
        size = min(len(pairs), max(MAX_CHOICES))
        key = f"{size} {path}"
        choices = self._choices(key)
        if not choices.exceeded:
            pairs.sort()
            choices.seen.add("&".join(pairs))
            self._count_values(choices, pairs)
            if self._explodes(choices, MAX_CHOICES[size]):
                choices.exceeded = True
                choices.values.clear()
                self._facts.put(f"choices {key}", True)
            return None
        return f"{path} combines few values of {size} or more parameters in more than {MAX_CHOICES[size]} ways"

    @staticmethod
    def _count_values(choices: _Choices, pairs: list[str]) -> None:
        for pair in pairs[:MAX_PARAMETERS]:
            name, _, value = pair.partition("=")
            values = choices.values.get(name)
            if values is None:
                if len(choices.values) >= MAX_PARAMETERS:
                    continue
                values = choices.values[name] = Bitmap(_VALUE_BITS)
            values.add(value)

    @staticmethod
    def _explodes(choices: _Choices, most: int) -> bool:
        count = choices.seen.count
        if count < max(most, choices.look_at) or math.isinf(count):
            return False
        choices.look_at = count * 1.1
        return all(values.count * MAX_USES_OF_IDENTIFIER < count for values in choices.values.values())


TrapName = Literal["long-url", "deep-path", "repeated-segments", "redirect-chain", "calendar", "facets", "parameters"]
MAX_HOPS: Final = 10  # redirects in a row, and sitemaps that name each other
MAX_REPEATS: Final = 2  # times that two or more segments may follow each other: /a/b/a/b but not /a/b/a/b/a/b
MAX_EQUAL_SEGMENTS: Final = 4  # times that one segment may stand in a path, wherever: /shop/all/all/all/all
_MAX_SEGMENTS: Final = 64  # segments


@dataclass(frozen=True, slots=True)
class Trap:
    """Why a URL is left out: the kind of trap, and one sentence."""

    name: TrapName
    why: str


class Traps:
    """Judges the URLs of one crawl; calendars are known by what lies beyond `today`. Memory is bounded, whatever the
    sites do. Limits as of CrawlSettings."""

    def __init__(
        self, max_length: int | None, max_segments: int | None, *, today: date, facts: StateOverlay | None = None
    ) -> None:
        self._limits = max_length, max_segments
        facts = facts or StateOverlay()
        self._calendars = Calendars(today, facts)
        self._facets = Facets(facts)

    def judge(self, url: str, *, depth: int = 0) -> Trap | None:
        """Whether a URL in normal form is a trap. One that is let pass counts towards its path's limits, once."""
        if (shape := _shape_trap(url, *self._limits)) is not None:
            return shape
        if (why := self._calendars.judge(url, depth)) is not None:
            return Trap("calendar", why)
        if "&" not in url:
            return None
        if (why := self._facets.forms_exceeded(url)) is not None:
            return Trap("parameters", why)
        if (why := self._facets.choices_exceeded(url)) is not None:
            return Trap("facets", why)
        return None


def redirect_trap(url: str, hops: int) -> Trap | None:
    """Whether too many redirects, or sitemaps, led to a URL."""
    if hops <= MAX_HOPS:
        return None
    return Trap("redirect-chain", f"{hops} hops lead to it; the limit is {MAX_HOPS}")


def _shape_trap(url: str, max_length: int | None, max_segments: int | None) -> Trap | None:
    """Whether a URL is a trap by its looks."""
    if max_length is not None and len(url) > max_length:
        return Trap("long-url", f"it is {len(url)} characters long; the limit is {max_length}")
    if url.count("/") < MAX_REPEATS + 3:  # of which three stand before the path
        return None
    path = url.partition("?")[0]
    segments = [segment for segment in path.split("/")[3:] if segment]
    if max_segments is not None and len(segments) > max_segments:
        return Trap("deep-path", f"its path has {len(segments)} segments; the limit is {max_segments}")
    return _repetition(segments[:_MAX_SEGMENTS])


def _repetition(segments: list[str]) -> Trap | None:
    words = [segment for segment in segments if not segment.isdigit()]  # /tiles/0/0/0 is no trap
    if len(words) == len(set(words)):
        return None
    for segment in set(words):
        if words.count(segment) > MAX_EQUAL_SEGMENTS:
            return Trap("repeated-segments", f"{segment[:50]!r} stands in its path {words.count(segment)} times")
    size = len(segments)
    for period in range(2, size // (MAX_REPEATS + 1) + 1):
        alike = 0  # segments in a row that equal the one a period before
        for place in range(period, size):
            alike = alike + 1 if segments[place] == segments[place - period] else 0
            run = segments[place - period + 1 : place + 1]
            if alike >= period * MAX_REPEATS and not all(map(str.isdigit, run)):
                again = "/".join(run)[:80]
                return Trap("repeated-segments", f"{again!r} stands {MAX_REPEATS + 1} times in a row in its path")
    return None
