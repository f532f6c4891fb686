"""Dates of HTTP fields (RFC 9110, 5.6.7): the form in use, and the two of old."""

from datetime import UTC


def http_date(text: str | None) -> float | None:
    """Unix time in seconds; None where it is no date. A date without a zone is UTC, as all of them are."""
    if not text:
        return None
    from email.utils import parsedate_to_datetime  # late: few answers carry a date, and the module is heavy

    try:
        date = parsedate_to_datetime(text.strip())
        return (date.replace(tzinfo=UTC) if date.tzinfo is None else date).timestamp()
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
