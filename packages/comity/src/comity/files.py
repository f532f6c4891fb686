"""Files in folders that may be anybody's: opened only where they are regular ones, never through a link, and replaced
as a whole. A pipe would be waited for; through a link another file would be read, or written to.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader, BufferedWriter, FileIO
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, overload

_UNFOLLOWED: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
NOT_REGULAR: Final = "it is not a regular file"


@overload
def open_regular(path: Path, mode: Literal["rb"] = "rb") -> BufferedReader: ...
@overload
def open_regular(path: Path, mode: Literal["xb"]) -> BufferedWriter: ...
@overload
def open_regular(path: Path, mode: Literal["rb", "ab", "a+b"] = "rb", *, buffering: Literal[0]) -> FileIO: ...
def open_regular(path: Path, mode: str = "rb", *, buffering: int = -1) -> Any:
    """Open a file as `open` does, if it is a regular one or, to be written, is made now; else an OSError says that it
    is none. Links are not followed."""
    return open(path, mode, buffering, opener=_opened)


def check_regular(path: Path) -> None:
    """See that a path leads to a regular file, or to none, without opening it; else an OSError."""
    try:
        found = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    if not stat.S_ISREG(found):
        raise OSError(errno.EINVAL, NOT_REGULAR, str(path))


@contextmanager
def closed_on_error(opened: Any) -> Iterator[None]:
    """Close what was opened where the block raises."""
    try:
        yield
    except BaseException:
        opened.close()
        raise


def check_within(path: Path, folder: Path) -> None:
    """See that a path does not leave a folder by a link on its way; else an OSError."""
    if not path.resolve().is_relative_to(folder.resolve()):
        raise OSError(errno.EINVAL, "a link leads out of the folder", str(path))


def _opened(path: str, flags: int) -> int:
    try:
        descriptor = os.open(path, flags | _UNFOLLOWED, 0o666)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EMLINK):  # a link; a socket, or a pipe that nobody reads
            raise OSError(errno.EINVAL, NOT_REGULAR, path) from error
        raise
    if not stat.S_ISREG(mode := os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise (
            IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
            if stat.S_ISDIR(mode)
            else OSError(errno.EINVAL, NOT_REGULAR, path)
        )
    return descriptor


def read_regular(path: Path, most: int = -1) -> bytes:
    """Return what a regular file holds; an OSError as of `open_regular`, or that it has more bytes than `most`."""
    with open_regular(path) as file:
        data = file.read(most + 1 if most >= 0 else -1)
    if 0 <= most < len(data):
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
    return data


def made_anew(path: Path) -> BufferedWriter:
    """Return a new file, opened for writing in the place of whatever has its name."""
    path.unlink(missing_ok=True)  # of a run that was killed; or a link, through which nothing is written
    return open_regular(path, "xb")


@contextmanager
def written_anew(path: Path, temporary: Path | None = None, *, synced: bool = True) -> Iterator[BinaryIO]:
    """Yield a file of a folder that takes the place of another at the end of the block, once the disk has all of it
    (where it is `synced`). Where that fails, what was there stays. A link in its place is replaced, and not followed.
    """
    temporary = temporary or path.with_name(f"{path.name}.new")
    try:
        with made_anew(temporary) as file:
            yield file
            file.flush()
            if synced:
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    if synced:
        sync_folder(path.parent)


def write_anew(path: Path, data: bytes, *, synced: bool = True) -> None:
    """As `written_anew`, of data that is there already."""
    with written_anew(path, synced=synced) as file:
        file.write(data)


@contextmanager
def written_where_named(path: Path) -> Iterator[BinaryIO]:
    """Yield the same of a file that the operator names, who may mean a link, a pipe or a device: what it leads to is
    written to, and only a regular file is replaced; it keeps its permissions."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        with path.open("wb") as file:
            yield file
        return
    with written_anew(path.resolve()) as file:
        if mode is not None and hasattr(os, "fchmod"):
            os.fchmod(file.fileno(), stat.S_IMODE(mode))
        yield file


def write_where_named(path: Path, data: bytes) -> None:
    """As `written_where_named`, of data that is there already."""
    with written_where_named(path) as file:
        file.write(data)


def sync_folder(folder: Path) -> None:
    """Ask the disk to keep the names in a folder, where system and permissions have a way to ask."""
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
