"""The tool check: the decision about a URL, with the line that decides."""

from typing import Annotated

from pydantic import Field

from comity import Decision
from comity.mcp import tool
from comity.mcp.service import Service
from comity.times import iso


class _FromSite(tool.Form):
    rule: tool.Quote | None
    why: tool.Quote


class _Answer(tool.Answer):
    url: str
    agent: Annotated[str, Field(description="Who asks.")]
    may_fetch: bool
    verdict: str
    recommendation: str
    line: Annotated[int | None, Field(description="The line of robots.txt that decides.")]
    delay_seconds: Annotated[float, Field(description="Between two requests to this host.")]
    robots: Annotated[tool.RobotsAsked | None, Field(description="The robots.txt that was asked.")]
    from_site: Annotated[_FromSite, tool.FROM_SITE]


@tool.define("May this URL be fetched?")
async def check(context: tool.ToolContext, url: tool.UrlGiven) -> _Answer:
    """Says whether robots.txt and policy let this server fetch a URL, and which line decides. Fetches no page."""
    service = tool.service_of(context)
    decision = await service.client.check(url)
    rule = decision.rule
    return _Answer(
        url=decision.url,
        agent=decision.agent,
        may_fetch=decision.may_fetch,
        verdict=decision.verdict,
        recommendation=decision.recommendation,
        line=rule.line if rule else None,
        delay_seconds=decision.delay,
        robots=robots_asked(service, decision),
        from_site=_FromSite(rule=rule.text if rule else None, why=decision.why),
    )


def robots_asked(service: Service, decision: Decision) -> tool.RobotsAsked | None:
    """The robots.txt that a decision comes from, kept as a resource."""
    source = decision.source
    if source is None:
        return None
    kept = service.remember_robots(decision.url)
    return tool.RobotsAsked(
        status=source.status,
        sha256=source.sha256,
        fetched_at=iso(source.fetched_at),
        resource=f"comity://robots/{kept}" if kept else None,
    )
