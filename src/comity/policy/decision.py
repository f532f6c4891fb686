"""Decision: the one answer to "may I fetch this URL, and who said so, in which line?".

`decide` combines a Policy with what came of asking for robots.txt. The strings of verdict and recommendation are
part of the public contract and are never renamed.
"""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from comity.policy.outcome import RobotsResult
from comity.policy.settings import Mode, Policy

Verdict = Literal[
    "allowed_explicit",
    "allowed_implicit",
    "disallowed_explicit",
    "unknown_unreachable",
    "unknown_parse_error",
    "skipped_by_user_policy",
]
Recommendation = Literal["recommended", "not_recommended", "unknown_do_not_fetch_by_default", "allowed_but_warn"]

RECOMMENDATION: dict[Verdict, Recommendation] = {
    "allowed_explicit": "recommended",
    "allowed_implicit": "recommended",
    "disallowed_explicit": "not_recommended",
    "unknown_unreachable": "unknown_do_not_fetch_by_default",
    "unknown_parse_error": "allowed_but_warn",
    "skipped_by_user_policy": "recommended",
}


@dataclass(frozen=True, slots=True)
class RuleCited:
    """The rule that decided: its line number and the line's text."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Source:
    """The evidence: which robots.txt was asked, when, and what came of it."""

    origin: str
    url: str
    status: int | None
    error: str | None
    sha256: str | None
    fetched_at: float
    redirects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """What we decided about one URL.

    Attributes:
        may_fetch: what the mode makes of the verdict; the only field a program needs.
        delay: seconds between requests to this host that the policy and the site's Crawl-delay ask for.
        why: one plain sentence.
    """

    url: str
    agent: str
    verdict: Verdict
    recommendation: Recommendation
    may_fetch: bool
    mode: Mode
    why: str
    rule: RuleCited | None
    delay: float
    source: Source | None

    def to_dict(self) -> dict[str, Any]:
        """As plain values that `json.dumps` takes."""
        return asdict(self)


def decide(policy: Policy, url: str, result: RobotsResult | None) -> Decision:
    """Decide about one URL.

    Args:
        result: what came of asking for the robots.txt of the URL's origin; None only in mode `ignore`.
    """
    rule: RuleCited | None = None
    verdict: Verdict
    blocked = False
    delay = policy.min_interval
    if policy.mode == "ignore" or result is None:
        verdict, why = "skipped_by_user_policy", "robots.txt was not asked: the policy's mode is ignore"
    elif result.kind == "unreachable":
        verdict = "unknown_unreachable"
        blocked = policy.on_unreachable == "disallow"
        reason = result.error or f"HTTP status {result.status}"
        why = f"{result.url} could not be reached ({reason}); until it can, the policy says {policy.on_unreachable}"
    elif result.kind == "unavailable":
        blocked = policy.on_unavailable == "disallow_401_403" and result.status in (401, 403)
        verdict = "disallowed_explicit" if blocked else "allowed_implicit"
        reason = result.error or f"HTTP status {result.status}"
        why = f"{result.url} is unavailable ({reason}), which {'forbids' if blocked else 'allows'} everything"
    elif result.kind == "unparsable" or result.robots is None:
        verdict = "unknown_parse_error"
        blocked = policy.on_unparsable == "disallow"
        why = f"{result.url} holds no line that robots.txt knows; the policy says {policy.on_unparsable}"
    else:
        allowed, decider, why = result.robots.brief(url, policy.agent)
        explicit = decider is not None and decider.pattern != ""
        if decider is not None:
            rule = RuleCited(decider.line, decider.text)
        blocked = not allowed
        verdict = "disallowed_explicit" if blocked else ("allowed_explicit" if explicit else "allowed_implicit")
        asked = result.robots.crawl_delay(policy.agent)
        if asked is not None and asked > delay:
            delay = asked
            if policy.max_crawl_delay is not None and asked > policy.max_crawl_delay:
                blocked = True
                why = f"the site asks for {asked:g} s between requests, more than the {policy.max_crawl_delay:g} s cap"
    return Decision(
        url=url,
        agent=policy.agent,
        verdict=verdict,
        recommendation=RECOMMENDATION[verdict],
        may_fetch=not blocked or policy.mode != "respect",
        mode=policy.mode,
        why=why,
        rule=rule,
        delay=delay,
        source=_source(result),
    )


def _source(result: RobotsResult | None) -> Source | None:
    if result is None:
        return None
    return Source(
        origin=result.origin,
        url=result.url,
        status=result.status,
        error=result.error,
        sha256=result.sha256,
        fetched_at=result.fetched_at,
        redirects=result.redirects,
    )
