"""A crawl in PostgreSQL as one machine takes part in it: the processes that it starts there.

It begins the crawl, or goes on with one, or joins those who work on it already; starts its processes, and again those
that die; and tells how the whole crawl stands. Which process has which shard they settle among themselves (member.py).
"""

import asyncio
import platform
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from comity import urls
from comity.crawler import recrawl
from comity.crawler.checkpoint import Begun, settings_in_force, settings_to_dict
from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.crawler import Crawler
from comity.crawler.limits import Spent
from comity.crawler.plugins import Plugins
from comity.crawler.shards import LOCK, CrawlManifest, checked, placed_by, shards_for
from comity.crawler.sinks.runner import DEFAULT, named
from comity.crawler.stats import Stats
from comity.crawler.workers.leased import as_said
from comity.crawler.workers.member import StoreJob, name_of_process
from comity.crawler.workers.output_folder import check_free, cut_back, mark_of
from comity.crawler.workers.processes import Start, WorkerProcess, children
from comity.crawler.workers.sharded import ShardedCrawl
from comity.crawler.workers.supervisor import COMMAND, STALLED, Supervisor
from comity.crawler.workers.worker import Word
from comity.errors import InvalidSetting, StorageError
from comity.frontier import database
from comity.frontier.durable import make_folder
from comity.frontier.postgresql.crawl import CrawlStore, Row
from comity.frontier.postgresql.database import address, make, see_that_it_will_do
from comity.frontier.values import Run, Superseded
from comity.net import ClientSettings
from comity.policy import Policy
from comity.policy.policy import policy_to_dict

