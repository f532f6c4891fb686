"""What a frontier says of itself as of a commit, to who works it and to who only looks."""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import Any, Self

from comity.frontier.store import LATER, Committed, split
from comity.frontier.values import Entry, EntryKind, Found, HostCounts, Listed, ListedTable, QueuedURL, State, Visit


class CommittedFrontier:
    """What a frontier says as of a commit: of the last one, or of that which a view has before it."""

    def __init__(self, committed: Committed) -> None:
        self._committed = committed

    def counts(self) -> dict[State, int]:
        """How many URLs are in each state."""
        return dict(zip(State, self._committed.counts(), strict=True))

    def hosts(self) -> Iterator[str]:
        """Hosts that have URLs waiting, in the order they were met; a few at a time are held in memory."""
        last = 0
        while some := self._committed.hosts(last):
            yield from (name for _, name in some)
            last = some[-1][0]

    def load_state(self, key: str, default: Any = None) -> Any:
        """A fact about the run, kept with `save_state` or by a commit."""
        text = self._committed.fact(key)
        return default if text is None else json.loads(text)


class FrontierView(CommittedFrontier):
    """A frontier as it was committed last when the view was opened.

    Args:
        opened: what is open as long as the view is.
    """

    def __init__(self, committed: Committed, opened: AbstractContextManager[Any]) -> None:
        super().__init__(committed)
        self._open = ExitStack()
        self._open.enter_context(opened)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def busiest(self, most: int) -> list[HostCounts]:
        """The hosts with most URLs waiting; those with none come last."""
        return self._committed.busiest(most)

    def host(self, name: str) -> HostCounts | None:
        """One host, or None where the crawl has not met it."""
        return self._committed.host_counts(name)

    def listed(self, table: ListedTable, sought: str, *, after: int, most: int, looks: int) -> Listed:
        """The URLs of one table, as far as they contain a text: as of `Committed.listed`."""
        looks = looks if sought else min(looks, 10 * most)
        return self._committed.listed(table, sought, after=after, most=most, looks=looks)

    def visited(self, url: str) -> Visit | None:
        """The last visit of a URL; asked of a crawl that was refreshed, which has an index for it."""
        return self._committed.visit(url)

    def stands(self, url: str, host: str) -> QueuedURL | None:
        """How a URL waits, or stands aside; None where it does neither."""
        return self._committed.stands(host, *split(Found(url, host, 0, EntryKind.PAGE, State.QUEUED)))

    def waiting(self, host: str, most: int) -> list[Entry]:
        """The next URLs of a host, in the order they will be fetched."""
        return self._committed.queue(host, most, but_not=(), below=4 * LATER, kind=None)
