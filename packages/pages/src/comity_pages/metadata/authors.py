"""Who wrote a page: by its data, by its metas, by what readers see about its heading, by its markup."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final
from urllib.parse import urlsplit

from comity_pages.html.tree import Node, sort_by_name
from comity_pages.metadata import json_ld
from comity_pages.metadata.json_ld import Object
from comity_pages.metadata.page import Field, Page, Piece, Source

METAS: Final = tuple(
    "author article:author parsely-author sailthru.author dc.creator dcterms.creator byl citation_author"
    " article:author_name authors og:article:author article.author cxenseparse:author twitter:data1".split()
)
_BYLINE: Final = re.compile(
    r"\b(?:by-?line|author|writer|contributor|posted-by|username|user-name|poster)\b|author(?:[-_]*name|__)|byline|username"
)
_NAME_ELEMENTS: Final = "a span div p strong h3 h4 h5 address cite li td dt section aside".split()
_AUTHOR_CLASSES: Final = ("author", "byline", "user", "poster", "by-line")
_OTHER_CLASSES: Final = re.compile("comment|form|label|input|related")
_AUTHOR_DETAIL_CLASSES: Final = re.compile("role|title|position|desc|bio|job")
_WORD: Final = re.compile(r"\w+")

_BY: Final = re.compile(
    r"^(?:[^!?|]{0,40}\b(?:19|20)\d\d(?:\b|年[\d月]*日?)[\s,·|–-]*)?"  # when, before by whom
    r"(?:(?:(?:written|posted|submitted|words|story|published|article|text|created|authored|started)\s+)?by\b:?\s*"
    r"|(?:authors?(?:\(s\))?|auth?or(?:in|a|e|ka)?|auteure?|autori|författare|forfatter|autoři|автор|κείμενο|text|texte"
    r"|testo|teksti?|door|írta|yazan|bởi|tác giả|kirjoittaja|szerző|yazar|penulis|συντάκτης|كتب|الكاتب)\s*:\s*"
    r"|(?:authors?(?:\(s\))?|autor(?:in|a|e)?|auteure?)\s+(?=\w+\.?\s\w)"
    r"|(?:作者|著者|執筆者?|文|撰文|記者|记者|編集|글|기자)\s*[:：/／]\s*|(?:โดย|מאת|بقلم|نویسنده)[:\s]+|(?:記者|记者|द्वारा|kirjoittanut)\s+"
    r"|(?:(?:(?:ein )?beitrag|geschrieben|verfasst|publié|écrit|rédigé|escrito|publicado|scritto|pubblicato|geschreven"
    r"|skrevet|skriven)\s+)?(?-i:[Vv]on|[Pp]ar|[Pp]or|[Dd]i|[Dd]a|[Dd]oor|[Aa]v|[Aa]f|[Pp]rzez|[Oo]d|[Оо]т|[Oo]leh|[Yy]azan"
    r"|[Íí]rta|[Kk]észítette|[Ττ]ου|[Ττ]ης|[Bb]ởi)\s+(?=\w+[-\s]\w)"
    r"|(?-i:De)\s+(?-i:(?=[A-ZÀ-Þ]\w+\s[A-ZÀ-Þ]))"
    r"|(?:(?:read|view|see|more|all|other|posts|articles|stories|insights)\s+)+(?:from|about|by)\s+)",
    re.IGNORECASE,
)
_END: Final = re.compile(
    r"(?s)(?:(?<!\s)\s++)?+(?:[|•·–—].*|,\s(?:\w+\s)?(?:writer|reporter|editor|correspondent|columnist|contributor)s?\b.*|(?:,\s*+)?+(?:foto|photo|bild|image|illustration)s?\s*+:.*)$"
    r"|(?<![\s,])[\s,]++(?:-\s*+)?+(?:updated|published|posted|publiée?\b|publicado|pubblicato|veröffentlicht|last\s|on\s|at\s|in\s|am\s+\d|le\s+\d|el\s+\d|il\s+\d|\d"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day\b"
    r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?\s+\d).*$",
    re.IGNORECASE,
)
# What stands in bylines beside names, or in their place: how long ago, how long to read, labels, sentences.
_NOT_A_NAME: Final = re.compile(
    r"^\d+(?:\W|$)|\bby\b|\bago$|\bmin(?:ute)?s?\.?(?: read)?$|[^\W\d_]{4}[.!?:]$"
    r"|^(?:the|an?|this|it|our|your)\s(?!.*\b(?:team|staff|editors?|desk)$)"
    r"|^(?:[Yy]esterday|[Tt]oday|[Ll]ast (?:week|month|year))|^(?:follow|share|posted|published|updated|written)\b"
    r"|^(?:publi(?:é|cado|cato|ée)|pubblicato|mis à jour|actualizado"
    r"|aggiornato|aktualisiert|veröffentlicht|gepubliceerd|opublikowano|опубликовано|bio|author|name)\W*$",
    re.IGNORECASE,
)
_DUMMY_NAME: Final = re.compile(
    r"^(?:admin(?:istrator)?|editor|staff|user|author|guest|unknown|none|null|root|webmaster|wordpress|by|updated"
    r"|published|posted|(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*"
    r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?)$",
    re.IGNORECASE,
)
_LOWER_CASE_WORD: Final = re.compile(
    r"(?<!\S)(?!(?:de|del|della|di|da|van|von|der|den|la|le|el|al|bin|of|and|y|und)\b)[^\W\dA-Z_]"
)
_LETTERS: Final = re.compile(r"[^\W\d_]{2}|[^\W\d_a-z]", re.IGNORECASE)
_CONJUNCTION: Final = re.compile(r",?\s*(?:[,;&]|and|und|et|y|e|og|och|en|i|и)", re.IGNORECASE)
_CONJUNCTION_ENDS: Final = (",", " and", " &")
_PAGE_OF_PERSON: Final = re.compile(
    r"(/(?:authors?|autor(?:en)?|autore|auteurs?|contributors?|writers?|columnists?|journalists?)/|[?&]author=)"
    r"|/(?:people|team|staff|experts?|profiles?|bio|reporters?|members?|users?|u|producers?|byline)/(?!log-?in|sign)"
)
"""Addresses of persons; those of the second kind are only told by the name in them."""
_EXAMPLE_NAME: Final = " Ada Keeper"
_OTHER_TYPES: Final = frozenset(("WebPage", "Recipe", "Review"))


def find_author(page: Page, about: Sequence[Piece]) -> Field | None:
    """The author, by the texts about the heading too; the site or its organization only where no person is named."""
    publishers = {page.site.value.lower()} if page.site is not None else set()
    for entry in page.data:
        publisher = entry.get("publisher")
        if not isinstance(publisher, dict) or "Person" not in json_ld.types(publisher):
            publishers |= {name.lower() for name in json_ld.words(publisher)}
    seen = _byline(about)
    anybody: Field | None = None
    for values, source in _statements(page, about, seen):
        each = Field(_names(values), source)
        if each.value and each.value.lower() not in publishers:
            if anybody is not None and not _names_others([each.value], anybody):
                return anybody
            return Field(", ".join(seen), "text") if seen and _names_others(seen, each) else each
        anybody = anybody or (each if each.value else None)
    return anybody


def _names_others(seen: list[str], stated: Field) -> bool:
    """Whether a line that readers see names people whom what only machines are told does not."""
    if stated.source not in ("json-ld", "meta"):
        return False
    shown, told = (set(_WORD.findall(text.lower())) for text in (" ".join(seen), stated.value))
    return not shown <= told and (len(seen) > 1 or not told <= shown)


def _statements(page: Page, about: Sequence[Piece], seen: list[str]) -> Iterator[tuple[Iterable[str], Source]]:
    """Who is named, the surest source first."""
    for wanted in (json_ld.ARTICLES, json_ld.POSTS, _OTHER_TYPES):
        for entry in json_ld.of_types(page.data, wanted):
            yield json_ld.words(_resolve_references(entry.get("author") or entry.get("creator"), page.data)), "json-ld"
    for name in [each for each in METAS if each in page.metas]:
        if name == "twitter:data1" and "written by" not in page.metas.get("twitter:label1", "").lower():
            continue
        values = [each for each in page.metas[name].split("\n") if not each.startswith("@")]
        yield [each for each in values if page.site is None or each != page.site.value] or values, "meta"
    yield seen, "text"
    yield _linked_names(page.url, about), "text"
    for node in _author_elements(page):
        pieces = page.texts_in(node)
        lists = (_list_names(pieces, at) for at in range(min(len(pieces), 5)))
        yield _byline(pieces) or next(filter(None, lists), []), "markup"


def _resolve_references(value: object, found: list[Object]) -> object:
    """The objects that references of a value (`{"@id": ...}`) mean."""
    if isinstance(value, list):
        return [_resolve_references(each, found) for each in value[:20]]
    if isinstance(value, dict) and "@id" in value and "name" not in value:
        return next((each for each in found if each.get("@id") == value["@id"] and each.get("name")), value)
    return value


def _names(values: Iterable[str]) -> str:
    return ", ".join(list(dict.fromkeys(name for each in values if (name := _without_by(each))))[:10])


def _author_elements(page: Page) -> Iterator[Node]:
    """Elements whose markup says that an author's name stands in them, the plainest first."""
    own = {node for node in page.tree.microdata if node.attributes.get("itemprop", "").lower() in ("author", "creator")}
    own.update(node for node in page.tree.all("a") if "author" in node.attributes.get("rel", "").lower().split())
    named: list[Node] = []
    for node in page.tree.find_by_class_or_id(_AUTHOR_CLASSES, _NAME_ELEMENTS):
        said = f"{node.attributes.get('class', '')} {node.attributes.get('id', '')}".lower()
        if node not in own and _BYLINE.search(said) and not _names_nobody(said):
            named.append(node)
    for nodes in (sort_by_name(own, _NAME_ELEMENTS), named):
        yield from [node for node in nodes if node not in page.hidden][:30]


