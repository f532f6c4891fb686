"""Output as WACZ 1.1.1: WARC files, and at the end of each run one ZIP file of them, their index, the pages, the ledger
and the seal, which replay tools open as it is. The specification: specs.webrecorder.net/wacz/1.1.1.
"""

import hashlib
import heapq
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from time import gmtime, strftime
from typing import Any, Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from comity.crawler.output import cdxj
from comity.crawler.output.packed import gzipped
from comity.crawler.output.sink import Channel, Received
from comity.crawler.output.warc import Warc, read_back, software
from comity.digests import sha256_of
from comity.files import open_regular, written_anew

FILE: Final = "crawl.wacz"
EVIDENCE: Final = ("ledger.jsonl", "seal.json")
_BLOCK: Final = 3000  # lines of the index that are packed together, as py-wacz has them
_PIECE: Final = 1024 * 1024


class Wacz(Warc):
    """As WARC; the ledger is whole when a sink is closed after a run's last commit, so that is when all is packed."""

    _whole = False

    def add(self, channel: Channel, record: Mapping[str, Any], answer: Received | None = None) -> None:
        self._whole = False
        super().add(channel, record, answer)

    def flush(self, *, final: bool) -> dict[str, int]:
        marker = super().flush(final=final)
        self._whole = self._whole or final
        return marker

    def close(self) -> None:
        super().close()
        if self._whole:
            pack(self._folder)


def pack(folder: Path) -> None:
    """Write `crawl.wacz` from what lies in a folder, in the place of an earlier one."""
    with written_anew(folder / FILE, folder / f"{FILE}.tmp") as file, ZipFile(file, "w") as packed:
        package = _Package(packed)
        warcs = sorted(folder.glob("crawl-*.warc.gz"))
        for path in warcs:
            package.add(f"archive/{path.name}", _pieces(path), size=path.stat().st_size)
        blocks: list[str] = ['!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}\n']
        package.add("indexes/index.cdx.gz", _index(warcs, blocks))
        package.add("indexes/index.idx", (line.encode() for line in blocks), packing=ZIP_DEFLATED)
        package.add("pages/pages.jsonl", _pages(folder), packing=ZIP_DEFLATED)
        for path in (folder / name for name in EVIDENCE):
            if path.exists():
                package.add(f"logs/{path.name}", _pieces(path), size=path.stat().st_size, packing=ZIP_DEFLATED)
        package.end(title=folder.resolve().name)


class _Package:
    """The data package (Frictionless, 1.0): each file with its size and hash."""

    def __init__(self, packed: ZipFile) -> None:
        self._packed = packed
        self._resources: list[dict[str, Any]] = []
        self._at = gmtime()

    def add(self, path: str, pieces: Iterable[bytes], *, size: int = 0, packing: int = ZIP_STORED) -> str:
        """Add a file; gives its hash. What replay tools read in parts is stored as it is."""
        info = ZipInfo(path, self._at[:6])
        info.compress_type, info.file_size = packing, size
        digest, length = hashlib.sha256(), 0
        with self._packed.open(info, "w") as file:
            for piece in pieces:
                file.write(piece)
                digest.update(piece)
                length += len(piece)
        said = f"sha256:{digest.hexdigest()}"
        self._resources.append({"name": path.rpartition("/")[2], "path": path, "hash": said, "bytes": length})
        return said

    def end(self, *, title: str) -> None:
        package = {
            "profile": "data-package",
            "wacz_version": "1.1.1",
            "title": title,
            "created": strftime("%Y-%m-%dT%H:%M:%SZ", self._at),
            "software": software(),
            "resources": list(self._resources),
        }
        said = self.add("datapackage.json", [json.dumps(package, indent=2).encode()], packing=ZIP_DEFLATED)
        digest = json.dumps({"path": "datapackage.json", "hash": said}).encode()
        self.add("datapackage-digest.json", [digest], packing=ZIP_DEFLATED)


def _pieces(path: Path) -> Iterator[bytes]:
    with open_regular(path) as file:
        while piece := file.read(_PIECE):
            yield piece


def _index(warcs: list[Path], blocks: list[str]) -> Iterator[bytes]:
    """The index of all files, sorted, in members of gzip; where each begins goes to `blocks`."""
    with ExitStack() as stack:
        lines = heapq.merge(*(stack.enter_context(open_regular(cdxj.index_of(path))) for path in warcs))
        offset = 0
        while block := list(islice(lines, _BLOCK)):
            member = gzipped(b"".join(block))
            where = {"offset": offset, "length": len(member), "digest": f"sha256:{sha256_of(member)}"}
            blocks.append(f"{block[0].partition(b' {')[0].decode()} {json.dumps(where)}\n")
            offset += len(member)
            yield member


def _pages(folder: Path) -> Iterator[bytes]:
    yield b'{"format": "json-pages-1.0", "id": "pages", "title": "Pages"}\n'
    for stored in read_back(folder):
        if stored.channel == "pages":
            page = stored.record
            said = {"id": f"{stored.file}-{stored.number}", "url": page["url"], "ts": page["fetched_at"]}
            yield json.dumps(said | ({"title": page["title"]} if page.get("title") else {})).encode() + b"\n"
