"""Bytes as they arrive -> plain bytes in blocks of one size: gzip undone, bombs and endless bodies stopped.

Blocks of one size, so that the result cannot depend on how the bytes arrived, and so that a parser that starts an
unfinished token over with every block does so a bounded number of times.
"""

import zlib
from collections.abc import Iterator
from typing import Final

from comity_pages.signals.sitemaps.entries import Limits

BLOCK: Final = 64 * 1024
_MIN_JUDGED_BYTES: Final = 1024 * 1024
_MAGIC: Final = b"\x1f\x8b"


class Stop(Exception):
    """Reading cannot go on; the message says why, for people."""


class Unpacker:
    """`feed` and `close` give blocks and, after the last good one, raise `Stop` where something is wrong."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._head = b""
        self._inflate: zlib._Decompress | None = None
        self._begun = False
        self._compressed = 0
        self._plain = 0
        self._pending = bytearray()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        if not self._begun:
            chunk = self._head = self._head + chunk
            if len(chunk) < len(_MAGIC):
                return
            self._begun = True
            self._head = b""
            if chunk.startswith(_MAGIC):
                self._inflate = _gunzip()
        for at in range(0, len(chunk), BLOCK):
            piece = chunk[at : at + BLOCK]
            yield from self._cut(piece) if self._inflate is None else self._unzip(piece)

    def close(self) -> Iterator[bytes]:
        self._pending += self._head
        yield from self._rest()
        if self._inflate is not None and not self._inflate.eof:
            raise Stop("the gzip data ends too early")

    def _unzip(self, chunk: bytes) -> Iterator[bytes]:
        self._compressed += len(chunk)
        full = False
        while chunk or full:
            assert self._inflate is not None
            if self._inflate.eof:  # members may follow each other; anything else after an end is padding
                if not chunk.startswith(_MAGIC[:1]):
                    return
                self._inflate = _gunzip()
            before = self._inflate.copy()
            try:
                plain = self._inflate.decompress(chunk, BLOCK)
            except zlib.error as error:
                yield from self._cut(_up_to_damage(before, chunk))
                yield from self._rest()
                raise Stop(f"damaged gzip: {error}") from None
            full = len(plain) == BLOCK  # more may wait inside although all input was taken
            chunk = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
            yield from self._cut(plain)
            if self._plain > max(_MIN_JUDGED_BYTES, self._limits.ratio * (self._compressed - len(chunk))):
                raise Stop(f"the gzip data expands to more than {self._limits.ratio} times its size")

    def _cut(self, piece: bytes) -> Iterator[bytes]:
        room = self._limits.size - self._plain
        self._plain += len(piece)
        pending = self._pending
        pending += piece[:room] if len(piece) > room else piece
        while len(pending) >= BLOCK:
            block = bytes(memoryview(pending)[:BLOCK])
            del pending[:BLOCK]
            yield block
        if len(piece) > room:
            yield from self._rest()
            raise Stop(f"larger than {self._limits.size:,} bytes")

    def _rest(self) -> Iterator[bytes]:
        if self._pending:
            block = bytes(self._pending)
            self._pending.clear()
            yield block


def _gunzip() -> "zlib._Decompress":
    return zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)


def _up_to_damage(inflate: "zlib._Decompress", chunk: bytes) -> bytes:
    """What zlib gives before the damage: it drops its output when it fails, so it is asked byte by byte."""
    plain = bytearray()
    try:
        for at in range(len(chunk)):
            plain += inflate.decompress(chunk[at : at + 1])
    except zlib.error:
        pass
    return bytes(plain)
