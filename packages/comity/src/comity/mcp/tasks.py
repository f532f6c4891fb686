"""The extension `io.modelcontextprotocol/tasks` (SEP-2663): work that outlives the request that began it.

Values as they go over the wire. A task is asked about until its life is over; what it works on is not this module's
business.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal

POLL: Final = 1000  # milliseconds between two questions
MOST_ENDED: Final = 100  # tasks that ended and can still be asked about
_INTERNAL_ERROR: Final = -32603

Status = Literal["working", "completed", "cancelled", "failed"]
Work = Awaitable[dict[str, Any]]


class UnknownTask(Exception):
    """There is no such task, or its life is over."""


@dataclass(slots=True)
class Task:
    """A task.

    Attributes:
        life: seconds from its beginning that it can be asked about.
        cancel: ends the work, which then comes back with what it has.
        result: what the tool answers, once the work is done; an answer that is an error is a result as well.
        error: what went wrong inside.
    """

    id: str
    life: float
    cancel: Callable[[], Awaitable[None]]
    begun: datetime
    changed: datetime
    status: Status = "working"
    cancelled: bool = False
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    running: "asyncio.Task[None] | None" = None

    def to_dict(self) -> dict[str, Any]:
        """What is said of it when it is made."""
        return {
            "taskId": self.id,
            "status": self.status,
            "createdAt": self.begun.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "lastUpdatedAt": self.changed.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "ttlMs": round(self.life * 1000),
            "pollIntervalMs": POLL,
        }


class Tasks:
    """The tasks of one server."""

    def __init__(self) -> None:
        self._tasks: dict[str, Task] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def begin(self, name: str, work: Work, cancel: Callable[[], Awaitable[None]], life: float) -> dict[str, Any]:
        """Make a task of work; gives what the tool answers at once."""
        self._forget_old()
        now = datetime.now(UTC)
        task = self._tasks[name] = Task(name, life, cancel, now, now)
        task.running = asyncio.ensure_future(self._run(task, work))
        return {"resultType": "task", **task.to_dict()}

    def get(self, name: str) -> dict[str, Any]:
        """How a task stands, with its result once it is done.

        Raises:
            UnknownTask
        """
        task = self._find(name)
        said = {"resultType": "complete", **task.to_dict()}
        if task.status == "completed":
            said["result"] = task.result
        elif task.status == "failed":
            said["error"] = task.error
        return said

    def cancel(self, name: str) -> dict[str, Any]:
        """Have a task end. The answer comes before its end does; one that has ended stays as it is.

        Raises:
            UnknownTask
        """
        task = self._find(name)
        if task.status == "working" and not task.cancelled:
            task.cancelled = True
            ending = asyncio.ensure_future(_ended(task.cancel))
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)
        return {"resultType": "complete"}

    def update(self, name: str) -> dict[str, Any]:
        """Take answers for a task. No task here asks anything once it runs, so none is waited for.

        Raises:
            UnknownTask
        """
        self._find(name)
        return {"resultType": "complete"}

    async def _run(self, task: Task, work: Work) -> None:
        try:
            task.result = await work
            task.status = "cancelled" if task.cancelled else "completed"
        except asyncio.CancelledError:
            task.status = "cancelled"
        except Exception as error:
            task.status = "failed"
            task.error = {"code": _INTERNAL_ERROR, "message": f"It failed inside: {type(error).__name__}."}
        task.changed = datetime.now(UTC)

    def _find(self, name: str) -> Task:
        self._forget_old()
        task = self._tasks.get(name)
        if task is None:
            raise UnknownTask(name)
        return task

    def _forget_old(self) -> None:
        now = datetime.now(UTC)
        ended = [(name, task) for name, task in self._tasks.items() if task.status != "working"]
        for number, (name, task) in enumerate(ended):
            if len(ended) - number > MOST_ENDED or (now - task.begun).total_seconds() > task.life:
                del self._tasks[name]


async def _ended(cancel: Callable[[], Awaitable[None]]) -> None:
    await cancel()
