"""JSON Lines packed by gzip or Zstandard: `pages.jsonl.gz`, `pages.jsonl.zst` and so on.

What one commit adds to a file is a member (RFC 1952, 2.2) or frame (RFC 8878, 3.1) of its own, so that a file that is
cut back to a commit is whole, and any tool that reads such files reads it. After a crash what was written since the
last commit may stand at the end, cut off anywhere, until the crawl is resumed.
"""

import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from comity.crawler.output.lines import AppendedFile, JsonLines, read_jsonl
from comity_pages._extras import need

_deflating: Any
try:
    from isal import isal_zlib as _deflating

    LEVEL = 2  # a tenth of the time of zlib's 6, a fifth more bytes
except ImportError:  # not installed, or none for this processor
    _deflating = zlib
    LEVEL = 4
ZSTD_LEVEL = 1  # half the time of 3, a tenth more bytes

gzip_packer: Final = partial(_deflating.compressobj, LEVEL, _deflating.DEFLATED, zlib.MAX_WBITS + 16)


def gzipped(data: bytes | memoryview) -> bytes:
    """The data as one member of gzip."""
    packing = gzip_packer()
    return bytes(packing.compress(data) + packing.flush())


class PackedFile(AppendedFile):
    """A file that packs what it is given. `packer` makes what packs one member, or frame, after the other."""

    def __init__(self, path: Path, committed: int, packer: Callable[[], Any]) -> None:
        super().__init__(path, committed)
        self._packer = packer
        # None between a commit and the first line after it; an empty file is none of gzip's or Zstandard's.
        self._packing: Any = None if committed else packer()

    def add(self, data: bytes) -> None:
        self._packing = self._packing or self._packer()
        if packed := self._packing.compress(data):
            super().add(packed)

    def flush(self) -> int:
        if self._packing is not None:
            super().add(self._packing.flush())
            self._packing = None
        return super().flush()


GZIP: Final = ".jsonl.gz"
ZSTD: Final = ".jsonl.zst"
read_gzip: Final = partial(read_jsonl, suffix=GZIP)
read_zstd: Final = partial(read_jsonl, suffix=ZSTD)


def gzip_lines() -> JsonLines:
    """The sink that packs by gzip."""
    return JsonLines(GZIP, partial(PackedFile, packer=gzip_packer))


def zstd_lines() -> JsonLines:
    """The sink that packs by Zstandard; MissingExtra where zstandard is not installed."""
    zstandard = need("zstandard", "zstd", "--compress zstd")

    def opened(path: Path, committed: int) -> PackedFile:  # a compressor makes one frame at a time
        return PackedFile(path, committed, zstandard.ZstdCompressor(level=ZSTD_LEVEL).compressobj)

    return JsonLines(ZSTD, opened)
