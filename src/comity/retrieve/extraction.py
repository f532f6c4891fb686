"""HTML becomes Markdown: the page's main landmark, converted by markdownify. Nothing is run, fetched or obeyed.

A hostile page is bounded before it is parsed: characters, tags, attributes; then in depth and in time. What is over a
limit is cut and said to be, or the page is refused, so that the work ends within seconds whatever stands there.
"""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from comity import urls
from comity.errors import ExtractionFailed, MissingExtra
from comity.retrieve import hidden
from comity.retrieve.hidden import HiddenText

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

MAX_HTML: Final = 4 * 1024 * 1024
"""Characters of a page that are read."""
MAX_TAGS: Final = 100_000
"""Tags of a page that are read."""
MAX_DEPTH: Final = 128
"""Levels of nesting that are read; what is deeper is cut off."""
SECONDS: Final = 10.0
"""Time after which a page is given up."""
MAX_ATTRIBUTES: Final = 1_000
"""Attributes of one tag; a page with more is refused, for a parser's time grows with their square."""

_UNREAD: Final = ("script", "style", "template", "noscript", "iframe", "object", "embed", "svg", "canvas", "head")
_LANDMARKS: Final = ("nav", "aside", "footer", "dialog", "form")
_ROLES: Final = frozenset(("navigation", "banner", "contentinfo", "complementary", "search", "dialog", "alertdialog"))
_CONTENT: Final = ("main", "article")
_PERMALINKS: Final = frozenset(("¶", "#", "§", "\N{LINK SYMBOL}"))  # beside a heading, for people to copy
_SHELL_TEXT: Final = 200
_LONG_TAG: Final = re.compile(r"<[a-zA-Z][^<>]{4000,}+")
_ATTRIBUTE_MARK: Final = re.compile(r"[\s/=]+")


@dataclass(frozen=True, slots=True)
class Page:
    """What was taken from an HTML page.

    Attributes:
        markdown: of its main content.
        licences: relation types, media type and reference of its `link` elements.
        hidden: text that a person would not see.
        truncated: whether a limit cut the page.
        javascript_shell: whether it shows next to nothing without running its scripts.
    """

    markdown: str
    hidden: tuple[HiddenText, ...]
    truncated: bool
    javascript_shell: bool
    licences: tuple[tuple[str, str, str], ...] = ()


def read(html: str, url: str, *, convert: bool = True, seconds: float = SECONDS) -> Page:
    """Take Markdown and the rest from a page.

    Args:
        html: the page as text.
        url: where it was served; relative links start here or at its `<base>`.
        convert: False leaves the Markdown empty, for callers that have their own converter.
        seconds: time after which it gives up.

    Raises:
        MissingExtra: the libraries of `comity[retrieve]` are not installed.
        ExtractionFailed: the page is built to exhaust a parser.
    """
    try:
        from comity.retrieve import markdown
    except ImportError as error:
        raise MissingExtra(
            f"HTML cannot be turned into Markdown: {error.name} is not installed",
            hint="pip install 'comity[retrieve]'",
        ) from None
    deadline = time.monotonic() + seconds
    cut, truncated = bounded(html, url)
    try:
        soup = markdown.tree(cut)
        truncated |= _flattened(soup)
        found, removed = hidden.in_page(soup)
        without = {id(tag) for tag in (*removed, *_no_content(soup))}
        content = _main(soup, without)
        shell = soup.find("script") is not None and _size(content, without) < _SHELL_TEXT
        text = ""
        if convert:
            text = markdown.converted(content, _base(soup, url), without=without, deadline=deadline)
    except RecursionError:
        raise ExtractionFailed(f"{url} is nested too deep to be turned into Markdown", url=url) from None
    return Page(text, found, truncated, shell, tuple(_links(soup)))


def bounded(html: str, url: str) -> tuple[str, bool]:
    """The page within MAX_HTML and MAX_TAGS, and whether that cut it.

    Raises:
        ExtractionFailed: a tag has more than MAX_ATTRIBUTES attributes.
    """
    cut = html[:MAX_HTML]
    parts = cut.split("<", MAX_TAGS + 1)
    if len(parts) > MAX_TAGS + 1:
        cut = cut[: len(cut) - len(parts[-1]) - 1]
    for tag in _LONG_TAG.finditer(cut):
        if len(_ATTRIBUTE_MARK.split(tag[0])) > 2 * MAX_ATTRIBUTES:
            raise ExtractionFailed(
                f"{url} has a tag with more than {MAX_ATTRIBUTES} attributes; it is not parsed", url=url
            )
    return cut, len(cut) < len(html)


def _flattened(soup: "BeautifulSoup") -> bool:
    """Cut off what is nested deeper than MAX_DEPTH; whether anything was."""
    from bs4 import Tag

    cut = False
    stack: list[tuple[Tag, int]] = [(soup, 0)]
    while stack:
        node, depth = stack.pop()
        children = [child for child in node.contents if isinstance(child, Tag)]
        if depth < MAX_DEPTH:
            stack.extend((child, depth + 1) for child in children)
        elif children:
            node.clear()
            cut = True
    return cut


def _no_content(soup: "BeautifulSoup") -> "Iterator[Tag]":
    """Scripts and the like, the landmarks of navigation, and links beside headings to themselves."""
    yield from soup.find_all(_UNREAD)
    holders = {id(parent) for tag in soup.find_all(_CONTENT) for parent in tag.parents}
    titled = {id(parent) for tag in soup.find_all("h1") for parent in tag.parents}
    for tag in soup.find_all((*_LANDMARKS, "header")):
        header = tag.name == "header"
        if id(tag) in holders or (header and (id(tag) in titled or tag.find_parent(_CONTENT) is not None)):
            continue
        yield tag
    for tag in soup.find_all("a", href=True):
        if tag.string is not None and tag.string.strip() in _PERMALINKS and "#" in str(tag.attrs["href"]):
            yield tag
    for tag in soup.find_all(role=True):
        if str(tag.attrs["role"]).strip().lower() in _ROLES and tag.name not in ("html", "body"):
            yield tag


def _main(soup: "BeautifulSoup", without: set[int]) -> "Tag":
    """The main landmark, or the only article, if it holds a good part of the text; else the body."""
    body = soup.body or soup
    enough = _size(body, without) / 4
    for found in (soup.find_all("main") or soup.find_all(True, attrs={"role": "main"}), soup.find_all("article")):
        if len(found) == 1 and id(found[0]) not in without and _size(found[0], without) >= enough:
            return found[0]
    return body


def _size(content: "Tag", without: set[int]) -> int:
    """Characters of text in an element, white space around them and what is left out not counted."""
    from bs4 import Comment, Tag

    size = 0
    stack = [content]
    while stack:
        for child in stack.pop().contents:
            if isinstance(child, Tag):
                if id(child) not in without:
                    stack.append(child)
            elif not isinstance(child, Comment):
                size += len(str(child).strip())
    return size


def _links(soup: "BeautifulSoup") -> "Iterator[tuple[str, str, str]]":
    for tag in soup.find_all("link", rel=True, href=True, limit=1000):
        rel = tag.attrs["rel"]
        yield rel if isinstance(rel, str) else " ".join(rel), str(tag.attrs.get("type", "")), str(tag.attrs["href"])


def _base(soup: "BeautifulSoup", url: str) -> urls.Base:
    tag = soup.find("base", href=True)
    stated = urls.join(url, str(tag.attrs["href"])) if tag is not None else None
    return urls.Base(stated or url)
