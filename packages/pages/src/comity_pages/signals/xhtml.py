"""A page that is served as XHTML, for readers of HTML: there, `<script/>` would be without an end."""

import re
from html import escape
from typing import Final

from comity_pages.signals.content_type import XHTML_TYPES, essence

_MARKUP: Final = re.compile(
    r"""<!--|<!\[CDATA\[|<(?P<name>[A-Za-z][^\s/<>"']*+)(?P<rest>(?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+)>"""
)
_VOID: Final = frozenset("area base br col embed hr img input link meta param source track wbr".split())


def is_xhtml(content_type: str | None) -> bool:
    """Whether a page is served as XHTML."""
    return essence(content_type) in XHTML_TYPES


def as_html(text: str) -> str:
    """XHTML as HTML says it: each element has an end tag but those that never have one, and CDATA is text."""
    parts: list[str] = []
    at = 0
    raw = False  # within a script or a style
    while (found := _MARKUP.search(text, at)) is not None:
        parts.append(text[at : found.start()])
        at = found.end()
        if name := found["name"]:
            empty = found["rest"].endswith("/") and name.lower() not in _VOID
            parts.append(f"<{name}{found['rest'][:-1]}></{name}>" if empty else found[0])
            raw = name.lower() in ("script", "style") and not empty
            continue
        ends = "-->" if found[0] == "<!--" else "]]>"
        end = text.find(ends, at)
        inner = text[at : end if end >= 0 else len(text)]
        at = end + len(ends) if end >= 0 else len(text)
        parts.append(f"<!--{inner}-->" if ends == "-->" else inner if raw else escape(inner))
    return "".join((*parts, text[at:]))
