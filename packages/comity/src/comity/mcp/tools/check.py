"""The tool check: the decision about a URL, with the line that decides."""

from typing import Annotated

from pydantic import Field

from comity import Decision
from comity.mcp.answers import iso_utc
from comity.mcp.service import Service
from comity.mcp.tool import FROM_SITE, Answer, Form, Quote, RobotsAsked, ToolContext, UrlGiven, service_of, tool


class _FromSite(Form):
    rule: Quote | None
    why: Quote


class _Answer(Answer):
    url: str
    agent: Annotated[str, Field(description="Who asks.")]
    may_fetch: bool
    verdict: str
    recommendation: str
    line: Annotated[int | None, Field(description="The line of robots.txt that decides.")]
    delay_seconds: Annotated[float, Field(description="Between two requests to this host.")]
    robots: Annotated[RobotsAsked | None, Field(description="The robots.txt that was asked.")]
    from_site: Annotated[_FromSite, FROM_SITE]


@tool("May this URL be fetched?")
async def check(context: ToolContext, url: UrlGiven) -> _Answer:
    """Says whether robots.txt and policy let this server fetch a URL, and which line decides. Fetches no page."""
    service = service_of(context)
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


def robots_asked(service: Service, decision: Decision) -> RobotsAsked | None:
    """The robots.txt that a decision comes from, kept as a resource."""
    source = decision.source
    if source is None:
        return None
    kept = service.remember_robots(decision.url)
    return RobotsAsked(
        status=source.status,
        sha256=source.sha256,
        fetched_at=iso_utc(source.fetched_at),
        resource=f"comity://robots/{kept}" if kept else None,
    )
