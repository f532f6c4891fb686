"""What a page says it is: title, author, date, language, canonical address, name of the site. Each with its source.

Where sources differ, the one that is about this page before one that is about the site, and what people see before
what only machines are told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.util import find_spec
from typing import Final
from urllib.parse import urlsplit

from comity import urls
from comity.retrieve.metadata import json_ld, microdata, titles
from comity.retrieve.metadata.days import day_of, is_of_change, says_published
from comity.retrieve.metadata.json_ld import Entity, Object, plain
from comity.retrieve.metadata.titles import TitleSource, inside, shown
from comity.retrieve.page.tree import Node, Text, Tree, ordered

MAX_FIELD: Final = 500
"""Characters kept of a field."""

_WORD: Final = re.compile(r"\w+")
_IN_URL: Final = re.compile(r"/(20\d\d)/(0?[1-9]|1[0-2]|[a-z]{3,9})/(0?[1-9]|[12]\d|3[01])(?:/|-)")
_PUBLISHED: Final = tuple(
    "article:published_time og:article:published_time datepublished date dc.date dc.date.issued dcterms.date"
    " dcterms.created pubdate publish-date publish_date publishdate parsely-pub-date sailthru.date article.published"
    " cxenseparse:recs:publishtime citation_publication_date citation_date originalpublicationdate published-date"
    " dc.date.created release_date published last-modified".split()
)
_SAYS_PUBLISHED: Final = re.compile(r"publi(?:sh|cation).*(?:date|time)|(?:date|time).*publi(?:sh|cation)")
_AUTHORS: Final = tuple(
    "author article:author parsely-author sailthru.author dc.creator dcterms.creator byl citation_author"
    " article:author_name authors og:article:author article.author cxenseparse:author twitter:data1".split()
)
_BYLINE: Final = re.compile(
    r"\b(?:by-?line|author|writer|contributor|posted-by|username|user-name|poster)\b|author(?:[-_]*name|__)|byline|username"
)
_NAMING: Final = "a span div p strong h3 h4 h5 address cite li td dt section".split()
_DATING: Final = "span div p td li abbr a h2".split()
_OF_AUTHORS: Final = ("author", "byline", "user", "poster", "by-line")
_OF_DATES: Final = ("date", "publish", "posted", "time", "byline", "meta")
_OF_COMMENTS: Final = re.compile(r"comment|form|label|input")
_BY: Final = re.compile(
    r"^(?:(?:(?:written|posted|reviewed|words|story|published|medically reviewed|article|text)\s+)?by\b:?\s*"
    r"|(?:authors?|auth?or(?:in|a|e)?|auteure?|autori|författare|forfatter|autoři|автор|κείμενο|text|texte|testo|tekst"
    r"|door|written by)\s*:\s*|authors?\s+(?=\w+\s\w)|(?:作者|文|撰文|記者|记者|編集|글|기자)\s*[:：/／]\s*"
    r"|(?:von|par|por|di|da|door|av|af|przez|od|от|oleh|yazan|készítette|írta|του|της|bởi)\s+(?=\w+[-\s]\w)"
    r"|(?:írta|yazan|bởi|tác giả)\s*:\s*|(?-i:De)\s+(?-i:(?=[A-ZÀ-Þ]\w+\s[A-ZÀ-Þ]))|(?:โดย|מאת)[:\s]+)",
    re.IGNORECASE,
)
_BY_NAME: Final = re.compile(
    r"(?:(?:[Ww]ritten |[Pp]osted |[Aa]uthored )?[Bb]y|BY|Von|Par|Por|Di|Door|Av|Af|Autore?:|Auteur:|Author:)\s+"
    r"((?:[A-Z][\w.'’-]*\s+){1,3}[A-Z][\w'’-]+)(?=\s*(?:$|[,|•·–—(]|\bon\b|\d|[A-Z][a-z]{2,8}\.?\s\d))"
)
_BY_BEGINS: Final = re.compile(r"written|posted|authored|by|von|par|por|di|door|av|af|aut", re.IGNORECASE)
_BY_END: Final = re.compile(
    r"\s*(?:[|•·–—].*|[\s,]+(?:-\s*)?(?:updated|published|posted|publiée?\b|publicado|pubblicato|veröffentlicht|last\s|on\s|at\s|in\s|am\s+\d|le\s+\d|el\s+\d|\d"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day\b"
    r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?\s+\d).*)$",
    re.IGNORECASE,
)
# What stands in bylines beside names, or in their place: how long ago, how long to read, labels, sentences.
_NO_NAME: Final = re.compile(
    r"^\d|\bago$|\bmin(?:ute)?s?\.?(?: read)?$|^(?:the|an?|this|it)\s"
    r"|^(?:[Yy]esterday|[Tt]oday|[Ll]ast (?:week|month|year))"
    r"|^(?:[Uu]pdated|[Pp]ublished|[Pp]osted|[Pp]ubli(?:é|cado|cato|ée)|[Pp]ubblicato|[Mm]is à jour|[Aa]ctualizado"
    r"|[Aa]ggiornato|[Aa]ktualisiert|[Vv]eröffentlicht|[Gg]epubliceerd|[Oo]publikowano|[Оо]публиковано)\W*$"
)
_TIMES: Final = re.compile("-.*(?:time|date)|(?:time|date).*-")  # elements of a site's own
_BESIDE: Final = {"nav", "aside", "footer"}
_YEAR: Final = re.compile(r"(?:19[89]|20[0-4]|25[3-9])\d|[٢۲२๒][٠۰०๐]")
_LONGEST_DATE: Final = 80
_LETTERS: Final = re.compile(r"[^\W\d_]")
_FEW_LETTERS: Final = 12  # of words that stand with a date and are none of those that do so often
_WORDS_OF_DATES: Final = re.compile(
    r"\b(?:last|first|originally|updated?|published|posted|modified|created|on|at|the|date|by|am|pm|utc|gmt|est|min|read"
    r"|mon|tue|wed|thu|fri|sat|sun|\w+day|january|february|march|april|june|july|august|september|october|november"
    r"|december)\b",
    re.IGNORECASE,
)
_ABOUT_PAGE: Final = frozenset(("WebPage", "Product", "Recipe", "Event", "ItemPage", "AboutPage", "CollectionPage"))
_FEWEST_LETTERS: Final = 80
"""Of a text whose language can be told."""
_MOST_KEYWORDS: Final = 50
_MOST_CRUMBS: Final = 20
_NOBODY: Final = re.compile(
    r"^(?:admin(?:istrator)?|editor|staff|user|author|guest|unknown|none|null|root|webmaster|wordpress|by|updated"
    r"|published|posted|(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*"
    r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?)$",
    re.I,
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


NOTHING: Final = Metadata()
"""Of a page that says nothing about itself."""


def read(tree: Tree, base: urls.Base, url: str, hidden: set[Node]) -> Metadata:
    """The metadata of a page served at `url`; `hidden`: elements nobody sees, whose text is no source."""
    metas = _metas(tree)
    stated = json_ld.objects(tree)
    found = [*stated, *microdata.objects(tree)]
    site = _site_name(metas, found)
    language = _language(tree, metas)
    day_first = _says_days_first(language, url)
    return Metadata(
        title=_field(*titles.title(tree, metas, found, site.value if site else "", hidden, url)),
        author=_author(tree, metas, found, hidden, site),
        date=_date(tree, metas, stated, url, hidden, day_first=day_first),
        language=language,
        canonical=_canonical(tree, metas, base),
        site_name=site,
        entities=json_ld.entities(found),
        description=_description(metas, found),
        image=_image(metas, found, base),
        modified=_modified(metas, found, day_first=day_first),
        keywords=_keywords(metas, found),
        breadcrumbs=_breadcrumbs(tree, found, hidden),
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


def _author(
    tree: Tree, metas: dict[str, str], found: list[Object], hidden: set[Node], site: Field | None
) -> Field | None:
    """The author; the site itself, or its organization, only where no person is named."""
    publishers = {site.value.lower()} if site is not None else set()
    publishers |= {name.lower() for entry in found for name in json_ld.words(entry.get("publisher"))}
    anybody: Field | None = None
    for each in _authors(tree, metas, found, hidden):
        if each.value.lower() not in publishers:
            return each
        anybody = anybody or each
    return anybody


def _authors(tree: Tree, metas: dict[str, str], found: list[Object], hidden: set[Node]) -> Iterator[Field]:
    """Who is named, the surest first."""
    for wanted in (json_ld.ARTICLES, json_ld.POSTS, frozenset(("WebPage", "Recipe", "Review"))):
        for entry in found:
            if wanted & set(json_ld.types(entry)):
                names = _names(json_ld.words(_resolved(entry.get("author") or entry.get("creator"), found)))
                if names:
                    yield Field(names, "json-ld")
    for name in _AUTHORS:
        value = metas.get(name, "")
        if name == "twitter:data1" and "written by" not in metas.get("twitter:label1", "").lower():
            continue
        names = _names([value] if not value.startswith(("http:", "https:", "@")) else [])
        if names:
            yield Field(names, "meta")
    for node in _marked(tree, hidden):
        names = _names([_BY_END.sub("", _BY.sub("", plain(shown(node, hidden))))])
        if names and len(names) <= 60 and len(names.split()) <= 6 and not _NO_NAME.search(names):
            yield Field(names, "markup")
    for node in tree.all("p", "span", "div", "small", "em", "i", "address", "h4", "h5", "h6", "li", "td"):
        if len(node.children) <= 6 and not node.blocky and node not in hidden and _BY_BEGINS.match(_beginning(node)):
            text = plain(shown(node, hidden, 120))
            if len(text) < 100 and (match := _BY_NAME.match(text)) and not inside(node, _BESIDE):
                yield Field(match[1], "text")


def _beginning(node: Node) -> str:
    """The first piece of text in an element that is not blank."""
    for child in node.children:
        if text := child.text.lstrip() if isinstance(child, Text) else _beginning(child):
            return text
    return ""


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
    sure = {node for node in tree.stating if node.attributes.get("itemprop", "").lower() in ("author", "creator")}
    sure.update(node for node in tree.all("a") if "author" in node.attributes.get("rel", "").lower().split())
    named: list[Node] = []
    for node in tree.holding(_OF_AUTHORS, _NAMING):
        said = f"{node.attributes.get('class', '')} {node.attributes.get('id', '')}".lower()
        if node not in sure and _BYLINE.search(said) and not _OF_COMMENTS.search(said):
            named.append(node)
    for nodes in (ordered(sure, _NAMING), named):
        yield from [node for node in nodes if node not in hidden][:30]


def _is_beside(node: Node) -> bool:
    """Whether an element stands in what is round the page, the site's header too."""
    return inside(node, _BESIDE) or (inside(node, {"header"}) and not inside(node, {"article", "main"}))


