"""Dates as sitemaps and feeds write them. What is no date is None: a bad date never costs an entry.

Sources: W3C note "Date and Time Formats" (a profile of ISO 8601) for sitemaps and Atom; RFC 822 for RSS.
"""

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Literal, get_args

from comity_pages.signals.robots_meta import read_date

Precision = Literal["year", "month", "day", "minute", "second", "fraction"]
StatedDate = tuple[datetime | None, Precision | None]

_NONE: StatedDate = (None, None)
_MAX_DATE_CHARS = 64
# Wider than the note where sites are: a space or small letter for T, a zone without colon or without T's Z.
_W3C = re.compile(
    r"""(\d{4}) (?:-(\d\d?) (?:-(\d\d?)
    (?:[Tt\ ]\s?(\d\d?):(\d\d) (?::(\d\d)(?:[.,](\d+))?)? \s?([Zz]|[+-]\d\d:?\d\d|[+-]\d\d)? )? )? )?""",
    re.ASCII | re.VERBOSE,
)


# The form that most sites write, in the exact shape that fromisoformat reads as the note means it.
_SECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:[0-5]\d)", re.ASCII).fullmatch


def parse_w3c(text: str) -> StatedDate:
    """The instant and how precisely it was stated; `(None, None)` for what is no date.

    A date without a zone is taken as UTC; a year, month or day stands for its first instant.
    """
    length = len(text)
    try:
        if length == 10:
            if text[4] == "-" == text[7]:
                return datetime.fromisoformat(text + "T00:00:00Z"), "day"
        elif _SECONDS(text):
            return datetime.fromisoformat(text), "second"
    except ValueError:
        pass  # one digit for a month, or no date at all: the full pattern decides
    return _parse_w3c_slowly(text) if length <= _MAX_DATE_CHARS else _NONE


def _parse_w3c_slowly(text: str) -> StatedDate:
    match = _W3C.fullmatch(text)
    if match is None:
        return _NONE
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    stated = zip(get_args(Precision), (year, month, day, hour, second, fraction), strict=True)
    precision: Precision = [name for name, text in stated if text][-1]
    try:
        instant = datetime(
            int(year),
            int(month or 1),
            int(day or 1),
            int(hour or 0),
            int(minute or 0),
            int(second or 0),
            int((fraction or "0")[:6].ljust(6, "0")),
            _zone(zone),
        )
    except ValueError:
        return _NONE
    return instant, precision


def _zone(text: str | None) -> timezone:
    if text is None or text in "Zz":
        return UTC
    hours, minutes = int(text[1:3]), int(text[3:].lstrip(":") or 0)
    if minutes > 59:
        raise ValueError("minutes of a zone go to 59")
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(-offset if text[0] == "-" else offset)


def parse_feed(text: str) -> StatedDate:
    """The date of an RSS item (RFC 822, as `Sat, 07 Sep 2002 09:42:31 GMT`), or a W3C date where one stands there."""
    stated = parse_w3c(text)
    if stated[0] is not None:
        return stated
    instant = read_date(text)
    return (instant, "second" if text.count(":") > 1 else "minute") if instant else _NONE
