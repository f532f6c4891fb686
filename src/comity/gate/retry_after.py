"""Retry-After: how long a site asks to be left alone (RFC 9110, 10.2.3)."""

from comity.http_date import http_date


def retry_after(value: str | None, wall: float) -> float | None:
    """Seconds from `wall` (Unix time) that either form of the header asks for; None where it cannot be read."""
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value[:9])
    date = http_date(value)
    return None if date is None else max(date - wall, 0.0)
