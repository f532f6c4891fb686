"""Preferences that robots.txt states for a URL: Content-Usage, Content-Signal, License.

Here the rules that hold for an agent are found, and of these the ones that cover a URL. It never decides whether the
URL may be fetched: the caller says so.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from comity_robots import directives, paths
from comity_robots._forms import imported
from comity_robots.dialects import Dialect
from comity_robots.octets import LineNumbers
from comity_robots.usage import policy_tokens
from comity_robots.usage.statements import MAX_LICENCES, KeptStatements, Licence, Statement, Usage, kept, located, shown
from comity_robots.usage.vocabulary import Vocabulary

if TYPE_CHECKING:
    from comity_robots.parsed import Parsed

UsageLine = tuple[int, str, str | None]
"""Line (from 1), value as written after the colon without its comment, and the user agents of its group, or None."""

MAX_GROUP_CHARACTERS: Final = 200  # characters kept of a group's user agents
MAX_UNGROUPED_STATEMENTS: Final = 256  # statements kept that stand under no User-agent line
MAX_OTHERS: Final = 3  # statements kept that are meant for others, where none is meant for an agent
STATING: Final[dict[int, Vocabulary]] = {
    each.number: imported(f"comity_robots.usage.{each.vocabulary}").VOCABULARY
    for each in directives.DIRECTIVES
    if each.vocabulary
}
"""The vocabularies in which robots.txt states preferences, by directive."""


@dataclass(frozen=True, slots=True)
class _Rules:
    """All rules of one vocabulary with one path pattern (None: every URL), and what they state together."""

    pattern: paths.Pattern | None
    kept: KeptStatements

    @property
    def length(self) -> int:
        return 0 if self.pattern is None else len(self.pattern.octets)


@dataclass(frozen=True, slots=True)
class RobotsUsage:
    """The preferences of one robots.txt for one agent, ready to be asked about many URLs."""

    rules: tuple[tuple[_Rules, ...], ...]  # one tuple a vocabulary: each is judged by itself
    licences: tuple[Licence, ...]
    groupless: tuple[Statement, ...]
    dialect: Dialect

    @property
    def by_path(self) -> bool:
        """Whether any of them holds for some paths only."""
        return any(each.pattern is not None for rules in self.rules for each in rules)

    def for_url(self, url: str, *, crawlable: bool) -> Usage:
        """What holds for one URL. `crawlable`: whether robots.txt allows it; where not, no preference is implied."""
        if not crawlable:
            return Usage(licences=self.licences, applicable=False)
        statements = self.groupless
        if any(self.rules):
            path = paths.target(url, self.dialect)
            statements = (*chain.from_iterable(_longest(path, rules) for rules in self.rules), *statements)
        return Usage(statements, self.licences)


def from_robots(
    url: str,
    *,
    content_usage: Iterable[UsageLine] = (),
    content_signal: Iterable[UsageLine] = (),
    licences: Iterable[UsageLine] = (),
    crawlable: bool = True,
    dialect: Dialect = paths.RFC9309,
) -> Usage:
    """What records of robots.txt state about one URL. Never raises on content.

    The longest path wins, as for Allow and Disallow; equal ones combine; a rule without a path covers every URL and
    is shorter than any path (draft-ietf-aipref-attach, "Content-Usage Rule Semantics"). Each vocabulary is judged on
    its own. Licences hold for the whole file.

    Args:
        url: absolute URL, or path with query.
        content_usage: the Content-Usage records of the agent's groups.
        content_signal: the Content-Signal records of the agent's groups.
        licences: the License records of the file.
        crawlable: whether robots.txt allows the URL; where not, no preference is implied for it.
        dialect: how patterns and paths are compared.
    """
    stated = {directives.CONTENT_USAGE: content_usage, directives.CONTENT_SIGNAL: content_signal}
    return _prepare({**stated, directives.LICENSE: licences}, (), dialect).for_url(url, crawlable=crawlable)


def for_agent(robots: "Parsed", agent: str) -> RobotsUsage:
    """The preferences in the groups of a parsed robots.txt that apply to an agent.

    A group that names the agent stands in the place of `*` here too, even where it states no preference.
    """
    lines, above = LineNumbers(robots.body), robots.preamble
    starts = frozenset(robots.applying(agent, directives.PREFERENCES, 0)[0])
    found: dict[int, list[UsageLine]] = {kind: [] for kind in (*STATING, directives.LICENSE)}
    groupless: list[Statement] = []
    others: list[Statement] = []
    tokens: list[Statement] = []
    for run in (above, *robots.runs(directives.PREFERENCES)):
        agents = shown(", ".join(run.agents), MAX_GROUP_CHARACTERS)
        ours = bool(run.agents) and run.numbers[0] in starts
        if len(tokens) < MAX_OTHERS and any(map(policy_tokens.is_policy_token, run.agents)):
            tokens += [
                policy_tokens.unread(entry.value, lines.of(entry.start))
                for entry in robots.entries(run.numbers, 1 << directives.USER_AGENT)
                if policy_tokens.is_policy_token(entry.value)
            ]
        for _, kind, octets, start in robots.entries(run.numbers, directives.USAGE):
            line, value = lines.of(start), octets.decode("utf-8", "replace")
            if kind == directives.LICENSE or ours:
                found[kind].append((line, value, agents if ours else None))
            elif run is above:
                groupless.append(_uncounted(kind, line, value, "it stands under no User-agent line"))
            elif len(others) < MAX_OTHERS:
                others.append(_uncounted(kind, line, value, f"it is meant for {agents} alone"))
    if not any(found[kind] for kind in STATING):
        groupless += others
    groupless += tokens[:MAX_OTHERS]
    return _prepare(found, groupless, robots.dialect)


def _prepare(found: Mapping[int, Iterable[UsageLine]], groupless: Iterable[Statement], dialect: Dialect) -> RobotsUsage:
    """Of records by their directives, and what stands under no User-agent line."""
    return RobotsUsage(
        tuple(_rules(found.get(kind, ()), vocabulary, dialect) for kind, vocabulary in STATING.items()),
        _licences(found[directives.LICENSE]),
        tuple(groupless)[:MAX_UNGROUPED_STATEMENTS],
        dialect,
    )


def _rules(records: Iterable[UsageLine], vocabulary: Vocabulary, dialect: Dialect) -> tuple[_Rules, ...]:
    """The rules by pattern, the longest first. Every line is read here, once, and never again for a URL."""
    patterns: dict[bytes | None, paths.Pattern | None] = {}
    lines: dict[bytes | None, list[tuple[int, str | None, str, str | None]]] = {}
    for line, value, group in records:
        path, text = paths.split(value)
        pattern = None if path is None else paths.pattern(path, dialect)
        key = None if pattern is None else pattern.octets
        patterns.setdefault(key, pattern)
        lines.setdefault(key, []).append((line, path, text, group))

    def statements(key: bytes | None) -> Iterator[Statement]:
        name, label, *_ = vocabulary
        for line, path, text, group in lines[key]:
            where = None if path is None else shown(path)
            addressed = None if group is None else shown(group, MAX_GROUP_CHARACTERS)
            evidence = shown(text)
            for purpose, value, note in vocabulary.stated(text):
                yield Statement(purpose, value, name, "robots.txt", label, evidence, line, where, addressed, note=note)

    found = [_Rules(pattern, kept(statements(key))) for key, pattern in patterns.items()]
    return tuple(sorted(found, key=lambda rules: -rules.length))


def _longest(path: bytes, found: Iterable[_Rules]) -> tuple[Statement, ...]:
    """What the longest patterns that cover the path state; equally long ones together."""
    best = -1
    winners: list[_Rules] = []
    for rules in found:
        if rules.length < best:
            break
        if rules.pattern is None or rules.pattern.covers(path):
            best = rules.length
            winners.append(rules)
    if len(winners) == 1:
        return winners[0].kept.statements
    return kept(
        chain.from_iterable(rules.kept.stated for rules in winners), sum(r.kept.omitted for r in winners)
    ).statements


def _uncounted(kind: int, line: int, value: str, note: str) -> Statement:
    """A statement that is not meant for the agent asked about, and why."""
    name, label, *_ = STATING[kind]
    return Statement("", "unknown", name, "robots.txt", label, shown(value), line=line, note=note)


def _licences(records: Iterable[UsageLine]) -> tuple[Licence, ...]:
    located_at = ((line, *located(value)) for line, value, _ in records)
    found = (Licence(url, "rsl", "robots.txt", "License", line, note=note) for line, url, note in located_at if url)
    return tuple(islice(found, MAX_LICENCES))
