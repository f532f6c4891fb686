"""`Link` header fields (RFC 8288): the typed links a site states in HTTP.

It reads what is written and resolves nothing; a part that is malformed is skipped and the rest is used.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

_PARAMETER = re.compile(
    r"""[ \t]*+;[ \t]*+(?:(?P<name>[^\s=;,<>"]++)[ \t]*+"""
    r"""(?:=[ \t]*+(?:"(?P<quoted>(?:[^"\\]|\\.)*+)"?|(?P<bare>[^;,]*+)))?+)?+""",
    re.DOTALL,
)
_WORD = re.compile(r"[^\t\n\f\r ]+")
MAX_HEADER_LINKS = 1000
MAX_CACHED_REL_CHARS = 64  # characters of a `rel` that is worth remembering


@dataclass(frozen=True, slots=True)
class HeaderLink:
    """One link of a `Link` header: the reference as written, its relation types and its parameters.

    `rel` is lower-cased; `parameters` holds the first of each name, lower-cased names, `title*` decoded as `title`.
    """

    reference: str
    rel: tuple[str, ...]
    parameters: dict[str, str]


def parse_link_headers(fields: Iterable[str]) -> tuple[HeaderLink, ...]:
    """The links of all `Link` fields, in order, at most `MAX_HEADER_LINKS` (RFC 8288, appendix B.2)."""
    found: list[HeaderLink] = []
    for field in fields:
        position = 0
        while len(found) < MAX_HEADER_LINKS:
            start = field.find("<", position)
            if start < 0:
                break
            end = field.find(">", start)
            if end < 0:
                break
            parameters, position = _parameters(field, end + 1)
            rel = relation_types(parameters.get("rel", ""))
            found.append(HeaderLink(field[start + 1 : end].strip(), rel, parameters))
    return tuple(found)


def relation_types(rel: str) -> tuple[str, ...]:
    """The relation types in a `rel`, lower-cased, each once; ASCII white space alone separates them (HTML, 2.3.7)."""
    return _cached_words(rel) if len(rel) <= MAX_CACHED_REL_CHARS else _words(rel)


def _words(rel: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_WORD.findall(rel.lower())))


_cached_words = lru_cache(1024)(_words)  # a few are on every page


def _parameters(field: str, position: int) -> tuple[dict[str, str], int]:
    """The parameters from `position` up to the comma that ends the link, and where the next link may begin."""
    found: dict[str, str] = {}
    while (parameter := _PARAMETER.match(field, position)) is not None:
        position = parameter.end()
        name, quoted, bare = parameter.groups()
        value = re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL) if quoted is not None else (bare or "").strip()
        if name is not None and name.lower() == "title*":
            found["title"] = _decode_extended(value)
        elif name is not None:
            found.setdefault(name.lower(), value)
    comma = field.find(",", position)
    return found, len(field) if comma < 0 else comma + 1


def _decode_extended(value: str) -> str:
    """RFC 8187: `UTF-8'en'%e2%82%ac`."""
    charset, _, rest = value.partition("'")
    encoding = "latin-1" if charset.lower() == "iso-8859-1" else "utf-8"
    return unquote(rest.partition("'")[2], encoding=encoding, errors="replace")
