"""A worker that is an actor of Ray: a process that Ray places, and through which it is spoken with instead of through
pipes. What Ray says about a death is not enough: it may say so some seconds before the process ends. So a worker of a
crawl in a folder is taken to be dead only when its process is gone. In a crawl in PostgreSQL the leases say who has
what, so a worker may run on any machine."""

import asyncio
import logging
import math
import os
import platform
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from comity._ray import LOOK_SECONDS, Head
from comity.crawler.cluster.jobs import Job, WorkerMessage, on_machine
from comity.crawler.cluster.member import worker_of
from comity.crawler.cluster.worker_process import Start
from comity.crawler.storage.output_folder import leave_folder, take_folder
from comity.crawler.storage.store import CrawlStore
from comity.errors import ComityError, EngineFailed, InvalidSetting
from comity.frontier.postgresql.database import address

ASK_SECONDS: Final = 5.0  # seconds: the longest that an actor takes to say that it has nothing to say
MAX_UNASKED_SECONDS: Final = 60.0  # seconds after which an actor that nobody has asked ends itself
END_LOOK_SECONDS: Final = 0.05  # seconds between two looks at a worker that is to be dead
MAX_END_SECONDS: Final = 30.0  # seconds that a process of this machine is waited for which writes under a lease

logger = logging.getLogger("comity")


class Actor:
    """The worker in the process that Ray made for it. Its methods are called through Ray, all on one loop."""

    def __init__(self, prepare: Callable[[], None] | None) -> None:
        if prepare is not None:
            prepare()
        self._outgoing: list[WorkerMessage] = []
        self._received: asyncio.Queue[WorkerMessage] = asyncio.Queue()
        self._new = asyncio.Event()
        self._over = False
        self._asked = time.monotonic()
        self._tasks: list[asyncio.Task[None]] = []  # while it works

    async def place(self) -> tuple[int, str]:
        """Its process, and its machine."""
        return os.getpid(), platform.node()

    async def work(self, job: Job, machine: str) -> None:
        """Do a job to its end. `machine`: where the process above is."""
        self._tasks.append(asyncio.ensure_future(self._watch()))
        try:
            if job.store is not None and machine != platform.node():
                await self._work_here(job)
            else:
                await worker_of(job, self._send).run(self._listen)
        except ComityError as error:
            self._send("failed", error)
        finally:
            for task in self._tasks:
                task.cancel()
            self._over = True
            self._new.set()

    async def _work_here(self, job: Job) -> None:
        """Work on a machine where the process above sees to no folder."""
        assert job.store is not None
        store, loop = CrawlStore(address(job.store)), asyncio.get_running_loop()
        with closing(store):
            await loop.run_in_executor(None, take_folder, store, job.folder)
            store.close()
            here = replace(job, name=on_machine(job.name, platform.node()))
            await worker_of(here, self._send).run(self._listen)
            await loop.run_in_executor(None, leave_folder, store, job.folder, job.manifest.sink)

    async def messages(self) -> list[WorkerMessage] | None:
        """What it has to say, once there is something or some time has passed; None where it has come to its end."""
        self._asked = time.monotonic()
        if not self._outgoing and not self._over:
            self._new.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(ASK_SECONDS):
                    await self._new.wait()
        said, self._outgoing = self._outgoing, []
        return said if said or not self._over else None

    async def receive(self, messages: list[WorkerMessage]) -> None:
        """Be told something."""
        for message in messages:
            self._received.put_nowait(message)

    def _send(self, *message: Any) -> None:
        self._outgoing.append(message)
        self._new.set()

    def _listen(self, on_message: Callable[[WorkerMessage], None]) -> None:
        async def receive() -> None:
            while True:
                on_message(await self._received.get())

        self._tasks.append(asyncio.ensure_future(receive()))

    async def _watch(self) -> None:
        """End with the process above, where Ray does not see to that: nobody says any more who has which shard."""
        while time.monotonic() - self._asked < MAX_UNASKED_SECONDS:
            await asyncio.sleep(1.0)
        os._exit(1)


