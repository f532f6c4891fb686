"""Where an export goes: a folder, or what fsspec reaches (S3 and its kind). It is written elsewhere first, as a whole,
and then takes its place file by file; a manifest says whether it is complete, what belongs to it and what it was made
of. What is in that place and is no export of the same crawl is left alone."""

import filecmp
import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Final

from comity.errors import ComityError, InputError, StorageError
from comity.files import open_regular, read_regular, sync_folder, write_anew
from comity.frontier.durable import make_folder, translate_os_errors
from comity.frontier.sqlite.database import lock
from comity_pages._extras import need

MANIFEST: Final = "export.json"
_ELSEWHERE: Final = "choose another place with -o, or move it away"


class Folder:
    """A folder of this machine. `read` gives None where a file is not there; `take` takes a file away; `has_another`
    says whether one of that name is there that is not the same."""

    AT_ONCE: ClassVar = 16  # files that are taken side by side: the disk keeps many in hardly more time than one

    def __init__(self, path: Path) -> None:
        self._path = path

    def has(self, name: str) -> bool:
        return os.path.lexists(self._path / name)

    def has_another(self, name: str, file: Path) -> bool:
        return self.has(name) and not filecmp.cmp(file, self._path / name, shallow=False)

    def read(self, name: str) -> bytes | None:
        return read_regular(self._path / name) if self.has(name) else None

    def write(self, name: str, data: bytes) -> None:
        write_anew(self._path / name, data)

    def take(self, file: Path, name: str) -> None:
        with open_regular(file, "ab", buffering=0) as opened:
            os.fsync(opened.fileno())
        (self._path / name).parent.mkdir(parents=True, exist_ok=True)
        file.replace(self._path / name)
        sync_folder((self._path / name).parent)

    def remove(self, name: str) -> None:
        (self._path / name).unlink(missing_ok=True)


class Remote:
    """The same of what fsspec reaches."""

    AT_ONCE: ClassVar = 1  # its libraries are not all made for more

    def __init__(self, fs: Any, root: str) -> None:
        self._fs, self._root = fs, root.rstrip("/")

    def has(self, name: str) -> bool:
        return bool(self._fs.exists(f"{self._root}/{name}"))

    def has_another(self, name: str, file: Path) -> bool:
        return self.has(name)

    def read(self, name: str) -> bytes | None:
        return self._fs.cat_file(f"{self._root}/{name}") if self.has(name) else None

    def write(self, name: str, data: bytes) -> None:
        self._fs.pipe_file(f"{self._root}/{name}", data)

    def take(self, file: Path, name: str) -> None:
        self._fs.put_file(str(file), f"{self._root}/{name}")

    def remove(self, name: str) -> None:
        if self.has(name):
            self._fs.rm_file(f"{self._root}/{name}")


@contextmanager
def opened(where: str) -> Iterator[tuple[Folder | Remote, Path]]:
    """A folder, or what fsspec reaches under a URL, and where to write first; a StorageError says what goes wrong."""
    if "://" not in where:
        folder, work = Path(where), Path(where, ".export.new")
        make_folder(folder)
        with translate_os_errors(folder):
            work.mkdir(exist_ok=True)
            try:
                held = lock(work / "export.lock")
            except sqlite3.OperationalError as error:
                raise StorageError(f"another export writes to {folder} now", hint="wait for it") from error
            try:
                left = work / "made"  # of one that was killed
                shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)
                yield Folder(folder), work
            finally:
                held.close()
                shutil.rmtree(work, ignore_errors=True)
        return
    try:
        fs, root = need("fsspec.core", "remote", f"to write to {where}").url_to_fs(where)
    except (ImportError, ValueError) as error:  # a scheme may need a package of its own
        raise error if isinstance(error, ComityError) else InputError(f"{where}: {error}") from error
    with TemporaryDirectory(prefix="comity-export-") as made:
        try:
            yield Remote(fs, root), Path(made)
        except ComityError:
            raise
        except Exception as error:  # of whatever library has the scheme
            raise StorageError(f"{where}: {type(error).__name__}: {error}") from error


def put(
    target: Folder | Remote, work: Path, name: str, made_of: Mapping[str, Any], write: Callable[[Path], None]
) -> dict[str, Any]:
    """Have an export in a target, whole, and give its manifest: `files` with their sizes. Where it is there already,
    and was made of the same, nothing is done. A StorageError: something else is in its place.

    Args:
        name: of the file that it is; empty where it is a folder.
        made_of: what tells it from another; `crawl` and `to` are those of every export in its place.
        write: writes it to a path.
    """
    manifest = f"{name}.{MANIFEST}" if name else MANIFEST
    try:
        before = json.loads(target.read(manifest) or b"{}")
        old = dict(before.get("files", {}))
    except (ValueError, AttributeError, TypeError, RecursionError):
        before, old = {}, {}
    if old and any(before.get(each) != made_of[each] for each in ("crawl", "to")):
        raise StorageError(f"{manifest} there is of an export of another crawl or format", hint=_ELSEWHERE)
    if {**before, **made_of, "complete": True} == before and all(map(target.has, old)):
        return dict(before)
    made = work / "made"
    write(made)
    files = {path.relative_to(made).as_posix(): path for path in sorted(made.rglob("*")) if path.is_file()}
    files = files or ({name: made} if name else {})
    if taken := [each for each, path in files.items() if each not in old and target.has_another(each, path)]:
        raise StorageError(f"{taken[0]} already exists there and would be overwritten", hint=_ELSEWHERE)
    sizes = {each: path.stat().st_size for each, path in files.items()}

    def say(known: Mapping[str, int], *, complete: bool) -> dict[str, Any]:
        said = {**made_of, "complete": complete, "files": known}
        target.write(manifest, f"{json.dumps(said, indent=1)}\n".encode("ascii"))
        return said

    say({**old, **sizes}, complete=False)  # first: should it break off, what is there is known to be ours
    with ThreadPoolExecutor(target.AT_ONCE) as pool:
        list(pool.map(target.take, files.values(), files))
    for each in old.keys() - files.keys():
        target.remove(each)
    return say(sizes, complete=True)
