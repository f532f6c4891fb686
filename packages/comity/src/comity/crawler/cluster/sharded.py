"""A crawl of several shards, worked by several processes of this machine, or by Ray: what a command runs.

What is done with it where it lies is in in_folder.py and, for PostgreSQL, where other machines may take part, in
in_store.py. The rest is the same.
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, closing
from dataclasses import replace

from comity.crawler.cluster.in_folder import begin_in_folder
from comity.crawler.cluster.in_store import InStore
from comity.crawler.cluster.jobs import Job
from comity.crawler.cluster.processes import Coordination, Notices, Processes
from comity.crawler.cluster.worker_process import WorkerProcess, check_files, children
from comity.crawler.cluster.workers import Workers
from comity.crawler.observe.snapshot import Snapshot, merged
from comity.crawler.observe.stats import PageRate, Stats
from comity.crawler.output.plugins import Plugins
from comity.crawler.output.runner import DEFAULT, named
from comity.crawler.run.run import End
from comity.crawler.run.run_config import Listeners, RunConfig
from comity.crawler.storage.manifest import LOCK, CrawlManifest
from comity.crawler.storage.stored_config import settings_to_dict
from comity.errors import InvalidSetting, StorageError
from comity.frontier.durable import make_folder
from comity.frontier.sqlite.database import lock, translate_errors
from comity.net import Session
from comity.policy.policy import policy_to_dict


class ShardedCrawl:
    """One crawl of several shards, as the processes of one machine take part in it: what a Crawler runs. Errors as of
    Crawler.

    Args:
        manifest: what held for it so far; None where it is new.
        in_store: the store where it lies; None: in the folder.

    Attributes:
        end: how the last run ended.
        running: the processes of the run that was begun last; None before.
    """

    def __init__(
        self, config: RunConfig, manifest: CrawlManifest | None, workers: Workers, in_store: InStore | None
    ) -> None:
        self._config, self._in_store, self._workers = config, in_store, workers
        sink, expander = config.sink, config.plugins.names.get("expander")
        assert isinstance(sink, str | None)
        if config.settings.renders:
            raise InvalidSetting("render: pages cannot be rendered over several shards", hint="crawl with --shards 1")
        by = config.policy.pace_by
        if manifest is None:
            manifest = CrawlManifest(workers.new_shards, by, sink=sink or DEFAULT)
        # What is given does not change what was settled when the crawl began.
        if workers.shards not in (None, manifest.shards):
            raise InvalidSetting(f"shards: the crawl was begun with {manifest.shards}, which cannot be changed")
        if sink not in (None, manifest.sink):
            raise StorageError(
                f"the crawl is written as {manifest.sink}, not as {sink}",
                hint=f"continue with {manifest.sink}, or choose another folder",
            )
        if by != manifest.by:
            raise InvalidSetting("pace_by: it says what the shards' hosts are, so it stays what it was")
        self._manifest = manifest
        manifest.seeds = list(dict.fromkeys((*manifest.seeds, *config.seeds)))
        manifest.expander = expander or manifest.expander
        manifest.policy, manifest.settings = policy_to_dict(config.policy), settings_to_dict(config.settings)
        self.end = End()
        self.running: Processes | None = None
        self._stop = asyncio.Event()
        self.stop = self._stop.set
        self._count = workers.count if in_store is not None else min(workers.count, manifest.shards)
        self._pace = PageRate(time.monotonic())
        if in_store is None:
            check_files(-(-manifest.shards // self._count), manifest.shards, self.connections)

    @property
    def stopped(self) -> bool:
        return self._stop.is_set()

    @property
    def format(self) -> str:
        return self._manifest.sink

    @property
    def refreshes(self) -> bool:
        return self._manifest.refresh > 0

    @property
    def processes(self) -> Sequence[WorkerProcess]:
        return () if self.running is None else self.running.workers

    @property
    def connections(self) -> int:
        """Of each process: as many as its requests at least."""
        config, count = self._config, self._count
        return max(-(-config.settings.concurrency // count), -(-config.client_settings.connections // count))

    @property
    def stats(self) -> Stats:
        return Stats() if self.running is None else self.running.stats

    def snapshot(self, *, hosts: int = 10, rules: int = 10) -> Snapshot:
        """How the crawl stands: from any thread. Of hosts it shows this machine's, as of a second ago or less."""
        run, now = self.running, time.monotonic()
        return merged(
            [] if run is None else run.snapshots(hosts, rules),
            phase="stopping" if self.stopped else "running",
            stats=self.stats,
            seconds=now - self._pace.started,
            pages_per_second=self._pace.per_second(now, self.stats.pages),
            shards=() if run is None else tuple(run.coordination.now.copy().values()),
            most_hosts=hosts,
            most_rules=rules,
        )

    async def run(self, listeners: Listeners, pace_with: Session | None = None) -> None:
        """Crawl until nothing is left in any shard, a limit is reached, `stop` was called, or the crawl is over. A
        ComityError says what ended a shard, or a process, for good."""
        manifest, in_store = self._manifest, self._in_store
        settings, folder = self._config.settings, self._config.folder
        named(manifest.sink)  # check for missing plug-ins before anything is written
        Plugins(None, manifest.expander)
        start = self._workers.start or children(self._workers.command)
        make_folder(folder)
        with translate_errors(folder / LOCK):
            held = lock(folder / LOCK)
        with closing(held):
            begun: AbstractAsyncContextManager[Coordination]
            if in_store is None:
                refresh = self._config.begins_refresh
                begun = begin_in_folder(folder, manifest, settings, self._count, refresh=refresh)
            else:
                begun = in_store.begin(manifest, settings, self._count, self._stop.is_set)
            async with begun as coordination:
                self._pace.earlier = coordination.earlier
                if listeners.begin is not None:
                    listeners.begin()
                notices, stalled = Notices(self._workers.on_notice, folder, self._count), self._workers.stalled
                run = self.running = Processes(
                    coordination, self._job, self._count, start, stalled, self._stop, self._pace, notices
                )
                if any(now.state != "ended" for now in coordination.now.values()):  # else what lies here is tidied up
                    await run.work()
                self.end = await run.ended()
                if coordination.ended:
                    self._stop.clear()

    def _job(self, name: str) -> Job:
        config = self._config
        settings = replace(config.settings, concurrency=-(-config.settings.concurrency // self._count))
        client = replace(config.client_settings, connections=self.connections)
        return Job(config.folder, name, self._manifest, config.policy, settings, client)
