"""What differs: between two robots.txt files by meaning, and between the dialects about one URL.

A change of a file is which agents gained or lost which paths, and what else is said to them now; text that means the
same is no change. A verdict can only differ where a rule came, went or changed its place. Each such rule's pattern
stands for the paths it matches; of these some are tried that no other pattern matches by accident. For files without
wildcards this finds every change; with wildcards, every change that a pattern's own paths show.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

from comity.robots import kinds
from comity.robots._making import matcher_of
from comity.robots._match import Matcher
from comity.robots.agents import Chooser, token
from comity.robots.dialects import DIALECTS
from comity.robots.explain import Match
from comity.robots.octets import LineNumbers
from comity.robots.rates import RequestRate, VisitTime
from comity.robots.robots import Robots, parse
from comity.robots.rules import position_of, ranked
from comity.robots.values import Rule

Pace = tuple[float | None, RequestRate | None, VisitTime | None]
_PACE = ("crawl-delay", "request-rate", "visit-time")


@dataclass(frozen=True, slots=True)
class Change:
    """Paths that an agent gained or lost.

    Attributes:
        agent: product token; `*` stands for every agent that neither file names.
        pattern: the pattern whose paths changed.
        allowed: the verdict now; it was the other before.
        before, after: the rules that decided and decide; None where none does.
    """

    agent: str
    pattern: str
    allowed: bool
    before: Rule | None
    after: Rule | None


@dataclass(frozen=True, slots=True)
class Diff:
    """What changed in meaning.

    Attributes:
        changes: paths gained or lost, agent by agent.
        delays: agent -> Crawl-delay before and now, where they differ.
        sitemaps_added, sitemaps_removed: Sitemap records.
        rates: agent -> Request-rate before and now.
        hours: agent -> Visit-time before and now.
        usage: agent -> the Content-Usage and Content-Signal lines before and now, where they mean another thing.
        licences_added, licences_removed: License records.
        parameters_added, parameters_removed: Clean-param records.
    """

    changes: tuple[Change, ...]
    delays: dict[str, tuple[float | None, float | None]]
    sitemaps_added: tuple[str, ...]
    sitemaps_removed: tuple[str, ...]
    rates: dict[str, tuple[RequestRate | None, RequestRate | None]] = field(default_factory=dict)
    hours: dict[str, tuple[VisitTime | None, VisitTime | None]] = field(default_factory=dict)
    usage: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = field(default_factory=dict)
    licences_added: tuple[str, ...] = ()
    licences_removed: tuple[str, ...] = ()
    parameters_added: tuple[str, ...] = ()
    parameters_removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in self.__slots__)


def diff(old: Robots, new: Robots) -> Diff:
    """Compare two files by meaning, each in its own dialect."""
    before, after = _Meaning(old), _Meaning(new)
    fresh = next((octet for octet in range(1, 256) if octet not in old.body + new.body and octet not in b"*$/"), 1)
    named = (token(agent) for robots in (old, new) for group in robots.groups for agent in group.agents)
    names = {name.lower(): name for name in named if name and "*" not in name}
    found = Diff((), {}, _added(old.sitemaps, new.sitemaps), _added(new.sitemaps, old.sitemaps))
    changes: list[Change] = []
    known: dict[tuple[tuple[int, ...], tuple[int, ...]], list[tuple[str, bool, Rule | None, Rule | None]]] = {}
    asked = {"*": "\x01nobody", **{name: name for name in names.values()}}
    for meaning in (before, after):
        meaning.note_shared(meaning.groups(ask) for ask in asked.values())
    for agent, ask in asked.items():
        groups = before.groups(ask), after.groups(ask)
        if groups not in known:  # what is said to thousands is compared once
            known[groups] = list(_changes(before, after, *groups, bytes((fresh,))))
        changes += [Change(agent, pattern, not was, *deciders) for pattern, was, *deciders in known[groups]]
        (delay, rate, hours), (delay_now, rate_now, hours_now) = before.pace(ask), after.pace(ask)
        if delay != delay_now:
            found.delays[agent] = (delay, delay_now)
        if rate != rate_now:
            found.rates[agent] = (rate, rate_now)
        if hours != hours_now:
            found.hours[agent] = (hours, hours_now)
        (meant, lines), (means, lines_now) = before.usage(ask), after.usage(ask)
        if meant != means:
            found.usage[agent] = (lines, lines_now)
    licences, parameters = (
        [[record.value for record in robots.records(kind)] for robots in (old, new)]
        for kind in ("license", "clean-param")
    )
    return replace(
        found,
        changes=tuple(changes),
        licences_added=_added(*licences),
        licences_removed=_added(*reversed(licences)),
        parameters_added=_added(*parameters),
        parameters_removed=_added(*reversed(parameters)),
    )


def _added(old: Iterable[str], new: Iterable[str]) -> tuple[str, ...]:
    known = set(old)
    return tuple(value for value in dict.fromkeys(new) if value not in known)


def _changes(
    before: "_Meaning", after: "_Meaning", old: tuple[int, ...], new: tuple[int, ...], fresh: bytes
) -> Iterator[tuple[str, bool, Rule | None, Rule | None]]:
    """Of groups before and after: pattern, verdict before, the rules that decided and decide, each pair once."""
    ordered = not (before.by_length and after.by_length) or before.robots.dialect != after.robots.dialect
    came_or_went: dict[bytes, str] = {}
    for here, one, there, other in ((before, old, after, new), (after, new, before, old)):
        for group in one:
            rules = here.rules((group,)) if ordered else here.missing(group, there, other)
            came_or_went |= {pattern: written for (pattern, _), written in rules.items()}
    if not (came_or_went or ordered):
        return
    reported = set()
    for pattern, written in ({b"/": "/"} | came_or_went).items():
        for path in _paths(pattern, fresh, before.robots.dialect.wildcards):
            was = before.allows(old, path)
            if was != after.allows(new, path):
                deciders = before.decider(old, path), after.decider(new, path)
                if deciders not in reported:
                    reported.add(deciders)
                    yield written, was, *deciders
                break


def _paths(pattern: bytes, fresh: bytes, wildcards: bool) -> Iterator[bytes]:
    """Paths that a pattern matches; an octet that occurs in neither file stands for whatever it leaves open."""
    if not pattern.startswith((b"/", b"*")):
        return
    anchored = wildcards and pattern.endswith(b"$")
    stem = pattern[:-1] if anchored else pattern
    for filling in (b"", fresh) if wildcards else (b"*",):
        path = stem.replace(b"*", filling)
        path = path if path.startswith(b"/") else b"/" + path
        yield path
        if not anchored:
            yield path + fresh


class _Meaning:
    """What a file says to each agent.

    Agents may share some of their groups and have others of their own. What several agents share is worked out once:
    a matcher is made for each group that several share and for the rest of an agent's groups together, and the rule
    with the highest rank of them all decides.
    """

    def __init__(self, robots: Robots) -> None:
        self.robots = robots
        self.by_length = robots.dialect.precedence == "longest" and robots.dialect.tie == "allow"
        groups = robots.groups
        self._numbers = [[number for number, _ in robots._rule_entries([span])] for span in robots._spans()]
        self._groups = Chooser([group.agents for group in groups], robots.dialect)
        runs = list(robots._runs())
        self._paces = [[f"{each.kind}: {each.value}" for each in records if each.kind in _PACE] for _, records in runs]
        self._runs = Chooser([agents for agents, _ in runs], robots.dialect)
        self._stated = _stated(robots)
        self._preferences = Chooser([agents for agents, _, _ in self._stated], robots.dialect)
        self._shared: set[int] = set()
        self.rules = lru_cache(maxsize=1024)(self._rules_of)
        self._missing = lru_cache(maxsize=1024)(self._missing_from)
        self.matcher = lru_cache(maxsize=1024)(self._matcher_of)
        self._pace_of = lru_cache(maxsize=1024)(_pace_of)
        self._cited: dict[int, Rule] = {}
        self._lines = LineNumbers(robots.body)

    def groups(self, agent: str) -> tuple[int, ...]:
        """Numbers of the groups that apply to an agent."""
        return tuple(self._groups.choose(agent))

    def _rules_of(self, groups: tuple[int, ...]) -> dict[tuple[bytes, bool], str]:
        """The rules of groups: pattern as it is compared and whether it allows -> pattern as written."""
        robots = self.robots
        found: dict[tuple[bytes, bool], str] = {}
        for group in groups:
            for number in self._numbers[group]:
                entry = robots._index[number]
                for pattern in ranked(robots.body, [(number, entry)], robots.dialect):
                    found[pattern, entry & 0xFF == kinds.ALLOW] = robots._value(entry)
        return found

    def _matcher_of(self, groups: tuple[int, ...]) -> Matcher:
        numbers = array("I", [number for group in groups for number in self._numbers[group]])
        return matcher_of(self.robots.body, self.robots._index, numbers, self.robots.dialect)

    def note_shared(self, asked: Iterable[tuple[int, ...]]) -> None:
        """Learn which groups apply to several agents beside other groups; `asked` holds the groups of each agent."""
        times = Counter(group for groups in set(asked) for group in groups)
        self._shared = {group for group, count in times.items() if count > 1}

    def parts(self, groups: tuple[int, ...]) -> list[tuple[int, ...]]:
        """An agent's groups: each shared one by itself, the rest together."""
        rest = tuple(group for group in groups if group not in self._shared)
        parts: list[tuple[int, ...]] = [(group,) for group in groups if group in self._shared]
        return [*parts, rest] if rest else parts

    def missing(self, group: int, other: "_Meaning", groups: tuple[int, ...]) -> dict[tuple[bytes, bool], str]:
        """The rules of a group that none of the other file's groups has."""
        others = sorted(other.parts(groups), key=lambda part: len(other.rules(part)))
        if not others:
            return self.rules((group,))
        missing = self._missing(group, other, others.pop())  # the longest part leaves the fewest to look up elsewhere
        return {key: text for key, text in missing.items() if not any(key in other.rules(part) for part in others)}

    def _missing_from(self, group: int, other: "_Meaning", part: tuple[int, ...]) -> dict[tuple[bytes, bool], str]:
        known = other.rules(part)
        return {key: text for key, text in self.rules((group,)).items() if key not in known}

    def _best(self, groups: tuple[int, ...], path: bytes) -> int:
        """The highest rank of the rules that match a path; 0 where none does, or where no rule is asked."""
        if path == b"/robots.txt" and self.robots.dialect.robots_txt_allowed:
            return 0
        return max((self.matcher(part).best(path) for part in self.parts(groups)), default=0)

    def allows(self, groups: tuple[int, ...], path: bytes) -> bool:
        """The verdict about a path; the lowest bit of a rank says it."""
        rank = self._best(groups, path)
        return rank == 0 or bool(rank & 1)

    def decider(self, groups: tuple[int, ...], path: bytes) -> Rule | None:
        """The rule that decides about a path."""
        rank = self._best(groups, path)
        if not rank:
            return None
        number = position_of(rank)
        if number not in self._cited:
            self._cited[number] = self.robots._rule(number, self._lines)
        return self._cited[number]

    def pace(self, agent: str) -> Pace:
        """Crawl-delay, Request-rate and Visit-time."""
        return self._pace_of(tuple(line for number in self._runs.choose(agent) for line in self._paces[number]))

    def usage(self, agent: str) -> tuple[frozenset[object], tuple[str, ...]]:
        """What the preferences mean, and their lines as written."""
        chosen = [self._stated[number] for number in self._preferences.choose(agent)]
        lines = tuple(line for _, texts, _ in chosen for line in texts)
        return frozenset(meaning for *_, meanings in chosen for meaning in meanings), lines


