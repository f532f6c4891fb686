"""The worker processes of one run on this machine, whoever has which shard: they are started, and again when they die;
told to stop; killed when they are silent for too long; and none is left.
"""

import asyncio
import platform
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

from comity.crawler.cluster.jobs import Job, WorkerMessage, name_of_process
from comity.crawler.cluster.shard import ShardEnd
from comity.crawler.cluster.worker_process import Start, WorkerProcess
from comity.crawler.observe.snapshot import ShardStatus, Snapshot
from comity.crawler.observe.stats import PageRate, Stats, summed
from comity.crawler.run.run import End
from comity.errors import StorageError

MAX_DEATHS: Final = 5  # of one worker that kept no page in between
LOOK_SECONDS: Final = 0.5  # seconds
MAX_VAIN_LOOKS: Final = 20  # at a worker that has no place to run, after which it is said


class Coordination(Protocol):
    """Who has which shard of a crawl that has begun, and how all stand: in a folder (in_folder.py) or in a store
    (in_store.py).

    Attributes:
        resume_option: the option by which such a crawl is resumed.
        earlier: pages of earlier runs.
        limit_reached: because of which limit the crawl ends, by name.
        ended: whether all is over, whoever stopped it.
    """

    resume_option: str
    now: dict[int, ShardStatus]
    earlier: int
    limit_reached: str | None
    ended: bool

    def job(self, worker: WorkerProcess, job: Job) -> Job:
        """What a process that is to be started is to do, with what only the board knows."""

    def received(self, worker: WorkerProcess, message: WorkerMessage) -> None:
        """A worker says something."""

    def shards_of(self, worker: WorkerProcess) -> Collection[int]:
        """The shards that a worker had when it was seen last."""

    def died(self, worker: WorkerProcess) -> None:
        """A worker is dead before its end: others may have its shards."""

    def has_enough(self, *, stopping: bool) -> bool:
        """Whether the crawl can end without the workers that have no place to run yet."""

    def watch(self) -> bool:
        """See, or say, how the shards stand: every half second. Gives whether the crawl is ordered to end. A
        StorageError: it cannot go on."""

    async def sum_up(self, ends: Mapping[int, ShardEnd], *, stopped: bool) -> tuple[int, int]:
        """What is left once all processes have ended: URLs that wait, and pages of a refresh that were not asked
        for."""


class Notices:
    """What a person is told of the workers of this machine and its folder while they work, each thing once."""

    def __init__(self, tell: Callable[[str], None], folder: Path, workers: int) -> None:
        self._tell = tell
        self._folder = folder
        self._workers = workers
        self._machines = {platform.node()}  # that are known to have workers
        self._away: set[int] = set()  # processes that cannot reach the database
        self._vain_looks = 0  # looks at which a worker had no place to run

    def in_reach(self, number: int, text: str) -> None:
        """A process says that the database is away, or that it is back; others may say the same."""
        before = bool(self._away)
        self._away ^= {number}
        if bool(self._away) != before:
            self._tell(text if not self._away else f"{text}; no requests until it is back")

    def died(self, number: int) -> None:
        """A process is dead."""
        self._away.discard(number)

    def placed(self, machine: str) -> None:
        """A worker runs on a machine."""
        if machine not in self._machines:
            self._machines.add(machine)
            where = self._folder.absolute()
            self._tell(f"a worker runs on {machine}: its part of the output is in {where} there")

    def waiting(self, count: int) -> None:
        """So many of the workers have no place to run."""
        self._vain_looks = self._vain_looks + 1 if count else 0
        if self._vain_looks == MAX_VAIN_LOOKS:
            self._tell(f"{count} of {self._workers} workers wait until Ray has a processor free for them")


