"""The tool usage: what a site states about the use of a page's content, each statement with its source."""

import asyncio
from typing import Annotated, Literal

from comity import ComityError, Response
from comity.crawler.run.page_reader import as_page, is_page
from comity.mcp import tool
from comity.mcp.answers import MAX_ENTRIES
from comity.mcp.service import Service
from comity_pages.signals.links import read_page
from comity_pages.signals.tdmrep import PATH as TDMREP
from comity_pages.signals.tdmrep import parse as parse_tdmrep
from comity_pages.signals.usage import PURPOSES, Usage, from_answer, from_tdmrep, merge
from comity_pages.urls import Url
from comity_robots.usage.statements import USE

Source = Literal["robots.txt", "page and its headers", "tdmrep.json"]


class _Read(tool.Form):
    source: Source
    status: int | None
    problem: tool.Quote200 | None = None


class _Statement(tool.Form):
    purpose: tool.Quote100
    value: str
    source: tool.Quote200
    text: tool.Quote200
    vocabulary: str
    applies: bool
    note: tool.Quote200


class _Licence(tool.Form):
    url: tool.Quote
    source: tool.Quote200
    applies: bool


class _FromSite(tool.Form):
    why: dict[str, tool.Quote]
    statements: list[_Statement]
    licences: list[_Licence]


class _Answer(tool.Answer):
    url: str
    agent: str
    usage: tool.Preferences
    read: list[_Read]
    from_site: Annotated[_FromSite, tool.FROM_SITE]


@tool.define("What may be done with a page?")
async def usage(context: tool.ToolContext, url: tool.UrlGiven) -> _Answer:
    """What a site states about the use of a page's content (search, ai-input, train-ai), each statement with its
    source: robots.txt, headers, metas, licences, tdmrep.json. A statement is not permission to fetch."""
    service, asked = tool.service_of(context), Url(url)
    decision = await service.client.check(asked)
    stated = decision.usage
    read = [_Read(source="robots.txt", status=decision.source.status if decision.source else None)]
    if decision.may_fetch:
        stated = await _stated_by_page(service, asked, read) or stated
        stated = merge(stated, await _stated_by_tdmrep(service, asked, read))
    return await asyncio.to_thread(_answer, asked, service.policy.asked_as, stated, read)


async def _get(service: Service, url: str, source: Source, read: list[_Read]) -> Response | None:
    """Fetch what may hold statements, and note how that went; None if there is nothing."""
    try:
        response = await service.client.get(url)
        response.raise_for_status()
    except ComityError as error:
        read.append(_Read(source=source, status=getattr(error, "status", None), problem="not available"))
        return None
    read.append(_Read(source=source, status=response.status))
    return response


async def _stated_by_page(service: Service, url: Url, read: list[_Read]) -> Usage | None:
    """What robots.txt, headers and page state together, also of a picture or a feed; None if there is no response."""
    response = await _get(service, url, "page and its headers", read)
    if response is None:
        return None
    page = await service.readers.read(read_page, *as_page(response)) if is_page(response) else None
    robots = response.decision.usage
    return from_answer(robots, response.all_headers, page, agent=service.policy.asked_as, url=response.url)


async def _stated_by_tdmrep(service: Service, url: Url, read: list[_Read]) -> Usage:
    response = await _get(service, url.origin + TDMREP, "tdmrep.json", read)
    if response is None:
        return Usage()
    found = await service.readers.read(parse_tdmrep, response.body)
    problem = " ".join(found.problems[:MAX_ENTRIES]) or None
    read[-1] = _Read(source="tdmrep.json", status=response.status, problem=problem)
    return from_tdmrep(found, url)


def _answer(url: str, agent: str, stated: Usage, read: list[_Read]) -> _Answer:
    purposes = (*PURPOSES, USE)
    return _Answer.model_validate(
        {
            "url": url,
            "agent": agent,
            "usage": {purpose: stated.preference(purpose) for purpose in purposes},
            "read": read,
            "from_site": {
                "why": {purpose: stated.explain(purpose) for purpose in purposes},
                "statements": stated.statements[:MAX_ENTRIES],
                "licences": stated.licences[:MAX_ENTRIES],
            },
        }
    )
