"""What goes into the frontier and what comes out of it, as plain values."""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any


class State(IntEnum):
    """What became of a URL. UNASKED: found before its origin's robots.txt was read; it waits like QUEUED."""

    UNASKED = 0
    QUEUED = 1
    DONE = 2
    REFUSED = 3
    FAILED = 4


class Kind(IntEnum):
    """What a URL is fetched for."""

    PAGE = 0
    SITEMAP = 1


@dataclass(frozen=True, slots=True)
class Entry:
    """A URL that waits for its turn. `id` names it for good: no later URL of the crawl gets the same."""

    id: int
    url: str
    depth: int
    kind: Kind
    attempts: int
    hops: int  # redirects passed on the way here
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """A URL just discovered, in normal form (`comity.urls.normalise`).

    `refusal`: the record to write if the URL is new and robots.txt forbids it. `priority`: lower numbers have their
    turn first among the URLs of a host, from -2**31 to 2**31; then sitemaps; then what was found first.
    """

    url: str
    host: str
    depth: int
    kind: Kind
    state: State
    hops: int = 0
    refusal: dict[str, Any] | None = None
    priority: int = 0


@dataclass(slots=True)
class Batch:
    """Changes since the last commit."""

    settled: list[tuple[State, int]] = field(default_factory=list)
    retried: list[int] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.settled or self.retried or self.found)
