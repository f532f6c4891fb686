"""One shard of a crawl: a crawl of its own that keeps to its own hosts.

Whether all are at rest, and how many pages it may keep, is for the board to say.
"""

from collections.abc import Callable
from contextlib import closing, nullcontext
from dataclasses import dataclass
from typing import Any

from comity.crawler.cluster.jobs import Job
from comity.crawler.finding.limits import Spent
from comity.crawler.observe.snapshot import HostState, ShardState, ShardStatus
from comity.crawler.observe.webhook import Webhook
from comity.crawler.output.plugins import Plugins
from comity.crawler.run.local_crawl import LocalCrawl
from comity.crawler.run.mailbox import Mailbox
from comity.crawler.run.run import End, Run
from comity.crawler.run.run_config import Listeners, RunConfig
from comity.crawler.run.scheduler import Scheduler
from comity.crawler.storage.board import settings_of_shard
from comity.crawler.storage.crawl import RunStorage
from comity.crawler.storage.placement import ShardAssignment


@dataclass(frozen=True, slots=True)
class ShardEnd:
    """How one shard stands once its run has ended, and how that ended."""

    now: ShardStatus
    end: End


class Shard:
    """One shard of a crawl, in one run: a crawl that was given its shard among all. `control.end` has it come to its
    end once nothing is under way. Its worker has it by a token; `is_ours` says whether it is surely ours now.

    Args:
        siblings: the schedulers of this process's shards, which share the requests there may be at once.
        sent: told when something for other shards was committed.
    """

    def __init__(
        self,
        job: Job,
        assignment: ShardAssignment,
        token: int,
        storage: RunStorage,
        siblings: list[Scheduler],
        sent: Callable[[], None],
    ) -> None:
        manifest, webhook = job.manifest, job.settings.webhook
        self.assignment = assignment
        self.token = token
        self.is_ours = storage.is_ours
        self._clock = storage.clock
        self._sent = sent
        self._webhook = None if webhook is None else Webhook(webhook, job.policy)
        self.crawl = LocalCrawl(
            RunConfig(
                seeds=manifest.seeds,
                storage=storage,
                policy=job.policy,
                settings=settings_of_shard(job.settings, manifest.shards),
                client_settings=job.client_settings,
                plugins=Plugins(None, manifest.expander),
                sink=manifest.sink,
                begins_refresh=manifest.refresh > storage.config().refresh,
                assignment=self.assignment,
                siblings=siblings,
            )
        )
        self.control = self.crawl.control

    async def run(self) -> None:
        """Work it to its end. The webhook is told of hosts alone: of the crawl's end the process above tells it."""
        hook = self._webhook
        listeners = Listeners(records=[] if hook is None else [hook.record], sent=self._sent)
        with nullcontext() if hook is None else closing(hook):
            await self.crawl.run(listeners)

    @property
    def running(self) -> Run:
        """The run that is under way, or is over. There is one once it `has_begun`."""
        assert self.crawl.running is not None
        return self.crawl.running

    @property
    def has_begun(self) -> bool:
        """Whether its frontier is open, so that it can be told and asked."""
        return self.crawl.running is not None and self.crawl.running.scheduler.has_begun

    @property
    def progress(self) -> Any:
        """What differs once it has committed anything more; None before its frontier is open."""
        if (run := self.crawl.running) is None:
            return None
        return run.frontier.totals, run.frontier.sent, run.frontier.taken

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

    def now(self, worker: int) -> ShardStatus:
        """How it stands; everything it says is committed where it does nothing."""
        run, now = self.running, self._clock.monotonic()
        state, until, host = run.state(now)
        granted, spent = self.control.granted, run.quota.spent
        return ShardStatus(
            self.assignment.number,
            worker,
            state,
            until,
            host,
            None if host is None else str(HostState(run.client.driver.pause(host).why)),
            granted,
            0 if granted is None else max(granted - spent.pages - len(run.scheduler.tasks), 0),
            run.frontier.sent,
            run.frontier.taken,
            Spent(*spent.listed(now)),
            self.crawl.stats,
            run.commits.records,
            run.commits.pages,
        )

    def result(self, worker: int) -> ShardEnd:
        """What came of it, once `run` has ended."""
        state: ShardState = "stopped" if self.control.stopping else "resting"
        crawl = self.crawl
        stands = ShardStatus(
            self.assignment.number, worker, state, stats=crawl.stats, records=self.running.commits.records
        )
        return ShardEnd(stands, crawl.end)
