"""A crawl in PostgreSQL as one machine takes part in it: the processes that it starts there.

It begins the crawl, or goes on with one, or joins those who work on it already; starts its processes, and again those
that die; and tells how the whole crawl stands. Which process has which shard they settle among themselves (member.py).
"""

import math
import platform
import time
from asyncio import wrap_future
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.crawler import Crawler
from comity.crawler.finding import recrawl
from comity.crawler.progress.snapshot import ShardNow
from comity.crawler.run.checkpoint import Begun
from comity.crawler.run.limits import Spent
from comity.crawler.sharding.relay import ORDERS_REST
from comity.crawler.sharding.shards import CrawlManifest, checked, shards_for
from comity.crawler.workers.board import Row, urls_left
from comity.crawler.workers.jobs import Job, Word, is_same, name_of_process
from comity.crawler.workers.output_folder import check_free, cut_back, mark_of
from comity.crawler.workers.processes import COMMAND, Start, WorkerProcess, children
from comity.crawler.workers.shard import ShardEnd
from comity.crawler.workers.sharded import ShardedCrawl
from comity.crawler.workers.shared import STALLED, Settled, SharedCrawl, settled
from comity.crawler.workers.store import LONG, CrawlStore
from comity.crawler.workers.tables import check_server, make
from comity.errors import InvalidSetting, StorageError
from comity.frontier.postgresql.database import address
from comity.frontier.postgresql.view import ShardTables
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
        folder: of this machine; `workers` how many it has.
    """

    def __init__(self, tell: Callable[[str], None], folder: Path, workers: int) -> None:
        self._tell = tell
        self._folder = folder
        self._workers = workers
        self._machines = {platform.node()}  # that are known to have workers
        self._away: set[int] = set()  # processes that cannot reach the database
        self._in_vain = 0  # looks at which a worker had no place to run

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
        self._in_vain = self._in_vain + 1 if count else 0
        if self._in_vain == LOOKS_IN_VAIN:
            self._tell(f"{count} of {self._workers} workers wait until Ray has a processor free for them")


@dataclass(slots=True)
class _OrdersRead:
    """How far orders were read: the last of runs before, the last of all, and when one to end was."""

    before: int = 0
    last: int = 0
    ended_at: float = math.inf


class StoreCoordination:
    """See shared.Coordination. Made, the run has begun in the store. All here blocks but what SharedRun calls.

    Args:
        url: of the store, as typed.
        thread: in which this is made, and all that the database is asked.
        how: `begin`, `join`, `resume` or `refresh`.
        run: the one that was the last so far; None where there is none.
        workers: how many processes there are.
        on_word: told when the database is away, and there again; and where workers are.
    """

    go_on = "--join"

    def __init__(
        self,
        folder: Path,
        url: str,
        store: CrawlStore,
        settled: Settled,
        thread: Executor,
        *,
        how: str,
        run: Run | None,
        lease: float,
        workers: int,
        on_word: Callable[[str], None] | None,
    ) -> None:
        manifest, pages = settled.manifest, settled.settings.max_pages
        self.name = name_of_process("command")
        command = self.name, str(folder)
        ours = None if how == "begin" else mark_of(store)
        check_free(folder, ours)
        with store.open() as db:
            check_server(db, store.where, manifest.shards, workers)
            if how == "begin":
                make(db, store.where, manifest.shards, asdict(manifest), lease=lease, pages=pages, command=command)
        (ours or mark_of(store)).write(folder)
        if how == "refresh":
            manifest.refresh += 1
            save = partial(recrawl.begun, manifest.refresh)
            run = store.go_on(asdict(manifest), pages, after=run, command=command, forget=recrawl.FORGOTTEN, save=save)
        elif how == "resume":
            run = store.go_on(asdict(manifest), pages, after=run, command=command)
        crawl = store.crawl()
        cut_back(store, folder, manifest.sink)
        before = max((number for number, _ in store.orders()), default=0)
        self.now = {number: ShardNow(number) for number in range(manifest.shards)}
        self.limit_reached: str | None = None
        self.ended = False
        self._folder = folder
        self._url = url
        self._store = store
        self._settled = settled
        self._thread = thread
        self._run = run or crawl.run
        self._lease = crawl.lease
        self._told = _Told(on_word or (lambda text: None), folder, workers)
        self._names: set[str] = set()  # of all processes started
        self._dead: list[str] = []  # of them, those whose shards others may have, which the store does not know yet
        self._holders: dict[int, str] = {}  # of shards, as seen last
        self._looking: Future[None] | None = None
        self._orders = _OrdersRead(before, before)
        self._see(store.rows())
        self.earlier = sum(now.stats.pages for now in self.now.values())

    async def sum_up(self, ends: Mapping[int, ShardEnd], *, stopped: bool) -> tuple[int, int]:
        """As of Coordination, here and below."""
        return await wrap_future(self._thread.submit(self._sum_up))

    def _sum_up(self) -> tuple[int, int]:
        with suppress(Superseded):
            self._see_again()  # first: a connection that broke is made anew
        cut_back(self._store, self._folder, self._settled.manifest.sink, self._names)
        self._see(self._store.rows())
        ended, now = self._store.crawl().ended, self.now.values()
        self.ended = ended is not None and all(each.state == "ended" for each in now)
        self.limit_reached = None if ended in (None, recrawl.FINISHED) else ended
        if self.limit_reached is None and any(each.state == "pages" for each in now):
            kept = Spent(pages=sum(each.spent.pages for each in now))
            self.limit_reached = self._settled.settings.budget.used_up(kept, 0.0)
        with self._store.open() as db:
            (waiting,) = db.execute("SELECT coalesce(sum(unasked + queued), 0) FROM host").fetchone()
        left = urls_left(int(waiting), now, self._store.pending())
        return left, self._unasked() if self._settled.manifest.refresh else 0

    def _unasked(self) -> int:
        """Pages known from before the refresh under way that wait still."""
        last = {shard: fact["last"] for shard, fact in self._store.state("refresh").items()}
        with self._store.open(LONG) as db:
            return sum(ShardTables(db, self._store.where, shard).unasked(id_) for shard, id_ in last.items())

    def job(self, worker: WorkerProcess, job: Job) -> Job:
        self._names.add(job.name)
        manifest = replace(self._settled.manifest, crawl=self._run.crawl, run=self._run.number)
        return replace(job, manifest=manifest, store=self._url, lease=self._lease, orders=self._orders.before)

    def heard(self, worker: WorkerProcess, word: Word) -> None:
        match word:
            case ("word", text):
                self._told.in_reach(worker.number, text)
            case ("placed", machine):
                self._told.placed(machine)

    def shards_of(self, worker: WorkerProcess) -> Collection[int]:
        return [number for number, holder in self._holders.items() if is_same(holder, worker.name)]

    def died(self, worker: WorkerProcess) -> None:
        self._told.died(worker.number)
        if worker.process is not None and worker.process.is_child:  # else it may live on, until its leases are over
            self._dead.append(worker.name)

    def has_enough(self, *, stopping: bool) -> bool:
        return stopping or all(now.state == "ended" for now in self.now.values())

    def look(self, waiting: int) -> bool:
        if self._looking is None or self._looking.done():
            if self._looking is not None:
                self._looking.result()  # raises Superseded, and nothing else
            self._looking = self._thread.submit(self._see_again)
        self._told.waiting(waiting)
        return time.monotonic() >= self._orders.ended_at + ORDERS_REST  # the shards have read and written it down, too

    def _see_again(self) -> None:
        """See how all shards stand; while the database is away, what was seen last stays.

        Raises:
            Superseded
        """
        try:
            self._store.here(self._run, self.name, str(self._folder), works=False)
            while self._dead:
                self._store.gone(self._dead[0])
                self._dead.pop(0)
            self._see(self._store.rows())
            for number, order in self._store.orders(self._orders.last):
                self._orders.last = number
                if order.order == "end":
                    self._orders.ended_at = min(self._orders.ended_at, time.monotonic())
        except Superseded:
            raise
        except StorageError:
            pass

    def leave(self) -> None:
        """Take part no more."""
        self._store.gone(self.name, *self._dead)

    def _see(self, rows: list[Row]) -> None:
        for row in rows:
            self.now[row.number] = row.now
            if row.holder is not None:
                self._holders[row.number] = row.holder


@asynccontextmanager
async def coordinated(
    begin: Callable[[Executor], StoreCoordination], store: CrawlStore
) -> AsyncIterator[StoreCoordination]:
    """A block in which this machine takes part in a crawl in a store.

    Args:
        begin: makes the coordination, in the thread that it is given.
    """
    with closing(store), ThreadPoolExecutor(1, "comity-store") as thread:
        coordination = await wrap_future(thread.submit(begin, thread))
        try:
            yield coordination
        finally:
            with suppress(StorageError):
                await wrap_future(thread.submit(coordination.leave))


class DistributedCrawl(SharedCrawl):
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
        place, self.where = Path(folder), address(store)
        opened = CrawlStore(self.where)
        how = "join" if join else "refresh" if refresh else "resume" if resume else "begin"
        checked("workers", workers)
        try:
            str(place.absolute()).encode()
        except UnicodeEncodeError as error:
            raise InvalidSetting(
                "folder: its name or a parent's is not UTF-8, and the store must record it",
                hint="name another with -o",
            ) from error
        if not SHORTEST_LEASE <= lease <= LONGEST_LEASE:
            raise InvalidSetting(f"lease: {lease!r} is not a number of seconds from {SHORTEST_LEASE:g} to 600")
        run, before = None, None
        if how != "begin":
            with closing(opened):
                stored = opened.crawl()
            run, before = stored.run, CrawlManifest.read(stored.manifest, self.where)
            if join and (seeds or sink is not None or expander is not None):
                raise InvalidSetting("join: what is crawled, and how it is written, was settled when the crawl began")
        holds = settled(
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
        given: dict[str, Any] = {"how": how, "run": run, "lease": lease, "workers": workers, "on_word": on_word}
        begin = partial(coordinated, partial(StoreCoordination, place, store, opened, holds, **given), opened)
        super().__init__(place, holds, begin, client_settings, workers, start or children(command), stalled, on_begin)


def begun_in(store: str) -> Begun:
    """With what the crawl in a store was begun.

    Raises:
        StorageError: it cannot be reached, or there is none.
    """
    with closing(CrawlStore(address(store))) as opened:
        return Begun.of(CrawlManifest.read(opened.crawl().manifest, opened.where))


AnyCrawl = Crawler | ShardedCrawl | DistributedCrawl
"""What the command line runs."""
