"""With what a run of a crawl is made: what it was given, where it keeps what it has to know, that it is one shard of a
larger crawl, and what is open while it lasts.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.output.ledger import Ledger
from comity.crawler.output.records import CrawledPage
from comity.crawler.places.orders import Order, Orders
from comity.crawler.plugins import Plugins
from comity.crawler.progress.telemetry import Telemetry
from comity.crawler.run.checkpoint import Begun
from comity.crawler.run.waits import WaitJournal, WaitJournalFile
from comity.crawler.sharding.placement import ShardPlace
from comity.crawler.sinks.runner import SinkRunner
from comity.frontier.rules import DurableFrontier
from comity.frontier.sqlite.store import Frontier
from comity.net import ClientSettings, Clock, Session
from comity.policy import Policy


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

    def begun(self) -> Begun:
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

    def begun(self) -> Begun:
        return Begun.at(self._folder)

    def frontier(self) -> DurableFrontier:
        return Frontier(self._folder / "frontier.sqlite")

    def journal(self) -> WaitJournal:
        return WaitJournalFile(self._folder / "frontier.waits")

    def is_ours(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Membership:
    """What makes a crawl one shard of a larger one. It does not end when nothing is left to do, for another shard may
    find something for it: it waits for `Control.end`. `beside`: the schedulers of this process's shards, which share
    the requests there may be at once. `on_sent` is told when something for other shards was committed."""

    shard: ShardPlace
    beside: list[Any]
    on_sent: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listeners:
    """Who is told how a crawl goes: of each page, and of each failure and refusal (channel and record) once it is
    committed; and when nothing refuses the crawl any more."""

    page: Callable[[CrawledPage], None] | None = None
    records: Sequence[Callable[[str, dict[str, Any]], None]] = ()
    begin: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """With what a run of a crawl is made; see Crawler. `membership` is None where it is a crawl by itself."""

    seeds: list[str]
    folder: Path
    policy: Policy
    settings: CrawlSettings
    client_settings: ClientSettings
    clock: Clock
    plugins: Plugins
    begins_refresh: bool
    listeners: Listeners
    storage: CrawlStorage
    pace_with: Session | None = None
    membership: Membership | None = None

    @property
    def shard(self) -> ShardPlace | None:
        return None if self.membership is None else self.membership.shard

    @property
    def requests(self) -> int:
        """The most that may be under way at once."""
        return max(self.settings.concurrency, self.client_settings.connections)


@dataclass(frozen=True, slots=True)
class Opened:
    """What is open while a run lasts. `reader` is for what takes long and needs nothing of the crawl's, `writer` has
    one thread."""

    frontier: DurableFrontier
    journal: WaitJournal
    sink: SinkRunner
    ledger: Ledger
    reader: Executor
    writer: Executor
    telemetry: Telemetry | None
