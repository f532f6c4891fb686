"""Content codings undone within bounds: a body may not grow without limit, whatever it was compressed to (bombs)."""

import zlib
from typing import Final

from comity.errors import FetchError, TooLarge

ACCEPTED: Final = "gzip, deflate"
_CODINGS: Final = {"gzip": 31, "x-gzip": 31, "deflate": 15}
_GRACE: Final = 1024 * 1024  # decoded bytes before the ratio counts
_STEP: Final = 256 * 1024


class Decoder:
    """Undoes one content coding.

    Args:
        coding: value of Content-Encoding.
        max_ratio: decoded bytes for one received at most.

    Raises:
        FetchError: the coding is none that was asked for, or there is more than one.
    """

    def __init__(self, coding: str, url: str, max_ratio: float) -> None:
        bits = _CODINGS.get(coding.strip().lower())
        if bits is None:
            raise FetchError(f"{url} is encoded as {coding!r:.60}, which was not asked for", url=url)
        self._raw = bits == 15
        self._inflater = zlib.decompressobj(bits)
        self._url = url
        self._max_ratio = max_ratio
        self._received = 0
        self._decoded = 0

    def feed(self, data: bytes, room: int) -> bytes:
        """The decoded bytes of a part; at most one more than `room`.

        Raises:
            TooLarge: the content expands more than is allowed.
            FetchError: it is damaged.
        """
        self._received += len(data)
        parts = []
        while data and room >= 0 and not self._inflater.eof:
            try:
                part = self._inflater.decompress(data, min(room + 1, _STEP))
            except zlib.error as error:
                if not self._raw or self._decoded:
                    raise FetchError(f"the body of {self._url} is damaged: {error}", url=self._url) from None
                self._raw = False  # some servers send deflate without its zlib header
                self._inflater = zlib.decompressobj(-15)
                continue
            data = self._inflater.unconsumed_tail
            room -= len(part)
            self._decoded += len(part)
            if self._decoded > _GRACE and self._decoded > self._received * self._max_ratio:
                raise TooLarge(
                    f"the body of {self._url} expands to more than {self._max_ratio:g} times what was sent",
                    url=self._url,
                    hint="raise max_ratio if that is right",
                )
            parts.append(part)
        return b"".join(parts)

    def close(self) -> None:
        """Raises: FetchError: the body ended before its end."""
        if self._received and not self._inflater.eof:
            raise FetchError(f"the body of {self._url} ends too soon", url=self._url)
