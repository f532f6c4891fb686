"""What can come of a row, each as a small number: verdict, recommendation, whether it may be fetched, and why.

The first three are what `comity.policy` decides; the reason is a few fixed words, so that rows can be counted by it.
"""

from dataclasses import replace
from typing import Final, NamedTuple

from comity.policy import Decision, OriginPolicy, Policy, RobotsResult
from comity.policy.decision import RECOMMENDATION, Reason
from comity_robots.values import Rule

FETCHED_AT = 0.0
HERE = "https://comity.invalid"
NULL = "the URL is null"
BAD = "not an http or https URL with a valid host"
UNKNOWN = "no robots.txt for this origin"
TOO_EARLY = "no robots.txt for this origin at that time"
NO_BODY = "the robots.txt has no body"


class RowOutcome(NamedTuple):
    """What can come of a row; all but the reason are None where nothing can be decided."""

    verdict: str | None
    recommendation: str | None
    may_fetch: bool | None
    reason: str


class Outcomes:
    """Outcomes met so far, by number."""

    def __init__(self) -> None:
        self.all: list[RowOutcome] = []
        self._numbers: dict[RowOutcome, int] = {}

    def of(self, outcome: RowOutcome) -> int:
        number = self._numbers.setdefault(outcome, len(self.all))
        if number == len(self.all):
            self.all.append(outcome)
        return number

    def nothing(self, reason: str) -> int:
        return self.of(RowOutcome(None, None, None, reason))


_WORDS: Final = {
    Reason.MODE_IGNORE: "robots.txt was not checked: the policy's mode is ignore",
    Reason.RULE_ALLOWS: "a rule allows it",
    Reason.RULE_WITHOUT_PATH: "the rule has no path and so forbids nothing",
    Reason.RULE_DISALLOWS: "a rule disallows it",
    Reason.NO_RULE: "no rule matches",
    Reason.NO_GROUP: "no group applies to the agent",
    Reason.ROBOTS_TXT_ITSELF: "robots.txt itself may always be fetched",
    Reason.UNAVAILABLE: "robots.txt is unavailable",
    Reason.UNREACHABLE: "robots.txt is unreachable",
    Reason.UNREACHABLE_TOO_LONG: "robots.txt is unreachable",
    Reason.ADDRESS_BLOCKED: "robots.txt is unreachable",
    Reason.UNPARSABLE: "robots.txt has no line that is known",
    Reason.CRAWL_DELAY: "the crawl delay is longer than the policy allows",
    Reason.USE: "the site grants less use of its content than the policy intends",
}
_OF_STATUS: Final = (Reason.UNAVAILABLE, Reason.UNREACHABLE, Reason.UNREACHABLE_TOO_LONG)


def outcome(decision: Decision) -> RowOutcome:
    """A decision as an outcome."""
    reason, source = _WORDS[decision.reason], decision.source
    if decision.reason in _OF_STATUS:
        answered = source is not None and source.status is not None
        reason += f" (HTTP status {source.status})" if source is not None and answered else " (no answer)"
    return RowOutcome(decision.verdict, decision.recommendation, decision.may_fetch, reason)


def judged(policy: Policy, origin_policy: OriginPolicy, url: str) -> tuple[RowOutcome, Rule | None]:
    """The outcome of a URL under a robots.txt that was read, and the rule that decided."""
    if policy.mode == "ignore":
        return outcome(origin_policy.decide(url)), None
    answer = origin_policy.answer(url)
    decision = origin_policy.decide(url, answer=answer)
    if policy.max_crawl_delay is None and policy.use is None:
        # What a delay means for fetching is left to who reads the column crawl_delay.
        decision = replace(decision, recommendation=RECOMMENDATION[decision.verdict])
    return outcome(decision), answer[1]


def whole(policy: Policy, result: RobotsResult, url: str = f"{HERE}/") -> RowOutcome:
    """The outcome of every URL, where no rule is read; `url` may be the robots.txt itself."""
    return outcome(OriginPolicy(policy, result).decide(url))


def answered(policy: Policy, status: int | None, body: bytes, fetched_at: float = FETCHED_AT) -> RobotsResult:
    """What a capture means (RFC 9309, 2.3.1), by the policy; None for a status: there was no answer."""
    where = f"{HERE}/robots.txt"
    if status is None:
        return RobotsResult.unreachable(HERE, where, "no answer", policy=policy, fetched_at=fetched_at)
    return RobotsResult.from_response(HERE, where, status, body, policy=policy, fetched_at=fetched_at)


def of_rules(policy: Policy, outcomes: Outcomes) -> tuple[int, ...]:
    """Numbers of the outcomes that a file's rules can have, learned from what policy says of small files: allowed by a
    rule, by a rule without path, disallowed, no rule, no group, robots.txt itself, no robots.txt at all."""
    rules = b"User-agent: *\nAllow: /a\nDisallow: /d\n"
    asked = (
        (rules, "/a"),
        (b"User-agent: *\nDisallow:\n", "/"),
        (rules, "/d"),
        (rules, "/x"),
        (b"User-agent: some-other-name-than-ours\nDisallow: /\n", "/x"),
        (rules, "/robots.txt"),
    )
    found = []
    for body, path in asked:
        origin_policy = OriginPolicy(policy, answered(policy, 200, body))
        found.append(outcomes.of(judged(policy, origin_policy, HERE + path)[0]))
    found.append(outcomes.of(whole(policy, answered(policy, 200, b"<html>"))))
    return tuple(found)
