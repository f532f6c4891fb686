"""Ruling: what our policy makes of one robots.txt, ready to be asked about many URLs of its origin.

What does not depend on the URL (delay, evidence, the verdict of a file that could not be read) is worked out once.
"""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from comity import urls
from comity.errors import InvalidSetting
from comity.policy.decision import RECOMMENDATION, Decision, RuleCited, Source, Verdict
from comity.policy.outcome import RobotsResult
from comity.policy.settings import Policy
from comity.robots.explain import brief, cut

if TYPE_CHECKING:
    from comity.robots import Robots
    from comity.robots.rates import VisitTime
    from comity.signals.usage import RobotsUsage, Usage


LAST_DAY: Final = 253_402_300_799.0  # Unix time of the end of the year 9999


class Ruling:
    """The answer to every question about one origin, under one policy.

    Attributes:
        delay: seconds between two requests that policy and site ask for.
        asked: the seconds that the site asks for itself, or None.

    Args:
        result: what came of asking for robots.txt; None where the policy's mode is `ignore`.
    """

    def __init__(self, policy: Policy, result: RobotsResult | None) -> None:
        if not isinstance(policy, Policy):
            raise TypeError(f"policy: a Policy is expected, not {type(policy).__name__}")
        if result is None and policy.mode != "ignore":
            raise InvalidSetting("result: without what came of asking for robots.txt only mode ignore can decide")
        self._policy = policy
        self._source = _source(result)
        self._robots: Robots | None = None
        self._usage: RobotsUsage | None = None
        self._no_usage: Usage | None = None
        self._whole: tuple[Verdict, bool, str] | None = None  # verdict, blocked, why: one answer for every URL
        self._note = ""  # what is to be said of the copy that decides
        self._refused = ""  # why nothing may be fetched, whatever the rules say
        self.asked: float | None = None
        self._hours: VisitTime | None = None
        self.delay = policy.min_interval
        if policy.mode == "ignore":
            self._source = None
            self._whole = ("skipped_by_user_policy", False, "robots.txt was not asked: the policy's mode is ignore")
        elif result is None:
            raise AssertionError("checked above")
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
            self._read(result.robots, result)

    def allows(self, url: str) -> bool:
        """Whether a URL may be fetched: `decide(url).may_fetch` at a fraction of its cost."""
        if self._policy.mode != "respect":
            return True
        if self._whole is not None:
            return not self._whole[1] or _is_robots_txt(url)
        assert self._robots is not None
        return not self._refused and self._robots.allowed(url, self._policy.agent)

    def opens_at(self, wall: float) -> float:
        """When the site next receives visits (Visit-time), in Unix time; at most `wall` where it does now."""
        return wall if self._hours is None else self._hours.opens_at(wall)

    def decide(self, url: str) -> Decision:
        """The decision about a URL of the origin."""
        policy = self._policy
        rule: RuleCited | None = None
        recommended = True
        if self._whole is not None:
            verdict, blocked, why = self._whole
            usage = self._nothing_stated()
            if blocked and _is_robots_txt(url):
                blocked, why = False, "robots.txt itself may always be fetched"
        else:
            assert self._robots is not None
            allowed, decider, why = brief(self._robots, url, policy.agent)
            if decider is not None:
                rule = RuleCited(decider.line, cut(decider.text))
            blocked = not allowed
            explicit = decider is not None and decider.pattern != ""
            verdict = "disallowed_explicit" if blocked else ("allowed_explicit" if explicit else "allowed_implicit")
            usage = self._usage.for_url(url, crawlable=allowed) if self._usage else self._nothing_stated()
            if allowed and self._refused:
                blocked, why, recommended = True, self._refused, False
            why += self._note
        if blocked and policy.mode == "report_only":
            why += "; nothing is blocked, for the mode is report_only"
        return Decision(
            url,
            policy.agent,
            verdict,
            RECOMMENDATION[verdict] if recommended else "not_recommended",
            not blocked or policy.mode != "respect",
            policy.mode,
            why,
            rule,
            self.delay,
            self._source,
            policy.purposes,
            usage,
        )

    def _read(self, robots: "Robots", result: RobotsResult) -> None:
        policy = self._policy
        if result.unreachable_since is not None:
            day = datetime.fromtimestamp(min(result.unreachable_since, LAST_DAY), UTC).strftime("%Y-%m-%d %H:%M")
            self._note = f" (by the last good copy: {result.url} has been unreachable since {day} UTC)"
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
                    f"the site asks for {self.asked:.10g} s between requests, more than the "
                    f"{policy.max_crawl_delay:.10g} s that the policy allows (max_crawl_delay)"
                )
        if "visit-time" in policy.honour:
            self._hours = robots.visit_time(policy.agent)
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


def _is_robots_txt(url: str) -> bool:
    """Whether a URL is the robots.txt itself, which may always be fetched (RFC 9309, 2.2.2)."""
    return url.endswith("/robots.txt") and urls.path_and_query(url) == "/robots.txt"


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
