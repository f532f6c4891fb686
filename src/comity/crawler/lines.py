"""Reading JSON Lines that nobody vouches for: every line gives a record or the words for what is wrong with it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from comity.errors import InputError

LONGEST = 256 * 1024 * 1024  # bytes of one line
_LARGEST = 1e15  # of a number; times are Unix seconds

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a file: its number, counted from 1, where it starts, its record or what is wrong, and its bytes."""

    number: int
    offset: int
    record: Record
    problem: str | None = None
    data: bytes = b""


def read(path: Path) -> Iterator[Line]:
    """The lines of a file, one at a time.

    Raises:
        StorageError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            offset = 0
            number = 0
            while data := file.readline(LONGEST):
                number += 1
                record, problem = load(data)
                yield Line(number, offset, record, problem, data)
                offset += len(data)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


def load(data: bytes) -> tuple[Record, str | None]:
    """The record that a line holds; an empty one, and why, where it holds none."""
    if not data.endswith(b"\n"):
        return {}, "the line is cut short"
    try:
        record = json.loads(data, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return {}, "the line is not JSON"
    return (record, None) if isinstance(record, dict) else ({}, "the line is not a JSON object")


def wrong_field(record: Mapping[str, Any], shape: Mapping[str, tuple[type, ...]]) -> str | None:
    """The name of the first field that is missing or not of its type."""
    for name, kinds in shape.items():
        if name not in record or not _fits(record[name], kinds):
            return name
    return None


def _fits(value: object, kinds: tuple[type, ...]) -> bool:
    if isinstance(value, bool):
        return bool in kinds
    if isinstance(value, int):
        return (int in kinds or float in kinds) and abs(value) < _LARGEST
    return isinstance(value, kinds) and (not isinstance(value, float) or abs(value) < _LARGEST)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)
