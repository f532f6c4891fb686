"""Writing a robots.txt, anew from plain values or by changing one rule of a file that is there.

What is written anew means what was given, or is refused. A change leaves every other line, comment and line end as it
is; for one agent it changes nothing for any other, and for this agent nothing but the rule. Two traps are handled:
an agent that is named for the first time leaves the `*` group, so it takes a copy of what stands there along,
Crawl-delay and preferences too; an agent that shares a group is given a new one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from comity_robots import directives
from comity_robots.dialects import Dialect
from comity_robots.engine.reference import Entry
from comity_robots.errors import InvalidSetting
from comity_robots.lines import Line
from comity_robots.octets import octets
from comity_robots.robots import Robots, parse
from comity_robots.usage import aipref
from comity_robots.values import Group

NO_RULE = "Disallow:"  # forbids nothing
_WISHES = ((directives.RECORDS, directives.PACE), (directives.PREFERENCES, directives.STATED))
"""Wishes about pace, and preferences: what ends the run of User-agent lines that they are meant for, and the labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupText:
    """A group to write.

    Attributes:
        agents: product tokens, or `*`.
        rules: (allow, pattern) in the order in which they are written; without any, all is allowed.
        crawl_delay: seconds, or None for no such line.
        preferences: AIPREF's category, such as `train-ai`, -> whether it is allowed; a Content-Usage line.
    """

    agents: Sequence[str]
    rules: Sequence[tuple[bool, str]] = ()
    crawl_delay: float | None = None
    preferences: Mapping[str, bool] = field(default_factory=dict)


def build(
    groups: Iterable[GroupText], *, sitemaps: Iterable[str] = (), comment: str = "", dialect: str | Dialect = "rfc9309"
) -> Robots:
    """A new robots.txt.

    Args:
        sitemaps: absolute URLs.
        comment: put at the top, line by line.

    Raises:
        InvalidSetting: an agent, a pattern or a URL could not be read back as what it is meant to be, or the file would
            be larger than what is read of it.
    """
    parts = []
    if comment:
        parts.append("".join(f"# {line}".rstrip() + "\n" for line in comment.splitlines()))
    parts.extend(_group_text(group) for group in groups)
    named = [sitemap_line(url) for url in sitemaps]
    if named:
        parts.append("".join(named))
    return _whole(parse("\n".join(parts), dialect))


def rule_line(allow: bool, pattern: str) -> str:
    """An Allow or Disallow line without its end.

    Raises:
        InvalidSetting: the pattern does not begin with `/` or `*`, or holds what ends a line or begins a comment.
    """
    if pattern and not pattern.startswith(("/", "*")):
        raise InvalidSetting(f"pattern: {pattern!r} matches nothing; begin it with '/'")
    if _breaks(pattern) or pattern != pattern.strip():
        raise InvalidSetting(f"pattern: {pattern!r} cannot be written; percent-encode '#', white space and line ends")
    return f"{'Allow' if allow else 'Disallow'}: {pattern}".rstrip()


def agent_line(agent: str) -> str:
    """A User-agent line without its end. Raises InvalidSetting: it is empty or would be read as something else."""
    if not agent.strip() or agent != agent.strip() or _breaks(agent) or "/" in agent:
        raise InvalidSetting(f"agent: {agent!r} is not a product token; write for example 'MyBot' or '*'")
    return f"User-agent: {agent}"


def _group_text(group: GroupText) -> str:
    if not group.agents:
        raise InvalidSetting("agents: a group needs at least one; '*' stands for all")
    lines = [agent_line(agent) for agent in group.agents]
    if group.crawl_delay is not None:
        if not 0 <= group.crawl_delay < float("inf"):
            raise InvalidSetting(f"crawl_delay: {group.crawl_delay!r} is not a number of seconds")
        lines.append(f"Crawl-delay: {group.crawl_delay:.15g}")
    if group.preferences:
        if unknown := next((key for key in group.preferences if key not in aipref.VOCABULARY.keys), None):
            raise InvalidSetting(f"preferences: {unknown!r} is not one of {', '.join(aipref.VOCABULARY.keys)}")
        stated = (f"{key}={'y' if allowed else 'n'}" for key, allowed in group.preferences.items())
        lines.append(f"Content-Usage: {', '.join(stated)}")
    # Without any rule a group would run into the next one; an empty Disallow forbids nothing (RFC 9309, 2.2.2).
    lines.extend(rule_line(allow, pattern) for allow, pattern in group.rules or ((False, ""),))
    return "".join(f"{line}\n" for line in lines)


def sitemap_line(url: str) -> str:
    if not url.startswith(("http://", "https://")) or _breaks(url) or url != url.strip():
        raise InvalidSetting(f"sitemap: {url!r} is not an absolute URL")
    return f"Sitemap: {url}\n"


def _breaks(text: str) -> bool:
    return any(char in text for char in "#\r\n\0")