class Processes:
    """The workers of one run of a crawl on this machine, as they are started, watched and told. `job`: by a process's
    name what it is to do. `workers`, `start`, `stalled`: as of ShardedCrawl. `stop` is set once the processes are to
    stop, by whomever. `pace` is told how many pages are kept."""

    def __init__(
        self,
        coordination: Coordination,
        job: Callable[[str], Job],
        workers: int,
        start: Start,
        stalled: float,
        stop: asyncio.Event,
        pace: PageRate,
        notices: Notices,
    ) -> None:
        self.coordination = coordination
        self._notices = notices
        self._job = job
        self._stalled = stalled
        self._stop = stop
        self._pace = pace
        self._wake = asyncio.Event()
        self.workers = [WorkerProcess(number, start, self._received, self._wake.set) for number in range(workers)]
        self._snapshots: dict[int, dict[int, Snapshot]] = {}  # by worker and shard
        self._limits: tuple[int, int] | None = (
            None  # hosts and rules that a snapshot is to have; None: nobody has asked
        )
        self._ends: dict[int, ShardEnd] = {}  # by shard, how it ended last
        self._error: Exception | None = None

    @property
    def stats(self) -> Stats:
        """Counts over all runs, shards and machines."""
        return summed(now.stats for now in self.coordination.now.values())

    def snapshots(self, hosts: int, rules: int) -> list[Snapshot]:
        """How this machine's shards stand; from now on with so many hosts and rules at least."""
        most = self._limits or (0, 0)  # several may ask: a display, and who scrapes metrics
        self._limits = max(hosts, most[0]), max(rules, most[1])
        return [each for snapshots in self._snapshots.copy().values() for each in snapshots.values()]

    async def work(self) -> None:
        """Have the processes work until all have ended. Whatever happens, none is left."""
        try:
            for worker in self.workers:
                await self._start(worker)
            await self._watch_workers()
        finally:
            for worker in self.workers:
                worker.kill()
            for worker in self.workers:
                await worker.wait()
                if not worker.ended:
                    self.coordination.died(worker)

    async def ended(self) -> End:
        """How the crawl ended, by what its shards said at their end; raises what ended it for good."""
        if self._error is not None:
            raise self._error
        stopped = self._stop.is_set()
        left, unasked = await self.coordination.sum_up(self._ends, stopped=stopped)
        ends, limit = [each.end for each in self._ends.values()], self.coordination.limit_reached
        goes_on = stopped and not self.coordination.ended
        deferred = None if limit or goes_on else next((end.deferred for end in ends if end.deferred), None)
        return End(
            trouble=next((end.trouble for end in ends if end.trouble), None),
            passing=all(end.passing for end in ends),
            refusal=next((end.refusal for end in ends if end.refusal), None),
            limit_reached=limit,
            deferred=deferred,
            left=left,
            unasked=unasked,
            blocked=sum(end.blocked for end in ends),
        )

    async def _watch_workers(self) -> None:
        told_stop = False
        last = time.monotonic()
        looked = 0.0
        while True:
            now, stopping = time.monotonic(), self._stop.is_set()
            for worker in self.workers:
                if not worker.is_dead:
                    takes_over = not stopping and self._takes_over(worker)
                    worker.watch(min(now - last, 1.0), self._stalled, takes_over=takes_over)
                elif not worker.ended and self._error is None:
                    await self._died(worker, again=not stopping)
            last = now
            if all(worker.is_dead and (worker.ended or self._error is not None) for worker in self.workers):
                return
            if (stopping or self._error is not None) and not told_stop:
                told_stop = True
                self._tell_begun(("stop",))
            if self._error is not None or self.coordination.has_enough(stopping=stopping):
                for worker in self.workers:
                    worker.dismiss()
            if now - looked >= LOOK_SECONDS:
                looked = now
                self._pace.add(now, self.stats.pages)
                if self._limits is not None:
                    self._tell_begun(("snapshot", *self._limits))
                self._look()
            self._wake.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(0.25):
                    await self._wake.wait()

    def _takes_over(self, worker: WorkerProcess) -> bool:
        """Whether a worker has a shard that has not begun."""
        now = self.coordination.now
        return any(now[number].state == "starting" for number in self.coordination.shards_of(worker))

    async def _died(self, worker: WorkerProcess, *, again: bool) -> None:
        """A worker is dead: whoever has its shards next goes on as after a crash. `again`: it is started again."""
        assert worker.process is not None
        now = self.coordination.now
        worker.died({number: now[number].kept for number in self.coordination.shards_of(worker)})
        if worker.deaths >= MAX_DEATHS:
            self._error = StorageError(
                f"worker {worker.number} died {worker.deaths} times without keeping a page "
                f"(exit code {worker.process.returncode})",
                hint="what was written is safe; see what it says on standard error, then continue with "
                f"{self.coordination.resume_option}",
            )
            return
        self._snapshots.pop(worker.number, None)
        self._notices.died(worker.number)
        self.coordination.died(worker)
        if again:
            await self._start(worker)
        else:
            worker.ended = True

    async def _start(self, worker: WorkerProcess) -> None:
        kept = {now.number: now.kept for now in self.coordination.now.values()}
        await worker.start(self.coordination.job(worker, self._job(name_of_process(worker.number))), kept)

    def _received(self, worker: WorkerProcess, message: WorkerMessage) -> None:
        match message:
            case ("begun",):
                worker.begun = True
                if self._stop.is_set() or self._error is not None:
                    worker.send(("stop",))
            case ("snapshots", snapshots):
                self._snapshots[worker.number] = snapshots
            case ("shard ended", end):
                self._ends[end.now.number] = end
            case ("ended",):
                worker.ended = True
            case ("notice", text):
                self._notices.in_reach(worker.number, text)
            case ("placed", machine):
                self._notices.placed(machine)
            case ("failed", error):
                self._error = self._error or error
                self._wake.set()
            case _:
                self.coordination.received(worker, message)

    def _tell_begun(self, message: WorkerMessage) -> None:
        for worker in self.workers:
            if worker.begun:
                worker.send(message)

    def _look(self) -> None:
        self._notices.waiting(sum(each.is_waiting for each in self.workers))
        try:
            if self.coordination.watch():
                self._stop.set()
        except StorageError as error:
            self._error = self._error or error
