"""What of a page reaches the parser.

A parser that follows the HTML standard takes time that grows with the square of what is open at once: elements inside
of each other, formatting that is never closed, attributes of one tag, options. All of it is counted in one pass over
the tags, before the page is parsed, so that the time stays linear in the page's length. Scripts are nobody's content:
their text is taken out, but for JSON-LD.
"""

from __future__ import annotations

import re
from typing import Final

from comity.errors import ExtractionFailed

MAX_SOURCE: Final = 16 * 1024 * 1024
"""Characters of a page that are looked at."""
MAX_HTML: Final = 4 * 1024 * 1024
"""Characters of a page that are read, its scripts not counted."""
MAX_TAGS: Final = 100_000
"""Tags of a page that are read."""
MAX_ATTRIBUTES: Final = 1_000
"""Attributes of one tag; a page with more is refused."""
MAX_OPEN: Final = 1_500
"""Elements that may be open at once before the page is cut; people's pages reach some fifty."""
MAX_FORMATTING: Final = 12
"""Formatting elements (`b`, `font`) that may be left open; tags of more are dropped."""
MAX_SHAPES: Final = 5_000
"""Tags that close themselves inside of drawings; more are dropped."""
MAX_OPTIONS: Final = 5_000
"""Options of a page; if there are more, all of their tags are dropped: a choice is no content."""

_ATTRIBUTE: Final = r"""[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>]*+))?+"""
_TAG: Final = re.compile(rf"<(?:(!--)|(/?)([a-zA-Z][^\s/>]*+)((?:[\s/]++|{_ATTRIBUTE})*+)>?)")
_COMMENT_END: Final = re.compile(r"-?-!?>")
_SCRIPT_END: Final = re.compile(r"</script", re.IGNORECASE)
_ATTRIBUTES: Final = re.compile(_ATTRIBUTE)
_OPTION: Final = re.compile(r"</?opt(?:ion|group)\b[^<>]*+>?", re.IGNORECASE)
_FORMATTING: Final = frozenset(
    ["b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"]
)
# Without content, or closed by the next of their kind: they are not open one in another.
_NEVER_DEEP: Final = frozenset(
    [
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
        "p",
        "li",
        "dt",
        "dd",
        "tr",
        "td",
        "th",
        "tbody",
        "thead",
        "tfoot",
        "option",
        "optgroup",
        "rp",
        "rt",
        "a",
    ]
)
# Tags that end SVG or MathML (HTML, 13.2.6.5), in which alone `<path/>` closes itself.
_BREAKOUT: Final = frozenset(
    "b big blockquote body br center code dd div dl dt em embed font h1 h2 h3 h4 h5 h6 head hr i img li listing menu"
    " meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var".split()
)
_DRAWINGS: Final = frozenset(("svg", "math"))
_LONGEST_DATA: Final = 512 * 1024
_MOST_IN_DATA: Final = 1_000
_COMMENTS: Final = 65_536
"""Characters of comments that are passed over; what is beyond is counted like anything else: it may be no comment."""


def bounded(html: str, url: str) -> tuple[str, bool]:
    """The page within the limits, and whether they cut it.

    Raises:
        ExtractionFailed: a tag has more than MAX_ATTRIBUTES attributes.
    """
    cut = html[:MAX_SOURCE]
    if cut.count("<opt") + cut.count("<OPT") > MAX_OPTIONS:
        cut = _OPTION.sub(" ", cut)
    opened = formatting = drawings = shapes = at = count = removed = 0
    comments = _COMMENTS
    dropped: list[tuple[int, int]] = []
    end = len(cut)
    again = True
    while again:
        again = False
        for tag in _TAG.finditer(cut, at):
            at = tag.end()
            count += 1
            if count > MAX_TAGS or at - removed > MAX_HTML:
                end = tag.start()
                break
            comment, slash, name, attributes = tag.groups()
            if comment:
                closed = _COMMENT_END.search(cut, at, at + comments)
                if closed is None:
                    comments = 0
                    continue
                comments -= closed.end() - at
                at = closed.end()
                again = True
                break
            if len(attributes) > 2 * MAX_ATTRIBUTES and len(_ATTRIBUTES.findall(attributes)) > MAX_ATTRIBUTES:
                raise ExtractionFailed(
                    f"{url} has a tag with more than {MAX_ATTRIBUTES} attributes; it is not parsed", url=url
                )
            name = name.lower()
            if drawings and name in _BREAKOUT:
                drawings = 0
            if name in _NEVER_DEEP:
                continue
            if name == "script":
                if slash:
                    continue
                closed = _SCRIPT_END.search(cut, at)
                close = closed.start() if closed is not None else end
                data = "ld+json" in attributes and close - at <= _LONGEST_DATA
                if not data or cut.count("<", at, close) > _MOST_IN_DATA:
                    dropped.append((at, close))
                    removed += close - at
                at = close
                again = True
                break
            if slash:
                opened -= opened > 0
                if name in _FORMATTING:
                    formatting -= formatting > 0
                elif name in _DRAWINGS:
                    drawings -= drawings > 0
                continue
            if name in _FORMATTING:
                if formatting >= MAX_FORMATTING:
                    dropped.append((tag.start(), at))
                    continue
                formatting += 1
            elif name in _DRAWINGS:
                drawings += 1
            if drawings and attributes.endswith("/"):
                shapes += 1
                if shapes > MAX_SHAPES:  # nobody reads them, and some may be no shapes but left open
                    dropped.append((tag.start(), at))
                continue
            opened += 1
            if opened > MAX_OPEN:
                end = tag.start()
                break
    kept = _without(cut[:end], dropped)
    return kept[:MAX_HTML], len(html) > MAX_SOURCE or end < len(cut) or len(kept) > MAX_HTML


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    """The text without these spans of it, which are in order and do not overlap."""
    parts = []
    at = 0
    for start, end in spans:
        parts.append(text[at:start])
        at = end
    parts.append(text[at:])
    return "".join(parts)
