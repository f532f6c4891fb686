"""What differs: between two robots.txt files by meaning, and between the dialects about one URL.

A change of a file is which agents gained or lost which paths, and what else is said to them now; text that means the
same is no change. A verdict can only differ where a rule came, went or changed its place. For each such rule a path is
looked for that it decides about, and about which the other file says otherwise: first among a few that its pattern
shows, which for files without wildcards is enough, then wherever it meets other patterns (`witnesses`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import quote

from comity_robots import directives
from comity_robots.agents import KEYS, NOBODY, ascii_lower, token
from comity_robots.dialects import DIALECTS, Dialect
from comity_robots.engine import Matcher, matcher, path_of
from comity_robots.engine.reference import FORMS, Entry, Run, allows, claims, is_exempt, position_of, ranked
from comity_robots.explain import Match
from comity_robots.octets import LineNumbers
from comity_robots.rates import RequestRate, VisitTime
from comity_robots.robots import Robots, parse
from comity_robots.values import Rule
from comity_robots.witnesses import NONE_FRESH, Exhausted, Patterns, Steps, fresh_octet, path_where, shown_paths

MIN_RULES_SHARED = 64  # rules of a group that several agents share, above which they are not copied for each
MAX_AGENTS_BY_PART = 100  # agents asked about of those that any number of groups may apply to

_PRINTED = "".join(map(chr, range(33, 127)))

Pace = tuple[float | None, RequestRate | None, VisitTime | None]


@dataclass(frozen=True, slots=True)
class Change:
    """Paths that an agent gained or lost.

    Attributes:
        agent: product token; `*` stands for every agent that neither file names.
        pattern: the pattern of whose paths some changed, or all.
        path: one that changed.
        partly: the pattern itself, read as a path, is none that did.
        allowed: the verdict now; it was the other before.
        before, after: the rules that decided about this path and decide; None where none does.
    """

    agent: str
    pattern: str
    path: str
    partly: bool
    allowed: bool
    before: Rule | None
    after: Rule | None

    @property
    def paths(self) -> str:
        """What changed, in words."""
        return f"some paths of {self.pattern}, such as {self.path}" if self.partly else self.pattern


@dataclass(frozen=True, slots=True)
class UseChange:
    """A statement about a use that says another thing, is new or is gone.

    Attributes:
        purpose: the use, such as `train-ai`.
        by: the record that states it, such as `Content-Signal`.
        path: of what it holds, as it is compared; None: of all.
        before, after: `allowed`, `disallowed`; `unknown` where nothing is stated.
    """

    purpose: str
    by: str
    path: str | None
    before: str
    after: str


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
        uses: agent -> the statements in `usage` that are not what they were.
        licences_added, licences_removed: License records.
        parameters_added, parameters_removed: Clean-param records.
        undecided: patterns that meet so many others that it is not known whether paths of theirs changed.
    """

    changes: tuple[Change, ...]
    delays: dict[str, tuple[float | None, float | None]]
    sitemaps_added: tuple[str, ...]
    sitemaps_removed: tuple[str, ...]
    rates: dict[str, tuple[RequestRate | None, RequestRate | None]] = field(default_factory=dict)
    hours: dict[str, tuple[VisitTime | None, VisitTime | None]] = field(default_factory=dict)
    usage: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = field(default_factory=dict)
    uses: dict[str, tuple[UseChange, ...]] = field(default_factory=dict)
    licences_added: tuple[str, ...] = ()
    licences_removed: tuple[str, ...] = ()
    parameters_added: tuple[str, ...] = ()
    parameters_removed: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in self.__slots__)