def _short_texts(tree: Tree, hidden: set[Node]) -> Iterator[str]:
    """Pieces of text with a year, not longer than a date with a few words about it; none of what stands beside."""
    stack: list[Node | Text] = [tree.first("body") or tree.root]
    while stack:
        node = stack.pop()
        if isinstance(node, Text):
            if len(node.text) < 200 and _YEAR.search(node.text):
                yield " ".join(node.text.split())[:_LONGEST_DATE]
        elif node not in hidden and not node.skipped and node.name not in _BESIDE:
            stack.extend(reversed(node.children))


def _says_days_first(language: Field | None, url: str) -> bool:
    """Whether 3/4/2024 is a day of April: where English is not that of the United States, and in other languages."""
    stated = language.value.lower().replace("_", "-") if language is not None else ""
    if stated in ("", "en"):
        return (urlsplit(url).hostname or "").endswith((".uk", ".au", ".nz", ".ie", ".in", ".za", ".eu"))
    return stated not in ("en-us", "en-ca", "en-ph")


def _date(
    tree: Tree, metas: dict[str, str], found: list[Object], url: str, hidden: set[Node], *, day_first: bool
) -> Field | None:
    """The day that the surest source states; the address's, where that is the same day in another time zone."""
    in_url = _IN_URL.search(urlsplit(url).path)
    of_url = (day_of("-".join(in_url.groups())) or day_of(" ".join(in_url.groups()[::-1]))) if in_url else ""
    stated = next(_dates(tree, metas, found, of_url, hidden, day_first=day_first), None)
    if stated is not None and of_url and stated.value != of_url and _are_near(stated.value, of_url):
        return Field(of_url, "url")
    return stated