LEASE: Final = 15.0  # seconds
SHORTEST_LEASE: Final = 1.0
LONGEST_LEASE: Final = 600.0
LOOKS_IN_VAIN: Final = 20  # at a worker that has no place to run, after which it is said


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
        self._begins = not join and not resume and not refresh
        self._begins_refresh = refresh
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
        given = [urls.normalise(seed) for seed in seeds]
        if self._begins:
            self.policy = policy or Policy()
            self.settings = settings_in_force(settings, {})
            count = checked("shards", shards or max(shards_for(workers), 2), least=2)
            self._manifest = CrawlManifest(count, placed_by(self.policy.pace_by), list(dict.fromkeys(given)))
            self._manifest.sink, self._manifest.expander = sink or DEFAULT, expander
        else:
            with closing(self._store):
                stored = self._store.crawl()
            self._run, self._manifest = stored.run, CrawlManifest.read(stored.manifest, self.where)
            if join and (given or sink is not None or expander is not None):
                raise InvalidSetting("join: what is crawled, and how it is written, was settled when the crawl began")
            if shards is not None and shards != self._manifest.shards:
                raise InvalidSetting(f"shards: the crawl was begun with {self._manifest.shards}, which stays so")
            if sink is not None and sink != self._manifest.sink:
                raise InvalidSetting(f"format: the crawl is written as {self._manifest.sink}")
            begun = Begun.of(self._manifest)
            self.policy = (begun.policy or Policy()) if join or policy is None else policy
            self.settings = settings_in_force(None if join else settings, begun.settings, refresh=refresh)
            self._manifest.seeds = list(dict.fromkeys((*self._manifest.seeds, *given)))
        if self.settings.render:
            raise InvalidSetting("render: pages cannot be rendered over several shards", hint="crawl without --store")
        if placed_by(self.policy.pace_by) != self._manifest.by:
            raise InvalidSetting("pace_by: it says what the shards' hosts are, so it stays what it was")
        self._manifest.policy, self._manifest.settings = policy_to_dict(self.policy), settings_to_dict(self.settings)
        self._join = join
        super().__init__(client_settings, [()] * workers, start or children(command), stalled, on_begin)
        self._on_word_of_store = on_word
        self._elsewhere: set[str] = set()  # machines that Ray placed workers on, but this one
        self._names: set[str] = set()  # of all processes started
        self._name = name_of_process("command")
        self._in_vain = 0  # looks at which a worker had no place to run
        self._away: set[int] = set()  # processes that cannot reach the database
        self._over = False
        self._in_thread: Callable[[Callable[[], None]], asyncio.Future[None]]  # all that the database is asked
        self._looking: asyncio.Future[None] | None = None

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called on this machine: others may go on."""
        return self._stopping and not self._over

    @property
    def refreshes(self) -> bool:
        """Whether this is a refresh, or goes on with one."""
        return self._manifest.refresh > 0

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
        ours = None if self._begins else mark_of(self._store)
        check_free(self.folder, ours)
        manifest, pages, command = asdict(self._manifest), self.settings.max_pages, (self._name, str(self.folder))
        with self._store.open() as db:
            see_that_it_will_do(db, self.where, shards, len(self._processes))
            if self._begins:
                make(db, self.where, shards, manifest, lease=self._lease, pages=pages, command=command)
        (ours or mark_of(self._store)).write(self.folder)
        if self._begins_refresh:
            self._manifest.refresh += 1
            save = partial(recrawl.begun, self._manifest.refresh)
            manifest = asdict(self._manifest)
            self._run = self._store.go_on(
                manifest, pages, after=self._run, command=command, forget=recrawl.FORGOTTEN, save=save
            )
        elif self._begins:
            self._run = self._store.crawl().run
        elif not self._join:
            self._run = self._store.go_on(manifest, pages, after=self._run, command=command)
        cut_back(self._store, self.folder, self._manifest.sink)
        self._see(self._store.rows())
        self._pace.earlier = self.stats.pages

    def _sum_up(self) -> None:
        self._see_again()  # first: a connection that broke is made anew
        cut_back(self._store, self.folder, self._manifest.sink, self._names)
        self._see(self._store.rows())
        ended = self._store.crawl().ended
        self._over = ended is not None and all(now.state == "ended" for now in self._now.values())
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
        return sum(now.kept for now in self._now.values())

    # Processes

    async def _start(self, worker: WorkerProcess) -> None:
        name = name_of_process(worker.number)
        self._names.add(name)
        job = StoreJob(
            self._url,
            self.folder,
            name,
            self._run,
            self._manifest,
            self.policy,
            replace(self.settings, concurrency=self._concurrency),
            replace(self._client_settings, connections=self._connections),
        )
        await worker.start(job)

    def _on_word(self, worker: WorkerProcess, word: Word) -> None:
        super()._on_word(worker, word)
        match word:
            case ("word", text):
                self._pass_on(worker.number, text)
            case ("placed", machine) if machine != platform.node() and machine not in self._elsewhere:
                self._elsewhere.add(machine)
                self._tell(f"a worker runs on {machine}: its part of the output is in {self.folder.absolute()} there")

    def _pass_on(self, number: int, text: str) -> None:
        """Tell once, whatever the number of processes, that the database is away, and that it is back."""
        before = bool(self._away)
        self._away ^= {number}
        if bool(self._away) != before:
            self._tell(text if not self._away else f"{text}; no requests until it is back")

    def _tell(self, text: str) -> None:
        if self._on_word_of_store is not None:
            self._on_word_of_store(text)

    def _has_enough(self) -> bool:
        return self._stopping or all(now.state == "ended" for now in self._now.values())

    def _kept_by(self, worker: WorkerProcess) -> int:
        return self.stats.pages  # which shards it had is not known here

    def _worker_lost(self, worker: WorkerProcess) -> None:
        self._away.discard(worker.number)

    def _look(self) -> None:
        if self._looking is None or self._looking.done():
            self._looking = self._in_thread(self._see_again)
        waiting = sum(each.process is not None and not each.process.is_placed for each in self._processes)
        self._in_vain = self._in_vain + 1 if waiting else 0
        if self._in_vain == LOOKS_IN_VAIN:
            self._tell(f"{waiting} of {len(self._processes)} workers wait until Ray has a processor free for them")

    def _see_again(self) -> None:
        """See how all shards stand; while the database is away, what was seen last stays."""
        try:
            self._store.here(self._run, self._name, str(self.folder), works=False)
            self._see(self._store.rows())
        except Superseded as error:
            self._error = self._error or error
        except StorageError:
            pass

    def _see(self, rows: list[Row]) -> None:
        for row in rows:
            self._now[row.number] = as_said(row)


def begun_in(store: str) -> Begun:
    """With what the crawl in a store was begun.

    Raises:
        StorageError: it cannot be reached, or there is none.
    """
    with closing(CrawlStore(address(store))) as opened:
        return Begun.of(CrawlManifest.read(opened.crawl().manifest, opened.where))


AnyCrawl = Crawler | ShardedCrawl | JoinedCrawl
"""What the command line runs."""