def _pace_of(lines: tuple[str, ...]) -> Pace:
    """What lines about pace come to, put under one User-agent line."""
    if not lines:
        return None, None, None
    alone = parse("\n".join(("User-agent: *", *lines)))
    return alone.crawl_delay("x"), alone.request_rate("x"), alone.visit_time("x")


def _stated(robots: Robots) -> list[tuple[tuple[str, ...], list[str], set[object]]]:
    """Each group that preferences may be stated for, the lines as written, and what they mean.

    A rule or a preference ends a group of User-agent lines, as for_agent in robots/usage.py has it. A group
    that states nothing stands in the place of `*` nevertheless.
    """
    from comity.robots import paths
    from comity.usage import aipref, content_signal

    readers = {
        "content-usage": ("Content-Usage", aipref.read),
        "content-signal": ("Content-Signal", content_signal.read),
    }
    found: list[tuple[tuple[str, ...], list[str], set[object]]] = []
    ended = True
    for line in robots.lines:
        if line.kind == "user-agent":
            if ended:
                found.append(((), [], set()))
                ended = False
            found[-1] = ((*found[-1][0], line.value), *found[-1][1:])
        elif line.kind in ("allow", "disallow"):
            ended = True
        elif line.kind in readers:
            ended = True
            name, read = readers[line.kind]
            path, text = paths.split(line.value)
            where = None if path is None else paths.pattern(path, robots.dialect).octets
            if found:
                _, lines, meanings = found[-1]
                lines.append(f"{name}: {line.value}")
                meanings.add((name, where))  # a longer path counts, even where nothing can be read behind it
                meanings |= {(name, where, *each[:2]) for each in read(text) if each.value != "unknown"}
    return found


@dataclass(frozen=True, slots=True)
class Comparison:
    """A URL as every dialect sees it.

    Attributes:
        matches: dialect's name -> its explanation.
    """

    matches: dict[str, Match]

    @property
    def agree(self) -> bool:
        """Whether all give the same verdict."""
        return len({match.allowed for match in self.matches.values()}) == 1

    @property
    def why(self) -> str:
        """One sentence a verdict: who holds it and by which line."""
        parts = []
        for allowed in (True, False):
            reasons: dict[str, list[str]] = {}
            for name, match in self.matches.items():
                if match.allowed is allowed:
                    reasons.setdefault(match.why, []).append(name)
            parts += [f"{', '.join(names)}: {why}" for why, names in reasons.items()]
        return "; ".join(parts)


def compare(robots: Robots, url: str, agent: str) -> Comparison:
    """Ask every named dialect about one URL."""
    return Comparison({name: parse(robots.body, name).explain(url, agent) for name in DIALECTS})
