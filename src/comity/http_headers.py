"""Header fields that came more than once, as their standard reads them."""

from collections.abc import Iterable, Mapping
from typing import Final

LISTS: Final = frozenset(("cache-control", "vary"))
"""Of the fields that are read here, those whose value is a list, which may be spread over several lines."""


def combined(headers: Mapping[str, str] | Iterable[tuple[str, str]]) -> dict[str, str]:
    """Names in lower case; the lines of a list joined in order (RFC 9110, 5.3), of any other field the first.

    Args:
        headers: as received; a mapping may hold a name more than once.
    """
    found: dict[str, str] = {}
    for name, value in headers.items() if isinstance(headers, Mapping) else headers:
        name = name.lower()
        if name not in found:
            found[name] = value
        elif name in LISTS:
            found[name] += ", " + value
    return found
