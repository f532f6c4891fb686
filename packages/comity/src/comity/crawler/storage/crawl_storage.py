"""Where a run keeps what it has to know: the interface, and a crawl's folder as one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from comity.crawler.storage.orders import Order, Orders
from comity.crawler.storage.stored_config import StoredConfig
from comity.crawler.storage.wait_journal import WaitJournal, WaitJournalFile
from comity.frontier.rules import DurableFrontier
from comity.frontier.sqlite.store import Frontier


class OrderSource(Protocol):
    """Where orders come from."""

    def new(self) -> Iterator[Order]:
        """What was ordered since the last call, the oldest first."""

    def confirm(self, order: Order) -> None:
        """An order is carried out from now on."""


class CrawlStorage(Protocol):
    """Where a crawl keeps what it has to know.

    Attributes:
        orders: what the operator orders of its hosts.
        keeps_clock: whether a later run has the same clock: if not, hosts are left alone then as after a crash.
    """

    @property
    def orders(self) -> OrderSource: ...

    keeps_clock: bool

    def begun(self) -> StoredConfig:
        """With what the crawl was begun that it keeps: asked once, before a run."""

    def frontier(self) -> DurableFrontier:
        """Opens it."""

    def journal(self) -> WaitJournal:
        """Opens it."""

    def is_ours(self) -> bool:
        """Whether this run may still send and keep anything."""


class FolderStorage:
    """A crawl that keeps all in a folder beside its output; its orders are given there, or in the folder of the crawl
    that it is a shard of."""

    keeps_clock = True

    def __init__(self, folder: Path, orders: Orders) -> None:
        self._folder = folder
        self.orders = orders

    def begun(self) -> StoredConfig:
        return StoredConfig.from_folder(self._folder)

    def frontier(self) -> DurableFrontier:
        return Frontier(self._folder / "frontier.sqlite")

    def journal(self) -> WaitJournal:
        return WaitJournalFile(self._folder / "frontier.waits")

    def is_ours(self) -> bool:
        return True
