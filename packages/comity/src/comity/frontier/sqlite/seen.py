"""Which URLs the crawl has met: a 64-bit fingerprint of each, in bounded memory. They are keyed per crawl, so that
nobody can make two URLs collide on purpose.

The newest are in memory, the last few of them in a set and the others in a sorted array, and blobs in the database;
when there are many they become a sorted run, and runs of like size are merged, a slice with each commit. A run is a
file of fingerprints in ascending order: written once, synced, never changed; the first fingerprint of every block is
kept in memory, and a question reads one block.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from array import array
from bisect import bisect_left
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

from comity.errors import StorageError
from comity.files import closed_on_error, made_anew, open_regular, sync_folder
from comity.frontier.durable import translate_os_errors
from comity.frontier.sqlite import _words
from comity.frontier.sqlite.database import transaction

WIDTH = 8  # bytes of a fingerprint
BLOCK = 512  # fingerprints read at once: a page of most file systems
SLICE = 64  # blocks of the largest run merged at once
SYNC_EVERY = 1 << 20  # fingerprints


class SortedRun:
    """A sorted run on disk. A StorageError says that it is not as it was written, an OSError that it cannot be read."""

    def __init__(self, path: Path, id_: int, size: int) -> None:
        self.path = path
        self.id = id_
        self._size = size
        self._block = array("Q", bytes(BLOCK * WIDTH))
        blocks = -(-size // BLOCK)
        self._file = open_regular(path, buffering=0)
        with closed_on_error(self):
            # The words that open the blocks follow the fingerprints, so that opening reads little.
            if os.fstat(self._file.fileno()).st_size != (size + blocks) * WIDTH:
                raise _damaged(path)
            self._opening = self._read(size, blocks)

    def __len__(self) -> int:
        return self._size

    def close(self) -> None:
        self._file.close()

    def contained(self, ascending: Sequence[int]) -> list[int]:
        """Those of the fingerprints, given in ascending order, that are in the run."""
        try:
            return _words.contained(self._file, self._size, self._opening, self._block, array("Q", ascending))
        except EOFError as error:
            raise _damaged(self.path) from error

    def below(self, start: int, limit: int | None) -> array[int]:
        """The fingerprints from position `start` on that are less than `limit`."""
        if limit is None:
            return self._read(start, self._size - start)
        last = bisect_left(self._opening, limit) - 1  # the block in which `limit` would lie
        if last < 0:
            return array("Q")
        begin = max(last * BLOCK, start)
        end = begin + bisect_left(self._read(begin, min((last + 1) * BLOCK, self._size) - begin), limit)
        return self._read(start, end - start)

    def limits(self, step: int) -> Iterator[int]:
        """Values that cut the run into slices of `step` blocks."""
        return iter(self._opening[step::step])

    def _read(self, start: int, count: int) -> array[int]:
        self._file.seek(start * WIDTH)
        data = self._file.read(count * WIDTH)
        if len(data) != count * WIDTH:
            raise _damaged(self.path)
        return array("Q", data)


def write_run(path: Path, pieces: Iterable[array[int]]) -> Generator[int, None, None]:
    """Write a run, ascending over all pieces; yields its size so far after each, the last time when all is durable.
    Where it cannot be written (OSError), or the iterator is closed before its end, nothing is left behind."""
    opening = array("Q")
    size = synced = 0
    try:
        with made_anew(path) as file:
            for piece in pieces:
                opening.extend(piece[-size % BLOCK :: BLOCK])
                size += len(piece)
                file.write(piece)
                if size - synced >= SYNC_EVERY:  # many short waits instead of a long one
                    file.flush()
                    os.fsync(file.fileno())
                    synced = size
                yield size
            file.write(opening)
            file.flush()
            os.fsync(file.fileno())
        sync_folder(path.parent)
        yield size
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def merge_runs(runs: Sequence[SortedRun]) -> Iterator[array[int]]:
    """The fingerprints of several runs in ascending order, slice by slice."""
    runs = sorted(runs, key=len)
    starts = [0] * len(runs)
    for limit in (*runs[-1].limits(SLICE), None):
        words = array("Q")
        for number, run in enumerate(runs):
            piece = run.below(starts[number], limit)
            starts[number] += len(piece)
            words = _words.merged(words, piece)
        yield words


def _damaged(path: Path) -> StorageError:
    return StorageError(f"{path} is damaged", hint="another program changed it; start a new crawl in another folder")


MAX_FRESH = 1 << 16  # fingerprints in memory: half a megabyte, sorted
MAX_NEWEST = 1 << 12  # of them, in a set: each takes ten times as much there, and leaves holes when it goes
LIKE = 4  # runs are merged with the next larger one when that is at most so many times as large as all of them
PACE = 24  # fingerprints merged for each that is new: more than merging needs, so that few runs wait for it

Merge = tuple[list[SortedRun], Generator[None, None, None]]


class Seen:
    """The set of fingerprints of one crawl, whose sorted runs lie in `folder`; that is made if need be."""

    def __init__(self, db: sqlite3.Connection, folder: Path, key: bytes) -> None:
        self._db = db
        self._folder = folder
        self._key = key
        self._newest: set[int] = set()
        self._fresh: array[int] = array("Q")  # in ascending order, without the newest
        self._runs: list[SortedRun] = []  # the largest first
        self._merges: list[Merge] = []  # the smallest, begun last, goes on first
        self._owed = 0  # fingerprints that should have been merged by now
        self._next_id = 1
        with translate_os_errors(folder):
            if not folder.is_dir():
                folder.mkdir()
                sync_folder(folder.parent)
        self.reload()

    def close(self) -> None:
        for _, merging in self._merges:
            with suppress(OSError):  # it is thrown away, whether or not the disk has room for its last bytes
                merging.close()
        self._merges = []
        for run in self._runs:
            run.close()
        self._runs = []

    def reload(self) -> None:
        """Take everything from the disk again: what was added and rolled back, or not finished, is forgotten."""
        self.close()
        fresh: set[int] = set()
        for (data,) in self._db.execute("SELECT fingerprints FROM fresh"):
            fresh.update(array("Q", data))
        self._newest, self._fresh = set(), array("Q", sorted(fresh))
        with closed_on_error(self), translate_os_errors(self._folder):
            for id_, size in self._db.execute("SELECT id, size FROM sorted_run"):
                self._runs.append(SortedRun(self._path(id_), id_, size))
                self._next_id = max(self._next_id, id_ + 1)
            kept = {run.path for run in self._runs}
            for path in self._folder.glob("*.run"):
                if path not in kept:  # a crash came before its entry was made, or after it was taken out
                    path.unlink()
        self._runs.sort(key=len, reverse=True)

    def unknown(self, urls: Sequence[str]) -> dict[int, int]:
        """The fingerprints not seen before, each with the index of the first URL that has it, in order."""
        key, newest, fresh, blake2b = self._key, self._newest, self._fresh, hashlib.blake2b
        digests = b"".join(
            [blake2b(url.encode("utf-8", "surrogatepass"), digest_size=WIDTH, key=key).digest() for url in urls]
        )
        first: dict[int, int] = {}
        for index, fingerprint in enumerate(array("Q", digests)):
            if fingerprint not in newest:
                place = bisect_left(fresh, fingerprint)
                if place == len(fresh) or fresh[place] != fingerprint:
                    first.setdefault(fingerprint, index)
        ascending = sorted(first)
        for run in self._runs:
            with translate_os_errors(run.path):
                known = set(run.contained(ascending))
            if known:
                ascending = [fingerprint for fingerprint in ascending if fingerprint not in known]
                for fingerprint in known:
                    del first[fingerprint]
        return first

    def add(self, fingerprints: Iterable[int]) -> None:
        """Add fingerprints that are unknown, in the transaction that is open."""
        words = array("Q", fingerprints)
        if words:
            self._db.execute("INSERT INTO fresh (fingerprints) VALUES (?)", (words.tobytes(),))
            self._newest.update(words)
            if len(self._newest) >= MAX_NEWEST:
                self._fresh, self._newest = self._in_memory(), set()
            self._owed += len(words) * PACE

    def tidy(self) -> None:
        """Turn many fresh fingerprints into a run, and go on merging runs in proportion to what was added.

        Called between transactions. A crash at any point leaves the set as it is on disk; after an error, `reload`.
        """
        with translate_os_errors(self._folder):
            if len(self._fresh) + len(self._newest) >= MAX_FRESH:
                self._spill()
            while self._begin_merge() or self._merges:
                if self._owed <= 0:
                    return
                if next(self._merges[-1][1], self) is self:
                    self._merges.pop()
            self._owed = 0

    def _spill(self) -> None:
        id_ = self._new_id()
        *_, size = write_run(self._path(id_), [self._in_memory()])
        self._replace([], id_, size, spilled=True)
        self._newest, self._fresh = set(), array("Q")

    def _in_memory(self) -> array[int]:
        """Those in memory, in ascending order."""
        return _words.merged(self._fresh, array("Q", sorted(self._newest)))

    def _begin_merge(self) -> bool:
        """Have the smallest runs that are free become one, up to the first that is much larger than all of them."""
        busy = [run for runs, _ in self._merges for run in runs]
        alike: list[SortedRun] = []
        for run in reversed(self._runs):
            if run not in busy:
                if alike and len(run) > LIKE * sum(map(len, alike)):
                    break
                alike.append(run)
        if len(alike) < 2:
            return False
        self._merges.append((alike, self._merge(alike)))
        return True

    def _merge(self, old: list[SortedRun]) -> Generator[None, None, None]:
        id_, size = self._new_id(), 0
        with closing(write_run(self._path(id_), merge_runs(old))) as writing:
            for so_far in writing:
                self._owed -= so_far - size
                size = so_far
                yield
        self._replace(old, id_, size)

    def _replace(self, old: list[SortedRun], id_: int, size: int, *, spilled: bool = False) -> None:
        """Have a run that is durable stand for others, or for the fresh fingerprints."""
        run = SortedRun(self._path(id_), id_, size)
        self._runs.append(run)
        with transaction(self._db):
            self._db.execute("INSERT INTO sorted_run (id, size) VALUES (?, ?)", (id_, size))
            self._db.executemany("DELETE FROM sorted_run WHERE id = ?", [(run.id,) for run in old])
            if spilled:
                self._db.execute("DELETE FROM fresh")
        self._runs = sorted((run for run in self._runs if run not in old), key=len, reverse=True)
        for run in old:
            run.close()
            run.path.unlink(missing_ok=True)

    def _new_id(self) -> int:
        self._next_id += 1
        return self._next_id - 1

    def _path(self, id_: int) -> Path:
        return self._folder / f"{id_:08}.run"
