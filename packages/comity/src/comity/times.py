"""Times as they are written down: RFC 3339 in UTC, to the millisecond, such as `2026-11-22T06:38:12.123Z`. Pure."""

from datetime import UTC, datetime
from functools import lru_cache


@lru_cache(4096)  # the time of a robots.txt is written with each decision
def iso(unix: float | None) -> str | None:
    """Return a Unix time in seconds as text; None, or a time that no calendar has, gives None."""
    if unix is None:
        return None
    try:
        second, millisecond = divmod(round(unix * 1000), 1000)
        return f"{_second(second)}.{millisecond:03d}Z"
    except (OverflowError, OSError, ValueError):
        return None


@lru_cache(4096)  # and many times of the same few seconds
def _second(unix: int) -> str:
    return datetime.fromtimestamp(unix, UTC).isoformat(timespec="seconds")[:19]


def to_milliseconds(seconds: float) -> float:
    """Rounded to the third digit: as `round(seconds, 3)`, which takes many times as long."""
    return round(seconds * 1e3) / 1e3


def to_microseconds(seconds: float) -> float:
    """Rounded to the sixth digit: as `round(seconds, 6)`, which takes many times as long."""
    return round(seconds * 1e6) / 1e6


def format_duration(seconds: float) -> str:
    """Return a span in words: `0.25 s`, `90 minutes`, `12 days`, `over a thousand years`."""
    if seconds >= 1e3 * 31_556_952:
        return "over a thousand years"
    for unit, size in (("years", 31_556_952), ("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if (count := seconds / size) >= 2:
            return f"{count:.0f} {unit}" if count >= 10 else f"{count:.2g} {unit}"
    return f"{seconds:.3g} s"


def short_duration(seconds: float) -> str:
    """Format seconds in at most two units and seven characters."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    for unit, name, smaller, part in ((60, "m", "s", 1), (3_600, "h", "m", 60), (86_400, "d", "h", 3_600)):
        if whole < 100 * unit or name == "d":
            return f"{whole // unit}{name}{whole % unit // part:02}{smaller}"
    raise AssertionError(seconds)


@lru_cache(4096)
def parse_iso(text: str) -> float:
    """Return the Unix time in seconds that a text names.

    Raises:
        ValueError: it is not a time with its offset from UTC.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no offset from UTC")
    return moment.timestamp()
