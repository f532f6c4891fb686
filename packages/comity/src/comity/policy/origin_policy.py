"""OriginPolicy: what our policy makes of one robots.txt, ready to be asked about many URLs of its origin.

What does not depend on the URL (delay, evidence, the verdict of a file that could not be read) is worked out once.
"""

from dataclasses import fields
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from comity import times
from comity.errors import InvalidSetting
from comity.policy.decision import RECOMMENDATION, Decision, Reason, RuleCited, Source, Verdict
from comity.policy.policy import Policy
from comity.policy.presets import DAY
from comity.policy.robots_result import RobotsResult
from comity_robots.fields import made
from comity_robots.paths import is_robots_txt
from comity_robots.reasons import quoted

if TYPE_CHECKING:
    from comity_robots import Robots
    from comity_robots.rates import RequestRate, VisitTime
    from comity_robots.robots_usage import RobotsUsage
    from comity_robots.usage import Usage
    from comity_robots.values import Rule


MIN_SLOW_STEPS: Final = 4_000_000
"""Asterisks in a robots.txt times characters of a URL, from which on the answer takes milliseconds."""
MAX_SLOW_ANSWERS: Final = 64  # slow answers remembered: a URL is asked about more than once on its way
MIN_HOPELESS_SECONDS: Final = DAY  # seconds between two requests; who asks for more wants none
_OF_RESULT: Final = attrgetter(*(each.name for each in fields(Source)))
MAX_UNIX_TIME: Final = 253_402_300_799.0  # Unix time of the end of the year 9999
Answer = tuple[bool, "Rule | None", bool | None, str]
"""Of the rules alone: whether they allow a URL, the one that decides, whether any are for us (None: the URL is the
robots.txt itself), and a sentence."""
# By names of their own: to look up a member of an enum takes as long as a function call.
_RULE_ALLOWS, _RULE_DISALLOWS, _NO_RULE = Reason.RULE_ALLOWS, Reason.RULE_DISALLOWS, Reason.NO_RULE


@lru_cache(1024)  # a rule decides about many URLs
def _cited(line: int, text: str) -> RuleCited:
    return RuleCited(line, quoted(text))


