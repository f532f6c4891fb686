"""CORS (Fetch standard): what a page may send to another origin and read of its answer, as far as a browser leaves that
to whoever answers in the network's place.
"""

import re
from collections.abc import Mapping
from typing import Final

from comity.net import Response

_UNSAFE_BYTE: Final = re.compile(r'[\x00-\x08\x0a-\x1f\x7f"():<>?@\[\\\]{}]')
_LANGUAGES: Final = re.compile(r"[0-9A-Za-z *,\-.;=]*")
_RANGE: Final = re.compile(r"bytes=[0-9]+-[0-9]*")
_FORMS: Final = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain")
_MAX_VALUE_BYTES: Final = 128
NOT_ASKED_ABOUT: Final = frozenset(("cache-control", "origin", "pragma"))
"""Sent by the browser itself, of its own accord or for the cache mode of a `fetch`."""


def to_be_asked_about(headers: Mapping[str, str]) -> tuple[str, ...]:
    """Names of the headers, in lower case, of a script's request that another origin must agree to before they are sent
    (Fetch standard, 2.2.2)."""
    asked = (name for name, value in headers.items() if name not in NOT_ASKED_ABOUT and not _is_safe(name, value))
    return tuple(sorted(asked))


def _is_safe(name: str, value: str) -> bool:
    """Whether it is a CORS-safelisted request-header."""
    if len(value.encode("utf-8", "replace")) > _MAX_VALUE_BYTES:
        return False
    match name:
        case "accept":
            return _UNSAFE_BYTE.search(value) is None
        case "accept-language" | "content-language":
            return _LANGUAGES.fullmatch(value) is not None
        case "content-type":
            return _UNSAFE_BYTE.search(value) is None and value.partition(";")[0].strip().lower() in _FORMS
        case "range":
            return _RANGE.fullmatch(value) is not None
    return False


def question(asker: str, method: str, names: tuple[str, ...]) -> dict[str, str]:
    """The headers of a preflight (Fetch standard, 4.8)."""
    return {
        "Origin": asker,
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": ",".join(names),
    }


def agreed(answer: Response, asker: str, names: tuple[str, ...]) -> bool:
    """Whether the answer to a preflight permits these headers; `*` stands for all but Authorization."""
    stated = ",".join(answer.header_values("Access-Control-Allow-Headers")).lower()
    allowed = {name.strip() for name in stated.split(",")}
    return (
        answer.ok
        and is_shared(answer, asker)
        and all(name in allowed or ("*" in allowed and name != "authorization") for name in names)
    )


def is_shared(answer: Response, asker: str) -> bool:
    """Whether scripts of an origin may read an answer that was asked for without credentials."""
    return answer.header_values("Access-Control-Allow-Origin") in (["*"], [asker])
