"""A crawl of several shards in a folder, worked by processes of this one: who has which shard is kept here, in memory.

Workers are granted pages of the limit, and are ended once all are at rest. Nothing that a shard finds passes through
here. A shard goes to another process only when the one that had it is known to be dead.
"""

import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.finding.recrawl import ENDED, FINISHED
from comity.crawler.places.orders import Orders
from comity.crawler.places.status import remove_status, write_status
from comity.crawler.places.written_crawl import displaced, written_crawl
from comity.crawler.progress.snapshot import ShardNow
from comity.crawler.run.limits import Spent
from comity.crawler.sharding.shards import checked, database_of, manifest_of, run_in, shards_for
from comity.crawler.workers.board import Board, RoundRequest, urls_left
from comity.crawler.workers.jobs import Job, Word
from comity.crawler.workers.processes import COMMAND, Start, WorkerProcess, check_files, children
from comity.crawler.workers.shard import ShardEnd
from comity.crawler.workers.shared import STALLED, Settled, SharedCrawl, settled
from comity.errors import StorageError
from comity.frontier import Run, State, View, has_begun
from comity.frontier.messages import pending
from comity.net import ClientSettings
from comity.policy import Policy


class FolderCoordination:
    """See shared.Coordination. Made, it has settled what holds for this run, and written that down.

    Args:
        workers: how many processes there are.
        refresh: whether the run begins a refresh.

    Raises:
        StorageError: another command was here meanwhile; or files are not those that were written last.
    """

    go_on = "--resume"

    def __init__(self, folder: Path, settled: Settled, workers: int, *, refresh: bool) -> None:
        manifest, settings = settled.manifest, settled.settings
        if (run_in(folder) or Run("", 0)) != Run(manifest.crawl, manifest.run):
            raise StorageError(f"{folder} was crawled by another command meanwhile", hint="run it again")
        if manifest.run:
            written = written_crawl(folder)
            for what in displaced(written):
                raise StorageError(f"{folder}: {what}", hint="put back what was written last, then run it again")
            manifest.records = list(written.records)
        manifest.crawl, manifest.run = manifest.crawl or secrets.token_hex(8), manifest.run + 1
        databases = {number: database_of(folder, number) for number in range(manifest.shards)}
        if refresh:
            for path in databases.values():
                with View(path) as view:
                    if view.load_state(ENDED) != FINISHED or manifest.ended != FINISHED:
                        raise StorageError(
                            f"the crawl in {folder} is not finished", hint="finish it first, with --resume"
                        )
            manifest.refresh += 1
            manifest.seconds = 0.0
        spent = {number: _spent(path, manifest.refresh) for number, path in databases.items()}
        manifest.seconds = max(manifest.seconds, *(each.seconds for each in spent.values()))
        manifest.ended = None
        manifest.write(folder)
        self.now = {number: ShardNow(number) for number in spent}
        self.earlier = sum(each.pages for each in spent.values())
        self.limit_reached: str | None = None
        self.ended = False
        self._folder = folder
        self._manifest = manifest
        self._databases = databases
        self._workers: dict[int, WorkerProcess] = {}
        self._board = Board(settings, workers, settings.max_pages, spent, manifest.seconds)
        self._orders = Orders(folder)

    async def sum_up(self, ends: Mapping[int, ShardEnd], *, stopped: bool) -> tuple[int, int]:
        manifest = self._manifest
        manifest.seconds = self._board.look().seconds
        self.now |= {number: end.now for number, end in ends.items()}
        begun = {number: path for number, path in self._databases.items() if has_begun(path)}
        waiting = 0
        for path in begun.values():
            with View(path) as view:
                counts = view.counts()
                waiting += counts[State.UNASKED] + counts[State.QUEUED]
        left = urls_left(waiting, self.now.values(), pending(begun))
        manifest.ended = "stopped" if stopped else FINISHED
        records = [self.now[number].records for number in range(manifest.shards)]
        manifest.records = [max(each) for each in zip_longest(manifest.records, records, fillvalue=0)]
        manifest.write(self._folder)
        remove_status(self._folder, begun.values())
        return left, sum(each.end.unasked for each in ends.values())

    def job(self, worker: WorkerProcess, job: Job) -> Job:
        self._workers[worker.number] = worker
        return replace(job, orders=self._orders.mark)

    def heard(self, worker: WorkerProcess, word: Word) -> None:
        match word:
            case ("round", asked):
                worker.say(("answer", self._board.round(worker.name, asked)))
                self._see(asked)
            case ("let go", number, token, state, now):
                self._board.let_go(worker.name, number, token, state, now)
                self._see_all()

    def shards_of(self, worker: WorkerProcess) -> Collection[int]:
        return [row.number for row in self._board.look().rows if row.holder == worker.name]

    def died(self, worker: WorkerProcess) -> None:
        self._board.gone(worker.name)
        self._see_all()

    def has_enough(self, *, stopping: bool) -> bool:
        return False

    def look(self, waiting: int) -> bool:
        write_status(self._folder, self.now.values())  # for `comity frontier`
        return any(order.order == "end" for order in self._orders.new())

    def _see(self, asked: RoundRequest) -> None:
        """See how shards stand, and have the workers know that have mail from them."""
        before = dict(self.now)
        self._see_all()
        receivers = {
            receiver
            for number in asked.stands
            for receiver, last in self.now[number].sent.items()
            if last > before[number].sent.get(receiver, 0)
        }
        told = self._board.who_has(receivers)
        for other in self._workers.values():
            if other.name in told:
                other.say(("news",))

    def _see_all(self) -> None:
        look = self._board.look()
        self.now = {row.number: row.now for row in look.rows}
        if look.ended not in (None, FINISHED):
            self.limit_reached = look.ended


def _spent(database: Path, refresh: int) -> Spent:
    """What a shard has taken of the limits of a crawl or refresh as it committed last; no process works it."""
    if (view := View.begun(database)) is None:
        return Spent()
    with view:
        refreshed, values = (view.load_state("refresh") or {"number": 0})["number"], view.load_state("spent")
    return Spent(*values) if values and refreshed == refresh else Spent()


class ShardedCrawl(SharedCrawl):
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
        place = Path(folder)
        holds = settled(
            manifest_of(place),
            seeds,
            shards=shards,
            fallback=shards_for(workers),
            policy=policy,
            settings=settings,
            sink=sink,
            expander=expander,
            refresh=refresh,
        )
        count = holds.manifest.shards
        workers = min(checked("workers", workers), count)

        def begin() -> AbstractAsyncContextManager[FolderCoordination]:
            return nullcontext(FolderCoordination(place, holds, workers, refresh=refresh))

        super().__init__(place, holds, begin, client_settings, workers, start or children(command), stalled, on_begin)
        check_files(-(-count // workers), count, self.connections)
