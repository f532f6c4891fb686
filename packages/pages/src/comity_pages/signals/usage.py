"""What a site says about how its content may be used: AIPREF, Content Signals, TDMRep, RSL, noai; here what comes with
a page: its response headers, its `<meta>` elements, and what stands in it.

Each reader gives a Usage for one URL; `merge` unites them, and `preference` answers for one purpose. It never decides
whether a URL may be fetched, and never fetches a licence or a policy.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from comity_pages.signals import robots_meta, rsl, rsl_licence, tdmrep
from comity_pages.signals._page import Page
from comity_pages.signals.robots_meta import RobotsMeta
from comity_pages.signals.rsl import from_links as from_links
from comity_pages.signals.rsl_licence import RslLicence as RslLicence
from comity_pages.signals.rsl_licence import from_rsl as from_rsl
from comity_pages.signals.tdmrep import Tdmrep as Tdmrep
from comity_pages.signals.tdmrep import from_tdmrep as from_tdmrep
from comity_robots.robots_usage import STATING
from comity_robots.robots_usage import RobotsUsage as RobotsUsage
from comity_robots.robots_usage import UsageLine as UsageLine
from comity_robots.robots_usage import for_agent as for_agent
from comity_robots.robots_usage import from_robots as from_robots
from comity_robots.usage.statements import MAX_LICENCES, Origin, Statement, UsageScope, kept, shown
from comity_robots.usage.statements import PURPOSES as PURPOSES
from comity_robots.usage.statements import USES as USES
from comity_robots.usage.statements import Licence as Licence
from comity_robots.usage.statements import Preference as Preference
from comity_robots.usage.statements import Usage as Usage
from comity_robots.usage.statements import Use as Use
from comity_robots.usage.statements import combine as combine
from comity_robots.usage.statements import merge as merge
from comity_robots.usage.vocabulary import Vocabulary

MAX_VALUES: Final = 256  # headers, or metas, of one page that are read for preferences

_TDM: Final = (tdmrep.RESERVATION, tdmrep.POLICY)
# EPUB and PDF write the same two names with a colon; pages made from them carry it over.
_TDM_METAS: Final = {"tdm:reservation": tdmrep.RESERVATION, "tdm:policy": tdmrep.POLICY}


def from_headers(headers: Iterable[tuple[str, str]], *, agent: str = "", url: str | None = None) -> Usage:
    """What the response headers state: Content-Usage, Content-Signal, TDM, Link licences, noai. Never raises.

    Args:
        headers: name and value of every response header, repeated ones repeated.
        agent: our agent; directives of `X-Robots-Tag` addressed to others do not count.
        url: the page's URL, against which relative links to licences and policies are resolved.
    """
    named: dict[str, list[str]] = {}
    for name, value in headers:
        values = named.setdefault(name.strip().lower(), [])
        if len(values) < MAX_VALUES:
            values.append(value)
    parts = [_stated_usage(named.get(vocabulary.label.lower(), ()), vocabulary) for vocabulary in STATING.values()]
    parts += [tdmrep.from_value(name, value, "header", url) for name in _TDM for value in named.get(name, ())]
    links: list[Licence] = [each for value in named.get("link", ()) for each in rsl.from_link_header(value, url)]
    parts.append(Usage(licences=tuple(links[:MAX_LICENCES])))
    if tags := named.get("x-robots-tag"):
        parts.append(from_directives(robots_meta.read(tags, (), agent=agent)))
    return merge(*parts)


def from_metas(metas: Sequence[tuple[str, str]], *, agent: str = "", url: str | None = None) -> Usage:
    """What the page's metas state: tdm-reservation, tdm-policy, noai, noimageai. Never raises.

    Args:
        metas: name and content of the page's metas.
        agent: our agent; directives addressed to others do not count.
        url: the page's base URL, against which a relative policy is resolved.
    """
    parts: list[Usage] = []
    for name, content in metas:
        key = name.strip().lower()
        key = _TDM_METAS.get(key, key)
        if key in _TDM and len(parts) < MAX_VALUES:
            parts.append(tdmrep.from_value(key, content, "meta", url))
    parts.append(from_directives(robots_meta.read((), metas, agent=agent)))
    return merge(*parts)


def from_answer(robots: Usage, headers: Iterable[tuple[str, str]], page: Page | None, *, agent: str, url: str) -> Usage:
    """What robots.txt, response headers and, of HTML, the page state together; a licence that a header links to counts
    once.

    Args:
        robots: as the decision about the URL has it.
        headers, agent, url: as of `from_headers`.
        page: as `comity_pages.signals.links.read_page` gives it, headers included.
    """
    parts = [robots, from_headers(headers, agent=agent, url=url)]
    if page is not None:
        of_page = from_page(page, agent=agent)
        known = {each.url for each in parts[1].licences}
        parts.append(replace(of_page, licences=tuple(each for each in of_page.licences if each.url not in known)))
    return merge(*parts)


def from_page(page: Page, *, agent: str = "") -> Usage:
    """What a page states: its metas, licences that are written in it or that it links to, its `data-nosnippet`.

    Args:
        page: as `comity_pages.signals.links.read_page` gives it.
        agent: our agent; directives addressed to others do not count.
    """
    parts = [from_metas(page.metas, agent=agent, url=page.base or page.url)]
    parts.append(Usage(licences=rsl.from_links(page.license_links, page.url)))
    parts += [rsl_licence.from_rsl(rsl_licence.parse(text.encode(), page=page.url), page.url) for text in page.rsl]
    if page.withheld:
        text = f"data-nosnippet on {page.withheld} part{'s' if page.withheld > 1 else ''} of the page"
        name = "data-nosnippet"
        parts.append(Usage((_directive(_NO_SNIPPET, "ai-input", "attribute", name, text, scope="parts"),)))
    return merge(*parts)


_GOOGLE: Final = "by Google's rules (2025-03): not in AI Overviews and AI Mode"
_NO_SNIPPET: Final[tuple[Preference, str]] = ("disallowed", _GOOGLE)
_NO_ARCHIVE: Final[tuple[Preference, str]] = (
    "disallowed",
    "by Bing's rules (2023-09): not in chat answers, not for training",
)
_NO_CACHE: Final[tuple[Preference, str]] = (
    "unknown",
    "by Bing's rules (2023-09) chat answers and training may have URL, title and snippet only",
)


def from_directives(found: RobotsMeta) -> Usage:
    """What directives for robots state about AI.

    `noai`, `noml` (noml.info) and `noimageai` (images only): no training. What search engines say that other
    directives mean for AI is a statement with their name in its note: `nosnippet` and `max-snippet:0` (Google),
    `noarchive` and `nocache` (Bing, which takes both together for `nocache`).
    """
    statements = []
    names = {directive.name for directive in found.applying}
    for directive in found.applying:
        said: tuple[Preference, str] = ("disallowed", "")
        purposes: tuple[str, ...] = ("train-ai",)
        scope: UsageScope = "images" if directive.name == "noimageai" else "page"
        match directive.name:
            case "noai" | "noml" | "noimageai":
                pass
            case "nosnippet":
                said, purposes = _NO_SNIPPET, ("ai-input",)
            case "max-snippet" if (directive.value or "").strip() == "0":
                said, purposes = _NO_SNIPPET, ("ai-input",)
            case "noarchive" if "nocache" not in names:
                said, purposes = _NO_ARCHIVE, ("ai-input", "train-ai")
            case "nocache":
                said, purposes = _NO_CACHE, ("ai-input", "train-ai")
            case _:
                continue
        name = "X-Robots-Tag" if directive.source == "header" else (directive.agent or "robots")
        statements += [
            _directive(said, purpose, directive.source, name, directive.text, scope=scope) for purpose in purposes
        ]
    return Usage(tuple(statements[:MAX_VALUES]))


def _directive(
    said: tuple[Preference, str], purpose: str, origin: Origin, name: str, text: str, *, scope: UsageScope
) -> Statement:
    value, note = said
    return Statement(purpose, value, "robots-directive", origin, name, shown(text), scope=scope, note=note)


def _stated_usage(values: Sequence[str], vocabulary: Vocabulary) -> Usage:
    stated = (
        (shown(value.strip()), each)
        for value in ([", ".join(values)] if values and vocabulary.joined else values)
        for each in vocabulary.stated(value)
    )
    name, label, *_ = vocabulary
    return Usage(
        kept(
            Statement(each.purpose, each.value, name, "header", label, text, note=each.note) for text, each in stated
        ).statements
    )
