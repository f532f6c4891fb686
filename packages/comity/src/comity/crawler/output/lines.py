"""Output as JSON Lines, a file for each channel. What a plug-in made of the pages goes to `records.jsonl`, what a
refresh found out to `changes.jsonl`; these are there only if there are such records. orjson writes the lines where it
is installed (extra `speed`), the standard library elsewhere: the lines are the same. A file only grows; it is cut back
to the length last committed when it is opened again."""

import json
import os
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from io import BufferedWriter
from pathlib import Path
from typing import Any, Final

from comity.crawler.output.reader import CHECKED, StoredRecord, from_lines
from comity.crawler.output.sink import CHANNELS, Channel, Received
from comity.crawler.output.source import Source
from comity.errors import StorageError
from comity.files import open_regular, sync_folder
from comity.frontier.durable import disk_error, translate_os_errors
from comity_pages._utf8 import json_string

try:
    import orjson
except ImportError:
    orjson = None  # type: ignore[assignment]

_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_escaped = json.JSONEncoder(separators=(",", ":")).encode

_ON_DEMAND: tuple[Channel, ...] = ("unwanted", "sitemaps", "requisites", "records", "changes", "links")
SUFFIX: Final = ".jsonl"
MAX_BUFFER_BYTES: Final = 128 * 1024  # bytes held in memory; what is larger is written as it is


class AppendedFile:
    """One output file of `length` bytes, and those that are `pending` since the last flush; what follows those that
    were `committed` is cut off. A StorageError: it cannot be opened or is shorter than what was committed."""

    def __init__(self, path: Path, committed: int = 0) -> None:
        self.path = path
        self.pending = 0
        with translate_os_errors(path.parent):
            self._unbuffered = open_regular(path, "ab", buffering=0)
            self._file = BufferedWriter(self._unbuffered, MAX_BUFFER_BYTES)
            try:
                self.length = self._file.tell()
                if self.length < committed:
                    raise StorageError(
                        f"{path} has {self.length} bytes, {committed} were written",
                        hint="another program changed it; start a new crawl in another folder",
                    )
                if self.length > committed:
                    self._file.truncate(committed)
                    self.length = committed
                sync_folder(path.parent)
            except BaseException:
                self._unbuffered.close()
                raise

    @property
    def descriptor(self) -> int:
        """That by which it is open."""
        return self._unbuffered.fileno()

    def add(self, data: bytes) -> None:
        """Append with the next flush. Much is handed to the system before; it counts only once it is flushed."""
        self.pending += len(data)
        try:  # as `translate_os_errors`, which costs as much as a line does
            self._file.write(data)
        except OSError as error:
            raise disk_error(error, self.path.parent) from error

    def flush(self) -> int:
        """Write what was added, have the disk keep it, and return the length reached."""
        if self.pending:
            with translate_os_errors(self.path.parent):
                self._file.flush()
                os.fsync(self._file.fileno())
            self.length += self.pending
            self.pending = 0
        return self.length

    def close(self) -> None:
        """Close the file; what was not flushed is dropped."""
        try:
            if self.pending:
                with suppress(OSError):  # else it is cut off when the file is opened again
                    self._unbuffered.truncate(self.length)
        finally:
            self._unbuffered.close()


class JsonLines:
    """One file for each channel, named with `suffix`; the marker is the length of each. `opened` opens a file, cut back
    to what was committed of it, to append to it."""

    in_utf8 = True

    def __init__(self, suffix: str = SUFFIX, opened: Callable[[Path, int], AppendedFile] = AppendedFile) -> None:
        self._suffix = suffix
        self._opened = opened
        self._files: dict[Channel, AppendedFile] = {}
        self._folder = Path()
        self.pending = 0

    def open(self, folder: Path, committed: Any) -> None:
        lengths: dict[str, int] = committed or {}
        self._folder = folder
        for channel in CHANNELS:
            path = folder / f"{channel}{self._suffix}"
            if channel not in _ON_DEMAND or lengths.get(channel) or path.exists():
                self._files[channel] = self._opened(path, lengths.get(channel, 0))

    def add(self, channel: Channel, record: Mapping[str, Any], answer: Received | None = None) -> None:
        file = self._files.get(channel)
        if file is None:
            file = self._files[channel] = self._opened(self._folder / f"{channel}{self._suffix}", 0)
        data = line(record, channel)
        file.add(data)
        self.pending += len(data)

    def flush(self, *, final: bool) -> dict[str, int]:
        lengths: dict[str, int] = {channel: file.flush() for channel, file in self._files.items()}
        self.pending = 0
        return lengths

    def close(self) -> None:
        for file in self._files.values():
            file.close()


class ExactLines(JsonLines):
    """The same; a body whose text is not spelt as it was served is kept as it was served."""

    exact = True


def read_jsonl(
    folder: Path,
    committed: Mapping[str, int] | None = None,
    *,
    suffix: str = SUFFIX,
    channels: Sequence[Channel] = CHECKED,
    naming: Sequence[bytes] = (),
) -> Iterator[StoredRecord]:
    """What lies in the files, up to what was committed where that is said; `naming` as of `read_lines`."""
    for channel in channels:
        path = folder / f"{channel}{suffix}"
        if channel not in _ON_DEMAND or path.exists():
            until = None if committed is None else committed.get(channel, 0)
            yield from from_lines(path, channel, until=until, naming=naming)


def write(source: Source, folder: Path) -> None:
    """An export: one file for each channel, of all parts."""
    write_lines(source.records(), folder)


def write_lines(records: Iterable[tuple[Channel, dict[str, Any]]], folder: Path) -> None:
    """The records of an export, each in the file of its channel."""
    folder.mkdir(exist_ok=True)
    sink = JsonLines()
    sink.open(folder, None)
    with closing(sink):
        for channel, record in records:
            if "body_bytes" in record:
                body = record.pop("body_bytes")
                record["body_base64"] = None if body is None else b64encode(body).decode("ascii")
            sink.add(channel, record)
        sink.flush(final=True)


def line(record: Mapping[str, Any], channel: Channel) -> bytes:
    """A record as one line of UTF-8. Bytes of a header that are no text, in Python surrogates, are escaped.

    A `body` may be a text in UTF-8, as bytes: it is then the last field.
    """
    if isinstance(body := record.get("body"), bytes):
        rest = dict(record)
        del rest["body"]
        head = line(rest, channel)
        if head.isascii() and b"\\ud" in head:  # perhaps surrogates: then all of the line is escaped
            return line({**record, "body": body.decode("utf-8", "replace")}, channel)
        return json_string(body, head[:-2] + b',"body":', b"}\n")
    if orjson is not None and channel != "records":  # a plug-in may hand in what orjson knows and JSON does not
        try:
            return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
        except TypeError:  # surrogates
            pass
    try:
        return _text(record).encode() + b"\n"
    except UnicodeEncodeError:
        return _escaped(record).encode() + b"\n"
