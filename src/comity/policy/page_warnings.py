"""What to know before a retrieved page is used or cited: warnings, which never keep a page from being fetched."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from comity.policy import Decision, Policy
from comity.signals import robots_meta
from comity.signals.links import Page
from comity.signals.robots_meta import PageWarning
from comity.usage import Usage
from comity.usage.statements import less_than_intended


def about(
    decision: Decision, usage: Usage, page: Page, tags: Sequence[str], policy: Policy, now: datetime
) -> tuple[PageWarning, ...]:
    """The warnings about a page.

    Args:
        usage: what the site states about the content's use, all sources together.
        page: its links and metas.
        tags: the values of `X-Robots-Tag`.
        now: the time by which a date that the page states is judged.
    """
    said = robots_meta.read(tags, page.metas, agent=policy.asked_as, now=now)
    return (*_of_robots(decision), *_of_usage(usage, policy), *said.warnings, *_of_citation(page))


def _of_robots(decision: Decision) -> Iterator[PageWarning]:
    if decision.recommendation != "recommended":
        yield PageWarning(f"robots_{decision.recommendation}", decision.why)


def _of_usage(usage: Usage, policy: Policy) -> Iterator[PageWarning]:
    for purpose in policy.purposes:
        if usage.allows(purpose) == "disallowed":
            yield PageWarning(f"usage_{purpose.replace('-', '_')}", usage.explain(purpose))
    if too_little := less_than_intended(usage, policy.use):
        yield PageWarning("usage_use", f"{too_little}.")
    for licence in usage.licences[:16]:
        if licence.applies:
            yield PageWarning("licence", f"Terms of use are at {licence.url} ({licence.source}).")


def _of_citation(page: Page) -> Iterator[PageWarning]:
    if page.canonical is not None and page.canonical != page.url:
        yield PageWarning("canonical", f"The page names {page.canonical} as the address to cite.")
