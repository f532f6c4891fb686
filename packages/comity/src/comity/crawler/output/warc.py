"""Output as WARC 1.1 (ISO 28500:2017), gzipped record by record: what web archives keep and replay.

For every page, redirect and failure that was answered: a response, the request, and a metadata record with the decision
and its evidence. Every robots.txt is a response; a refusal is a metadata record alone. A page that a refresh found
unchanged is a revisit record, which refers to the response kept before. Bodies are stored decoded from their content
coding, unless the crawl keeps them as they came (`raw`); headers that the stored body would belie are kept with the
prefix `X-Crawler-`. Metadata are `application/warc-fields`, which replay tools never take for the page; their field
`comity-record` is JSON. Beside each file lies its index (see cdxj.py).
"""

import base64
import hashlib
import io
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from time import time as now
from typing import Any
from urllib.parse import urlsplit

from comity import times
from comity.crawler.output import cdxj
from comity.crawler.output.lines import AppendedFile, line
from comity.crawler.output.packed import gzipped
from comity.crawler.output.reader import CHECKED, StoredRecord, open_until
from comity.crawler.output.sink import CHANNELS, Channel, Received
from comity.digests import sha256_of
from comity.net.client_settings import secret
from comity.policy import RobotsResult
from comity_pages._extras import need

MAX_RECORD_BYTES = 512 * 1024 * 1024  # that are read back of a record, unpacked
MAX_HEAD_BYTES = 8 * 1024 * 1024  # of it before its body, where warcio sets no bound
_PIECE = 1024 * 1024
ROLL = 1_000_000_000  # bytes: the size of file that the WARC guidelines ask for
_BELIED = frozenset(("content-encoding", "content-length", "transfer-encoding"))
_ABOUT_CONTENT = frozenset(("body", "body_base64"))
_KINDS = {channel: channel if channel == "robots" else channel.removesuffix("s") for channel in CHANNELS}
_PHRASES = {each.value: each.phrase for each in HTTPStatus}
_REVISIT = "http://netpreserve.org/warc/1.1/revisit/"


