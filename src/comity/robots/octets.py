"""The octets of a robots.txt: from text, without their byte order mark, by lines."""

import codecs


def octets(body: bytes | str) -> bytes:
    """A body in UTF-8. Surrogates that stand for octets become these; others are encoded as in URLs asked about."""
    if isinstance(body, bytes | bytearray | memoryview):
        return bytes(body)
    if not isinstance(body, str):
        raise TypeError(f"body: a robots.txt is octets (bytes) or text (str), not {type(body).__name__}")
    try:
        return body.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return b"".join(
            char.encode("utf-8", "surrogateescape" if "\udc80" <= char <= "\udcff" else "surrogatepass")
            for char in body
        )


def byte_order_mark(body: bytes, lenient: bool) -> int:
    """How many octets of a byte order mark stand at the beginning; the lenient skip a partial one too (Google)."""
    if body.startswith(codecs.BOM_UTF8):
        return 3
    if lenient:
        return 2 if body.startswith(codecs.BOM_UTF8[:2]) else int(body.startswith(codecs.BOM_UTF8[:1]))
    return 0


class LineNumbers:
    """Line numbers of offsets that are asked for in ascending order, as a rule. CR, LF and CRLF each end a line."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._offset = 0
        self._number = 1

    def of(self, offset: int) -> int:
        """The number of the line, from 1, that holds an offset."""
        if offset < self._offset:
            self._offset, self._number = 0, 1
        body, start = self._body, self._offset
        ends = body.count(b"\n", start, offset) + body.count(b"\r", start, offset) - body.count(b"\r\n", start, offset)
        if body[offset - 1 : offset] == b"\r" or (start and body[start - 1 : start + 1] == b"\r\n"):
            return LineNumbers._whole(body, offset)
        self._offset, self._number = offset, self._number + ends
        return self._number

    @staticmethod
    def _whole(body: bytes, offset: int) -> int:
        return len(body[:offset].splitlines()) + (body[:offset].endswith((b"\n", b"\r")) or offset == 0)
