"""A crawl of several shards in a folder: the process that starts the workers keeps the board in memory, and a worker
asks it through its pipe. Nothing that a shard finds passes there: parcels are in the other shards' databases.

A shard goes to another worker only when the one that had it is known to be dead. A worker ends at once when the process
above is gone: then nobody says any more who has which shard.
"""

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

from comity.crawler.cluster.jobs import Job, Send, Watched, WorkerMessage
from comity.crawler.cluster.shard import Shard, ShardEnd
from comity.crawler.cluster.worker_process import WorkerProcess
from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.finding.limits import Spent
from comity.crawler.observe.snapshot import ShardState, ShardStatus
from comity.crawler.storage.board import BoardInMemory, Heartbeat, HeartbeatReply, urls_left
from comity.crawler.storage.crawl_output import (
    ENDED,
    FINISHED,
    OutputPart,
    StateUnavailable,
    not_finished,
    number_in,
    stale_shards,
)
from comity.crawler.storage.folder import FolderCrawl, FolderStorage, remove_status, waiting_in, write_status
from comity.crawler.storage.manifest import MANIFEST, CrawlManifest, database_of, part
from comity.crawler.storage.orders import Orders
from comity.errors import StorageError
from comity.frontier.durable import Anchor, translate_os_errors
from comity.frontier.sqlite.store import FolderMailboxes, pending
from comity.frontier.values import Run


@asynccontextmanager
async def begin_in_folder(
    folder: Path, manifest: CrawlManifest, settings: CrawlSettings, workers: int, *, refresh: bool
) -> AsyncIterator["FolderCoordination"]:
    """Begin a crawl in a folder, or go on with it: a block in which so many processes work it. `manifest` and
    `settings` hold from now on."""
    with closing(FolderCoordination(folder, manifest, settings, workers, refresh=refresh)) as coordination:
        yield coordination


class FolderCoordination:
    """See processes.Coordination. Made, it has settled what holds for this run of so many processes, and written that
    down. A StorageError: another command was here meanwhile; or files are not those that were written last."""

    resume_option = "--resume"

    def __init__(
        self, folder: Path, manifest: CrawlManifest, settings: CrawlSettings, workers: int, *, refresh: bool
    ) -> None:
        found = FolderCrawl(folder)
        before = Run("", 0) if found.manifest is None else Run(found.manifest.crawl, found.manifest.run)
        if before != Run(manifest.crawl, manifest.run):
            raise StorageError(f"{folder} was crawled by another command meanwhile", hint="run it again")
        states: list[Mapping[str, Any]] = []  # of each shard, as it committed last
        if manifest.run:
            written = found.output()
            for what in stale_shards(written):
                raise StorageError(f"{folder}: {what}", hint="put back what was written last, then run it again")
            manifest.records = list(written.records)
            states = [_state_of(parts[-1]) for parts in written.shards]
        manifest.crawl, manifest.run = manifest.crawl or secrets.token_hex(8), manifest.run + 1
        if refresh:
            if {manifest.ended, *(state.get(ENDED) for state in states)} != {FINISHED}:
                raise not_finished(folder)
            manifest.refresh += 1
            manifest.seconds = 0.0
        states = states or [{}] * manifest.shards
        spent = {number: _spent_of(state, manifest.refresh) for number, state in enumerate(states)}
        manifest.seconds = max(manifest.seconds, *(each.seconds for each in spent.values()))
        manifest.ended = None
        manifest.write(folder)
        self._open = (folder / MANIFEST).open("rb")
        self._anchor = Anchor(folder / MANIFEST, self._open.fileno())
        self.now = {number: ShardStatus(number) for number in spent}
        self.earlier = sum(each.pages for each in spent.values())
        self.limit_reached: str | None = None
        self.ended = False
        self._folder = folder
        self._crawl = FolderCrawl(folder)  # read now: its manifest may be gone at the end
        self._manifest = manifest
        self._workers: dict[int, WorkerProcess] = {}
        self._board = BoardInMemory(settings, workers, settings.max_pages, spent, manifest.seconds)
        self._orders = Orders(folder)

    def close(self) -> None:
        self._open.close()

    async def sum_up(self, ends: Mapping[int, ShardEnd], *, stopped: bool) -> tuple[int, int]:
        manifest = self._manifest
        manifest.seconds = self._board.status().seconds
        self.now |= {number: end.now for number, end in ends.items()}
        begun = self._crawl.begun()
        left = urls_left(waiting_in(begun.values()), self.now.values(), pending(begun))
        manifest.ended = "stopped" if stopped else FINISHED
        records = [self.now[number].records for number in range(manifest.shards)]
        manifest.records = [max(each) for each in zip_longest(manifest.records, records, fillvalue=0)]
        manifest.write(self._folder)
        remove_status(self._folder, begun.values())
        return left, sum(each.end.unasked for each in ends.values())

    def job(self, worker: WorkerProcess, job: Job) -> Job:
        self._workers[worker.number] = worker
        return replace(job, orders=self._orders.mark)

    def received(self, worker: WorkerProcess, message: WorkerMessage) -> None:
        match message:
            case ("round", asked):
                worker.send(("answer", self._board.round(worker.name, asked)))
                self._wake_receivers(asked)
            case ("let go", number, token, state, now):
                self._board.release(worker.name, number, token, state, now)
                self._refresh_status()

    def shards_of(self, worker: WorkerProcess) -> Collection[int]:
        return [row.number for row in self._board.status().rows if row.holder == worker.name]

    def died(self, worker: WorkerProcess) -> None:
        self._board.remove_members(worker.name)
        self._refresh_status()

    def has_enough(self, *, stopping: bool) -> bool:
        return False

    def watch(self) -> bool:
        self._anchor.check()
        write_status(self._folder, self.now.values())  # for `comity frontier`
        ends = [order for order in self._orders.new() if order.order == "end"]
        for order in ends:
            self._orders.confirm(order)
        return bool(ends)

    def _wake_receivers(self, asked: Heartbeat) -> None:
        """See how shards stand, and have the workers know that have mail from them."""
        before = dict(self.now)
        self._refresh_status()
        receivers = {
            receiver
            for number in asked.statuses
            for receiver, last in self.now[number].sent.items()
            if last > before[number].sent.get(receiver, 0)
        }
        holders = self._board.who_has(receivers)
        for other in self._workers.values():
            if other.name in holders:
                other.send(("news",))

    def _refresh_status(self) -> None:
        state = self._board.status()
        self.now = {row.number: row.now for row in state.rows}
        if state.ended not in (None, FINISHED):
            self.limit_reached = state.ended