class OriginPolicy:
    """The answer to every question about one origin, under one policy.

    Attributes:
        delay: seconds between two requests that policy and site ask for, at the slowest time of day (see `delay_at`).
        hours: when the site receives visits (Visit-time), where that is honoured; None: always.

    Args:
        result: what came of asking for robots.txt; None where the policy's mode is `ignore`.
    """

    def __init__(self, policy: Policy, result: RobotsResult | None) -> None:
        if not isinstance(policy, Policy):
            raise TypeError(f"policy: expected Policy, not {type(policy).__name__}")
        if result is None and policy.mode != "ignore":
            raise InvalidSetting("result: required unless the mode is ignore")
        self._policy = policy
        self._asked_as = policy.asked_as
        self._source = _source(result)
        self._robots: Robots | None = None
        self._usage: RobotsUsage | None = None
        self._no_usage: Usage | None = None
        self._grants_use = False  # whether the site may grant less use than we intend
        # Verdict, reason, whether it is blocked, and a sentence, where there is one answer for every URL.
        self._blanket_verdict: tuple[Verdict, Reason, bool, str] | None = None
        self._note = ""  # what every sentence adds about the copy that decides
        self._asterisks = 0
        self._slow: dict[str, Answer] = {}  # slow answers, by URL
        self._refused = ""  # why nothing may be fetched, whatever the rules say: for its Crawl-delay
        self._hopeless = ""  # why fetching is not recommended, though it is allowed
        self.hours: VisitTime | None = None
        self._least = self.delay = policy.min_interval  # seconds between two requests at any time; at the slowest
        self._rates: tuple[RequestRate, ...] = ()  # those that are meant for some hours of the day
        if policy.mode == "ignore":
            self._source = None
            why = "robots.txt was not checked: the policy's mode is ignore"
            self._blanket_verdict = ("skipped_by_user_policy", Reason.MODE_IGNORE, False, why)
        elif result is None:
            raise AssertionError("checked above")
        elif result.kind == "unreachable":
            self._blanket_verdict = self._unreachable(result)
        elif result.kind == "unavailable":
            self._blanket_verdict = self._unavailable(result)
        elif result.kind == "unparsable":
            self._blanket_verdict = (
                "unknown_parse_error",
                Reason.UNPARSABLE,
                policy.on_unparsable == "disallow",
                f"{result.url} is not a robots.txt: it has no known line; {_then(policy.on_unparsable == 'disallow')}",
            )
        else:
            self._read(result.robots, result)
        # Whether what the rules allow may be left out all the same.
        self._reserved = bool(self._refused or self._hopeless or self._grants_use)

    def is_slow(self, url: str) -> bool:
        """Return whether the answer about a URL may take many milliseconds, for so many wildcards and so long a URL,
        and is not known yet.

        RFC 9309, 2.5 asks for 500 KiB of rules to be read, and each may take time linear in the URL's length.
        """
        return self._asterisks * len(url) > MIN_SLOW_STEPS and url not in self._slow

    def allows(self, url: str) -> bool:
        """Return whether a URL may be fetched: `decide(url).may_fetch` at a fraction of its cost."""
        if self._policy.mode != "respect":
            return True
        if self._blanket_verdict is not None:
            return not self._blanket_verdict[2] or is_robots_txt(url)
        assert self._robots is not None
        if self._refused and not is_robots_txt(url):
            return False
        if self._grants_use and self._use_refusal(self._usage_of(url)) and not is_robots_txt(url):
            return False
        if self._asterisks * len(url) > MIN_SLOW_STEPS:
            return self.answer(url)[0]
        return self._robots.allowed(url, self._asked_as)

    def delay_at(self, wall: float) -> float:
        """Return seconds between two requests that policy and site ask for at a Unix time."""
        if not self._rates:
            return self.delay
        return max([self._least, *(rate.interval for rate in self._rates if rate.holds_at(wall))])

    def decide(self, url: str, wall: float | None = None, answer: Answer | None = None) -> Decision:
        """Return the decision about a URL of the origin.

        Args:
            wall: Unix time for which its delay is; None for the slowest time of day.
            answer: that of `answer`, where it is known.
        """
        policy = self._policy
        rule: RuleCited | None = None
        recommended = True
        if self._blanket_verdict is not None:
            verdict, reason, blocked, why = self._blanket_verdict
            usage = self._nothing_stated()
            if blocked and is_robots_txt(url):
                blocked, reason, why = False, Reason.ROBOTS_TXT_ITSELF, "robots.txt itself may always be fetched"
        else:
            allowed, decider, ours, why = answer or self.answer(url)
            blocked, verdict = not allowed, "allowed_implicit"
            if decider is None:
                reason = _NO_RULE if ours else Reason.ROBOTS_TXT_ITSELF if ours is None else Reason.NO_GROUP
            else:
                rule = _cited(decider.line, decider.text)
                if blocked:
                    reason, verdict = _RULE_DISALLOWS, "disallowed_explicit"
                elif decider.pattern:
                    reason, verdict = _RULE_ALLOWS, "allowed_explicit"
                else:
                    reason = Reason.RULE_WITHOUT_PATH
            usage = self._usage.for_url(url, crawlable=allowed) if self._usage else self._nothing_stated()
            if allowed and self._reserved:
                refused = self._refused or (self._use_refusal(usage) if self._grants_use else "")
                if refused and not is_robots_txt(url):
                    blocked, why, recommended = True, refused, False
                    reason = Reason.CRAWL_DELAY if self._refused else Reason.USE
                elif self._hopeless:
                    why, recommended = why + self._hopeless, False
            why += self._note
        if blocked and policy.mode == "report_only":
            why += "; not blocked, because the mode is report_only"
        return made(
            Decision,
            url,
            policy.agent,
            verdict,
            RECOMMENDATION[verdict] if recommended else "not_recommended",
            not blocked or policy.mode != "respect",
            policy.mode,
            reason,
            why,
            rule,
            self.delay if wall is None else self.delay_at(wall),
            self._source,
            policy.purposes,
            usage,
        )

    def answer(self, url: str) -> Answer:
        """Return what the rules of a robots.txt that was read say about a URL, before the policy."""
        robots = self._robots
        assert robots is not None
        if self._asterisks * len(url) <= MIN_SLOW_STEPS:
            return robots.decide_with_reason(url, self._asked_as)
        answer = self._slow.get(url)
        if answer is None:
            if len(self._slow) >= MAX_SLOW_ANSWERS:
                self._slow.clear()
            answer = self._slow[url] = robots.decide_with_reason(url, self._asked_as)
        return answer

    def _read(self, robots: "Robots", result: RobotsResult) -> None:
        policy = self._policy
        if result.unreachable_since is not None:
            day = datetime.fromtimestamp(min(result.unreachable_since, MAX_UNIX_TIME), UTC).strftime("%Y-%m-%d %H:%M")
            self._note = f" (from the last good copy: robots.txt has been unreachable since {day} UTC)"
        self._robots = robots
        self._asterisks = robots.body.count(b"*")
        asked = robots.crawl_delay(policy.asked_as) if "crawl-delay" in policy.honour else None
        rates = robots.request_rates(policy.asked_as) if "request-rate" in policy.honour else ()
        self._rates = tuple(rate for rate in rates if rate.start is not None)
        always = [asked or 0.0, *(rate.interval for rate in rates if rate.start is None)]
        self._least = max([policy.min_interval, *always])
        self.delay = max([self._least, *(rate.interval for rate in self._rates)])
        slowest = max([*always, *(rate.interval for rate in self._rates)])
        if policy.max_crawl_delay is not None and slowest > policy.max_crawl_delay:
            at_times = " at some time of the day" if slowest > max(always) else ""
            self._refused = (
                f"its robots.txt requires {slowest:.10g} s between requests{at_times}, more than the "
                f"{policy.max_crawl_delay:.10g} s that the policy allows (max_crawl_delay)"
            )
        elif slowest > MIN_HOPELESS_SECONDS:
            self._hopeless = (
                f"; its robots.txt requires {slowest:.10g} s ({times.format_duration(slowest)}) between requests, "
                "which makes crawling hopeless"
            )
        if "visit-time" in policy.honour:
            self.hours = robots.visit_time(policy.asked_as)
        if robots.states_usage:
            from comity_robots.robots_usage import for_agent

            self._usage = for_agent(robots, policy.asked_as)
            self._grants_use = policy.use is not None

    def _usage_of(self, url: str) -> "Usage":
        return self._usage.for_url(url, crawlable=True) if self._usage else self._nothing_stated()

    def _use_refusal(self, usage: "Usage") -> str:
        """Return why a URL is left out: the site grants less use of it than we intend; empty where it does not."""
        from comity_robots.usage.statements import less_than_intended

        return less_than_intended(usage, self._policy.use)

    def _nothing_stated(self) -> "Usage":
        if self._no_usage is None:
            from comity_robots.usage.statements import Usage

            self._no_usage = Usage()
        return self._no_usage

    def _unreachable(self, result: RobotsResult) -> tuple[Verdict, Reason, bool, str]:
        policy = self._policy
        error = result.error or f"HTTP status {result.status}"
        since = result.fetched_at if result.unreachable_since is None else result.unreachable_since
        lasted = result.fetched_at - since
        if policy.unreachable_life is not None and lasted >= policy.unreachable_life:
            days = f"{lasted / 86_400:.0f} days"
            why = f"robots.txt has been unreachable for {days} ({error}): treated as unavailable"
            return "allowed_implicit", Reason.UNREACHABLE_TOO_LONG, False, f"{why}, so everything is allowed"
        reason, what = Reason.UNREACHABLE, "unreachable"
        if result.blocked:
            reason, what = Reason.ADDRESS_BLOCKED, "not requested"
        return (
            "unknown_unreachable",
            reason,
            policy.on_unreachable == "disallow",
            f"robots.txt {what}: {error}; {_then(policy.on_unreachable == 'disallow')}",
        )

    def _unavailable(self, result: RobotsResult) -> tuple[Verdict, Reason, bool, str]:
        blocked = self._policy.on_unavailable == "disallow_401_403" and result.status in (401, 403)
        return (
            "disallowed_explicit" if blocked else "allowed_implicit",
            Reason.UNAVAILABLE,
            blocked,
            f"{result.missing}: everything is {'disallowed' if blocked else 'allowed'}",
        )


def _then(disallowed: bool) -> str:
    return "so nothing may be fetched" if disallowed else "so everything is allowed"


def decide(policy: Policy, url: str, result: RobotsResult | None) -> Decision:
    """Decide about one URL; for many URLs of an origin keep a OriginPolicy.

    Args:
        result: what came of asking for the robots.txt of the URL's origin; None only in mode `ignore`.
    """
    return OriginPolicy(policy, result).decide(url)


def _source(result: RobotsResult | None) -> Source | None:
    if result is None:
        return None
    return Source(*_OF_RESULT(result))
