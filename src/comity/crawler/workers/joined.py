"""A crawl in PostgreSQL as one machine takes part in it: the processes that it starts there.

It begins the crawl, or goes on with one, or joins those who work on it already; starts its processes, and again those
that die; and tells how the whole crawl stands. Which process has which shard they settle among themselves (member.py).
"""

import asyncio
import math
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.crawler import Crawler
from comity.crawler.finding import recrawl
from comity.crawler.plugins import Plugins
from comity.crawler.progress.stats import Stats
from comity.crawler.run.checkpoint import Begun
from comity.crawler.run.limits import Spent
from comity.crawler.sharding.relay import ORDERS_REST
from comity.crawler.sharding.shards import LOCK, CrawlManifest, checked, shards_for
from comity.crawler.sinks.runner import named
from comity.crawler.workers.board import Row
from comity.crawler.workers.jobs import Job, Word, name_of_process
from comity.crawler.workers.output_folder import check_free, cut_back, mark_of
from comity.crawler.workers.processes import Start, WorkerProcess, children
from comity.crawler.workers.sharded import ShardedCrawl
from comity.crawler.workers.store import CrawlStore
from comity.crawler.workers.supervisor import COMMAND, STALLED, Supervisor, settled
from comity.errors import InvalidSetting, StorageError
from comity.frontier import database
from comity.frontier.durable import make_folder
from comity.frontier.postgresql.database import address, make, see_that_it_will_do
from comity.frontier.values import Run, Superseded
from comity.net import ClientSettings
from comity.policy import Policy

LEASE: Final = 15.0  # seconds
SHORTEST_LEASE: Final = 1.0
LONGEST_LEASE: Final = 600.0
LOOKS_IN_VAIN: Final = 20  # at a worker that has no place to run, after which it is said


class _Told:
    """What is told of the store and of where workers run, each thing once.

    Args:
        tell: told of it.
        folder: of this machine.
    """

    def __init__(self, tell: Callable[[str], None], folder: Path) -> None:
        self._tell = tell
        self._folder = folder
        self._machines = {platform.node()}  # that are known to have workers
        self._away: set[int] = set()  # processes that cannot reach the database
        self._in_vain = 0  # looks at which a worker had no place to run

    def in_reach(self, number: int, text: str) -> None:
        """A process says that the database is away, or that it is back; others may say the same."""
        before = bool(self._away)
        self._away ^= {number}
        if bool(self._away) != before:
            self._tell(text if not self._away else f"{text}; no requests until it is back")

    def lost(self, number: int) -> None:
        """A process died."""
        self._away.discard(number)

    def placed(self, machine: str) -> None:
        """A worker runs on a machine."""
        if machine not in self._machines:
            self._machines.add(machine)
            where = self._folder.absolute()
            self._tell(f"a worker runs on {machine}: its part of the output is in {where} there")

    def waiting(self, count: int, workers: int) -> None:
        """So many of the workers have no place to run."""
        self._in_vain = self._in_vain + 1 if count else 0
        if self._in_vain == LOOKS_IN_VAIN:
            self._tell(f"{count} of {workers} workers wait until Ray has a processor free for them")


@dataclass(slots=True)
class _OrdersRead:
    """How far orders were read: the last of runs before, the last of all, and when one to end was."""

    before: int = 0
    last: int = 0
    ended_at: float = math.inf


