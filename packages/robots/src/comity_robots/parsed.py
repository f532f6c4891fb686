"""A parsed robots.txt. Holds the octets as they came and an index of records; everything else is
worked out from these when it is asked for. Immutable, and safe to read from several threads.
"""

from array import array
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from comity_robots import directives
from comity_robots.agents import Chooser
from comity_robots.dialects import Dialect
from comity_robots.engine import Matcher, Matchers, applying, matcher_of, path_of, reference, scan
from comity_robots.engine.reference import FORMS, agents_of, directive_of, is_rule, spans, start_of, unanswerable
from comity_robots.octets import LineNumbers, byte_order_mark, line_start
from comity_robots.values import Group, Record, Rule

if TYPE_CHECKING:
    from comity_robots.lines import Line
    from comity_robots.rates import RequestRate, VisitTime

MOST_MATCHERS = 64  # agents remembered for one file
MOST_CITED = 1000  # rules remembered as they are cited


class Parsed(Matchers):
    """A robots.txt and what can be read off it; `Robots` adds what is said about it.

    Attributes:
        body: the file as it came.
        dialect: how it is read.
    """

    __slots__ = ("_choosers", "_cited", "_limit", "_named")

    def __init__(self, body: bytes, dialect: Dialect, max_bytes: int | None = None) -> None:
        super().__init__(body, dialect)
        self._cited: dict[int, Rule] = {}  # rules that decided, by rank
        self._named: dict[str, bool] = {}  # agent -> whether a group applies to it
        self._choosers: dict[int, tuple[list[tuple[int, int]], Chooser]] = {}  # see _choice
        self._limit = dialect.max_bytes if max_bytes is None else max_bytes
        self._index = scan(body, self._start(), self._stop(), dialect)

    # Questions

    def matrix(self, urls: Iterable[str], agents: Iterable[str]) -> dict[str, dict[str, bool]]:
        """URL -> agent -> whether it may be fetched."""
        names = list(agents)
        return {url: {agent: self.allowed(url, agent) for agent in names} for url in urls}

    def deciding_line(self, url: str, agent: str) -> int:
        """The number of the line that decides about a URL; 0 where none does. `explain` says more."""
        path = self._path_of(url, agent)
        matcher = self._matchers.get(agent) or self._matcher_for(agent)
        rank = matcher.best(path)
        return LineNumbers(self.body).of(start_of(self._index[reference.position_of(rank)])) if rank else 0

    def crawl_delay(self, agent: str) -> float | None:
        """Seconds between requests that the file asks of an agent; None where it asks nothing that can be read.

        Of several lines, in one group or in several that are merged (RFC 9309, 2.2.1), the longest counts: it keeps to
        all of them, whatever their order.
        """
        from comity_robots.rates import crawl_delay

        return crawl_delay(self._values_for(agent, directives.CRAWL_DELAY))

    def request_rate(self, agent: str) -> "RequestRate | None":
        """The slowest of `request_rates`, whatever hours it is meant for; None where there is none."""
        return max(self.request_rates(agent), key=lambda rate: rate.interval, default=None)

    def request_rates(self, agent: str) -> "tuple[RequestRate, ...]":
        """How many requests in how long the file asks of an agent, line by line, each for the day or for its hours."""
        from comity_robots.rates import request_rates

        return tuple(request_rates(self._values_for(agent, directives.REQUEST_RATE)))

    def visit_time(self, agent: str) -> "VisitTime | None":
        """The hours (UTC) at which an agent is welcome; None where the file names none that can be read."""
        from comity_robots.rates import visit_time

        return visit_time(self._values_for(agent, directives.VISIT_TIME))

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The values of all Sitemap records, in order; they belong to no group (RFC 9309, 2.2.4)."""
        return tuple(
            value
            for entry in self._index
            if directive_of(entry) == directives.SITEMAP and (value := self._value(entry))
        )

    @property
    def states_usage(self) -> bool:
        """Whether any line says how content may be used; `usage` says what."""
        return any(directive_of(entry) in directives.USAGE for entry in self._index)

    # What the file says

    @property
    def truncated(self) -> bool:
        """Whether the file is longer than what was parsed."""
        return len(self.body) > self._limit

    @property
    def parsable(self) -> bool:
        """Whether the file is empty, mere comment, or holds at least one line that robots.txt knows."""
        if self._index:
            return True
        return all(line.kind in ("blank", "comment") for line in self._read_lines())

    @property
    def groups(self) -> tuple[Group, ...]:
        """All groups in file order."""
        lines = LineNumbers(self.body)
        return tuple(self._group(span, lines) for span in self._spans())

    @property
    def lines(self) -> "tuple[Line, ...]":
        """Every line as read; the raw texts joined are the file, up to where it was parsed."""
        return tuple(self._read_lines())

    def records(self, kind: str | None = None) -> tuple[Record, ...]:
        """All recognised records but User-agent, Allow and Disallow, or only one kind of them, with their lines."""
        return tuple(record for _, record in self._read_records() if kind is None or record.kind == kind)

    def records_for(self, agent: str, kind: str) -> tuple[Record, ...]:
        """The records of a kind, such as `request-rate`, that stand under `User-agent` lines meant for an agent."""
        number = directives.LABELS.get(kind.encode(), 0)
        ours = set(self._applying(agent, directives.RECORDS, 1 << number)[1])
        return tuple(record for place, record in self._read_records() if place in ours)

    def __str__(self) -> str:
        return self.body.decode("utf-8", "surrogateescape")

    def __bytes__(self) -> bytes:
        return self.body

    def __repr__(self) -> str:
        return f"<Robots {len(self.body)} bytes, {len(self._index)} records, dialect {self.dialect.name}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Parsed):
            return NotImplemented
        return (self.body, self.dialect, self._limit) == (other.body, other.dialect, other._limit)

    def __hash__(self) -> int:
        return hash((self.body, self.dialect, self._limit))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.body, self.dialect, self._limit)

    # How it is worked out

    def _path_of(self, url: str, agent: str) -> bytes:
        """What is compared with patterns.

        Raises:
            InvalidURL, TypeError: the two make no question.
        """
        path = path_of(url, FORMS[self.dialect.path_form], self.dialect.semicolon_path)
        if not path or not isinstance(agent, str):
            raise unanswerable(url, agent)
        return path

    def _matcher_for(self, agent: str) -> Matcher:
        """The matcher of an agent, made at the first question. Made whole before it is published: no lock needed."""
        key, numbers = self._rules_for(agent)
        matcher = self._matchers.get(key)  # agents with the same groups share one
        if matcher is None:
            matcher = matcher_of(self.body, self._index, numbers, self.dialect)
            self._keep(key, matcher)
        self._keep(agent, matcher)
        return matcher

    def _rules_for(self, agent: str) -> "tuple[tuple[int, ...], array[int]]":
        """Where the groups that apply to an agent begin in the index, and the numbers of their rules there."""
        return self._applying(agent, directives.RULES, directives.RULES)

    def _applying(self, agent: str, ends: int, wanted: int) -> "tuple[tuple[int, ...], array[int]]":
        """Where the groups that apply to an agent begin in the index, and the numbers of records in them; the rest as
        for `applying`."""
        if reference.is_merged(self.dialect):
            return applying(self.body, self._index, agent, self.dialect, ends, wanted)
        groups, chooser = self._choice(ends)
        return reference.records_in(self._index, [groups[number] for number in chooser.choose(agent)], wanted)

    def _choice(self, ends: int) -> "tuple[list[tuple[int, int]], Chooser]":
        """Where groups begin and end in the index, and who is meant by them, worked out once; `ends` as for `spans`."""
        found = self._choosers.get(ends)
        if found is None:
            groups = self._spans(ends)
            found = self._choosers[ends] = (
                groups,
                Chooser([self._agents(span) for span in groups], self.dialect.agent_match, self.dialect.group_choice),
            )
        return found

    def _start(self) -> int:
        return byte_order_mark(self.body, self.dialect.typos)

    def _stop(self) -> int:
        """Where reading ends. A line that the limit would cut is not read: a cut pattern means more than it says."""
        if not self.truncated:
            return len(self.body)
        return max(self.body.rfind(b"\n", 0, self._limit), self.body.rfind(b"\r", 0, self._limit)) + 1

    def _spans(self, ends: int = directives.RULES) -> list[tuple[int, int]]:
        """Where groups begin and end in the index; see `spans`."""
        return spans(self._index, ends)

    def _agents(self, span: tuple[int, int]) -> tuple[str, ...]:
        """The `User-agent` values of a group, as written."""
        return agents_of(self.body, self._index, span)

    def _rules_in(self, span: tuple[int, int]) -> list[int]:
        """The numbers of the rules of a group."""
        return [number for number in range(*span) if is_rule(self._index[number])]

    def _values_for(self, agent: str, kind: int) -> list[str]:
        """The values of records of a kind that stand under `User-agent` lines which apply to an agent."""
        _, numbers = self._applying(agent, directives.RECORDS, 1 << kind)
        return [self._value(self._index[number]) for number in numbers]

    def _read_records(self) -> Iterator[tuple[int, Record]]:
        lines = LineNumbers(self.body)
        spans = self._spans(directives.RECORDS)
        above = (0, spans[0][0] if spans else len(self._index))  # records above any `User-agent` line
        for span in (above, *spans):
            agents = self._agents(span)
            for number in range(*span):
                entry = self._index[number]
                kind = directive_of(entry)
                if kind != directives.USER_AGENT and not is_rule(entry):
                    yield number, Record(lines.of(start_of(entry)), directives.NAMES[kind], self._value(entry), agents)

    def _value(self, entry: int) -> str:
        return reference.value_of(self.body, entry).decode("utf-8", "replace")

    def _rule(self, number: int, lines: LineNumbers) -> Rule:
        entry = self._index[number]
        start = start_of(entry)
        line = self.body[line_start(self.body, start) : start + len(reference.value_of(self.body, entry))]
        text = line.decode("utf-8", "replace").strip().removeprefix("\ufeff")
        return Rule(lines.of(start), directive_of(entry) == directives.ALLOW, self._value(entry), text)

    def _group(self, span: tuple[int, int], lines: LineNumbers) -> Group:
        start, stop = span
        members = self._index[start:stop]
        return Group(
            agents=self._agents(span),
            line=lines.of(start_of(members[0])),
            last_line=lines.of(start_of(members[-1])),
            rules=tuple(self._rule(number, lines) for number in self._rules_in(span)),
        )

    def _read_lines(self) -> "Iterator[Line]":
        from comity_robots.lines import read  # late: a verdict needs no lines

        return read(self.body, self._stop(), self._index, self._value)
