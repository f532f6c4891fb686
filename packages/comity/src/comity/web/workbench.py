"""Answers of the workbench about one robots.txt: verdicts with reasons, findings, uses, changes, as plain values.
Every answer comes from `comity_robots`; nothing is decided here. Texts come from a page, so they are bounded."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from comity.errors import InvalidSetting, InvalidURL
from comity_pages.urls import normalise
from comity_robots import Robots, agent_table, diff, expectations, parse, switches
from comity_robots.agents import NOBODY, product_token
from comity_robots.as_json import jsonable
from comity_robots.expectations import Expectation, NoExpectation
from comity_robots.explain import Match, mistaken_names
from comity_robots.lint import Finding
from comity_robots.usage.statements import PURPOSES

MAX_ROBOTS_CHARACTERS: Final = 1024 * 1024
"""Characters of a robots.txt."""
MAX_ITEMS: Final = 100
"""Agents, and URLs, of one question."""
MAX_ITEM_CHARACTERS: Final = 2000
"""Characters of an agent or URL."""
DIALECTS: Final = ("rfc9309", "google", "bing", "yandex", "apple")
MAX_CHANGES: Final = 500
MAX_REFUSED_SHOWN: Final = 100  # URLs of one sitemap, for each agent
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


class InvalidQuestion(ValueError):
    """A question that cannot be answered; its message says what to change."""


def known_agents() -> list[dict[str, str]]:
    """Well-known agents, as rows of the table."""
    return [asdict(each) for each in agent_table.known_agents()]


def check(
    text: str,
    agents: Sequence[str],
    urls: Sequence[str],
    dialect: str = "rfc9309",
    tests: str = "",
    why: Sequence[str] = (),
) -> dict[str, Any]:
    """For each agent and URL: may it be fetched, by which line, who reads it otherwise? And what came of the tests.

    Args:
        why: an agent and a URL that are explained too, as `explain` does.

    A URL that is none, such as one that is half typed, has a verdict that is neither: `allowed` is null, `why` says it.

    Raises:
        InvalidQuestion: too much was asked, or the dialect is none.
    """
    bounded(text, agents, urls)
    if len(why) not in (0, 2):
        raise InvalidQuestion("why: name an agent and a URL")
    agent, url = why or ("", "")
    robots = _parsed(text, dialect)
    try:
        tested, wrong = [_tested(robots, each) for each in _expectations(tests)], None
    except InvalidQuestion as error:  # a test that is half typed holds up no verdict
        tested, wrong = [], str(error)
    names = [*agents, *(each["agent"] for each in tested)]
    return {
        "why": explain(text, agent, url, dialect) if why and _is_url(url) else None,
        "verdicts": [[_brief(robots, agent, url) for url in urls] for agent in agents],
        "dialects": _disagreements(text, agents, urls, dialect),
        "delays": [_delay(robots, agent) for agent in agents],
        "names": mistaken_names(names, robots),
        "sitemaps": list(robots.sitemaps),
        "tests": tested,
        "tests_error": wrong,
    }


def explain(text: str, agent: str, url: str, dialect: str = "rfc9309") -> dict[str, Any]:
    """Why one agent may fetch one URL, or not, with the rules that lost.

    Raises:
        InvalidQuestion
    """
    bounded(text, [agent], [url])
    robots = _parsed(text, dialect)
    return _verdict(robots.explain(_absolute(url), agent)) | {
        "dialects": _disagreements(text, [agent], [url], dialect)[0][0],
        "usage": _usage(robots, _absolute(url), agent),
        "delay": _delay(robots, agent),
        "names": mistaken_names([agent], robots),
    }


def lint(text: str, dialect: str = "rfc9309") -> list[dict[str, Any]]:
    """What is wrong, useless or surprising in the file, line by line, with a fix where there is one.

    Raises:
        InvalidQuestion
    """
    bounded(text, (), ())
    return [_finding(each) for each in _parsed(text, dialect).lint()]


def changes(old: str, new: str, dialect: str = "rfc9309") -> dict[str, Any]:
    """What a change of the file means, agent by agent.

    Raises:
        InvalidQuestion
    """
    bounded(old, (), ())
    bounded(new, (), ())
    found = diff(_parsed(old, dialect), _parsed(new, dialect))
    whole = {each.name: getattr(found, each.name) for each in fields(found)}
    shown = {name: _first(values) for name, values in whole.items()}
    for name in ("rates", "hours"):
        shown[name] = {agent: [each and str(each) for each in both] for agent, both in shown[name].items()}
    left_out = sum(len(values) - len(shown[name]) for name, values in whole.items() if name != "uses")
    return jsonable(shown) | {"left_out": left_out}  # type: ignore[no-any-return]


def bots(text: str, dialect: str = "rfc9309") -> dict[str, Any]:
    """Which well-known agents may fetch all, a part or nothing, by which line, and what everybody is told about uses.

    Raises:
        InvalidQuestion
    """
    bounded(text, (), ())
    robots = _parsed(text, dialect)

    def row(each: agent_table.KnownAgent) -> dict[str, Any]:
        access, line = switches.access(robots, each.name)
        return asdict(each) | {"access": access, "line": line or None, "delay": _delay(robots, each.name)}

    rows = [row(each) for purpose in switches.SWITCHES for each in agent_table.known_agents(purpose)]
    return {"bots": rows, "usage": _usage(robots, _absolute("/"), NOBODY)}


def switch(
    text: str, agents: Sequence[str], access: str, purpose: str = "", dialect: str = "rfc9309", path: str = ""
) -> dict[str, Any]:
    """The file with the fewest lines changed so that agents are blocked, or no longer blocked, or a path is for all.

    Args:
        access: `allowed` or `blocked`.
        purpose: one whose agents are switched too, and what content may be used for with it.
        path: a pattern that nobody may fetch, whatever `access` is.

    Raises:
        InvalidQuestion: a value is none, or there is no such edit.
    """
    bounded(text, agents, [path])
    if access not in ("allowed", "blocked"):
        raise InvalidQuestion("access: write allowed or blocked")
    allow = access == "allowed"
    purposes = {purpose: allow} if purpose else {}
    wishes = switches.Wishes(purposes=purposes, agents=dict.fromkeys(agents, allow), block=[path] if path else [])
    robots = _parsed(text, dialect)
    try:
        return {"text": str(switches.written(wishes, robots)), "names": mistaken_names(agents, robots)}
    except InvalidSetting as error:
        raise InvalidQuestion(str(error)) from None


def refused(text: str, agents: Sequence[str], pages: Sequence[str], dialect: str) -> list[dict[str, Any]]:
    """For each agent, how many of these URLs it may not fetch, and the first of them, each with its line."""
    robots = _parsed(text, dialect)
    found = {agent: [url for url in pages if not robots.allowed(url, agent)] for agent in agents}
    return [
        {
            "agent": agent,
            "count": len(urls),
            "urls": [{"url": url, "line": robots.deciding_line(url, agent)} for url in urls[:MAX_REFUSED_SHOWN]],
        }
        for agent, urls in found.items()
    ]


def _delay(robots: Robots, agent: str) -> float | None:
    """Return the Crawl-delay that an agent keeps to: Google reads none."""
    ignores = robots.dialect.name == "google" or product_token(agent).lower().startswith("googlebot")
    return None if ignores else robots.crawl_delay(agent)


def _first(values: Any) -> Any:
    return dict(islice(values.items(), MAX_CHANGES)) if isinstance(values, dict) else values[:MAX_CHANGES]


def _expectations(text: str) -> list[Expectation]:
    try:
        found = list(islice(expectations.read(text), MAX_ITEMS + 1))
    except NoExpectation as error:
        raise InvalidQuestion(f"{error}: write AGENT yes PATH, or AGENT not PATH") from None
    if len(found) > MAX_ITEMS:
        raise InvalidQuestion(f"more than {MAX_ITEMS} tests")
    return found


def bounded(text: str, agents: Sequence[str], urls: Sequence[str]) -> None:
    """Raise InvalidQuestion if a question is about too much."""
    if len(text) > MAX_ROBOTS_CHARACTERS:
        raise InvalidQuestion(f"the file is longer than {MAX_ROBOTS_CHARACTERS:,} characters")
    for name, given in (("agents", agents), ("URLs", urls)):
        if len(given) > MAX_ITEMS or any(len(each) > MAX_ITEM_CHARACTERS for each in given):
            raise InvalidQuestion(f"at most {MAX_ITEMS} {name} of {MAX_ITEM_CHARACTERS:,} characters")


@lru_cache(16)  # one file is asked about again and again, in several dialects
def _parsed(text: str, dialect: str) -> Robots:
    try:
        return parse(text.encode("utf-8", "replace"), dialect)
    except InvalidSetting as error:
        raise InvalidQuestion(str(error)) from None


def _absolute(url: str) -> str:
    """A URL as a crawler sends it, which is how rules are compared; a path stands for one on any host.

    Raises:
        InvalidQuestion: it is not a URL.
    """
    whole = url if _SCHEME.match(url) else f"https://site.example{url if url.startswith('/') else f'/{url}'}"
    try:
        return normalise(whole)
    except InvalidURL as error:
        raise InvalidQuestion(str(error)) from None


def _verdict(match: Match) -> dict[str, Any]:
    return {
        "allowed": match.allowed,
        "why": match.why,
        "rule": match.rule and asdict(match.rule),
        "group": match.group and {"agents": match.group.agents, "line": match.group.line},
        "overridden": [asdict(rule) | {"why": why} for rule, why in match.overridden],
    }


def _disagreements(
    text: str, agents: Sequence[str], urls: Sequence[str], dialect: str
) -> list[list[list[dict[str, Any]]]]:
    """Return, for each agent and URL, the other dialects whose answer differs."""
    others = [(name, _parsed(text, name)) for name in DIALECTS if name != dialect]
    ours = _parsed(text, dialect)

    def differing(agent: str, url: str) -> list[dict[str, Any]]:
        if not _is_url(url):
            return []
        url = _absolute(url)
        allowed = ours.allowed(url, agent)
        return [
            {"dialect": name, "allowed": not allowed, "line": robots.deciding_line(url, agent) or None}
            for name, robots in others
            if robots.allowed(url, agent) != allowed
        ]

    return [[differing(agent, url) for url in urls] for agent in agents]


def _is_url(url: str) -> bool:
    try:
        return bool(_absolute(url))
    except InvalidQuestion:
        return False


def _brief(robots: Robots, agent: str, url: str) -> dict[str, Any]:
    try:
        allowed, rule, _, why = robots.decide_with_reason(_absolute(url), agent)
    except InvalidQuestion as error:
        return {"allowed": None, "line": None, "why": str(error)}
    return {"allowed": allowed, "line": rule.line if rule else None, "why": why}


def _usage(robots: Robots, url: str, agent: str) -> list[dict[str, Any]]:
    """Return what the file states about uses of one page, and which licences may say what it does not."""
    if not robots.states_usage:
        return []
    usage = robots.usage(url, agent)
    return [
        {"purpose": purpose, "answer": usage.preference(purpose), "why": usage.explain(purpose)}
        for purpose in PURPOSES
        if usage.preference(purpose) != "unknown" or (usage.terms and usage.applicable)
    ]


def _finding(finding: Finding) -> dict[str, Any]:
    return asdict(finding) | {"severity": finding.severity}


def _tested(robots: Robots, wanted: Expectation) -> dict[str, Any]:
    allowed, rule, why = wanted.answer(robots, _absolute(wanted.path))
    text = f"{wanted.agent} {'yes' if wanted.allowed else 'not'} {wanted.path}"
    answer = {"holds": allowed == wanted.allowed, "line": rule.line if rule else None, "why": why}
    return {"agent": wanted.agent, "text": text} | answer


QUESTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "check": check,
    "explain": explain,
    "lint": lint,
    "diff": changes,
    "bots": bots,
    "switch": switch,
}
"""What the API answers, by name; the parameters are the members of the question."""
