"""A worker: one process that works some shards of a crawl, beside others that it knows by the board alone.

It takes shards that nobody has, up to its share, lets one go when it has more, and ends when all of the crawl has come
to its end. A few times a second it says how its shards stand, and is answered (board.py). While the board is not there
it works on as long as its shards are its own; then it asks for nothing until it has shards again.
"""

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol

from comity.crawler.cluster.in_folder import ShardsInFolder
from comity.crawler.cluster.in_store import ShardsInStore
from comity.crawler.cluster.jobs import Job, Listen, Send, Watched, WorkerMessage
from comity.crawler.cluster.shard import Shard
from comity.crawler.observe.snapshot import ShardState
from comity.crawler.run.scheduler import Scheduler
from comity.crawler.storage.board import Heartbeat, HeartbeatReply, needs_quota, releases_quota
from comity.crawler.storage.crawl import RunStorage
from comity.errors import ComityError, StorageError
from comity.frontier.messages import MailboxReader
from comity.frontier.values import LeaseLost, Unreachable

ROUND_SECONDS: Final = 0.2  # seconds between two rounds
MAX_RETRY_SECONDS: Final = 2.0  # seconds between two tries to reach the board
MAX_STALLED_SECONDS: Final = 30.0  # seconds that the loop may stand still before its shards are left to others
MAX_FRUITLESS_STARTS: Final = 8  # times that a shard is begun, kept nothing, and ended because of the store
MAX_RESTART_SECONDS: Final = 10.0  # seconds between two such times


class Shards(Protocol):
    """Where the shards of a worker lie, and the board that says which are its own. A StorageError, by every method:
    Unreachable where it is not there now."""

    @property
    def where(self) -> str:
        """For people."""

    @property
    def post(self) -> MailboxReader:
        """What the shards of the crawl have sent to ours."""

    async def round(self, asked: Heartbeat) -> HeartbeatReply:
        """Say and ask; LeaseLost where a shard is not ours any more."""

    def storage(self, number: int, token: int) -> RunStorage:
        """What a shard that was taken keeps, for who runs it."""

    def forget(self, number: int) -> None:
        """A shard is ours no more: it is taken again, by whomever, as after a crash."""

    async def release(self, shard: Shard, state: ShardState) -> None:
        """We have done with a shard."""

    def received(self, message: WorkerMessage) -> None:
        """The process that started this one said something."""

    async def close(self) -> None: ...


@dataclass(slots=True)
class _FailedStarts:
    """Of a shard that ended because of the store: how far it had come then, how often that was, when it may be taken
    again."""

    progress: Any = None
    times: int = 0
    until: float = 0.0


@dataclass(slots=True)
class _Held:
    """A shard that is being worked."""

    shard: Shard
    task: "asyncio.Task[Any]"
    leaving: bool = False

    def cancel(self) -> None:
        """Break off once: a second time would break off what it does to end."""
        if not self.task.cancelling():
            self.task.cancel()


def worker_of(job: Job, send: Send) -> "Member":
    """What does a job."""
    return Member(job, send, partial(ShardsInFolder, job, send) if job.store is None else partial(ShardsInStore, job))


