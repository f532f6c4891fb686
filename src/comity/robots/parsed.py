"""A parsed robots.txt. Holds the octets as they came and an index of records; all else is worked out of these
when somebody asks. Immutable for its users and safe to read from several threads.
"""

from array import array
from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from comity.robots import kinds
from comity.robots._first import chooses, chosen, first, suits
from comity.robots._making import matcher_of
from comity.robots._match import Asked, Matcher
from comity.robots._path import FORMS, path_of, unanswerable
from comity.robots._scan import scan
from comity.robots.agents import choose, folded, identified, letters, names
from comity.robots.dialects import Dialect
from comity.robots.octets import LineNumbers, byte_order_mark
from comity.robots.rules import comparable, position_of
from comity.robots.values import Group, Record, Rule

if TYPE_CHECKING:
    from comity.robots.lines import Line
    from comity.robots.rates import RequestRate, VisitTime

MOST_MATCHERS = 64  # agents remembered for one file
MOST_CITED = 1000  # rules remembered as they are cited


class Parsed(Asked):
    """A robots.txt and what can be read off it; `Robots` adds what is said about it.

    Attributes:
        body: the file as it came.
        dialect: how it is read.
    """

    __slots__ = ("_cited", "_index", "_limit", "_named", "body", "dialect")

    def __init__(self, body: bytes, dialect: Dialect, max_bytes: int | None = None) -> None:
        super().__init__()
        self.body = body
        self.dialect = dialect
        self._cited: dict[int, Rule] = {}  # rules that decided, by rank
        self._named: dict[str, bool] = {}  # agent -> whether a group applies to it
        self._limit = dialect.max_bytes if max_bytes is None else max_bytes
        self._index = scan(
            body,
            self._start(),
            self._stop(),
            dialect.typos,
            dialect.nul_ends_line,
            dialect.longest_line,
        )

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
        return LineNumbers(self.body).of(self._index[position_of(rank)] >> 32) if rank else 0

    def crawl_delay(self, agent: str) -> float | None:
        """Seconds between requests that the file asks of an agent; None where it asks nothing that can be read.

        Of several lines, in one group or in several that are merged (RFC 9309, 2.2.1), the longest counts: it keeps to
        all of them, whatever their order.
        """
        from comity.robots.rates import crawl_delay

        return crawl_delay(record.value for record in self._records_for(agent, kinds.CRAWL_DELAY))

    def request_rate(self, agent: str) -> "RequestRate | None":
        """The slowest of `request_rates`, whatever hours it is meant for; None where there is none."""
        return max(self.request_rates(agent), key=lambda rate: rate.interval, default=None)

    def request_rates(self, agent: str) -> "tuple[RequestRate, ...]":
        """How many requests in how long the file asks of an agent, line by line, each for the day or for its hours."""
        from comity.robots.rates import request_rates

        return request_rates(record.value for record in self._records_for(agent, kinds.REQUEST_RATE))

    def visit_time(self, agent: str) -> "VisitTime | None":
        """The hours (UTC) at which an agent is welcome; None where the file names none that can be read."""
        from comity.robots.rates import visit_time

        records = self._records_for(agent, kinds.VISIT_TIME)
        return visit_time(record.value for record in records)

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The values of all Sitemap records, in order; they belong to no group (RFC 9309, 2.2.4)."""
        return tuple(record.value for record in self.records("sitemap") if record.value)

    @property
    def states_usage(self) -> bool:
        """Whether any line speaks of how content may be used; `usage` says what."""
        return any(entry & 0xFF in kinds.USAGE for entry in self._index)

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
        """All recognised records but User-agent, Allow and Disallow, or those of one kind, with their lines."""
        return tuple(record for record in self._read_records() if kind is None or record.kind == kind)

    def records_for(self, agent: str, kind: str) -> tuple[Record, ...]:
        """The records of a kind, such as `request-rate`, that stand under `User-agent` lines meant for an agent."""
        number = next((number for number, name in kinds.NAMES.items() if name == kind), 0)
        return tuple(self._records_for(agent, number)) if number else ()

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

    def _first_asked(self, url: str, agent: str) -> bool:
        """The first question about an agent is answered in one pass, where the dialect allows it; the second one is
        worth a matcher."""
        dialect = self.dialect
        path = self._path_of(url, agent)
        if agent in self._matchers or not agent.isascii() or not suits(dialect):
            return self._matcher_for(agent).allows(path)
        self._make_room()
        self._matchers[agent] = None
        if path == b"/robots.txt" and dialect.robots_txt_allowed:
            return True
        called, by_letters = _called(agent, dialect.agent_match == "letters")
        return first(
            self.body,
            self._index,
            path,
            called,
            by_letters,
            dialect.index_html,
            partial(comparable, dialect=dialect),
        )

    def _matcher_for(self, agent: str) -> Matcher:
        """The matcher of an agent, made at the first question. Made whole before it is published: no lock needed."""
        key, numbers = self._rules_for(agent)
        matcher = self._matchers.get(key)  # agents with the same groups share one
        if matcher is None:
            matcher = matcher_of(self.body, self._index, numbers, self.dialect)
        self._make_room()
        self._matchers[key] = matcher
        self._matchers[agent] = matcher
        return matcher

    def _rules_for(self, agent: str) -> "tuple[tuple[int, ...], array[int]]":
        """Where the groups that apply to an agent begin in the index, and the numbers of their rules there."""
        if agent.isascii() and chooses(self.dialect):
            return chosen(self.body, self._index, *_called(agent, self.dialect.agent_match == "letters"))
        spans = self._chosen(agent)
        return tuple(start for start, _ in spans), array("I", [number for number, _ in self._rule_entries(spans)])

    def _make_room(self) -> None:
        if len(self._matchers) >= 2 * MOST_MATCHERS:
            self._matchers.clear()
        if len(self._named) >= MOST_MATCHERS:
            self._named.clear()

    def _chosen(self, agent: str) -> list[tuple[int, int]]:
        spans = self._spans()
        values = [
            [self._value(entry) for entry in self._index[a:b] if entry & 0xFF == kinds.USER_AGENT] for a, b in spans
        ]
        return [spans[number] for number in choose(values, agent, self.dialect)]

    def _start(self) -> int:
        return byte_order_mark(self.body, self.dialect.typos)

    def _stop(self) -> int:
        """Where reading ends. A line that the limit would cut is not read: a cut pattern means more than it says."""
        if not self.truncated:
            return len(self.body)
        return max(self.body.rfind(b"\n", 0, self._limit), self.body.rfind(b"\r", 0, self._limit)) + 1

    def _spans(self) -> list[tuple[int, int]]:
        """Where groups begin and end in the index. Only a rule ends a run of `User-agent` lines (RFC 9309, 2.2.4)."""
        starts = []
        after_rule = True
        for number, entry in enumerate(self._index):
            kind = entry & 0xFF
            if kind == kinds.USER_AGENT:
                if after_rule:
                    starts.append(number)
                    after_rule = False
            elif kind <= kinds.DISALLOW:
                after_rule = True
        return list(pairwise([*starts, len(self._index)]))

    def _rule_entries(self, spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        for start, stop in spans:
            for number in range(start, stop):
                entry = self._index[number]
                if kinds.ALLOW <= entry & 0xFF <= kinds.DISALLOW:
                    yield number, entry

    def _records_for(self, agent: str, kind: int) -> list[Record]:
        """Records of a kind that stand under `User-agent` lines that apply to an agent.

        A `User-agent` line anywhere makes the agent named, so that what stands under `*` is not meant for it.
        """
        runs = list(self._runs())
        chosen = choose([agents for agents, _ in runs], agent, self.dialect)
        return [record for number in chosen for record in runs[number][1] if record.kind == kinds.NAMES[kind]]

    def _read_records(self) -> Iterator[Record]:
        lines = LineNumbers(self.body)
        for entry, agents in self._entries_with_agents():
            if entry & 0xFF > kinds.DISALLOW:
                yield Record(lines.of(entry >> 32), kinds.NAMES[entry & 0xFF], self._value(entry), agents)

    def _runs(self) -> Iterator[tuple[tuple[str, ...], list[Record]]]:
        """Runs of `User-agent` lines, each with the records that stand under it."""
        lines = LineNumbers(self.body)
        last: tuple[str, ...] | None = None
        members: list[Record] = []
        for entry, agents in self._entries_with_agents():
            if agents is not last:
                if last:
                    yield last, members
                last, members = agents, []
            if entry & 0xFF > kinds.DISALLOW:
                members.append(Record(lines.of(entry >> 32), kinds.NAMES[entry & 0xFF], self._value(entry), agents))
        if last:
            yield last, members

    def _entries_with_agents(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Every entry with the `User-agent` values directly above it; a run of them is one tuple object."""
        agents: tuple[str, ...] = ()
        fresh = False  # the line before was a User-agent line too
        for entry in self._index:
            if entry & 0xFF == kinds.USER_AGENT:
                agents = (*agents, self._value(entry)) if fresh else (self._value(entry),)
                fresh = True
                continue
            fresh = False
            yield entry, agents
        if fresh:
            yield 0, agents  # a run at the end of the file, with nothing under it

    def _value(self, entry: int) -> str:
        start = entry >> 32
        return self.body[start : start + (entry >> 8 & 0xFFFFFF)].decode("utf-8", "replace")

    def _rule(self, number: int, lines: LineNumbers) -> Rule:
        entry = self._index[number]
        start, size = entry >> 32, entry >> 8 & 0xFFFFFF
        begin = max(self.body.rfind(b"\n", 0, start), self.body.rfind(b"\r", 0, start)) + 1
        text = self.body[begin : start + size].decode("utf-8", "replace").strip().removeprefix("\ufeff")
        return Rule(lines.of(start), entry & 0xFF == kinds.ALLOW, self._value(entry), text)

    def _group(self, span: tuple[int, int], lines: LineNumbers) -> Group:
        start, stop = span
        members = self._index[start:stop]
        return Group(
            agents=tuple(self._value(entry) for entry in members if entry & 0xFF == kinds.USER_AGENT),
            line=lines.of(members[0] >> 32),
            last_line=lines.of(members[-1] >> 32),
            rules=tuple(self._rule(number, lines) for number, _ in self._rule_entries([span])),
        )

    def _read_lines(self) -> "Iterator[Line]":
        from comity.robots.lines import read  # late: a verdict needs no lines

        return read(self.body, self._stop(), self._index, self._value)


@lru_cache(maxsize=1024)
def _called(agent: str, by_letters: bool) -> tuple[tuple[bytes, bytes], bool]:
    """What an agent is called in a file, and how it is compared, as `first` and `chosen` take it."""
    ours = folded(identified(agent))
    one, other = (letters(ours),) * 2 if by_letters else names(ours)
    return (one.encode(), other.encode()), by_letters
