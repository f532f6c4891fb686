"""The shards of a worker where the crawl lies in a folder: the board is kept by the process above, parcels are read of
the other shards' databases.

A worker ends at once when the process above is gone: then nobody says any more who has which shard.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from comity.crawler.places.orders import Orders
from comity.crawler.progress.snapshot import ShardState
from comity.crawler.run.given import FolderStorage
from comity.crawler.run.scheduler import Scheduler
from comity.crawler.sharding.shards import part
from comity.crawler.workers.board import RoundAnswer, RoundRequest
from comity.crawler.workers.jobs import Job, Say, Watched, Word
from comity.crawler.workers.shard import Shard
from comity.frontier.messages import Neighbour

AT_ONCE: Final = 16  # parcels read of one shard before another has its turn


class Neighbours:
    """The databases of the other shards of a folder, as far as their parcels go."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[int, Neighbour] = {}

    def parcels(self, answer: RoundAnswer, asked: RoundRequest) -> None:
        """Have an answer say which parcels wait."""
        receivers: dict[int, list[int]] = {}
        for sender, receiver in answer.mail:
            receivers.setdefault(sender, []).append(receiver)
        for sender, its in receivers.items():
            if sender not in self._open:
                self._open[sender] = Neighbour(self._folder / part(sender) / "frontier.sqlite")
            after = {receiver: asked.taken_up[receiver].get(sender, 0) for receiver in its}
            answer.parcels += [
                (sender, parcel)
                for parcel in self._open[sender].parcels(its, after=min(after.values()), most=AT_ONCE * len(its))
                if parcel.number > after[parcel.shard]
            ]

    def close(self) -> None:
        for neighbour in self._open.values():
            neighbour.close()


class ShardsInFolder:
    """See member.Shards.

    Args:
        say: tells the process above.
    """

    def __init__(self, job: Job, say: Say) -> None:
        self.where = str(job.folder)
        self._job = job
        self._say = say
        self._neighbours = Neighbours(job.folder)
        self._answers: deque[asyncio.Future[RoundAnswer]] = deque()
        self._news: Callable[[], None] = lambda: None

    async def open(self, watched: Watched) -> None:
        self._news = watched.wake

    async def round(self, asked: RoundRequest) -> RoundAnswer:
        told: asyncio.Future[RoundAnswer] = asyncio.get_running_loop().create_future()
        self._answers.append(told)
        self._say("round", asked)
        answer = await told
        self._neighbours.parcels(answer, asked)
        return answer

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
        now = shard.result(0).now
        self._say("let go", now.number, token, state, now)

    def heard(self, word: Word) -> None:
        match word:
            case ("answer", answer):
                told = self._answers.popleft()
                if not told.done():
                    told.set_result(answer)
            case ("news",):
                self._news()

    async def close(self) -> None:
        self._neighbours.close()
