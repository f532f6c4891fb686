"""Output as plain files: each page's body as served, under `files/`, with `pages.jsonl` as the index.

The index is written first and names each file, so that after a crash the files of pages that were not committed are
known, and are removed when the index is cut back. The other channels are JSON Lines.
"""

import base64
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from comity.crawler.sinks import Answer, Channel
from comity.crawler.sinks.jsonl import JsonLines
from comity.crawler.sinks.jsonl import read_back as read_index
from comity.crawler.sinks.names import name_of
from comity.crawler.sinks.stored import Stored
from comity.frontier.durable import sync_folder

FOLDER = "files"
SIDE_BY_SIDE = 16  # files that the disk is asked to keep at once: it takes many in hardly more time than one


class Files:
    """Plain files and an index; the marker is the lengths of the JSON Lines files."""

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

    def add(self, channel: Channel, record: Mapping[str, Any], answer: Answer | None = None) -> None:
        if channel == "pages":
            body = answer.body if answer is not None else _body(record)
            name = name_of(record["url"], record.get("content_type", ""), refresh=record.get("refresh", 0))
            self._bodies[name] = body
            self._size += len(body)
            if not record.get("rendered"):  # that is another text than the one served
                record = {key: value for key, value in record.items() if key not in ("body", "body_base64")}
            record = {**record, "file": f"{FOLDER}/{name}"}
        self._index.add(channel, record, answer)

    def flush(self, *, final: bool) -> dict[str, int]:
        lengths = self._index.flush(final=final)
        folders: set[Path] = set()
        for name in self._bodies:
            folder = (self._root / name).parent
            folders |= {folder, *_make_folders(folder, self._root.parent)}
        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            for _ in pool.map(self._write, self._bodies.items()):
                pass
        for folder in folders:
            sync_folder(folder)
        self._bodies.clear()
        self._size = 0
        return lengths

    def close(self) -> None:
        self._index.close()

    def _write(self, item: tuple[str, bytes]) -> None:
        name, body = item
        with (self._root / name).open("wb", buffering=0) as file:
            rest = memoryview(body)
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(file.fileno())


def read_back(folder: Path) -> Iterator[Stored]:
    """What lies in the index, and whether each page's file is the one that it names."""
    for stored in read_index(folder):
        if stored.channel != "pages" or stored.number is None or stored.problem is not None:
            yield stored
            continue
        name = str(stored.record.get("file"))
        try:
            if not _is_ours(name.removeprefix(f"{FOLDER}/")):
                raise ValueError(name)
            with (folder / name).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except (OSError, ValueError):
            yield replace(stored, problem=f"its file is not there: {name[:300]!r}")
        else:
            yield replace(stored, intact=found == stored.record.get("sha256"))


def _make_folders(folder: Path, top: Path) -> set[Path]:
    """Make a folder; returns those in which an entry was made on the way."""
    touched = set()
    missing = folder
    while missing != top and not missing.exists():
        touched.add(missing.parent)
        missing = missing.parent
    folder.mkdir(parents=True, exist_ok=True)
    return touched


def _uncommitted(index: Path, committed: int) -> Iterator[str]:
    """The files named beyond the committed length. Names from elsewhere than `name_of` are left alone."""
    if not index.exists():
        return
    with index.open("rb") as lines:
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


def _body(record: Mapping[str, Any]) -> bytes:
    if "body_base64" in record:
        return base64.b64decode(record["body_base64"])
    return str(record.get("body", "")).encode("utf-8", "surrogatepass")
