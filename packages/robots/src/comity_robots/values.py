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
