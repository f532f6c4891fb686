"""What of a page reaches the parser.

A parser that follows the HTML standard takes time that grows with the square of what is open at once: elements inside
of each other, formatting that is never closed, attributes of one tag, options. All of it is counted in one pass over
the tags, before the page is parsed, so that the time stays linear in the page's length. Scripts are nobody's content:
their text is taken out, but for JSON-LD.
"""

from __future__ import annotations

import re
from html import unescape
from itertools import chain

try:
    import cython
except ModuleNotFoundError:
    from comity_pages import _cython as cython

from comity_pages.errors import ExtractionFailed
from comity_pages.signals._tags import BREAKOUT

if not cython.compiled:  # compiled, it comes from the .pxd file
    from operator import getitem as char_at

MAX_SOURCE = 16 * 1024 * 1024  # characters of a page that are looked at
MAX_HTML = 4 * 1024 * 1024  # characters of a page that are read, its scripts not counted
MAX_TAGS = 500_000  # tags of a page that are read
MAX_ATTRIBUTES = 1_000  # attributes of one tag; a page with more is refused
MAX_OPEN = 1_500  # elements that may be open at once before the page is cut; people's pages reach some fifty
MAX_FORMATTING = 12  # formatting elements (`b`, `font`) that may be left open; tags of more are dropped
MAX_SHAPES = 5_000  # tags that close themselves inside of drawings; more are dropped
MAX_OPTIONS = 5_000  # options of a page; if there are more, all of their tags are dropped: a choice is no content

_ATTRIBUTE = r"""[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>]*+))?+"""
_NAME = re.compile(r"[^\s/>]*+")
_ALL_ATTRIBUTES = re.compile(rf"(?:[\s/]++|{_ATTRIBUTE})*+")
_ATTRIBUTES = re.compile(_ATTRIBUTE)
_OPTION = re.compile(r"</?opt(?:ion|group)\b[^<>]*+>?", re.IGNORECASE)
_FORMATTING = frozenset("b big code em font i nobr s small strike strong tt u".split())
# Without content, or closed by the next of their kind: they are not open one in another.
_NEVER_DEEP = frozenset(
    "area base br col embed hr img input link meta param source track wbr p li dt dd tr td th tbody thead tfoot option"
    " optgroup rp rt a".split()
)
_DRAWINGS = frozenset(("svg", "math"))
_MAX_DATA_CHARS = 512 * 1024
_MAX_DATA_TAGS = 1_000
_MAX_COMMENT_CHARS = 65_536
"""Characters of comments that are passed over; what is beyond is counted like anything else: it may be no comment."""


# What a tag's name says, as bits.
_FLAT = cython.declare(cython.int, 1)
_FORMATS = cython.declare(cython.int, 2)
_BREAKS_OUT = cython.declare(cython.int, 4)
_DRAWS = cython.declare(cython.int, 8)
_SCRIPT = cython.declare(cython.int, 16)
_CHOICE = cython.declare(cython.int, 32)
_TAG_BITS = cython.declare(dict, {})
for _names, _bit in (
    (_NEVER_DEEP, _FLAT),
    (_FORMATTING, _FORMATS),
    ((*BREAKOUT, "font"), _BREAKS_OUT),  # of SVG and MathML, in which alone `<path/>` closes itself
    (_DRAWINGS, _DRAWS),
    (("script",), _SCRIPT),
    (("option", "optgroup"), _CHOICE),
):
    for _each in _names:
        _TAG_BITS[_each] = _TAG_BITS.get(_each, 0) | _bit


class _OpenCounts:
    """What is open where a page is read: elements, formatting, drawings; and the shapes that were in drawings."""

    __slots__ = ("drawings", "elements", "formatting", "shapes")

    def __init__(self) -> None:
        self.elements = self.formatting = self.drawings = self.shapes = 0


def limit_markup(html: str, url: str) -> tuple[str, bool]:
    """The page within the limits, and whether they cut it.

    Raises:
        ExtractionFailed: a tag has more than MAX_ATTRIBUTES attributes.
    """
    cut: str = html[:MAX_SOURCE]
    still: _OpenCounts = _OpenCounts()
    count: cython.Py_ssize_t = 0
    options: cython.Py_ssize_t = MAX_OPTIONS
    removed: cython.Py_ssize_t = 0
    comments: cython.Py_ssize_t = _MAX_COMMENT_CHARS
    most_tags: cython.Py_ssize_t = MAX_TAGS
    room: cython.Py_ssize_t = MAX_HTML
    most_attributes: cython.Py_ssize_t = MAX_ATTRIBUTES
    most_open: cython.Py_ssize_t = MAX_OPEN
    size: cython.Py_ssize_t = len(cut)
    end: cython.Py_ssize_t = size
    at: cython.Py_ssize_t = 0
    start: cython.Py_ssize_t
    named: cython.Py_ssize_t
    last: cython.Py_ssize_t
    close: cython.Py_ssize_t
    known: cython.int
    slash: cython.bint
    comment: cython.bint
    first: cython.Py_UCS4
    dropped: list[tuple[int, int]] = []
    while True:
        start = cut.find("<", at)
        if start < 0 or start + 1 >= size:
            break
        at = last = start + 1
        first = char_at(cut, at)
        comment = first == "!" and cut.startswith("!--", at)
        slash = first == "/"
        named = at + slash
        if comment:
            at += 3
            last = at - 1
        elif named < size and ("a" <= char_at(cut, named) <= "z" or "A" <= char_at(cut, named) <= "Z"):
            at = _name_end(cut, named, size)
            last = _attributes_end(cut, at, size)
        else:
            continue
        count += 1
        if count > most_tags or last + (last < size) - removed > room:
            end = start
            break
        if comment:
            close = _comment_end(cut, at, at + comments)
            comments = 0 if close < 0 else comments - (close - at)
            at = max(at, close)
            continue
        if last - at > 2 * most_attributes and len(_ATTRIBUTES.findall(cut[at:last])) > MAX_ATTRIBUTES:
            raise ExtractionFailed(
                f"{url} has a tag with more than {MAX_ATTRIBUTES} attributes; it is not parsed", url=url
            )
        name = cut[named:at]
        found = _TAG_BITS.get(name)
        if found is None:
            found = _TAG_BITS.get(name.lower(), 0)
        known = found
        if known & _SCRIPT:
            kind = cut[at:last]
            at = last + (last < size)
            if not slash:
                close = _script_end(cut, at, end)
                if not _is_data(cut, kind, at, close):
                    dropped.append((at, close))
                    removed += close - at
                at = close
            continue
        if known & _CHOICE:
            options -= not slash
            if options < 0:
                kept, truncated = limit_markup(_OPTION.sub(" ", cut), url)
                return kept, truncated or len(html) > MAX_SOURCE
        if not _count_tag(still, known, slash, last > at and char_at(cut, last - 1) == "/"):
            dropped.append((start, last + (last < size)))
        at = last + (last < size)
        if still.elements > most_open:
            end = start
            break
    edges = [0, *chain.from_iterable(dropped), end]
    kept = "".join([cut[first_kept:last_kept] for first_kept, last_kept in zip(edges[::2], edges[1::2], strict=True)])
    return kept[:MAX_HTML], len(html) > MAX_SOURCE or end < size or len(kept) > MAX_HTML


