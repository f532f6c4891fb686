"""Inputs of a run: its configuration, its place in a larger crawl, who listens, and what is open while it lasts."""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.observe.telemetry import Telemetry
from comity.crawler.output.ledger import Ledger
from comity.crawler.output.plugins import Plugins
from comity.crawler.output.records import CrawledPage
from comity.crawler.output.runner import SinkRunner
from comity.crawler.output.sink import Sink
from comity.crawler.storage.crawl import RunStorage, WaitJournal
from comity.crawler.storage.placement import ShardAssignment
from comity.frontier.rules import DurableFrontier
from comity.net import ClientSettings, Clock, Session
from comity.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Listeners:
    """Who is told how a crawl goes: of each page, and of each failure and refusal (channel and record) once it is
    committed; when nothing refuses the crawl any more; when something for other shards was committed."""

    page: Callable[[CrawledPage], None] | None = None
    records: Sequence[Callable[[str, dict[str, Any]], None]] = ()
    begin: Callable[[], None] | None = None
    sent: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RunConfig:
    """The inputs of a run; see Crawler.

    Attributes:
        assignment: which shard of a larger crawl this is; None of a crawl by itself. A shard does not end when nothing
            is left to do, for another may find something for it: it waits for `Control.end`.
        siblings: the schedulers of this process's shards, which share the requests there may be at once.
    """

    seeds: list[str]
    storage: RunStorage
    policy: Policy
    settings: CrawlSettings
    client_settings: ClientSettings
    plugins: Plugins
    sink: Sink | str | None
    begins_refresh: bool
    listeners: Listeners = field(default_factory=Listeners)
    pace_with: Session | None = None
    assignment: ShardAssignment | None = None
    siblings: list[Any] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return self.storage.folder

    @property
    def clock(self) -> Clock:
        return self.storage.clock

    @property
    def requests(self) -> int:
        """The most that may be under way at once."""
        return max(self.settings.concurrency, self.client_settings.connections)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RunResources:
    """What is open while a run lasts. `reader` is for what takes long and needs nothing of the crawl's, `writer` has
    one thread."""

    frontier: DurableFrontier
    journal: WaitJournal
    sink: SinkRunner
    ledger: Ledger
    reader: Executor
    writer: Executor
    telemetry: Telemetry | None