def diff(old: Robots, new: Robots, *, agent: str | None = None) -> Diff:
    """Compare two files by meaning, each in its own dialect: for all agents, or for one.

    Of agents that are compared with parts of names, it asks about the first 100 only.
    """
    before, after = _Meaning(old), _Meaning(new)
    compared = _Compared(before, after)
    names = {name.lower(): name for meaning in (before, after) for name in meaning.names if "*" not in name}
    by_name = {key: name for key, name in names.items() if before.by_name and after.by_name and " " not in name}
    by_part = islice((item for item in names.items() if item[0] not in by_name), MAX_AGENTS_BY_PART)
    names = by_name | dict(by_part)
    found = Diff((), {}, _added(old.sitemaps, new.sitemaps), _added(new.sitemaps, old.sitemaps))
    changes: list[Change] = []
    known: dict[tuple[tuple[int, ...], tuple[int, ...]], list[Change]] = {}
    asked = {"*": NOBODY, **{name: name for name in names.values()}} if agent is None else {agent: agent}
    for meaning in (before, after):
        meaning.note_shared(meaning.groups(ask) for ask in asked.values())
    for agent, ask in asked.items():
        groups = before.groups(ask), after.groups(ask)
        if groups not in known:  # what is said to thousands is compared once
            known[groups] = list(compared.changes(agent, *groups))
        changes += [replace(change, agent=agent) for change in known[groups]]
        changed: tuple[dict[str, Any], ...] = (found.delays, found.rates, found.hours)
        for differing, was, now in zip(changed, before.pace(ask), after.pace(ask), strict=True):
            if was != now:
                differing[agent] = (was, now)
        (meant, lines), (means, lines_now) = before.usage(ask), after.usage(ask)
        if meant != means:
            found.usage[agent] = (lines, lines_now)
            found.uses[agent] = tuple(_use_changes(meant, means))
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
        undecided=tuple(dict.fromkeys(compared.undecided)),
    )


def between_agents(robots: Robots, agent: str, other: str) -> Diff:
    """What would change for an agent that is told what another is told: the paths that only one of them may fetch."""
    one, two = _Meaning(robots), _Meaning(robots)
    compared = _Compared(one, two)
    changes = tuple(compared.changes(other, one.groups(agent), two.groups(other)))
    return Diff(changes, {}, (), (), undecided=tuple(dict.fromkeys(compared.undecided)))


def _use_changes(meant: frozenset[Any], means: frozenset[Any]) -> Iterator[UseChange]:
    """The statements that differ, of what `_Meaning.usage` gives."""
    values: dict[tuple[str, bytes | None, str], tuple[set[str], set[str]]] = {}
    for side, stated in enumerate((meant, means)):
        for each in stated:
            if len(each) == 4:  # the others are paths
                values.setdefault(each[:3], (set(), set()))[side].add(each[3])
    for (by, where, purpose), told in sorted(
        values.items(), key=lambda item: (item[0][2], item[0][0], item[0][1] or b"")
    ):
        before, after = (" and ".join(sorted(side)) or "unknown" for side in told)
        if before != after:
            path = None if where is None else where.decode("utf-8", "replace")
            yield UseChange(purpose, by, path, before, after)


def _added(old: Iterable[str], new: Iterable[str]) -> tuple[str, ...]:
    known = set(old)
    return tuple(value for value in dict.fromkeys(new) if value not in known)


class _Compared:
    """Two files, of whose groups any may be compared.

    Attributes:
        undecided: patterns about which it could not be told.
    """

    def __init__(self, before: "_Meaning", after: "_Meaning") -> None:
        self._before, self._after = before, after
        self.undecided: list[str] = []
        self._ordered = not (before.by_length and after.by_length) or before.robots.dialect != after.robots.dialect
        self._fresh = fresh_octet(before.robots.body + after.robots.body)
        self._steps = Steps()

    def changes(self, agent: str, old: tuple[int, ...], new: tuple[int, ...]) -> Iterator[Change]:
        """What changed from groups before to groups now, each pair of deciding rules once."""
        before, after = self._before, self._after
        sides = _Side(before, old, before.parts(old)), _Side(after, new, after.parts(new))
        reported = set()
        for here, there in (sides, sides[::-1]):
            for (pattern, allow), written in self._only(here, there).items():
                path = self._path(pattern, allow, written, here, there)
                if path is None:
                    continue
                deciders = before.decider(sides[0].parts, path), after.decider(sides[1].parts, path)
                if deciders not in reported:
                    reported.add(deciders)
                    now = after.allows(sides[1].parts, path)
                    plain = next(shown_paths(pattern or b"/", self._fresh, here.wildcards))
                    shown = path.decode("utf-8", "backslashreplace")
                    yield Change(agent, written or "/", shown, path != plain, now, *deciders)

    def _only(self, here: "_Side", there: "_Side") -> dict[tuple[bytes, bool], str]:
        """The rules that one side has and the other has not, or not in the same place."""
        others = sorted(there.parts, key=lambda part: len(part.rules))
        found: dict[tuple[bytes, bool], str] = {}
        for group in here.groups:
            all_of_it = self._ordered or not others
            found |= here.file.part((group,)).rules if all_of_it else here.file.missing(group, others)
        return found

    def _path(self, pattern: bytes, allow: bool, written: str, here: "_Side", there: "_Side") -> bytes | None:
        """A path about which a rule decides on its side and the other side says otherwise."""
        says = allow or not pattern

        def asked(path: bytes) -> bool:
            return here.file.asks(path) and there.file.asks(path)

        def differ(path: bytes) -> bool:
            return here.file.allows(here.parts, path) is says is not there.file.allows(there.parts, path)

        for path in shown_paths(pattern, self._fresh, here.wildcards):
            if differ(path) and asked(path):
                return path
        rank = max(part.ranks.get(pattern, 0) for part in here.parts)
        if allows(rank) is not says:
            return None  # the opposite with the same pattern wins
        if self._fresh != NONE_FRESH and all(part.patterns.plain for part in here.parts + there.parts):
            return None
        steps, wildcards = self._steps, (here.wildcards, there.wildcards)
        try:
            others = [each for part in there.parts for each in part.patterns.near(pattern, here.wildcards, steps)]
            search = partial(path_where, pattern, others=others, says=not says, wildcards=wildcards, steps=steps)
            found = search((), fits=asked)
            if found is None or differ(found):
                return found
            near = (each for part in here.parts for each in part.patterns.near(pattern, here.wildcards, steps))
            above = [each for stronger, each in near if stronger > rank]
            return search(above, fits=lambda path: differ(path) and asked(path))
        except Exhausted:
            self.undecided.append(written)
            return None


