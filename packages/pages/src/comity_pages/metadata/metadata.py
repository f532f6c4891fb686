"""What a page says it is: title, author, date, language, canonical address, name of the site. Each with its source.

Where sources differ, the one that is about this page before one that is about the site, and what people see before
what only machines are told.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final

from comity_pages import urls
from comity_pages.html.tree import Node, Tree, sort_by_name
from comity_pages.metadata import authors, dates, json_ld, microdata, titles
from comity_pages.metadata.days import says_days_first
from comity_pages.metadata.json_ld import Entity, Object, clean_text
from comity_pages.metadata.page import Field, Page, Source, field

_LETTERS: Final = re.compile(r"[^\W\d_]")
_ABOUT_PAGE: Final = frozenset(("WebPage", "Product", "Recipe", "Event", "ItemPage", "AboutPage", "CollectionPage"))
_MIN_LANGUAGE_LETTERS: Final = 80  # of a text whose language can be told
_DETECTS_LANGUAGES: Final = find_spec("py3langid") is not None
_MAX_KEYWORDS: Final = 50
_MAX_BREADCRUMBS: Final = 20


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a page says it is.

    Attributes:
        title: without the site's name where that can be told apart.
        author: names, joined by a comma and a space.
        date: when it was first published, `YYYY-MM-DD`.
        language: a language tag as stated (BCP 47); where none is, told by the words (extra `language`).
        canonical: the address that the page names as its own, absolute.
        site_name: what the site calls itself.
        entities: what it states as JSON-LD or microdata.
        description: what it says that it is about.
        image: the URL of the picture that stands for it, absolute.
        modified: when it was changed last, `YYYY-MM-DD`.
        keywords: as stated.
        breadcrumbs: names of the pages above it, from the top, its own with them where the page names it there.
    """

    title: Field | None = None
    author: Field | None = None
    date: Field | None = None
    language: Field | None = None
    canonical: Field | None = None
    site_name: Field | None = None
    entities: tuple[Entity, ...] = ()
    description: Field | None = None
    image: Field | None = None
    modified: Field | None = None
    keywords: tuple[str, ...] = ()
    breadcrumbs: tuple[str, ...] = ()


NO_METADATA: Final = Metadata()  # of a page that says nothing about itself


def read(tree: Tree, base: urls.Base, url: str, hidden: set[Node]) -> Metadata:
    """The metadata of a page served at `url`; `hidden`: elements nobody sees, whose text is no source."""
    metas = _metas(tree)
    linked = json_ld.objects(tree)
    found = [*linked, *microdata.objects(tree)]
    site = _site_name(metas, found)
    language = _language(tree, metas)
    day_first = says_days_first(url, language.value if language is not None else None, metas.get("og:locale"))
    page = Page(tree, url, hidden, metas, linked, found, site, day_first)
    title, heading = titles.find_title(page)
    about = page.texts_near(heading)
    changed = dates.find_modified(page, _article_values(found, "dateModified"))
    return Metadata(
        title=title,
        author=authors.find_author(page, about),
        date=dates.find_published(page, about, changed),
        language=language,
        canonical=_canonical(tree, metas, base),
        site_name=site,
        entities=json_ld.entities(found),
        description=_description(metas, found),
        image=_image(metas, found, base),
        modified=changed,
        keywords=_keywords(metas, found),
        breadcrumbs=_breadcrumbs(tree, found, hidden),
    )


def _metas(tree: Tree) -> dict[str, str]:
    metas: dict[str, str] = {}
    for node in tree.by_name.get("meta", ())[:1000]:
        attributes = node.attributes
        name = next(filter(None, map(attributes.get, ("property", "name", "itemprop"))), "").strip().lower()
        value = clean_text(attributes.get("content", ""))
        if name and value and name not in metas:
            metas[name] = value
        elif value and name in authors.METAS:
            metas[name] += f"\n{value}"
    return metas


def _site_name(metas: dict[str, str], found: list[Object]) -> Field | None:
    stated = (name for entry in json_ld.of_types(found, {"WebSite"}) for name in json_ld.words(entry.get("name")))
    name = metas.get("og:site_name") or metas.get("application-name") or ""
    return field(name, "meta") or field(next(stated, ""), "json-ld")


