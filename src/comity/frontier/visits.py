"""The pages visited before, which a refresh asks for again.

Of each page the last visit is kept: it is appended when its page is committed, and replaced by a row at the end when
the page is visited again. So ids are in the order of the visits, and a refresh has before it the rows up to the last id
that was there when it began.
"""

from collections import deque
from collections.abc import Iterator
from typing import Final

from comity.frontier.store import Committed
from comity.frontier.values import Visit

_EVERY: Final = (1 << 63) - 1  # beyond the id of any visit


class Visits:
    """What is known of pages visited, as of the last commit."""

    def __init__(self, committed: Committed) -> None:
        self._committed = committed

    def any(self) -> bool:
        """Whether there is anything to ask for again."""
        return any(self._committed.visits(0, _EVERY, known=known) for known in (True, False))

    def of(self, url: str) -> Visit | None:
        """The last visit of a URL. Asked in a refresh only."""
        return self._committed.visit(url)

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

    def unasked(self, last: int) -> int:
        """How many pages that are known wait still, of those that `until` gives."""
        return self._committed.unasked(last)

    def _until(self, last: int, *, known: bool) -> Iterator[Visit]:
        at = 0
        while found := self._committed.visits(at, last, known=known):
            yield from (visit for _, visit in found)
            at = found[-1][0]
