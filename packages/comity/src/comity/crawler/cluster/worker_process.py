"""A worker as the process sees it that starts it: what it says, whether it is well, how often it died."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, Protocol

from comity.crawler.cluster.jobs import Job, WorkerMessage, pack, read_messages
from comity.errors import InvalidSetting

# What lies in the current folder is not run, and what this process leaves alone a worker does too.
_FLAGS: Final = ("-P", *["-E"] * sys.flags.ignore_environment, *["-s"] * sys.flags.no_user_site)
COMMAND: Final = (sys.executable, *_FLAGS, "-m", "comity", "worker")
STARTING_FACTOR: Final = 10  # times as long as it may say nothing later it may take to begin, or to have a shard begin
FILES_PER_SHARD: Final = 16  # files that a shard has open: database and journal, lock, ledger, waits, output
FILES_PER_DATABASE: Final = 3  # those that reading another's database takes
FILES_OF_PROCESS: Final = 49  # pipes, event loop, manifest, what is open for a moment
FORGET_DEATHS_SECONDS: Final = 600.0  # seconds that a worker lived after which its earlier deaths do not count


class Running(Protocol):
    """A worker that was started, wherever it runs. Before it has a place to run `pid` is None. `is_child`: it is a
    process of this one, so that it is over for certain once it is known to be dead."""

    pid: int | None
    is_child: bool

    @property
    def returncode(self) -> int | None:
        """None until it is known to be dead: its shards may then be another's."""

    @property
    def is_placed(self) -> bool:
        """Whether it has been given a place to run; before that it cannot say anything."""

    def send(self, message: Any) -> None:
        """Tell it something; one that is dead hears nothing."""

    def messages(self) -> AsyncIterator[WorkerMessage]:
        """What it says, until it says nothing more."""

    def kill(self) -> None:
        """End it at once."""

    async def wait(self) -> Any:
        """Until it is known to be dead."""


Start = Callable[[Job], Awaitable[Running]]  # starts a worker with a job


class Child:
    """A worker that is a process of this one, with pipes to it. See Running."""

    is_placed = is_child = True

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.pid: int | None = process.pid
        self.kill, self.wait = process.kill, process.wait

    @classmethod
    async def start(cls, command: Sequence[str], job: Job) -> "Child":
        """Run a command that is a worker."""
        pipe = asyncio.subprocess.PIPE
        child = cls(await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe))
        child.send(job)
        return child

    @property
    def returncode(self) -> int | None:
        return self._process.returncode

    def send(self, message: Any) -> None:
        if self.returncode is None and self._process.stdin is not None:
            with suppress(OSError, RuntimeError):  # it is dying, which is found out soon
                self._process.stdin.write(pack(message))

    def messages(self) -> AsyncIterator[WorkerMessage]:
        assert self._process.stdout is not None
        return read_messages(self._process.stdout)


def children(command: Sequence[str]) -> Start:
    """What starts workers by a command; not by this program where it is frozen: its interpreter runs nothing else."""
    if getattr(sys, "frozen", False) and command[0] == sys.executable:
        raise InvalidSetting(
            "workers: a frozen program cannot start itself as a worker",
            hint="crawl in one process, or name the command that starts one (command=)",
        )
    return partial(Child.start, tuple(command))


class WorkerProcess:
    """One worker, and those that came before it.

    Attributes:
        begun: whether it can be told anything; `ended`: whether it has come to its end.
        name: of the one that runs now.
        deaths: of it and its predecessors since one of them kept a page, or lived for long.

    Args:
        on_message: told of each message that it sends.
        gone: called when it says nothing more and is dead.
    """

    def __init__(
        self,
        number: int,
        start: Start,
        on_message: "Callable[[WorkerProcess, WorkerMessage], None]",
        gone: Callable[[], None],
    ) -> None:
        self.number = number
        self.begun = self.ended = False
        self.name = ""
        self.deaths = 0
        self.process: Running | None = None
        self._start = start
        self._on_message = on_message
        self._gone = gone
        self._serving: asyncio.Task[None] | None = None
        self._started = 0.0
        self._silent = 0.0  # seconds
        self._before: Mapping[int, int] = {}  # pages kept when it was started, by shard

    @property
    def is_waiting(self) -> bool:
        """Whether it has no place to run yet."""
        return self.process is not None and not self.process.is_placed

    @property
    def is_dead(self) -> bool:
        """Whether it was waited for, and all that it said was heard."""
        dead = self.process is not None and self.process.returncode is not None
        return dead and (self._serving is None or self._serving.done())

    async def start(self, job: Job, kept: Mapping[int, int]) -> None:
        """Start it, or another in its place; the one before is dead. `kept`: by shard the pages that are committed,
        over all runs."""
        self._before = kept
        self.process, self.name = await self._start(job), job.name
        self.begun = self.ended = False
        self._silent, self._started = 0.0, time.monotonic()
        self._serving = asyncio.ensure_future(self._listen(self.process))

    def send(self, message: Any) -> None:
        """Tell it something; one that is dead hears nothing."""
        if self.process is not None:
            self.process.send(message)

    def watch(self, passed: float, longest: float, *, takes_over: bool = False) -> None:
        """Kill it where it has said nothing for longer than so many seconds: suspended, it would go on one day.
        `passed`: seconds since the last call. `takes_over`: it has a shard that has not begun, which may take long."""
        if self.is_waiting:
            return
        self._silent += passed
        if self._silent > (longest if self.begun and not takes_over else STARTING_FACTOR * longest):
            self._silent = 0.0
            self.kill()

    def died(self, kept: Mapping[int, int]) -> None:
        """It died before its end. `kept`: as of `start`, of the shards that it had."""
        is_late = time.monotonic() - self._started >= FORGET_DEATHS_SECONDS
        kept_some = is_late or any(pages > self._before.get(shard, 0) for shard, pages in kept.items())
        self.deaths = 1 if kept_some else self.deaths + 1

    def kill(self) -> None:
        """End it at once."""
        if self.process is not None and self.process.returncode is None:
            with suppress(ProcessLookupError):
                self.process.kill()

    def dismiss(self) -> None:
        """Have it not begin at all, where it has no place to run yet."""
        if self.is_waiting and not self.ended:
            self.ended = True
            self.kill()

    async def wait(self) -> None:
        """Until it is dead."""
        if self.process is not None:
            await self.process.wait()
        if self._serving is not None:
            await asyncio.gather(self._serving, return_exceptions=True)

    async def _listen(self, process: Running) -> None:
        try:
            async for message in process.messages():
                self._silent = 0.0
                self._on_message(self, message)
            await process.wait()
        finally:
            self._gone()


def files_of(shards: int, count: int, connections: int) -> int:
    """How many files a worker has open at once, at most: those of its own shards, `count` databases, connections."""
    return FILES_PER_SHARD * shards + FILES_PER_DATABASE * count + connections + FILES_OF_PROCESS


def check_files(shards: int, count: int, connections: int) -> None:
    """Say before anything is started that a worker could not open all its files: the limit on open files is too low."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    most, needed = resource.getrlimit(resource.RLIMIT_NOFILE)[0], files_of(shards, count, connections)
    if most != resource.RLIM_INFINITY and most < needed:
        raise InvalidSetting(
            f"shards: a worker that has {shards} of {count} and {connections} connections has up to {needed:,} files "
            f"open, and this process may have {most:,}",
            hint=f"raise its limit (ulimit -n {needed}), take more workers, or begin the crawl with fewer shards",
        )