def add_rule(robots: Robots, agent: str, *, allow: bool, pattern: str) -> Robots:
    """The file with one more rule for an agent (a product token, or `*`).

    Raises:
        InvalidSetting: agent or pattern cannot be written, or the file would be larger than what is read of it.
    """
    text = rule_line(allow, pattern)
    agent_line(agent)
    lines = lines_of(robots)
    own = [group for group in robots.groups if _is_alone(group, agent)]
    if own:
        # After the last rule of the agent's own group, or after its last line where it has none.
        at = own[-1].rules[-1].line if own[-1].rules else own[-1].last_line
        return joined(robots, [*lines[:at], text, *lines[at:]])
    if _named(robots, agent):
        return joined(robots, [*lines, *_new_group(robots, lines, agent, [text])])
    # Once an agent is named, `*` no longer applies to it: its rules are copied into the new group.
    rules = [copied(entry) for entry in robots.entries(robots.applying(agent)[1])]
    return joined(robots, [*lines, *_new_group(robots, lines, agent, [*records_for(robots, agent), *rules, text])])


def remove_rule(robots: Robots, agent: str, *, allow: bool, pattern: str) -> Robots:
    """The file without the rules of an agent that have this pattern, as written; the same file where there is none.

    Raises:
        InvalidSetting: agent or pattern cannot be written, or the file is larger than what is read of it.
    """
    rule_line(allow, pattern)
    agent_line(agent)
    lines: list[str | None] = list(lines_of(robots))
    added: list[str] = []
    for run, group in zip(robots.runs(), robots.groups, strict=True):
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
        for line, agents in records_meant(robots):
            meant_for = {value.lower() for value in agents}
            if group.line <= line.number <= group.last_line and agent.lower() in meant_for:
                records.append(line.raw.strip("\r\n"))
                if len(meant_for) == 1:  # it would go to whoever is named before
                    lines[line.number - 1] = None
        for line in robots.lines[group.line - 1 : group.last_line]:
            if line.kind == "user-agent" and line.value.lower() == agent.lower():
                lines[line.number - 1] = None
        rules = zip(group.rules, robots.entries(run.numbers, directives.RULES), strict=True)
        kept = [copied(entry) for rule, entry in rules if rule not in dropped]
        added += _new_group(robots, [*lines_of(robots), *added], agent, [*records, *(kept or [NO_RULE])])
    left = [line for line in lines if line is not None]
    if not added and left == lines_of(robots):
        return robots
    return joined(robots, [*left, *added])


def _is_alone(group: Group, agent: str) -> bool:
    return [value.lower() for value in group.agents] == [agent.lower()]


def _named(robots: Robots, agent: str) -> bool:
    return any(agent.lower() in [value.lower() for value in group.agents] for group in robots.groups)


def _records(robots: Robots) -> list[Line]:
    """The lines that are records, by their numbers in the index."""
    return [line for line in robots.lines if line.kind not in ("comment", "blank", "unknown")]


def records_for(robots: Robots, agent: str) -> list[str]:
    """The lines, other than rules, that are meant for an agent now: wishes about pace and preferences."""
    lines = _records(robots)
    numbers = {number for ends, wanted in _WISHES for number in robots.applying(agent, ends, wanted)[1]}
    return [lines[number].raw.strip("\r\n") for number in sorted(numbers)]


def records_meant(robots: Robots) -> list[tuple[Line, tuple[str, ...]]]:
    """Each wish about pace and each preference, with the User-agent values that it is meant for."""
    lines = _records(robots)
    found = {
        entry.number: run.agents
        for ends, wanted in _WISHES
        for run in robots.runs(ends)
        for entry in robots.entries(run.numbers, wanted)
    }
    return [(lines[number], agents) for number, agents in sorted(found.items())]


def _new_group(robots: Robots, before: Sequence[str], agent: str, rules: Sequence[str]) -> list[str]:
    """Lines of a group to put at the end of a file; a group there that has no rule yet is closed first."""
    last = robots.groups[-1:]
    closed = [NO_RULE] if last and not last[0].rules and len(before) == len(lines_of(robots)) else []
    blank = [""] if before and before[-1].strip() else []
    return [*closed, *blank, agent_line(agent), *rules]


def copied(entry: Entry) -> str:
    """A rule of the file as a line, its pattern octet for octet: white space that is not ASCII belongs to it, and what
    is no UTF-8."""
    pattern = entry.octets.decode("utf-8", "surrogateescape")
    label = directives.NAMES[entry.directive].capitalize()
    return f"{label}: {pattern}" if pattern else f"{label}:"


def lines_of(robots: Robots) -> list[str]:
    """The lines with their ends, all but the last of which have one. CR, LF and CRLF end a line, nothing else does."""
    return [line.decode("utf-8", "surrogateescape") for line in robots.body.splitlines(keepends=True)]


def joined(robots: Robots, lines: Sequence[str]) -> Robots:
    """Lines put together; those without an end get the one that the file uses.

    Raises:
        InvalidSetting: what is read of the file would end before it does.
    """
    body = str(robots)
    end = "\r\n" if "\r\n" in body else ("\r" if "\r" in body and "\n" not in body else "\n")
    whole = [line if line.endswith(("\n", "\r")) else line + end for line in lines]
    changed = _whole(Robots(octets("".join(whole)), robots.dialect, robots.max_bytes))
    _whole(robots)
    return changed


def _whole(robots: Robots) -> Robots:
    """A file of which all is read. Raises InvalidSetting: what is read of it would end before it does."""
    if robots.truncated:
        raise InvalidSetting(
            f"robots: the file has {len(robots.body):,} bytes, of which {robots.max_bytes:,} are read",
            hint="make it smaller first: crawlers ignore lines beyond that",
        )
    return robots
