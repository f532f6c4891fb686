"""Sorted runs: files of 64-bit fingerprints in ascending order, asked by block and merged a slice at a time.

A run is written once, synced, and never changed. Of each the first fingerprint of every block is kept in memory, one
word for 512; a question reads one block.
"""

from __future__ import annotations  # arrays cannot be subscripted before Python 3.12

import os
from array import array
from bisect import bisect_left
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path

from comity.errors import StorageError
from comity.frontier import _words
from comity.frontier.durable import sync_folder

WIDTH = 8  # bytes of a fingerprint
BLOCK = 512  # fingerprints read at once: a page of most file systems
SLICE = 64  # blocks of the largest run merged at once
SYNC_EVERY = 1 << 20  # fingerprints


class Run:
    """A sorted run on disk.

    Raises:
        StorageError: the file is not as it was written.
        OSError: it cannot be read.
    """

    def __init__(self, path: Path, id_: int, size: int) -> None:
        self.path = path
        self.id = id_
        self._size = size
        self._block = array("Q", bytes(BLOCK * WIDTH))
        blocks = -(-size // BLOCK)
        self._file = path.open("rb", buffering=0)
        try:
            # The words that open the blocks follow the fingerprints, so that opening reads little.
            if os.fstat(self._file.fileno()).st_size != (size + blocks) * WIDTH:
                raise _damaged(path)
            self._opening = self._read(size, blocks)
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return self._size

    def close(self) -> None:
        self._file.close()

    def holds(self, ascending: Sequence[int]) -> list[int]:
        """Those of the fingerprints, given in ascending order, that are in the run."""
        try:
            return _words.holds(self._file, self._size, self._opening, self._block, array("Q", ascending))
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


def write(path: Path, pieces: Iterable[array[int]]) -> Generator[int, None, None]:
    """Write a run, ascending over all pieces; yields its size so far after each, the last time when all is durable.

    Raises:
        OSError: it cannot be written; nothing is left behind, nor where the iterator is closed before its end.
    """
    opening = array("Q")
    size = synced = 0
    try:
        with path.open("wb") as file:
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


def merge(runs: Sequence[Run]) -> Iterator[array[int]]:
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
    return StorageError(f"{path} is damaged", hint="it was changed from outside: start anew in another folder")
