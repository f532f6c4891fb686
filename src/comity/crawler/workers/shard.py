"""One shard of a crawl: a Crawler that keeps to its own hosts.

Whether all are at rest, and how many pages it may keep, is for the board to say.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comity.crawler.checkpoint import Begun
from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.crawler import Crawler
from comity.crawler.given import CrawlStorage, FolderStorage, Membership
from comity.crawler.mailbox import Mailbox
from comity.crawler.run import End, Run
from comity.crawler.scheduler import Scheduler
from comity.crawler.shards import ShardPlace, part
from comity.crawler.snapshot import HostState, ShardNow, ShardState
from comity.net import ClientSettings, Clock
from comity.policy import Policy


@dataclass(frozen=True, slots=True)
class ShardEnd:
    """How one shard stands once its run has ended, and how that ended."""

    now: ShardNow
    end: End


class Shard:
    """One shard of a crawl, in one run: a Crawler that was given a place among all. `control.end` has it come to its
    end once nothing is under way.

    Attributes:
        crawler: what crawls it.
        control: how it is told to stop and to end, and how many pages it may keep.

    Args:
        seeds: those of the whole crawl.
        folder: of the whole crawl.
        beside: the schedulers of this process's shards, which share the requests there may be at once.
        refresh: the number of the refresh that the whole crawl is in; 0 for none.
        own: the folder of this shard; None for the one that has its name.
        on_sent: told when something for other shards was committed.
    """

    def __init__(
        self,
        seeds: list[str],
        folder: Path,
        place: ShardPlace,
        *,
        policy: Policy,
        settings: Mapping[str, Any] | CrawlSettings,
        client_settings: ClientSettings,
        beside: list[Scheduler] | None = None,
        clock: Clock | None = None,
        sink: str | None = None,
        expander: str | None = None,
        refresh: int = 0,
        own: Path | None = None,
        storage: CrawlStorage | None = None,
        on_begin: Callable[[], None] | None = None,
        on_sent: Callable[[], None] = lambda: None,
    ) -> None:
        own = own or folder / part(place.number)
        begun = Begun.at(own)
        self.place = place
        self._clock = clock or Clock()
        self.crawler = Crawler(
            seeds,
            own,
            policy=policy,
            settings=settings,
            client_settings=client_settings,
            clock=self._clock,
            sink=sink,
            expander=expander,
            refresh=refresh > begun.refresh,
            begun=begun,
            on_begin=on_begin,
            storage=storage or FolderStorage(own, folder),
            membership=Membership(place, [] if beside is None else beside, on_sent),
        )
        self.control = self.crawler.control
        self.run = self.crawler.run

    @property
    def running(self) -> Run:
        """The run that is under way, or is over. There is one once it `has_begun`."""
        assert self.crawler.running is not None
        return self.crawler.running

    @property
    def has_begun(self) -> bool:
        """Whether its frontier is open, so that it can be told and asked."""
        return self.crawler.running is not None and self.crawler.running.scheduler.has_begun

    @property
    def is_at_work(self) -> bool:
        """Whether it has requests under way."""
        return self.has_begun and bool(self.running.scheduler.tasks)

    @property
    def mailbox(self) -> Mailbox:
        """What others send to it. There is one once it `has_begun`."""
        assert self.running.mailbox is not None
        return self.running.mailbox

    def give_back(self) -> int:
        """Keep of the pages granted those that requests under way may take; gives how many then are granted."""
        granted = self.control.granted
        if granted is not None and self.has_begun:
            run = self.running
            self.control.grant(min(granted, run.quota.spent.pages + len(run.scheduler.tasks)))
        return self.control.granted or 0

    def now(self, worker: int) -> ShardNow:
        """How it stands; everything it says is committed where it does nothing."""
        run, now = self.running, self._clock.monotonic()
        state, until, host = run.state(now)
        granted, spent = self.control.granted, run.quota.spent
        return ShardNow(
            self.place.number,
            worker,
            state,
            until,
            host,
            None if host is None else str(HostState(run.client.driver.pause(host).why)),
            granted,
            0 if granted is None else max(granted - spent.pages - len(run.scheduler.tasks), 0),
            run.frontier.sent,
            run.frontier.taken,
            spent.pages,
            spent.bytes,
            spent.seconds_at(now),
            self.crawler.stats,
            run.commits.records,
        )

    def result(self, worker: int) -> ShardEnd:
        """What came of it, once `run` has ended."""
        state: ShardState = "stopped" if self.control.stopping else "resting"
        crawler = self.crawler
        stands = ShardNow(self.place.number, worker, state, stats=crawler.stats, records=self.running.commits.records)
        return ShardEnd(stands, crawler.end)
