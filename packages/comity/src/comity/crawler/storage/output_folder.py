"""The parts of a crawl's output on this machine: brought back to what is committed, whoever died while writing."""

import sqlite3
import time
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from comity.crawler.output.lines import AppendedFile
from comity.crawler.output.runner import LEDGER, make
from comity.crawler.storage.manifest import LOCK, LOST_PREFIX, StoreMark, is_part, manifest_of, stored_in
from comity.crawler.storage.store import CrawlStore, PartRow
from comity.errors import StorageError, sqlite_code
from comity.frontier.durable import make_folder, translate_os_errors
from comity.frontier.sqlite.database import has_begun, lock, translate_errors

MAX_LOCK_SECONDS: Final = 10.0  # seconds that a worker waits for another that sees to the folder just now


def truncate_to_commit(store: CrawlStore, folder: Path, form: str, dead: Collection[str] = ()) -> None:
    """Have each part in a folder hold what is committed of it and no more. Nobody else does so in that folder
    meanwhile.

    Parts that somebody writes to are left alone. What a format keeps beside its files until they are complete is
    written into them. A part that the store does not know was begun by a lease that a failure of the database has
    undone, and its pages are asked for again: it gets a name by which nobody takes it for one of the crawl's.

    Args:
        dead: names of processes that are known to be dead, whether or not their leases are over.

    Raises:
        StorageError: a part is missing, or a file cannot be changed, or is shorter than what was committed.
    """
    where = str(folder.absolute())
    # First: a part is known before its folder is there.
    there = [path for path in folder.glob("shard-*") if is_part(path)]
    held = {(row.number, row.token): row.holder for row in store.status().rows if row.holder is not None}
    parts = store.parts()
    known = {part.name for part in parts}
    mark = stored_in(folder)
    if mark is not None and mark.crawl == store.crawl().run.crawl:
        for path in there:
            if path.name not in known:
                with translate_os_errors(path):
                    path.rename(path.with_name(f"{LOST_PREFIX}{path.name}"))
    for part in parts:
        holder = held.get((part.shard, part.token))
        written = holder is not None and not any(is_same(holder, name) for name in dead)
        if written or part.folder != where:
            continue
        if (path := folder / part.name).is_dir():
            _truncate_part(store, part, path, form)
        elif part.ledger is not None:
            raise StorageError(
                f"{path} is missing, and {part.ledger['count']:,} records of its ledger are committed",
                hint="put it back; comity prove names all that is missing",
            )


def mark_of(store: CrawlStore) -> StoreMark:
    """What marks a folder as one that holds parts of a crawl."""
    return StoreMark(str(store.where), store.crawl().run.crawl, store.where.without_password)


def check_free(folder: Path, ours: StoreMark | None) -> None:
    """See that a folder can hold parts of a crawl in a store; None: of a new one. Parts of two would have the same
    names."""
    held = stored_in(folder)
    if held is not None and (ours is None or held.crawl != ours.crawl):
        raise StorageError(
            f"{folder} holds parts of another crawl, in {held.store}", hint="choose another folder with -o"
        )


def take_folder(store: CrawlStore, folder: Path) -> None:
    """Have a folder hold parts of a crawl on a machine where no command of ours has seen to that; a StorageError says
    that it holds another crawl."""
    ours = mark_of(store)
    if stored_in(folder) is None:
        if has_begun(folder / "frontier.sqlite") or manifest_of(folder) is not None:
            raise StorageError(f"{folder} contains a crawl of its own", hint="choose another folder with -o")
        make_folder(folder)
        with _sole_access(folder) as alone:
            if alone and stored_in(folder) is None:
                ours.write(folder)
    check_free(folder, ours)


def leave_folder(store: CrawlStore, folder: Path, form: str) -> None:
    """Cut back what nobody writes to, on a machine where no command of ours does."""
    with _sole_access(folder) as alone:
        if alone:
            truncate_to_commit(store, folder, form)


@contextmanager
def _sole_access(folder: Path) -> Iterator[bool]:
    """Whether nobody else sees to a folder; a command that takes part there does so as long as it runs."""
    deadline = time.monotonic() + MAX_LOCK_SECONDS
    while True:
        try:
            held = lock(folder / LOCK)
        except sqlite3.OperationalError as error:
            if sqlite_code(error) != sqlite3.SQLITE_BUSY:
                with translate_errors(folder / LOCK):
                    raise
            if time.monotonic() > deadline:
                yield False
                return
        else:
            with closing(held):
                yield True
            return


def _truncate_part(store: CrawlStore, part: PartRow, path: Path, form: str) -> None:
    if part.ledger or (path / LEDGER).exists():
        AppendedFile(path / LEDGER, part.ledger["length"] if part.ledger else 0).close()
    sink = make(form)
    sink.open(path, (part.sink or {}).get("committed"))
    try:
        if part.sink and "committed" in part.sink:
            store.end_part(part.shard, part.token, {"name": form, "committed": sink.flush(final=True)})
            sink.flush(final=True)  # so that it learns that its last marker is kept
    finally:
        sink.close()


def is_same(one: str, other: str) -> bool:
    """Whether two names are of one process, on whichever machine it turned out to run."""
    return one.partition(":")[2] == other.partition(":")[2]
