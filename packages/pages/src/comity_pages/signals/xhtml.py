"""A page that is served as XHTML, for readers of HTML: there, `<script/>` would be without an end."""

import re
from html import escape
from typing import Final

from comity_pages.signals.content_type import XHTML_TYPES, essence

_MARKUP: Final = re.compile(
    r"""<!--(?P<comment>.*?)(?:-->|\Z)|<!\[CDATA\[(?P<data>.*?)(?:\]\]>|\Z)"""
    r"""|<(?P<name>[A-Za-z][^\s/<>"']*+)(?P<rest>(?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+)>""",
    re.DOTALL,
)
_XML_TYPES: Final = ("text/xml", "application/xml")
_COMMENT: Final = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_FIRST_TAG: Final = re.compile(rb"<[A-Za-z_][^<>]*+>")
_ROOT: Final = re.compile(rb"""<html(?=\s)[^<>]*["']http://www\.w3\.org/1999/xhtml["']""")
_MAX_ROOT_BYTES: Final = 4096  # octets of a document in which its first tag is looked for
_VOID: Final = frozenset("area base br col embed hr img input link meta param source track wbr".split())


def is_xhtml(body: bytes | str, content_type: str | None) -> bool:
    """Whether a page is served as XHTML, also as XML of whose names the first is XHTML's `html`."""
    media_type = essence(content_type)
    if media_type not in _XML_TYPES:
        return media_type in XHTML_TYPES
    head = body[:_MAX_ROOT_BYTES]
    octets = head.encode("utf-8", "replace") if isinstance(head, str) else head.replace(b"\0", b"")  # of UTF-16
    first = _FIRST_TAG.search(_COMMENT.sub(b"", octets))
    return first is not None and _ROOT.match(first[0]) is not None


def as_html(text: str) -> str:
    """XHTML as HTML says it: each element has an end tag but those that never have one, and CDATA is text."""
    raw = False  # within a script or a style

    def changed(found: re.Match[str]) -> str:
        nonlocal raw
        if name := found["name"]:
            empty = found["rest"].endswith("/") and name.lower() not in _VOID
            raw = name.lower() in ("script", "style") and not empty
            return f"<{name}{found['rest'][:-1]}></{name}>" if empty else found[0]
        if found["data"] is None:
            return f"<!--{found['comment']}-->"
        return found["data"] if raw else escape(found["data"])

    return _MARKUP.sub(changed, text)