class _Meaning:
    """What a file says to each agent.

    Agents may share some of their groups and have others of their own. What several agents share is worked out once:
    a matcher is made for each group that several share and for the rest of an agent's groups together, and the rule
    with the highest rank of them all decides.
    """

    def __init__(self, robots: Robots) -> None:
        self.robots = robots
        name = KEYS.get(robots.dialect.agent_match, token)
        runs, self._groups = robots.choice(directives.RULES)
        values = [value for run in runs for value in run.agents]
        self.names = [each for value in values if (each := value[: len(name(ascii_lower(value)))])]
        self.by_name = robots.dialect.agent_match in KEYS
        self.by_length = robots.dialect.precedence == "longest" and robots.dialect.tie == "allow"
        self._rules = [list(robots.entries(run.numbers, directives.RULES)) for run in runs]
        runs, self._runs = robots.choice(directives.RECORDS)
        self._paces = [list(robots.entries(run.numbers, directives.PACE)) for run in runs]
        runs, self._preferences = robots.choice(directives.PREFERENCES)
        self._uses = [_uses_of(robots, run) for run in runs]
        self._shared: set[int] = set()
        self.part = lru_cache(maxsize=1024)(self._part_of)
        self._missing = lru_cache(maxsize=1024)(self._missing_from)
        self._pace_of = lru_cache(maxsize=1024)(_pace_of)
        self._cited: dict[int, Rule] = {}
        self._lines = LineNumbers(robots.body)

    def groups(self, agent: str) -> tuple[int, ...]:
        return tuple(self._groups.choose(agent))

    def note_shared(self, asked: Iterable[tuple[int, ...]]) -> None:
        """Learn which large groups apply to several agents together with others; `asked`: each agent's groups."""
        times = Counter(group for groups in set(asked) for group in groups)
        self._shared = {
            group for group, count in times.items() if count > 1 and len(self._rules[group]) > MIN_RULES_SHARED
        }

    def parts(self, groups: tuple[int, ...]) -> list["_Part"]:
        """An agent's groups: each shared one by itself, the rest together."""
        rest = tuple(group for group in groups if group not in self._shared)
        parts = [self.part((group,)) for group in groups if group in self._shared]
        return [*parts, self.part(rest)] if rest else parts

    def _part_of(self, groups: tuple[int, ...]) -> "_Part":
        return _Part([entry for group in groups for entry in self._rules[group]], self.robots.dialect)

    def _missing_from(self, group: int, part: "_Part") -> dict[tuple[bytes, bool], str]:
        return {key: text for key, text in self.part((group,)).rules.items() if key not in part.rules}

    def missing(self, group: int, parts: list["_Part"]) -> dict[tuple[bytes, bool], str]:
        """The rules of a group that no part of the other file's groups has; the part with the most rules is last."""
        *others, most = parts  # this one leaves the fewest to look up elsewhere
        missing = self._missing(group, most)
        return {key: text for key, text in missing.items() if not any(key in part.rules for part in others)}

    def asks(self, path: bytes) -> bool:
        """Whether some URL is compared as this path."""
        dialect = self.robots.dialect
        texts = (path.decode("utf-8", "replace"), quote(path, safe=_PRINTED))
        form, semicolon = FORMS[dialect.path_form], dialect.semicolon_path
        return any(path_of(f"http://host{text}", form, semicolon) == path for text in texts)

    def best(self, parts: list["_Part"], path: bytes) -> int:
        """The highest rank of the rules that match a path; 0 where none does, or where no rule is asked."""
        if is_exempt(path, self.robots.dialect.robots_txt_allowed):
            return 0
        return max((part.matcher.best(path) for part in parts), default=0)

    def allows(self, parts: list["_Part"], path: bytes) -> bool:
        """The verdict about a path; the lowest bit of a rank says it."""
        return allows(self.best(parts, path))

    def decider(self, parts: list["_Part"], path: bytes) -> Rule | None:
        rank = self.best(parts, path)
        if not rank:
            return None
        number = position_of(rank)
        if number not in self._cited:
            self._cited[number] = self.robots.rule_at(number, self._lines)
        return self._cited[number]

    def pace(self, agent: str) -> Pace:
        stated = (entry for number in self._runs.choose(agent) for entry in self._paces[number])
        return self._pace_of(tuple(f"{directives.NAMES[entry.directive]}: {entry.value}" for entry in stated))

    def usage(self, agent: str) -> tuple[frozenset[object], tuple[str, ...]]:
        """What the preferences mean, and their lines as written."""
        chosen = [self._uses[number] for number in self._preferences.choose(agent)]
        lines = tuple(line for texts, _ in chosen for line in texts)
        return frozenset(meaning for _, meanings in chosen for meaning in meanings), lines


