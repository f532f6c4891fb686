"""Rules that could go without any verdict being another, for any agent and any path.

A rule may go where others of its group always beat it, or where what decides in its place says the same. That a
rule of another group stands in between is looked for among all groups that may be meant for one agent together, so
that the answer holds for each. Where it cannot be told, a rule stays: what is said here is certain, not complete.

Whether one pattern covers another is asked with a path in which an octet that occurs nowhere in the file stands for
every `*` and for what follows: a pattern that matches it matches whatever the other one matches.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from comity_robots.agents import folded, letters, token
from comity_robots.dialects import DIALECTS
from comity_robots.engine import Matcher, matcher, matches, scan
from comity_robots.engine.reference import allows, ranked
from comity_robots.octets import byte_order_mark
from comity_robots.parsed import Parsed
from comity_robots.values import Group, Rule
from comity_robots.witnesses import Exhausted, Ranked, Steps

MOST_COMPARED: Final = 400_000  # pairs of patterns compared for one file; rules for which that is not enough stay


Removal = tuple[str, int]
"""Code of the finding, and the rule because of which another may go."""


class _Enough(Exception):
    """More patterns would have to be compared than is worth it."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A pattern in the form in which it is compared, with its rank; a rule makes one of them, or two (index.html)."""

    pattern: bytes
    rank: int
    place: int  # of the rule among all rules of the file

    @property
    def allows(self) -> bool:
        return allows(self.rank)


