"""A file that only grows, and that is cut back to the length last committed when it is opened again.

The ground on which every sink with plain files stands. It never reads what it wrote.
"""

import os
from contextlib import suppress
from pathlib import Path

from comity.errors import StorageError
from comity.frontier.database import system_error
from comity.frontier.durable import sync_folder

MOST_HELD = 1024 * 1024  # bytes held in memory, about


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
        try:
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise system_error(error, path.parent) from error
        try:
            self.length = self._file.tell()
            if self.length < committed:
                raise StorageError(
                    f"{path} has {self.length} bytes, {committed} were written",
                    hint="it was changed from outside: start anew in another folder",
                )
            if self.length > committed:
                self._file.truncate(committed)
                self.length = committed
            sync_folder(path.parent)
        except OSError as error:
            self._file.close()
            raise system_error(error, path.parent) from error
        except StorageError:
            self._file.close()
            raise

    def add(self, data: bytes) -> None:
        """Append with the next flush. Much is handed to the system before; it counts only once it is flushed."""
        self._parts.append(data)
        self._held += len(data)
        self.pending += len(data)
        if self._held >= MOST_HELD:
            try:
                self._write()
            except OSError as error:
                raise system_error(error, self.path.parent) from error

    def flush(self) -> int:
        """Write what was added, have the disk keep it, and return the length reached."""
        if self.pending:
            try:
                self._write()
                os.fsync(self._file.fileno())
            except OSError as error:
                raise system_error(error, self.path.parent) from error
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
        rest = memoryview(self._parts[0] if len(self._parts) == 1 else b"".join(self._parts))
        self._parts.clear()
        self._held = 0
        while rest:
            rest = rest[self._file.write(rest) :]
