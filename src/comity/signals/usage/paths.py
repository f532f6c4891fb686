"""Which URLs a path pattern of a preference covers: prefix, `*`, a final `$`; as robots.txt patterns do.

Source: RFC 9309, 2.2.2 and 2.2.3, to which the AIPREF drafts, TDMRep and RSL all refer. Linear in pattern and path.
"""

import re
from collections.abc import Callable
from typing import Final

Matcher = Callable[[str, str], bool]
"""`matches(pattern, path)`: whether the pattern covers the path (with query) of a URL."""

_UNRESERVED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_ESCAPE: Final = re.compile(r"%([0-9A-Fa-f]{2})")
_NON_ASCII: Final = re.compile(r"[^\x00-\x7f]+")


def split(value: str) -> tuple[str | None, str]:
    """The optional path in front of a preference, and the preference (draft-ietf-aipref-attach, "Processing")."""
    value = value.strip(" \t")
    if not value.startswith("/"):
        return None, value
    found = re.search(r"[ \t]", value)
    if found is None:
        return value, ""
    return value[: found.start()], value[found.end() :].strip(" \t")


def target(url: str) -> str:
    """Path and query of a URL, or of a bare path, without the fragment; `/` where there is none."""
    url = url.partition("#")[0]
    if not url.startswith("/"):
        rest = url.partition("://")[2]
        start = re.search(r"[/?]", rest)
        url = rest[start.start() :] if start else "/"
    return "/" + url if url.startswith("?") else url


def octets(pattern: str) -> int:
    """The pattern's length as longest-match counts it: octets of the encoded form."""
    return len(normalise(pattern))


def matches(pattern: str, path: str) -> bool:
    """Whether the pattern covers the path; an empty pattern covers nothing."""
    return bool(pattern) and _covers(normalise(pattern), normalise(path))


def normalise(text: str) -> str:
    """Non-ASCII percent-encoded, unreserved characters decoded, hex digits in upper case (RFC 9309, 2.2.2)."""
    text = _NON_ASCII.sub(lambda run: "".join(f"%{octet:02X}" for octet in run[0].encode("utf-8", "replace")), text)
    return _ESCAPE.sub(_decoded, text) if "%" in text else text


def _decoded(escape: re.Match[str]) -> str:
    octet = int(escape[1], 16)
    return chr(octet) if octet in _UNRESERVED else escape[0].upper()


def _covers(pattern: str, path: str) -> bool:
    anchored = pattern.endswith("$")
    first, *others = (pattern[:-1] if anchored else pattern).split("*")
    if not path.startswith(first):
        return False
    position = len(first)
    if not others:
        return not anchored or position == len(path)
    last = others.pop() if anchored else ""
    for piece in others:
        found = path.find(piece, position)
        if found < 0:
            return False
        position = found + len(piece)
    return path.endswith(last) and len(path) - len(last) >= position
