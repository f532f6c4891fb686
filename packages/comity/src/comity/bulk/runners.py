"""An audit's pieces judged one after the other in this process, or each as a task of Ray: the same function, the same
parts. Which parts there are depends on the files alone, so that one engine goes on where another one was stopped.
"""

from collections.abc import Generator, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from comity._ray import LOOK_SECONDS, Head
from comity.bulk import part_files, sources, summary
from comity.bulk.sources import Piece
from comity.errors import ComityError, EngineFailed

JudgedPart = tuple[Path, int, summary.Counts]  # a part, how many URLs it has, and its counts
Judging = Generator[JudgedPart, None, None]
MAX_WAITING_TASKS: Final = 64
"""Tasks that wait at least, however small the cluster is: one that grows does so for what waits."""


def locally(judge: part_files.Judge, pieces: Iterable[Piece], column: str, rows: int, folder: Path) -> Judging:
    """Judge pieces in this process. Raises InputError: a file cannot be read."""
    for number, piece in enumerate(pieces):
        yield from _judged(judge, piece, number, column, rows, folder)


def on_ray(ray: Any, judge: part_files.Judge, pieces: Iterable[Piece], column: str, rows: int, folder: Path) -> Judging:
    """Judge each piece as a task of Ray on one processor; parts come in the order in which they are done.

    The robots.txt files go to each machine once. The URLs' files and the folder must be there on all of them.

    Raises:
        InputError: a file cannot be read.
        EngineFailed: tasks died again and again, or Ray's head is gone.
    """
    judge.threads = 1
    held = [ray.put(judge)]  # in a list: a task gets the reference, and fetches what it has not got
    task = ray.remote(_task).options(num_cpus=1)
    use = uuid4().hex
    given = (
        task.remote(held, use, Piece(piece.path.absolute(), piece.groups), number, column, rows, folder.absolute())
        for number, piece in enumerate(pieces)
    )
    waiting = list(islice(given, max(MAX_WAITING_TASKS, 2 * int(ray.cluster_resources().get("CPU", 1)))))
    head = Head(ray)
    try:
        while waiting:
            done, waiting = ray.wait(waiting, timeout=LOOK_SECONDS)
            if head.is_gone():
                raise head.lost()
            for each in done:
                yield from _result(ray, each)
                waiting += islice(given, 1)
    except ConnectionError as error:  # of a client of Ray
        raise head.lost() from error
    finally:
        for each in () if head.is_gone() else waiting:
            ray.cancel(each)


def _result(ray: Any, done: Any) -> list[JudgedPart]:
    try:
        found: list[JudgedPart] = ray.get(done)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, ComityError):
            raise error.cause from None
        raise
    except ray.exceptions.RayError as error:
        first = str(error).strip().splitlines()[0]
        raise EngineFailed(f"Ray failed: {first}", hint="repeat the command: finished parts are kept") from error
    return found


_used: tuple[str, part_files.Judge] | None = None


def _task(
    held: list[Any], use: str, piece: Piece, number: int, column: str, rows: int, folder: Path
) -> list[JudgedPart]:  # pragma: no cover: in processes of Ray
    global _used
    if _used is None or _used[0] != use:
        import ray

        _used = use, ray.get(held[0])
    return list(_judged(_used[1], piece, number, column, rows, folder))


def _judged(
    judge: part_files.Judge, piece: Piece, number: int, column: str, rows: int, folder: Path
) -> Iterator[JudgedPart]:
    for part, size in part_files.written(judge, sources.tables([piece], column, rows), folder, number):
        yield part, size, summary.counted(part)