def _are_near(one: str, other: str) -> bool:
    """Whether two days follow one another."""
    try:
        return abs((date.fromisoformat(one) - date.fromisoformat(other)).days) == 1
    except ValueError:
        return False


def _dates(
    tree: Tree, metas: dict[str, str], found: list[Object], of_url: str, hidden: set[Node], *, day_first: bool
) -> Iterator[Field]:
    """The days that a page states, the surest source first."""

    def day(text: str) -> str:
        return day_of(text, day_first=day_first)

    for wanted in (json_ld.ARTICLES, json_ld.POSTS, frozenset(("WebPage", "Recipe", "VideoObject"))):
        for entry in found:
            if wanted & set(json_ld.types(entry)):
                for name in ("datePublished", "dateCreated", "uploadDate", "dateModified"):
                    value = entry.get(name)
                    if isinstance(value, str) and (that := day(value)):
                        yield Field(that, "json-ld")
    for name in _PUBLISHED:
        if (value := metas.get(name)) and (that := day(value)):
            yield Field(that, "meta")
    for name, value in metas.items():
        if _SAYS_PUBLISHED.search(name) and (that := day(value)):
            yield Field(that, "meta")
    for node in tree.all("time", "span", "meta", "div", "abbr") if tree.stating else ():
        attributes = node.attributes
        if attributes.get("itemprop", "").lower() in ("datepublished", "datecreated") and (
            that := day(attributes.get("datetime") or attributes.get("content") or node.text()[:100])
        ):
            yield Field(that, "markup")
    if of_url:
        yield Field(of_url, "url")
    times = tree.named.get("time", ())[:30]
    times = times or [node for name in tree.named if _TIMES.search(name) for node in tree.named[name][:5]]
    for node in [each for each in times if not _is_beside(each)][:5]:
        if that := day(node.attributes.get("datetime") or node.attributes.get("ts", "")) or day(node.text()[:100]):
            yield Field(that, "markup")
    changed = ""  # a day of change counts where no other is said to be of publication
    title = tree.first("h1")
    top = title.number if title is not None else 0
    for node in sorted(tree.holding(_OF_DATES, _DATING), key=lambda node: abs(node.number - top)):
        if node not in hidden:
            if node.name == "abbr" and (that := day(node.attributes.get("title", ""))):
                yield Field(that, "markup")
            text = " ".join(shown(node, hidden, 300).split())
            if len(text) < 120 and (that := day(text)):
                if is_of_change(text):
                    changed = changed or that
                elif not changed or says_published(text):
                    yield Field(that, "markup")
    if changed:
        yield Field(changed, "markup")
    heading = tree.first("h1")
    around = heading.parent.parent if heading is not None and heading.parent is not None else None
    if around is not None and (that := day(" ".join(shown(around, hidden, 1500).split()))):
        yield Field(that, "text")
    for text in _short_texts(tree, hidden):
        if (that := day(text)) and len(_LETTERS.findall(_WORDS_OF_DATES.sub("", text))) <= _FEW_LETTERS:
            yield Field(that, "text")
    for name in ("article:modified_time", "og:updated_time"):
        if (value := metas.get(name)) and (that := day(value)):
            yield Field(that, "meta")
    for node in times[:5]:
        if that := day(node.attributes.get("datetime", "")):
            yield Field(that, "markup")


