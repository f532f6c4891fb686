"""Which URLs the crawl has met: a 64-bit fingerprint of each, in bounded memory.

Fingerprints are keyed per crawl, so that nobody can make two URLs collide on purpose. The newest are a set in memory
and blobs in the database; when there are many they become a sorted run, and runs of like size are merged, a slice
with each commit. The URLs themselves are not kept here.
"""

import hashlib
import sqlite3
from array import array
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from pathlib import Path

from comity.frontier.database import explained_files
from comity.frontier.durable import sync_folder
from comity.frontier.runs import WIDTH, Run, merge, write

MOST_FRESH = 1 << 18  # fingerprints in memory: about 25 MB
LIKE = 4  # runs are merged with the next larger one when that is at most so many times as large as all of them
PACE = 24  # fingerprints merged for each that is new: more than merging needs, so that few runs wait for it

Merge = tuple[list[Run], Generator[None, None, None]]


class Seen:
    """The set of fingerprints of one crawl.

    Args:
        folder: where the sorted runs lie; made if need be.

    Raises:
        StorageError: a run cannot be read or is damaged.
    """

    def __init__(self, db: sqlite3.Connection, folder: Path, key: bytes) -> None:
        self._db = db
        self._folder = folder
        self._key = key
        self._fresh: set[int] = set()
        self._runs: list[Run] = []  # the largest first
        self._merges: list[Merge] = []  # the smallest, begun last, goes on first
        self._owed = 0  # fingerprints that should have been merged by now
        self._next_id = 1
        with explained_files(folder):
            if not folder.is_dir():
                folder.mkdir()
                sync_folder(folder.parent)
        self.reload()

    def close(self) -> None:
        for _, merging in self._merges:
            merging.close()
        self._merges = []
        for run in self._runs:
            run.close()
        self._runs = []

    def reload(self) -> None:
        """Take everything from the disk again: what was added and rolled back, or not finished, is forgotten."""
        self.close()
        self._fresh = set()
        for (data,) in self._db.execute("SELECT fingerprints FROM fresh"):
            self._fresh.update(array("Q", data))
        try:
            with explained_files(self._folder):
                for id_, size in self._db.execute("SELECT id, size FROM sorted_run"):
                    self._runs.append(Run(self._path(id_), id_, size))
                    self._next_id = max(self._next_id, id_ + 1)
                kept = {run.path for run in self._runs}
                for path in self._folder.glob("*.run"):
                    if path not in kept:  # a crash came before its entry was made, or after it was taken out
                        path.unlink()
        except BaseException:
            self.close()
            raise
        self._runs.sort(key=len, reverse=True)

    def unknown(self, urls: Sequence[str]) -> dict[int, int]:
        """The fingerprints not seen before, each with the index of the first URL that has it, in order.

        Raises:
            StorageError: a run cannot be read.
        """
        key, fresh, blake2b = self._key, self._fresh, hashlib.blake2b
        digests = b"".join(
            [blake2b(url.encode("utf-8", "surrogatepass"), digest_size=WIDTH, key=key).digest() for url in urls]
        )
        first: dict[int, int] = {}
        for index, fingerprint in enumerate(array("Q", digests)):
            if fingerprint not in fresh:
                first.setdefault(fingerprint, index)
        ascending = sorted(first)
        for run in self._runs:
            with explained_files(run.path):
                known = set(run.holds(ascending))
            if known:
                ascending = [fingerprint for fingerprint in ascending if fingerprint not in known]
                for fingerprint in known:
                    del first[fingerprint]
        return first

    def add(self, fingerprints: Iterable[int]) -> None:
        """Add fingerprints, in the transaction that is open."""
        words = array("Q", fingerprints)
        if words:
            self._db.execute("INSERT INTO fresh (fingerprints) VALUES (?)", (words.tobytes(),))
            self._fresh.update(words)
            self._owed += len(words) * PACE

    def tidy(self) -> None:
        """Turn many fresh fingerprints into a run, and go on merging runs in proportion to what was added.

        Called between transactions. A crash at any point leaves the set as it is on disk; after an error, `reload`.

        Raises:
            StorageError: there is no room.
        """
        with explained_files(self._folder):
            if len(self._fresh) >= MOST_FRESH:
                self._spill()
            while self._begin_merge() or self._merges:
                if self._owed <= 0:
                    return
                if next(self._merges[-1][1], self) is self:
                    self._merges.pop()
            self._owed = 0

    def _spill(self) -> None:
        id_ = self._new_id()
        *_, size = write(self._path(id_), [array("Q", sorted(self._fresh))])
        self._replace([], id_, size, spilled=True)
        self._fresh = set()

    def _begin_merge(self) -> bool:
        """Have the smallest runs that are free become one, up to the first that is much larger than all of them."""
        busy = [run for runs, _ in self._merges for run in runs]
        alike: list[Run] = []
        for run in reversed(self._runs):
            if run not in busy:
                if alike and len(run) > LIKE * sum(map(len, alike)):
                    break
                alike.append(run)
        if len(alike) < 2:
            return False
        self._merges.append((alike, self._merge(alike)))
        return True

    def _merge(self, old: list[Run]) -> Generator[None, None, None]:
        id_, size = self._new_id(), 0
        with closing(write(self._path(id_), merge(old))) as writing:
            for so_far in writing:
                self._owed -= so_far - size
                size = so_far
                yield
        self._replace(old, id_, size)

    def _replace(self, old: list[Run], id_: int, size: int, *, spilled: bool = False) -> None:
        """Have a run that is durable stand for others, or for the fresh fingerprints."""
        run = Run(self._path(id_), id_, size)
        self._runs.append(run)
        self._db.execute("BEGIN IMMEDIATE")
        try:
            self._db.execute("INSERT INTO sorted_run (id, size) VALUES (?, ?)", (id_, size))
            self._db.executemany("DELETE FROM sorted_run WHERE id = ?", [(run.id,) for run in old])
            if spilled:
                self._db.execute("DELETE FROM fresh")
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        self._runs = sorted((run for run in self._runs if run not in old), key=len, reverse=True)
        for run in old:
            run.close()
            run.path.unlink(missing_ok=True)

    def _new_id(self) -> int:
        self._next_id += 1
        return self._next_id - 1

    def _path(self, id_: int) -> Path:
        return self._folder / f"{id_:08}.run"
