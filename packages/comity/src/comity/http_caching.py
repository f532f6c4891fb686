"""What HTTP says about keeping answers (RFC 9111), for pages, robots.txt files and whatever else is kept. Pure.

Headers are mappings with names in lower case, as `combined` gives them.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from comity.http_rules import http_date

DAY: Final = 86_400.0  # seconds
MIN_LIFE_SECONDS: Final = 60.0  # seconds: a site that forbids caching is still not asked before every page
_LISTS: Final = frozenset(("cache-control", "vary"))  # of the fields read here, those that several lines may hold
_VALIDATORS: Final = (("If-None-Match", "etag"), ("If-Modified-Since", "last-modified"))


def combined(headers: Mapping[str, str] | Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return names in lower case; the lines of a list joined in order (RFC 9110, 5.3), of any other field the first.

    Args:
        headers: as received; a mapping may hold a name more than once.
    """
    found: dict[str, str] = {}
    for name, value in headers.items() if isinstance(headers, Mapping) else headers:
        name = name.lower()
        if name not in found:
            found[name] = value
        elif name in _LISTS:
            found[name] += ", " + value
    return found


def freshness(headers: Mapping[str, str], fetched_at: float, *, shortest: float = MIN_LIFE_SECONDS) -> float:
    """Return seconds an answer stays fresh (RFC 9111, 4.2), at most 24 hours (RFC 9309, 2.4), a day by default.

    Args:
        shortest: seconds that are given in any case.
    """
    control = _directives(headers)
    life = DAY
    if "no-store" in control or ("no-cache" in control and not control["no-cache"]):
        return shortest
    if "max-age" in control:
        life = _whole(control["max-age"]) or 0.0  # an unreadable one means already stale (4.2.1)
    elif "expires" in headers:
        expires, sent_at = http_date(headers["expires"]), http_date(headers.get("date"))
        life = 0.0 if expires is None else expires - (fetched_at if sent_at is None else sent_at)  # 5.3: "0" is past
    age = _whole(headers.get("age", "").strip()) or 0.0
    return min(max(life - age, shortest), DAY)


def stated_freshness(headers: Mapping[str, str], fetched_at: float) -> float:
    """Return seconds that an answer says it stays fresh; 0 where it says nothing."""
    control = _directives(headers)
    if "no-cache" in control or ("max-age" not in control and "expires" not in headers):
        return 0.0
    return freshness(headers, fetched_at, shortest=0.0)


def may_be_shared(headers: Mapping[str, str]) -> bool:
    """Return whether an answer may be kept and given to anybody (3 and 4.1)."""
    varies = {name.strip() for name in headers.get("vary", "").lower().split(",")} - {""}
    return not {"no-store", "private"} & _directives(headers).keys() and varies <= {"accept-encoding"}


def validators(headers: Mapping[str, str]) -> dict[str, str]:
    """Request headers that ask whether an answer is still current (RFC 9110, 13.1); empty where none can."""
    return {ask: headers[name] for ask, name in _VALIDATORS if name in headers}


def _directives(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the Cache-Control directives with their arguments; of one that is repeated the first counts (4.2.1)."""
    parts = (part.strip().partition("=") for part in reversed(headers.get("cache-control", "").lower().split(",")))
    return {name.strip(): value.strip(' "') for name, _, value in parts if name}


def _whole(text: str) -> float | None:
    return float(text[:9]) if text.isascii() and text.isdigit() else None
