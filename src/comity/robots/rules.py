"""From the records of the chosen groups to ranked patterns, as a dialect asks.

A rank is one number, the higher the stronger: what comes first in `precedence`, then `tie`, then the position in the
file (the earlier the stronger), then one bit that says whether the rule allows. See _match.py for what is done with it.
"""

from collections.abc import Iterable
from typing import Final

from comity.robots import _path
from comity.robots.dialects import Dialect
from comity.robots.kinds import ALLOW

_MOST: Final = 0xFFFFFFFF


def ranked(body: bytes, records: Iterable[tuple[int, int]], dialect: Dialect) -> dict[bytes, int]:
    """Normalised pattern -> rank of the strongest rule that has it.

    Args:
        records: number and index entry of each Allow and Disallow record.
    """
    ranks: dict[bytes, int] = {}
    for number, entry in records:
        start = entry >> 32
        written = body[start : start + (entry >> 8 & 0xFFFFFF)]
        allow = entry & 0xFF == ALLOW
        pattern = comparable(written, dialect)
        rank = _rank(number, pattern, allow, dialect)
        if ranks.get(pattern, 0) < rank:
            ranks[pattern] = rank
        if allow and dialect.index_html:
            slash = pattern.rfind(b"/")
            if slash >= 0 and pattern.startswith(b"/index.htm", slash):
                pattern = pattern[: slash + 1] + b"$"
                rank = _rank(number, pattern, allow, dialect)
                if ranks.get(pattern, 0) < rank:
                    ranks[pattern] = rank
    return ranks


def comparable(pattern: bytes, dialect: Dialect) -> bytes:
    """A pattern in the form in which it is compared (RFC 9309, 2.2.2)."""
    special = pattern.translate(None, _path.PLAIN)
    form = dialect.path_form
    if not special or form == "none" or (dialect.wildcards and special == b"*" * len(special)):
        return pattern
    if form == "google":
        return _google(pattern)
    return _path.normalised(pattern, _path.FORMS[form], dialect.wildcards)


def position_of(rank: int) -> int:
    """The number of the record that a rank was given to."""
    return _MOST - (rank >> 1 & _MOST)


def _rank(number: int, pattern: bytes, allow: bool, dialect: Dialect) -> int:
    base = (_MOST - number) << 1 | (allow or not pattern)  # an empty pattern forbids nothing
    match dialect.precedence:
        case "longest":
            return len(pattern) << 34 | (allow and dialect.tie == "allow") << 33 | base
        case "first":
            return base
        case "allow_first":
            return allow << 33 | base
        case "disallow_first":
            return (not allow) << 33 | base


def _google(pattern: bytes) -> bytes:
    """Hexadecimal digits of escapes in upper case, octets above 127 escaped, nothing decoded."""
    out = bytearray()
    position = 0
    while position < len(pattern):
        octet = pattern[position]
        pair = pattern[position + 1 : position + 3]
        if octet == 0x25 and len(pair) == 2 and all(digit in b"0123456789abcdefABCDEF" for digit in pair):
            out += b"%" + pair.upper()
            position += 3
            continue
        out += b"%%%02X" % octet if octet > 127 else bytes((octet,))
        position += 1
    return bytes(out)
