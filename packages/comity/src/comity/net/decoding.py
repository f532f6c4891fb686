"""Content codings undone within bounds: a body may not grow without limit, whatever it was compressed to (bombs).

ISA-L inflates where it is installed (extra `speed`), in half the time; zlib elsewhere. What is small and whole
libdeflate inflates where it is installed: it is faster still, since it has all of it and writes it in one piece.
"""

import zlib
from collections.abc import Iterable, Iterator
from typing import Any, Final

from comity.errors import FetchError, TooLarge, UnwantedType

_inflating: Any
try:
    from isal import isal_zlib as _inflating
except ImportError:  # not installed, or none for this processor
    _inflating = zlib
_at_once: Any
try:
    import deflate as _at_once
except ImportError:
    _at_once = None

ACCEPTED: Final = "gzip, deflate"
_CODINGS: Final = {"gzip": 31, "x-gzip": 31, "deflate": 15}
# Registered (RFC 9110, 16.6.1) or in use, and not undone here. Other words (`none`, `utf-8`) name no coding, and
# browsers read on.
_OTHERS: Final = frozenset(
    ("aes128gcm", "br", "compress", "dcb", "dcz", "exi", "pack200-gzip", "x-compress", "zstd", "bzip2", "lzma", "xz")
)
_RATIO_FREE_BYTES: Final = 1024 * 1024  # decoded bytes before the ratio counts
_MAX_PART_BYTES: Final = 256 * 1024
_MAX_ONE_PIECE_BYTES: Final = 512 * 1024  # decoded bytes that are made in one piece: half a millisecond
_MEMBER: Final = b"\x1f\x8b"  # how a member of gzip begins
# Of one body, and one more for each so many octets received: each takes six microseconds, though it may hold nothing.
_MAX_MEMBERS: Final = 256
_MIN_MEMBER_BYTES: Final = 256  # records of a web archive, and lines of a log, may be members of little more
MAX_CODINGS: Final = 5  # of one body; as many as curl undoes


def decoder_for(values: Iterable[str], url: str, max_ratio: float) -> "Decoder | None":
    """Return what undoes the codings of a body; None where there are none.

    Args:
        values: of its Content-Encoding headers.
        max_ratio: decoded bytes for one received at most.

    Raises:
        UnwantedType: a coding was not asked for, or there are more than MAX_CODINGS.
    """
    named = [word.strip().lower() for value in values for word in value.split(",")]
    found = [word for word in named if word in _CODINGS or word in _OTHERS]
    if len(found) > MAX_CODINGS or not _OTHERS.isdisjoint(found):
        raise UnwantedType(f"{url} has the content coding {', '.join(named)!r:.60}, which was not requested", url=url)
    decoder = None
    for coding in reversed(found):  # RFC 9110, 8.4: they are listed in the order in which they were applied
        decoder = Decoder(coding, url, max_ratio, decoder)
    return decoder


