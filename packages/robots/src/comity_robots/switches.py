"""Who may come, by switches: which agents of a file are blocked, and the edit of the fewest lines that blocks some,
lets them in, blocks paths for all, or states what content may be used for.

An edit means what was asked, or is refused; no other agent's verdict changes.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final, Literal

from comity_robots import authoring, directives
from comity_robots.agent_table import PURPOSES, known_agents, names_for
from comity_robots.agents import NOBODY, ascii_lower, token
from comity_robots.engine.reference import Entry
from comity_robots.errors import InvalidSetting
from comity_robots.robots import Robots, parse
from comity_robots.usage.policy_tokens import is_policy_token
from comity_robots.values import Group

Access = Literal["allowed", "partly", "blocked"]
SWITCHES: Final = PURPOSES[:4]
"""The purposes that a site's owner decides about: search, AI training, AI search, user-triggered."""
_STATED: Final = {
    "search": ("search", "search"),
    "AI training": ("train-ai", "ai-train"),
    "AI search": ("ai-use", "ai-input"),
}
"""Purpose -> its category in Content-Usage (AIPREF) and its signal in Content-Signal."""
_DRAFT: Final = "ai-use"
"""Is in a draft that reflects no consensus: changed where a file states it, and never added."""
_EVERYTHING: Final = ("/", "/*", "*")
_BLOCK: Final = "Disallow: /"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the owner of a site wants.

    Attributes:
        purposes: purpose -> whether its agents may fetch, and what they fetch may be used for that purpose.
        agents: product token -> whether it may fetch; counts more than its purpose.
        block: patterns that nobody may fetch.
        sitemaps: absolute URLs to name.
    """

    purposes: Mapping[str, bool] = field(default_factory=dict)
    agents: Mapping[str, bool] = field(default_factory=dict)
    block: Sequence[str] = ()
    sitemaps: Sequence[str] = ()


def written(wishes: Wishes, robots: Robots | None = None) -> Robots:
    """A robots.txt with what is wished: a new one, or the given one changed in the fewest lines.

    Raises:
        InvalidSetting: a value cannot be written, or the file would be larger than what is read of it.
    """
    robots = parse("") if robots is None else robots
    for allow in (True, False):
        for purpose, wanted in wishes.purposes.items():
            if wanted is allow:
                own = {ascii_lower(each) for each in wishes.agents}
                names = [each for each in names_for(purpose) if ascii_lower(each) not in own]
                robots = let_in(robots, names) if allow else block(robots, names)
        named = [agent for agent, wanted in wishes.agents.items() if wanted is allow]
        robots = let_in(robots, named) if allow else block(robots, named)
    for pattern in wishes.block:
        robots = block_path(robots, pattern)
    robots = state(robots, wishes.purposes)
    missing = [url for url in dict.fromkeys(wishes.sitemaps) if url not in robots.sitemaps]
    lines = authoring.lines_of(robots)
    blank = [""] if missing and lines and lines[-1].strip() and not robots.sitemaps else []
    return authoring.joined(robots, [*lines, *blank, *map(authoring.sitemap_line, missing)]) if missing else robots


def expected(wishes: Wishes, robots: Robots) -> str:
    """The wishes as expectations about a file, as `comity test` reads them."""
    wanted = {name: allow for purpose, allow in wishes.purposes.items() for name in names_for(purpose)}
    wanted |= wishes.agents
    lines = [f"{name} {'yes' if allow else 'not'} /\n" for name, allow in wanted.items()]
    free = ["*", *(name for name, allow in wanted.items() if allow)]
    lines += [f"{name} not {_witness(pattern)}\n" for pattern in wishes.block for name in free]
    return "".join(lines)


def access(robots: Robots, agent: str) -> tuple[Access, int]:
    """Whether an agent may fetch all, a part or nothing, and the line that says so; 0 where none does."""
    root, line = robots.allowed("https://a/", agent), robots.deciding_line("https://a/", agent)
    for entry in robots.entries(robots.applying(agent)[1]):
        differs = entry.octets and (entry.directive == directives.ALLOW) is not root
        if differs and robots.allowed(f"https://a{_witness(entry.value)}", agent) is not root:
            return "partly", line or robots.rule_of(entry).line
    return ("allowed" if root else "blocked"), line


def block(robots: Robots, agents: Iterable[str]) -> Robots:
    """The file with these agents blocked: they may fetch nothing.

    Raises:
        InvalidSetting
    """
    return _switched(robots, agents, False)


def let_in(robots: Robots, agents: Iterable[str]) -> Robots:
    """The file without what blocks these agents from everything; rules about parts of the site stay.

    Raises:
        InvalidSetting
    """
    return _switched(robots, agents, True)


def _switched(robots: Robots, agents: Iterable[str], allow: bool) -> Robots:
    agents = [agent for agent in dict.fromkeys(agents) if (access(robots, agent)[0] != "blocked") is not allow]
    if not agents:
        return robots
    for agent in agents:
        authoring.agent_line(agent)
    keys = {ascii_lower(each) for each in agents}
    lines: list[str | None] = list(authoring.lines_of(robots))
    after: dict[int, list[str]] = {}
    records = {agent: tuple(authoring.records_for(robots, agent)) for agent in agents}
    copied = {agent: _rules_left(robots, agent) if allow else () for agent in agents}
    settled: set[str] = set()
    meant = [
        (line.number, {ascii_lower(token(value)) for value in names}) for line, names in authoring.records_meant(robots)
    ]
    for group in robots.groups:
        named = [value for value in group.agents if ascii_lower(token(value)) in keys]
        if not named:
            continue
        if len(named) == len(group.agents):
            settled |= {ascii_lower(token(value)) for value in named}
            _whole_group(robots, group, allow, lines, after)
            continue
        for line in robots.lines[group.line - 1 : group.last_line]:
            if line.kind == "user-agent" and ascii_lower(token(line.value)) in keys:
                lines[line.number - 1] = None
        for number, names in meant:  # it would go to whoever is named before
            if group.line <= number <= group.last_line and names <= keys:
                lines[number - 1] = None
    others = [each for each in agents if ascii_lower(each) not in settled]
    if allow and access(robots, NOBODY)[0] != "blocked":  # who is named no more is let in with all others
        everybodys, rules_of_all = {*authoring.records_for(robots, NOBODY)}, _rules_left(robots, NOBODY)
        known = {ascii_lower(token(value)) for group in robots.groups for value in group.agents}
        others = [each for each in others if ascii_lower(each) not in known or {*records[each]} - everybodys]
        copied |= {each: rules_of_all for each in others if ascii_lower(each) in known}
    added: list[str] = []
    order = {ascii_lower(each.name): each.purpose for each in known_agents()}

    def key(agent: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        return order.get(ascii_lower(agent), ""), records[agent], copied[agent]

    for (purpose, pace, rules), same in groupby(sorted(others, key=key), key):
        named_lines = [authoring.agent_line(each) for each in same]
        home = None if allow else _home(robots, pace, keys, purpose)
        if home is not None:
            after.setdefault(home, []).extend(named_lines)
            continue
        verb = "May fetch the site" if allow else "May not fetch the site"
        comment = f"# {verb}: {purpose}" if purpose else f"# {verb}"
        closed = [] if added else _closed(robots)
        blank = [""] if added or any(line and line.strip() for line in lines) else []
        added += [*closed, *blank, comment, *named_lines, *pace, *(rules or [authoring.NO_RULE if allow else _BLOCK])]
    changed = _edited(robots, lines, after, added)
    wrong = [agent for agent in agents if (access(changed, agent)[0] != "blocked") is not allow]
    if wrong:
        raise InvalidSetting(f"{wrong[0]}: the groups of this file leave no single edit that {_VERB[allow]} it")
    return changed


_VERB: Final = {True: "lets in", False: "blocks"}


def _whole_group(
    robots: Robots, group: Group, allow: bool, lines: list[str | None], after: dict[int, list[str]]
) -> None:
    """Edit a group of which every agent is switched."""
    if not allow:
        for rule in group.rules:
            if rule.allow or not rule.pattern:
                lines[rule.line - 1] = None
        at = group.rules[-1].line if group.rules else group.last_line
        after.setdefault(at, []).insert(0, _BLOCK)
        return
    blocking = [rule for rule in group.rules if not rule.allow and rule.pattern in _EVERYTHING]
    for rule in blocking:
        lines[rule.line - 1] = None
    if blocking and len(blocking) == len(group.rules):
        lines[blocking[-1].line - 1] = authoring.NO_RULE


def _rules_left(robots: Robots, agent: str) -> tuple[str, ...]:
    """The rules that apply to an agent now but for those that block everything, as a group of its own takes them."""
    entries: Iterable[Entry] = robots.entries(robots.applying(agent)[1])
    return tuple(
        authoring.copied(each)
        for each in entries
        if each.octets and not (each.directive != directives.ALLOW and each.value in _EVERYTHING)
    )


def _closed(robots: Robots) -> list[str]:
    """What ends the last group before another one is written below it."""
    return [authoring.NO_RULE] if robots.groups and not robots.groups[-1].rules else []


def _edited(robots: Robots, lines: list[str | None], after: Mapping[int, list[str]], added: Sequence[str]) -> Robots:
    """The file of these lines but for None, with others after some of them, by number, and at its end."""
    merged = (each for number, line in enumerate(lines, 1) for each in (line, *after.get(number, ())))
    return authoring.joined(robots, [*(each for each in merged if each is not None), *added])


def _home(robots: Robots, pace: tuple[str, ...], leaving: set[str], purpose: str) -> int | None:
    """The last User-agent line of a group that blocks everything, states the same and has agents of that purpose."""
    if not purpose:
        return None
    alike = {ascii_lower(each) for each in names_for(purpose)}
    for group in robots.groups:
        names = {ascii_lower(token(value)) for value in group.agents} - leaving
        rules = [(rule.allow, rule.pattern) for rule in group.rules]
        alone = names & alike and "*" not in names and rules == [(False, "/")]
        if alone and tuple(authoring.records_for(robots, group.agents[0])) == pace:
            return _head(robots, group)
    return None


def _head(robots: Robots, group: Group) -> int:
    """The number of the last User-agent line of a group."""
    return max(line.number for line in robots.lines[group.line - 1 : group.last_line] if line.kind == "user-agent")


def block_path(robots: Robots, pattern: str) -> Robots:
    """The file with a pattern that nobody may fetch: a rule in each group whose agents may, and in one for `*`.

    Raises:
        InvalidSetting
    """
    rule = authoring.rule_line(False, pattern)
    url = f"https://a{_witness(pattern)}"
    lines: list[str | None] = list(authoring.lines_of(robots))
    after: dict[int, list[str]] = {}
    done: set[str] = set()
    for group in robots.groups:
        names = {ascii_lower(value) for value in group.agents}
        asked = NOBODY if "*" in names else group.agents[0]
        if names <= done or not robots.allowed(url, asked):
            continue
        done |= names
        for each in group.rules:
            if (each.allow and each.pattern == pattern) or not each.pattern:
                lines[each.line - 1] = None
        after.setdefault(group.rules[-1].line if group.rules else group.last_line, []).append(rule)
    added = [*([] if after else _closed(robots)), *([""] if lines else []), "User-agent: *", rule]
    return _edited(robots, lines, after, [] if any("*" in group.agents for group in robots.groups) else added)


def state(robots: Robots, purposes: Mapping[str, bool]) -> Robots:
    """The file with what content may be used for, in each group that may fetch something, and for everybody else.

    Raises:
        InvalidSetting
    """
    usage = {_STATED[each][0]: "y" if allow else "n" for each, allow in purposes.items() if each in _STATED}
    signal = {_STATED[each][1]: "yes" if allow else "no" for each, allow in purposes.items() if each in _STATED}
    if not signal:
        return robots
    lines: list[str | None] = list(authoring.lines_of(robots))
    if not any("*" in group.agents for group in robots.groups):
        blank = [""] if lines else []
        robots = _edited(robots, lines, {}, [*_closed(robots), *blank, "User-agent: *", authoring.NO_RULE])
        lines = list(authoring.lines_of(robots))
    after: dict[int, list[str]] = {}
    for group in robots.groups:
        if all(map(is_policy_token, group.agents)):
            continue
        asked = NOBODY if "*" in group.agents else group.agents[0]
        own = robots.lines[group.line - 1 : group.last_line]
        head = _head(robots, group)
        for label, wanted in (("Content-Usage", usage), ("Content-Signal", signal)):
            stated = [
                line for line in own if line.kind == label.lower() and not line.value.lstrip().startswith(("/", "*"))
            ]
            for line in stated[-1:]:
                value = line.value
                for name, answer in wanted.items():
                    found = re.compile(rf"(?<![\w-]){name}\s*=\s*[\w-]+")
                    if found.search(value):
                        value = found.sub(f"{name}={answer}", value)
                    elif name != _DRAFT:
                        value = f"{value}, {name}={answer}"
                if value != line.value:
                    lines[line.number - 1] = f"{label}: {value.strip(', ')}"
            added = [f"{name}={answer}" for name, answer in wanted.items() if name != _DRAFT]
            if added and not stated and access(robots, asked)[0] != "blocked":
                after.setdefault(head, []).append(f"{label}: {', '.join(added)}")
    return _edited(robots, lines, after, [])


def _witness(pattern: str) -> str:
    """A path that a pattern matches."""
    path = pattern.removesuffix("$").replace("*", "")
    return path if path.startswith("/") else f"/{path}"
