"""A column in pieces, one for each thread that works on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

MIN_ROWS_PER_THREAD: Final = 50_000  # rows a thread should have at least
MapFunction = Callable[..., Any]  # `map`, or a pool's
Pieces = list[tuple[int, Any]]  # of a column: the number of the first row, and its rows


def pieces_of(chunks: list[Any], parts: int) -> Pieces:
    """A column in pieces for so many threads."""
    size = max(MIN_ROWS_PER_THREAD, -(-sum(map(len, chunks)) // parts))
    found, start = [], 0
    for chunk in chunks:
        found += [(start + first, chunk.slice(first, size)) for first in range(0, len(chunk), size)]
        start += len(chunk)
    return found
