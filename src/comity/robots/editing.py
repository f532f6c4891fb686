"""Changing a robots.txt one rule at a time: every other line, comment and line end stays as it is.

A change for one agent changes nothing for any other, and for this agent nothing but the rule. Two traps are handled:
an agent that is named for the first time leaves the `*` group, so it takes a copy of what stands there along,
Crawl-delay and preferences too; an agent that shares a group is given one of its own.
"""

from collections.abc import Iterator, Sequence

from comity.errors import InvalidSetting
from comity.robots import kinds
from comity.robots.agents import choose
from comity.robots.building import agent_line, rule_line
from comity.robots.octets import octets
from comity.robots.robots import Robots
from comity.robots.values import Group, Line, Rule

NO_RULE = "Disallow:"  # forbids nothing
_PACE = ("crawl-delay", "request-rate", "visit-time")
_PREFERENCES = ("content-usage", "content-signal")


def add_rule(robots: Robots, agent: str, *, allow: bool, pattern: str) -> Robots:
    """The file with one more rule for an agent (a product token, or `*`).

    Raises:
        InvalidSetting: agent or pattern cannot be written, or the file would be larger than what is read of it.
    """
    text = rule_line(allow, pattern)
    agent_line(agent)
    lines = _lines(robots)
    own = [group for group in robots.groups if _is_alone(group, agent)]
    if own:
        # After the last rule of the agent's own group, or after its last line where it has none.
        at = own[-1].rules[-1].line if own[-1].rules else own[-1].last_line
        return _joined(robots, [*lines[:at], text, *lines[at:]])
    if _named(robots, agent):
        return _joined(robots, [*lines, *_new_group(robots, lines, agent, [text])])
    # An agent that is named leaves what is meant for everybody else: all of that goes along.
    rules = [_text_of(rule.allow, rule.pattern) for rule in _rules_for(robots, agent)]
    return _joined(robots, [*lines, *_new_group(robots, lines, agent, [*_records_for(robots, agent), *rules, text])])


def remove_rule(robots: Robots, agent: str, *, allow: bool, pattern: str) -> Robots:
    """The file without the rules of an agent that have this pattern, as written; the same file where there is none.

    Raises:
        InvalidSetting: agent or pattern cannot be written, or the file is larger than what is read of it.
    """
    rule_line(allow, pattern)
    agent_line(agent)
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
        records = []
        for line, run, named in _records_with_agents(robots):
            meant_for = {value.lower() for value in (run if line.kind in _PACE else named)}
            if group.line <= line.number <= group.last_line and agent.lower() in meant_for:
                records.append(line.raw.strip("\r\n"))
                if len(meant_for) == 1:  # it would go to whoever is named before
                    lines[line.number - 1] = None
        for line in robots.lines[group.line - 1 : group.last_line]:
            if line.kind == "user-agent" and line.value.lower() == agent.lower():
                lines[line.number - 1] = None
        kept = [_text_of(rule.allow, rule.pattern) for rule in group.rules if rule not in dropped]
        added += _new_group(robots, [*_lines(robots), *added], agent, [*records, *(kept or [NO_RULE])])
    left = [line for line in lines if line is not None]
    if not added and left == _lines(robots):
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


def _records_for(robots: Robots, agent: str) -> list[str]:
    """The lines, other than rules, that are meant for an agent now: wishes about pace and preferences."""
    kinds_of_pace = (kinds.CRAWL_DELAY, kinds.REQUEST_RATE, kinds.VISIT_TIME)
    wanted = {record.line for kind in kinds_of_pace for record in robots._records_for(agent, kind)}
    preferences = [(line, group) for line, _, group in _records_with_agents(robots) if line.kind in _PREFERENCES]
    groups = list(dict.fromkeys(group for _, group in preferences))
    chosen = {groups[number] for number in choose(groups, agent, robots.dialect)}
    wanted |= {line.number for line, group in preferences if group in chosen}
    return [line.raw.strip("\r\n") for line in robots.lines if line.number in wanted]


def _records_with_agents(robots: Robots) -> Iterator[tuple[Line, tuple[str, ...], tuple[str, ...]]]:
    """Each wish about pace and each preference, with the User-agent values directly above it and those of its group.

    The first are whom a wish about pace is meant for, the second whom a preference is: its group is ended by a rule or
    another preference.
    """
    run: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    ended = fresh = False
    for line in robots.lines:
        if line.kind == "user-agent":
            run = (*run, line.value) if fresh else (line.value,)
            group = (line.value,) if ended else (*group, line.value)
            ended, fresh = False, True
        elif line.kind not in ("comment", "blank", "unknown"):
            fresh = False
            ended = ended or line.kind in ("allow", "disallow", *_PREFERENCES)
            if line.kind in (*_PACE, *_PREFERENCES):
                yield line, run, group


def _new_group(robots: Robots, before: Sequence[str], agent: str, rules: Sequence[str]) -> list[str]:
    """Lines of a group to put at the end of a file; a group there that has no rule yet is closed first."""
    last = robots.groups[-1:]
    closed = [NO_RULE] if last and not last[0].rules and len(before) == len(_lines(robots)) else []
    blank = [""] if before and before[-1].strip() else []
    return [*closed, *blank, agent_line(agent), *rules]


def _text_of(allow: bool, pattern: str) -> str:
    return f"{kinds.NAMES[kinds.ALLOW if allow else kinds.DISALLOW].capitalize()}: {pattern}".rstrip()


def _lines(robots: Robots) -> list[str]:
    """The lines with their ends, all but the last of which have one. CR, LF and CRLF end a line, nothing else does."""
    return [line.decode("utf-8", "surrogateescape") for line in robots.body.splitlines(keepends=True)]


def _joined(robots: Robots, lines: Sequence[str]) -> Robots:
    """Lines put together; those without an end get the one that the file uses.

    Raises:
        InvalidSetting: what is read of the file would end before it does.
    """
    body = str(robots)
    end = "\r\n" if "\r\n" in body else ("\r" if "\r" in body and "\n" not in body else "\n")
    whole = [line if line.endswith(("\n", "\r")) else line + end for line in lines]
    changed = Robots(octets("".join(whole)), robots.dialect, robots._limit)
    if robots.truncated or changed.truncated:
        raise InvalidSetting(
            f"robots: the file has {len(changed.body):,} bytes, of which {robots._limit:,} are read",
            hint="make it smaller first: crawlers ignore lines beyond that",
        )
    return changed
