"""A crawl by several processes, of this machine or by Ray: they are started, and again when they die; told to stop;
killed when they are silent for too long; and none is left. Who has which shard says the Coordination that it is given.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, closing, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol

from comity import urls
from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.plugins import Plugins
from comity.crawler.progress.snapshot import ShardNow, Snapshot, merged
from comity.crawler.progress.stats import Pace, Stats, summed
from comity.crawler.progress.webhook import Webhook
from comity.crawler.run.checkpoint import Begun, settings_in_force, settings_to_dict
from comity.crawler.run.run import End
from comity.crawler.sharding.shards import LOCK, CrawlManifest, checked, placed_by
from comity.crawler.sinks.runner import DEFAULT, named
from comity.crawler.workers.jobs import Job, Word, name_of_process
from comity.crawler.workers.processes import Start, WorkerProcess
from comity.crawler.workers.shard import ShardEnd
from comity.errors import InvalidSetting, StorageError
from comity.frontier.database import explained, lock
from comity.frontier.durable import make_folder
from comity.net import ClientSettings
from comity.policy import Policy
from comity.policy.policy import policy_to_dict

STALLED: Final = 60.0  # seconds of silence after which a worker is taken to hang, and is killed
MOST_DEATHS: Final = 5  # of one worker that kept no page in between
LOOK_EVERY: Final = 0.5  # seconds


@dataclass(slots=True)
class Settled:
    """What holds for the run of a crawl of several shards that begins."""

    manifest: CrawlManifest
    policy: Policy
    settings: CrawlSettings


def settled(
    before: CrawlManifest | None,
    seeds: Iterable[str],
    *,
    shards: int | None,
    fallback: int,
    policy: Policy | None,
    settings: CrawlSettings | Mapping[str, Any] | None,
    sink: str | None,
    expander: str | None,
    refresh: bool,
) -> Settled:
    """What holds for a crawl of several shards in the run that begins.

    Args:
        before: what held for it so far; None where it is new.
        fallback: how many shards a new one has where nobody says it.
        Others as of ShardedCrawl.

    Raises:
        InvalidURL, InvalidSetting
        StorageError: it is written in another format.
    """
    begun = Begun() if before is None else Begun.of(before)
    policy = policy or begun.policy or Policy()
    its = settings_in_force(settings, begun.settings, refresh=refresh)
    if its.render:
        raise InvalidSetting("render: pages cannot be rendered over several shards", hint="crawl with --shards 1")
    by = placed_by(policy.pace_by)
    manifest = before or CrawlManifest(checked("shards", shards or fallback, least=2), by, sink=sink or DEFAULT)
    if shards is not None and shards != manifest.shards:
        raise InvalidSetting(f"shards: the crawl was begun with {manifest.shards}, which cannot be changed")
    if sink is not None and sink != manifest.sink:
        raise StorageError(
            f"the crawl is written as {manifest.sink}, not as {sink}",
            hint=f"continue with {manifest.sink}, or choose another folder",
        )
    if by != manifest.by:
        raise InvalidSetting("pace_by: it says what the shards' hosts are, so it stays what it was")
    given = [urls.normalise(seed) for seed in seeds]
    manifest.seeds = list(dict.fromkeys((*manifest.seeds, *given)))
    manifest.expander = expander or manifest.expander
    manifest.policy, manifest.settings = policy_to_dict(policy), settings_to_dict(its)
    return Settled(manifest, policy, its)


class Coordination(Protocol):
    """Who has which shard of a crawl that has begun, and how all stand: in a folder (sharded.py) or in a store
    (distributed.py).

    Attributes:
        go_on: the option by which such a crawl goes on.
        now: how all shards stand, by number.
        earlier: pages of earlier runs.
        limit_reached: because of which limit the crawl ends, in words.
        ended: whether all is over, whoever stopped it.
    """

    go_on: str
    now: dict[int, ShardNow]
    earlier: int
    limit_reached: str | None
    ended: bool

    def job(self, worker: WorkerProcess, job: Job) -> Job:
        """What a process that is to be started is to do, with what only the board knows."""

    def heard(self, worker: WorkerProcess, word: Word) -> None:
        """A worker says something."""

    def shards_of(self, worker: WorkerProcess) -> Collection[int]:
        """The shards that a worker had when it was seen last."""

    def died(self, worker: WorkerProcess) -> None:
        """A worker is dead before its end: others may have its shards."""

    def has_enough(self, *, stopping: bool) -> bool:
        """Whether the crawl can end without the workers that have no place to run yet."""

    def look(self, waiting: int) -> bool:
        """See, or say, how the shards stand: every half second. Gives whether the crawl is ordered to end.

        Args:
            waiting: workers that have no place to run.

        Raises:
            StorageError: the crawl cannot go on.
        """

    async def sum_up(self, ends: Mapping[int, ShardEnd], *, stopped: bool) -> tuple[int, int]:
        """What is left once all processes have ended: URLs that wait, and pages of a refresh that were not asked
        for."""


Begin = Callable[[], AbstractAsyncContextManager[Coordination]]
"""Begins the crawl, or goes on with it, or joins it: a block in which it is worked."""


class SharedCrawl:
    """One crawl by several processes. It is used like a Crawler.

    Args:
        folder: of this machine's part of the output.
        settled: what the crawl covers, and by which settings.
        workers: how many processes.
        start: what starts one.
        stalled: seconds of silence after which a worker is killed and started again.
        on_begin: told when nothing refuses the crawl any more.

    Attributes:
        end: how the last run ended.
        running: the run that was begun last; None before.
    """

    def __init__(
        self,
        folder: Path,
        settled: Settled,
        begin: Begin,
        client_settings: ClientSettings | None,
        workers: int,
        start: Start,
        stalled: float,
        on_begin: Callable[[], None] | None,
    ) -> None:
        self.folder, self.policy, self.settings = folder, settled.policy, settled.settings
        self.end = End()
        self.running: SharedRun | None = None
        self._settled = settled
        self._begin = begin
        self._on_begin = on_begin
        self._client_settings = client_settings or ClientSettings()
        self._count = workers
        self._start = start
        self._stalled = stalled
        self._stop = asyncio.Event()
        self._pace = Pace(time.monotonic())
        self._webhook = None if self.settings.webhook is None else Webhook(self.settings.webhook, self.policy)

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called on this machine: URLs may be waiting for a later run, or others may go on."""
        return self._stop.is_set()

    @property
    def format(self) -> str:
        """What the output is written as: a format's name, or a plug-in's `MODULE:NAME`."""
        return self._settled.manifest.sink

    @property
    def refreshes(self) -> bool:
        """Whether this is a refresh, or goes on with one."""
        return self._settled.manifest.refresh > 0

    @property
    def processes(self) -> Sequence[WorkerProcess]:
        """Those of the run that was begun last."""
        return () if self.running is None else self.running.processes

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
            [] if run is None else run.pictures(hosts, rules),
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
        """Crawl until nothing is left in any shard, a limit is reached, `stop` was called, or the crawl is over.

        Raises:
            ComityError: what ended a shard, or a process, for good; or one died again and again.
        """
        told = nullcontext() if self._webhook is None else self._webhook.told_end(self.folder, lambda: self.stats)
        with told:
            await self._crawl()
        return self.stats

    async def _crawl(self) -> None:
        manifest = self._settled.manifest
        named(manifest.sink)  # what lacks is said before anything is written
        Plugins(None, manifest.expander)
        make_folder(self.folder)
        with explained(self.folder / LOCK):
            held = lock(self.folder / LOCK)
        with closing(held):
            async with self._begin() as coordination:
                self._pace.earlier = coordination.earlier
                if self._on_begin is not None:
                    self._on_begin()
                run = SharedRun(
                    coordination, self._job, self._count, self._start, self._stalled, self._stop, self._pace
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
        return Job(self.folder, name, self._settled.manifest, self.policy, settings, client)


class SharedRun:
    """One run of a shared crawl: its processes on this machine, as they are started, watched and told.

    Args:
        coordination: who has which shard.
        job: by a process's name what it is to do.
        workers, start, stalled: as of SharedCrawl.
        stop: set once the processes are to stop, by whomever.
        pace: told how many pages are kept.
    """

    def __init__(
        self,
        coordination: Coordination,
        job: Callable[[str], Job],
        workers: int,
        start: Start,
        stalled: float,
        stop: asyncio.Event,
        pace: Pace,
    ) -> None:
        self.coordination = coordination
        self._job = job
        self._stalled = stalled
        self._stop = stop
        self._pace = pace
        self._wake = asyncio.Event()
        self.processes = [WorkerProcess(number, start, self._heard, self._wake.set) for number in range(workers)]
        self._pictures: dict[int, dict[int, Snapshot]] = {}  # by worker and shard
        self._shown: tuple[int, int] | None = None  # hosts and rules that a picture is to have; None: nobody has asked
        self._ends: dict[int, ShardEnd] = {}  # by shard, how it ended last
        self._error: Exception | None = None

    @property
    def stats(self) -> Stats:
        """Counts over all runs, shards and machines."""
        return summed(now.stats for now in self.coordination.now.values())

    def pictures(self, hosts: int, rules: int) -> list[Snapshot]:
        """How this machine's shards stand; from now on with so many hosts and rules at least."""
        most = self._shown or (0, 0)  # several may ask: a display, and who scrapes metrics
        self._shown = max(hosts, most[0]), max(rules, most[1])
        return [each for pictures in self._pictures.copy().values() for each in pictures.values()]

    async def work(self) -> None:
        """Have the processes work until all have ended. Whatever happens, none is left."""
        try:
            for worker in self.processes:
                await self._start(worker)
            await self._watch_workers()
        finally:
            for worker in self.processes:
                worker.kill()
            for worker in self.processes:
                await worker.wait()
                if not worker.ended:
                    self.coordination.died(worker)

    async def ended(self) -> End:
        """How the crawl ended, by what its shards said at their end.

        Raises:
            ComityError: what ended it for good.
        """
        if self._error is not None:
            raise self._error
        stopped = self._stop.is_set()
        left, unasked = await self.coordination.sum_up(self._ends, stopped=stopped)
        ends, limit = [each.end for each in self._ends.values()], self.coordination.limit_reached
        goes_on = stopped and not self.coordination.ended
        put_off = None if limit or goes_on else next((end.put_off for end in ends if end.put_off), None)
        return End(
            trouble=next((end.trouble for end in ends if end.trouble), None),
            passing=all(end.passing for end in ends),
            refusal=next((end.refusal for end in ends if end.refusal), None),
            limit_reached=limit or put_off,
            put_off=put_off,
            left=left,
            unasked=unasked,
        )

    async def _watch_workers(self) -> None:
        """Look after the workers until all have ended, or one failed and the others came to their end."""
        told_stop = False
        last = time.monotonic()
        looked = 0.0
        while True:
            now = time.monotonic()
            for worker in self.processes:
                if not worker.is_dead:
                    worker.watch(min(now - last, 1.0), self._stalled)
                elif not worker.ended and self._error is None:
                    await self._died(worker)
            last = now
            if all(worker.is_dead and (worker.ended or self._error is not None) for worker in self.processes):
                return
            stopping = self._stop.is_set()
            if (stopping or self._error is not None) and not told_stop:
                told_stop = True
                self._tell_begun(("stop",))
            if self._error is not None or self.coordination.has_enough(stopping=stopping):
                for worker in self.processes:
                    worker.dismiss()
            if now - looked >= LOOK_EVERY:
                looked = now
                self._pace.add(now, self.stats.pages)
                if self._shown is not None:
                    self._tell_begun(("picture", *self._shown))
                self._look()
            self._wake.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(0.25):
                    await self._wake.wait()

    async def _died(self, worker: WorkerProcess) -> None:
        """A worker is dead: whoever has its shards next goes on as after a crash."""
        assert worker.process is not None
        now = self.coordination.now
        worker.died({number: now[number].kept for number in self.coordination.shards_of(worker)})
        if worker.deaths >= MOST_DEATHS:
            self._error = StorageError(
                f"worker {worker.number} died {worker.deaths} times without keeping a page "
                f"(exit code {worker.process.returncode})",
                hint="what was written is safe; see what it says on standard error, then continue with "
                f"{self.coordination.go_on}",
            )
            return
        self._pictures.pop(worker.number, None)
        self.coordination.died(worker)
        await self._start(worker)

    async def _start(self, worker: WorkerProcess) -> None:
        kept = {now.number: now.kept for now in self.coordination.now.values()}
        await worker.start(self.coordination.job(worker, self._job(name_of_process(worker.number))), kept)

    def _heard(self, worker: WorkerProcess, word: Word) -> None:
        match word:
            case ("begun",):
                worker.begun = True
                if self._stop.is_set() or self._error is not None:
                    worker.say(("stop",))
            case ("pictures", pictures):
                self._pictures[worker.number] = pictures
            case ("shard ended", end):
                self._ends[end.now.number] = end
            case ("ended",):
                worker.ended = True
            case ("failed", error):
                self._error = self._error or error
                self._wake.set()
            case _:
                self.coordination.heard(worker, word)

    def _tell_begun(self, word: Word) -> None:
        for worker in self.processes:
            if worker.begun:
                worker.say(word)

    def _look(self) -> None:
        try:
            if self.coordination.look(sum(each.is_waiting for each in self.processes)):
                self._stop.set()
        except StorageError as error:
            self._error = self._error or error
