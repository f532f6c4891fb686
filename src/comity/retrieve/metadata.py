"""What a page says it is: title, author, date, language, canonical address, name of the site. Each with its source.

Where sources differ, the one that is about this page before one that is about the site, and what people see before
what only machines are told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from comity import urls
from comity.retrieve import json_ld, titles
from comity.retrieve.days import as_day, day_of
from comity.retrieve.json_ld import Entity, Object, plain
from comity.retrieve.titles import TitleSource, shown
from comity.retrieve.tree import Node, Tree

MAX_FIELD: Final = 500
"""Characters kept of a field."""

_WORD: Final = re.compile(r"\w+")
_IN_URL: Final = re.compile(r"/(20\d\d)/(0?[1-9]|1[0-2])/(0?[1-9]|[12]\d|3[01])(?:/|-)")
_PUBLISHED: Final = tuple(
    "article:published_time og:article:published_time datepublished date dc.date dc.date.issued dcterms.date"
    " dcterms.created pubdate publish-date publish_date publishdate parsely-pub-date sailthru.date article.published"
    " cxenseparse:recs:publishtime citation_publication_date citation_date originalpublicationdate published-date"
    " dc.date.created release_date last-modified".split()
)
_AUTHORS: Final = tuple(
    "author article:author parsely-author sailthru.author dc.creator dcterms.creator byl citation_author"
    " article:author_name authors og:article:author article.author cxenseparse:author twitter:data1".split()
)
_BYLINE: Final = re.compile(
    r"\b(?:by-?line|author|writer|contributor|posted-by|username|user-name|poster)\b|author[-_]?name|byline|username"
)
_OF_AUTHORS: Final = ("author", "byline", "user", "poster", "by-line")
_OF_DATES: Final = ("date", "publish", "posted", "time", "byline", "meta")
_NOT_BYLINE: Final = re.compile(
    r"bio|box|about|avatar|image|img|card|desc|social|follow|related|list|more|footer|comment-author"
)
_BY: Final = re.compile(
    r"^(?:(?:written|posted|reviewed|words|story|published|medically reviewed|article|text)\s+)?by:?\s+", re.IGNORECASE
)
_BY_END: Final = re.compile(
    r"\s*(?:[|•·–—,]?\s*(?:updated|published|posted|last|on|\d{1,2}\s|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\b.*|[|•·].*)$",
    re.IGNORECASE,
)
_NOBODY: Final = re.compile(
    r"^(?:admin(?:istrator)?|editor|staff|user|author|guest|unknown|none|null|root|webmaster|wordpress|by)$", re.I
)


@dataclass(frozen=True, slots=True)
class Field:
    """A value, and where it was found."""

    value: str
    source: TitleSource


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a page says it is.

    Attributes:
        title: without the site's name where that can be told apart.
        author: names, joined by a comma and a space.
        date: when it was first published, `YYYY-MM-DD`.
        language: a language tag as stated (BCP 47).
        canonical: the address that the page names as its own, absolute.
        site_name: what the site calls itself.
        entities: what it states as JSON-LD.
    """

    title: Field | None = None
    author: Field | None = None
    date: Field | None = None
    language: Field | None = None
    canonical: Field | None = None
    site_name: Field | None = None
    entities: tuple[Entity, ...] = ()


NOTHING: Final = Metadata()
"""Of a page that says nothing about itself."""


def read(tree: Tree, base: urls.Base, url: str, hidden: set[Node]) -> Metadata:
    """The metadata of a page served at `url`; `hidden`: elements nobody sees, whose text is no source."""
    metas = _metas(tree)
    found = json_ld.objects(tree)
    site = _site_name(metas, found)
    return Metadata(
        title=_field(*titles.title(tree, metas, found, site.value if site else "", hidden, url)),
        author=_author(tree, metas, found, hidden),
        date=_date(tree, metas, found, url, hidden),
        language=_language(tree, metas),
        canonical=_canonical(tree, metas, base),
        site_name=site,
        entities=json_ld.entities(found),
    )


def _metas(tree: Tree) -> dict[str, str]:
    metas: dict[str, str] = {}
    for node in tree.named.get("meta", ())[:1000]:
        attributes = node.attributes
        name = (
            (attributes.get("property") or attributes.get("name") or attributes.get("itemprop") or "").strip().lower()
        )
        value = plain(attributes.get("content", ""))
        if name and value and name not in metas:
            metas[name] = value
    return metas


def _field(value: str, source: TitleSource) -> Field | None:
    value = plain(value)[:MAX_FIELD]
    return Field(value, source) if value else None


def _site_name(metas: dict[str, str], found: list[Object]) -> Field | None:
    if name := metas.get("og:site_name") or metas.get("application-name"):
        return _field(name, "meta")
    for entry in found:
        if "WebSite" in json_ld.types(entry) and (name := next(json_ld.words(entry.get("name")), "")):
            return _field(name, "json-ld")
    return None


def _author(tree: Tree, metas: dict[str, str], found: list[Object], hidden: set[Node]) -> Field | None:
    for wanted in (json_ld.ARTICLES, json_ld.POSTS, frozenset(("WebPage", "Recipe", "Review"))):
        for entry in found:
            if wanted & set(json_ld.types(entry)):
                names = _names(json_ld.words(_resolved(entry.get("author") or entry.get("creator"), found)))
                if names:
                    return _field(names, "json-ld")
    for name in _AUTHORS:
        value = metas.get(name, "")
        if name == "twitter:data1" and "written by" not in metas.get("twitter:label1", "").lower():
            continue
        names = _names([value] if not value.startswith(("http:", "https:", "@")) else [])
        if names:
            return _field(names, "meta")
    for node in _marked(tree, hidden):
        names = _names([_BY_END.sub("", _BY.sub("", plain(shown(node, hidden))))])
        if names and len(names) <= 60 and len(names.split()) <= 6:
            return _field(names, "markup")
    return None