class Decoder:
    """Undoes one content coding: gzip, x-gzip or deflate; after `outer`, which undoes the one applied after it.

    What was received over the network bounds what each of them makes of it.
    """

    def __init__(self, coding: str, url: str, max_ratio: float, outer: "Decoder | None" = None) -> None:
        self._outer = outer
        self._gzip = coding != "deflate"
        # Some servers leave out deflate's zlib header: the first two octets say whether it is there (RFC 1950, 2.2).
        self._inflater = _inflating.decompressobj(_CODINGS[coding]) if self._gzip else None
        self._held = b""  # octets that say nothing yet
        self._url = url
        self._max_ratio = max_ratio
        self._received = 0
        self._decoded = 0
        self._members = 0

    def feed(self, data: bytes, room: int, *, last: bool = False) -> Iterator[bytes]:
        """Yield the decoded bytes of what has arrived, at most one more than `room`, in parts of at most 256 KiB.

        Each part is made when it is asked for: what is left may be given up.

        Args:
            last: nothing more will arrive. Where nothing did before either, it may be one part of up to 512 KiB.

        Raises:
            TooLarge: the content expands more than is allowed.
            FetchError: it is damaged.
        """
        if self._outer is None:
            if last and not self._received and (body := self._in_one_piece(data, room)) is not None:
                yield body
            else:
                yield from self._undone(data, room)
            return
        # One octet more than `_undone` takes of what holds nothing, which is then said to be too large.
        for part in self._outer.feed(data, room + self._decoded + _RATIO_FREE_BYTES - self._received):
            for undone in self._undone(part, room):
                room -= len(undone)
                yield undone
            if room < 0:
                return

    def _sent(self) -> int:
        """Return how much of the body was received over the network."""
        return self._received if self._outer is None else self._outer._sent()

    def _undone(self, data: bytes, room: int) -> Iterator[bytes]:
        self._received += len(data)
        data, self._held = self._held + data, b""
        if self._inflater is None:
            if len(data) < 2:
                self._held = data
                return
            has_header = data[0] & 15 == 8 and (data[0] << 8 | data[1]) % 31 == 0
            self._inflater = _inflating.decompressobj(15 if has_header else -15)
        waiting = False  # decoded bytes that zlib holds back, though it has taken all data
        while (data or waiting) and room >= 0:
            if self._inflater.eof:  # RFC 1952, 2.2: members follow one another; what is none of them is padding
                if self._gzip and data == _MEMBER[:1]:
                    self._held = data
                    break
                if not self._gzip or not data.startswith(_MEMBER):
                    break
                self._members += 1
                if self._members > _MAX_MEMBERS + self._sent() // _MIN_MEMBER_BYTES:
                    raise TooLarge(f"the body of {self._url} has too many gzip members", url=self._url)
                self._inflater = _inflating.decompressobj(31)
            most = min(room + 1, _MAX_PART_BYTES)
            try:
                part = self._inflater.decompress(data, most)
            except _inflating.error as error:
                raise FetchError(f"the body of {self._url} is damaged: {error}", url=self._url) from None
            data = self._inflater.unused_data if self._inflater.eof else self._inflater.unconsumed_tail
            waiting = len(part) == most and not self._inflater.eof
            room -= len(part)
            self._decoded += len(part)
            if self._decoded > _RATIO_FREE_BYTES and self._decoded > self._sent() * self._max_ratio:
                raise TooLarge(
                    f"the body of {self._url} expands to more than {self._max_ratio:g} times what was sent",
                    url=self._url,
                    hint="raise max_ratio if that is expected",
                )
            if part:
                yield part
        if (
            room >= 0 and self._received > self._decoded + room + _RATIO_FREE_BYTES
        ):  # what holds nothing might go on for ever
            raise TooLarge(
                f"the compressed body of {self._url} is larger than the limit for the whole body",
                url=self._url,
                hint="raise max_body if that is expected",
            )

    def _in_one_piece(self, data: bytes, room: int) -> bytes | None:
        """Return the body, where it is one member of gzip of moderate size with nothing wrong; else None."""
        if _at_once is None or not self._gzip or data.find(_MEMBER + b"\x08", 2) > 0:  # that may be another member
            return None
        size = int.from_bytes(data[-4:], "little")  # RFC 1952, 2.3.1; it is a claim, and bounds what is written
        if not 0 < size <= min(room, _MAX_ONE_PIECE_BYTES) or len(data) > _MAX_ONE_PIECE_BYTES:
            return None
        try:
            body = _at_once.gzip_decompress(data, size)
        except (_at_once.DeflateError, ValueError):  # the other library tells what is wrong
            return None
        return bytes(body) if len(body) == size else None

    def close(self) -> None:
        """Check that the body came to its end. Raises FetchError: it did not."""
        if self._outer is not None:
            self._outer.close()
        if self._received and (self._inflater is None or not self._inflater.eof):
            raise FetchError(f"the body of {self._url} ends too soon", url=self._url)
