"""The tools crawl_start, crawl_status and crawl_cancel. A crawl beyond the operator's limits asks a person first."""

from typing import Annotated, Any

from mcp.server.mcpserver import AcceptedElicitation, Elicit, ElicitationResult, Resolve
from pydantic import BaseModel, Field

from comity import CrawlSettings
from comity.mcp import tool
from comity.mcp.answers import ToolFailure, fitting
from comity.mcp.crawls import MAX_CRAWL_PAGES, CrawlTask, State
from comity.mcp.service import Service
from comity.times import iso

Handle = Annotated[str, tool.text_of("The handle that crawl_start gave.", 100)]


class _FromSite(tool.Form):
    why: str | None
    pages: Annotated[list[dict[str, Any]], Field(description="url, title, resource of each page kept.")]


class _Answer(tool.Answer):
    handle: Annotated[str, Field(description="Names the crawl.")]
    state: State
    ended: Annotated[str | None, Field(description="Why it ended.")]
    begun_at: str | None
    ended_at: str | None
    handle_life_seconds: Annotated[float, Field(description="How long the handle lives after the crawl's end.")]
    handle_lives_until: Annotated[str | None, Field(description="Known once it ended.")]
    counts: dict[str, int | float]
    left: Annotated[int, Field(description="URLs that still waited when a limit ended it.")]
    report: Annotated[str | None, Field(description="Resource: a page for people.")]
    ledger: Annotated[str | None, Field(description="Resource: every request and refusal.")]
    from_: Annotated[int, Field(alias="from")]
    next: Annotated[int | None, Field(description="The `from` of the next pages.")]
    from_site: Annotated[_FromSite, tool.FROM_SITE]


class Consent(BaseModel):
    """What a person answers."""

    agree: Annotated[bool, Field(title="Go beyond the limits")] = False


async def ask_consent(
    context: tool.ToolContext, urls: list[str], max_pages: int, max_seconds: int
) -> Consent | Elicit[Consent]:
    """Ask a person whether a crawl may go beyond the limits, where it would.

    Raises:
        ToolFailure: the client cannot ask its user.
    """
    question = tool.service_of(context).crawls.beyond_limits(urls, max_pages, max_seconds)
    if question is None:
        return Consent(agree=True)
    capabilities = context.client_capabilities
    if capabilities is None or capabilities.elicitation is None:
        raise ToolFailure(
            "beyond_limits",
            f"Nobody agreed to this: {question}",
            "Stay within the limits, or use a client that can ask its user.",
        )
    return Elicit(question, Consent)


@tool.define("Start a crawl", reads=False, idempotent=False)
async def crawl_start(
    context: tool.ToolContext,
    consent: Annotated[ElicitationResult[Consent], Resolve(ask_consent)],
    urls: Annotated[list[tool.UrlGiven], Field(description="Where to start.", min_length=1, max_length=10)],
    max_pages: Annotated[int, Field(description="Pages to keep at most.", ge=1, le=MAX_CRAWL_PAGES)] = 20,
    max_seconds: Annotated[int, Field(description="Seconds after which no request is started.", ge=1, le=86_400)] = 300,
    max_depth: Annotated[int, Field(description="Links followed from the start at most.", ge=0, le=100)] | None = None,
    scope: tool.Scope = "host",
    include: tool.Include | None = None,
    exclude: Annotated[list[tool.Pattern], Field(description="No URLs that match one of these.", max_length=50)]
    | None = None,
) -> _Answer:
    """Crawls sites politely into a folder of this server, within limits that hold exactly. Gives a handle for
    crawl_status and crawl_cancel. Beyond the operator's limits a person is asked."""
    if not (isinstance(consent, AcceptedElicitation) and consent.data.agree):
        raise ToolFailure("declined", "The user did not agree.", "Stay within the limits.")
    service = tool.service_of(context)
    settings = CrawlSettings(
        max_pages=max_pages,
        max_seconds=max_seconds,
        max_bytes=service.limits.bytes,
        max_depth=max_depth,
        scope=scope,
        include=tuple(include or ()),
        exclude=tuple(exclude or ()),
        longest_wait=60.0,
    )
    return _status(service, await service.crawls.start(urls, settings))


@tool.define("How does a crawl stand?")
async def crawl_status(
    context: tool.ToolContext,
    handle: Handle,
    from_: Annotated[int, Field(alias="from", description="The first page to list.", ge=0, le=MAX_CRAWL_PAGES)] = 0,
    limit: Annotated[int, Field(description="Pages in one answer.", ge=0, le=500)] = 50,
) -> _Answer:
    """Counts of a crawl, why it ended, and the pages it kept, each with the resource that holds it."""
    service = tool.service_of(context)
    return _status(service, service.crawls.find(handle), from_, limit)


@tool.define("Cancel a crawl", reads=False)
async def crawl_cancel(context: tool.ToolContext, handle: Handle) -> _Answer:
    """Ends a crawl; requests in progress are finished and kept."""
    service = tool.service_of(context)
    crawl = service.crawls.find(handle)
    await service.crawls.cancel(crawl)
    return _status(service, crawl)


def _status(service: Service, crawl: CrawlTask, start: int = 0, limit: int = 50) -> _Answer:
    crawl.refresh_counts()
    shown = fitting(crawl.pages[start : start + limit])
    end = start + len(shown)
    life = service.limits.life
    base = f"comity://crawl/{crawl.handle}" if crawl.ended_at is not None else None
    return _Answer.model_validate(
        {
            **{name: getattr(crawl, name) for name in ("handle", "state", "ended", "counts", "left")},
            "begun_at": iso(crawl.begun),
            "ended_at": iso(crawl.ended_at),
            "handle_life_seconds": life,
            "handle_lives_until": iso(crawl.ended_at + life) if crawl.ended_at is not None else None,
            "report": base and f"{base}/report",
            "ledger": base and f"{base}/ledger",
            "from": start,
            "next": end if end < len(crawl.pages) else None,
            "from_site": {"why": crawl.why, "pages": shown},
        }
    )
