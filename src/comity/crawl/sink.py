"""Output as JSON Lines: pages, refusals, failures, redirects and the robots.txt files met, one file each.

Records are appended in memory and made durable together with the frontier: `flush` writes them, asks the disk to
keep them, and returns the lengths reached, which the frontier stores in the same transaction as the URLs' new state.
`open` cuts every file back to the length last committed, so a record is neither lost nor written twice.
"""

import errno
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Literal, Self

from comity.errors import StorageError

Channel = Literal["pages", "refusals", "failures", "redirects", "robots"]
CHANNELS: tuple[Channel, ...] = ("pages", "refusals", "failures", "redirects", "robots")


class JsonLines:
    """The output files of one crawl folder.

    Attributes:
        pending: bytes of records that wait for the next flush.

    Args:
        lengths: bytes of each file that were committed; what follows them is cut off.

    Raises:
        StorageError: a file cannot be opened or is shorter than what was committed.
    """

    def __init__(self, folder: Path, lengths: Mapping[str, int]) -> None:
        self._folder = folder
        self._files: dict[Channel, BinaryIO] = {}
        self.pending = 0
        self._pending: dict[Channel, list[bytes]] = {channel: [] for channel in CHANNELS}
        try:
            for channel in CHANNELS:
                path = folder / f"{channel}.jsonl"
                file = path.open("ab")
                self._files[channel] = file
                committed = lengths.get(channel, 0)
                if file.tell() < committed:
                    raise StorageError(
                        f"{path} has {file.tell()} bytes, {committed} were written",
                        hint="it was changed from outside: start anew in another folder",
                    )
                file.truncate(committed)
        except OSError as error:
            self.close()
            raise _explained(error, folder) from error
        except StorageError:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files; what was not flushed is dropped, as after a crash."""
        for file in self._files.values():
            file.close()

    def add(self, channel: Channel, record: Mapping[str, Any]) -> None:
        """Append a record to a channel's file with the next flush."""
        line = json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
        self._pending[channel].append(line)
        self.pending += len(line)

    def flush(self) -> dict[str, int]:
        """Make everything added durable and return the length of each file."""
        try:
            for channel, lines in self._pending.items():
                if lines:
                    file = self._files[channel]
                    file.write(b"".join(lines))
                    file.flush()
                    os.fsync(file.fileno())
                    lines.clear()
            self.pending = 0
            return {channel: file.tell() for channel, file in self._files.items()}
        except OSError as error:
            raise _explained(error, self._folder) from error


def _explained(error: OSError, folder: Path) -> StorageError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return StorageError(f"no room left in {folder}", hint="free some, then run again with --resume")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StorageError(f"{folder} cannot be written: {error.strerror}", hint="choose another folder with -o")
    return StorageError(f"{folder}: {error.strerror or error}")