@cython.cfunc
def _count_tag(still: _OpenCounts, known: cython.int, slash: cython.bint, closed: cython.bint) -> cython.bint:
    """Count a tag (an end tag: `slash`) among what is open; whether it stays. In a drawing, a slash closes it."""
    if known & _BREAKS_OUT:
        still.drawings = 0
    if known & _FLAT:
        return True
    if slash:
        still.elements -= still.elements > 0
        if known & _FORMATS:
            still.formatting -= still.formatting > 0
        elif known & _DRAWS:
            still.drawings -= still.drawings > 0
        return True
    if known & _FORMATS:
        if still.formatting >= MAX_FORMATTING:
            return False
        still.formatting += 1
    elif known & _DRAWS:
        still.drawings += 1
    if still.drawings and closed:
        still.shapes += 1
        return still.shapes <= MAX_SHAPES  # nobody reads them, and some may be no shapes but left open
    still.elements += 1
    return True


@cython.cfunc
def _comment_end(text: str, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Where a comment ends whose content begins at `at`: behind `->` or `-!>`; -1 where that is not before `end`."""
    close: cython.Py_ssize_t = text.find(">", at + 1, end)
    while close >= 0:
        if char_at(text, close - 1) == "-" or (
            char_at(text, close - 1) == "!" and close > at + 1 and char_at(text, close - 2) == "-"
        ):
            return close + 1
        close = text.find(">", close + 1, end)
    return -1


@cython.cfunc
def _script_end(text: str, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
    close: cython.Py_ssize_t = text.find("</", at)
    while close >= 0 and text[close + 2 : close + 8].lower() != "script":
        close = text.find("</", close + 2)
    return close if close >= 0 else end


@cython.cfunc
def _is_data(text: str, attributes: str, at: cython.Py_ssize_t, close: cython.Py_ssize_t) -> cython.bint:
    """Whether a script holds what is read: JSON-LD, or a formula."""
    return (
        close - at <= _MAX_DATA_CHARS
        and any(kind in unescape(attributes).lower() for kind in ("ld+json", "math/tex"))
        and text.count("<", at, close) <= _MAX_DATA_TAGS
    )


@cython.cfunc
@cython.boundscheck(False)
@cython.wraparound(False)
def _name_end(text: str, at: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.Py_ssize_t:
    if not cython.compiled:
        return _NAME.match(text, at).end()  # type: ignore[union-attr]
    char: cython.Py_UCS4
    while at < size:
        char = char_at(text, at)
        if char == ">" or char == "/" or char.isspace():
            break
        at += 1
    return at


@cython.cfunc
@cython.boundscheck(False)
@cython.wraparound(False)
def _attributes_end(text: str, at: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Where the attributes of a tag end whose name ends at `at`: at its `>`, or at the end of the text."""
    if not cython.compiled:
        return _ALL_ATTRIBUTES.match(text, at).end()  # type: ignore[union-attr]
    char: cython.Py_UCS4
    ahead: cython.Py_ssize_t
    close: cython.Py_ssize_t
    while at < size:
        char = char_at(text, at)
        if char == ">":
            return at
        at += 1
        if char == "/" or char.isspace():
            continue
        while at < size:  # an attribute's name
            char = char_at(text, at)
            if char == ">" or char == "/" or char == "=" or char.isspace():
                break
            at += 1
        ahead = at
        while ahead < size and char_at(text, ahead).isspace():
            ahead += 1
        if ahead == size or char_at(text, ahead) != "=":
            continue
        at = ahead + 1
        while at < size and char_at(text, at).isspace():
            at += 1
        if at == size:
            return at
        char = char_at(text, at)
        if char == '"' or char == "'":
            close = text.find('"' if char == '"' else "'", at + 1)
            if close >= 0:
                at = close + 1
                continue
        while at < size:
            char = char_at(text, at)
            if char == ">" or char.isspace():
                break
            at += 1
    return at
