"""Reading back what a crawl wrote, for those who check it: JSON Lines, and one shape for the records of every format.

Each format's module has a function that gives its records one at a time. Nobody vouches for the files: what cannot be
read comes back as a problem in words.
"""

import base64
import codecs
import gzip
import io
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, NoReturn, cast

from comity.crawler.output.sink import Channel
from comity.digests import sha256_of
from comity.errors import InputError
from comity.files import open_regular
from comity_pages._extras import need

MAX_LINE_BYTES = 256 * 1024 * 1024  # bytes of one line
_PACKED = 4 * 1024  # bytes unpacked at a time: they may become ten thousand times as many
_LARGEST = 1e15  # of a number; times are Unix seconds

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class JsonLine:
    """One line of a file: its number, counted from 1, where it starts, its record or what is wrong, and its bytes."""

    number: int
    offset: int
    record: JsonObject
    problem: str | None = None
    data: bytes = b""


def read_lines(
    path: Path, *, after: tuple[int, int] = (0, 0), until: int | None = None, naming: Sequence[bytes] = ()
) -> Iterator[JsonLine]:
    """The lines of a file, one at a time; one whose name ends in `.gz` or `.zst` is unpacked. An InputError says that
    it cannot be read.

    Args:
        after: bytes and lines that are passed over, of a file that is not packed.
        until: bytes of the file, as it lies on the disk, that are read; None for all.
        naming: lines that contain none of these are passed over unread.
    """
    offset, number = after
    try:
        with ExitStack() as stack:
            file = _unpacked(path, stack.enter_context(open_until(path, until, after=offset)))
            stack.enter_context(file)
            while data := file.readline(MAX_LINE_BYTES):
                number += 1
                if not naming or any(each in data for each in naming):
                    record, problem = load(data)
                    yield JsonLine(number, offset, record, problem, data)
                offset += len(data)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        yield JsonLine(number + 1, offset, {}, f"it cannot be unpacked: {error}")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


def open_until(path: Path, until: int | None, *, after: int = 0) -> io.BufferedReader:
    """A file opened for reading after so many bytes, as if it had `until` bytes and no more; None: as it is."""
    file = open_regular(path, buffering=0)
    file.seek(after)
    return io.BufferedReader(file if until is None else _Until(file, until - after))


