"""Times as they are written down: RFC 3339 in UTC, to the millisecond, such as `2026-11-22T06:38:12.123Z`. Pure."""

from datetime import UTC, datetime


def written(unix: float | None) -> str | None:
    """A Unix time in seconds as text; None, or a time that no calendar has, gives None."""
    if unix is None:
        return None
    try:
        moment = datetime.fromtimestamp(round(unix, 3), UTC)
    except (OverflowError, OSError, ValueError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def read(text: str) -> float:
    """The Unix time in seconds that a text names.

    Raises:
        ValueError: it is not a time with its offset from UTC.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no offset from UTC")
    return moment.timestamp()
