"""A process that works some shards of a crawl in PostgreSQL, beside others that it knows by the store alone.

It takes shards that nobody has, up to its share, lets one go when it has more, and ends when all of the crawl has come
to its end. It reads and writes what all know (frontier/postgresql/crawl.py) five times a second. While the database is
not there it works on until its leases are over; then it asks for nothing until it has shards again.
"""

import asyncio
import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.placement import place_in
from comity.crawler.scheduler import Scheduler
from comity.crawler.shards import CrawlManifest
from comity.crawler.snapshot import ShardNow
from comity.crawler.workers.board import gives_back, is_needy, over, settings_of_shard, taken
from comity.crawler.workers.leased import LeasedShard, StoreClock, as_said, as_text, part_of
from comity.crawler.workers.lending import Lending
from comity.crawler.workers.rounds import RoundAnswer, RoundRequest, Rounds
from comity.crawler.workers.shard import ShardEnd
from comity.crawler.workers.worker import TICK, Word
from comity.errors import ComityError, StorageError
from comity.frontier.postgresql.crawl import CrawlStore, StoredCrawl
from comity.frontier.postgresql.database import Unreachable, address
from comity.frontier.postgresql.leases import LeaseKeeper, Leases
from comity.frontier.postgresql.queue import Displaced
from comity.frontier.values import Run
from comity.net import ClientSettings
from comity.policy import Policy

ACKNOWLEDGED_EVERY: Final = 2.0  # seconds
SAID_EVERY: Final = 1.0  # seconds: what only counts on is said no more often
LONGEST_PAUSE: Final = 2.0  # seconds between two tries to reach the database
STILL: Final = 30.0  # seconds that the loop may stand still before its shards are left to others
MOST_IN_VAIN: Final = 8  # times that a shard is begun, kept nothing, and ended because of the database
LONGEST_REST: Final = 10.0  # seconds between two such times


@dataclass(slots=True)
class _InVain:
    """Of a shard that ended because of the database.

    Attributes:
        progress: how far it had come when it ended last.
        times: that it has ended there.
        until: when it may be taken again.
    """

    progress: Any = None
    times: int = 0
    until: float = 0.0


@dataclass(frozen=True, slots=True)
class StoreJob:
    """What a process is to do with a crawl in PostgreSQL.

    Attributes:
        store: its address, as typed.
        folder: of this machine.
        name: of this process; no other has it.
        run: of the crawl, that it belongs to.
    """

    store: str
    folder: Path
    name: str
    run: Run
    manifest: CrawlManifest
    policy: Policy
    settings: CrawlSettings
    client_settings: ClientSettings

    def worker(self, say: Callable[..., None]) -> "Member":
        """What does it."""
        return Member(self, say)


def name_of_process(number: int | str) -> str:
    """A name for a process that this one starts, or for itself: the machine, and what no other process has."""
    return f"{socket.gethostname()}:{os.getpid()}:{number}:{time.time_ns()}"


def on_machine(name: str, machine: str) -> str:
    """The name of a process that runs on another machine than the one that starts it."""
    return f"{machine}:{name.partition(':')[2]}"