def _language(tree: Tree, metas: dict[str, str]) -> Field | None:
    if stated := tree.root.attributes.get("lang") or tree.root.attributes.get("xml:lang"):
        return _field(stated[:40], "html")
    if stated := metas.get("og:locale") or metas.get("language") or metas.get("content-language"):
        return _field(stated[:40].replace("_", "-"), "meta")
    return _language_of_text(tree)


@cache
def _detects() -> bool:
    return find_spec("py3langid") is not None


def _language_of_text(tree: Tree) -> Field | None:
    """The language that the words are of, where that is not stated and the extra `language` is installed."""
    if not _detects():
        return None
    text = " ".join(tree.text()[:20_000].split())[:3000]
    if len(_LETTERS.findall(text)) < _FEWEST_LETTERS:
        return None
    from py3langid import classify

    return Field(str(classify(text)[0]), "text")


def _of_articles(found: list[Object], name: str) -> Iterator[object]:
    """A property of the objects that are about the page, articles first."""
    about = [entry for entry in found if json_ld.ARTICLES & set(json_ld.types(entry))]
    about += [entry for entry in found if _ABOUT_PAGE & set(json_ld.types(entry))]
    return (entry[name] for entry in about if entry.get(name))


def _description(metas: dict[str, str], found: list[Object]) -> Field | None:
    for name in ("description", "og:description", "twitter:description", "dc.description"):
        if value := metas.get(name):
            return _field(value, "meta")
    value = next((each for stated in _of_articles(found, "description") for each in json_ld.words(stated)), "")
    return _field(value, "json-ld")