class RayWorker:
    """An actor as the process above sees it. See Running."""

    is_child = False

    def __init__(self, ray: Any, head: Head, actor: Any, job: Job) -> None:
        self.pid: int | None = None
        self.machine = ""
        self.returncode: int | None = None
        self._ray = ray
        self._head = head
        self._actor = actor
        self._job = job
        self._ends = 1
        self._unsent: list[WorkerMessage] = []
        self._sending: asyncio.Task[None] | None = None

    @property
    def is_placed(self) -> bool:
        return self.pid is not None

    def send(self, message: WorkerMessage) -> None:
        if self.returncode is None:
            self._unsent.append(message)
            if self._sending is None or self._sending.done():
                self._sending = asyncio.ensure_future(self._send())

    async def _send(self) -> None:
        """One message at a time, since Ray may bring two in any order."""
        while self._unsent:
            messages, self._unsent = self._unsent, []
            with suppress(self._ray.exceptions.RayError, ConnectionError, EngineFailed):  # it is dying, as is found out
                await self._answer(self._actor.receive.remote(messages))

    async def _answer(self, asked: Any) -> Any:
        """What Ray answers. EngineFailed: its head is gone, without which it may never answer."""
        answer = _answer_to(asked)
        while not answer.done():
            await asyncio.wait([answer], timeout=LOOK_SECONDS)
            if await asyncio.get_running_loop().run_in_executor(None, self._head.is_gone):
                answer.cancel()
                raise self._head.lost()
        return answer.result()

    async def messages(self) -> AsyncIterator[WorkerMessage]:
        try:
            self.pid, self.machine = await self._answer(self._actor.place.remote())
            if self._job.store is None and self.machine != platform.node():
                yield "failed", on_another_machine(self.machine)
                return
            yield "placed", self.machine
            working = self._actor.work.remote(self._job, platform.node())
            while (messages := await self._answer(self._actor.messages.remote())) is not None:
                for message in messages:
                    yield message
            await self._answer(working)
            self._ends = 0
        except EngineFailed as error:
            yield "failed", error
        except self._ray.exceptions.RayActorError as error:
            if self.pid is None and getattr(error, "actor_init_failed", False):
                yield "failed", cannot_begin(str(error))
        except self._ray.exceptions.RayError as error:  # what is no ComityError, or nowhere to run
            logger.error("a worker failed: %s", error)
        except ConnectionError:  # of a client of Ray, which does not come back to it
            yield "failed", self._head.lost()

    def kill(self) -> None:
        if not self._head.is_gone():
            with suppress(self._ray.exceptions.RayError, ConnectionError):
                self._ray.kill(self._actor)
        elif self._runs_here() and self.pid is not None:  # on another machine it ends itself
            with suppress(OSError):
                os.kill(self.pid, signal.SIGKILL)

    async def wait(self) -> int:
        self.kill()
        # In a store what it writes is not kept, but there should be no more of it when its files are cut back.
        deadline = math.inf if self._job.store is None else time.monotonic() + MAX_END_SECONDS
        while self._runs_here() and time.monotonic() < deadline:
            await asyncio.sleep(END_LOOK_SECONDS)
        self.returncode = self._ends
        return self._ends

    def _runs_here(self) -> bool:
        if self.pid is None or self.machine != platform.node():
            return False
        try:
            os.kill(self.pid, 0)
        except OSError:
            return False
        return True


def _answer_to(asked: Any) -> "asyncio.Future[Any]":
    """What Ray answers. A client of Ray waits for the head before it can even be told to wait for an answer, and takes
    it ill where that is no longer wanted: so in a thread that nobody waits for, and by a future of our own.
    """
    loop = asyncio.get_running_loop()
    answer = loop.create_future()

    def take(done: "Future[Any]") -> None:
        if answer.done():
            return
        if (error := done.exception()) is None:
            answer.set_result(done.result())
        else:
            answer.set_exception(error)

    def tell(done: "Future[Any]") -> None:
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(take, done)

    def wait() -> None:
        try:
            asked.future().add_done_callback(tell)
        except Exception as error:
            failed = Future[Any]()
            failed.set_exception(error)
            tell(failed)

    threading.Thread(target=wait, daemon=True).start()
    return answer


def on_another_machine(machine: str) -> InvalidSetting:
    """What is wrong where an actor runs on another machine: SQLite's journal (WAL) is shared by processes of one
    machine only, so a shared folder does not do."""
    return InvalidSetting(
        f"engine: Ray placed a worker on {machine}, and a crawl in a folder can only be worked on this machine",
        hint="run the command on that machine",
    )


def cannot_begin(said: str) -> EngineFailed:
    """What is wrong where an actor's process cannot make the worker."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return EngineFailed(
        f"a worker cannot begin where Ray placed it: {lines[-1] if lines else said}",
        hint="each machine of the cluster needs the same comity, Ray and Python, and what the options name",
    )


def ray_starter(ray: Any, *, prepare: Callable[[], None] | None = None, anywhere: bool = False) -> Start:
    """What starts workers as actors of Ray (the module, connected), each on one processor once there is one to spare:
    on any machine, spread over them, or on this one. `prepare` is what a worker's process does first; it is sent there.
    An InvalidSetting on Windows."""
    if os.name == "nt":  # where no signal asks whether a process is there: os.kill(pid, 0) sends Ctrl-C
        raise InvalidSetting("engine: a crawl on Ray does not run on Windows", hint="use --workers")
    where: Any = "SPREAD"
    if not anywhere:
        where = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=False
        )
    kind = ray.remote(Actor).options(num_cpus=1, max_restarts=0, scheduling_strategy=where)

    head = Head(ray)

    async def start(job: Job) -> RayWorker:
        try:
            actor = kind.remote(prepare)
        except ConnectionError as error:
            raise head.lost() from error
        return RayWorker(ray, head, actor, replace(job, folder=Path(job.folder).absolute()))

    return start
