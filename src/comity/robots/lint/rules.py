"""Findings that groups and rules show only together."""

from collections.abc import Iterator

from comity.robots.agents import folded, token
from comity.robots.lint.findings import Finding
from comity.robots.parsed import Robots
from comity.robots.values import Group, Rule

_FRESH = "\x01"  # occurs in no pattern people write
_IGNORES_DELAY = {"googlebot", "googlebot-image", "googlebot-news", "googlebot-video", "google-extended"}
MOST_WITNESSED = 2_000  # rules of a file that are tried against the others


def about_rules(robots: Robots) -> Iterator[Finding]:
    """Findings about groups, and about rules that meet others."""
    seen: dict[str, int] = {}
    for group in robots.groups:
        yield from _about_group(robots, group, seen)
        yield from _about_pairs(group)
    for record in robots.records("crawl-delay"):
        names = [agent for agent in record.agents if folded(token(agent)) in _IGNORES_DELAY]
        if names:
            yield Finding(
                record.line, "crawl-delay-ignored", f"{names[0]} ignores Crawl-delay", "set its pace in its own console"
            )
    yield from _unreachable(robots)


def _about_group(robots: Robots, group: Group, seen: dict[str, int]) -> Iterator[Finding]:
    for agent in dict.fromkeys(folded(token(agent)) for agent in group.agents):
        if agent in seen:
            yield Finding(
                group.line, "duplicate-group", f"{agent!r} is named in line {seen[agent]} too", "put the rules together"
            )
        else:
            seen[agent] = group.line
    if not group.rules:
        yield Finding(group.line, "group-without-rules", "no rule follows", "write 'Disallow:' if that is meant")
    effective = [rule for rule in group.rules if rule.pattern]
    if (
        "*" in group.agents
        and [rule.pattern for rule in effective] in (["/"], ["*"], ["/*"])
        and not effective[0].allow
    ):
        yield Finding(effective[0].line, "everything-disallowed", "nobody may fetch anything", "is that meant?")


def _about_pairs(group: Group) -> Iterator[Finding]:
    """Rules of one group with the same pattern, and rules that a shorter one covers."""
    first: dict[str, Rule] = {}
    for rule in group.rules:
        if not rule.pattern:
            continue
        before = first.setdefault(rule.pattern, rule)
        if before is rule:
            continue
        if before.allow == rule.allow:
            yield Finding(rule.line, "duplicate-rule", f"line {before.line} says the same", "remove one of them")
        else:
            yield Finding(
                rule.line, "conflicting-rules", f"line {before.line} says the opposite", "keep the one that is meant"
            )
    if any("*" in pattern or pattern.endswith("$") for pattern in first):
        return  # with wildcards a shorter rule does not settle it
    chain: list[str] = []
    for pattern in sorted(first):
        while chain and not pattern.startswith(chain[-1]):
            chain.pop()
        rule = first[pattern]
        if chain and first[chain[-1]].allow == rule.allow:
            cover = first[chain[-1]]
            yield Finding(rule.line, "redundant-rule", f"line {cover.line} ({cover.text}) covers it", "remove it")
        elif not chain and rule.allow and pattern.startswith("/"):
            yield Finding(
                rule.line, "allow-without-disallow", "nothing forbids this path", "remove it, or keep it as a note"
            )
        chain.append(pattern)


def _unreachable(robots: Robots) -> Iterator[Finding]:
    """Rules that decide about none of their own paths, as this dialect ranks them."""
    count = 0
    for group in robots.groups:
        agent = next((agent for agent in group.agents if agent), "")
        ask = "\x01nobody" if agent == "*" else token(agent)
        conflicting = {rule.pattern for rule in group.rules if rule.allow} & {
            r.pattern for r in group.rules if not r.allow
        }
        first: set[tuple[bool, str]] = set()
        for rule in group.rules:
            same = (rule.allow, rule.pattern)
            if not rule.pattern.startswith(("/", "*")) or rule.pattern in conflicting or same in first:
                continue
            first.add(same)
            count += 1
            if count > MOST_WITNESSED:
                return
            if not any(robots.deciding_line(path, ask) == rule.line for path in _paths(rule.pattern)):
                yield Finding(
                    rule.line, "unreachable-rule", "others decide about all its paths", "remove it, or make it longer"
                )


def _paths(pattern: str) -> Iterator[str]:
    anchored = pattern.endswith("$")
    stem = pattern[:-1] if anchored else pattern
    for filling in (_FRESH, ""):
        path = stem.replace("*", filling)
        path = path if path.startswith("/") else "/" + path
        yield path
        if not anchored:
            yield path + _FRESH
