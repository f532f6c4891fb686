"""Rules that could go without any verdict being another, for any agent and any path.

A rule may go where others of its group always beat it, or where what decides in its place says the same. That a
rule of another group stands in between is looked for among all groups that may be meant for one agent together, so
that the answer holds for each. Where it cannot be told, a rule stays: what is said here is certain, not complete.

Whether one pattern covers another is asked with a path in which an octet that occurs nowhere in the file stands for
every `*` and for what follows: a pattern that matches it matches whatever the other one matches.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from comity_robots.agents import ascii_lower, letters, token
from comity_robots.dialects import DIALECTS
from comity_robots.directives import RULES
from comity_robots.engine import Matcher, covers, matcher, matches, scan
from comity_robots.engine.reference import Entry, allows, claims
from comity_robots.octets import byte_order_mark
from comity_robots.parsed import Parsed
from comity_robots.values import Group, Rule
from comity_robots.witnesses import NONE_FRESH, Exhausted, Patterns, Steps, fresh_octet, is_wild, typical_paths

MAX_PAIRS_COMPARED: Final = 400_000  # of patterns, for one file; rules for which that is not enough stay


Removal = tuple[str, int]  # code of the finding, and the rule because of which another may go


class Claim(NamedTuple):
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
        self.entries: list[Entry] = []  # of each rule: its record
        self.members: list[list[int]] = []  # of each group: its rules
        self._compared, self._steps = Steps(MAX_PAIRS_COMPARED), Steps()
        for run, group in zip(robots.runs(), self.groups, strict=True):
            self.members.append([])
            for entry, rule in zip(robots.entries(run.numbers, RULES), group.rules, strict=True):
                place = len(self.rules)
                self.rules.append(rule)
                self.entries.append(entry)
                self.claims.append([Claim(*claim, place) for claim in claims(entry, self.dialect)])
                self.members[-1].append(place)
        self._own = [self._patterns_of([number]) for number in range(len(self.groups))]
        self._shared: dict[int, Patterns[Claim]] = {}
        for together in _together(robots, self.groups):
            patterns = self._own[together[0]] if len(together) == 1 else self._patterns_of(together)
            self._shared |= dict.fromkeys(together, patterns)
        self._group_of = {place: number for number, places in enumerate(self.members) for place in places}
        self._by_line = {rule.line: place for place, rule in enumerate(self.rules)}
        self._fresh = fresh_octet(robots.body)

    def removable(self) -> Iterator[tuple[str, Rule, Rule | None, bool]]:
        """Code of the finding, the rule that may go, the rule because of which, and whether its group needs a
        `Disallow:` in its place. All that are named may go at once."""
        if self._fresh == NONE_FRESH:
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
            return not any(True for _ in opposite.near(self.claims[place][0].pattern, self._wildcards, self._steps))
        except Exhausted:
            return False

    @cached_property
    def _opposite(self) -> dict[bool, Patterns[None]]:
        """The rules that allow, and those that do not; each by what it begins with."""
        found: dict[bool, dict[bytes, None]] = {True: {}, False: {}}
        for rule, entry, own in zip(self.rules, self.entries, self.claims, strict=True):
            also = claims(entry, DIALECTS["google"])  # it allows the folder of an index.html too
            for pattern in (*(claim.pattern for claim in own), *(pattern for pattern, _ in also)):
                found[rule.allow or not pattern][pattern] = None
        return {allow: Patterns(patterns.items(), self.dialect.wildcards) for allow, patterns in found.items()}

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
        ranks: dict[bytes, int] = {}
        for claim in self._claims_of([number]):
            ranks[claim.pattern] = max(claim.rank, ranks.get(claim.pattern, 0))
        return matcher(ranks, self.dialect)

    def wild(self, number: int) -> int:
        return len({claim.pattern for claim in self._claims_of([number]) if is_wild(claim.pattern, self._wildcards)})

    def _removable_of(self, number: int) -> Iterator[tuple[str, Rule, Rule | None, bool]]:
        support: dict[int, int] = {}  # rule that may go -> the rule because of which; itself where there is none
        codes: dict[int, str] = {}
        twins: dict[tuple[bytes, ...], list[int]] = {}
        strongest, cost = self.strongest(number), 1 + self.wild(number) // 64
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
                found = self._dispensable(number, place, strongest, places, cost)
            except Exhausted:
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

    def _dispensable(
        self, number: int, place: int, strongest: Matcher, places: dict[int, int], cost: int
    ) -> Removal | None:
        """Why a rule may go, and because of which other; of itself where there is none."""
        because: set[int] = set()
        never = True
        for claim in self.claims[place]:
            self._compared.take(cost)
            paths = typical_paths(claim.pattern, self._fresh, self._wildcards)
            deciders = {places[strongest.best(path)] for path in paths}
            if place not in deciders:
                because |= deciders
                continue
            never = False
            fallback = self._fallback(number, claim, paths)
            because.add(place if fallback is None else fallback.place)
            low = 0 if fallback is None else fallback.rank
            if allows(low) is not claim.allows or self._opposed(number, claim, low, claim.rank):
                return None
        if len(because) != 1:  # two rules do it together; one may be named
            return None
        (cover,) = because
        if never and self.rules[cover].allow != self.rules[place].allow:
            return "unreachable-rule", cover
        if self.rules[place].allow and (cover == place or not self.rules[cover].pattern):
            return "allow-without-disallow", place
        return "redundant-rule", cover

    def _fallback(self, number: int, claim: Claim, paths: list[bytes]) -> Claim | None:
        """The strongest other rule of the group that matches whatever a rule matches; `paths` are typical of that."""
        found: Claim | None = None
        for other in self._own[number].near(claim.pattern, self._wildcards, self._compared, longer=False):
            if other.place != claim.place and all(covers(other.pattern, path, self._wildcards) for path in paths):
                found = other if found is None or other.rank > found.rank else found
        return found

    def _opposed(self, number: int, claim: Claim, low: int, high: int) -> bool:
        """Whether a rule that says the opposite, of a rank between two others, may match a path of a rule."""
        longer = self.dialect.precedence != "longest"
        for other in self._shared[number].near(claim.pattern, self._wildcards, self._compared, longer=longer):
            if other.allows != claim.allows and low < other.rank < high and self._meet(other.pattern, claim.pattern):
                return True
        return False

    @property
    def _wildcards(self) -> bool:
        return self.dialect.wildcards

    def _meet(self, one: bytes, other: bytes) -> bool:
        """Whether a path may exist that both match; never False where one does."""
        if not self._wildcards:
            return one.startswith(other) or other.startswith(one)
        for exact, pattern in ((one, other), (other, one)):
            if b"*" not in exact and exact.endswith(b"$"):
                return matches(pattern, exact[:-1])
        heads = [pattern.partition(b"*")[0] for pattern in (one, other)]
        return heads[0].startswith(heads[1]) or heads[1].startswith(heads[0])

    def _claims_of(self, groups: Sequence[int]) -> list[Claim]:
        return [claim for number in groups for place in self.members[number] for claim in self.claims[place]]

    def _patterns_of(self, groups: Sequence[int]) -> Patterns[Claim]:
        return Patterns(((claim.pattern, claim) for claim in self._claims_of(groups)), self._wildcards)


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
            name = ascii_lower(agent)
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
