"""A file that only grows, and that is cut back to the length last committed when it is opened again."""

import errno
import os
from pathlib import Path

from comity.errors import StorageError


class AppendedFile:
    """One file of a crawl folder. What is added waits in memory for `flush`.

    Args:
        committed: bytes that were committed; what follows them is cut off.

    Raises:
        StorageError: the file cannot be opened or is shorter than what was committed.
    """

    def __init__(self, path: Path, committed: int = 0) -> None:
        self.path = path
        self._parts: list[bytes] = []
        try:
            self._file = path.open("ab")
            try:
                length = self._file.tell()
                if length < committed:
                    raise StorageError(
                        f"{path} has {length} bytes, {committed} were written",
                        hint="it was changed from outside: start anew in another folder",
                    )
                self._file.truncate(committed)
            except BaseException:
                self._file.close()
                raise
        except OSError as error:
            raise _explained(error, path.parent) from error

    def add(self, data: bytes) -> None:
        """Append with the next flush."""
        self._parts.append(data)

    def flush(self) -> int:
        """Write what was added, have the disk keep it, and return the length reached."""
        try:
            if self._parts:
                self._file.write(b"".join(self._parts))
                self._file.flush()
                os.fsync(self._file.fileno())
                self._parts.clear()
            return self._file.tell()
        except OSError as error:
            raise _explained(error, self.path.parent) from error

    def close(self) -> None:
        """Close the file; what was not flushed is dropped, as after a crash."""
        try:
            self._file.close()
        except OSError:  # a full disk, which `flush` has told of
            pass


def _explained(error: OSError, folder: Path) -> StorageError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return StorageError(f"no room left in {folder}", hint="free some, then run again with --resume")
    return StorageError(f"{folder}: {error.strerror or error}", hint="check the folder and its permissions")
