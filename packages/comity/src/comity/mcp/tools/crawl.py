"""The tools crawl_start, crawl_status and crawl_cancel. That a person is asked before a crawl is the server's work."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from comity.mcp.answers import answer, fitting, when
from comity.mcp.crawls import MOST_PAGES, CrawlRequest, CrawlTask, State
from comity.mcp.service import Service
from comity.mcp.tool import Tool

Handle = Annotated[str, ("description", "The handle that crawl_start gave."), ("maxLength", 100)]


@dataclass(frozen=True, slots=True)
class _StatusRequest:
    """
    Attributes:
        limit: Pages in one answer.
    """

    handle: Handle
    from_: Annotated[int, ("description", "The first page to list."), ("minimum", 0), ("maximum", MOST_PAGES)] = 0
    limit: Annotated[int, ("minimum", 0), ("maximum", 500)] = 50


@dataclass(frozen=True, slots=True)
class _CancelRequest:
    handle: Handle


@dataclass(frozen=True, slots=True)
class _Said:
    """
    Attributes:
        pages: url, title, resource of each page kept.
    """

    why: str | None
    pages: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class _Answer:
    """
    Attributes:
        handle: Names the crawl.
        ended: Why it ended.
        handle_life_seconds: How long the handle lives after the crawl's end.
        handle_lives_until: Known once it ended.
        left: URLs that still waited when a limit ended it.
        report: Resource: a page for people.
        ledger: Resource: every request and refusal.
        next: The `from` of the next pages.
    """

    handle: str
    state: State
    ended: str | None
    begun_at: str | None
    ended_at: str | None
    handle_life_seconds: float
    handle_lives_until: str | None
    counts: Mapping[str, float]
    left: int
    report: str | None
    ledger: str | None
    from_: int
    next: int | None
    from_site: _Said


def status_of(service: Service, crawl: CrawlTask, start: int = 0, limit: int = 50) -> dict[str, Any]:
    """How a crawl stands, with some of its pages."""
    crawl.look()
    shown = fitting(crawl.pages[start : start + limit])
    end = start + len(shown)
    life = service.limits.life
    base = f"comity://crawl/{crawl.handle}"
    over = crawl.ended is not None
    return answer(
        _Answer(
            handle=crawl.handle,
            state=crawl.state,
            ended=crawl.ended,
            begun_at=when(crawl.begun),
            ended_at=when(crawl.ended_at),
            handle_life_seconds=life,
            handle_lives_until=when(crawl.ended_at + life) if crawl.ended_at is not None else None,
            counts=crawl.counts,
            left=crawl.left,
            report=f"{base}/report" if over else None,
            ledger=f"{base}/ledger" if over else None,
            from_=start,
            next=end if end < len(crawl.pages) else None,
            from_site=_Said(crawl.why, shown),
        )
    )


async def _start(service: Service, given: CrawlRequest) -> dict[str, Any]:
    return status_of(service, await service.crawls.start(given))


async def _status(service: Service, given: _StatusRequest) -> dict[str, Any]:
    return status_of(service, service.crawls.find(given.handle), given.from_, given.limit)


async def _cancel(service: Service, given: _CancelRequest) -> dict[str, Any]:
    crawl = service.crawls.find(given.handle)
    await service.crawls.cancel(crawl)
    return status_of(service, crawl)


CRAWL_START = Tool(
    "crawl_start",
    "Start a crawl",
    "Crawls sites politely into a folder of this server, within limits that hold exactly. Gives a handle for "
    "crawl_status and crawl_cancel, or a task where the client speaks tasks. Beyond the operator's limits a person "
    "is asked.",
    CrawlRequest,
    _Answer,
    _start,
    reads=False,
    again=False,
)
CRAWL_STATUS = Tool(
    "crawl_status",
    "How does a crawl stand?",
    "Counts of a crawl, why it ended, and the pages it kept, each with the resource that holds it.",
    _StatusRequest,
    _Answer,
    _status,
)
CRAWL_CANCEL = Tool(
    "crawl_cancel",
    "Cancel a crawl",
    "Ends a crawl; requests in progress are finished and kept.",
    _CancelRequest,
    _Answer,
    _cancel,
    reads=False,
)
