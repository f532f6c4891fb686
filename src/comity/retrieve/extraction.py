"""HTML becomes Markdown: the page's main landmark, converted by markdownify. Nothing is run, fetched or obeyed.

A hostile page is bounded before it is parsed: characters, tags, attributes; then in depth and in time. What is over a
limit is cut and said to be, or the page is refused, so that the work ends within seconds whatever stands there.
"""

import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
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
"""Processor time after which a page is given up."""
MAX_ATTRIBUTES: Final = 1_000
"""Attributes of one tag; a page with more is refused, for a parser's time grows with their square."""

_UNREAD: Final = ("script", "style", "template", "noscript", "iframe", "object", "embed", "svg", "canvas", "head")
_ROLES: Final = ("@navigation", "@banner", "@contentinfo", "@complementary", "@search", "@dialog", "@alertdialog")
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
        seconds: processor time after which it gives up.

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
    deadline = time.thread_time() + seconds
    cut, truncated = bounded(html, url)
    try:
        soup = markdown.tree(cut)
        tags, flattened = _tags(soup)
        found, removed = hidden.in_page(soup, tags["style"])
        without = {id(tag) for tag in (*removed, *_no_content(tags))}
        content = _main(soup, tags, without)
        shell = bool(tags["script"]) and _size(content, without) < _SHELL_TEXT
        text = ""
        if convert:
            text = markdown.converted(content, _base(tags, url), without=without, deadline=deadline)
    except RecursionError:
        raise ExtractionFailed(f"{url} is nested too deep to be turned into Markdown", url=url) from None
    return Page(text, found, truncated or flattened, shell, tuple(_links(tags)))


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


def _tags(soup: "BeautifulSoup") -> "tuple[defaultdict[str, list[Tag]], bool]":
    """All tags by name, and by role as `@name`, in the page's order; and whether it was cut at MAX_DEPTH."""
    from bs4 import Tag

    found: defaultdict[str, list[Tag]] = defaultdict(list)
    cut = False
    stack: list[tuple[Tag, int]] = [(soup, 0)]
    while stack:
        node, depth = stack.pop()
        found[node.name].append(node)
        if "role" in node.attrs:
            found["@" + str(node.attrs["role"]).strip().lower()].append(node)
        children = [child for child in node.contents if isinstance(child, Tag)]
        if depth < MAX_DEPTH:
            stack.extend((child, depth + 1) for child in reversed(children))
        elif children:
            node.clear()
            cut = True
    return found, cut


def _no_content(tags: "Mapping[str, list[Tag]]") -> "Iterator[Tag]":
    """Scripts and the like, the landmarks of navigation, and links beside headings to themselves."""

    def every(*names: str) -> "Iterator[Tag]":
        return (tag for name in names for tag in tags.get(name, ()))

    def around(*names: str) -> set[int]:
        return {id(parent) for tag in every(*names) for parent in tag.parents}

    yield from every(*_UNREAD)
    content = around("main", "article", "@main")
    yield from (tag for tag in every("nav", "aside", "footer", "dialog") if id(tag) not in content)
    prose = around("main", "article", "@main", "h1", "h2", "p")  # some servers put whole pages into a form
    yield from (tag for tag in every("form") if id(tag) not in prose)
    titled = around("main", "article", "@main", "h1")
    for tag in every("header"):
        if id(tag) not in titled and tag.find_parent(("main", "article")) is None:
            yield tag
    yield from (tag for tag in every(*_ROLES) if tag.name not in ("html", "body"))
    for tag in every("a"):
        if "#" in str(tag.attrs.get("href", "")) and (tag.string or "").strip() in _PERMALINKS:
            yield tag


def _main(soup: "BeautifulSoup", tags: "Mapping[str, list[Tag]]", without: set[int]) -> "Tag":
    """The main landmark, or the only article, if it holds a good part of the text; else the body."""
    body = soup.body or soup
    enough = _size(body, without) / 4
    for found in (tags.get("main") or tags.get("@main", []), tags.get("article", [])):
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


def _links(tags: "Mapping[str, list[Tag]]") -> "Iterator[tuple[str, str, str]]":
    for tag in tags.get("link", [])[:1000]:
        rel = tag.attrs.get("rel", "")
        yield (
            rel if isinstance(rel, str) else " ".join(rel),
            str(tag.attrs.get("type", "")),
            str(tag.attrs.get("href", "")),
        )


def _base(tags: "Mapping[str, list[Tag]]", url: str) -> urls.Base:
    stated = next((str(tag.attrs["href"]) for tag in tags.get("base", ()) if "href" in tag.attrs), None)
    return urls.Base((urls.join(url, stated) if stated is not None else None) or url)
