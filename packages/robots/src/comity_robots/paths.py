"""Which URLs a path pattern of a preference covers: as robots.txt patterns do, by robots.txt's own engine.

The AIPREF drafts, TDMRep and RSL all refer to RFC 9309, 2.2.2 and 2.2.3 for it.
"""

import re
from dataclasses import dataclass
from typing import Final

from comity_robots.dialects import DIALECTS, Dialect
from comity_robots.engine import covers, path_of
from comity_robots.engine.reference import FORMS, comparable, is_exempt

RFC9309: Final = DIALECTS["rfc9309"]
_BLANK: Final = re.compile(r"[ \t]+")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A path pattern in the form in which it is compared; its length is what longest-match counts."""

    octets: bytes
    wildcards: bool = True

    def covers(self, path: bytes) -> bool:
        """Whether it covers a path given by `target`; an empty pattern covers nothing."""
        return bool(self.octets) and covers(self.octets, path, self.wildcards)


def pattern(text: str, dialect: Dialect = RFC9309) -> Pattern:
    """A pattern as written, made comparable."""
    return Pattern(comparable(text.encode("utf-8", "surrogatepass"), dialect), dialect.wildcards)


def target(url: str, dialect: Dialect = RFC9309) -> bytes:
    """Path and query of a URL, or of a bare path, in the form in which patterns are compared with it."""
    return path_of(url, FORMS[dialect.path_form], dialect.semicolon_path)


def is_robots_txt(url: str) -> bool:
    """Whether a URL leads to a robots.txt, which may always be fetched (RFC 9309, 2.2.2)."""
    return url.endswith("robots.txt") and is_exempt(path_of(url, FORMS["none"], False), True)


def split(value: str) -> tuple[str | None, str]:
    """The optional path in front of a preference, and the preference.

    Source: draft-ietf-aipref-attach, "Processing Content-Usage Rules".
    """
    value = value.strip(" \t")
    if not value.startswith("/"):
        return None, value
    path, *rest = _BLANK.split(value, maxsplit=1)
    return path, rest[0] if rest else ""
