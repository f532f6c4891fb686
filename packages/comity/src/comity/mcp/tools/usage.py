"""The tool usage: what a site states about the use of a page's content, each statement with its source."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from comity import ComityError, Response
from comity.crawler.run.page_reader import as_page, is_page
from comity.mcp.answers import MOST, answer, short
from comity.mcp.service import Service
from comity.mcp.tool import OneUrl, Preferences, Tool
from comity_pages.signals.links import read_page
from comity_pages.signals.tdmrep import PATH as TDMREP
from comity_pages.signals.tdmrep import parse as parse_tdmrep
from comity_pages.signals.usage import PURPOSES, Usage, from_headers, from_links, from_page, from_tdmrep, merge
from comity_pages.urls import Url
from comity_robots.usage.statements import USE


@dataclass(frozen=True, slots=True)
class _Read:
    source: Literal["robots.txt", "page and its headers", "tdmrep.json"]
    status: int | None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class _Statement:
    purpose: str
    value: str
    source: str
    text: str
    vocabulary: str
    applies: bool
    note: str


@dataclass(frozen=True, slots=True)
class _Licence:
    url: str
    source: str
    applies: bool


@dataclass(frozen=True, slots=True)
class _Said:
    why: Mapping[str, str]
    statements: list[_Statement]
    licences: list[_Licence]


@dataclass(frozen=True, slots=True)
class _Answer:
    url: str
    agent: str
    usage: Preferences
    read: list[_Read]
    from_site: _Said


async def _usage(service: Service, given: OneUrl) -> dict[str, Any]:
    url = Url(given.url)
    decision = await service.client.check(url)
    stated = decision.usage
    read = [_Read("robots.txt", decision.source.status if decision.source else None)]
    if decision.may_fetch:
        stated = await _stated_by_page(service, url, read) or stated
        stated = merge(stated, await _stated_by_tdmrep(service, url, read))
    return answer(await asyncio.to_thread(_used, service, url, stated, read))


async def _stated_by_page(service: Service, url: Url, read: list[_Read]) -> Usage | None:
    """What robots.txt, headers and page state together, of a picture or a feed too; None where there is no answer."""
    try:
        response = await service.client.get(url)
        response.raise_for_status()
    except ComityError as error:
        read.append(_Read("page and its headers", getattr(error, "status", None), "not available"))
        return None
    read.append(_Read("page and its headers", response.status))
    agent = service.policy.asked_as
    stated = [response.decision.usage, from_headers(response.all_headers, agent=agent, url=response.url)]
    if is_page(response):
        page = await service.readers.read(read_page, *as_page(response))
        stated += [from_page(page, agent=agent), Usage(licences=from_links(page.license_links, response.url))]
    return merge(*stated)


async def _stated_by_tdmrep(service: Service, url: Url, read: list[_Read]) -> Usage:
    try:
        response: Response = await service.client.get(url.origin + TDMREP)
    except ComityError:
        read.append(_Read("tdmrep.json", None, "not available"))
        return Usage()
    if not response.ok:
        read.append(_Read("tdmrep.json", response.status))
        return Usage()
    found = await service.readers.read(parse_tdmrep, response.body)
    read.append(_Read("tdmrep.json", response.status, short(" ".join(found.problems[:MOST]), 200) or None))
    return from_tdmrep(found, url)


def _used(service: Service, url: str, stated: Usage, read: list[_Read]) -> _Answer:
    statements = [
        _Statement(
            short(each.purpose, 100),
            each.value,
            short(each.source, 200),
            short(each.text, 200),
            each.vocabulary,
            each.applies,
            short(each.note, 200),
        )
        for each in stated.statements[:MOST]
    ]
    licences = [_Licence(short(each.url), short(each.source, 200), each.applies) for each in stated.licences[:MOST]]
    why = {purpose: short(stated.explain(purpose)) for purpose in (*PURPOSES, USE)}
    answers: dict[str, Any] = {purpose: stated.answer(purpose) for purpose in (*PURPOSES, USE)}
    return _Answer(url, service.policy.asked_as, answers, read, _Said(why, statements, licences))


USAGE = Tool(
    "usage",
    "What may be done with a page?",
    "What a site states about the use of a page's content (search, ai-input, train-ai), each statement with its "
    "source: robots.txt, headers, metas, licences, tdmrep.json. A statement is not permission to fetch.",
    OneUrl,
    _Answer,
    _usage,
)