def _language(tree: Tree, metas: dict[str, str]) -> Field | None:
    if stated := tree.root.attributes.get("lang") or tree.root.attributes.get("xml:lang"):
        return field(stated[:40], "html")
    if stated := metas.get("og:locale") or metas.get("language") or metas.get("content-language"):
        return field(stated[:40].replace("_", "-"), "meta")
    return _language_of_text(tree)


def _language_of_text(tree: Tree) -> Field | None:
    """The language that the words are of, where that is not stated and the extra `language` is installed."""
    if not _DETECTS_LANGUAGES:
        return None
    text = " ".join(tree.text()[:20_000].split())[:3000]
    if len(_LETTERS.findall(text)) < _MIN_LANGUAGE_LETTERS:
        return None
    from py3langid import classify

    return Field(str(classify(text)[0]), "text")


def _article_values(found: list[Object], name: str) -> Iterator[object]:
    """A property of the objects that are about the page, articles first."""
    about = json_ld.of_types(found, json_ld.ARTICLES) + json_ld.of_types(found, _ABOUT_PAGE)
    return (entry[name] for entry in about if entry.get(name))


def _description(metas: dict[str, str], found: list[Object]) -> Field | None:
    for name in ("description", "og:description", "twitter:description", "dc.description"):
        if value := metas.get(name):
            return field(value, "meta")
    value = next((each for stated in _article_values(found, "description") for each in json_ld.words(stated)), "")
    return field(value, "json-ld")


def _image(metas: dict[str, str], found: list[Object], base: urls.Base) -> Field | None:
    names = ("og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src")
    stated: list[tuple[object, Source]] = [(metas[name], "meta") for name in names if name in metas]
    for each in _article_values(found, "image"):
        first = each[0] if isinstance(each, list) and each else each
        stated.append((first.get("url") or first.get("contentUrl") if isinstance(first, dict) else first, "json-ld"))
    return _first_target(stated, base)


def _first_target(stated: Iterable[tuple[object, Source]], base: urls.Base) -> Field | None:
    targets = ((base.join(each[:8192]), source) for each, source in stated if isinstance(each, str))
    return next((Field(target, source) for target, source in targets if target is not None), None)


def _keywords(metas: dict[str, str], found: list[Object]) -> tuple[str, ...]:
    stated = [metas.get("keywords") or metas.get("news_keywords") or metas.get("parsely-tags") or ""]
    if not stated[0]:
        stated = [each for value in _article_values(found, "keywords") for each in json_ld.words(value)]
    words = [each.strip() for value in stated for each in re.split("[,;，、]", value)]
    return tuple(dict.fromkeys(each for each in words if each))[:_MAX_KEYWORDS]


def _breadcrumbs(tree: Tree, found: list[Object], hidden: set[Node]) -> tuple[str, ...]:
    for entry in json_ld.of_types(found, {"BreadcrumbList"}):
        if isinstance(items := entry.get("itemListElement"), list):
            inner = [each.get("name") or each.get("item") for each in items if isinstance(each, dict)]
            names = (next(json_ld.words(each), "") for each in inner)
            if kept := tuple(name for name in names if name and "://" not in name):
                return kept[:_MAX_BREADCRUMBS]
    around = ("nav", "ol", "ul", "div")
    labelled = [node for node in tree.all(*around) if "breadcrumb" in node.attributes.get("aria-label", "").lower()]
    for node in sort_by_name({*labelled, *tree.find_by_class_or_id(("breadcrumb",), around)}, around):
        if node not in hidden:
            names = (" ".join(each.text().split()) for each in _leaves(node))
            if kept := tuple(name for name in names if name and any(map(str.isalnum, name)) and len(name) < 200):
                return kept[:_MAX_BREADCRUMBS]
    return ()


def _leaves(node: Node) -> Iterator[Node]:
    """Elements below that hold no elements, links whole."""
    stack: list[Node] = [node]
    while stack:
        each = stack.pop()
        inner = each.elements()
        if each.name == "a" or not inner:
            if each.name not in ("svg", "script", "style", "i"):
                yield each
        else:
            stack.extend(reversed(inner))


def _canonical(tree: Tree, metas: dict[str, str], base: urls.Base) -> Field | None:
    links = [node.attributes for node in tree.by_name.get("link", ())[:1000]]
    named = [each.get("href", "") for each in links if "canonical" in each.get("rel", "").lower().split()]
    return _first_target([*((each, "link") for each in named), (metas.get("og:url"), "meta")], base)