def _state_of(part: OutputPart) -> Mapping[str, Any]:
    """What the frontier of a shard says of how far it came; nothing where it has not begun."""
    try:
        return part.state()
    except StateUnavailable:
        return {}


def _spent_of(state: Mapping[str, Any], refresh: int) -> Spent:
    """What a shard has taken of the limits of a crawl or refresh as it committed last."""
    values = state.get("spent")
    return Spent(*values) if values and number_in(state, "refresh", "number") == refresh else Spent()


class ShardsInFolder:
    """See member.Shards. `send` tells the process above."""

    def __init__(self, job: Job, send: Send, worker: Watched) -> None:
        self.where = str(job.folder)
        self._job = job
        self._send = send
        self._worker = worker
        self.post = FolderMailboxes(partial(database_of, job.folder))
        with translate_os_errors(path := job.folder / MANIFEST):
            self._open = path.open("rb")
        self._anchor = Anchor(path, self._open.fileno())
        self._answers: deque[asyncio.Future[HeartbeatReply]] = deque()

    async def round(self, asked: Heartbeat) -> HeartbeatReply:
        reply: asyncio.Future[HeartbeatReply] = asyncio.get_running_loop().create_future()
        self._answers.append(reply)
        self._send("round", asked)
        return await reply

    def storage(self, number: int, token: int) -> FolderStorage:
        self._anchor.check()
        return FolderStorage(self._job.folder / part(number), Orders(self._job.folder, self._job.orders))

    def forget(self, number: int) -> None:
        """It stays ours until this process ends, as it then does."""

    async def release(self, shard: Shard, state: ShardState) -> None:
        self._send("let go", shard.assignment.number, shard.token, state, shard.now(0))

    def received(self, message: WorkerMessage) -> None:
        match message:
            case ("answer", answer):
                reply = self._answers.popleft()
                if not reply.done():
                    reply.set_result(answer)
            case ("news",):
                self._worker.wake()

    async def close(self) -> None:
        self.post.close()
        self._open.close()
