"""The clock of a crawl in a store: the database's."""

import time
from typing import Final

from comity.crawler.workers.store import CrawlStore
from comity.net import Clock

ASKED: Final = 3  # times that the database is asked for its time


class StoreClock(Clock):
    """Wall time as the database has it, so that what one machine writes down another can wait for, and all ledgers
    of a crawl have one time. It runs on the monotonic clock from when the database was asked, so two processes' clocks
    differ by what its answers took.

    Args:
        at: the database's time, Unix, just now.
        asked: when it was asked for it, by the monotonic clock; None: now.
    """

    def __init__(self, at: float, asked: float | None = None) -> None:
        now = time.monotonic()
        self.within: float = 0.0 if asked is None else (now - asked) / 2
        self._offset = at - now + self.within

    @classmethod
    def of(cls, store: CrawlStore) -> "StoreClock":
        """The clock of a store, by the quickest of some answers. Blocks; its connection should be there already."""
        clocks = []
        for _ in range(ASKED):
            asked = time.monotonic()
            clocks.append(cls(store.crawl().at, asked))
        return min(clocks, key=lambda clock: clock.within)

    def wall(self) -> float:
        return time.monotonic() + self._offset

    def walls(self) -> tuple[float, ...]:
        """The database's clock, and this machine's: a wait is over once it is by both."""
        return self.wall(), time.time()