def _names_nobody(said: str) -> bool:
    """Whether no author's name stands in an element of these classes: in `comment-author`, `author_role`."""
    if _OTHER_CLASSES.search(said):
        return True
    for name in said.split():
        parts = [each for each in name.split("-") if each.strip("_")]
        after = [each.partition("author")[2].partition("_")[2] for each in parts]
        after += [part for before, part in pairwise(parts) if "author" in before]
        if any(map(_AUTHOR_DETAIL_CLASSES.search, after)):
            return True
    return False


def _byline(pieces: Sequence[Piece]) -> list[str]:
    for at, (text, _) in enumerate(pieces):
        found = _BY.match(text + _EXAMPLE_NAME)
        names: list[str] = []
        if found is not None and found.end() > len(text):
            names = _list_names(pieces, at + 1)
            at += 1
        elif found is not None and (found := _BY.match(text)) is not None:
            names = _list_names([Piece(text[found.end() :], pieces[at].node), *pieces[at + 1 : at + 20]], 0)
        # one word in small letters is an account's name where that is clear
        if names and (not names[0][0].islower() or pieces[at].node.name == "a" or (found and " " in found[0].strip())):
            return names
    return []


def _linked_names(url: str, pieces: Sequence[Piece]) -> list[str]:
    """The names in the first link to what is a person's page of the site by its address."""
    host = ".".join((urlsplit(url).hostname or "").split(".")[-2:])
    for at, (_, node) in enumerate(pieces):
        target = next((each.attributes.get("href", "") for each in node.ancestors()[:3] if each.name == "a"), "")
        match = _PAGE_OF_PERSON.search(target)
        if match is None or ("//" in target and host not in target.partition("//")[2].partition("/")[0]):
            continue
        names = _list_names(pieces, at)
        slug = target[match.end() :].lower()
        told = match[1] or any(word in slug for word in re.findall(r"\w{3,}", names[0].lower() if names else ""))
        if names and told and len(names[0].split()) <= 5:
            return names
    return []


