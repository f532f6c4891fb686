"""The shards of a worker where the crawl lies in a folder: the board is kept by the process above, parcels are in the
other shards' databases.

A worker ends at once when the process above is gone: then nobody says any more who has which shard.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from comity.crawler.places.orders import Orders
from comity.crawler.progress.snapshot import ShardState
from comity.crawler.run.given import FolderStorage
from comity.crawler.run.scheduler import Scheduler
from comity.crawler.sharding.shards import database_of, part
from comity.crawler.workers.board import RoundAnswer, RoundRequest
from comity.crawler.workers.jobs import Job, Say, Watched, Word
from comity.crawler.workers.shard import Shard
from comity.frontier.messages import Neighbours


class ShardsInFolder:
    """See member.Shards.

    Args:
        say: tells the process above.
    """

    def __init__(self, job: Job, say: Say, worker: Watched) -> None:
        self.where = str(job.folder)
        self._job = job
        self._say = say
        self._worker = worker
        self.post = Neighbours(partial(database_of, job.folder))
        self._answers: deque[asyncio.Future[RoundAnswer]] = deque()

    async def round(self, asked: RoundRequest) -> RoundAnswer:
        told: asyncio.Future[RoundAnswer] = asyncio.get_running_loop().create_future()
        self._answers.append(told)
        self._say("round", asked)
        return await told

    def begin(self, number: int, token: int, beside: list[Scheduler], sent: Callable[[], None]) -> Shard:
        job, place = self._job, self._job.manifest.place(number)
        storage = FolderStorage(job.folder / part(number), Orders(job.folder, job.orders))
        return Shard(job, place, storage, beside=beside, on_sent=sent)

    def holds(self, number: int, token: int) -> bool:
        return True  # the process above gives it to nobody else as long as this one lives

    def progress(self, number: int, token: int) -> Any:
        return None

    def forget(self, number: int) -> None:
        """It stays ours until this process ends, as it then does."""

    async def let_go(self, shard: Shard, token: int, state: ShardState) -> None:
        self._say("let go", shard.place.number, token, state, shard.now(0))

    def heard(self, word: Word) -> None:
        match word:
            case ("answer", answer):
                told = self._answers.popleft()
                if not told.done():
                    told.set_result(answer)
            case ("news",):
                self._worker.wake()

    async def close(self) -> None:
        self.post.close()