class Warc:
    """`crawl-00001.warc.gz` and so on. The marker is the number of the last file, its length and that of the journal of
    its index."""

    in_utf8 = True
    keeps_requisites = True

    def __init__(self, *, roll: int = ROLL) -> None:
        self._writer = need("warcio.warcwriter", "warc", "the format warc").WARCWriter
        self._roll = roll
        self._file: AppendedFile | None = None
        self._index: cdxj.Index | None = None
        self._to_index: list[dict[str, Any]] = []  # with the place in the buffer for that in the file
        self._full: list[Path] = []  # files that the next marker does not name: their index needs no journal
        self._number = 1
        self._folder = Path()
        self._buffer = io.BytesIO()
        self._last: tuple[str, str] | None = None  # URL and record id of the response last added

    @property
    def pending(self) -> int:
        return self._buffer.tell()

    def open(self, folder: Path, committed: Any) -> None:
        self._folder = folder
        self._number = committed["file"] if committed else 1
        for path in folder.glob("crawl-*.warc.gz"):
            number = path.name.removeprefix("crawl-").removesuffix(".warc.gz")
            if number.isdigit() and int(number) > self._number:
                path.unlink()
            if number.isdigit() and int(number) != self._number:
                cdxj.remove(path, index=int(number) > self._number)
        self._start_file(*((committed["length"], committed["index"]) if committed else (0, 0)))

    def add(self, channel: Channel, record: Mapping[str, Any], answer: Received | None = None) -> None:
        url = record["from"] if channel == "links" else record["url"]
        if answer is not None and answer.status is not None:
            self._add_exchange(url, answer, revisited=record if record.get("change") == "unchanged" else None)
            if record.get("rendered"):  # the page after its scripts ran: another version of what the response holds
                assert self._last is not None
                version = {"WARC-Refers-To": self._last[1], "Content-Type": "text/html; charset=utf-8"}
                self._write("conversion", url, record["body"].encode(), time=record["fetched_at"], headers=version)
        elif channel not in ("records", "changes", "links"):  # those follow the page they speak of
            self._last = None
        facts = {key: value for key, value in record.items() if key not in _ABOUT_CONTENT}
        said = line(facts, channel).rstrip()
        payload = b"comity-kind: %b\r\ncomity-record: %b\r\n" % (_KINDS[channel].encode(), said)
        time = record.get("fetched_at")
        about = {"WARC-Concurrent-To": self._last[1]} if self._last and self._last[0] == url else {}
        self._write("metadata", url, payload, time=time, headers=about)

    def flush(self, *, final: bool) -> dict[str, int]:
        assert self._file is not None
        assert self._index is not None
        while self._full:
            cdxj.remove(self._full.pop(), index=False)
        start = self._file.length
        if start >= self._roll and self._buffer.tell():
            self._index.sort()
            self.close()
            self._full.append(self._file.path)
            self._number += 1
            body, self._buffer = self._buffer, io.BytesIO()
            self._start_file(0, 0)
            start = self._buffer.tell()
            self._buffer.write(body.getvalue())
        for entry in self._to_index:
            self._index.add(**entry | {"offset": start + entry["offset"]})
        self._to_index.clear()
        self._file.add(self._buffer.getvalue())
        self._buffer = io.BytesIO()
        marker = {"file": self._number, "length": self._file.flush(), "index": self._index.flush()}
        if final:
            self._index.sort()
        return marker

    def close(self) -> None:
        for file in (self._file, self._index):
            if file is not None:
                file.close()

    def _start_file(self, committed: int, indexed: int) -> None:
        path = self._folder / _name(self._number)
        self._file = AppendedFile(path, committed)
        self._index = cdxj.Index(path, indexed)
        if not committed:
            fields = {
                "software": software(),
                "format": "WARC File Format 1.1",
                "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
                "isPartOf": self._folder.resolve().name,
            }
            payload = "".join(f"{name}: {value}\r\n" for name, value in fields.items()).encode()
            self._write("warcinfo", None, payload, headers={"WARC-Filename": path.name})

    def _add_exchange(self, url: str, answer: Received, *, revisited: Mapping[str, Any] | None = None) -> None:
        raw = None if isinstance(answer, RobotsResult) else answer.received
        kind, body = "response", answer.body if raw is None else raw
        head, headers = _head_of_answer(answer, body, coded=raw is not None)
        # What is compressed again may be other bytes of the same content, so of it each answer is kept.
        if revisited is not None and (raw is None or answer.status == 304):
            # 6.7: the head only; the content is in the record referred to
            kind, body = "revisit", b""
            by = "server-not-modified" if answer.status == 304 else "identical-payload-digest"
            date = revisited["previous_fetched_at"]
            headers = {"WARC-Profile": _REVISIT + by, "WARC-Refers-To-Target-URI": url, "WARC-Refers-To-Date": date}
            if answer.status != 304:
                headers["WARC-Payload-Digest"] = _sha1(answer.body)
        if answer.address is not None:
            headers["WARC-IP-Address"] = answer.address
        response = self._write(kind, answer.url, body, head=head, time=answer.fetched_at, headers=headers)
        self._last = (url, response)
        if not isinstance(answer, RobotsResult) and answer.request_headers:
            head, about = _head_of_request(answer.url, answer.request_headers), {"WARC-Concurrent-To": response}
            self._write("request", answer.url, b"", head=head, time=answer.fetched_at, headers=about)

    def _write(
        self,
        kind: str,
        url: str | None,
        payload: bytes,
        *,
        head: bytes = b"",
        time: float | str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> str:
        """Append one record to the buffer and return its id."""
        plain = io.BytesIO()
        writer = self._writer(plain, gzip=False, warc_version="1.1")
        date = time if isinstance(time, str) else times.iso(now() if time is None else time) or ""
        fields = {"WARC-Date": date, "WARC-Block-Digest": _sha1(head, payload), **(headers or {})}
        if head and kind != "revisit":
            fields["WARC-Payload-Digest"] = _sha1(payload)
        start = self._buffer.tell()
        record = writer.create_warc_record(
            url or "",
            kind,
            payload=io.BytesIO(payload),
            length=len(payload),
            warc_headers_dict=fields,
            http_headers=_Head(head) if head else None,
        )
        writer.write_record(record)
        self._buffer.write(gzipped(plain.getbuffer()))
        if kind in ("response", "revisit"):
            found = re.search(rb"\r\ncontent-type:[ \t]*([^\s;]+)", head, re.IGNORECASE)
            mime = "warc/revisit" if kind == "revisit" else found and found[1].decode("latin-1")
            about = {"mime": mime, "status": head.split(b" ", 2)[1].decode("latin-1")}
            about |= {"digest": fields.get("WARC-Payload-Digest"), "length": self._buffer.tell() - start}
            self._to_index.append({"url": url, "date": fields["WARC-Date"], **about, "offset": start})
        return str(record.rec_headers.get_header("WARC-Record-ID"))


def read_back(
    folder: Path, committed: Mapping[str, int] | None = None, *, channels: Sequence[Channel] = CHECKED
) -> Iterator[StoredRecord]:
    """What the metadata records say, each held against the response that it names."""
    iterate = need("warcio.archiveiterator", "warc", "the format warc").ArchiveIterator
    files = sorted(folder.glob("crawl-*.warc.gz"))
    if not files:
        yield StoredRecord(None, _name(1), None)
    last, length = ("", None) if committed is None else (_name(committed.get("file", 1)), committed.get("length", 0))
    for path in files:
        if last and path.name > last:
            break
        until = length if path.name == last else None
        number = 0
        response, body = "", b""  # id and body of the response that came last
        rendered: bytes | None = None  # the same page after its scripts ran
        try:
            with open_until(path, until) as file:
                archive = iterate(file)
                archive.reader.readline = heads = _Heads(archive.reader.readline)
                for record in archive:
                    number += 1
                    heads.left = MAX_HEAD_BYTES
                    if record.rec_type == "response":
                        response = record.rec_headers.get_header("WARC-Record-ID") or ""
                        body, rendered = _content(record), None
                    elif record.rec_type == "conversion":
                        rendered = _content(record)
                    elif record.rec_type == "metadata":
                        named = record.rec_headers.get_header("WARC-Concurrent-To")
                        of_it = body if named and named == response else None
                        stored = _stored(path.name, number, record, of_it, channels)
                        if stored.record.get("rendered") and of_it is not None and rendered is not None:
                            stored.record["body"] = rendered.decode("utf-8", "replace")
                        yield stored
        except Exception as error:  # damage makes warcio raise whatever comes: the words are what matters
            problem = f"it cannot be read: {type(error).__name__}: {error!s:.200}"
            yield StoredRecord(None, path.name, number + 1, problem=problem)


class _Heads:
    """Reads the lines of records' heads in the place of warcio's `readline`, and gives up a head without an end."""

    def __init__(self, readline: Callable[[int], bytes]) -> None:
        self._readline, self.left = readline, MAX_HEAD_BYTES

    def __call__(self, length: int = sys.maxsize) -> bytes:
        data = bytearray()
        while not data.endswith(b"\n") and (piece := self._readline(min(length - len(data), _PIECE))):
            data += piece
            self.left -= len(piece)
            if self.left < 0:
                raise ValueError(f"the head of a record has more than {MAX_HEAD_BYTES:,} bytes")
        return bytes(data)


def _content(record: Any) -> bytes:
    """What a record holds, unpacked: bounded, for a few bytes of an archive may become very many."""
    data, stream = bytearray(), record.content_stream()
    while piece := stream.read(_PIECE):
        data += piece
        if len(data) > MAX_RECORD_BYTES:
            raise ValueError(f"a record has more than {MAX_RECORD_BYTES:,} bytes")
    return bytes(data)


def _name(number: int) -> str:
    return f"crawl-{number:05}.warc.gz"


def _stored(file: str, number: int, metadata: Any, body: bytes | None, channels: Sequence[Channel]) -> StoredRecord:
    """A metadata record; `body` is what it tells of, None where it names none."""
    fields = dict(one.partition(b": ")[::2] for one in _content(metadata).splitlines())
    kind = fields.get(b"comity-kind", b"").decode("utf-8", "replace")
    channel = next((channel for channel in channels if _KINDS[channel] == kind), None)
    if channel is None and kind in _KINDS.values():
        return StoredRecord(None, file, number)
    try:
        facts = json.loads(fields[b"comity-record"])
        assert isinstance(facts, dict)
    except (KeyError, ValueError, RecursionError, AssertionError):
        return StoredRecord(None, file, number, problem="its field comity-record is missing or damaged")
    intact = None
    if body is not None and facts.get("sha256") is not None:
        intact = sha256_of(body) == facts["sha256"]
    if body is not None and channel == "pages":
        facts["body_bytes"] = body
    return StoredRecord(channel, file, number, facts, intact, None if channel else f"its kind {kind[:40]!r} is none")


class _Head:
    """A status or request line with its headers as bytes, which warcio's own would spell anew, in the shape it asks."""

    def __init__(self, head: bytes) -> None:
        self.headers_buff = head

    def compute_headers_buffer(self, _filter: object = None) -> None:
        """Nothing to compute."""


def _head_of_answer(answer: Received, body: bytes, *, coded: bool) -> tuple[bytes, dict[str, str]]:
    """Status line and headers for the body as stored, and what the record's own headers say of it."""
    belied = _BELIED - {"content-encoding"} if coded else _BELIED
    status = answer.status or 0
    pairs: Iterable[tuple[str, str]]
    about: dict[str, str] = {}
    if not isinstance(answer, RobotsResult):
        version, reason, pairs = answer.http_version, answer.reason, answer.all_headers
    else:
        version, reason, pairs = "1.1", _PHRASES.get(status, ""), answer.headers.items()
        if answer.left_out:
            about["WARC-Truncated"] = "length" if answer.body else "unspecified"
    kept = [(f"X-Crawler-{name}" if name.lower() in belied else name, value) for name, value in pairs]
    kept.append(("Content-Length", str(len(body))))
    return _head(f"HTTP/{version} {status} {reason}", kept), about


def _head_of_request(url: str, headers: Mapping[str, str]) -> bytes:
    """Request line and headers, without those that are secrets: archives are passed on."""
    headers = {name: value for name, value in headers.items() if not secret(name)}
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query or url.endswith("?") else "")
    return _head(f"GET {target} HTTP/1.1", headers.items())


def _head(first: str, pairs: Iterable[tuple[str, str]]) -> bytes:
    lines = (first, *(f"{name}: {value}" for name, value in pairs), "", "")
    return "\r\n".join(each.replace("\r", " ").replace("\n", " ") for each in lines).encode("utf-8", "surrogateescape")


def _sha1(*parts: bytes) -> str:
    """SHA-1 in base 32: what tools that read WARC files compare."""
    digest = hashlib.sha1(usedforsecurity=False)
    for part in parts:
        digest.update(part)
    return "sha1:" + base64.b32encode(digest.digest()).decode("ascii")


def software() -> str:
    """What made an archive."""
    import comity

    return f"comity/{comity.__version__}"
