"""An export as WACZ 1.1.1, of a log that is WARC: one ZIP file of its files, their index, the pages, the ledger and the
seal, which replay tools open as it is. The specification: specs.webrecorder.net/wacz/1.1.1.
"""

import hashlib
import heapq
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import islice
from pathlib import Path
from time import gmtime, strftime
from typing import Any, Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from comity.crawler.output import cdxj
from comity.crawler.output.packed import gzipped
from comity.crawler.output.reader import open_until
from comity.crawler.output.source import Source, SourcePart
from comity.crawler.output.warc import software
from comity.digests import sha256_of
from comity.files import open_regular

_BLOCK: Final = 3000  # lines of the index that are packed together, as py-wacz has them
_PIECE: Final = 1024 * 1024


def write(source: Source, path: Path) -> None:
    """Write the archives of all parts, cut off at what is committed. An InvalidSetting: they are none."""
    with ZipFile(path, "w") as packed:
        package = _Package(packed)
        for part in source.parts:
            for warc, until in _archives(part):
                package.add(f"archive/{_named(part, warc.name)}", _pieces(warc, until), size=warc.stat().st_size)
        blocks: list[str] = ['!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}\n']
        package.add("indexes/index.cdx.gz", _index(source.parts, blocks))
        package.add("indexes/index.idx", (line.encode() for line in blocks), packing=ZIP_DEFLATED)
        package.add("pages/pages.jsonl", _pages(source), packing=ZIP_DEFLATED)
        for part in source.parts:
            for name, until in (("ledger.jsonl", part.ledger), ("seal.json", None)):
                if (evidence := part.path / name).exists():
                    size, data = evidence.stat().st_size, _pieces(evidence, until)
                    package.add(f"logs/{_named(part, name)}", data, size=size, packing=ZIP_DEFLATED)
        package.end(title=source.title)


def _archives(part: SourcePart) -> Iterator[tuple[Path, int | None]]:
    """The archives of a part, and how many bytes of each are committed; None: all."""
    last = part.committed["file"] if part.committed else 0
    for path in sorted(part.path.glob("crawl-*.warc.gz")):
        number = int(path.name.removeprefix("crawl-").removesuffix(".warc.gz"))
        if number <= last:
            yield path, part.committed["length"] if number == last else None


def _named(part: SourcePart, name: str) -> str:
    return f"{part.name}-{name}" if part.name else name


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


def _pieces(path: Path, until: int | None) -> Iterator[bytes]:
    with open_until(path, until) as file:
        while piece := file.read(_PIECE):
            yield piece


def _index(parts: Sequence[SourcePart], blocks: list[str]) -> Iterator[bytes]:
    """The index of all files, sorted, in members of gzip; where each begins goes to `blocks`."""
    with ExitStack() as stack:
        found: list[Iterable[bytes]] = []
        for part in parts:
            for path, until in _archives(part):
                if until is None:
                    lines: Iterable[bytes] = stack.enter_context(open_regular(cdxj.index_of(path)))
                else:  # what is still written to has its index in the journal
                    lines = cdxj.sorted_lines(cdxj.journal_of(path), part.committed["index"])
                found.append(map(partial(_renamed, part), lines) if part.name else lines)
        merged = heapq.merge(*found)
        offset = 0
        while block := list(islice(merged, _BLOCK)):
            member = gzipped(b"".join(block))
            where = {"offset": offset, "length": len(member), "digest": f"sha256:{sha256_of(member)}"}
            blocks.append(f"{block[0].partition(b' {')[0].decode()} {json.dumps(where)}\n")
            offset += len(member)
            yield member


def _renamed(part: SourcePart, line: bytes) -> bytes:
    """A line of the index by the name that its file has in the package."""
    head, brace, said = line.partition(b"{")
    entry = json.loads(brace + said)
    return b"%s%s\n" % (head, json.dumps(entry | {"filename": _named(part, entry["filename"])}).encode())


def _pages(source: Source) -> Iterator[bytes]:
    yield b'{"format": "json-pages-1.0", "id": "pages", "title": "Pages"}\n'
    for number, (_, page) in enumerate(source.records(("pages",)), 1):
        said = {"id": f"page-{number}", "url": page["url"], "ts": page["fetched_at"]}
        yield json.dumps(said | ({"title": page["title"]} if page.get("title") else {})).encode() + b"\n"
