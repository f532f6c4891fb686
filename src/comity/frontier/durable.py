"""Files that survive a crash: names that the disk keeps, a file that only grows, the disk's errors in words.

A new file survives the loss of power only once its folder has been synced too. A file that only grows is cut back to
the length last committed when it is opened again.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path

from comity.errors import StorageError

LACKING = (errno.EMFILE, errno.ENFILE)  # no file descriptor is left
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def sync_folder(folder: Path) -> None:
    """Ask the disk to keep the names in a folder, where system and permissions have a way to ask.

    Raises:
        OSError: the disk fails.
    """
    if os.name == "nt":
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # a folder that may be written to but not read
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system without such a thing
            raise
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Make a folder, if it is not there, so that it stays.

    Raises:
        StorageError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        sync_folder(folder.parent)
    except OSError as error:
        raise StorageError(
            f"{folder} cannot be made: {error.strerror}", hint="choose another folder with -o"
        ) from error


@contextmanager
def explained_files(path: Path) -> Iterator[None]:
    """Turn what the system says about a file or folder of ours into a StorageError that says what to do."""
    try:
        yield
    except OSError as error:
        raise disk_error(error, path) from error


@contextmanager
def writing_to(path: Path, hint: str = "") -> Iterator[None]:
    """The same for a file outside a crawl that the caller names and could name otherwise, which `hint` says."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise no_room(path, "free some space, then run it again") from error
        raise StorageError(f"{path} cannot be written: {error.strerror or error}", hint=hint) from error


def disk_error(error: OSError, path: Path) -> StorageError:
    """The system's error about a file or folder, in words."""
    if error.errno in _FULL:
        return no_room(path)
    if error.errno in LACKING:
        return _lacking(path, error)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StorageError(
            f"{path} cannot be written: {error.strerror}",
            hint="check its permissions, or choose another folder with -o",
        )
    return StorageError(f"{path}: {error.strerror or error}", hint="check the folder and its permissions")


def no_room(path: Path, hint: str = "free some space, then continue with --resume") -> StorageError:
    return StorageError(f"no room left for {path}", hint=hint)


def no_descriptor(path: Path) -> StorageError | None:
    """The error where a file cannot be opened because this process may open no more, which SQLite does not tell."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return _lacking(path, error) if error.errno in LACKING else None
    return None


def _lacking(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"{path} cannot be opened: {error.strerror}",
        hint="raise this process's limit on open files (ulimit -n), then run again with --resume",
    )


MOST_HELD = 1024 * 1024  # bytes held in memory, about
ALONE = 64 * 1024  # bytes that are written as they are: to join them to others costs more than one more write


class AppendedFile:
    """One output file.

    Attributes:
        length: bytes in the file.
        pending: bytes added since the last flush.

    Args:
        committed: bytes that were committed; what follows them is cut off.

    Raises:
        StorageError: the file cannot be opened or is shorter than what was committed.
    """

    def __init__(self, path: Path, committed: int = 0) -> None:
        self.path = path
        self.pending = 0
        self._parts: list[bytes] = []
        self._held = 0  # bytes of them
        with explained_files(path.parent):
            self._file = path.open("ab", buffering=0)
            try:
                self.length = self._file.tell()
                if self.length < committed:
                    raise StorageError(
                        f"{path} has {self.length} bytes, {committed} were written",
                        hint="another program changed it; start a new crawl in another folder",
                    )
                if self.length > committed:
                    self._file.truncate(committed)
                    self.length = committed
                sync_folder(path.parent)
            except BaseException:
                self._file.close()
                raise

    def add(self, data: bytes) -> None:
        """Append with the next flush. Much is handed to the system before; it counts only once it is flushed."""
        size = len(data)
        self._parts.append(data)
        self._held += size
        self.pending += size
        if self._held >= MOST_HELD:
            with explained_files(self.path.parent):
                self._write()

    def flush(self) -> int:
        """Write what was added, have the disk keep it, and return the length reached."""
        if self.pending:
            with explained_files(self.path.parent):
                self._write()
                os.fsync(self._file.fileno())
            self.length += self.pending
            self.pending = 0
        return self.length

    def close(self) -> None:
        """Close the file; what was not flushed is dropped."""
        try:
            if self.pending > self._held:
                with suppress(OSError):  # else it is cut off when the file is opened again
                    self._file.truncate(self.length)
        finally:
            self._file.close()

    def _write(self) -> None:
        parts, self._parts, self._held = self._parts, [], 0
        has_large = max(map(len, parts), default=0) >= ALONE
        for large, run in groupby(parts, lambda part: len(part) >= ALONE) if has_large else ((False, parts),):
            for data in run if large else (b"".join(run),):
                rest = memoryview(data)
                while rest:
                    rest = rest[self._file.write(rest) :]
