"""Where a run writes down waits at once that no commit has remembered yet: see run/waits.py."""

from pathlib import Path
from typing import Protocol

from comity.files import open_regular, read_regular
from comity.frontier.durable import translate_os_errors


class WaitJournal(Protocol):
    """Keeps lines that no commit has remembered yet, each from the moment it is added."""

    def add(self, line: bytes) -> None:
        """Keep one more line. What goes wrong is raised by `check`."""

    def check(self) -> None:
        """Raises StorageError where a line could not be kept."""

    def clear(self) -> None:
        """Forget all that was added."""

    def lines(self) -> list[bytes]:
        """What is kept, the oldest first."""

    def close(self) -> None: ...


class WaitJournalFile:
    """The same in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._trouble: OSError | None = None
        with translate_os_errors(path):
            self._file = open_regular(path, "ab", buffering=0)

    def add(self, line: bytes) -> None:
        try:
            self._file.write(line)
        except OSError as error:
            self._trouble = self._trouble or error

    def check(self) -> None:
        with translate_os_errors(self._path):
            if self._trouble is not None:
                raise self._trouble

    def clear(self) -> None:
        with translate_os_errors(self._path):
            self._file.truncate(0)

    def lines(self) -> list[bytes]:
        with translate_os_errors(self._path):
            return read_regular(self._path).split(b"\n")[:-1]  # what has no end was cut short by a crash

    def close(self) -> None:
        self._file.close()
