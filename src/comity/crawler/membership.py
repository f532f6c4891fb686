"""What a crawl is told of what is around it: where its frontier lies, and that it is one shard of a larger crawl."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from comity.crawler.orders import Order, Orders
from comity.crawler.shards import ShardPlace
from comity.crawler.waits import WaitJournal, WaitJournalFile
from comity.frontier import Frontier
from comity.frontier.rules import DurableFrontier

if TYPE_CHECKING:
    from comity.crawler.scheduler import Scheduler


class Given(Protocol):
    """Where orders come from."""

    def new(self) -> Iterator[Order]:
        """What was ordered since the last call, the oldest first."""


class CrawlStorage(Protocol):
    """Where a crawl keeps what it has to know.

    Attributes:
        orders: what the operator orders of its hosts.
        keeps_clock: whether a later run has the same clock: if not, hosts are left alone then as after a crash.
    """

    @property
    def orders(self) -> Given: ...

    @property
    def keeps_clock(self) -> bool: ...

    def frontier(self) -> DurableFrontier:
        """Opens it."""

    def journal(self) -> WaitJournal:
        """Opens it."""

    def is_ours(self) -> bool:
        """Whether this run may still send and keep anything."""


class FolderStorage:
    """A crawl that keeps all in a folder beside its output.

    Args:
        orders: the folder in which orders are given.
    """

    keeps_clock = True

    def __init__(self, folder: Path, orders: Path) -> None:
        self._folder = folder
        self.orders = Orders(orders)

    def frontier(self) -> DurableFrontier:
        return Frontier(self._folder / "frontier.sqlite")

    def journal(self) -> WaitJournal:
        return WaitJournalFile(self._folder / "frontier.waits")

    def is_ours(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Membership:
    """What makes a crawl one shard of a larger one. It does not end when nothing is left to do, for another shard may
    find something for it: it waits for `Control.end`.

    Attributes:
        place: which shard it is.
        beside: the schedulers of this process's shards, which share the requests there may be at once.
        on_sent: told when something for other shards was committed.
    """

    place: ShardPlace
    beside: "list[Scheduler]"
    on_sent: Callable[[], None]
