"""The tool check: the decision about a URL, with the line that decides."""

from dataclasses import dataclass
from typing import Any

from comity import Decision
from comity.mcp.answers import answer, short, when
from comity.mcp.service import Service
from comity.mcp.tool import OneUrl, RobotsAsked, Tool


@dataclass(frozen=True, slots=True)
class _Said:
    rule: str | None
    why: str


@dataclass(frozen=True, slots=True)
class _Answer:
    """What was decided.

    Attributes:
        agent: Who asks.
        line: The line of robots.txt that decides.
        delay_seconds: Between two requests to this host.
        robots: The robots.txt that was asked.
    """

    url: str
    agent: str
    may_fetch: bool
    verdict: str
    recommendation: str
    line: int | None
    delay_seconds: float
    robots: RobotsAsked | None
    from_site: _Said


async def _check(service: Service, given: OneUrl) -> dict[str, Any]:
    decision = await service.client.check(given.url)
    rule = decision.rule
    return answer(
        _Answer(
            url=decision.url,
            agent=decision.agent,
            may_fetch=decision.may_fetch,
            verdict=decision.verdict,
            recommendation=decision.recommendation,
            line=rule.line if rule else None,
            delay_seconds=decision.delay,
            robots=asked_of(service, decision),
            from_site=_Said(short(rule.text) if rule else None, short(decision.why)),
        )
    )


def asked_of(service: Service, decision: Decision) -> RobotsAsked | None:
    """The robots.txt that a decision comes from, kept as a resource."""
    source = decision.source
    if source is None:
        return None
    kept = service.remember_robots(decision.url)
    resource = f"comity://robots/{kept}" if kept else None
    return RobotsAsked(source.status, source.sha256, when(source.fetched_at), resource)


CHECK = Tool(
    "check",
    "May this URL be fetched?",
    "Says whether robots.txt and policy let this server fetch a URL, and which line decides. Fetches no page.",
    OneUrl,
    _Answer,
    _check,
)
