"""What a robots.txt says, as plain values."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """An Allow or Disallow line.

    Attributes:
        line: number of the line, from 1.
        allow: whether it allows.
        pattern: the path pattern as written.
        text: the line as written, without comment and surrounding white space.
    """

    line: int
    allow: bool
    pattern: str
    text: str


@dataclass(frozen=True, slots=True)
class Record:
    """Any other recognised line, such as Crawl-delay or Sitemap.

    Attributes:
        line: number of the line, from 1.
        kind: the record's name in lower case, such as `crawl-delay`.
        value: as written.
        agents: values of the `User-agent` lines directly above it; empty where there are none.
    """

    line: int
    kind: str
    value: str
    agents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """`User-agent` lines and the rules they share (RFC 9309, 2.1).

    Attributes:
        agents: their values, as written.
        line: number of the first `User-agent` line.
        last_line: number of the last line that belongs to the group.
    """

    agents: tuple[str, ...]
    line: int
    last_line: int
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A line as read; the raw texts of all lines together are the file.

    Attributes:
        number: from 1.
        raw: the line with its end, undecodable octets as surrogates.
        kind: name of the record in lower case; `comment`, `blank`, `unknown` for the rest.
        value: the record's value; the whole line for `unknown`.
        comment: what follows `#`.
    """

    number: int
    raw: str
    kind: str
    value: str
    comment: str


@dataclass(frozen=True, slots=True)
class Match:
    """Why a URL may be fetched, or not.

    Attributes:
        allowed: the verdict.
        rule: the rule that decides; None where none matches.
        group: the group it stands in, or the first that applies to the agent; None where none does.
        path: path and query as they were compared.
        beaten: the other rules that match, strongest first, each with the reason why it lost.
        why: one plain sentence.
    """

    url: str
    agent: str
    dialect: str
    allowed: bool
    rule: Rule | None
    group: Group | None
    path: str
    beaten: tuple[tuple[Rule, str], ...]
    why: str
