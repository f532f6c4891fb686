"""A crawl of several shards: the processes that work them, and what is said about all of them together.

It starts the workers, and again those that die; it grants them pages of the limit, ends them once all are at rest, and
adds up what they tell. It fetches nothing, and nothing that a shard finds passes through it. A shard goes to another
process only when the one that had it is known to be dead.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.finding.recrawl import ENDED, FINISHED
from comity.crawler.places.orders import Orders
from comity.crawler.places.status import remove_status, write_status
from comity.crawler.places.written_crawl import displaced, written_crawl
from comity.crawler.plugins import Plugins
from comity.crawler.progress.stats import Stats
from comity.crawler.run.limits import Spent
from comity.crawler.sharding.shards import LOCK, checked, manifest_of, part, run_in, shards_for
from comity.crawler.sinks.runner import named
from comity.crawler.workers.board import Board, RoundRequest
from comity.crawler.workers.jobs import Job, Word
from comity.crawler.workers.processes import Start, WorkerProcess, check_files, children
from comity.crawler.workers.supervisor import COMMAND, STALLED, Supervisor, settled
from comity.errors import StorageError
from comity.frontier import Run, State, View, has_begun
from comity.frontier.database import explained, lock
from comity.frontier.durable import make_folder
from comity.frontier.messages import pending
from comity.net import ClientSettings
from comity.policy import Policy


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
        self._manifest, self.policy, self.settings = settled(
            before,
            seeds,
            shards=shards,
            fallback=shards_for(workers),
            policy=policy,
            settings=settings,
            sink=sink,
            expander=expander,
            refresh=refresh,
        )
        checked("workers", workers)
        self._begins_refresh = refresh
        workers = min(workers, self._manifest.shards)
        super().__init__(client_settings, workers, start or children(command), stalled, on_begin)
        self._board = self._new_board({number: Spent() for number in range(self._manifest.shards)})
        self._orders = Orders(self.folder)

    async def run(self) -> Stats:
        """Crawl until nothing is left in any shard, a limit is reached or `stop` was called.

        Raises:
            ComityError: what ended a shard for good; or a worker died again and again.
        """
        named(self._manifest.sink)  # what lacks is said before anything is written
        Plugins(None, self._manifest.expander)
        count = self._manifest.shards
        check_files(-(-count // len(self._processes)), count, self._connections)
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
        manifest.seconds = max(manifest.seconds, *(each.seconds for each in spent.values()))
        self._pace.earlier = sum(each.pages for each in spent.values())
        self._board = self._new_board(spent)
        manifest.ended = None
        manifest.write(self.folder)

    def _sum_up(self) -> None:
        self._manifest.seconds = self._board.look().seconds
        self._now |= {number: end.now for number, end in self._ends.items()}
        begun = {number: path for number in self._now if has_begun(path := self._database(number))}
        waiting = 0
        for path in begun.values():
            with View(path) as view:
                counts = view.counts()
                waiting += counts[State.UNASKED] + counts[State.QUEUED]
        self.end = self._ended(
            left=max(waiting - self.stats.postponed, 0) + sum(pending(begun).values()),
            unasked=sum(each.end.unasked for each in self._ends.values()),
        )
        self._manifest.ended = "stopped" if self._stopping else FINISHED
        records = [self._now[number].records for number in range(self._manifest.shards)]
        self._manifest.records = [max(each) for each in zip_longest(self._manifest.records, records, fillvalue=0)]
        self._manifest.write(self.folder)
        remove_status(self.folder, begun.values())

    def _new_board(self, spent: Mapping[int, Spent]) -> Board:
        settings, seconds = self.settings, self._manifest.seconds
        return Board(settings, len(self._processes), settings.max_pages, spent, seconds)

    def _spent(self, number: int) -> Spent:
        """What a shard has taken of the limits as it committed last; no process works it."""
        if (view := View.begun(self._database(number))) is None:
            return Spent()
        with view:
            refreshed, values = (view.load_state("refresh") or {"number": 0})["number"], view.load_state("spent")
        return Spent(*values) if values and refreshed == self._manifest.refresh else Spent()

    def _database(self, number: int) -> Path:
        return self.folder / part(number) / "frontier.sqlite"

    # Processes

    def _job(self, worker: WorkerProcess) -> Job:
        return self._job_of(worker, self._manifest, self._orders.mark)

    def _on_word(self, worker: WorkerProcess, word: Word) -> None:
        super()._on_word(worker, word)
        match word:
            case ("round", asked):
                worker.say(("answer", self._board.round(worker.name, asked)))
                self._see(asked)
            case ("let go", number, token, state, now):
                self._board.let_go(worker.name, number, token, state, now)
                self._see_all()

    def _see(self, asked: RoundRequest) -> None:
        """See how shards stand, and have the workers know that have mail from them."""
        before = dict(self._now)
        self._see_all()
        receivers = {
            receiver
            for number in asked.stands
            for receiver, last in self._now[number].sent.items()
            if last > before[number].sent.get(receiver, 0)
        }
        told = self._board.who_has(receivers)
        for other in self._processes:
            if other.name in told:
                other.say(("news",))

    def _see_all(self) -> None:
        look = self._board.look()
        self._now = {row.number: row.now for row in look.rows}
        if look.ended not in (None, FINISHED):
            self.end = replace(self.end, limit_reached=look.ended)

    def _worker_lost(self, worker: WorkerProcess) -> None:
        self._board.gone(worker.name)
        self._see_all()

    def _look(self) -> None:
        """Leave word of how the shards stand, for `comity frontier`; see whether the crawl is ordered to end."""
        write_status(self.folder, self._now.values())
        try:
            if any(order.order == "end" for order in self._orders.new()):
                self.stop()
        except StorageError as error:
            self._error = self._error or error
