"""Keeps what the server has read, by content hash, within bounds of memory: pages, robots.txt files, maps. What is
evicted is fetched again when it is wanted."""

import re
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from comity import CrawledPage
from comity.mcp.answers import ToolFailure
from comity_robots.fields import MIB

MAX_PAGES_BYTES: Final = 64 * MIB  # of text, and of bodies of crawled pages
MAX_ROBOTS_BYTES: Final = 16 * MIB
MAX_MAPS_BYTES: Final = 16 * MIB
_ENTRY_BYTES: Final = 4096  # that an entry takes besides its text, counted high: the smallest ones fill memory too

_CURSOR: Final = re.compile(r"([0-9a-f]{64}):([0-9]{1,12})")

Value = TypeVar("Value")


class SizedCache(Generic[Value]):
    """Values by hash, the most lately used ones within a number of bytes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._bytes = 0
        self._values: OrderedDict[str, tuple[Value, int]] = OrderedDict()

    def put(self, key: str, value: Value, size: int) -> None:
        """Keep a value, unless it is larger than the whole cache."""
        self._forget(key)
        size += _ENTRY_BYTES
        if size > self._limit:
            return
        self._values[key] = (value, size)
        self._bytes += size
        while self._bytes > self._limit:
            self._forget(next(iter(self._values)))

    def get(self, key: str) -> Value | None:
        """Return a value if it is still kept."""
        found = self._values.get(key)
        if found is None:
            return None
        self._values.move_to_end(key)
        return found[0]

    def resume(self, cursor: str) -> tuple[str, Any, int]:
        """Return the key and the value that a cursor continues, and the position in it.

        Raises:
            ToolFailure: it is no cursor of ours, or the value is no longer kept.
        """
        match = _CURSOR.fullmatch(cursor)
        found: Any = self.get(match[1]) if match else None
        if match is None or found is None or int(match[2]) > len(found):
            raise ToolFailure(
                "cursor_expired",
                "The cursor is not from this server, or what it continues is no longer kept.",
                "Ask again with the URL, without a cursor.",
            )
        return match[1], found, int(match[2])

    def items(self) -> list[tuple[str, Value]]:
        """Return all values, the most recently used first."""
        return [(key, value) for key, (value, _) in reversed(self._values.items())]

    def _forget(self, key: str) -> None:
        found = self._values.pop(key, None)
        if found is not None:
            self._bytes -= found[1]


@dataclass(frozen=True, slots=True)
class PageText:
    """A page as Markdown, clean already.

    Attributes:
        ours, from_site: what the answer of `fetch` says of the page besides its text.
        removed: what was taken out, with counts.
    """

    url: str
    title: str
    markdown: str
    ours: dict[str, Any] = field(default_factory=dict)
    from_site: dict[str, Any] = field(default_factory=dict)
    removed: dict[str, int] = field(default_factory=dict)
    heading_ids: tuple[tuple[str, str], ...] = ()
    folded: tuple[str, ...] = ()
    page_starts: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.markdown)


@dataclass(frozen=True, slots=True)
class RobotsFile:
    """A robots.txt as it was served."""

    url: str
    body: bytes
    fetched_at: float


@dataclass(slots=True)
class Store:
    """All that is kept. `crawled`: pages of crawls by the hash of their body, not made Markdown yet."""

    pages: SizedCache[PageText] = field(default_factory=lambda: SizedCache(MAX_PAGES_BYTES))
    crawled: SizedCache[CrawledPage] = field(default_factory=lambda: SizedCache(MAX_PAGES_BYTES))
    robots: SizedCache[RobotsFile] = field(default_factory=lambda: SizedCache(MAX_ROBOTS_BYTES))
    maps: SizedCache[list[dict[str, Any]]] = field(default_factory=lambda: SizedCache(MAX_MAPS_BYTES))