def _list_names(pieces: Sequence[Piece], at: int) -> list[str]:
    """The names from a text on, as far as commas and words for and join them."""
    names: list[str] = []
    while at < len(pieces) and len(names) < 10:
        text = pieces[at].text
        name = _name_of(text)
        if not name:
            break
        names.append(name)
        at += 1
        if at < len(pieces) and _CONJUNCTION.fullmatch(pieces[at].text):
            at += 1
        elif not text.endswith(_CONJUNCTION_ENDS):
            break
    return names


def _name_of(text: str) -> str:
    """A name without what follows it in a line; empty where that is none."""
    text = _END.sub("", _BY.sub("", text)).strip(" ,،、|:-").removesuffix(" and")
    if len(text.split()) > 7:
        text = text.partition(",")[0]
    count = len(text.split())
    if not text or len(text) > 60 or count > 7 or (count > 2 and len(_LOWER_CASE_WORD.findall(text)) > 1):
        return ""
    return text if _LETTERS.search(text) and not _NOT_A_NAME.search(text) and not _DUMMY_NAME.match(text) else ""


def _without_by(text: str) -> str:
    """A name without a word for by before it; empty where it is an account's, an address or none."""
    text = _BY.sub("", text.strip()).strip(" ,|")
    if "://" in text or "@" in text[1:] or len(text) >= 100 or not _LETTERS.search(text) or _DUMMY_NAME.match(text):
        return ""
    return text
