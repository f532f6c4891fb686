"""A worker: one process that has some shards of a crawl, and does with them what the process above it says.

It learns what other shards have for its own by reading their databases, and is only told when to look. It ends at once
when the process above is gone: then nobody says any more who has which shard.
"""

import asyncio
import os
import pickle
import struct
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.placement import place_in
from comity.crawler.scheduler import Scheduler
from comity.crawler.shards import CrawlManifest, part
from comity.crawler.workers.board import settings_of_shard
from comity.crawler.workers.shard import Shard
from comity.errors import ComityError
from comity.frontier import has_begun
from comity.frontier.messages import Neighbour
from comity.net import ClientSettings
from comity.net.needs import GiveBack
from comity.policy import Policy

TICK: Final = 0.2  # seconds between two reports
LOOK_EVERY: Final = 2.0  # seconds between two looks at all shards: one whose worker dies may have sent and not said so
AT_ONCE: Final = 16  # parcels read of one shard before another has its turn
_HEAD: Final = struct.Struct("!I")

Word = tuple[Any, ...]
"""What the processes say to each other: a name, and what belongs to it.

To a worker: `grant` {shard: pages}, `give back` shard, `mail` sender, `picture`, `stop`, `end`. From it: `begun`,
`report` [ShardNow], `gave` shard, pages; `mail` shard, `pictures` {shard: Snapshot}, `ended` [ShardEnd], `failed`
error. From one to another: `turn` key, shard, host, pace (see `Shard.lend`), answered by `lent` key, None or the
seconds for which it is not given; and `returned` key, good, retry_after once it is over. A worker is told `held` key,
shard, host, pace of what its predecessor has lent.
"""
_NEWEST: Final = frozenset(("report", "pictures"))
"""Words that say how things stand: what comes later makes the earlier one needless."""
LentKey = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker is to do.

    Attributes:
        shards: the numbers of those that it has.
        granted: pages that each may keep, over all runs; None without a limit.
    """

    folder: Path
    manifest: CrawlManifest
    shards: tuple[int, ...]
    policy: Policy
    settings: CrawlSettings
    client_settings: ClientSettings
    granted: Mapping[int, int] | None = None

    def worker(self, say: Callable[..., None]) -> "Worker":
        """What does it."""
        return Worker(self, say)


def pack(word: Any) -> bytes:
    """A word as it goes through a pipe between two processes of one crawl."""
    data = pickle.dumps(word)
    return _HEAD.pack(len(data)) + data


def read_word(file: BinaryIO) -> Any:
    """The next word of a pipe.

    Raises:
        EOFError: the other side is gone.
    """
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        raise EOFError
    (size,) = _HEAD.unpack(head)
    data = file.read(size)
    if len(data) < size:
        raise EOFError
    return pickle.loads(data)


class Pipe:
    """This process's end of the pipes to the one above, in the place of standard input and output.

    Nothing waits for the process above: it may be stopped, and its worker goes on. A thread says what there is; of what
    was not heard yet the newest report and picture take the place of older ones.
    """

    def __init__(self) -> None:
        self._in = os.fdopen(os.dup(0), "rb")
        self._out = os.fdopen(os.dup(1), "wb", buffering=0)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(2, 1)  # what a plug-in prints must not be taken for a word
        self._unsaid: dict[object, bytes] = {}  # by what it takes the place of
        self._changed = threading.Condition()
        threading.Thread(target=self._write, name="comity-pipe", daemon=True).start()

    def job(self) -> "AnyJob":
        job: AnyJob = read_word(self._in)
        return job

    def say(self, *word: Any) -> None:
        key = word[0] if word[0] in _NEWEST else word if word[0] == "mail" else object()
        with self._changed:
            self._unsaid.pop(key, None)
            self._unsaid[key] = pack(word)
            self._changed.notify_all()

    def close(self) -> None:
        """Come back once all is said."""
        with self._changed:
            while self._unsaid:
                self._changed.wait()

    def _write(self) -> None:
        while True:
            with self._changed:
                while not self._unsaid:
                    self._changed.wait()
                words = list(self._unsaid.items())
            for key, said in words:
                data = said
                try:
                    while data:
                        data = data[self._out.write(data) :]
                except OSError:
                    os._exit(1)
                with self._changed:
                    if self._unsaid.get(key) is said:
                        del self._unsaid[key]
                    self._changed.notify_all()

    def listen(self, on_word: Callable[[Word], None]) -> None:
        """Have each word heard on the loop that runs."""
        loop = asyncio.get_running_loop()

        def read() -> None:
            while True:
                try:
                    word = read_word(self._in)
                except (EOFError, OSError):
                    os._exit(1)  # whoever has our shards next finds them as after a crash
                try:
                    loop.call_soon_threadsafe(on_word, word)
                except RuntimeError:  # the loop has ended
                    return

        threading.Thread(target=read, daemon=True).start()


class MessageExchange:
    """Brings what other shards have for those of this process, and tells these what was taken of theirs."""

    def __init__(self, folder: Path, count: int, crawlers: Mapping[int, Shard]) -> None:
        self._folder = folder
        self._count = count
        self._crawlers = crawlers
        self._neighbours: dict[int, Neighbour] = {}
        self._to_look_at = set(range(count))  # shards that may have something for ours
        self._look_at = 0.0  # when all are looked at again, and asked what they have taken
        self._read = {
            sender: min(crawler.mailbox.taken(sender) for crawler in crawlers.values()) for sender in range(count)
        }  # the last parcel that none of ours needs any more

    def close(self) -> None:
        for neighbour in self._neighbours.values():
            neighbour.close()

    def sent(self, shard: int) -> None:
        """A shard has something for others."""
        self._to_look_at.add(shard)

    def carry(self) -> bool:
        """Hand over what there is; whether more is left than was read."""
        if in_full := time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + LOOK_EVERY
            self._to_look_at = set(range(self._count))
        for sender in sorted(self._to_look_at):
            if not all(crawler.mailbox.has_room for crawler in self._crawlers.values()):
                break
            self._to_look_at.discard(sender)
            if (neighbour := self._neighbour(sender)) is None:
                continue
            parcels = neighbour.parcels(self._crawlers, after=self._read[sender], most=AT_ONCE)
            for parcel in parcels:
                if not self._crawlers[parcel.shard].mailbox.take_in(sender, parcel):
                    self._to_look_at.add(sender)
                    break
                self._read[sender] = parcel.number
            if len(parcels) == AT_ONCE:
                self._to_look_at.add(sender)
        if in_full:
            self._acknowledge()
        return bool(self._to_look_at)

    def _acknowledge(self) -> None:
        sending = {number: crawler for number, crawler in self._crawlers.items() if crawler.mailbox.unacknowledged}
        if not sending:
            return
        for receiver in range(self._count):
            neighbour = self._neighbour(receiver)
            taken = {} if neighbour is None else neighbour.taken()
            for number, crawler in sending.items():
                if number in taken:
                    crawler.mailbox.delivered({receiver: taken[number]})

    def _neighbour(self, number: int) -> Neighbour | None:
        """A shard's database, once it is there."""
        if number not in self._neighbours:
            path = self._folder / part(number) / "frontier.sqlite"
            if not has_begun(path):
                return None
            self._neighbours[number] = Neighbour(path)
        return self._neighbours[number]