class JoinedCrawl(Supervisor):
    """This machine's part in a crawl that lies in PostgreSQL. It is used like a Crawler.

    Args:
        store: `postgresql://user@host/database`, with `?crawl=NAME` where it holds several.
        folder: of this machine: its parts of the output and of the ledger lie there.
        join: whether to take part in a crawl that others work on; its settings hold.
        resume: whether to go on with one that nobody works on, with these settings.
        refresh: whether to crawl what a finished one covers again: see Crawler.
        lease: seconds after which a process that is not heard of has lost its shards; settled when the crawl begins.
        start: what starts workers in another way than as children of this process.
        on_word: told when the database is away, and there again; and where workers are.
        Others as of ShardedCrawl.

    Raises:
        InvalidURL, InvalidSetting
        StorageError: the store cannot be reached, or holds no crawl, or one that this is not about.
    """

    GO_ON = "--join"

    def __init__(
        self,
        seeds: Sequence[str],
        folder: str | Path,
        store: str,
        *,
        join: bool = False,
        resume: bool = False,
        refresh: bool = False,
        shards: int | None = None,
        workers: int = 1,
        policy: Policy | None = None,
        settings: CrawlSettings | Mapping[str, Any] | None = None,
        client_settings: ClientSettings | None = None,
        sink: str | None = None,
        expander: str | None = None,
        lease: float = LEASE,
        command: Sequence[str] = COMMAND,
        start: Start | None = None,
        stalled: float = STALLED,
        on_begin: Callable[[], None] | None = None,
        on_word: Callable[[str], None] | None = None,
    ) -> None:
        self.folder = Path(folder)
        self.where = address(store)
        self._url = store
        self._store = CrawlStore(self.where)
        self._run: Run  # known once there is a crawl
        self._how = "join" if join else "refresh" if refresh else "resume" if resume else "begin"
        checked("workers", workers)
        try:
            str(self.folder.absolute()).encode()
        except UnicodeEncodeError as error:
            raise InvalidSetting(
                "folder: its name or a parent's is not UTF-8, and the store must record it",
                hint="name another with -o",
            ) from error
        if not SHORTEST_LEASE <= lease <= LONGEST_LEASE:
            raise InvalidSetting(f"lease: {lease!r} is not a number of seconds from {SHORTEST_LEASE:g} to 600")
        self._lease = lease
        before = None
        if self._how != "begin":
            with closing(self._store):
                stored = self._store.crawl()
            self._run, before = stored.run, CrawlManifest.read(stored.manifest, self.where)
            if join and (seeds or sink is not None or expander is not None):
                raise InvalidSetting("join: what is crawled, and how it is written, was settled when the crawl began")
        self._manifest, self.policy, self.settings = settled(
            before,
            seeds,
            shards=shards,
            fallback=max(shards_for(workers), 2),
            policy=None if join else policy,
            settings=None if join else settings,
            sink=sink,
            expander=expander,
            refresh=refresh,
        )
        super().__init__(client_settings, workers, start or children(command), stalled, on_begin)
        self._told = _Told(on_word or (lambda text: None), self.folder)
        self._names: set[str] = set()  # of all processes started
        self._name = name_of_process("command")
        self._in_thread: Callable[[Callable[[], None]], asyncio.Future[None]]  # all that the database is asked
        self._looking: asyncio.Future[None] | None = None
        self._orders = _OrdersRead()

    async def run(self) -> Stats:
        """Take part until the crawl is over, or `stop` was called.

        Raises:
            ComityError: what ended a process for good; or one died again and again.
        """
        named(self._manifest.sink)
        Plugins(None, self._manifest.expander)
        make_folder(self.folder)
        with (
            database.explained(self.folder / LOCK),
            closing(database.lock(self.folder / LOCK)),
            closing(self._store),
            ThreadPoolExecutor(1, "comity-store") as thread,
        ):
            self._in_thread = partial(asyncio.get_running_loop().run_in_executor, thread)
            await self._in_thread(self._begin)
            try:
                if self._on_begin is not None:
                    self._on_begin()
                if any(now.state != "ended" for now in self._now.values()):  # else what lies here is tidied up
                    await self._work()
                if self._error is not None:
                    raise self._error
                await self._in_thread(self._sum_up)
            finally:
                with suppress(StorageError):
                    await self._in_thread(partial(self._store.gone, self._name))
        return self.stats

    def _begin(self) -> None:
        shards = self._manifest.shards
        ours = None if self._how == "begin" else mark_of(self._store)
        check_free(self.folder, ours)
        manifest, pages, command = asdict(self._manifest), self.settings.max_pages, (self._name, str(self.folder))
        with self._store.open() as db:
            see_that_it_will_do(db, self.where, shards, len(self._processes))
            if self._how == "begin":
                make(db, self.where, shards, manifest, lease=self._lease, pages=pages, command=command)
        (ours or mark_of(self._store)).write(self.folder)
        if self._how == "refresh":
            self._manifest.refresh += 1
            save = partial(recrawl.begun, self._manifest.refresh)
            manifest = asdict(self._manifest)
            self._run = self._store.go_on(
                manifest, pages, after=self._run, command=command, forget=recrawl.FORGOTTEN, save=save
            )
        elif self._how == "begin":
            self._run = self._store.crawl().run
        elif self._how == "resume":
            self._run = self._store.go_on(manifest, pages, after=self._run, command=command)
        cut_back(self._store, self.folder, self._manifest.sink)
        self._orders.before = self._orders.last = max((number for number, _ in self._store.orders()), default=0)
        self._see(self._store.rows())
        self._pace.earlier = self.stats.pages

    def _sum_up(self) -> None:
        self._see_again()  # first: a connection that broke is made anew
        cut_back(self._store, self.folder, self._manifest.sink, self._names)
        self._see(self._store.rows())
        ended = self._store.crawl().ended
        if ended is not None and all(now.state == "ended" for now in self._now.values()):
            self._stopping = False  # it is over, whoever called `stop`
        limit = None if ended in (None, recrawl.FINISHED) else ended
        if limit is None and any(now.state == "pages" for now in self._now.values()):
            limit = self.settings.budget.used_up(Spent(pages=self._kept()), 0.0)
        self.end = replace(self.end, limit_reached=limit)
        with self._store.open() as db:
            (waiting,) = db.execute("SELECT coalesce(sum(unasked + queued), 0) FROM host").fetchone()
        self.end = self._ended(
            left=max(int(waiting) - self.stats.postponed, 0) + sum(self._store.pending().values()),
            unasked=self._store.unasked() if self.refreshes else 0,
        )

    def _kept(self) -> int:
        return sum(now.spent.pages for now in self._now.values())

    # Processes

    def _job(self, worker: WorkerProcess) -> Job:
        manifest = replace(self._manifest, crawl=self._run.crawl, run=self._run.number)
        job = self._job_of(worker, manifest, self._orders.before, self._url)
        self._names.add(job.name)
        return job

    def _on_word(self, worker: WorkerProcess, word: Word) -> None:
        super()._on_word(worker, word)
        match word:
            case ("word", text):
                self._told.in_reach(worker.number, text)
            case ("placed", machine):
                self._told.placed(machine)

    def _has_enough(self) -> bool:
        return self._stopping or all(now.state == "ended" for now in self._now.values())

    def _worker_lost(self, worker: WorkerProcess) -> None:
        self._told.lost(worker.number)

    def _look(self) -> None:
        if self._looking is None or self._looking.done():
            self._looking = self._in_thread(self._see_again)
        if time.monotonic() >= self._orders.ended_at + ORDERS_REST:  # the shards have read it, too, and written it down
            self.stop()
        self._told.waiting(sum(each.is_waiting for each in self._processes), len(self._processes))

    def _see_again(self) -> None:
        """See how all shards stand; while the database is away, what was seen last stays."""
        try:
            self._store.here(self._run, self._name, str(self.folder), works=False)
            self._see(self._store.rows())
            for number, order in self._store.orders(self._orders.last):
                self._orders.last = number
                if order.order == "end":
                    self._orders.ended_at = min(self._orders.ended_at, time.monotonic())
        except Superseded as error:
            self._error = self._error or error
        except StorageError:
            pass

    def _see(self, rows: list[Row]) -> None:
        for row in rows:
            self._now[row.number] = row.now


def begun_in(store: str) -> Begun:
    """With what the crawl in a store was begun.

    Raises:
        StorageError: it cannot be reached, or there is none.
    """
    with closing(CrawlStore(address(store))) as opened:
        return Begun.of(CrawlManifest.read(opened.crawl().manifest, opened.where))


AnyCrawl = Crawler | ShardedCrawl | JoinedCrawl
"""What the command line runs."""