class Member:
    """One process of a crawl in PostgreSQL.

    Args:
        say: tells the process that started this one.
    """

    def __init__(self, job: StoreJob, say: Callable[..., None]) -> None:
        self._say = say
        self._job = job
        self._where = address(job.store)
        self._store = CrawlStore(self._where)
        self._thread = ThreadPoolExecutor(1, "comity-store")
        self._journal_writer = CrawlStore(self._where), ThreadPoolExecutor(1, "comity-journal")
        self._crawlers: dict[int, LeasedShard] = {}
        self._beside: list[Scheduler] = []  # of these shards
        self._running: dict[int, asyncio.Task[Any]] = {}
        self._said: dict[int, tuple[str, float]] = {}
        self._order = 0  # the last one read
        self._orders_so_far: list[str] = []
        self._given_back: list[tuple[int, int, int]] = []  # shard, token, pages it may keep from now on
        self._ends: list[ShardEnd] = []
        self._in_vain: dict[int, _InVain] = {}
        self._ending = self._stopping = False
        self._leaving: set[int] = set()  # shards that are let go
        self._acknowledge_at = 0.0
        self._beat_at = time.monotonic()
        self._wake = asyncio.Event()
        self._error: ComityError | None = None
        self._trouble: str | None = None
        self._most: int | None = job.settings.max_pages
        self._clock = StoreClock(time.time())
        self._leases: Leases
        self._lending: Lending
        self._rounds: Rounds

    async def run(self, listen: Callable[[Callable[[Word], None]], None]) -> None:
        """Work until the crawl is over, or this process is to stop.

        Raises:
            ComityError: what ended it.
        """
        loop = asyncio.get_running_loop()
        self._say("begun")
        listen(self._told)
        if (stored := await self._crawl()) is None:
            self._say("ended", [])
            return
        folder, run = self._job.folder, self._job.run
        self._leases = Leases(
            self._where,
            self._job.name,
            stored.lease,
            run=run,
            part=lambda shard, token: (str(folder.absolute()), part_of(shard, token)),
        )
        self._rounds = Rounds(self._store, self._leases, run, folder)
        self._lending = Lending(self._store, self._crawlers, self._in_thread, self._wake.set)

        def over(shard: int, token: int) -> None:  # in another thread: the loop may wait for the database just now
            crawler = self._crawlers.get(shard)
            if crawler is not None and crawler.token == token:
                crawler.abandon()
                loop.call_soon_threadsafe(self._lost, shard, token)

        keeper = LeaseKeeper(self._leases, self._where, over, self._works)
        keeper.start()
        beating = asyncio.ensure_future(self._beat())
        try:
            await self._run_rounds()
        finally:
            for task in self._running.values():
                _cancel(task)
            await asyncio.gather(*self._running.values(), return_exceptions=True)
            beating.cancel()
            keeper.close()
            with suppress(StorageError):
                await self._in_thread(self._leave)
            self._thread.shutdown(wait=False)
            self._journal_writer[1].shutdown(wait=False)
        if self._error is not None:
            raise self._error
        self._say("ended", self._ends)

    async def _crawl(self) -> StoredCrawl | None:
        """What holds for the crawl, once the database is there; None where this process is to stop before."""
        pause = TICK
        while not self._stopping:
            try:
                stored: StoredCrawl = await self._in_thread(self._store.crawl)
                self._clock = await self._in_thread(StoreClock.of, self._store)
            except Unreachable as error:
                self._in_reach(str(error))
                self._say("report", [])
                pause = min(2 * pause, LONGEST_PAUSE)
                await self._pause(pause)
            else:
                return stored
        return None

    async def _beat(self) -> None:
        while True:
            self._beat_at = time.monotonic()
            await asyncio.sleep(TICK)

    def _works(self) -> bool:
        """Whether the loop that all work is done on goes round: asked in another thread."""
        return time.monotonic() - self._beat_at < STILL

    async def _pause(self, seconds: float) -> None:
        """So long, or until something is to be seen to."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()

    async def _in_thread(self, work: Callable[..., Any], *values: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, partial(work, *values))

    def _leave(self) -> None:
        with self._store.open() as db:
            self._leases.leave(db)
        self._store.gone(self._job.name)
        self._store.close()

    # Rounds

    async def _run_rounds(self) -> None:
        pause = TICK
        while True:
            self._wake.clear()
            await self._collect_ended()
            if self._error is not None or (self._stopping and not self._running):
                return
            try:
                await self._lending.round(self._leases.tokens)
                look: RoundAnswer = await self._in_thread(self._rounds.round, self._order, self._asking())
                pause = TICK
                self._in_reach(None)
            except (Unreachable, Displaced) as error:
                self._in_reach(str(error))
                self._said.clear()
                for number in self._leases.tokens.keys() - self._running.keys():
                    self._leases.forget(number)  # taken, and then the connection broke: it is taken once more
                pause = min(2 * pause, LONGEST_PAUSE)
            else:
                self._apply_answer(look)
                if all(row.state == "ended" for row in look.rows):
                    return
            self._say("report", [self._now(crawler) for crawler in self._crawlers.values() if crawler.shard.has_begun])
            await self._pause(pause)
            await asyncio.sleep(TICK / 10)  # what comes at the same time comes along

    def _in_reach(self, trouble: str | None) -> None:
        """Tell who started this process when the database is away, and when it is back."""
        if (trouble is None) != (self._trouble is None):
            self._say("word", trouble or f"{self._where} is back")
        self._trouble = trouble

    def _now(self, crawler: LeasedShard) -> ShardNow:
        return crawler.shard.now(os.getpid())

    def _asking(self) -> RoundRequest:
        """What is to be asked and said, as of now."""
        now = time.monotonic()
        put_off = {number for number, vain in self._in_vain.items() if now < vain.until}
        asked = RoundRequest(take=not self._stopping, at_work=frozenset(self._running.keys() | put_off))
        for number, crawler in self._crawlers.items():
            if not crawler.shard.has_begun or not crawler.storage.is_ours():
                continue
            stands = self._now(crawler)
            text = as_text(stands)
            key = f"{stands.state} {stands.sent} {stands.taken} {stands.granted} {stands.kept}"
            said, at = self._said.get(number, ("", 0.0))
            if key != said or now - at > SAID_EVERY:
                self._said[number] = key, now
                asked.stands[number] = crawler.token, stands.state, text
            if self._most is not None and is_needy(stands, self._job.settings.concurrency):
                asked.needy.append((number, crawler.token))
            mailbox = crawler.shard.mailbox
            if mailbox.has_room:
                senders = range(self._job.manifest.shards)
                asked.after |= {(sender, number): mailbox.taken(sender) for sender in senders}
        asked.given_back, self._given_back = self._given_back, []
        if now >= self._acknowledge_at:
            self._acknowledge_at = now + ACKNOWLEDGED_EVERY
            asked.acknowledge = any(
                crawler.shard.has_begun and crawler.shard.mailbox.unacknowledged for crawler in self._crawlers.values()
            )
        return asked

    def _apply_answer(self, look: RoundAnswer) -> None:
        """Act on what the store said."""
        for number, text in look.orders:
            self._order = number
            self._orders_so_far.append(text)
            for crawler in self._crawlers.values():
                crawler.storage.orders.came(text)
        not_yet = set()  # senders and receivers: parcels are taken in their order
        for sender, parcel in look.parcels:
            taker = self._crawlers.get(parcel.shard)
            if taker is None or not taker.shard.has_begun or (sender, parcel.shard) in not_yet:
                continue
            if not taker.shard.mailbox.take_in(sender, parcel):
                not_yet.add((sender, parcel.shard))
        for (sender, receiver), number in look.delivered.items():
            if (teller := self._crawlers.get(sender)) is not None and teller.shard.has_begun:
                teller.shard.mailbox.delivered({receiver: number})
        for row in look.rows:
            ours = self._crawlers.get(row.number)
            if ours is not None and ours.token == row.token and row.granted is not None:
                ours.shard.control.grant(row.granted)
        if look.crawl.ended is not None and not self._ending:
            self._ending = True
            for crawler in self._crawlers.values():
                crawler.shard.control.end()
        if look.taken is not None:
            granted = next(row.granted for row in look.rows if row.number == look.taken[0])
            self._begin(*look.taken, granted)
            self._wake.set()
        elif not self._ending and not self._stopping:
            self._even_out(look)
        stands = {row.number: as_said(row) for row in look.rows}
        if self._most is not None and look.crawl.pool == 0:
            self._give_back(stands)
        if look.crawl.ended is None and (why := self._over(stands, look)) is not None:
            self._thread.submit(self._store.end, self._job.run, why)

    def _even_out(self, look: RoundAnswer) -> None:
        """Let a shard go, where others have fewer than their share and none is free."""
        if self._leaving or any(row.holder is None for row in look.rows):
            return
        share = len(look.rows) // max(look.members, 1)
        served = sum(number >= share for number in Counter(row.holder for row in look.rows).values())
        held = self._running.keys() & self._leases.tokens.keys()  # one that was lost is nobody's to let go
        if len(held) > share and served < look.members:
            number = max(held)
            self._leaving.add(number)
            self._crawlers[number].shard.control.stop()

    def _give_back(self, stands: Mapping[int, ShardNow]) -> None:
        """Where others need pages of the limit and none is left, give back what ours do not need."""
        if not any(now.state == "pages" for now in stands.values()):
            return
        for number, crawler in self._crawlers.items():
            if crawler.shard.has_begun and gives_back(self._now(crawler), self._job.settings.concurrency):
                self._given_back = [*self._given_back, (number, crawler.token, crawler.shard.give_back())]

    def _over(self, stands: Mapping[int, ShardNow], look: RoundAnswer) -> str | None:
        """Why all shards are to end."""
        granted = {} if self._most is None else {row.number: row.granted or 0 for row in look.rows}
        spent = taken(stands, max(now.seconds for now in stands.values()))
        return over(stands, self._job.settings, spent, granted, free=bool(look.crawl.pool))

    # Shards

    def _begin(self, number: int, token: int, granted: int | None) -> None:
        job, manifest = self._job, self._job.manifest
        crawler = LeasedShard(
            manifest.seeds,
            job.folder,
            place_in(replace(manifest, crawl=job.run.crawl, run=job.run.number), number),
            token,
            where=self._where,
            leases=self._leases,
            journal_writer=self._journal_writer,
            policy=job.policy,
            settings=settings_of_shard(job.settings, manifest.shards),
            client_settings=job.client_settings,
            clock=self._clock,
            sink=manifest.sink,
            expander=manifest.expander,
            beside=self._beside,
            on_sent=self._wake.set,
            borrow=partial(self._lending.borrow, number, token),
        )
        control = crawler.shard.control
        if self._most is not None:
            control.grant(granted or 0)
        for text in self._orders_so_far:
            crawler.storage.orders.came(text)
        if self._ending:
            control.end()
        if self._stopping:  # it was told so while the shard was being taken
            control.stop()
        self._crawlers[number] = crawler
        self._running[number] = asyncio.ensure_future(crawler.shard.run())
        self._running[number].add_done_callback(lambda _: self._wake.set())

    def _lost(self, number: int, token: int) -> None:
        """A lease is over: nothing of that shard goes on."""
        crawler = self._crawlers.get(number)
        if crawler is not None and crawler.token == token and not crawler.storage.is_ours():
            self._leases.forget(number)
            _cancel(self._running[number])
            self._wake.set()

    async def _collect_ended(self) -> None:
        """See to the shards that have come to their end, whatever it was."""
        for number, task in list(self._running.items()):
            if not task.done():
                continue
            crawler = self._crawlers.pop(number)
            del self._running[number]
            self._said.pop(number, None)
            self._leaving.discard(number)
            error = None if task.cancelled() else task.exception()
            if task.cancelled() or isinstance(error, Displaced | Unreachable):
                self._leases.forget(number)  # taken again, by whomever, as after a crash
                if isinstance(error, Unreachable):
                    self._in_reach(str(error))
                    self._broke_off(crawler, error)
            elif isinstance(error, ComityError):
                self._error = self._error or error
            elif error is not None:
                raise error
            else:
                end = crawler.shard.result(os.getpid())
                self._ends.append(end)
                over = self._ending and not crawler.shard.control.stopping
                try:
                    await self._in_thread(self._let_go, crawler, "ended" if over else "stopped")
                except StorageError as failure:
                    self._leases.forget(number)  # else it would be renewed, and nobody would work it
                    self._in_reach(str(failure))

    def _broke_off(self, crawler: LeasedShard, error: Unreachable) -> None:
        """A shard ended because of the database: it is taken again, but not for ever where nothing comes of it."""
        vain = self._in_vain.setdefault(crawler.number, _InVain())
        if crawler.progress is not None and crawler.progress != vain.progress:
            vain.progress, vain.times = crawler.progress, 0
        vain.times += 1
        vain.until = time.monotonic() + min(TICK * 2**vain.times, LONGEST_REST)
        if vain.times >= MOST_IN_VAIN:
            self._error = self._error or StorageError(
                f"shard {crawler.number} was begun {vain.times} times and kept nothing: {error}",
                hint="what was written is safe; fix that, then continue with --join",
            )

    def _let_go(self, crawler: LeasedShard, state: str) -> None:
        number = crawler.number
        self._store.say({number: (crawler.token, state, as_text(self._now(crawler)))})
        with self._store.open() as db:
            self._leases.release(db, [number], state)

    def _told(self, word: Word) -> None:
        match word:
            case ("picture", hosts, rules):
                pictures = {n: c.shard.crawler.snapshot(hosts=hosts, rules=rules) for n, c in self._crawlers.items()}
                self._say("pictures", pictures)
            case ("stop",) | ("end",):
                self._stopping = True
                for crawler in self._crawlers.values():
                    crawler.shard.control.stop()
                self._wake.set()


def _cancel(task: "asyncio.Task[Any]") -> None:
    """Cancel a crawl once: a second time would break off what it does to end."""
    if not task.cancelling():
        task.cancel()
