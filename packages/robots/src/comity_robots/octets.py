"""The octets of a robots.txt: from text, without their byte order mark, by lines."""

import codecs
import re
from bisect import bisect_right


def octets(body: bytes | str) -> bytes:
    """A body in UTF-8. Surrogates that stand for octets become these; others are encoded as in URLs asked about."""
    if isinstance(body, bytes | bytearray | memoryview):
        return bytes(body)
    if not isinstance(body, str):
        raise TypeError(f"body: a robots.txt is bytes or text (str), not {type(body).__name__}")
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
    """Line numbers of offsets. CR, LF and CRLF each end a line; no offset stands between the two of a CRLF.

    Ascending offsets, as they are asked for as a rule, are counted on; at the first that goes back all lines are found.
    """

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._offset = 0
        self._number = 1
        self._ends: list[int] | None = None

    def of(self, offset: int) -> int:
        """The number of the line, from 1, that holds an offset."""
        body, start = self._body, self._offset
        if offset < start and self._ends is None:
            self._ends = [end.end() for end in re.finditer(rb"\r\n?|\n", body)]
        if self._ends is not None:
            return bisect_right(self._ends, offset) + 1
        ends = body.count(b"\n", start, offset) + body.count(b"\r", start, offset) - body.count(b"\r\n", start, offset)
        self._offset, self._number = offset, self._number + ends
        return self._number


def line_start(body: bytes, offset: int) -> int:
    """Where the line that holds an offset begins. What it costs follows the line's length, not the file's."""
    near = 64
    while True:
        begin = max(offset - near, 0)
        end = max(body.rfind(b"\n", begin, offset), body.rfind(b"\r", begin, offset))
        if end >= 0 or begin == 0:
            return end + 1
        near *= 4