class Worker:
    """The shards of this process.

    Args:
        say: tells the process above.
    """

    def __init__(self, job: Job, say: Callable[..., None]) -> None:
        self._say = say
        self._job = job
        manifest = job.manifest
        beside: list[Scheduler] = []
        self._begun = {number: asyncio.Event() for number in job.shards}
        self._crawlers = {
            number: Shard(
                manifest.seeds,
                job.folder,
                place_in(manifest, number),
                policy=job.policy,
                settings=settings_of_shard(job.settings, manifest.shards),
                client_settings=job.client_settings,
                sink=manifest.sink,
                expander=manifest.expander,
                refresh=manifest.refresh,
                beside=beside,
                on_begin=self._begun[number].set,
                on_sent=partial(self._sent, number),
                borrow=self._borrow,
            )
            for number in job.shards
        }
        self._mail = asyncio.Event()
        self._exchange: MessageExchange | None = None  # made once all shards have begun
        self._asked = 0
        self._turns: dict[LentKey, asyncio.Future[float | None]] = {}  # of hosts of other shards
        self._lending: dict[LentKey, asyncio.Task[None]] = {}  # of ours, asked for
        self._lent: dict[LentKey, tuple[int, str]] = {}  # of ours

    async def run(self, listen: Callable[[Callable[[Word], None]], None]) -> None:
        """Work until all shards have come to their end.

        Raises:
            ComityError: what ended one of them.
        """
        crawlers = self._crawlers
        for number, crawler in crawlers.items():
            if self._job.granted is not None:
                crawler.control.grant(self._job.granted[number])
        running = [asyncio.ensure_future(crawler.run()) for crawler in crawlers.values()]
        try:
            await self._first(running, asyncio.gather(*(event.wait() for event in self._begun.values())))
            exchange = self._exchange = MessageExchange(self._job.folder, self._job.manifest.shards, crawlers)
            self._say("begun")
            listen(self._on_word)
            try:
                carrying = asyncio.ensure_future(self._carry_messages(exchange))
                await self._first([carrying], asyncio.gather(*running))
                carrying.cancel()
            finally:
                exchange.close()
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        self._say("ended", [crawler.result(os.getpid()) for crawler in crawlers.values()])

    async def _first(self, others: Iterable["asyncio.Task[Any]"], wanted: "asyncio.Future[Any]") -> None:
        """Wait for something, or the first error beside it."""
        try:
            waiting = {wanted, *others}
            while not wanted.done():
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
            wanted.result()
        finally:
            wanted.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody else looks at it
            wanted.cancel()

    async def _carry_messages(self, exchange: MessageExchange) -> None:
        while True:
            more = exchange.carry()
            self._say("report", [crawler.now(os.getpid()) for crawler in self._crawlers.values()])
            self._mail.clear()
            if more:
                await asyncio.sleep(TICK / 10)
                continue
            try:
                async with asyncio.timeout(TICK):
                    await self._mail.wait()
            except TimeoutError:
                continue
            busy = all(crawler.running.scheduler.tasks for crawler in self._crawlers.values())
            await asyncio.sleep(TICK if busy else TICK / 10)  # what is sent at the same time comes along

    def _borrow(self, shard: int, host: str, pace: str | None) -> tuple["asyncio.Future[float | None]", GiveBack]:
        """Ask for the turn of a host that another shard has, perhaps in another process."""
        self._asked += 1
        key = (self._job.shards[0], self._asked)
        turn = self._turns[key] = asyncio.get_running_loop().create_future()
        self._say("turn", key, shard, host, pace)

        def give_back(good: bool | None, retry_after: float | None) -> None:
            self._turns.pop(key, None)
            self._say("returned", key, good, retry_after)

        return turn, give_back

    async def _lend(self, key: LentKey, shard: int, host: str, pace: str | None) -> None:
        try:
            seconds = await self._crawlers[shard].lend(host, pace)
            if seconds is None:
                self._lent[key] = shard, host
            self._say("lent", key, seconds)
        finally:
            self._lending.pop(key, None)

    def _returned(self, key: LentKey, good: bool | None, retry_after: float | None) -> None:
        """A turn of ours is over, or not wanted any more."""
        if key in self._lent:
            shard, host = self._lent.pop(key)
            self._crawlers[shard].returned(host, good, retry_after)
        elif key in self._lending:
            self._lending.pop(key).cancel()

    def _sent(self, number: int) -> None:
        """One of ours has something for others."""
        if self._exchange is not None:
            self._exchange.sent(number)
        self._mail.set()
        self._say("mail", number)

    def _on_word(self, word: Word) -> None:
        crawlers = self._crawlers
        match word:
            case ("grant", granted):
                for number, pages in granted.items():
                    crawlers[number].control.grant(pages)
                self._mail.set()
            case ("give back", number):
                self._say("gave", number, crawlers[number].give_back())
            case ("mail", number):
                assert self._exchange is not None
                self._exchange.sent(number)
                self._mail.set()
            case ("turn", key, shard, host, pace) if key not in self._lending and key not in self._lent:
                self._lending[key] = asyncio.ensure_future(self._lend(key, shard, host, pace))
            case ("held", key, shard, host, pace) if key not in self._lent:
                crawlers[shard].has_lent(host, pace)
                self._lent[key] = shard, host
            case ("lent", key, seconds):
                if key in self._turns and not self._turns[key].done():
                    self._turns[key].set_result(seconds)
            case ("returned", key, good, retry_after):
                self._returned(key, good, retry_after)
            case ("picture", hosts, rules):
                pictures = {
                    number: each.crawler.snapshot(hosts=hosts, rules=rules) for number, each in crawlers.items()
                }
                self._say("pictures", pictures)
            case ("stop",):
                for crawler in crawlers.values():
                    crawler.control.stop()
            case ("end",):
                for crawler in crawlers.values():
                    crawler.control.end()


class AnyJob(Protocol):
    """What a process is to do: a Job, or a StoreJob."""

    def worker(self, say: Callable[..., None]) -> "AnyWorker": ...


class AnyWorker(Protocol):
    """What does a job."""

    async def run(self, listen: Callable[[Callable[[Word], None]], None]) -> None: ...


def serve(pipe: Pipe, job: AnyJob, loop_factory: Callable[[], asyncio.AbstractEventLoop] | None) -> int:
    """Do a job to its end; gives the exit code of this process."""
    try:
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            runner.run(job.worker(pipe.say).run(pipe.listen))
    except ComityError as error:
        pipe.say("failed", error)
        return 2
    finally:
        pipe.close()
    return 0
