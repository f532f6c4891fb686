"""The disk's errors in words, and folders that stay."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from comity.errors import InputError, StorageError, StorageFull
from comity.files import sync_folder, write_where_named

LACKING = (errno.EMFILE, errno.ENFILE)  # no file descriptor is left
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def make_folder(folder: Path, *, parents: bool = True) -> None:
    """Make a folder, if it is not there, so that it stays; a StorageError says that it cannot be made. `parents`: with
    those that it lies in."""
    try:
        folder.mkdir(parents=parents, exist_ok=True)
        sync_folder(folder.parent)
    except OSError as error:
        raise StorageError(
            f"{folder} cannot be made: {error.strerror}", hint="choose another folder with -o"
        ) from error


class Anchor:
    """Whether the path of a file of a crawl's still leads to the file that is open: a folder may be moved or removed
    under it, and another crawl may begin where it was."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._opened = os.fstat(descriptor)

    def holds(self) -> bool:
        """Whether it does. As long as the file is open no other is taken for it."""
        try:  # as `translate_os_errors`, which costs more than to look: it is asked before each request
            return os.path.samestat(self._opened, self._path.stat())
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise disk_error(error, self._path) from error

    def check(self) -> None:
        """Raises StorageError where it does not."""
        if not self.holds():
            raise StorageError(
                f"{self._path.parent} was moved, removed or replaced while this crawl wrote to it, so it ends here",
                hint="continue where the folder is now, with --resume",
            )


@contextmanager
def translate_os_errors(path: Path) -> Iterator[None]:
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


def write_named(path: Path, data: bytes) -> None:
    """Write a file that the caller names; a StorageError says that it cannot be written."""
    with writing_to(path):
        write_where_named(path, data)


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
    return StorageFull(f"no room left for {path}", hint=hint)


def of_another_version(what: object, theirs: object, ours: int) -> StorageError:
    """What was kept has another format than this version reads; byte order is a part of it."""
    return StorageError(
        f"{what} was created by another version of comity, or on another kind of machine: it has format {theirs}, and "
        f"comity {version('comity')} here reads {ours}",
        hint="continue with that version, or start a new crawl elsewhere",
    )


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


def no_crawl(where: object, hint: str = "name the folder given to comity crawl -o") -> InputError:
    """The error that no crawl lies in a folder or a store."""
    return InputError(f"no crawl in {where}", hint=hint)
