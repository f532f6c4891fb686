"""The media type that a `Content-Type` header states, also where the header came twice or damaged.

Source: Fetch, "extract a MIME type", and the MIME Sniffing standard, "parse a MIME type". It decides from the header
alone and never looks at the body.
"""

import re
from functools import lru_cache
from typing import NamedTuple

MAX_CHARS = 8_192  # characters read of one header
XHTML_TYPES = ("application/xhtml+xml", "application/vnd.wap.xhtml+xml")
HTML_TYPES = ("text/html", *XHTML_TYPES)

_VALUE = re.compile(r'(?:[^",]|"(?:[^"\\]|\\.)*+(?:"|\\?\Z))*+', re.DOTALL)
_ESSENCE = re.compile(r"[\t\n\r ]*+([!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+)[\t\n\r ]*+(?=;|\Z)")
# Wider than the standard where sites are: white space around `=`, apostrophes for quotation marks.
_PARAMETER = re.compile(
    r"""[\t\n\r ]*+;[\t\n\r ]*+([^;=]*)(?:=[\t\n\r ]*+(?:"((?:[^"\\]|\\.)*+)"?[^;]*|'([^';]*)'|([^;]*)))?""", re.DOTALL
)


class MediaType(NamedTuple):
    """`essence` is type and subtype in lower case; `charset` is a label as written, None where none is stated."""

    essence: str
    charset: str | None = None


def essence(content_type: str | None) -> str:
    """The media type of a header, in lower case and without parameters; empty where it states none."""
    stated = extract(content_type) if content_type else None
    return stated.essence if stated is not None else ""


@lru_cache(maxsize=128)  # a site says the same of all its pages
def extract(content_type: str) -> MediaType | None:
    """The media type of a header, repeated ones joined by commas; None where no part of it is one.

    The last part that is a media type counts. A part that repeats the one before it keeps its charset.
    """
    found: MediaType | None = None
    for value in _VALUE.findall(content_type[:MAX_CHARS]):
        stated = _parse(value)
        if stated is None or stated.essence == "*/*":
            continue
        if found is not None and found.essence == stated.essence and stated.charset is None:
            stated = found
        found = stated
    return found


def _parse(value: str) -> MediaType | None:
    essence = _ESSENCE.match(value)
    if essence is None:
        return None
    position = essence.end()
    while parameter := _PARAMETER.match(value, position):
        position = parameter.end()
        if parameter[1].strip().lower() == "charset":
            quoted, apostrophes, bare = parameter[2], parameter[3], parameter[4]
            label = re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL) if quoted is not None else apostrophes or bare
            if label and label.strip():
                return MediaType(essence[1].lower(), label.strip())  # the first one counts
    return MediaType(essence[1].lower())
