"""A robots.txt line by line, with what no verdict rests on: comments, blank and unknown lines."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from comity_robots import directives
from comity_robots.engine.reference import Entry
from comity_robots.octets import LineNumbers


@dataclass(frozen=True, slots=True)
class Line:
    """A line as read; the raw texts of all lines together are the file.

    Attributes:
        number: from 1.
        raw: the line with its end, undecodable octets as surrogates.
        kind: name of the record in lower case; `comment`, `blank`, `unknown` for the rest.
        value: the record's value; the whole line for `unknown`.
        comment: what follows `#`.
    """

    number: int
    raw: str
    kind: str
    value: str
    comment: str


def read(body: bytes, stop: int, entries: Iterable[Entry]) -> Iterator[Line]:
    """Every line of a parsed file.

    Args:
        stop: up to which octet it was parsed.
        entries: its records.
    """
    lines = LineNumbers(body)
    known = {lines.of(entry.start): entry for entry in entries}
    for number, raw in enumerate(body[:stop].splitlines(keepends=True), 1):
        text = raw.decode("utf-8", "surrogateescape")
        content, mark, comment = text.rstrip("\r\n").partition("#")
        entry = known.get(number)
        if entry is not None:
            kind, value = directives.NAMES[entry.directive], entry.value
        elif content.strip().removeprefix("\ufeff"):
            kind, value = "unknown", content.strip()
        else:
            kind, value = ("comment" if mark else "blank"), ""
        yield Line(number, text, kind, value, comment)