class Member:
    """One worker. `send` tells the process that started this one; `shards` makes what knows where its shards lie."""

    def __init__(self, job: Job, send: Send, shards: Callable[[Watched], Shards]) -> None:
        self._job = job
        self._send = send
        self._held: dict[int, _Held] = {}
        self._siblings: list[Scheduler] = []  # of these shards
        self._given_back: list[tuple[int, int, int]] = []
        self._failed_starts: dict[int, _FailedStarts] = {}
        self._ending = self._stopping = False
        self._beat_at = time.monotonic()
        self._wake = asyncio.Event()
        self.wake = self._wake.set
        self._error: ComityError | None = None
        self._trouble: str | None = None
        self._shards = shards(self)

    async def run(self, listen: Listen) -> None:
        """Work until the crawl is over, or this process is to stop; a ComityError says what ended it."""
        self._send("begun")
        listen(self._received)
        beating = asyncio.ensure_future(self._beat())
        try:
            await self._run_rounds()
        finally:
            for held in self._held.values():
                held.cancel()
            await asyncio.gather(*(held.task for held in self._held.values()), return_exceptions=True)
            beating.cancel()
            await self._shards.close()
        if self._error is not None:
            raise self._error
        self._send("ended")

    async def _beat(self) -> None:
        while True:
            self._beat_at = time.monotonic()
            for number, held in self._held.items():
                if not held.shard.is_ours() and not held.task.done():
                    self._shards.forget(number)
                    held.cancel()
            await asyncio.sleep(ROUND_SECONDS)

    def works(self) -> bool:
        return time.monotonic() - self._beat_at < MAX_STALLED_SECONDS

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()

    # Rounds

    async def _run_rounds(self) -> None:
        pause = ROUND_SECONDS
        while True:
            self._wake.clear()
            await self._collect_ended()
            if self._error is not None or (self._stopping and not self._held):
                return
            try:
                answer = await self._shards.round(self._heartbeat())
                self._apply(answer)
                if answer.over:
                    return
                await self._process_mail(answer.mail)
            except (Unreachable, LeaseLost) as error:
                self._report_reach(str(error))
                pause = min(2 * pause, MAX_RETRY_SECONDS)
            else:
                pause = ROUND_SECONDS
                self._report_reach(None)
            await self._pause(pause)
            busy = self._held and all(each.shard.is_at_work for each in self._held.values())
            await asyncio.sleep(
                ROUND_SECONDS if busy else ROUND_SECONDS / 10
            )  # what comes at the same time comes along

    def _report_reach(self, trouble: str | None) -> None:
        """Tell who started this process when the store is away, and when it is back."""
        if (trouble is None) != (self._trouble is None):
            self._send("notice", trouble or f"{self._shards.where} is back")
        self._trouble = trouble

    def _begun_shards(self) -> dict[int, _Held]:
        """The shards that can be told and asked."""
        return {number: held for number, held in self._held.items() if held.shard.has_begun and held.shard.is_ours()}

    def _heartbeat(self) -> Heartbeat:
        now, concurrency = time.monotonic(), self._job.settings.concurrency
        deferred = {number for number, failed in self._failed_starts.items() if now < failed.until}
        asked = Heartbeat(busy=frozenset(self._held.keys() | deferred), take=not self._stopping)
        for number, held in self._begun_shards().items():
            stands = held.shard.now(os.getpid())
            asked.statuses[number] = held.shard.token, stands
            if stands.granted is not None and needs_quota(stands, concurrency):
                asked.quota_requests.append((number, held.shard.token))
            if held.shard.mailbox.has_room:
                asked.processed[number] = held.shard.mailbox.processed
        asked.returned, self._given_back = self._given_back, []
        return asked

    def _apply(self, answer: HeartbeatReply) -> None:
        begun = self._begun_shards()
        for (sender, receiver), number in answer.delivered.items():
            if sender in begun:
                begun[sender].shard.mailbox.delivered({receiver: number})
        for number, granted in answer.granted.items():
            if number in begun and begun[number].shard.control.granted != granted:
                begun[number].shard.control.grant(granted)
        if answer.ended is not None and not self._ending:
            self._ending = True
            for held in self._held.values():
                held.shard.control.end()
        for number, token in answer.taken:
            self._begin(number, token)
            self.wake()
        if answer.enough is not None and not self._stopping:
            self._release_surplus(answer.enough)
        for number, held in begun.items() if answer.lacking else ():
            if releases_quota(held.shard.now(os.getpid()), self._job.settings.concurrency):
                self._given_back.append((number, held.shard.token, held.shard.give_back()))

    async def _process_mail(self, mail: list[tuple[int, int]]) -> None:
        """Have our shards take up what waits for them, by sender and receiver."""
        senders: dict[int, list[int]] = {}
        for sender, receiver in mail:
            senders.setdefault(receiver, []).append(sender)
        for receiver, its in senders.items():
            held = self._begun_shards().get(receiver)
            if held is not None and await held.shard.mailbox.process(its, self._shards.post):
                self.wake()

    def _release_surplus(self, enough: int) -> None:
        """Let a shard go, one at a time."""
        ours = {number: held for number, held in self._held.items() if held.shard.is_ours()}
        if len(ours) > enough and not any(held.leaving for held in self._held.values()):
            leaving = ours[max(ours)]  # one that was lost is nobody's to let go
            leaving.leaving = True
            leaving.shard.control.stop()

    # Shards

    def _begin(self, number: int, token: int) -> None:
        assignment, storage = self._job.manifest.assignment(number), self._shards.storage(number, token)
        shard = Shard(self._job, assignment, token, storage, self._siblings, self.wake)
        if self._job.settings.max_pages is not None:
            shard.control.grant(0)  # until the board says how many
        if self._ending:
            shard.control.end()
        if self._stopping:  # it was told so while the shard was being taken
            shard.control.stop()
        task = asyncio.ensure_future(shard.run())
        task.add_done_callback(lambda _: self.wake())
        self._held[number] = _Held(shard, task)

    async def _collect_ended(self) -> None:
        for number, held in list(self._held.items()):
            if not held.task.done():
                continue
            del self._held[number]
            error = None if held.task.cancelled() else held.task.exception()
            if held.task.cancelled() or isinstance(error, LeaseLost | Unreachable):
                self._shards.forget(number)
                if isinstance(error, Unreachable):
                    self._report_reach(str(error))
                    self._count_failed_start(number, held, error)
            elif isinstance(error, ComityError):
                self._error = self._error or error
            elif error is not None:
                raise error
            else:
                self._send("shard ended", held.shard.result(os.getpid()))
                over = self._ending and not held.shard.control.stopping
                try:
                    await self._shards.release(held.shard, "ended" if over else "stopped")
                except StorageError as failure:
                    self._shards.forget(number)  # else it would stay ours, and nobody would work it
                    self._report_reach(str(failure))

    def _count_failed_start(self, number: int, held: _Held, error: Unreachable) -> None:
        """A shard ended because of the store: it is taken again, but not for ever where nothing comes of it."""
        failed = self._failed_starts.setdefault(number, _FailedStarts())
        progress = held.shard.progress
        if progress is not None and progress != failed.progress:
            failed.progress, failed.times = progress, 0
        failed.times += 1
        failed.until = time.monotonic() + min(ROUND_SECONDS * 2**failed.times, MAX_RESTART_SECONDS)
        if failed.times >= MAX_FRUITLESS_STARTS:
            self._error = self._error or StorageError(
                f"shard {number} was begun {failed.times} times and kept nothing: {error}",
                hint="what was written is safe; fix that, then continue with --join",
            )

    def _received(self, message: WorkerMessage) -> None:
        match message:
            case ("snapshot", hosts, rules):
                snapshots = {
                    number: held.shard.crawl.snapshot(hosts=hosts, rules=rules) for number, held in self._held.items()
                }
                self._send("snapshots", snapshots)
            case ("stop",):
                self._stopping = True
                for held in self._held.values():
                    held.shard.control.stop()
                self.wake()
            case _:
                self._shards.received(message)
