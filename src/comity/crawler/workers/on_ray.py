"""A worker that is an actor of Ray: a process that Ray places.

The process above speaks with it through Ray instead of through pipes; the rest is as for a child process. What Ray says
about a death is not enough: it may say so some seconds before the process ends. Each shard is locked by the process
that has it, so a worker is taken to be dead only when the locks of its shards are free.
"""

import asyncio
import logging
import os
import platform
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from comity.crawler.shards import part
from comity.crawler.workers.processes import Start
from comity.crawler.workers.worker import AnyJob, Job, Word, Worker
from comity.errors import ComityError, InvalidSetting
from comity.frontier import database

ASKED_EVERY: Final = 5.0  # seconds: the longest that an actor takes to say that it has nothing to say
ALONE: Final = 60.0  # seconds after which an actor that nobody has asked ends itself
LOOKED_EVERY: Final = 0.05  # seconds between two looks at the locks of a worker that is to be dead

logger = logging.getLogger("comity")


class Actor:
    """The worker in the process that Ray made for it. Its methods are called through Ray, all on one loop."""

    def __init__(self, prepare: Callable[[], None] | None) -> None:
        if prepare is not None:
            prepare()
        self._said: list[Word] = []
        self._unheard: list[Word] = []
        self._heard: Callable[[Word], None] | None = None
        self._new = asyncio.Event()
        self._over = False
        self._asked = time.monotonic()

    async def place(self) -> tuple[int, str]:
        """Its process, and its machine."""
        return os.getpid(), platform.node()

    async def work(self, job: Job) -> None:
        """Do a job to its end."""
        watching = asyncio.ensure_future(self._watch())
        try:
            await Worker(job, self._say).run(self._listen)
        except ComityError as error:
            self._say("failed", error)
        finally:
            watching.cancel()
            self._over = True
            self._new.set()

    async def words(self) -> list[Word] | None:
        """What it has to say, once there is something or some time has passed; None where it has come to its end."""
        self._asked = time.monotonic()
        if not self._said and not self._over:
            self._new.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(ASKED_EVERY):
                    await self._new.wait()
        said, self._said = self._said, []
        return said if said or not self._over else None

    async def hear(self, words: list[Word]) -> None:
        """Be told something."""
        if self._heard is None:
            self._unheard += words
        else:
            for word in words:
                self._heard(word)

    def _say(self, *word: Any) -> None:
        self._said.append(word)
        self._new.set()

    def _listen(self, heard: Callable[[Word], None]) -> None:
        unheard, self._unheard, self._heard = self._unheard, [], heard
        for word in unheard:
            heard(word)

    async def _watch(self) -> None:
        """End with the process above, where Ray does not see to that: nobody says any more who has which shard."""
        while time.monotonic() - self._asked < ALONE:
            await asyncio.sleep(1.0)
        os._exit(1)


class Placed:
    """An actor as the process above sees it. See Running."""

    def __init__(self, ray: Any, actor: Any, job: Job) -> None:
        self.pid: int | None = None
        self.returncode: int | None = None
        self._ray = ray
        self._actor = actor
        self._job = job
        self._ends = 1
        self._unsaid: list[Word] = []
        self._saying: asyncio.Task[None] | None = None

    @property
    def is_placed(self) -> bool:
        return self.pid is not None

    def say(self, word: Word) -> None:
        if self.returncode is None:
            self._unsaid.append(word)
            if self._saying is None or self._saying.done():
                self._saying = asyncio.ensure_future(self._say())

    async def _say(self) -> None:
        """One message at a time, since Ray may bring two in any order."""
        while self._unsaid:
            words, self._unsaid = self._unsaid, []
            with suppress(self._ray.exceptions.RayError):  # it is dying, which is found out soon
                await self._actor.hear.remote(words)

    async def words(self) -> AsyncIterator[Word]:
        try:
            self.pid, machine = await self._actor.place.remote()
            if machine != platform.node():
                yield "failed", elsewhere(machine)
                return
            working = self._actor.work.remote(self._job)
            while (words := await self._actor.words.remote()) is not None:
                for word in words:
                    yield word
            await working
            self._ends = 0
        except self._ray.exceptions.RayActorError:
            pass
        except self._ray.exceptions.RayError as error:  # what is no ComityError, or nowhere to run
            logger.error("a worker failed: %s", error)

    def kill(self) -> None:
        with suppress(self._ray.exceptions.RayError):
            self._ray.kill(self._actor)

    async def wait(self) -> int:
        self.kill()
        shards = [self._job.folder / part(number) for number in self._job.shards]
        while any(map(database.is_running, shards)):
            await asyncio.sleep(LOOKED_EVERY)
        self.returncode = self._ends
        return self._ends


def elsewhere(machine: str) -> InvalidSetting:
    """What is wrong where an actor runs on another machine: SQLite's journal (WAL) is shared by processes of one
    machine only, so a shared folder does not do."""
    return InvalidSetting(
        f"engine: Ray placed a worker on {machine}, and a crawl in a folder can only be worked on this machine",
        hint="run the command on that machine",
    )


def placing(ray: Any, *, prepare: Callable[[], None] | None = None) -> Start:
    """What starts workers as actors of Ray, each on one processor of this machine once it has one to spare.

    Args:
        ray: the module, connected.
        prepare: what a worker's process does first; it is sent there.
    """
    here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
        ray.get_runtime_context().get_node_id(), soft=False
    )
    kind = ray.remote(Actor).options(num_cpus=1, max_restarts=0, scheduling_strategy=here)

    async def start(job: AnyJob) -> Placed:
        assert isinstance(job, Job)
        return Placed(ray, kind.remote(prepare), replace(job, folder=Path(job.folder).absolute()))

    return start
