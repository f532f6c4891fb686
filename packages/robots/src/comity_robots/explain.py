"""The whole story of a verdict: every rule that matches, and why each but one lost."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from comity_robots.agents import ascii_lower, product_token
from comity_robots.dialects import Dialect
from comity_robots.engine import covers, reference
from comity_robots.engine.reference import claims, comparable
from comity_robots.octets import LineNumbers
from comity_robots.reasons import why
from comity_robots.shown import ReprMixin, short
from comity_robots.values import Group, Rule

if TYPE_CHECKING:
    from comity_robots.parsed import Parsed


MAX_NAMES_COMPARED = 1_000  # of a file, with a name that it lacks
MAX_RULES_SHOWN = 100  # as overridden; a hostile file can make thousands match


@dataclass(frozen=True, slots=True, repr=False)
class Match(ReprMixin):
    """Why a URL may be fetched, or not.

    Attributes:
        allowed: the verdict.
        rule: the rule that decides; None where none matches.
        group: the group it stands in, or the first that applies to the agent; None where none does.
        path: path and query as they were compared.
        overridden: the other rules that match, strongest first, each with the reason why it lost.
        why: one plain sentence.
    """

    _asked = "allowed"

    url: str
    agent: str
    dialect: str
    allowed: bool
    rule: Rule | None
    group: Group | None
    path: str
    overridden: tuple[tuple[Rule, str], ...]
    why: str

    def _line(self) -> str:
        return f"{'allowed' if self.allowed else 'disallowed'} {short(self.url)} for {short(self.agent)}: {self.why}"

    def _rows(self) -> Iterable[tuple[str, object]]:
        answer = "allowed" if self.allowed else "disallowed"
        yield from (("url", self.url), ("agent", self.agent), ("answer", answer), ("why", self.why))
        yield "group", ", ".join(self.group.agents) if self.group is not None else None
        yield "rule", f"line {self.rule.line}: {self.rule.text}" if self.rule is not None else None
        for rule, lost in self.overridden:
            yield "overrides", f"line {rule.line}: {rule.text} ({lost})"


def explain(robots: "Parsed", url: str, agent: str) -> Match:
    """Judge by trying every rule. Slower than `allowed`, on purpose another way, with the same verdict."""
    dialect = robots.dialect
    path = robots.path_of(url, agent)
    starts, numbers = robots.applying(agent)
    found = []  # of each rule that matches, its strongest rank
    for entry in robots.entries(numbers):
        ranks = [rank for pattern, rank in claims(entry, dialect) if covers(pattern, path, dialect.wildcards)]
        if ranks:
            found.append((max(ranks), entry))
    found = sorted(found, reverse=True)[: MAX_RULES_SHOWN + 1]
    lines = LineNumbers(robots.body)
    rules = [robots.rule_of(entry, lines) for _, entry in found]
    rule = rules[0] if rules else None
    home = max(
        (start for start in starts if found and start <= found[0][1].number), default=starts[0] if starts else None
    )
    group = None if home is None else robots.group_of(next(robots.runs(begin=home)))
    always = reference.is_exempt(path, dialect.robots_txt_allowed)
    allowed = always or not found or reference.allows(found[0][0])
    shown = path.decode("utf-8", "replace")
    return Match(
        url=url,
        agent=agent,
        dialect=dialect.name,
        allowed=allowed,
        rule=None if always else rule,
        group=group,
        path=shown,
        overridden=() if always else tuple((rule, _lost(rules[0], rule, dialect)) for rule in rules[1:]),
        why=why(None if always else rule, starts != (), shown, agent, always),
    )


def mistaken_names(agents: Iterable[str], *files: "Parsed") -> dict[str, str]:
    """Of agents that are nobody's name, neither in the files nor known, say whom they may be meant for: those that are
    one slip away from a name, or what people call an operator or product."""
    from comity_robots.lint.names import meant_name  # late: it loads all of lint

    named = {ascii_lower(each): each for robots in files for run in robots.runs() for each in run.agents}
    found = {}
    for agent in agents:
        name = product_token(agent)
        if ascii_lower(name) not in named and (meant := meant_name(name, islice(named.values(), MAX_NAMES_COMPARED))):
            found[agent] = f"no group or known crawler is called {name}; did you mean {meant}?"
    return found


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
