"""When a page was published, and when it was changed: by its data, its metas, its address, and what readers see."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import chain
from typing import Final
from urllib.parse import urlsplit

from comity_pages.html.tree import Node
from comity_pages.metadata import json_ld
from comity_pages.metadata.days import says_changed, says_published
from comity_pages.metadata.page import Field, Page, Piece, Source
from comity_pages.metadata.titles import is_inside

_URL_DATE: Final = re.compile(
    r"/(1[5-9]\d\d|20\d\d)(?:/|-)(0?[1-9]|1[0-2]|[a-z]{3,9})(?:/|-)(0?[1-9]|[12]\d|3[01])(?=[/\-_.]|$)"
    r"|[/\-_](20[012]\d)/?(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=[/\-_.])"
)
_PUBLISHED_METAS: Final = tuple(
    "article:published_time og:article:published_time datepublished dc.date.issued dc.date.created dcterms.created"
    " dcterms.issued dc.date dcterms.date date pubdate publish-date publish_date publishdate parsely-pub-date"
    " sailthru.date article.published cxenseparse:recs:publishtime citation_publication_date citation_date"
    " citation_online_date originalpublicationdate published-date release_date published last-modified".split()
)
_CHANGE_METAS: Final = ("article:modified_time", "og:updated_time", "datemodified", "dcterms.modified", "last-modified")
_OTHER_TYPES: Final = frozenset(("WebPage", "Recipe", "VideoObject"))
_SCRIPT_DATE: Final = re.compile(r"\"(?:datePublished|dateCreated|pub_date)\"\s*:\s*\"([^\"]{8,40})\"")
_SURROUNDINGS: Final = {"nav", "aside", "footer"}
_YEAR: Final = re.compile(r"(?:1[5-9]\d|20[0-4]|25[3-9])\d|[٢۲२๒][٠۰०๐]|(?:令和|平成|民[國国])\s?(?:\d|元)")
_FIRST_WEB_YEAR: Final = "1980"
_MAX_DATE_CHARS: Final = 60  # characters of a text that says when, and little else
_MAX_SEARCHED_CHARS: Final = 200_000  # characters of a page in which a day is looked for
_OTHERS_CLASS: Final = re.compile(r"(?<![a-z-])(?:comments?|related|recommend\w*|teasers?)(?![a-z])", re.IGNORECASE)
_PART_SEPARATOR: Final = re.compile(r"(?:(?<!\s)\s++)?+[|•·–—»]\s*+|(?<!\s)\s++-\s++")


def find_published(page: Page, about: Sequence[Piece], changed: Field | None) -> Field | None:
    """The day that the surest source states, else that of the last change. What only machines are told gives way to an
    earlier day in the texts about the heading, and a day to the one beside it in the address (another time zone)."""
    in_url = _URL_DATE.search(urlsplit(page.url).path.lower())
    parts = [each for each in in_url.groups() if each] if in_url else []
    of_url = page.day("-".join(parts)) or page.day(" ".join(parts[::-1]))
    seen = _visible_days(page, about)
    first = next((each for each, of_change in seen if not of_change), "")
    statements = _statements(page, of_url, first)
    stated = next((Field(that, source) for text, source in statements if (that := page.day(text))), changed)
    if stated is None:
        return None
    if of_url and stated.value != of_url and _are_near(stated.value, of_url):
        return Field(of_url, "url")
    told = stated.source in ("json-ld", "meta") and stated.value not in [each for each, _ in seen]
    if told and first and first < stated.value and not _is_other(first, stated.value):
        return Field(first, "text")
    return stated


def find_modified(page: Page, stated: Iterable[object]) -> Field | None:
    """The day of the last change; `stated`: those that the page's data has."""
    for each in stated:
        if isinstance(each, str) and (that := page.day(each)):
            return Field(that, "json-ld")
    for name in _CHANGE_METAS:
        if that := page.day(page.metas.get(name, "")):
            return Field(that, "meta")
    return None


def _are_near(one: str, other: str) -> bool:
    try:
        return abs((date.fromisoformat(one) - date.fromisoformat(other)).days) == 1
    except ValueError:
        return False