def _resolved(value: object, found: list[Object]) -> object:
    """The objects that references of a value (`{"@id": ...}`) mean."""
    if isinstance(value, list):
        return [_resolved(each, found) for each in value[:20]]
    if isinstance(value, dict) and "@id" in value and "name" not in value:
        return next((each for each in found if each.get("@id") == value["@id"] and each.get("name")), value)
    return value


def _names(values: Iterable[str]) -> str:
    kept: list[str] = []
    for value in values:
        value = _BY.sub("", value.strip()).strip(" ,|")
        if (
            value
            and len(value) < 100
            and not _NOBODY.match(value)
            and "://" not in value
            and "@" not in value[1:]
            and value not in kept
        ):
            kept.append(value)
    return ", ".join(kept[:10])


def _marked(tree: Tree, hidden: set[Node]) -> Iterator[Node]:
    """Elements whose markup says that an author's name stands in them, the plainest first."""
    wanted: list[list[Node]] = [[], [], []]
    may_name: dict[str, bool] = {}  # by class or id: the same come again and again
    for name in ("a", "span", "div", "p", "strong", "h3", "h4", "h5", "address", "cite", "li", "td", "dt", "section"):
        for node in tree.named.get(name, ()):
            attributes = node.attributes
            if not attributes or node in hidden:
                continue
            if ("rel" in attributes and "author" in attributes["rel"].lower().split()) or (
                "itemprop" in attributes and attributes["itemprop"].lower() in ("author", "creator")
            ):
                wanted[0].append(node)
            elif _says(attributes, _OF_AUTHORS, may_name):
                said = f"{attributes.get('class', '')} {attributes.get('id', '')}".lower()
                if _BYLINE.search(said):
                    wanted[2 if _NOT_BYLINE.search(said) else 1].append(node)
    for nodes in wanted:
        yield from nodes[:30]


def _says(attributes: dict[str, str], parts: tuple[str, ...], known: dict[str, bool]) -> bool:
    """Whether the class or the id of an element holds one of these parts; `known`: what was found of others."""
    for name in ("class", "id"):
        words = attributes.get(name)
        if words is None:
            continue
        holds = known.get(words)
        if holds is None:
            lower = words.lower()
            holds = known[words] = any(each in lower for each in parts)
        if holds:
            return True
    return False


def _date(tree: Tree, metas: dict[str, str], found: list[Object], url: str, hidden: set[Node]) -> Field | None:
    for wanted in (json_ld.ARTICLES, json_ld.POSTS, frozenset(("WebPage", "Recipe", "VideoObject"))):
        for entry in found:
            if wanted & set(json_ld.types(entry)):
                for name in ("datePublished", "dateCreated", "uploadDate", "dateModified"):
                    value = entry.get(name)
                    if isinstance(value, str) and (day := day_of(value)):
                        return Field(day, "json-ld")
    for name in _PUBLISHED:
        if (value := metas.get(name)) and (day := day_of(value)):
            return Field(day, "meta")
    for node in tree.all("time", "span", "meta", "div", "abbr"):
        attributes = node.attributes
        if attributes.get("itemprop", "").lower() in ("datepublished", "datecreated") and (
            day := day_of(attributes.get("datetime") or attributes.get("content") or node.text()[:100])
        ):
            return Field(day, "markup")
    if match := _IN_URL.search(urlsplit(url).path):
        return Field(as_day(match[1], match[2], match[3]), "url")
    for node in tree.named.get("time", ())[:5]:
        if day := day_of(node.attributes.get("datetime", "") or node.text()[:100]):
            return Field(day, "markup")
    may_tell: dict[str, bool] = {}
    for name in ("span", "div", "p", "td", "li", "abbr", "a"):
        for node in tree.named.get(name, ()):
            if _says(node.attributes, _OF_DATES, may_tell) and node not in hidden:
                text = " ".join(shown(node, hidden, 300).split())
                if len(text) < 120 and (day := day_of(text)):
                    return Field(day, "markup")
    heading = tree.first("h1")
    around = heading.parent.parent if heading is not None and heading.parent is not None else None
    if around is not None and (day := day_of(" ".join(shown(around, hidden, 1500).split()))):
        return Field(day, "text")
    for name in ("article:modified_time", "og:updated_time"):
        if (value := metas.get(name)) and (day := day_of(value)):
            return Field(day, "meta")
    return None


def _language(tree: Tree, metas: dict[str, str]) -> Field | None:
    if stated := tree.root.attributes.get("lang") or tree.root.attributes.get("xml:lang"):
        return _field(stated[:40], "html")
    if stated := metas.get("og:locale") or metas.get("language") or metas.get("content-language"):
        return _field(stated[:40].replace("_", "-"), "meta")
    return None


def _canonical(tree: Tree, metas: dict[str, str], base: urls.Base) -> Field | None:
    for node in tree.named.get("link", ())[:1000]:
        if "canonical" in node.attributes.get("rel", "").lower().split():
            target = base.join(node.attributes.get("href", "")[:8192])
            if target is not None:
                return Field(target, "link")
    if stated := metas.get("og:url"):
        target = base.join(stated[:8192])
        if target is not None:
            return Field(target, "meta")
    return None