class _Side(NamedTuple):
    """One of two files that are compared, with the groups of it that are, and their rules."""

    file: _Meaning
    groups: tuple[int, ...]
    parts: "list[_Part]"

    @property
    def wildcards(self) -> bool:
        return self.file.robots.dialect.wildcards


class _Part:
    """Rules that are asked together."""

    def __init__(self, entries: Sequence[Entry], dialect: Dialect) -> None:
        self._entries, self._dialect = entries, dialect

    @cached_property
    def rules(self) -> dict[tuple[bytes, bool], str]:
        """Pattern as it is compared and whether the rule allows -> pattern as written."""
        return {
            (pattern, entry.directive == directives.ALLOW): entry.value
            for entry in self._entries
            for pattern, _ in claims(entry, self._dialect)
        }

    @cached_property
    def ranks(self) -> dict[bytes, int]:
        """Comparable pattern -> rank of the strongest rule that has it."""
        return ranked(self._entries, self._dialect)

    @cached_property
    def patterns(self) -> Patterns[tuple[int, bytes]]:
        return Patterns(((each, (rank, each)) for each, rank in self.ranks.items()), self._dialect.wildcards)

    @cached_property
    def matcher(self) -> Matcher:
        return matcher(self.ranks, self._dialect)


def _pace_of(lines: tuple[str, ...]) -> Pace:
    """What lines about pace come to, put under one User-agent line."""
    if not lines:
        return None, None, None
    alone = parse("\n".join(("User-agent: *", *lines)))
    return alone.crawl_delay("x"), alone.request_rate("x"), alone.visit_time("x")


def _uses_of(robots: Robots, run: Run) -> tuple[list[str], set[object]]:
    """The preferences that a group states, as written, and what they mean."""
    from comity_robots import paths
    from comity_robots.robots_usage import STATING

    lines: list[str] = []
    meanings: set[object] = set()
    for entry in robots.entries(run.numbers, directives.STATED):
        vocabulary = STATING[entry.directive]
        name = vocabulary.label
        path, text = paths.split(entry.value)
        where = None if path is None else paths.pattern(path, robots.dialect).octets
        lines.append(f"{name}: {entry.value}")
        meanings.add((name, where))  # a longer path counts, even where nothing can be read behind it
        meanings |= {(name, where, *each[:2]) for each in vocabulary.stated(text) if each.value != "unknown"}
    return lines, meanings


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