class Rules:
    """The rules of a file, by groups and by groups that may be meant for one agent together."""

    def __init__(self, robots: Parsed) -> None:
        self.robots = robots
        self.dialect = robots.dialect
        self.groups: tuple[Group, ...] = robots.groups
        self.rules: list[Rule] = []
        self.claims: list[list[Claim]] = []  # of each rule
        self.numbers: list[int] = []  # of each rule: its record's
        self.members: list[list[int]] = []  # of each group: its rules
        self._left = MOST_COMPARED
        self._steps = Steps()
        for span, group in zip(robots._spans(), self.groups, strict=True):
            self.members.append([])
            for number, rule in zip(robots._rules_in(span), group.rules, strict=True):
                place = len(self.rules)
                found = ranked(robots.body, [(number, robots._index[number])], self.dialect)
                self.rules.append(rule)
                self.numbers.append(number)
                self.claims.append([Claim(pattern, rank, place) for pattern, rank in found.items()])
                self.members[-1].append(place)
        wildcards = self.dialect.wildcards
        self._own = [_Table(self._claims_of([number]), wildcards) for number in range(len(self.groups))]
        self._shared: dict[int, _Table] = {}
        for together in _together(robots, self.groups):
            table = self._own[together[0]] if len(together) == 1 else _Table(self._claims_of(together), wildcards)
            for number in together:
                self._shared[number] = table
        self._group_of = {place: number for number, places in enumerate(self.members) for place in places}
        self._by_line = {rule.line: place for place, rule in enumerate(self.rules)}
        self._fresh = next((octet for octet in range(1, 256) if octet not in robots.body and octet not in b"*$/"), 0)

    def removable(self) -> Iterator[tuple[str, Rule, Rule | None, bool]]:
        """Code of the finding, the rule that may go, the rule because of which, and whether its group needs a
        `Disallow:` in its place. All that are named may go at once."""
        if not self._fresh:
            return
        for number in range(len(self.groups)):
            yield from self._removable_of(number)

    def is_safe(self, rule: Rule, because: Rule | None) -> bool:
        """Whether no known parser answers otherwise without a rule: those too that know no wildcards, let the first
        rule decide, match names by parts, forgive misspellings, or end a group at a blank line.

        Nothing that says the opposite begins like it, and the text of the rule that stays begins its own.
        """
        place = self._by_line[rule.line]
        if because is None or not self.read_alike or self._has_blank[self._group_of[place]]:
            return False
        cover = because.pattern
        plain = rule.pattern.isascii() and "//" not in rule.pattern and "%" not in cover[-2:]
        if (
            not plain
            or not rule.pattern.startswith(cover)
            or not (rule.pattern == cover or cover[-1:] not in ("$", ""))
        ):
            return False
        try:
            opposite = self._opposite[not rule.allow]
            return next(opposite.near(self.claims[place][0].pattern, self.dialect.wildcards, self._steps), None) is None
        except Exhausted:
            return False

    @cached_property
    def _opposite(self) -> dict[bool, Ranked]:
        """The rules that allow, and those that do not; each by what it begins with."""
        found: dict[bool, dict[bytes, int]] = {True: {}, False: {}}
        body, index, lenient = self.robots.body, self.robots._index, DIALECTS["google"]
        for rule, number, claims in zip(self.rules, self.numbers, self.claims, strict=True):
            also = ranked(body, [(number, index[number])], lenient)  # it allows the folder of an index.html too
            for pattern in (*(claim.pattern for claim in claims), *also):
                found[rule.allow or not pattern][pattern] = 1
        return {allow: Ranked(patterns, self.dialect.wildcards) for allow, patterns in found.items()}

    @cached_property
    def read_alike(self) -> bool:
        """Whether those who forgive misspellings read the same records as all others."""
        body = self.robots.body
        one, other = (
            scan(body, byte_order_mark(body, True), len(body), DIALECTS[name]) for name in ("rfc9309", "google")
        )
        return not self.robots.truncated and b"\0" not in body and one == other

    @cached_property
    def _has_blank(self) -> list[bool]:
        """Of each group: whether a blank line stands in it."""
        blank = [0]
        for line in self.robots.lines:
            blank.append(blank[-1] + (line.kind == "blank"))
        return [blank[group.last_line] > blank[group.line] for group in self.groups]

    def strongest(self, number: int) -> Matcher:
        """What finds the rule of a group that decides about a path."""
        return matcher(self._own[number].ranks, self.dialect)

    def wild(self, number: int) -> int:
        """How many rules of a group have wildcards."""
        return self._own[number].wild

    def _removable_of(self, number: int) -> Iterator[tuple[str, Rule, Rule | None, bool]]:
        support: dict[int, int] = {}  # rule that may go -> the rule because of which; itself where there is none
        codes: dict[int, str] = {}
        twins: dict[tuple[bytes, ...], list[int]] = {}
        strongest = self.strongest(number)
        places = {claim.rank: claim.place for place in self.members[number] for claim in self.claims[place]}
        for place in self.members[number]:
            rule = self.rules[place]
            if not rule.pattern.startswith(("/", "*")):
                continue  # it matches nothing, of which another finding speaks, or everything ("Disallow:")
            claims = self.claims[place]
            for twin in twins.setdefault(tuple(claim.pattern for claim in claims), []):
                if self.rules[twin].allow == rule.allow:
                    support[place], codes[place] = twin, "duplicate-rule"
                    break
                loser, winner = (twin, place) if claims[0].rank > self.claims[twin][0].rank else (place, twin)
                if loser not in codes:
                    support[loser], codes[loser] = winner, "conflicting-rules"
            else:
                twins[tuple(claim.pattern for claim in claims)].append(place)
        for place in self.members[number]:
            if place in codes or not self.rules[place].pattern.startswith(("/", "*")):
                continue
            try:
                found = self._dispensable(number, place, strongest, places)
            except _Enough:
                break
            if found is None:
                continue
            code, cover = found
            root = cover
            while root != place and support.get(root, root) != root:
                root = support[root]
            if root != place or cover == place:  # two rules do not go because of each other
                support[place], codes[place] = cover, code
        all_go = bool(codes) and len(codes) == len(self.members[number])
        if all_go and self.dialect.precedence != "longest":
            codes.pop(next(iter(codes)))  # there `Disallow:` would decide about everything
            all_go = False
        for place, code in codes.items():
            because = None if support[place] == place else self.rules[support[place]]
            yield code, self.rules[place], because, all_go
            all_go = False

    def _dispensable(self, number: int, place: int, strongest: Matcher, places: dict[int, int]) -> Removal | None:
        """Why a rule may go, and because of which other; of itself where there is none."""
        because: set[int] = set()
        never = True
        for claim in self.claims[place]:
            self._count(1 + self._own[number].wild // 64)
            deciders = {places[strongest.best(path)] for path in self._witnesses(claim.pattern)}
            if place not in deciders:
                because |= deciders
                continue
            never = False
            fallback = self._fallback(number, claim)
            if fallback is None:
                low = 0
                because.add(place)
            else:
                low = fallback.rank
                because.add(fallback.place)
            stays_allowed = claim.allows if fallback is None else fallback.allows == claim.allows
            if not stays_allowed or self._opposed(claim, low, claim.rank, self._shared[number]):
                return None
        if len(because) != 1:  # two rules do it together; one may be named
            return None
        (cover,) = because
        if never and self.rules[cover].allow != self.rules[place].allow:
            return "unreachable-rule", cover
        if self.rules[place].allow and (cover == place or not self.rules[cover].pattern):
            return "allow-without-disallow", place
        return "redundant-rule", cover

    def _fallback(self, number: int, claim: Claim) -> Claim | None:
        """The strongest other rule of the group that matches whatever a rule matches."""
        paths = self._witnesses(claim.pattern)
        found: Claim | None = None
        for other in self._own[number].touching(claim.pattern, descend=False):
            self._count(1)
            if other.place != claim.place and all(self._matches(other.pattern, path) for path in paths):
                found = other if found is None or other.rank > found.rank else found
        return found

    def _opposed(self, claim: Claim, low: int, high: int, table: "_Table | None" = None) -> bool:
        """Whether a rule that says the opposite, of a rank between two others, may match a path of a rule."""
        if table is None:
            table = self._shared[self._group_of[claim.place]]
        for other in table.touching(claim.pattern, descend=self.dialect.precedence != "longest"):
            self._count(1)
            if other.allows != claim.allows and low < other.rank < high and self._meet(other.pattern, claim.pattern):
                return True
        return False

    def _count(self, compared: int) -> None:
        self._left -= compared
        if self._left < 0:
            raise _Enough

    @property
    def _wildcards(self) -> bool:
        return self.dialect.wildcards

    def _matches(self, pattern: bytes, path: bytes) -> bool:
        return matches(pattern, path) if self._wildcards else path.startswith(pattern)

    def _meet(self, one: bytes, other: bytes) -> bool:
        """Whether a path may exist that both match; never False where one does."""
        if not self._wildcards:
            return one.startswith(other) or other.startswith(one)
        for exact, pattern in ((one, other), (other, one)):
            if b"*" not in exact and exact.endswith(b"$"):
                return matches(pattern, exact[:-1])
        heads = [pattern.partition(b"*")[0] for pattern in (one, other)]
        return heads[0].startswith(heads[1]) or heads[1].startswith(heads[0])

    def _witnesses(self, pattern: bytes) -> list[bytes]:
        """Paths for each of which it holds: a pattern that matches it matches all paths like it of this pattern."""
        fresh = bytes((self._fresh,))
        if not self._wildcards:
            return [pattern + fresh]
        stem, end = (pattern[:-1], b"") if pattern.endswith(b"$") else (pattern, fresh)
        whole = stem.replace(b"*", fresh) + end
        if not pattern.startswith(b"*"):
            return [whole]
        # A path begins with a slash: the first asterisk stands for it and more, or the rest begins with it.
        rest = stem.lstrip(b"*")
        found = [b"/" + whole]
        if rest.startswith(b"/"):
            found.append(rest.replace(b"*", fresh) + end)
        return found

    def _claims_of(self, groups: Sequence[int]) -> list[Claim]:
        return [claim for number in groups for place in self.members[number] for claim in self.claims[place]]


class _Table:
    """Claims, found by what they begin with."""

    def __init__(self, claims: Sequence[Claim], wildcards: bool) -> None:
        self.ranks: dict[bytes, int] = {}
        self._claims: dict[bytes, list[Claim]] = {}
        for claim in claims:
            self.ranks[claim.pattern] = max(claim.rank, self.ranks.get(claim.pattern, 0))
            self._claims.setdefault(claim.pattern, []).append(claim)
        self._wildcards = wildcards
        self._wild = [pattern for pattern in self._claims if self._is_wild(pattern)]
        self._plain = sorted(pattern for pattern in self._claims if not self._is_wild(pattern))
        self._parents: list[int] = []  # of each plain pattern: the longest other that it begins with
        for number, pattern in enumerate(self._plain):
            self._parents.append(self._above(number - 1, pattern))

    def touching(self, pattern: bytes, *, descend: bool) -> Iterator[Claim]:
        """All claims that may match a path of a pattern; without `descend` none of longer plain patterns."""
        if self._wildcards and b"*" in pattern:
            for claims in self._claims.values():
                yield from claims
            return
        stem = pattern[:-1] if self._is_wild(pattern) else pattern
        number = self._above(bisect_right(self._plain, stem) - 1, stem)
        while number >= 0:
            yield from self._claims[self._plain[number]]
            number = self._parents[number]
        for each in self._wild:
            yield from self._claims[each]
        if descend:
            for number in range(bisect_right(self._plain, stem), len(self._plain)):
                if not self._plain[number].startswith(stem):
                    break
                yield from self._claims[self._plain[number]]

    @property
    def wild(self) -> int:
        """How many of its patterns have wildcards."""
        return len(self._wild)

    def _is_wild(self, pattern: bytes) -> bool:
        return self._wildcards and (b"*" in pattern or pattern.endswith(b"$"))

    def _above(self, number: int, octets: bytes) -> int:
        """The nearest plain pattern, from a number on upwards, that octets begin with; -1 where none is."""
        while number >= 0 and not octets.startswith(self._plain[number]):
            number = self._parents[number]
        return number


def _together(robots: Parsed, groups: Sequence[Group]) -> list[list[int]]:
    """Groups that may be meant for one agent together, as far as can be told from their names."""
    dialect = robots.dialect
    if dialect.group_choice == "first_matching":
        return [[number] for number in range(len(groups))]
    if dialect.group_choice != "merge_matching" or dialect.agent_match not in ("product_token", "letters"):
        return [list(range(len(groups)))] if groups else []
    root = list(range(len(groups)))

    def top(number: int) -> int:
        while root[number] != number:
            root[number] = root[root[number]]
            number = root[number]
        return number

    first: dict[str, int] = {}
    for number, group in enumerate(groups):
        for agent in group.agents:
            name = folded(agent)
            if name[:1] == "*":
                name = "*"
            elif dialect.agent_match == "letters":
                name = letters(name)
            else:  # an agent may go by its first word too
                name = (token(name).split() or [""])[0]
            root[top(number)] = top(first.setdefault(name, number))
    found: dict[int, list[int]] = {}
    for number in range(len(groups)):
        found.setdefault(top(number), []).append(number)
    return list(found.values())
