"""What to know before a page that was fetched is used or cited: warnings, which never keep one from being fetched."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from comity.policy.decision import Decision
from comity.policy.policy import Policy
from comity_pages import urls
from comity_pages.signals.links import Page
from comity_pages.signals.robots_meta import PageWarning, RobotsMeta
from comity_robots.usage import Usage
from comity_robots.usage.statements import less_than_intended

if TYPE_CHECKING:
    from comity_pages.html.hidden import HiddenText
    from comity_pages.metadata.json_ld import Entity

MAX_FRAMES = 10  # that are named
_PROTECTED = "/cdn-cgi/l/email-protection"
MIN_TEXT_CHARACTERS = 200  # of a page's text, beside which what it shows in frames is what it has to say


def collect_warnings(
    decision: Decision, usage: Usage, page: Page, meta: RobotsMeta, policy: Policy
) -> tuple[PageWarning, ...]:
    """Return the warnings about a page.

    Args:
        usage: what the site states about the content's use, all sources together.
        page: its links and metas.
        meta: its directives for robots, headers and metas together.
    """
    return (*_of_robots(decision), *_of_usage(usage, policy), *meta.warnings, *_of_citation(page), *_of_links(page))


def of_frames(page: Page, text: str) -> Iterator[PageWarning]:
    """Yield where more of a page lies: its frames from its own host, and all where it shows next to nothing itself."""
    frames = page.frames
    if len(text.strip()) >= MIN_TEXT_CHARACTERS:
        frames = tuple(each for each in frames if urls.host(each) == urls.host(page.url))
    if frames:
        more = f" and {len(frames) - MAX_FRAMES} more" if len(frames) > MAX_FRAMES else ""
        named = ", ".join(frames[:MAX_FRAMES])
        yield PageWarning("frames", f"The page shows others in frames, which are not part of this: {named}{more}.")


def of_hidden(hidden: "Sequence[HiddenText]") -> Iterator[PageWarning]:
    """Yield that a page holds text which a person would not see; the text itself is quoted in `Retrieved.hidden`."""
    if hidden:
        kinds = ", ".join(dict.fromkeys(each.kind for each in hidden))
        yield PageWarning("hidden_text", f"The page holds text that a person would not see ({kinds}).")


def of_data(entities: "Sequence[Entity]") -> Iterator[PageWarning]:
    """Yield what a page states as data of who may read it."""
    if any(each.fields.get("free") == "false" for each in entities):
        yield PageWarning("paywall", "The page says that not all of it can be read for free (isAccessibleForFree).")


def _of_robots(decision: Decision) -> Iterator[PageWarning]:
    if decision.recommendation != "recommended":
        yield PageWarning(f"robots_{decision.recommendation}", decision.why)


def _of_usage(usage: Usage, policy: Policy) -> Iterator[PageWarning]:
    for purpose in policy.purposes:
        if usage.preference(purpose) == "disallowed":
            yield PageWarning(f"usage_{purpose.replace('-', '_')}", usage.explain(purpose))
    if too_little := less_than_intended(usage, policy.use):
        yield PageWarning("usage_use", f"{too_little}.")
    for licence in usage.terms[:16]:
        yield PageWarning("licence", f"Terms of use are at {licence.words} ({licence.source}).")


def _of_citation(page: Page) -> Iterator[PageWarning]:
    if page.canonical is not None and page.canonical != page.url:
        yield PageWarning("canonical", f"The page names {page.canonical} as the address to cite.")


def _of_links(page: Page) -> Iterator[PageWarning]:
    if page.refresh is not None and page.refresh.url != page.url:
        seconds = page.refresh.seconds
        when = "at once" if seconds == 0 else f"after {seconds:,} s"
        yield PageWarning("refresh", f"The page sends its reader on to {page.refresh.url} {when}.")
    if page.truncated:
        yield PageWarning("links_cut", f"The page has more links than are read; the first {len(page.links):,} are.")
    if _PROTECTED in "\n".join([link.url for link in page.links]):
        protected = "E-mail addresses of the page are protected by Cloudflare: '[email protected]' stands for each."
        yield PageWarning("email_protected", protected)
