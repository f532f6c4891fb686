"""Why: the rule that decides, the rules that it overrides, and one plain sentence."""

from typing import TYPE_CHECKING

from comity.robots._pattern import matches
from comity.robots.dialects import Dialect
from comity.robots.octets import LineNumbers
from comity.robots.parsed import MOST_CITED
from comity.robots.rules import comparable, position_of, ranked
from comity.robots.values import Match, Rule

if TYPE_CHECKING:
    from comity.robots.parsed import Parsed


MOST_SHOWN = 100  # rules shown as beaten; a hostile file can make thousands match
MOST_TEXT = 300  # characters of a line or path that a sentence quotes


def brief(robots: "Parsed", url: str, agent: str) -> tuple[bool, Rule | None, str]:
    """Verdict, deciding rule and one sentence: what a decision about a fetch needs, without trying every rule."""
    dialect = robots.dialect
    path = robots._path_of(url, agent)
    shown = path.decode("utf-8", "replace")
    if path == b"/robots.txt" and dialect.robots_txt_allowed:
        return True, None, _why(None, True, shown, agent, True)
    matcher = robots._matchers.get(agent) or robots._matcher_for(agent)
    rank = matcher.best(path)
    if not rank:
        named = robots._named.get(agent)
        if named is None:
            robots._make_room()
            named = robots._named[agent] = bool(robots._chosen(agent))
        return True, None, _why(None, named, shown, agent, False)
    rule = robots._cited.get(rank)
    if rule is None:
        if len(robots._cited) >= MOST_CITED:
            robots._cited.clear()
        rule = robots._cited[rank] = robots._rule(position_of(rank), LineNumbers(robots.body))
    return bool(rank & 1), rule, _why(rule, True, shown, agent, False)


def explain(robots: "Parsed", url: str, agent: str) -> Match:
    """Judge by trying every rule. Slower than `allowed`, on purpose another way, with the same verdict."""
    dialect = robots.dialect
    path = robots._path_of(url, agent)
    spans = robots._chosen(agent)
    found: dict[int, int] = {}  # record -> its strongest rank
    for number, entry in robots._rule_entries(spans):
        for pattern, rank in ranked(robots.body, [(number, entry)], dialect).items():
            if _matches(pattern, path, dialect) and rank > found.get(number, 0):
                found[number] = rank
    order = sorted(found.items(), key=lambda item: item[1], reverse=True)[: MOST_SHOWN + 1]
    lines = LineNumbers(robots.body)
    rules = [robots._rule(number, lines) for number, _ in order]
    rule = rules[0] if rules else None
    group = None
    if spans:
        home = next((span for span in spans if order and span[0] <= order[0][0] < span[1]), spans[0])
        group = robots._group(home, lines)
    always = path == b"/robots.txt" and dialect.robots_txt_allowed
    allowed = always or not order or bool(order[0][1] & 1)
    shown = path.decode("utf-8", "replace")
    return Match(
        url=url,
        agent=agent,
        dialect=dialect.name,
        allowed=allowed,
        rule=None if always else rule,
        group=group,
        path=shown,
        beaten=() if always else tuple((beaten, _lost(rules[0], beaten, dialect)) for beaten in rules[1:]),
        why=_why(None if always else rule, spans != [], shown, agent, always),
    )


def _matches(pattern: bytes, path: bytes, dialect: Dialect) -> bool:
    return matches(pattern, path) if dialect.wildcards else path.startswith(pattern)


def _why(rule: Rule | None, has_group: bool, path: str, agent: str, always: bool) -> str:
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


def _lost(winner: Rule, loser: Rule, dialect: Dialect) -> str:
    if dialect.precedence == "longest":
        octets, more = (len(comparable(rule.pattern.encode("utf-8", "replace"), dialect)) for rule in (loser, winner))
        if octets != more:
            return f"{octets} bytes, line {winner.line} has {more}"
        if loser.allow != winner.allow and dialect.tie == "allow":
            return "equally long, and Allow wins a tie"
        return f"equally long, and line {winner.line} comes first"
    if dialect.precedence == "first" or loser.allow == winner.allow:
        return f"line {winner.line} comes first"
    return f"{'Allow' if winner.allow else 'Disallow'} lines come first"
