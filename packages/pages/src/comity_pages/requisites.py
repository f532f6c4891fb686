"""What a page needs to look as it does: images, style sheets and what they import, fonts, scripts, posters.

A page or a style sheet is handed in, and nothing is asked for. What scripts ask for by themselves is not known here,
and what frames show are pages of their own.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from comity_pages import urls
from comity_pages.errors import ExtractionFailed
from comity_pages.html.bounds import limit_markup
from comity_pages.html.css import COMMENT
from comity_pages.signals import encodings
from comity_pages.signals.links import MAX_URL_LENGTH

MAX_REQUISITES: Final = 1_000  # of one page or sheet
MAX_SHEET_CHARACTERS: Final = 4 * 1024 * 1024  # characters of a style sheet that are read
_LAZY: Final = ("data-src", "data-lazy-src", "data-original")  # from which scripts take what comes into view
_LAZY_SETS: Final = ("data-srcset", "data-lazy-srcset")
_NAMED: Final = {
    "img": (("src", *_LAZY), ("srcset", *_LAZY_SETS)),
    "source": ((), ("srcset", *_LAZY_SETS)),
    "script": (("src",), ()),
    "video": (("poster",), ()),
    "input": (("src",), ()),
    "image": (("href", "xlink:href"), ()),
    "use": (("href", "xlink:href"), ()),
    "link": (("href",), ("imagesrcset",)),
    "object": (("data",), ()),
    "embed": (("src",), ()),
}
"""By element, the attributes that hold a URL, and those that hold several (HTML, 4.8.4.2.1)."""
_RELATIONS: Final = frozenset(("stylesheet", "icon", "apple-touch-icon", "mask-icon", "preload", "modulepreload"))
_WANTED: Final = f"{', '.join(_NAMED)}, style, [style], [background]"
_CANDIDATE: Final = re.compile(r"([^\s,]\S*+)(?:(?<=,)|[^,]*+)")
_REFERENCE: Final = re.compile(
    r"""\burl\(\s*+(?:"([^"\n]*+)"|'([^'\n]*+)'|([^\s"'()]*+))"""
    r"""|(?:@import|\bimage-set\()\s*+(?:"([^"\n]*+)"|'([^'\n]*+)')"""
    r"""|(?:"([^"\n]*+)"|'([^'\n]*+)')(?=\s++(?:[\d.]++(?:x|dp)|type\())""",  # the others of an image-set
    re.IGNORECASE,
)


def of_page(body: bytes, url: str, *, base: str, encoding: str) -> tuple[str, ...]:
    """URLs of what an HTML page needs, each once, in normal form; none of a page that is built to exhaust a parser.
    `base`, `encoding`: as of `links.Page`."""
    try:
        html = limit_markup(encodings.to_utf8(body, encoding).decode("utf-8", "replace"), url)[0]
    except ExtractionFailed:
        return ()
    tree = LexborHTMLParser(html)
    for node in tree.css("noscript, template"):  # what is shown in the place of scripts, which run
        node.decompose()
    return _joined(base, (reference for node in tree.css(_WANTED) for reference in _of_node(node)))


def of_sheet(body: bytes, url: str, content_type: str | None) -> tuple[str, ...]:
    """URLs of what a style sheet imports and shows, each once, in normal form."""
    text = encodings.to_utf8(body, encodings.of_header(content_type) or "utf-8").decode("utf-8", "replace")
    return _joined(url, _of_css(text))


def _of_node(node: LexborNode) -> Iterator[str]:
    name, attributes = node.tag or "", node.attributes
    if name == "style":
        yield from _of_css(node.text())
    yield from _of_css(attributes.get("style") or "")
    yield attributes.get("background") or ""
    if name == "link" and _RELATIONS.isdisjoint((attributes.get("rel") or "").lower().split()):
        return
    if name == "input" and (attributes.get("type") or "").strip().lower() != "image":
        return
    if name in ("object", "embed") and not (attributes.get("type") or "").strip().lower().startswith("image/"):
        return
    single, several = _NAMED.get(name, ((), ()))
    for attribute in single:
        yield attributes.get(attribute) or ""
    for attribute in several:
        yield from (found.rstrip(",") for found in _CANDIDATE.findall(attributes.get(attribute) or ""))


def _of_css(text: str) -> Iterator[str]:
    """The references of CSS (CSS Values 4, 4.5; CSS Cascade 5, 2), but for what stands in comments."""
    for match in _REFERENCE.finditer(COMMENT.sub(" ", text[:MAX_SHEET_CHARACTERS])):
        yield next((found for found in match.groups() if found is not None), "")


def _joined(base: str, references: Iterable[str]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for reference in map(str.strip, references):
        if not reference or reference.startswith(("#", "data:")) or len(reference) > MAX_URL_LENGTH:
            continue
        url = urls.join(base, reference)
        if url is not None and len(url) <= MAX_URL_LENGTH:
            found[url] = None
        if len(found) >= MAX_REQUISITES:
            break
    return tuple(found)
