"""Changing a robots.txt one rule at a time: every other line, comment and line end stays as it is.

A change for one agent changes nothing for any other. Two traps are handled: an agent that is named for the first time
leaves the `*` group, so it takes a copy of those rules along; an agent that shares a group is given one of its own.
"""

from collections.abc import Sequence

from comity.robots import kinds
from comity.robots.agents import choose
from comity.robots.building import agent_line, rule_line
from comity.robots.parsed import Robots, parse
from comity.robots.values import Group, Rule

NO_RULE = "Disallow:"  # forbids nothing


def add_rule(robots: Robots, agent: str, *, allow: bool, pattern: str) -> Robots:
    """The file with one more rule for an agent (a product token, or `*`).

    Raises:
        InvalidSetting: agent or pattern cannot be written.
    """
    text = rule_line(allow, pattern)
    agent_line(agent)
    lines = _lines(robots)
    own = [group for group in robots.groups if _is_alone(group, agent)]
    if own:
        # After the last rule of the agent's own group, or after its last line where it has none.
        at = own[-1].rules[-1].line if own[-1].rules else own[-1].last_line
        return _joined(robots, [*lines[:at], text, *lines[at:]])
    rules = [] if _named(robots, agent) else [_text_of(rule.allow, rule.pattern) for rule in _rules_for(robots, agent)]
    return _joined(robots, [*lines, *_new_group(robots, lines, agent, [*rules, text])])


def remove_rule(robots: Robots, agent: str, *, allow: bool, pattern: str) -> Robots:
    """The file without the rules of an agent that have this pattern, as written; the same file where there is none.

    Raises:
        InvalidSetting: agent or pattern cannot be written.
    """
    rule_line(allow, pattern)
    lines: list[str | None] = list(_lines(robots))
    added: list[str] = []
    for group in robots.groups:
        dropped = [rule for rule in group.rules if (rule.allow, rule.pattern) == (allow, pattern)]
        if not dropped or agent.lower() not in [value.lower() for value in group.agents]:
            continue
        if _is_alone(group, agent):
            for rule in dropped:
                lines[rule.line - 1] = None
            if len(dropped) == len(group.rules):  # without any rule it would run into the next group
                lines[dropped[-1].line - 1] = NO_RULE
            continue
        for line in robots.lines[group.line - 1 : group.last_line]:
            if line.kind == "user-agent" and line.value.lower() == agent.lower():
                lines[line.number - 1] = None
        kept = [_text_of(rule.allow, rule.pattern) for rule in group.rules if rule not in dropped]
        added += _new_group(robots, [*_lines(robots), *added], agent, kept or [NO_RULE])
    left = [line for line in lines if line is not None]
    if len(left) == len(lines):
        return robots
    return _joined(robots, [*left, *added])


def _is_alone(group: Group, agent: str) -> bool:
    return [value.lower() for value in group.agents] == [agent.lower()]


def _named(robots: Robots, agent: str) -> bool:
    return any(agent.lower() in [value.lower() for value in group.agents] for group in robots.groups)


def _rules_for(robots: Robots, agent: str) -> list[Rule]:
    groups = robots.groups
    chosen = choose([group.agents for group in groups], agent, robots.dialect)
    return [rule for number in chosen for rule in groups[number].rules]


def _new_group(robots: Robots, before: Sequence[str], agent: str, rules: Sequence[str]) -> list[str]:
    """Lines of a group to put at the end of a file; a group there that has no rule yet is closed first."""
    last = robots.groups[-1:]
    closed = [NO_RULE] if last and not last[0].rules and len(before) == len(_lines(robots)) else []
    blank = [""] if before and before[-1].strip() else []
    return [*closed, *blank, agent_line(agent), *rules]


def _text_of(allow: bool, pattern: str) -> str:
    return f"{kinds.NAMES[kinds.ALLOW if allow else kinds.DISALLOW].capitalize()}: {pattern}".rstrip()


def _lines(robots: Robots) -> list[str]:
    """The lines with their ends, all but the last of which have one."""
    return str(robots).splitlines(keepends=True)


def _joined(robots: Robots, lines: Sequence[str]) -> Robots:
    """Lines put together; those without an end get the one that the file uses."""
    body = str(robots)
    end = "\r\n" if "\r\n" in body else ("\r" if "\r" in body and "\n" not in body else "\n")
    whole = [line if line.endswith(("\n", "\r")) else line + end for line in lines]
    return parse("".join(whole), robots.dialect)