class _Until(io.RawIOBase):
    """The next bytes of a file."""

    def __init__(self, file: io.RawIOBase, length: int) -> None:
        self._file = file
        self._left = max(length, 0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._file.readinto(memoryview(buffer)[: self._left]) or 0
        self._left -= count
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def _unpacked(path: Path, file: BinaryIO) -> BinaryIO:
    if path.suffix == ".gz":
        return cast(BinaryIO, gzip.GzipFile(fileobj=file, mode="rb"))
    if path.suffix == ".zst":
        return cast(BinaryIO, io.BufferedReader(_Zstd(path.name, file)))
    return file


class _Zstd(io.RawIOBase):
    """The content of all frames of a file; an EOFError says that the last one is cut short, or one is damaged."""

    def __init__(self, name: str, file: BinaryIO) -> None:
        zstd = need("zstandard", "zstd", f"{name} is packed by Zstandard: to read it")
        self._error = zstd.ZstdError
        self._file = file
        self._frames = zstd.ZstdDecompressor()
        self._frame: Any = None  # the one that is being read
        self._read = b""  # what was read of the file and not unpacked
        self._made = memoryview(b"")  # what was unpacked and not handed out

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._made:
            if not (data := self._read or self._file.read(_PACKED)):
                if self._frame is not None:
                    raise EOFError("it is cut short")
                return 0
            self._frame = self._frame or self._frames.decompressobj()
            try:
                self._made = memoryview(self._frame.decompress(data))
            except self._error as error:
                raise EOFError(str(error)) from None
            self._read = b""
            if self._frame.eof:
                self._read, self._frame = self._frame.unused_data, None
        size = min(len(buffer), len(self._made))
        buffer[:size], self._made = self._made[:size], self._made[size:]
        return size


def load(data: bytes) -> tuple[JsonObject, str | None]:
    """The record that a line holds; an empty one, and why, where it holds none."""
    if not data.endswith(b"\n"):
        return {}, "the line is cut short"
    try:
        record = _DECODER.decode(data.decode().removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return {}, "the line is not JSON"
    return (record, None) if isinstance(record, dict) else ({}, "the line is not a JSON object")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse)  # made once: `json.loads` would make one for each line
Shape = Mapping[str, tuple[type, ...]]
_KINDS: Final[dict[str, type]] = {"text": str, "count": int, "number": float, "object": dict, "list": list}


def shape(fields: str) -> Shape:
    """The types of a record's fields, written as `url:text status:count?`; with a question mark it may be null."""
    found: dict[str, tuple[type, ...]] = {}
    for each in fields.split():
        name, _, kind = each.partition(":")
        found[name] = (_KINDS[kind.removesuffix("?")], *((type(None),) if kind.endswith("?") else ()))
    return found


def wrong_field(record: Mapping[str, Any], shape: Shape) -> str | None:
    """The name of the first field that is missing or not of its type."""
    for name, kinds in shape.items():
        if name not in record or not _fits(record[name], kinds):
            return name
    return None


def _fits(value: object, kinds: tuple[type, ...]) -> bool:
    if isinstance(value, bool):
        return bool in kinds
    if isinstance(value, int):
        return (int in kinds or float in kinds) and abs(value) < _LARGEST
    return isinstance(value, kinds) and (not isinstance(value, float) or abs(value) < _LARGEST)


CHECKED: Final[tuple[Channel, ...]] = (
    "pages", "redirects", "failures", "unwanted", "refusals", "changes", "robots", "sitemaps", "requisites",
    "traps",
)  # fmt: skip
_MARKS = (b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_MALFORMED = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """One record of an output.

    Attributes:
        channel: None where a file is damaged so that this cannot be told.
        file: its name, in the crawl's folder.
        number: of the record in that file, counted from 1; None: the file is not there.
        record: as it was written, with `decision` as in JSON Lines; without body.
        intact: whether the body kept is the one that `sha256` names; None where that cannot be told, since there is
            none, or only a text that is not spelt as it was served, or was rendered.
        problem: what is wrong with it.
    """

    channel: Channel | None
    file: str
    number: int | None
    record: dict[str, Any] = field(default_factory=dict)
    intact: bool | None = None
    problem: str | None = None


def from_lines(
    path: Path, channel: Channel, *, until: int | None = None, naming: Sequence[bytes] = ()
) -> Iterator[StoredRecord]:
    """The records of a file of JSON Lines; `until` and `naming` as of `read_lines`."""
    if not path.exists():
        yield StoredRecord(channel, path.name, None)
        return
    for line in read_lines(path, until=until, naming=naming):
        problem = line.problem
        intact = None if problem else is_intact(line.record)
        yield StoredRecord(channel, path.name, line.number, line.record, intact, problem)


def body_of(record: Mapping[str, Any]) -> bytes:
    """The body in a page's record, one that is there as text in UTF-8; empty where there is none, or it is damaged."""
    if isinstance(body := record.get("body_bytes"), bytes):
        return body
    if (encoded := record.get("body_base64")) is not None:
        try:
            return base64.b64decode(str(encoded))
        except ValueError:
            return b""
    return body if isinstance(body := record.get("body"), bytes) else str(body or "").encode("utf-8", "surrogatepass")


def is_intact(record: Mapping[str, Any]) -> bool | None:
    """Whether the body in a record, as bytes, as base64 or as text, has the hash that the record names."""
    sha256 = record.get("sha256")
    body: object = record.get("body_bytes")
    if (encoded := record.get("body_base64")) is not None:
        try:
            body = base64.b64decode(str(encoded), validate=True)
        except ValueError:
            return False
    if isinstance(body, bytes):
        return sha256_of(body) == sha256 or (sha256 is None and not body)
    text = record.get("body")
    if isinstance(text, str) and record.get("rendered"):  # made here: the ledger knows only what was served
        made = sha256_of(text.encode("utf-8", "surrogatepass"))
        return None if made == record.get("rendered_sha256") else False
    return _is_spelt(text, record.get("encoding"), sha256) if isinstance(text, str) else None


def _is_spelt(text: str, encoding: object, sha256: object) -> bool | None:
    """Whether a text is that of a body, which was served in some encoding."""
    bodies = [text.encode("utf-8", "surrogatepass")]
    codec = None
    if isinstance(encoding, str):
        with suppress(LookupError, ValueError):
            codec = codecs.lookup(encoding).name
    if isinstance(encoding, str) and codec not in (None, "utf-8"):
        try:
            bodies.append(text.encode(encoding))
        except (LookupError, UnicodeError):  # LookupError: of a codec that is for no text
            return None
    if any(sha256_of(mark + body) == sha256 for body in bodies for mark in _MARKS):
        return True
    exact = codec in ("utf-8", "utf-16-le", "utf-16-be")  # one way to spell a text
    return False if exact and _MALFORMED not in text else None
