"""A small crawl without a network, for tests that end it in the middle: the same steps every time, and resumable.

Run by `python frontier_work.py FOLDER [LOG]`; the frontier lies in the folder, or in PostgreSQL where the variable
STORE has an address. Each step finds URLs, most of them new, and fetches some: a fetched URL
becomes a record of the output. LOG: after each commit its number is noted there.
"""

import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from comity.crawler.output.runner import SinkRunner
from comity.errors import StorageError
from comity.frontier.sqlite import seen
from comity.frontier.sqlite.store import Frontier
from comity.frontier.values import Batch, EntryKind, Found, State

STEPS = 40
FOUND = 30
FETCHED = 20
HOSTS = 5


def memory_folder() -> Path:
    """A folder where syncing costs nothing, for tests that commit hundreds of times; to be removed by the test."""
    return Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))


def url(number: int) -> str:
    return f"http://h{number % HOSTS}.example/{number}"


def found(step: int) -> list[Found]:
    numbers = [*range(max(step - 1, 0) * FOUND, (step + 1) * FOUND)]
    return [Found(url(n), f"h{n % HOSTS}.example", 1, EntryKind.PAGE, State.QUEUED, priority=n % 3) for n in numbers]


def opened(folder: Path, store: str | None) -> Any:
    """The frontier. In PostgreSQL a process takes it from the one before, though that one's lease goes on."""
    if not store:
        return Frontier(folder / "frontier.sqlite")
    sys.path.insert(0, str(Path(__file__).parents[4] / "tests"))
    from stores import Held

    from comity.frontier.postgresql.database import address

    return Held(address(store), "worker")


def work(folder: Path, log: Path | None = None, store: str | None = None) -> None:
    """Go on with the crawl in a folder until all is fetched."""
    seen.MAX_FRESH = 100  # so that runs are written and merged all the time
    seen.BLOCK, seen.SLICE = 16, 2
    with (
        opened(folder, store) as frontier,
        ThreadPoolExecutor(1) as thread,
        SinkRunner("jsonl", folder, frontier).opened(thread) as sink,
    ):
        step = frontier.load_state("step", 0)
        while True:
            batch = Batch(found=found(step) if step < STEPS else [])
            for host in frontier.hosts():
                for entry in frontier.waiting(host, but_not=(), most=FETCHED // HOSTS):
                    with sink.writing() as output:
                        output.add("pages", {"url": entry.url})
                    batch.settled.append((State.DONE, entry.id))
            if not batch:
                return
            step += 1

            with frontier.commit(batch) as commit, sink.writing() as output:
                commit.facts |= {"sink": sink.remembered(output.flush(final=False)), "step": step}
            if log is not None:
                descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
                os.write(descriptor, b"C %d\n" % step)
                os.close(descriptor)


if __name__ == "__main__":
    where = Path(sys.argv[1])
    where.mkdir(exist_ok=True)
    try:
        work(where, Path(sys.argv[2]) if len(sys.argv) > 2 else None, os.environ.get("STORE"))
    except StorageError as error:
        print(error)
        sys.exit(74)
