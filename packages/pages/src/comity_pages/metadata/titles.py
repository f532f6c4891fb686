"""What a page is called: its heading where that says the same as its head, or enough of it; without the site's name.

Of people's own titles for 1,497 pages, 0.79 are what is read here; trees that were asked to choose among all places and
parts of titles reached 0.80 on pages they had not seen, so that most of the rest is a matter of taste.
"""

import re
from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

from comity_pages.html.tree import Node, Text, Tree
from comity_pages.metadata import json_ld
from comity_pages.metadata.json_ld import clean_text
from comity_pages.metadata.page import MAX_FIELD, Field, Page, field

_SPACE: Final = r"(?<!\s)\s++"  # from where it begins: no space is looked at from each of its characters
_SEPARATOR: Final = re.compile(rf"{_SPACE}[|\-–—·•»›:~]{{1,2}}\s++|(?:{_SPACE})?+[|»›]\s*+|:\s++(?=[A-Z])")
_BAR: Final = re.compile(rf"{_SPACE}[|»·•]\s++|(?:{_SPACE})?+\|\s*+")
_GLYPH: Final = "[\\s¶§#\u200b-\u200f\u2060\ufeff\ue000-\uf8ff\U0001f517]"
_GLYPHS: Final = re.compile(f"(?<!{_GLYPH}){_GLYPH}++$|^[¶§#\\s]+")
"""What stands at the end of a heading for people to copy its address, and letters of icon fonts."""
_MESSAGE_COUNT: Final = re.compile(r"^\(\d+\+?\)\s+")  # how many messages a visitor has
_HOME_TITLES: Final = frozenset(("home", "homepage", "index", "startseite", "accueil", "inicio", "welcome"))
_NO_WORD: Final = re.compile(r"\W+")
_WORD: Final = re.compile(r"\w+")
_SUBDOMAINS: Final = frozenset(("www", "blog", "docs", "en", "m", "shop"))
# Of a heading: the share of its words that stand in what the head states as the title, and the fewest words where the
# share is smaller.
_MIN_SHARED_WORDS: Final = 0.75
_MIN_SHARED_WORDS_OF_LONG: Final = 0.34
_MIN_LONG_WORDS: Final = 3
_MAX_HEADINGS: Final = 60
_MAX_H1: Final = 20
_LABEL: Final = re.compile(r"(?:^|\s)(?:label|ipsBadge)")


def find_title(page: Page) -> tuple[Field | None, Node | None]:
    """The title of a page and where it stands, and its heading."""
    tree, metas = page.tree, page.metas
    node = next((each for each in tree.by_name.get("title", ()) if not is_inside(each, {"svg"})), None)
    stated = _MESSAGE_COUNT.sub("", clean_text(node.text())[:MAX_FIELD]) if node is not None else ""
    og = (metas.get("og:title", "") or metas.get("twitter:title", ""))[:MAX_FIELD]
    sites = tuple(each for each in (_flatten(page.site.value if page.site else ""), _host(page.url)) if each)
    if (chosen := _heading(page, stated, og, sites)) is not None:
        chosen = _below_site(page, chosen, stated)
        text = _text_of(chosen, page.hidden)
        return field(_without_site(text, sites) or text, "heading"), chosen
    texts = {node: _text_of(node, page.hidden) for node in _headings(tree)}
    named = next((node for node, text in texts.items() if text and _flatten(text) in _flatten(f"{stated} {og}")), None)
    if og:
        return field(_first_part(_without_site(og, sites) or og), "meta"), named
    if stated:
        return field(_first_part(_without_site(stated, sites) or stated), "title"), named
    for entry in json_ld.of_types(page.data, json_ld.ARTICLES):
        if name := next(json_ld.words(entry.get("headline")), ""):
            return field(name, "json-ld"), named
    named = next((node for node, text in texts.items() if node.name == "h1" and text), None)
    return field(texts[named] if named else "", "heading"), named


def _headings(tree: Tree) -> list[Node]:
    """The headings that may be the page's, those of the first level first."""
    lower = [node for node in tree.headings[:_MAX_HEADINGS] if node.name in ("h2", "h3")]
    return [*tree.by_name.get("h1", ())[:_MAX_H1], *lower]