def _is_other(one: str, other: str) -> bool:
    """Whether two days are one in two time zones, or with day and month turned."""
    return _are_near(one, other) or (one[:4] == other[:4] and one[5:7] == other[8:] and one[8:] == other[5:7])


def _visible_days(page: Page, pieces: Sequence[Piece]) -> list[tuple[str, bool]]:
    """The days in texts, those nearest to the heading first, and whether each is of a change. Days before there was a
    web come last: people of whom a page tells were born then."""
    return sorted(_days(page, pieces), key=lambda each: each[0] < _FIRST_WEB_YEAR)


def _days(page: Page, pieces: Sequence[Piece]) -> Iterator[tuple[str, bool]]:
    middle = next((at for at, piece in enumerate(pieces) if not piece.text), 0)
    dated = [at for at, piece in enumerate(pieces) if len(piece.text) <= _MAX_DATE_CHARS and _YEAR.search(piece.text)]
    for at in sorted(dated, key=lambda at: abs(at - middle)):
        before = " ".join(each.text for each in pieces[max(0, at - 4) : at])[-30:].replace(" ,", ",")
        for part in _PART_SEPARATOR.split(pieces[at].text):
            if that := page.day(part) or (page.day(f"{before} {part}") if len(part) < 10 else ""):
                changed = says_changed(part) or says_changed(_YEAR.split(before)[-1], anywhere=True)
                yield that, changed and not says_published(part)


def _is_beside(node: Node) -> bool:
    """Whether an element stands in what is round the page, the site's header too."""
    return is_inside(node, _SURROUNDINGS) or (is_inside(node, {"header"}) and not is_inside(node, {"article", "main"}))


def _is_of_others(node: Node) -> bool:
    """Whether comments or teasers of other pages stand in an element, by its name."""
    return _OTHERS_CLASS.search(f"{node.attributes.get('class', '')} {node.attributes.get('id', '')}") is not None


def _names_time(name: str) -> bool:
    return "time" in name or "date" in name


def _says_published(name: str) -> bool:
    """Whether a meta says by its name when a page was published."""
    return _names_time(name) and any(each in name for each in ("publish", "publication", "original"))


def _statements(page: Page, of_url: str, seen: str) -> Iterator[tuple[str, Source]]:
    """The texts that may say when a page was published, the surest source first."""
    tree, metas, by_name = page.tree, page.metas, page.tree.by_name
    for wanted in (json_ld.ARTICLES, json_ld.POSTS, _OTHER_TYPES):
        for entry in json_ld.of_types(page.json_ld, wanted):
            for name in ("datePublished", "dateCreated", "uploadDate"):
                if isinstance(value := entry.get(name), str):
                    yield value, "json-ld"
    for name in chain(_PUBLISHED_METAS, filter(_says_published, metas)):
        if name in metas:
            yield metas[name], "meta"
    for node in tree.microdata:
        stated = node.attributes
        if stated.get("itemprop", "").lower() in ("datepublished", "datecreated"):
            yield stated.get("datetime") or stated.get("content") or node.text()[:100], "markup"
    yield of_url, "url"
    times = [each for each in tree.by_name.get("time", ())[:30] if not any(map(_is_of_others, each.ancestors()[:6]))]
    times = times or [node for name in by_name if "-" in name and _names_time(name) for node in by_name[name][:5]]
    for node in [each for each in times if not _is_beside(each)][:5]:
        yield node.attributes.get("datetime") or node.attributes.get("ts", ""), "markup"
        yield node.text()[:100], "markup"
    for node in (*tree.by_name.get("abbr", ())[:30], *tree.by_class.get("age", ())[:30]):
        yield node.attributes.get("title", ""), "markup"
    yield seen, "text"
    for node in tree.by_name.get("script", ())[:50] if not page.json_ld else ():  # with JSON that is none
        if match := _SCRIPT_DATE.search(node.text()):
            yield match[1], "json-ld"
    body = _visible_days(page, page.texts_in(tree.first("body") or tree.root, _MAX_SEARCHED_CHARS))
    yield from ((each, "text") for each, of_change in body if not of_change)
    yield from ((each, "text") for each, of_change in body if of_change)
    yield from ((node.attributes.get("datetime", ""), "markup") for node in times[:5])
