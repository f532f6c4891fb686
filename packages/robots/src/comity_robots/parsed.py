"""A parsed robots.txt. Holds the octets as they came and an index of records; everything else is
worked out from these when it is asked for. Immutable, and safe to read from several threads.

Who reads records by themselves (lint, diff, explain, usage) walks over them: `entries`, `runs`, `applying`.
"""

from array import array
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from comity_robots import directives
from comity_robots.agents import NOBODY, Chooser
from comity_robots.dialects import Dialect
from comity_robots.engine import Matcher, Matchers, applying, matcher_of, path_of, reference, scan
from comity_robots.engine.reference import FORMS, Entry, Run, unanswerable
from comity_robots.fields import made
from comity_robots.octets import LineNumbers, byte_order_mark, line_start
from comity_robots.reasons import why
from comity_robots.values import Group, Record, Rule

if TYPE_CHECKING:
    from comity_robots.lines import Line
    from comity_robots.rates import RequestRate, VisitTime

MAX_AGENTS_KEPT = 64  # about which something is remembered for one file
MAX_RULES_KEPT = 1000  # as they are cited


class Parsed(Matchers):
    """A robots.txt and what can be read off it; `Robots` adds what is said about it.

    Attributes:
        body: the file as it came.
        dialect: how it is read.
        max_bytes: octets that are parsed.
    """

    __slots__ = ("_choices", "_cited", "_named", "max_bytes")

    def __init__(self, body: bytes, dialect: Dialect, max_bytes: int | None = None) -> None:
        super().__init__(body, dialect)
        self._cited: dict[int, Rule] = {}  # rules that decided, by rank
        self._named: dict[str, bool] = {}  # agent -> whether a group applies to it
        self._choices: dict[int, tuple[list[Run], Chooser]] = {}  # see choice
        self.max_bytes = dialect.max_bytes if max_bytes is None else max_bytes
        self._index = scan(body, *self.extent, dialect)

    # Questions

    def matrix(self, urls: Iterable[str], agents: Iterable[str]) -> dict[str, dict[str, bool]]:
        """URL -> agent -> whether it may be fetched."""
        names = list(agents)
        return {url: {agent: self.allowed(url, agent) for agent in names} for url in urls}

    def decide_with_reason(self, url: str, agent: str) -> tuple[bool, Rule | None, bool | None, str]:
        """The verdict, the rule that decides, whether a group of the file applies to the agent (None: the URL is the
        robots.txt itself), and one sentence. Slower than `allowed`, because it composes the sentence, and faster than
        `explain`, which tries every rule."""
        path = self.path_of(url, agent)
        shown = path.decode("utf-8", "replace")
        if reference.is_exempt(path, self.dialect.robots_txt_allowed):
            return True, None, None, why(None, True, shown, agent, True)
        rank = (self._matchers.get(agent) or self._matcher_for(agent)).best(path)
        if not rank:
            named = self._named.get(agent)
            if named is None:
                named = self.has_group(agent)
            return True, None, named, why(None, named, shown, agent, False)
        rule = self._cited.get(rank)
        if rule is None:
            if len(self._cited) >= MAX_RULES_KEPT:
                self._cited.clear()
            rule = self._cited[rank] = self.rule_at(reference.position_of(rank))
        return reference.allows(rank), rule, True, why(rule, True, shown, agent, False)

    def has_group(self, agent: str) -> bool:
        """Whether a group of the file applies to an agent."""
        named = self._named.get(agent)
        if named is None:
            if len(self._named) >= MAX_AGENTS_KEPT:
                self._named.clear()
            named = self._named[agent] = bool(self.applying(agent)[0])
        return named

    def deciding_line(self, url: str, agent: str) -> int:
        """The number of the line that decides about a URL; 0 where none does. `explain` says more."""
        path = self.path_of(url, agent)
        rank = (self._matchers.get(agent) or self._matcher_for(agent)).best(path)
        return self.rule_at(reference.position_of(rank)).line if rank else 0

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
        return tuple(entry.value for entry in self.entries(wanted=1 << directives.SITEMAP) if entry.octets)

    @property
    def states_usage(self) -> bool:
        """Whether any line says how content may be used; `usage` says what."""
        return any(True for _ in self.entries(wanted=directives.USAGE))

    # What the file says

    @property
    def truncated(self) -> bool:
        """Whether the file is longer than what was parsed."""
        return len(self.body) > self.max_bytes

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
        return tuple(self.group_of(run, lines) for run in self.runs())

    @property
    def lines(self) -> "tuple[Line, ...]":
        """Every line as read; the raw texts joined are the file, up to where it was parsed."""
        return tuple(self._read_lines())

    def records(self, kind: str | None = None) -> tuple[Record, ...]:
        """All recognised records but User-agent, Allow and Disallow, or only one kind of them, with their lines."""
        wanted = ~0 if kind is None else 1 << directives.LABELS.get(kind.encode(), 0)
        return tuple(record for _, record in self._read_records(wanted))

    def records_for(self, agent: str, kind: str) -> tuple[Record, ...]:
        """The records of a kind, such as `request-rate`, that stand under `User-agent` lines meant for an agent."""
        wanted = 1 << directives.LABELS.get(kind.encode(), 0)
        ours = set(self.applying(agent, directives.RECORDS, wanted)[1])
        return tuple(record for number, record in self._read_records(wanted) if number in ours)

    def __str__(self) -> str:
        return self.body.decode("utf-8", "surrogateescape")

    def __bytes__(self) -> bytes:
        return self.body

    def __repr__(self) -> str:
        return f"<Robots {len(self.body)} bytes, {len(self._index)} records, dialect {self.dialect.name}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Parsed):
            return NotImplemented
        return (self.body, self.dialect, self.max_bytes) == (other.body, other.dialect, other.max_bytes)

    def __hash__(self) -> int:
        return hash((self.body, self.dialect, self.max_bytes))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.body, self.dialect, self.max_bytes)

    # The walk over records

    @property
    def extent(self) -> tuple[int, int]:
        """Where reading begins and ends. A line that the limit would cut is not read: a cut pattern means more than it
        says."""
        body, end = self.body, len(self.body)
        if self.truncated:
            end = max(body.rfind(b"\n", 0, self.max_bytes), body.rfind(b"\r", 0, self.max_bytes)) + 1
        return byte_order_mark(body, self.dialect.typos), end

    def entries(self, numbers: Iterable[int] | None = None, wanted: int = ~0) -> Iterator[Entry]:
        """The records with these numbers, or all, in order; only those of the directives that are `wanted`, as bits."""
        numbers = range(len(self._index)) if numbers is None else numbers
        return reference.entries(self.body, self._index, numbers, wanted)

    def runs(self, ends: int = directives.RULES, begin: int = 0) -> Iterator[Run]:
        """Each run of `User-agent` lines, with the records up to the next one; from the record `begin` on.

        Args:
            ends: directives that end a run, as bits: RULES, PREFERENCES or RECORDS of `directives`.
        """
        return reference.runs(self.body, self._index, ends, begin)

    @property
    def preamble(self) -> Run:
        """The records above the first `User-agent` line, which apply to no agent."""
        first = next(self.runs(), None)
        return Run((), range(len(self._index) if first is None else first.numbers.start))

    def applying(
        self, agent: str, ends: int = directives.RULES, wanted: int = directives.RULES
    ) -> "tuple[tuple[int, ...], array[int]]":
        """Where the runs that apply to an agent begin, and the numbers of records in them.

        Args:
            ends: as for `runs`.
            wanted: directives that are asked for, as bits.
        """
        if reference.is_merged(self.dialect):
            return applying(self.body, self._index, agent, self.dialect, ends, wanted)
        runs, chooser = self.choice(ends)
        return reference.records_in(self._index, [runs[number] for number in chooser.choose(agent)], wanted)

    def choice(self, ends: int) -> tuple[list[Run], Chooser]:
        """The runs, and what chooses among them for an agent; both are kept. `ends` is that of `runs`."""
        found = self._choices.get(ends)
        if found is None:
            runs, dialect = list(self.runs(ends)), self.dialect
            names = [run.agents for run in runs]
            chooser = Chooser(names, dialect.agent_match, dialect.group_choice, dialect.applebot_as_googlebot)
            found = self._choices[ends] = runs, chooser
        return found

    def path_of(self, url: str, agent: str) -> bytes:
        """The path of a URL in the form in which patterns are compared with it.

        Raises:
            InvalidURL, TypeError: the two make no question.
        """
        path = path_of(url, FORMS[self.dialect.path_form], self.dialect.semicolon_path)
        if not path or not isinstance(agent, str):
            raise unanswerable(url, agent)
        return path

    def rule_at(self, number: int, lines: LineNumbers | None = None) -> Rule:
        """The record with this number, an Allow or Disallow, as a rule; `lines`: those of the file, to count on."""
        return self.rule_of(next(self.entries((number,))), lines)

    def rule_of(self, entry: Entry, lines: LineNumbers | None = None) -> Rule:
        """An Allow or Disallow as a rule; `lines` as for `rule_at`."""
        line = self.body[line_start(self.body, entry.start) : entry.start + len(entry.octets)]
        text = line.decode("utf-8", "replace").strip().removeprefix("\ufeff")
        counted = LineNumbers(self.body) if lines is None else lines
        return made(Rule, counted.of(entry.start), entry.directive == directives.ALLOW, entry.value, text)

    def group_of(self, run: Run, lines: LineNumbers | None = None) -> Group:
        """A run of `User-agent` lines as a group."""
        counted = LineNumbers(self.body) if lines is None else lines
        first, last = (entry.start for entry in self.entries((run.numbers[0], run.numbers[-1])))
        line = counted.of(first)
        rules = tuple(self.rule_of(entry, counted) for entry in self.entries(run.numbers, directives.RULES))
        return Group(run.agents, line, counted.of(last), rules)

    # How it is worked out

    def _matcher_for(self, agent: str) -> Matcher:
        """The matcher of an agent, made at the first question. Made whole before it is published: no lock needed."""
        key, numbers = self.applying(agent)
        matcher = self._matchers.get(key)  # agents with the same groups share one
        if matcher is None:
            matcher = matcher_of(self.body, self._index, numbers, self.dialect)
            self._keep(key, matcher)
        self._keep(agent, matcher)
        return matcher

    def _values_for(self, agent: str, kind: int) -> list[str]:
        """The values of records of a kind that stand under `User-agent` lines which apply to an agent."""
        _, numbers = self.applying(agent, directives.RECORDS, 1 << kind)
        if not numbers and kind == directives.CRAWL_DELAY and self.dialect.default_delay:
            _, numbers = self.applying(NOBODY, directives.RECORDS, 1 << kind)
        return [entry.value for entry in self.entries(numbers)]

    def _read_lines(self) -> "Iterator[Line]":
        from comity_robots.lines import read  # late: a verdict needs no lines

        return read(self.body, self.extent[1], self.entries())

    def _read_records(self, wanted: int) -> Iterator[tuple[int, Record]]:
        lines, wanted = LineNumbers(self.body), wanted & ~(directives.RULES | 1 << directives.USER_AGENT)
        for run in (self.preamble, *self.runs(directives.RECORDS)):
            for entry in self.entries(run.numbers, wanted):
                kind = directives.NAMES[entry.directive]
                yield entry.number, Record(lines.of(entry.start), kind, entry.value, run.agents)