def _image(metas: dict[str, str], found: list[Object], base: urls.Base) -> Field | None:
    for name in ("og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src"):
        if (value := metas.get(name)) and (target := base.join(value[:8192])) is not None:
            return Field(target, "meta")
    for stated in _of_articles(found, "image"):
        first = stated[0] if isinstance(stated, list) and stated else stated
        first = first.get("url") or first.get("contentUrl") if isinstance(first, dict) else first
        if isinstance(first, str) and (target := base.join(first[:8192])) is not None:
            return Field(target, "json-ld")
    return None


def _modified(metas: dict[str, str], found: list[Object], *, day_first: bool) -> Field | None:
    for stated in _of_articles(found, "dateModified"):
        if isinstance(stated, str) and (day := day_of(stated, day_first=day_first)):
            return Field(day, "json-ld")
    for name in ("article:modified_time", "og:updated_time", "datemodified", "dcterms.modified", "last-modified"):
        if (value := metas.get(name)) and (day := day_of(value, day_first=day_first)):
            return Field(day, "meta")
    return None


def _keywords(metas: dict[str, str], found: list[Object]) -> tuple[str, ...]:
    stated = [metas.get("keywords") or metas.get("news_keywords") or metas.get("parsely-tags") or ""]
    if not stated[0]:
        stated = [each for value in _of_articles(found, "keywords") for each in json_ld.words(value)]
    words = [each.strip() for value in stated for each in re.split("[,;，、]", value)]
    return tuple(dict.fromkeys(each for each in words if each))[:_MOST_KEYWORDS]


def _breadcrumbs(tree: Tree, found: list[Object], hidden: set[Node]) -> tuple[str, ...]:
    for entry in found:
        if "BreadcrumbList" in json_ld.types(entry) and isinstance(items := entry.get("itemListElement"), list):
            inner = [each.get("name") or each.get("item") for each in items if isinstance(each, dict)]
            names = (next(json_ld.words(each), "") for each in inner)
            if kept := tuple(name for name in names if name and "://" not in name):
                return kept[:_MOST_CRUMBS]
    around = ("nav", "ol", "ul", "div")
    labelled = [node for node in tree.all(*around) if "breadcrumb" in node.attributes.get("aria-label", "").lower()]
    for node in ordered({*labelled, *tree.holding(("breadcrumb",), around)}, around):
        if node not in hidden:
            names = (" ".join(each.text().split()) for each in _leaves(node))
            if kept := tuple(name for name in names if name and any(map(str.isalnum, name)) and len(name) < 200):
                return kept[:_MOST_CRUMBS]
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
