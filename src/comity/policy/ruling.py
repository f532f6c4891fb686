"""Ruling: what our policy makes of one robots.txt, ready to be asked about many URLs of its origin.

What does not depend on the URL (delay, evidence, the verdict of a file that could not be read) is worked out once.
"""

from typing import TYPE_CHECKING

from comity.policy.decision import RECOMMENDATION, Decision, RuleCited, Source, Verdict
from comity.policy.outcome import RobotsResult
from comity.policy.settings import Policy

if TYPE_CHECKING:
    from comity.robots import Robots
    from comity.signals.usage import RobotsUsage, Usage


class Ruling:
    """The answer to every question about one origin, under one policy.

    Attributes:
        delay: seconds between two requests that policy and site ask for.
        asked: the seconds that the site asks for itself, or None.

    Args:
        result: what came of asking for robots.txt; None where the policy's mode is `ignore`.
    """

    def __init__(self, policy: Policy, result: RobotsResult | None) -> None:
        self._policy = policy
        self._result = result
        self._source = _source(result)
        self._robots: Robots | None = None
        self._usage: RobotsUsage | None = None
        self._no_usage: Usage | None = None
        self._whole: tuple[Verdict, bool, str] | None = None  # verdict, blocked, why: one answer for every URL
        self._refused = ""  # why nothing may be fetched, whatever the rules say
        self.asked: float | None = None
        self.delay = policy.min_interval
        if policy.mode == "ignore" or result is None:
            self._whole = ("skipped_by_user_policy", False, "robots.txt was not asked: the policy's mode is ignore")
        elif result.kind == "unreachable":
            self._whole = self._unreachable(result)
        elif result.kind == "unavailable":
            self._whole = self._unavailable(result)
        elif result.kind == "unparsable" or result.robots is None:
            self._whole = (
                "unknown_parse_error",
                policy.on_unparsable == "disallow",
                f"{result.url} holds no line that robots.txt knows; the policy says {policy.on_unparsable}",
            )
        else:
            self._read(result.robots)

    def allows(self, url: str) -> bool:
        """Whether a URL may be fetched: `decide(url).may_fetch` at a fraction of its cost."""
        if self._policy.mode != "respect":
            return True
        if self._whole is not None:
            return not self._whole[1]
        assert self._robots is not None
        return not self._refused and self._robots.allowed(url, self._policy.agent)

    def decide(self, url: str) -> Decision:
        """The decision about a URL of the origin."""
        policy = self._policy
        rule: RuleCited | None = None
        if self._whole is not None:
            verdict, blocked, why = self._whole
            usage = self._nothing_stated()
        else:
            assert self._robots is not None
            allowed, decider, why = self._robots.brief(url, policy.agent)
            if decider is not None:
                rule = RuleCited(decider.line, decider.text)
            blocked = not allowed
            explicit = decider is not None and decider.pattern != ""
            verdict = "disallowed_explicit" if blocked else ("allowed_explicit" if explicit else "allowed_implicit")
            usage = self._usage.for_url(url, crawlable=allowed) if self._usage else self._nothing_stated()
            if allowed and self._refused:
                blocked, why = True, self._refused
        return Decision(
            url,
            policy.agent,
            verdict,
            RECOMMENDATION[verdict],
            not blocked or policy.mode != "respect",
            policy.mode,
            why,
            rule,
            self.delay,
            self._source,
            policy.purposes,
            usage,
        )

    def _read(self, robots: "Robots") -> None:
        policy = self._policy
        self._robots = robots
        wishes = []
        if "crawl-delay" in policy.honour:
            wishes.append(robots.crawl_delay(policy.agent))
        if "request-rate" in policy.honour and (rate := robots.request_rate(policy.agent)) is not None:
            wishes.append(rate.seconds / rate.requests)
        self.asked = max((wish for wish in wishes if wish is not None), default=None)
        if self.asked is not None:
            self.delay = max(self.delay, self.asked)
            if policy.max_crawl_delay is not None and self.asked > policy.max_crawl_delay:
                self._refused = (
                    f"the site asks for {self.asked:g} s between requests, more than the "
                    f"{policy.max_crawl_delay:g} s that the policy allows (max_crawl_delay)"
                )
        if robots.states_usage:
            from comity.signals.usage import for_agent

            self._usage = for_agent(robots, policy.agent)

    def _nothing_stated(self) -> "Usage":
        if self._no_usage is None:
            from comity.signals.usage.statements import Usage

            self._no_usage = Usage()
        return self._no_usage

    def _unreachable(self, result: RobotsResult) -> tuple[Verdict, bool, str]:
        policy = self._policy
        reason = result.error or f"HTTP status {result.status}"
        since = result.fetched_at if result.unreachable_since is None else result.unreachable_since
        lasted = result.fetched_at - since
        if policy.unreachable_life is not None and lasted >= policy.unreachable_life:
            days = f"{lasted / 86_400:.0f} days"
            why = f"{result.url} has been unreachable for {days} ({reason}): it counts as unavailable"
            return "allowed_implicit", False, f"{why}, which allows everything"
        return (
            "unknown_unreachable",
            policy.on_unreachable == "disallow",
            f"{result.url} could not be reached ({reason}); until it can, the policy says {policy.on_unreachable}",
        )

    def _unavailable(self, result: RobotsResult) -> tuple[Verdict, bool, str]:
        blocked = self._policy.on_unavailable == "disallow_401_403" and result.status in (401, 403)
        reason = result.error or f"HTTP status {result.status}"
        return (
            "disallowed_explicit" if blocked else "allowed_implicit",
            blocked,
            f"{result.url} is unavailable ({reason}), which {'forbids' if blocked else 'allows'} everything",
        )


def decide(policy: Policy, url: str, result: RobotsResult | None) -> Decision:
    """Decide about one URL; for many URLs of an origin keep a Ruling.

    Args:
        result: what came of asking for the robots.txt of the URL's origin; None only in mode `ignore`.
    """
    return Ruling(policy, result).decide(url)


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
        expires_at=result.expires_at,
        redirects=result.redirects,
        unreachable_since=result.unreachable_since,
    )
