"""What a frontier says of itself as of a commit, to who works it and to who only looks."""

import json
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import Any, Final, Self

from comity.frontier.store import LATER, Committed, split
from comity.frontier.values import Entry, EntryKind, Found, Listed, ListedTable, QueuedURL, State, Visit

_MAX_VISIT_ID: Final = (1 << 63) - 1  # beyond the id of any


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

    def load_states(self, start: str) -> dict[str, Any]:
        """What is saved whose names begin with `start`, by name."""
        return {key: json.loads(text) for key, text in self._committed.facts(start).items()}


class FrontierView(CommittedFrontier):
    """A frontier as it was committed last when the view was opened; `opened` is open as long as the view is. `busiest`,
    `host` and `visited` are `busiest`, `host_counts` and `visit` of Committed."""

    def __init__(self, committed: Committed, opened: AbstractContextManager[Any]) -> None:
        super().__init__(committed)
        self.busiest, self.host, self.visited = committed.busiest, committed.host_counts, committed.visit
        self._open = ExitStack()
        self._open.enter_context(opened)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def listed(self, table: ListedTable, sought: str, *, after: int, most: int, looks: int) -> Listed:
        """The URLs of one table, as far as they contain a text: as of `Committed.listed`."""
        looks = looks if sought else min(looks, 10 * most)
        return self._committed.listed(table, sought, after=after, most=most, looks=looks)

    def queue_entry(self, url: str, host: str) -> QueuedURL | None:
        """How a URL waits, or stands aside; None where it does neither."""
        return self._committed.queue_entry(host, *split(Found(url, host, 0, EntryKind.PAGE, State.QUEUED)))

    def waiting(self, host: str, most: int) -> list[Entry]:
        """The next URLs of a host, in the order they will be fetched; then those that are postponed."""
        return self._committed.queue(host, most=most, below=4 * LATER)


class Visits:
    """The pages visited before, which a refresh asks for again.

    Of each page the last visit is kept: it is appended when its page is committed, and replaced by a row at the end
    when the page is visited again. So a refresh has before it the rows up to the last id that was there when it began.

    Attributes:
        of: gives the last visit of a URL; asked in a refresh only.
        unasked: gives how many of the known pages that `until` gives still wait.
    """

    def __init__(self, committed: Committed) -> None:
        self._committed = committed
        self.of, self.unasked = committed.visit, committed.unasked

    def any(self) -> bool:
        """Whether there is anything to ask for again."""
        return any(self._committed.visits(0, _MAX_VISIT_ID, known=known) for known in (True, False))

    def until(self, last: int) -> Iterator[Visit]:
        """The last visits of what has not been visited since the row `last` was the newest, longest ago first.

        Pages that are known and URLs that have given no page yet take turns, as long as there are both: so a limit
        leaves neither without its share.
        """
        streams = deque((self._until(last, known=True), self._until(last, known=False)))
        while streams:
            stream = streams.popleft()
            if (found := next(stream, None)) is not None:
                yield found
                streams.append(stream)

    def _until(self, last: int, *, known: bool) -> Iterator[Visit]:
        at = 0
        while found := self._committed.visits(at, last, known=known):
            yield from (visit for _, visit in found)
            at = found[-1][0]
