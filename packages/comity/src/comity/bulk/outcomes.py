"""What can come of a row, each as a small number: verdict, recommendation, whether it may be fetched, and why.

The first three are what `comity.policy` decides; the reason is a few fixed words, so that rows can be counted by it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from comity.policy import Decision, OriginPolicy, Policy, RobotsResult
from comity.policy.decision import RECOMMENDATION
from comity_robots import Robots, parse
from comity_robots.paths import is_robots_txt
from comity_robots.usage.statements import USE
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


def outcome(decision: Decision, rule: Rule | None, reason: str) -> RowOutcome:
    """A decision as an outcome. Args: rule: the one that decided. reason: why, where it was none."""
    if rule is not None:
        if not rule.pattern:
            reason = "the rule has no path and so forbids nothing"
        else:
            reason = "a rule allows it" if rule.allow else "a rule disallows it"
    if rule is not None and decision.recommendation == "not_recommended" and decision.verdict != "disallowed_explicit":
        reason = _refused(decision)
    return RowOutcome(decision.verdict, decision.recommendation, decision.may_fetch, reason)


def judged(policy: Policy, origin_policy: OriginPolicy, robots: Robots, url: str) -> tuple[RowOutcome, Rule | None]:
    """The outcome of a URL under a robots.txt that was read, and the rule that decided."""
    decision = origin_policy.decide(url)
    if policy.mode == "ignore":
        return outcome(decision, None, _SKIPPED), None
    if (
        policy.max_crawl_delay is None and policy.use is None
    ):  # what a delay means for fetching is left to who reads the column crawl_delay
        decision = replace(decision, recommendation=RECOMMENDATION[decision.verdict])
    _, rule, _ = robots.brief(url, policy.asked_as)
    if rule is not None:
        return outcome(decision, rule, ""), rule
    if robots.dialect.robots_txt_allowed and is_robots_txt(url):
        return outcome(decision, None, "robots.txt itself may always be fetched"), None
    if not decision.may_fetch:
        return outcome(decision, None, _refused(decision)), None
    named = bool(robots._rules_for(policy.asked_as)[0])
    return outcome(decision, None, "no rule matches" if named else "no group applies to the agent"), None


def _refused(decision: Decision) -> str:
    """Why the policy leaves out what the rules allow."""
    if decision.why.startswith(f"{USE} is "):
        return "the site grants less use of its content than the policy intends"
    return "the crawl delay is longer than the policy allows"


_SKIPPED = "robots.txt was not checked: the policy's mode is ignore"
_WHOLE = {
    "unreachable": "robots.txt is unreachable",
    "unavailable": "robots.txt is unavailable",
    "unparsable": "robots.txt has no line that is known",
}


def whole(policy: Policy, result: RobotsResult, url: str = f"{HERE}/") -> RowOutcome:
    """The outcome of every URL, where no rule is read; `url` may be the robots.txt itself."""
    decision = OriginPolicy(policy, result).decide(url)
    if policy.mode == "ignore":
        return outcome(decision, None, _SKIPPED)
    reason = _WHOLE[result.kind]
    if result.kind != "unparsable":
        reason += f" (HTTP status {result.status})" if result.status is not None else " (no answer)"
    if decision.may_fetch and is_robots_txt(url) and policy.mode == "respect":
        reason = "robots.txt itself may always be fetched"
    return outcome(decision, None, reason)


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
        robots = parse(body, policy.dialect)
        origin_policy = OriginPolicy(policy, answered(policy, 200, body))
        found.append(outcomes.of(judged(policy, origin_policy, robots, HERE + path)[0]))
    found.append(outcomes.of(whole(policy, answered(policy, 200, b"<html>"))))
    return tuple(found)
