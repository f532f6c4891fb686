"""The tool fetch: a page as Markdown, or the next part of it, within a number of tokens."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Annotated, Any, Final, Literal

from comity.mcp.answers import Unanswerable, answer, as_text, short
from comity.mcp.content_store import PageText, hash_of
from comity.mcp.service import Service
from comity.mcp.tool import Cursor, Preferences, Tool, UrlGiven, invalid
from comity.mcp.untrusted import clean, clean_all, clean_markdown
from comity.retrieve import Retrieved, retrieve
from comity_pages.extraction import ExtractedPage
from comity_pages.pieces import PieceKind
from comity_pages.signals.usage import PURPOSES
from comity_pages.tokens import cut, tokens
from comity_pages.urls import Url
from comity_robots.usage.statements import USE

_CURSOR: Final = re.compile(r"([0-9a-f]{64}):([0-9]{1,12})")
_DENSEST: Final = 8  # characters that a token stands for at most, by the count of budget.py
_DIGITS: Final = 32  # tokens by which the numbers of a part grow with it
_FIELDS: Final = ("author", "date", "language", "canonical", "site_name")


@dataclass(frozen=True, slots=True)
class _Arguments:
    """
    Attributes:
        max_tokens: The answer is never longer.
        content: main: the page's content; all: whatever a person would see.
        pieces: Add these of the part: sections and their ids, passages with URLs that lead to them, links, images or
            tables as rows.
        strategy: prefer: take what the site's llms.txt offers for the page, if it does; disabled: the page itself.
    """

    url: UrlGiven | None = None
    cursor: Cursor | None = None
    max_tokens: Annotated[int, ("minimum", 500), ("maximum", 100_000)] = 8_000
    content: Literal["main", "all"] = "main"
    pieces: Literal["sections", "chunks", "links", "images", "tables"] | None = None
    strategy: Literal["prefer", "disabled"] = "prefer"


@dataclass(frozen=True, slots=True)
class _Part:
    """
    Attributes:
        of: Characters of the whole.
        cursor: For the next part; null: this is the end.
    """

    from_: int
    to: int
    of: int
    cursor: str | None


@dataclass(frozen=True, slots=True)
class _Quality:
    score: float
    reasons: list[str]


@dataclass(frozen=True, slots=True)
class _HiddenText:
    kind: str
    begins: str


@dataclass(frozen=True, slots=True)
class _Said:
    """
    Attributes:
        url: What answered.
    """

    url: str
    title: str
    markdown: str
    media_type: str | None = None
    reason: str | None = None
    metadata: Mapping[str, str] | None = None
    warnings: list[str] | None = None
    licences: list[str] | None = None
    left_out: list[str] | None = None
    hidden_text_left_in: list[_HiddenText] | None = None
    pieces: list[Mapping[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class _Answer:
    """
    Attributes:
        resource: The whole page, as long as it is kept.
        kind, quality, usage: Of the page; with its first part only.
    """

    resource: str
    part: _Part
    from_site: _Said
    kind: str | None = None
    quality: _Quality | None = None
    usage: Preferences | None = None


async def _fetch(service: Service, given: _Arguments) -> dict[str, Any]:
    if given.cursor is not None:
        match = _CURSOR.fullmatch(given.cursor)
        page = service.store.pages.get(match[1]) if match else None
        if match is None or page is None or int(match[2]) > len(page.markdown):
            raise Unanswerable(
                "cursor_expired",
                "The cursor is not from this server, or the page is no longer kept.",
                "Fetch the URL again, without a cursor.",
            )
        return await service.readers.read(part_of, page, match[1], int(match[2]), given.max_tokens, given.pieces)
    if given.url is None:
        raise invalid("Neither a url nor a cursor is given.", "Give one of them.")
    url = Url(given.url)
    read = service.readers.read
    retrieved = await retrieve(service.client, url, strategy=given.strategy, content=given.content, read=read)
    service.remember_robots(retrieved.url)
    page = await read(page_of, retrieved)
    key = hash_of(page.markdown)
    service.store.pages.put(key, page, len(page.markdown.encode("utf-8", "replace")))
    return await read(part_of, page, key, 0, given.max_tokens, given.pieces)


def page_of(retrieved: Retrieved) -> PageText:
    """A page as this server hands it out."""
    removed: Counter[str] = Counter()
    markdown, left = clean_markdown(
        retrieved.markdown, retrieved.hidden, removed, as_served=retrieved.evidence.conversion == "unchanged"
    )
    pages = [retrieved.markdown[start:end] for start, end in pairwise((*retrieved.page_starts, None))]
    fields = {name: getattr(retrieved.metadata, name) for name in _FIELDS}
    said = {
        "media_type": short(retrieved.media_type, 100),
        "reason": short(retrieved.reason),
        "metadata": {name: short(field.value, 200) for name, field in fields.items() if field is not None},
        "warnings": [short(each.message, 200) for each in retrieved.warnings[:10]],
        "licences": [short(each.url, 200) for each in retrieved.usage.licences[:5] if each.applies],
        "left_out": [f"{each.place}: {each.words} words" for each in retrieved.left_out[:10]],
        "hidden_text_left_in": [_HiddenText(each.kind, short(each.excerpt, 100)) for each in left[:5]],
    }
    return PageText(
        url=retrieved.url,
        title=short(clean(retrieved.title or "", removed), 300),
        markdown=markdown,
        heading_ids=tuple((clean(words, removed), clean(name, removed)) for words, name in retrieved.heading_ids),
        folded=tuple(clean(words, removed) for words in retrieved.folded),
        page_starts=tuple(accumulate((len(clean(page, Counter())) for page in pages[:-1]), initial=0)) if pages else (),
        ours={
            "kind": retrieved.kind,
            "quality": _Quality(
                retrieved.quality.score, [short(each.message, 200) for each in retrieved.quality.reasons[:5]]
            ),
            "usage": {purpose: retrieved.usage.answer(purpose) for purpose in (*PURPOSES, USE)},
        },
        said={name: value for name, value in said.items() if value},
        removed=dict(removed),
    )


def _pieces(page: PageText, kind: PieceKind) -> list[dict[str, Any]]:
    """The pieces of a page in order; of a passage not the text, which stands in the Markdown."""
    known = {name: getattr(page, name) for name in ("url", "heading_ids", "folded", "page_starts")}
    taken = ExtractedPage(page.markdown, (), False, **known)
    found: list[dict[str, Any]] = taken.pieces([kind])[kind]
    if kind == "sections":
        flat: list[dict[str, Any]] = []
        while found:
            each = found.pop(0)
            found[:0] = each.pop("sections")
            flat.append(each)
        return flat
    return [{name: value for name, value in each.items() if kind != "chunks" or name != "text"} for each in found]


def part_of(page: PageText, key: str, start: int, most: int, kind: PieceKind | None = None) -> dict[str, Any]:
    """The page from a character on, as much of it as fits."""
    first, whole = start == 0, len(page.markdown)
    said = _Said(page.url, page.title, "", **(page.said if first else {}), pieces=None if kind is None else [])
    part = _Part(start, whole, whole, f"{key}:{whole}")
    values = answer(
        _Answer(f"comity://page/{key}", part, said, **(page.ours if first else {})),
        Counter(page.removed) if first else None,
    )
    frame = tokens(as_text(values)) + _DIGITS
    if frame > most:
        raise Unanswerable(
            "budget_too_small",
            f"{most} tokens are too few for what is said about the page besides its text.",
            f"Ask for at least {frame + 200}.",
        )
    rest = page.markdown[start : start + most * _DENSEST]
    pieces = [] if kind is None else clean_all(_pieces(page, kind), Counter())
    sizes = [(each["start"], tokens(as_text(each)) + 2) for each in pieces if each["start"] >= start]

    def fits(beginning: str) -> bool:
        beside = sum(size for at, size in sizes if at < start + len(beginning))
        return frame + beside + tokens(as_text({"": beginning})[6:-2]) <= most

    text = cut(rest, fits)
    if rest and not text:
        raise Unanswerable("budget_too_small", f"{most} tokens leave no room for text.", f"Ask for {most + 200}.")
    end = start + len(text)
    values["from_site"]["markdown"] = text  # which was cleaned when the page was read
    if kind is not None:
        values["from_site"]["pieces"] = [each for each in pieces if start <= each["start"] < end]
    values["part"] |= {"to": end, "cursor": f"{key}:{end}" if end < whole else None}
    return values


FETCH = Tool(
    "fetch",
    "Fetch a page as Markdown",
    "Fetches one page politely and gives its content as Markdown, within max_tokens for the whole answer; the rest "
    "by cursor. A refusal of robots.txt is an error that names the rule: do not work around it.",
    _Arguments,
    _Answer,
    _fetch,
)
