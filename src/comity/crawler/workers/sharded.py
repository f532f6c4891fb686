"""A crawl of several shards: the processes that work them, and what is said about all of them together.

It starts the workers, and again those that die; it grants them pages of the limit, ends them once all are at rest, and
adds up what they tell. It fetches nothing, and nothing that a shard finds passes through it. A shard goes to another
process only when the one that had it is known to be dead.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from comity import urls
from comity.crawler.checkpoint import Begun, settings_in_force, settings_to_dict
from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.limits import Spent
from comity.crawler.plugins import Plugins
from comity.crawler.recrawl import ENDED, FINISHED
from comity.crawler.shards import LOCK, CrawlManifest, checked, manifest_of, part, placed_by, run_in, shards_for
from comity.crawler.sinks.runner import named
from comity.crawler.stats import Stats
from comity.crawler.workers.board import Grants, over, spent_by, taken
from comity.crawler.workers.processes import LentTurns, Start, WorkerProcess, check_files, children
from comity.crawler.workers.status import remove_status, write_status
from comity.crawler.workers.supervisor import COMMAND, STALLED, Supervisor
from comity.crawler.workers.worker import Job, Word
from comity.crawler.written_crawl import displaced, written_crawl
from comity.errors import InvalidSetting, StorageError
from comity.frontier import Run, View
from comity.frontier.database import explained, lock
from comity.frontier.durable import make_folder
from comity.frontier.messages import pending
from comity.net import ClientSettings
from comity.policy import Policy
from comity.policy.policy import policy_to_dict


class ShardedCrawl(Supervisor):
    """One crawl of several shards, worked by several processes. It is used like a Crawler.

    Args:
        seeds, policy, settings, client_settings, refresh: as of Crawler.
        folder: where the manifest and the shards' folders lie.
        shards: how many; None for as many as there are, or where the crawl is new, two for each worker.
        workers: processes; there are no more than shards.
        sink, expander: a format's name, or a plug-in as `MODULE:NAME`.
        command: the program that is a worker, and its arguments; or `start`, what starts one in another way.
        stalled: seconds of silence after which a worker is killed and started again.

    Raises:
        InvalidURL, InvalidSetting
        StorageError: the folder cannot be used.
    """

    GO_ON = "--resume"

    def __init__(
        self,
        seeds: Sequence[str],
        folder: str | Path,
        *,
        shards: int | None = None,
        workers: int = 2,
        policy: Policy | None = None,
        settings: CrawlSettings | Mapping[str, Any] | None = None,
        client_settings: ClientSettings | None = None,
        sink: str | None = None,
        expander: str | None = None,
        refresh: bool = False,
        command: Sequence[str] = COMMAND,
        start: Start | None = None,
        stalled: float = STALLED,
        on_begin: Callable[[], None] | None = None,
    ) -> None:
        self.folder = Path(folder)
        before = manifest_of(self.folder)
        count = shards if before is None else before.shards
        self._manifest = before or CrawlManifest(checked("shards", count or shards_for(workers), least=2))
        if shards is not None and shards != self._manifest.shards:
            raise InvalidSetting(f"shards: the crawl in {folder} was begun with {count}, which cannot be changed")
        if sink is not None and before is not None and sink != before.sink:
            raise StorageError(
                f"{folder} holds a crawl written as {before.sink}, not as {sink}",
                hint=f"continue with {before.sink}, or choose another folder",
            )
        checked("workers", workers)
        begun = Begun() if before is None else Begun.of(before)
        self.policy = policy or begun.policy or Policy()
        self.settings = settings_in_force(settings, begun.settings, refresh=refresh)
        if self.settings.render:
            raise InvalidSetting("render: pages cannot be rendered over several shards", hint="crawl with --shards 1")
        self._manifest.by = placed_by(self.policy.pace_by)
        if before is not None and before.by != self._manifest.by:
            raise InvalidSetting("pace_by: it says what the shards' hosts are, so it stays what it was")
        given = [urls.normalise(seed) for seed in seeds]
        self._manifest.seeds = list(dict.fromkeys((*self._manifest.seeds, *given)))
        self._manifest.sink = sink or self._manifest.sink
        self._manifest.expander = expander or self._manifest.expander
        self._manifest.policy, self._manifest.settings = policy_to_dict(self.policy), settings_to_dict(self.settings)
        self._begins_refresh = refresh
        count = self._manifest.shards
        workers = min(workers, count)
        super().__init__(
            client_settings,
            [tuple(range(number, count, workers)) for number in range(workers)],
            start or children(command),
            stalled,
            on_begin,
        )
        self._grants: Grants | None = None
        self._ending = False
        self._turns = LentTurns(self._processes)
        self._seconds: dict[int, float] = {}  # of each shard when this run began

    @property
    def refreshes(self) -> bool:
        """Whether this is a refresh, or goes on with one."""
        return self._manifest.refresh > 0

    async def run(self) -> Stats:
        """Crawl until nothing is left in any shard, a limit is reached or `stop` was called.

        Raises:
            ComityError: what ended a shard for good; or a worker died again and again.
        """
        named(self._manifest.sink)  # what lacks is said before anything is written
        Plugins(None, self._manifest.expander)
        check_files(len(self._processes[0].shards), self._manifest.shards, self._connections)
        make_folder(self.folder)
        with explained(self.folder / LOCK):
            held = lock(self.folder / LOCK)
        with closing(held):
            self._begin()
            if self._on_begin is not None:
                self._on_begin()
            await self._work()
            if self._error is not None:
                raise self._error
            self._sum_up()
        return self.stats

    # Beginning and end

    def _begin(self) -> None:
        """Settle what holds for this run, and write it down before a worker is started."""
        manifest = self._manifest
        if (run_in(self.folder) or Run("", 0)) != Run(manifest.crawl, manifest.run):
            raise StorageError(f"{self.folder} was crawled by another command meanwhile", hint="run it again")
        if manifest.run:
            written = written_crawl(self.folder)
            for what in displaced(written):
                raise StorageError(f"{self.folder}: {what}", hint="put back what was written last, then run it again")
            manifest.records = list(written.records)
        manifest.crawl, manifest.run = manifest.crawl or secrets.token_hex(8), manifest.run + 1
        if self._begins_refresh:
            for number in range(manifest.shards):
                with View(self._database(number)) as view:
                    if view.load_state(ENDED) != FINISHED or manifest.ended != FINISHED:
                        raise StorageError(
                            f"the crawl in {self.folder} is not finished", hint="finish it first, with --resume"
                        )
            manifest.refresh += 1
            manifest.seconds = 0.0
        spent = {number: self._spent(number) for number in range(manifest.shards)}
        self._seconds = {number: each.seconds for number, each in spent.items()}
        manifest.seconds = max(manifest.seconds, *self._seconds.values())
        self._pace.earlier = sum(each.pages for each in spent.values())
        if (most := self.settings.max_pages) is not None:
            self._grants = Grants(most, {number: each.pages for number, each in spent.items()})
        manifest.ended = None
        manifest.write(self.folder)

    def _sum_up(self) -> None:
        self._manifest.seconds = self._taken().seconds
        self._now = {end.now.number: end.now for end in self._ends}
        untaken = pending({number: self._database(number) for number in self._now})
        self.end = self._ended(
            left=sum(each.end.left for each in self._ends) + sum(untaken.values()),
            unasked=sum(each.end.unasked for each in self._ends),
        )
        self._manifest.ended = "stopped" if self._stopping else FINISHED
        self._manifest.records = [self._now[number].records for number in range(self._manifest.shards)]
        self._manifest.write(self.folder)
        remove_status(self.folder, map(self._database, self._now))

    def _spent(self, number: int) -> Spent:
        """What a shard has taken of the limits; its worker, if it had one, is dead."""
        return spent_by(self._database(number), refresh=self._manifest.refresh)

    def _database(self, number: int) -> Path:
        return self.folder / part(number) / "frontier.sqlite"

    # Processes

    async def _start(self, worker: WorkerProcess) -> None:
        granted = None if self._grants is None else {s: self._grants.granted[s] for s in worker.shards}
        job = Job(
            self.folder,
            self._manifest,
            worker.shards,
            self.policy,
            replace(self.settings, concurrency=self._concurrency),
            replace(self._client_settings, connections=self._connections),
            granted,
        )
        await worker.start(job)

    def _on_word(self, worker: WorkerProcess, word: Word) -> None:
        super()._on_word(worker, word)
        match word:
            case ("begun",):
                if self._ending:
                    worker.say(("end",))
                self._turns.begun(worker)
            case ("report", stands):
                self._now.update({now.number: now for now in stands})
                self._wake.set()
            case ("mail", _):
                for other in self._processes:
                    if other is not worker:
                        other.say(word)
            case ("turn" | "lent" | "returned", *_):
                self._turns.pass_on(worker, word)
            case ("gave", number, granted) if self._grants is not None:
                self._grants.gave(number, granted)
            case ("ended", _):
                self._turns.ended(worker)

    def _kept_by(self, worker: WorkerProcess) -> int:
        return sum(self._spent(number).pages for number in worker.shards)  # it may have told of more

    def _worker_lost(self, worker: WorkerProcess) -> None:
        self._turns.died(worker)
        for number in worker.shards:
            self._now[number] = replace(self._now[number], state="down", until=0.0, spare=0)
            if self._grants is not None:
                self._grants.gave(number, self._spent(number).pages)

    # While it runs

    def _act_on_states(self) -> None:
        if self._ending:
            return
        if self._grants is not None:
            for number, word in self._grants.share_out(self._now, self.settings.concurrency):
                self._turns.tell(number, word)
        self._end_if_over()

    def _end_if_over(self) -> None:
        """End all shards where a limit is reached, or nothing is left in any of them and nothing between them."""
        grants = self._grants
        granted = {} if grants is None else grants.granted
        free = grants is not None and (grants.pool > 0 or bool(grants.asked_back))
        if (why := over(self._now, self.settings, self._taken(), granted, free=free)) is None:
            return
        self.end = replace(self.end, limit_reached=None if why == FINISHED else why)
        self._ending = True
        self._tell_begun(("end",))

    def _taken(self) -> Spent:
        """What was taken of the limits by all shards."""
        ran = max(max(now.seconds - self._seconds[number], 0.0) for number, now in self._now.items())
        return taken(self._now, self._manifest.seconds + ran)

    def _look(self) -> None:
        """Leave word of how the shards stand, for `comity frontier`."""
        write_status(self.folder, self._now.values())
