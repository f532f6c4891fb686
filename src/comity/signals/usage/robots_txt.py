"""Preferences that robots.txt states for a URL: Content-Usage, Content-Signal, License.

Here the rules that hold for an agent are found, and of these the ones that cover a URL. It never decides whether the
URL may be fetched: the caller says so.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from comity.robots.agents import choose
from comity.robots.dialects import Dialect
from comity.signals.usage import aipref, content_signal, paths, rsl
from comity.signals.usage.aipref import Stated
from comity.signals.usage.statements import Licence, Statement, Usage, Vocabulary, shown

if TYPE_CHECKING:
    from comity.robots import Robots

Record = tuple[int, str, str | None]
"""Line (from 1), value as written after the colon without its comment, and the user agents of its group, or None."""

MAX_RULES: Final = 256
"""Rules of equal length that are read for one URL; a real file has one or two."""

# What makes a following User-agent line begin a new group. The AIPREF draft makes Content-Usage a rule; Content-Signal
# stands in the same place and is taken for one too. (For Allow and Disallow themselves RFC 9309, 2.2.4 holds.)
_RULES: Final = frozenset({"allow", "disallow", "content-usage", "content-signal"})


@dataclass(frozen=True, slots=True)
class _Preference:
    """A record, taken apart: the pattern it is limited to (None: every URL) and the words of the preference."""

    line: int
    path: str | None
    pattern: paths.Pattern | None
    text: str
    group: str | None


@dataclass(frozen=True, slots=True)
class RobotsUsage:
    """The preferences of one robots.txt for one agent, ready to be asked about many URLs."""

    content_usage: tuple[_Preference, ...]
    content_signal: tuple[_Preference, ...]
    licences: tuple[Licence, ...]
    groupless: tuple[Statement, ...]
    dialect: Dialect

    def for_url(self, url: str, *, crawlable: bool) -> Usage:
        """What holds for one URL. `crawlable`: whether robots.txt allows it; where not, no preference is implied."""
        if not crawlable:
            return Usage(licences=self.licences, applicable=False)
        statements = self.groupless
        if self.content_usage or self.content_signal:
            path = paths.target(url, self.dialect)
            statements = (
                *_longest(path, self.content_usage, "aipref", "Content-Usage", aipref.read),
                *_longest(path, self.content_signal, "content-signal", "Content-Signal", content_signal.read),
                *statements,
            )
        return Usage(statements, self.licences)


def from_robots(
    url: str,
    *,
    content_usage: Iterable[Record] = (),
    content_signal: Iterable[Record] = (),
    licences: Iterable[Record] = (),
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
    return _prepare(content_usage, content_signal, licences, (), dialect).for_url(url, crawlable=crawlable)


def for_agent(robots: "Robots", agent: str) -> RobotsUsage:
    """The preferences that a parsed robots.txt states for an agent: those of the groups that apply to it.

    A group that names the agent stands in the place of `*` here too, even where it states no preference.
    """
    groups: list[list[str]] = []
    preferences: list[tuple[str, int, str, int]] = []  # kind, line, value, group; -1: none
    licences: list[Record] = []
    after_rule = True
    for line in robots.lines:
        if line.kind == "user-agent":
            if after_rule:
                groups.append([])
                after_rule = False
            groups[-1].append(line.value)
        elif line.kind == "license":
            licences.append((line.number, line.value, None))
        elif line.kind in _RULES:
            after_rule = True
            if line.kind not in ("allow", "disallow"):
                preferences.append((line.kind, line.number, line.value, len(groups) - 1))
    chosen = {number: ", ".join(groups[number]) for number in choose(groups, agent, robots.dialect)}
    ours = [(kind, line, value, chosen[group]) for kind, line, value, group in preferences if group in chosen]
    return _prepare(
        [(line, value, group) for kind, line, value, group in ours if kind == "content-usage"],
        [(line, value, group) for kind, line, value, group in ours if kind == "content-signal"],
        licences,
        [_groupless(kind, line, value) for kind, line, value, group in preferences if group < 0],
        robots.dialect,
    )


def _prepare(
    content_usage: Iterable[Record],
    content_signal: Iterable[Record],
    licences: Iterable[Record],
    groupless: Iterable[Statement],
    dialect: Dialect,
) -> RobotsUsage:
    return RobotsUsage(
        tuple(_taken_apart(content_usage, dialect)),
        tuple(_taken_apart(content_signal, dialect)),
        _licences(licences),
        tuple(groupless)[:MAX_RULES],
        dialect,
    )


def _taken_apart(records: Iterable[Record], dialect: Dialect) -> Iterator[_Preference]:
    for line, value, group in records:
        path, text = paths.split(value)
        yield _Preference(line, path, None if path is None else paths.pattern(path, dialect), text, group)


def _longest(
    path: bytes,
    preferences: Iterable[_Preference],
    vocabulary: Vocabulary,
    name: str,
    read: Callable[[str], list[Stated]],
) -> Iterator[Statement]:
    best = -1
    winners: list[_Preference] = []
    for each in preferences:
        length = 0 if each.pattern is None else len(each.pattern.octets)
        if length < best or (each.pattern is not None and not each.pattern.covers(path)):
            continue
        if length > best:
            best = length
            winners.clear()
        winners.append(each)
    for each in winners[:MAX_RULES]:
        for purpose, value, note in read(each.text):
            yield Statement(
                purpose,
                value,
                vocabulary,
                "robots.txt",
                name,
                shown(each.text),
                line=each.line,
                path=each.path,
                group=each.group,
                note=note,
            )


def _groupless(kind: str, line: int, value: str) -> Statement:
    vocabulary: Vocabulary = "aipref" if kind == "content-usage" else "content-signal"
    name = "Content-Usage" if kind == "content-usage" else "Content-Signal"
    note = "stands under no User-agent line, so it addresses nobody"
    return Statement("", "unknown", vocabulary, "robots.txt", name, shown(value), line=line, note=note)


def _licences(records: Iterable[Record]) -> tuple[Licence, ...]:
    found: list[Licence] = []
    for line, value, _ in records:
        url = value.strip()
        if url and len(found) < rsl.MAX_LICENCES:
            note = "" if rsl.is_absolute(url) else "not an absolute URL"
            found.append(Licence(url[: rsl.MAX_URL], "rsl", "robots.txt", "License", line, note=note))
    return tuple(found)
