"""A crawl of several shards, worked by several processes of this machine, or by Ray: what a command runs.

What is done with it where it lies is in in_folder.py and, for PostgreSQL, where other machines may take part, in
in_store.py. The rest is the same.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, closing, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from comity.crawler.cluster.in_folder import begin_in_folder
from comity.crawler.cluster.in_store import LEASE_SECONDS, How, InStore
from comity.crawler.cluster.jobs import Job
from comity.crawler.cluster.processes import MAX_SILENT_SECONDS, Coordination, Notices, Processes
from comity.crawler.cluster.worker_process import COMMAND, Start, WorkerProcess, check_files, children
from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.crawler import Crawler
from comity.crawler.observe.snapshot import Snapshot, merged
from comity.crawler.observe.stats import PageRate, Stats
from comity.crawler.observe.webhook import Webhook
from comity.crawler.output.plugins import Plugins
from comity.crawler.output.runner import DEFAULT, named
from comity.crawler.run.checkpoint import resolved
from comity.crawler.run.run import End
from comity.crawler.storage.manifest import LOCK, CrawlManifest, checked, manifest_of, placed_by, shards_for
from comity.crawler.storage.placement import PlacedBy
from comity.crawler.storage.stored_config import StoredConfig, settings_to_dict
from comity.errors import InvalidSetting, StorageError
from comity.frontier.durable import make_folder
from comity.frontier.postgresql.database import address
from comity.frontier.sqlite.database import lock, translate_errors
from comity.net import ClientSettings
from comity.policy import Policy
from comity.policy.policy import policy_to_dict
from comity_pages import urls


class ShardedCrawl:
    """One crawl of several shards, as the processes of one machine take part in it. It is used like a Crawler.

    Args:
        seeds, policy, settings, client_settings, refresh: as of Crawler.
        folder: where the manifest and the shards' folders lie; of a crawl in a store this machine's parts of the
            output and of the ledger.
        store: `postgresql://user@host/database`, with `?crawl=NAME` where it holds several; None for a crawl in the
            folder, which goes on where one lies there.
        join: whether to take part in a crawl in the store that others work on; its settings hold.
        resume: whether to go on with one in the store that nobody works on, with these settings.
        shards: how many; None for as many as there are, or where the crawl is new, two for each worker.
        workers: processes; in a folder there are no more than shards.
        sink, expander: a format's name, or a plug-in as `MODULE:NAME`.
        lease: as of InStore.
        command: the program that is a worker, and its arguments; or `start`, what starts one in another way.
        stalled: seconds of silence after which a worker is killed and started again.
        on_begin: told when nothing refuses the crawl any more.
        on_notice: told when a store is away, and there again; where workers are, and that they have no place to run.

    Attributes:
        store: the store's address; None of a crawl in a folder.
        end: how the last run ended.
        running: the processes of the run that was begun last; None before.

    Raises:
        InvalidURL, InvalidSetting
        StorageError: folder or store cannot be used, or hold no crawl, or one that this is not about.
    """

    def __init__(
        self,
        seeds: Sequence[str],
        folder: str | Path,
        store: str | None = None,
        *,
        join: bool = False,
        resume: bool = False,
        refresh: bool = False,
        shards: int | None = None,
        workers: int = 2,
        policy: Policy | None = None,
        settings: CrawlSettings | Mapping[str, Any] | None = None,
        client_settings: ClientSettings | None = None,
        sink: str | None = None,
        expander: str | None = None,
        lease: float = LEASE_SECONDS,
        command: Sequence[str] = COMMAND,
        start: Start | None = None,
        stalled: float = MAX_SILENT_SECONDS,
        on_begin: Callable[[], None] | None = None,
        on_notice: Callable[[str], None] | None = None,
    ) -> None:
        checked("workers", workers)
        self.folder = Path(folder)
        self.store = None if store is None else address(store)
        self._stop = asyncio.Event()
        self._begin: Callable[[CrawlManifest, CrawlSettings, int], AbstractAsyncContextManager[Coordination]]
        if store is None:
            before, self._begin = manifest_of(self.folder), partial(begin_in_folder, self.folder, refresh)
        else:
            how: How = "join" if join else "refresh" if refresh else "resume" if resume else "begin"
            notice = on_notice or (lambda text: None)
            stopped = self._stop.is_set
            place = InStore(self.folder, store, how=how, lease=lease, on_notice=notice, stopped=stopped)
            before, self._begin = place.manifest, place.begin
        if join:
            if seeds or sink is not None or expander is not None:
                raise InvalidSetting("join: what is crawled, and how it is written, was settled when the crawl began")
            policy = settings = None
        begun = StoredConfig() if before is None else StoredConfig.from_manifest(before)
        # What is joined lies in a store that the operator names, and others work on it.
        plugins = None if join else {"sink": sink, "expander": expander}
        self.policy, self.settings = resolved(begun, folder, policy, settings, plugins, refresh=refresh)
        if self.settings.renders:
            raise InvalidSetting("render: pages cannot be rendered over several shards", hint="crawl with --shards 1")
        by = placed_by(self.policy.pace_by)
        if before is None:
            before = CrawlManifest(checked("shards", shards or shards_for(workers), least=2), by, sink=sink or DEFAULT)
        _check_settled(before, shards, sink, by)
        self._manifest = manifest = before
        manifest.seeds = list(dict.fromkeys((*manifest.seeds, *map(urls.normalise, seeds))))
        manifest.expander = expander or manifest.expander
        manifest.policy, manifest.settings = policy_to_dict(self.policy), settings_to_dict(self.settings)
        self.end = End()
        self.running: Processes | None = None
        self._on_begin = on_begin
        self._on_notice = on_notice or (lambda text: None)
        self._client_settings = client_settings or ClientSettings()
        self._count = workers if store is not None else min(workers, manifest.shards)
        self._start = start or children(command)
        self._stalled = stalled
        self._pace = PageRate(time.monotonic())
        self._webhook = None if self.settings.webhook is None else Webhook(self.settings.webhook, self.policy)
        if store is None:
            check_files(-(-manifest.shards // self._count), manifest.shards, self.connections)

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called on this machine: URLs may be waiting for a later run, or others may go on."""
        return self._stop.is_set()

    @property
    def format(self) -> str:
        """What the output is written as: a format's name, or a plug-in's `MODULE:NAME`."""
        return self._manifest.sink

    @property
    def refreshes(self) -> bool:
        """Whether this is a refresh, or goes on with one."""
        return self._manifest.refresh > 0

    @property
    def processes(self) -> Sequence[WorkerProcess]:
        """Those of the run that was begun last."""
        return () if self.running is None else self.running.workers

    @property
    def connections(self) -> int:
        """Of each process: as many as its requests at least."""
        return max(-(-self.settings.concurrency // self._count), -(-self._client_settings.connections // self._count))

    @property
    def stats(self) -> Stats:
        """Counts over all runs, shards and machines."""
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

    def stop(self) -> None:
        """Start nothing new on this machine; what is under way is finished and written."""
        self._stop.set()

    async def run(self) -> Stats:
        """Crawl until nothing is left in any shard, a limit is reached, `stop` was called, or the crawl is over. A
        ComityError says what ended a shard, or a process, for good."""
        notice = nullcontext() if self._webhook is None else self._webhook.told_end(self.folder, lambda: self.stats)
        with notice:
            await self._crawl()
        return self.stats

    async def _crawl(self) -> None:
        manifest = self._manifest
        named(manifest.sink)  # check for missing plug-ins before anything is written
        Plugins(None, manifest.expander)
        make_folder(self.folder)
        with translate_errors(self.folder / LOCK):
            held = lock(self.folder / LOCK)
        with closing(held):
            async with self._begin(self._manifest, self.settings, self._count) as coordination:
                self._pace.earlier = coordination.earlier
                if self._on_begin is not None:
                    self._on_begin()
                run = Processes(
                    coordination,
                    self._job,
                    self._count,
                    self._start,
                    self._stalled,
                    self._stop,
                    self._pace,
                    Notices(self._on_notice, self.folder, self._count),
                )
                self.running = run
                if any(now.state != "ended" for now in coordination.now.values()):  # else what lies here is tidied up
                    await run.work()
                self.end = await run.ended()
                if coordination.ended:
                    self._stop.clear()

    def _job(self, name: str) -> Job:
        """What any of the processes is to do."""
        settings = replace(self.settings, concurrency=-(-self.settings.concurrency // self._count))
        client = replace(self._client_settings, connections=self.connections)
        return Job(self.folder, name, self._manifest, self.policy, settings, client)


def _check_settled(manifest: CrawlManifest, shards: int | None, sink: str | None, by: PlacedBy) -> None:
    """See that what is given does not change what was settled when the crawl began; else an InvalidSetting or
    StorageError."""
    if shards is not None and shards != manifest.shards:
        raise InvalidSetting(f"shards: the crawl was begun with {manifest.shards}, which cannot be changed")
    if sink is not None and sink != manifest.sink:
        raise StorageError(
            f"the crawl is written as {manifest.sink}, not as {sink}",
            hint=f"continue with {manifest.sink}, or choose another folder",
        )
    if by != manifest.by:
        raise InvalidSetting("pace_by: it says what the shards' hosts are, so it stays what it was")


AnyCrawl = Crawler | ShardedCrawl  # what the command line runs
