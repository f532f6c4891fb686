"""Findings that groups and rules show only together."""

from collections.abc import Iterator

from comity.robots.agents import folded, token
from comity.robots.lint.findings import Finding
from comity.robots.lint.removable import Rules
from comity.robots.parsed import Parsed
from comity.robots.reasons import cut
from comity.robots.values import Group, Rule

_IGNORES_DELAY = {"googlebot", "googlebot-image", "googlebot-news", "googlebot-video", "google-extended"}


def about_rules(robots: Parsed, rules: Rules) -> Iterator[Finding]:
    """Findings about groups, and about rules that meet others."""
    seen: dict[str, int] = {}
    for group in rules.groups:
        yield from _about_group(robots, group, seen)
    for record in robots.records("crawl-delay"):
        names = [agent for agent in record.agents if folded(token(agent)) in _IGNORES_DELAY]
        if names:
            yield Finding(
                record.line, "crawl-delay-ignored", f"{names[0]} ignores Crawl-delay", "set its pace in its own console"
            )
    for code, rule, because, needed in rules.removable():
        yield Finding(
            rule.line,
            code,
            _reason(code, because),
            "write 'Disallow:' instead, which keeps the group" if needed else "remove it",
            "Disallow:" if needed else "",
        )


def _reason(code: str, because: Rule | None) -> str:
    if because is None:
        return "nothing forbids this path"
    where = f"line {because.line} ({cut(because.text)})"
    return {
        "duplicate-rule": f"{where} says the same",
        "conflicting-rules": f"{where} says the opposite, and wins",
        "redundant-rule": f"{where} covers it",
    }.get(code, f"{where} and others decide about all its paths")


def _about_group(robots: Parsed, group: Group, seen: dict[str, int]) -> Iterator[Finding]:
    for agent in dict.fromkeys(folded(token(agent)) for agent in group.agents):
        if agent in seen:
            yield Finding(
                group.line,
                "duplicate-group",
                f"{agent!r} is named in line {seen[agent]} too",
                f"put the rules for {agent!r} into one group of its own",
                changes=robots.dialect.group_choice != "merge_matching" or robots.dialect.precedence != "longest",
            )
        else:
            seen[agent] = group.line
    if not group.rules:
        yield Finding(
            group.line, "group-without-rules", "no rule follows", "write 'Disallow:' below it if that is meant"
        )
    effective = [rule for rule in group.rules if rule.pattern]
    if (
        "*" in group.agents
        and [rule.pattern for rule in effective] in (["/"], ["*"], ["/*"])
        and not effective[0].allow
    ):
        yield Finding(effective[0].line, "everything-disallowed", "nobody may fetch anything", "is that meant?")