def _heading(page: Page, stated: str, og: str, sites: tuple[str, ...]) -> Node | None:
    """The heading of the first level that says what the head states as the title, or enough of it."""
    about = set(_WORD.findall(f"{stated} {og}".lower()))
    first = _flatten(_split_bars(stated)[0])
    best: Node | None = None
    some: Node | None = None
    most = 0
    for number, heading in enumerate(page.tree.by_name.get("h1", ())[:_MAX_H1]):
        text = _text_of(heading, page.hidden)
        words = _WORD.findall(text.lower())
        if not words or len(text) > 300 or _flatten(text) in (*sites, *_HOME_TITLES):
            continue
        if _flatten(text) == first:
            return heading
        common = sum(word in about for word in words) / len(words)
        if common >= _MIN_SHARED_WORDS and len(words) * common > most and (len(words) > 1 or len(about) < 6):
            best = heading
            most = len(words)
        if not some and number < 2 and len(words) >= _MIN_LONG_WORDS and common >= _MIN_SHARED_WORDS_OF_LONG:
            some = heading  # worded for the reader, where the head is worded for search engines
    return best or some


def _text_of(heading: Node, hidden: set[Node]) -> str:
    """The words of a heading without what is to be clicked, a label of what it is about, or a time."""
    inner = heading.descendants()
    apart = [node for node in inner if node.name == "time" or _LABEL.search(node.attributes.get("class", ""))]
    text = _GLYPHS.sub("", clean_text(visible_text(heading, hidden.union(apart) if apart else hidden)))
    return text or _GLYPHS.sub("", clean_text(visible_text(heading, hidden)))


def _below_site(page: Page, heading: Node, stated: str) -> Node:
    """The heading below the one that is the site's or the book's, which the `title` element names with it."""
    text = _text_of(heading, page.hidden)
    flat, name = _flatten(stated), _flatten(text)
    rest = flat.removeprefix(name) if stated.startswith(f"{text}: ") else flat.removesuffix(name)
    if not rest or rest == flat:
        return heading
    return next((node for node in _headings(page.tree) if _flatten(_text_of(node, page.hidden)) == rest), heading)


def _without_site(title: str, sites: tuple[str, ...]) -> str:
    """A title without the site's name after or before it; empty where that stands on neither side."""
    marks = list(_SEPARATOR.finditer(title))
    for mark in reversed(marks):
        before, after = title[: mark.start()].strip(), title[mark.end() :]
        if before and _is_site(after, sites):
            return before
    for mark in marks:
        before, after = title[: mark.start()], title[mark.end() :].strip()
        if after and _is_site(before, sites):
            return after
    return ""


def _first_part(title: str) -> str:
    """A title up to a bar, or up to the last dash with a few words after it."""
    if _BAR.search(title):
        return _split_bars(title)[0].strip() or title
    for dash in (" - ", " – "):
        head, mark, tail = title.rpartition(dash)
        if mark:
            few = len(tail.split()) <= 4 and len(head.split()) >= len(tail.split())
            return head.strip() if few else title
    return title


def _split_bars(title: str) -> list[str]:
    """The parts of a title between bars, without what any front page is called."""
    parts = _BAR.split(title)
    return [each for each in parts if _flatten(each) not in _HOME_TITLES] or parts


def _flatten(text: str) -> str:
    return _NO_WORD.sub("", text.lower())


def _host(url: str) -> str:
    """The name that a host was registered by, as far as that can be told: `example` of `www.example.com`."""
    labels = [each for each in urlsplit(url).netloc.lower().split(".") if each not in _SUBDOMAINS]
    name = labels[-2] if len(labels) > 1 and len(labels[-2]) > 3 else labels[0] if labels else ""
    name = _flatten(name)
    return name if len(name) > 3 else ""


def _is_site(part: str, sites: tuple[str, ...]) -> bool:
    """Whether a part of a title is a site's name, or a little more or less of it."""
    name = _flatten(part)
    return bool(name) and any(
        name == site
        or (len(name) > 3 and name in site)
        or (len(site) > 3 and site in name and len(name) <= 1.5 * len(site))
        for site in sites
    )


def is_inside(node: Node, names: Collection[str]) -> bool:
    """Whether an element of one of these names is around it."""
    return any(each.name in names for each in node.ancestors()[1:])


def visible_text(node: Node, hidden: set[Node], most: int = 10_000) -> str:
    """The beginning of an element's text without what nobody sees; what stands in elements apart stays apart."""
    parts: list[str] = []
    stack: list[Node | Text] = [node]
    while stack and most > 0:
        each = stack.pop()
        if isinstance(each, Text):
            parts.append(each.text[:most])
            most -= len(each.text)
        elif each not in hidden and each.name not in ("script", "style"):
            if each is not node:
                parts.append(" ")
                stack.append(Text(" "))
            stack.extend(reversed(each.children))
    return "".join(parts)
