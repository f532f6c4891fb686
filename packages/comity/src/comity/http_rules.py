"""What HTTP says that several packages need: statuses with a rule of their own, redirects, dates, Retry-After."""

from collections.abc import Collection, Mapping
from datetime import UTC
from typing import Final

from comity_pages import urls
from comity_pages.urls import Url

REDIRECTS: Final = (301, 302, 303, 307, 308)  # those that lead elsewhere (RFC 9110, 15.4)
BUSY: Final = (429, 503)  # with these a Retry-After says how long to stay away
RETRIED: Final = (429, 502, 503, 504)  # within one call: what may be over soon, by its definition
GONE: Final = (404, 410)
MAX_STALE_RETRIES: Final = 3
"""Times in a row that a request may find a kept connection ended, and is sent again (RFC 9110, 9.2.2)."""
PAYMENT_REQUIRED: Final = 402


def is_temporary(status: int | None) -> bool:
    """Return whether a failure may pass: 429 (RFC 6585, 4), any 5xx (RFC 9110, 15.6), or None, no answer."""
    return status is None or status == 429 or status >= 500


def next_hop(
    url: str, location: str, passed: Collection[str], most: int, *, setting: str = ""
) -> tuple[Url | None, str]:
    """Return where a redirect leads (RFC 9110, 10.2.2), or None and why it is not to be followed: "redirects to ...".

    Args:
        location: as the server wrote it; empty where it wrote none.
        passed: the URLs before `url`, each of which redirected to the next.
        most: redirects that are followed, those passed included.
        setting: what `most` is called where it is set.
    """
    target = urls.join(url, location) if location else None
    if not location:
        why = "redirects without a Location"
    elif target is None:
        why = f"redirects to {location!r:.200}, which cannot be fetched"
    elif target == url or target in passed:
        why = f"redirects to {target}, in a loop"
    elif len(passed) >= most:
        named = f" ({setting})" if setting else ""
        why = f"redirects to {target}, more than the limit of {most} redirects{named}"
    else:
        return Url(target), ""
    return None, why


def http_date(text: str | None) -> float | None:
    """Return Unix time in seconds of a date (RFC 9110, 5.6.7: the form in use, and the two of old); None where it is
    none.

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
    """Return seconds from `wall` (Unix time) for which either form of a Retry-After asks to be left alone (RFC 9110,
    10.2.3); None where it cannot be read.
    """
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value[:9])
    date = http_date(value)
    return None if date is None else max(date - wall, 0.0)


def retry_delay(status: int, headers: Mapping[str, str], wall: float) -> float | None:
    """Return seconds from `wall` (Unix time) for which an answer asks to be left alone; None where it does not.

    Args:
        headers: in lower case, or whatever the case of a name is asked for in.
    """
    return retry_after(headers.get("retry-after"), wall) if status in BUSY else None


def is_field_name(name: str) -> bool:
    """Return whether a header can have this name (RFC 9110, 5.1: a token)."""
    return name != "" and name.isascii() and all(char.isalnum() or char in "!#$%&'*+-.^_`|~" for char in name)
