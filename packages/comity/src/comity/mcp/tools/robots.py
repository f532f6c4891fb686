"""The tool robots: why a URL may be fetched or not, what is wrong in a robots.txt, where two agents are told apart."""

from typing import Annotated, Literal

from pydantic import Field

from comity.mcp import reading, tool
from comity.mcp.answers import invalid
from comity.mcp.tools.check import robots_asked
from comity_pages.urls import Url

Question = Literal["explain", "lint", "compare"]
_QUESTION = "explain: the line that decides; lint: faults of the file; compare: paths only one may fetch."


class _Rule(tool.Form):
    line: int
    rule: tool.Quote200
    why: tool.Quote200 | None = None


class _Finding(tool.Form):
    severity: str
    line: int
    code: str
    message: tool.Quote200
    suggestion: tool.Quote200
    changes: bool


class _Difference(tool.Form):
    pattern: tool.Quote200
    path: tool.Quote200
    allowed_for: str
    rules: list[_Rule | None]


class _FromSite(tool.Form):
    why: tool.Quote | None = None
    rule: tool.Quote | None = None
    group: list[tool.Quote100] | None = None
    overridden: list[_Rule] | None = None
    findings: list[_Finding] | None = None
    differences: list[_Difference] | None = None


class _Answer(tool.Answer):
    url: str
    question: Question
    agent: str
    robots: Annotated[tool.RobotsAsked | None, Field(description="The robots.txt that was asked.")]
    from_site: Annotated[_FromSite, tool.FROM_SITE]
    allowed: Annotated[bool | None, Field(description="Of explain and compare: may the agent fetch the URL?")] = None
    line: Annotated[int | None, Field(description="Of explain: the line that decides.")] = None
    findings: Annotated[int | None, Field(description="How many there are.")] = None
    other_agent: str | None = None
    other_allowed: bool | None = None
    differences: Annotated[int | None, Field(description="How many there are.")] = None
    undecided: Annotated[
        int | None,
        Field(description="How many patterns meet so many others that it is not known whether they differ."),
    ] = None


@tool.define("Explain, lint or compare")
async def robots(
    context: tool.ToolContext,
    url: tool.UrlGiven,
    question: Annotated[Question, Field(description=_QUESTION)] = "explain",
    agent: tool.Agent | None = None,
    other_agent: tool.Agent | None = None,
) -> _Answer:
    """About a site's robots.txt: explain why an agent may fetch a URL or not; lint the file; compare which paths two
    agents may fetch."""
    asked = Url(url)
    if question == "compare" and not other_agent:
        raise invalid("A comparison needs two agents.", "Name the second as other_agent.")
    service = tool.service_of(context)
    decision = await service.client.check(asked)
    result = service.client.inspect().get(asked.origin)
    file = result.robots if result is not None and result.has_file else None
    agent = agent or service.policy.asked_as
    head = {"url": asked, "question": question, "agent": agent, "robots": robots_asked(service, decision)}
    if file is None:
        return _Answer.model_validate({**head, "from_site": {"why": decision.why}})
    read = service.readers.read
    if question == "lint":
        answer = await read(reading.lint, file.body, file.dialect)
    elif question == "explain":
        answer = await read(reading.explain, file.body, file.dialect, asked, agent)
    else:
        answer = await read(reading.compare, file.body, file.dialect, asked, agent, other_agent)
    return _Answer.model_validate({**head, **answer})
