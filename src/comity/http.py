"""What HTTP says that several packages need: statuses with a rule of their own, dates, Retry-After."""

from datetime import UTC
from typing import Final

REDIRECTS: Final = (301, 302, 303, 307, 308)  # those that lead elsewhere (RFC 9110, 15.4)
BUSY: Final = (429, 503)  # with these a Retry-After says how long to stay away


def http_date(text: str | None) -> float | None:
    """Unix time in seconds of a date (RFC 9110, 5.6.7: the form in use, and the two of old); None where it is none.

    A date without a zone is UTC, as all of them are.
    """
    if not text:
        return None
    from email.utils import parsedate_to_datetime  # late: few answers carry a date, and the module is heavy

    try:
        date = parsedate_to_datetime(text.strip())
        return (date.replace(tzinfo=UTC) if date.tzinfo is None else date).timestamp()
    except (ValueError, OverflowError, TypeError, IndexError):
        return None


def retry_after(value: str | None, wall: float) -> float | None:
    """Seconds from `wall` (Unix time) for which either form of a Retry-After asks to be left alone (RFC 9110, 10.2.3);
    None where it cannot be read.
    """
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value[:9])
    date = http_date(value)
    return None if date is None else max(date - wall, 0.0)


def is_field_name(name: str) -> bool:
    """Whether a header can have this name (RFC 9110, 5.1: a token)."""
    return name != "" and name.isascii() and all(char.isalnum() or char in "!#$%&'*+-.^_`|~" for char in name)
