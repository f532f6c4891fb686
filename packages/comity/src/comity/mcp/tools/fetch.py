"""The tool fetch: a page as Markdown, or the next part of it, within a number of tokens."""

from typing import Annotated, Any, Literal

from pydantic import Field

from comity.digests import sha256_of
from comity.mcp import reading, tool
from comity.mcp.answers import invalid
from comity.retrieve import retrieve
from comity_pages.pieces import PieceKind
from comity_pages.urls import Url


class _Part(tool.Form):
    from_: Annotated[int, Field(alias="from")]
    to: int
    of: Annotated[int, Field(description="Characters of the whole.")]
    cursor: Annotated[str | None, Field(description="For the next part; null: this is the end.")]


class _Quality(tool.Form):
    score: float
    reasons: list[str]


class _HiddenText(tool.Form):
    kind: str
    begins: str


class _FromSite(tool.Form):
    url: Annotated[str, Field(description="What answered.")]
    title: str
    markdown: str
    media_type: str | None = None
    reason: str | None = None
    metadata: dict[str, str] | None = None
    warnings: list[str] | None = None
    licences: list[str] | None = None
    left_out: list[str] | None = None
    hidden_text_left_in: list[_HiddenText] | None = None
    pieces: list[dict[str, Any]] | None = None


class _Answer(tool.Answer):
    resource: Annotated[str, Field(description="The whole page, as long as it is kept.")]
    part: _Part
    from_site: Annotated[_FromSite, tool.FROM_SITE]
    kind: Annotated[str | None, Field(description="Of the page; with its first part only, as quality and usage.")] = (
        None
    )
    quality: _Quality | None = None
    usage: tool.Preferences | None = None


@tool.define("Fetch a page as Markdown")
async def fetch(
    context: tool.ToolContext,
    url: tool.UrlGiven | None = None,
    cursor: tool.Cursor | None = None,
    max_tokens: Annotated[int, Field(description="The answer is never longer.", ge=500, le=100_000)] = 8_000,
    content: Annotated[
        Literal["main", "all"], Field(description="main: the page's content; all: whatever a person would see.")
    ] = "main",
    pieces: Annotated[
        PieceKind,
        Field(
            description="Add these of the part: sections and their ids, passages with URLs that lead to them, links, "
            "images or tables as rows."
        ),
    ]
    | None = None,
    strategy: Annotated[
        Literal["prefer", "disabled"],
        Field(
            description="prefer: take what the site's llms.txt offers for the page, if it does; disabled: the page "
            "itself."
        ),
    ] = "prefer",
) -> _Answer:
    """Fetches one page politely and gives its content as Markdown, within max_tokens for the whole answer; the rest by
    cursor. A refusal of robots.txt is an error that names the rule: do not work around it."""
    service = tool.service_of(context)
    read, pages = service.readers.read, service.store.pages
    start = 0
    if cursor is not None:
        key, page, start = pages.resume(cursor)
    elif url is None:
        raise invalid("Neither a url nor a cursor is given.", "Give one of them.")
    else:
        retrieved = await retrieve(service.client, Url(url), strategy=strategy, content=content, read=read)
        service.remember_robots(retrieved.url)
        page = await read(reading.page_of, retrieved)
        key = sha256_of(page.markdown)
        pages.put(key, page, len(page.markdown.encode("utf-8", "replace")))
    return _Answer.model_validate(await read(reading.part_of, page, key, start, max_tokens, pieces))
