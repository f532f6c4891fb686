"""Output as plain files: each page's body as served under `files/`, beside JSON Lines.

`pages.jsonl` is the index. It is written first and names each file, so that after a crash the files of pages that were
not committed are known, and are removed when the index is cut back.

A file's name is relative, of ASCII letters, digits and `.-_~` only, at most MAX_NAME_CHARACTERS long, never one that
Windows reserves, and two URLs never share one, on file systems that ignore case either. A folder is never named as a
file is: every file's name has one `~`, followed by a hash of the URL, and no folder's has any.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from comity.crawler.output.lines import JsonLines, read_jsonl
from comity.crawler.output.reader import StoredRecord, body_of
from comity.crawler.output.sink import Channel, Received
from comity.digests import sha256_of
from comity.files import check_within, made_anew, open_regular, read_regular, sync_folder

if TYPE_CHECKING:
    from mimetypes import MimeTypes

MAX_NAME_CHARACTERS = 180  # characters of the whole name; Windows allows 260 with the folder before it
_MAX_PART_CHARACTERS = 48
_MAX_HOST_CHARACTERS = 64
_FOLDERS = 90  # characters of all folders below the host's, where host and file leave as many
_HASH = 24  # hex digits: 96 bits
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|conin|conout|clock|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)
_EXTENSION = re.compile(r"\.[a-z0-9]{1,8}")
_PREFERRED = {
    "text/html": ".html",
    "application/xhtml+xml": ".xhtml",
    "text/plain": ".txt",
    "text/markdown": ".md",  # older Pythons do not know it by themselves
    "image/jpeg": ".jpg",
}


@cache
def _types() -> "MimeTypes":
    """Python's own table: the system's differ. Made late, for to make it reads the system's too."""
    from mimetypes import MimeTypes

    return MimeTypes()


def name_of(url: str, content_type: str = "", *, refresh: int = 0) -> str:
    """The name of the file of a URL in normal form, with `/` between folders. The media type chooses the extension; the
    URL never does. Each refresh has names of its own."""
    parts = urlsplit(url)
    *folders, last = parts.path.split("/")[1:] or [""]
    hashed = f"{refresh} {url}" if refresh else url
    digest = sha256_of(hashed.encode("utf-8", "surrogatepass"))[:_HASH]
    extension = _PREFERRED.get(content_type) or _types().guess_extension(content_type) or ""
    extension = extension if _EXTENSION.fullmatch(extension) else ".bin"
    file = f"{_safe(last or 'index', _MAX_PART_CHARACTERS)}~{digest}{extension}"
    names = [_safe(parts.netloc.rpartition("@")[2], _MAX_HOST_CHARACTERS)]
    room = min(_FOLDERS, MAX_NAME_CHARACTERS - len(names[0]) - 1 - len(file))
    for folder in folders:
        name = _safe(folder, _MAX_PART_CHARACTERS)
        if len(name) + 1 > room:
            break
        room -= len(name) + 1
        names.append(name)
    return "/".join((*names, file))


def _safe(text: str, longest: int) -> str:
    """A part of a name: neither empty nor of dots, no dot at either end, nothing reserved."""
    name = _UNSAFE.sub("_", text)[:longest].strip(".")
    if not name or _RESERVED.fullmatch(name):
        name = f"_{name}"[:longest].rstrip(".")
    return name


FOLDER = "files"
SIDE_BY_SIDE = 16  # files that the disk is asked to keep at once: it takes many in hardly more time than one


class Files:
    """Plain files and an index; the marker is the lengths of the JSON Lines files."""

    in_utf8 = True

    def __init__(self) -> None:
        self._index = JsonLines()
        self._root = Path()
        self._bodies: dict[str, bytes] = {}
        self._size = 0

    @property
    def pending(self) -> int:
        return self._index.pending + self._size

    def open(self, folder: Path, committed: Any) -> None:
        self._root = folder / FOLDER
        touched = set()
        for name in _uncommitted(folder / "pages.jsonl", (committed or {}).get("pages", 0)):
            path = self._root / name
            if path.exists():
                path.unlink()
                touched.add(path.parent)
        for parent in touched:  # before the index forgets them
            sync_folder(parent)
        self._index.open(folder, committed)

    def add(self, channel: Channel, record: Mapping[str, Any], answer: Received | None = None) -> None:
        if channel == "pages":
            body = answer.body if answer is not None else body_of(record)
            name = name_of(record["url"], record.get("content_type", ""), refresh=record.get("refresh", 0))
            self._bodies[name] = body
            self._size += len(body)
            if not record.get("rendered"):  # that is another text than the one served
                record = {**record, "body": None, "body_base64": None}
            record = {**record, "file": f"{FOLDER}/{name}"}
        self._index.add(channel, record, answer)

    def flush(self, *, final: bool) -> dict[str, int]:
        lengths = self._index.flush(final=final)
        folders: set[Path] = set()
        for name in self._bodies:
            folder = (self._root / name).parent
            folders |= {folder, *_make_folders(folder, self._root.parent)}
        from concurrent.futures import ThreadPoolExecutor  # late: it costs those time who only read

        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            list(pool.map(self._write, self._bodies, self._bodies.values()))
        for folder in folders:
            sync_folder(folder)
        self._bodies.clear()
        self._size = 0
        return lengths

    def close(self) -> None:
        self._index.close()

    def _write(self, name: str, body: bytes) -> None:
        with made_anew(self._root / name) as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())


def read_files(
    folder: Path, committed: Mapping[str, int] | None = None, *, naming: Sequence[bytes] = ()
) -> Iterator[StoredRecord]:
    """What lies in the index, with each page's file as `body_bytes`, and whether it is the one that the index names."""
    for stored in read_jsonl(folder, committed, naming=naming):
        is_page = stored.channel == "pages" and stored.number is not None and stored.problem is None
        if not is_page or stored.record.get("file", "") is None:  # what is no text has no Markdown
            yield stored
            continue
        name = str(stored.record.get("file"))
        try:
            if not _is_ours(name.removeprefix(f"{FOLDER}/")):
                raise ValueError(name)
            check_within(folder / name, folder)
            body = read_regular(folder / name)
        except (OSError, ValueError):
            yield replace(stored, problem=f"its file is not there: {name[:300]!r}")
        else:
            stated = stored.record.get("file_sha256")
            intact = sha256_of(body) == (stated or stored.record.get("sha256"))
            record = stored.record if stated else {**stored.record, "body_bytes": body}
            yield replace(stored, record=record, intact=intact)


def _make_folders(folder: Path, top: Path) -> set[Path]:
    """Make a folder; returns those in which an entry was made on the way."""
    touched = set()
    missing = folder
    while missing != top and not missing.exists():
        touched.add(missing.parent)
        missing = missing.parent
    folder.mkdir(parents=True, exist_ok=True)
    check_within(folder, top)
    return touched


def _uncommitted(index: Path, committed: int) -> Iterator[str]:
    """The files named beyond the committed length. Names from elsewhere than `name_of` are left alone."""
    if not index.exists():
        return
    with open_regular(index) as lines:
        lines.seek(committed)
        for line in lines:
            try:
                name = json.loads(line)["file"].removeprefix(f"{FOLDER}/")
            except (ValueError, KeyError, TypeError, AttributeError):
                continue  # the line was cut by the crash, so none of its flush's files was begun
            if _is_ours(name):
                yield name


def _is_ours(name: str) -> bool:
    """Whether a name stays in the folder, and is one that `name_of` may have given."""
    path = PurePosixPath(name)
    return ".." not in path.parts and not path.is_absolute() and "~" in name
