"""Making names durable: a new file survives the loss of power only once its folder has been synced too."""

import errno
import os
from pathlib import Path

from comity.errors import StorageError


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
