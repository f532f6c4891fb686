"""The tools that ask about one URL: check, fetch, usage, robots."""

import asyncio
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from comity import ComityError, Decision, Response, UnwantedType, urls
from comity.errors import UnsupportedContent
from comity.mcp.answers import Unanswerable, answer, as_text, short, when
from comity.mcp.budget import cut, tokens
from comity.mcp.content_store import PageText, hash_of
from comity.mcp.service import Service
from comity.mcp.untrusted import clean, clean_markdown
from comity.retrieve import Retrieved, retrieve
from comity.robots import Robots, diff, parse
from comity.signals.tdmrep import PATH as TDMREP
from comity.signals.tdmrep import parse as parse_tdmrep
from comity.signals.usage import PURPOSES, Usage, from_tdmrep, merge
from comity.usage.statements import USE

MOST: Final = 100  # findings, rules, statements in an answer
_CURSOR: Final = re.compile(r"([0-9a-f]{64}):([0-9]{1,12})")
_DENSEST: Final = 8  # characters that a token stands for at most, by the count of budget.py
_DIGITS: Final = 32  # tokens by which the numbers of a part grow with it
_FIELDS: Final = ("author", "date", "language", "canonical", "site_name")


async def check(service: Service, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The decision about a URL, with the line that decides."""
    return answer(_decided(service, await _decision(service, arguments["url"])))


async def fetch(service: Service, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A page as Markdown, or the next part of it, within a number of tokens."""
    most = arguments["max_tokens"]
    cursor = arguments.get("cursor")
    if cursor is not None:
        match = _CURSOR.fullmatch(cursor)
        page = service.store.pages.get(match[1]) if match else None
        if match is None or page is None or int(match[2]) > len(page.markdown):
            raise Unanswerable(
                "cursor_expired",
                "The cursor is none of this server's, or the page is not kept any more.",
                "Fetch the URL again, without a cursor.",
            )
        return await asyncio.to_thread(_part, page, match[1], int(match[2]), most)
    if "url" not in arguments:
        raise Unanswerable("invalid_arguments", "Neither a url nor a cursor is given.", "Give one of them.")
    url = urls.normalise(arguments["url"])
    async with service.sites.turn(url) as told:
        retrieved = await retrieve(service.client, url, strategy=arguments["strategy"], content=arguments["content"])
        told(retrieved.decision.delay)
    service.remember_robots(retrieved.url)
    page = await asyncio.to_thread(page_of, retrieved)
    key = hash_of(page.markdown)
    service.store.pages.put(key, page, len(page.markdown.encode("utf-8", "replace")))
    return await asyncio.to_thread(_part, page, key, 0, most)


async def usage(service: Service, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What the site states about the use of a page's content, each statement with its source."""
    url = urls.normalise(arguments["url"])
    read: list[dict[str, Any]] = []
    async with service.sites.turn(url) as told:
        decision = await service.client.check(url)
        told(decision.delay)
        stated = decision.usage
        source = decision.source
        read.append({"source": "robots.txt", "status": source.status if source else None})
        if decision.may_fetch:
            stated = await _stated_by_page(service, url, read) or stated
            stated = merge(stated, await _stated_by_tdmrep(service, url, read))
    return answer(await asyncio.to_thread(_used, service, url, stated, read))


async def robots(service: Service, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What a robots.txt says: why a URL may be fetched or not, what is wrong in it, where two agents are told apart."""
    url = urls.normalise(arguments["url"])
    decision = await _decision(service, url)
    result = service.client.inspect().get(urls.origin(url))
    file = result.robots if result is not None else None
    agent = arguments.get("agent") or service.policy.asked_as
    said: dict[str, Any] = {
        "url": url,
        "question": arguments["question"],
        "agent": agent,
        "robots": _robots(service, decision),
    }
    if file is None:
        return answer({**said, "from_site": {"why": short(decision.why)}})
    match arguments["question"]:
        case "explain":
            told, from_site = await asyncio.to_thread(_explained, file, url, agent)
        case "lint":
            told, from_site = await asyncio.to_thread(_linted, file)
        case _:
            other = arguments.get("other_agent")
            if not other:
                raise Unanswerable(
                    "invalid_arguments", "A comparison needs two agents.", "Name the second as other_agent."
                )
            told, from_site = await asyncio.to_thread(_compared, file, url, agent, other)
    return answer({**said, **told, "from_site": from_site})


async def _decision(service: Service, url: str) -> Decision:
    async with service.sites.turn(url) as told:
        decision = await service.client.check(url)
        told(decision.delay)
    return decision


def _decided(service: Service, decision: Decision) -> dict[str, Any]:
    rule = decision.rule
    return {
        "url": decision.url,
        "agent": decision.agent,
        "may_fetch": decision.may_fetch,
        "verdict": decision.verdict,
        "recommendation": decision.recommendation,
        "line": rule.line if rule else None,
        "delay_seconds": decision.delay,
        "robots": _robots(service, decision),
        "from_site": {"rule": short(rule.text) if rule else None, "why": short(decision.why)},
    }


def _robots(service: Service, decision: Decision) -> dict[str, Any] | None:
    source = decision.source
    if source is None:
        return None
    kept = service.remember_robots(decision.url)
    return {
        "status": source.status,
        "sha256": source.sha256,
        "fetched_at": when(source.fetched_at),
        "resource": f"comity://robots/{kept}" if kept else None,
    }


# fetch


def page_of(retrieved: Retrieved) -> PageText:
    """A page as this server hands it out."""
    removed: Counter[str] = Counter()
    markdown, left = clean_markdown(
        retrieved.markdown, retrieved.hidden, removed, as_served=retrieved.evidence.conversion == "unchanged"
    )
    fields = {name: getattr(retrieved.metadata, name) for name in _FIELDS}
    said = {
        "media_type": short(retrieved.media_type, 100),
        "reason": short(retrieved.reason),
        "metadata": {name: short(field.value, 200) for name, field in fields.items() if field is not None},
        "warnings": [short(each.message, 200) for each in retrieved.warnings[:10]],
        "licences": [short(each.url, 200) for each in retrieved.usage.licences[:5] if each.applies],
        "left_out": [f"{each.place}: {each.words} words" for each in retrieved.left_out[:10]],
        "hidden_text_left_in": [{"kind": each.kind, "begins": short(each.excerpt, 100)} for each in left[:5]],
    }
    return PageText(
        url=retrieved.url,
        title=short(clean(retrieved.title or "", removed), 300),
        markdown=markdown,
        ours={
            "kind": retrieved.kind,
            "quality": {
                "score": retrieved.quality.score,
                "reasons": [short(each.message, 200) for each in retrieved.quality.reasons[:5]],
            },
            "usage": {purpose: retrieved.usage.answer(purpose) for purpose in (*PURPOSES, USE)},
        },
        said={name: value for name, value in said.items() if value},
        removed=dict(removed),
    )


def _part(page: PageText, key: str, start: int, most: int) -> dict[str, Any]:
    """The page from a character on, as much of it as fits."""
    first = start == 0

    def of(text: str) -> dict[str, Any]:
        end = start + len(text)
        return answer(
            {
                "resource": f"comity://page/{key}",
                "part": {
                    "from": start,
                    "to": end,
                    "of": len(page.markdown),
                    "cursor": f"{key}:{end}" if end < len(page.markdown) else None,
                },
                **(page.ours if first else {}),
                "from_site": {
                    "url": page.url,
                    "title": page.title,
                    "markdown": text,
                    **(page.said if first else {}),
                },
            },
            Counter(page.removed) if first else None,
        )

    frame = tokens(as_text(of(""))) + _DIGITS
    if frame > most:
        raise Unanswerable(
            "budget_too_small",
            f"{most} tokens do not hold even what must be said of the page beside its text.",
            f"Ask for at least {frame + 200}.",
        )
    rest = page.markdown[start : start + most * _DENSEST]
    text = cut(rest, lambda beginning: frame + tokens(as_text({"": beginning})[6:-2]) <= most)
    if rest and not text:
        raise Unanswerable("budget_too_small", f"{most} tokens hold nothing of the text.", f"Ask for {most + 200}.")
    return of(text)


# usage


async def _stated_by_page(service: Service, url: str, read: list[dict[str, Any]]) -> Usage | None:
    """What robots.txt, headers and page state together; None where there is no page to be read."""
    try:
        retrieved = await retrieve(service.client, url, strategy="disabled")
    except ComityError as error:
        why = "not a page" if isinstance(error, UnsupportedContent | UnwantedType) else "not available"
        read.append({"source": "page and its headers", "status": getattr(error, "status", None), "problem": why})
        return None
    read.append({"source": "page and its headers", "status": 200})
    return retrieved.usage


async def _stated_by_tdmrep(service: Service, url: str, read: list[dict[str, Any]]) -> Usage:
    try:
        response: Response = await service.client.get(urls.origin(url) + TDMREP)
    except ComityError:
        read.append({"source": "tdmrep.json", "status": None, "problem": "not available"})
        return Usage()
    read.append({"source": "tdmrep.json", "status": response.status})
    if not response.ok:
        return Usage()
    return from_tdmrep(await asyncio.to_thread(parse_tdmrep, response.body), url)


def _used(service: Service, url: str, stated: Usage, read: list[dict[str, Any]]) -> dict[str, Any]:
    statements = [
        {
            "purpose": short(each.purpose, 100),
            "value": each.value,
            "source": short(each.source, 200),
            "text": short(each.text, 200),
            "vocabulary": each.vocabulary,
            "applies": each.applies,
            "note": short(each.note, 200),
        }
        for each in stated.statements[:MOST]
    ]
    licences = [
        {"url": short(each.url), "source": short(each.source, 200), "applies": each.applies}
        for each in stated.licences[:MOST]
    ]
    return {
        "url": url,
        "agent": service.policy.asked_as,
        "usage": {purpose: stated.answer(purpose) for purpose in (*PURPOSES, USE)},
        "read": read,
        "from_site": {
            "why": {purpose: short(stated.explain(purpose)) for purpose in (*PURPOSES, USE)},
            "statements": statements,
            "licences": licences,
        },
    }


# robots


def _explained(file: Robots, url: str, agent: str) -> tuple[dict[str, Any], dict[str, Any]]:
    match = file.explain(url, agent)
    rule = match.rule
    return {"allowed": match.allowed, "line": rule.line if rule else None}, {
        "rule": short(rule.text) if rule else None,
        "why": short(match.why),
        "group": [short(each, 100) for each in match.group.agents[:20]] if match.group else None,
        "beaten": [
            {"line": each.line, "rule": short(each.text, 200), "why": short(why, 200)}
            for each, why in match.beaten[:20]
        ],
    }


def _linted(file: Robots) -> tuple[dict[str, Any], dict[str, Any]]:
    findings = file.lint()
    shown = [
        {
            "severity": each.severity,
            **{
                name: short(value, 200) if isinstance(value, str) else value
                for name, value in asdict(each).items()
                if name in ("line", "code", "message", "suggestion", "changes")
            },
        }
        for each in findings[:MOST]
    ]
    return {"findings": len(findings)}, {"findings": shown}


def _compared(file: Robots, url: str, agent: str, other: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Paths that one agent may fetch and the other may not: what changes where the one is told what the other is."""
    one, two = (_told_as(file, each) for each in (agent, other))
    differing = [each for each in diff(one, two).changes if each.agent == _ANYBODY]
    shown = [
        {
            "pattern": short(each.pattern, 200),
            "allowed_for": other if each.allowed else agent,
            "rules": [
                {"line": rule.line, "rule": short(rule.text, 200)} if rule else None
                for rule in (each.before, each.after)
            ],
        }
        for each in differing[:MOST]
    ]
    told = {
        "other_agent": other,
        "allowed": file.allowed(url, agent),
        "other_allowed": file.allowed(url, other),
        "differences": len(differing),
    }
    return told, {"differences": shown}


_ANYBODY: Final = "comity-compared"


def _told_as(file: Robots, agent: str) -> Robots:
    """The file with the groups of an agent renamed to a name that two files can be compared by."""
    token = agent.partition("/")[0].strip().lower()
    lines = [
        f"User-agent: {_ANYBODY}\n"
        if line.kind == "user-agent" and line.value.partition("/")[0].strip().lower() == token
        else line.raw
        for line in file.lines
    ]
    return parse("".join(lines).encode("utf-8", "surrogateescape"), file.dialect)
