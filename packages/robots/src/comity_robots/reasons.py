"""The rule that decides, and why in one plain sentence: what every decision about a fetch says."""

from typing import TYPE_CHECKING

from comity_robots.engine.reference import allows, is_exempt, position_of
from comity_robots.octets import LineNumbers
from comity_robots.parsed import MOST_CITED, MOST_MATCHERS
from comity_robots.values import Rule

if TYPE_CHECKING:
    from comity_robots.parsed import Parsed


MOST_TEXT = 300  # characters of a line or path that a sentence quotes


def brief(robots: "Parsed", url: str, agent: str) -> tuple[bool, Rule | None, str]:
    """Verdict, deciding rule and one sentence: what a decision about a fetch needs, without trying every rule."""
    path = robots._path_of(url, agent)
    shown = path.decode("utf-8", "replace")
    if is_exempt(path, robots.dialect.robots_txt_allowed):
        return True, None, why(None, True, shown, agent, True)
    matcher = robots._matchers.get(agent) or robots._matcher_for(agent)
    rank = matcher.best(path)
    if not rank:
        return True, None, why(None, has_group(robots, agent), shown, agent, False)
    rule = robots._cited.get(rank)
    if rule is None:
        if len(robots._cited) >= MOST_CITED:
            robots._cited.clear()
        rule = robots._cited[rank] = robots._rule(position_of(rank), LineNumbers(robots.body))
    return allows(rank), rule, why(rule, True, shown, agent, False)


def has_group(robots: "Parsed", agent: str) -> bool:
    """Whether a group of the file applies to an agent."""
    named = robots._named.get(agent)
    if named is None:
        if len(robots._named) >= MOST_MATCHERS:
            robots._named.clear()
        named = robots._named[agent] = bool(robots._rules_for(agent)[0])
    return named


def why(rule: Rule | None, has_group: bool, path: str, agent: str, always: bool) -> str:
    if len(path) > MOST_TEXT:
        path = cut(path)
    if always:
        return "robots.txt itself may always be fetched"
    if rule is None:
        if not has_group:
            return f"no group of the file applies to {agent}, so everything is allowed"
        return f"no rule for {agent} matches {path}, so it is allowed"
    if not rule.pattern:
        return f"line {rule.line}, {cut(rule.text)!r}, has no path, so it disallows nothing"
    return f"line {rule.line}, {cut(rule.text)!r}, {'allows' if rule.allow else 'disallows'} {path}"


def cut(text: str) -> str:
    """Words of a site as a sentence can hold them."""
    return text if len(text) <= MOST_TEXT else text[:MOST_TEXT] + "…"
