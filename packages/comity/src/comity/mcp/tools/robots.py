"""The tool robots: why a URL may be fetched or not, what is wrong in a robots.txt, where two agents are told apart."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from comity.mcp.answers import MOST, answer, short
from comity.mcp.service import Service
from comity.mcp.tool import Agent, RobotsAsked, Tool, UrlGiven, invalid
from comity.mcp.tools.check import asked_of
from comity_pages.urls import Url
from comity_robots import Dialect, Robots, Rule, diff, parse

Question = Literal["explain", "lint", "compare"]
_ANYBODY: Final = "comity-compared"


@dataclass(frozen=True, slots=True)
class _Arguments:
    url: UrlGiven
    question: Annotated[
        Question,
        ("description", "explain: the line that decides; lint: faults of the file; compare: paths only one may fetch."),
    ] = "explain"
    agent: Agent | None = None
    other_agent: Agent | None = None


@dataclass(frozen=True, slots=True)
class _RuleSaid:
    line: int
    rule: str
    why: str | None = None


@dataclass(frozen=True, slots=True)
class _Finding:
    severity: str
    line: int
    code: str
    message: str
    suggestion: str
    changes: bool


@dataclass(frozen=True, slots=True)
class _Difference:
    pattern: str
    path: str
    allowed_for: str
    rules: list[_RuleSaid | None]


@dataclass(frozen=True, slots=True)
class _Said:
    why: str | None = None
    rule: str | None = None
    group: list[str] | None = None
    beaten: list[_RuleSaid] | None = None
    findings: list[_Finding] | None = None
    differences: list[_Difference] | None = None


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the file says.

    Attributes:
        robots: The robots.txt that was asked.
        allowed, line: Of explain and compare: may the agent fetch the URL, and the line that decides.
        findings, differences: How many there are.
        undecided: How many patterns meet so many others that it is not known whether they differ.
    """

    url: str
    question: Question
    agent: str
    robots: RobotsAsked | None
    from_site: _Said
    allowed: bool | None = None
    line: int | None = None
    findings: int | None = None
    other_agent: str | None = None
    other_allowed: bool | None = None
    differences: int | None = None
    undecided: int | None = None


async def _robots(service: Service, given: _Arguments) -> dict[str, Any]:
    url = Url(given.url)
    if given.question == "compare" and not given.other_agent:
        raise invalid("A comparison needs two agents.", "Name the second as other_agent.")
    decision = await service.client.check(url)
    result = service.client.inspect().get(url.origin)
    file = result.robots if result is not None else None
    agent = given.agent or service.policy.asked_as
    head = (url, given.question, agent, asked_of(service, decision))
    if file is None:
        return answer(_Answer(*head, _Said(short(decision.why))))
    other = given.other_agent or ""
    from_site, told = await service.readers.read(_asked, given.question, file.body, file.dialect, url, agent, other)
    return answer(_Answer(*head, from_site, **told))


def _asked(
    question: Question, body: bytes, dialect: Dialect, url: str, agent: str, other: str
) -> tuple[_Said, dict[str, Any]]:
    """What a robots.txt says to a question; the file is parsed anew, for this is called in another process."""
    return _ASKED[question](parse(body, dialect), url, agent, other)


def _explained(file: Robots, url: str, agent: str, _: str) -> tuple[_Said, dict[str, Any]]:
    match = file.explain(url, agent)
    rule = match.rule
    said = _Said(
        why=short(match.why),
        rule=short(rule.text) if rule else None,
        group=[short(each, 100) for each in match.group.agents[:20]] if match.group else None,
        beaten=[_RuleSaid(each.line, short(each.text, 200), short(why, 200)) for each, why in match.beaten[:20]],
    )
    return said, {"allowed": match.allowed, "line": rule.line if rule else None}


def _linted(file: Robots, _: str, __: str, ___: str) -> tuple[_Said, dict[str, Any]]:
    findings = file.lint()
    shown = [
        _Finding(
            each.severity, each.line, each.code, short(each.message, 200), short(each.suggestion, 200), each.changes
        )
        for each in findings[:MOST]
    ]
    return _Said(findings=shown), {"findings": len(findings)}


def _compared(file: Robots, url: str, agent: str, other: str) -> tuple[_Said, dict[str, Any]]:
    """Paths that one agent may fetch and the other may not: what changes where the one is told what the other is."""
    one, two = (_told_as(file, each) for each in (agent, other))
    found = diff(one, two)
    differing = [each for each in found.changes if each.agent == _ANYBODY]
    shown = [
        _Difference(
            short(each.pattern, 200),
            short(each.path, 200),
            other if each.allowed else agent,
            [_said(each.before), _said(each.after)],
        )
        for each in differing[:MOST]
    ]
    return _Said(differences=shown), {
        "other_agent": other,
        "allowed": file.allowed(url, agent),
        "other_allowed": file.allowed(url, other),
        "differences": len(differing),
        "undecided": len(found.undecided),
    }


def _said(rule: Rule | None) -> _RuleSaid | None:
    return _RuleSaid(rule.line, short(rule.text, 200)) if rule else None


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


_ASKED: Final[Mapping[str, Callable[[Robots, str, str, str], tuple[_Said, dict[str, Any]]]]] = {
    "explain": _explained,
    "lint": _linted,
    "compare": _compared,
}
ROBOTS = Tool(
    "robots",
    "Explain, lint or compare",
    "About a site's robots.txt: explain why an agent may fetch a URL or not; lint the file; compare which paths "
    "two agents may fetch.",
    _Arguments,
    _Answer,
    _robots,
)
