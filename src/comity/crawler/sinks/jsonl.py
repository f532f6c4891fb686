"""Output as JSON Lines: pages, refusals, traps, failures, redirects and the robots.txt files met, one file each.

What a plug-in made of the pages goes to `records.jsonl`, what a refresh found out to `changes.jsonl`; these are there
only if there are such records. orjson writes the lines where it is installed (extra `speed`), the standard library
elsewhere: the lines are the same.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from comity.crawler.sinks import CHANNELS, Answer, Channel
from comity.crawler.sinks.appended import AppendedFile
from comity.crawler.sinks.stored import CHECKED, Stored, from_lines

try:
    import orjson
except ImportError:
    orjson = None  # type: ignore[assignment]

_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_escaped = json.JSONEncoder(separators=(",", ":")).encode

_ON_DEMAND: tuple[Channel, ...] = ("unwanted", "records", "changes")


class JsonLines:
    """One file for each channel; the marker is the length of each."""

    def __init__(self) -> None:
        self._files: dict[Channel, AppendedFile] = {}
        self._folder = Path()

    @property
    def pending(self) -> int:
        return sum(file.pending for file in self._files.values())

    def open(self, folder: Path, committed: Any) -> None:
        lengths: dict[str, int] = committed or {}
        self._folder = folder
        for channel in CHANNELS:
            path = folder / f"{channel}.jsonl"
            if channel not in _ON_DEMAND or lengths.get(channel) or path.exists():
                self._files[channel] = AppendedFile(path, lengths.get(channel, 0))

    def add(self, channel: Channel, record: Mapping[str, Any], answer: Answer | None = None) -> None:
        if channel not in self._files:
            self._files[channel] = AppendedFile(self._folder / f"{channel}.jsonl")
        self._files[channel].add(line(record, channel))

    def flush(self, *, final: bool) -> dict[str, int]:
        return {channel: file.flush() for channel, file in self._files.items()}

    def close(self) -> None:
        for file in self._files.values():
            file.close()


def read_back(folder: Path) -> Iterator[Stored]:
    """What lies in the files."""
    for channel in CHECKED:
        path = folder / f"{channel}.jsonl"
        if channel not in _ON_DEMAND or path.exists():
            yield from from_lines(path, channel)


def line(record: Mapping[str, Any], channel: Channel) -> bytes:
    """A record as one line of UTF-8. Bytes of a header that are no text, in Python surrogates, are escaped."""
    if orjson is not None and channel != "records":  # a plug-in may hand in what orjson knows and JSON does not
        try:
            return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
        except TypeError:  # surrogates
            pass
    try:
        return _text(record).encode() + b"\n"
    except UnicodeEncodeError:
        return _escaped(record).encode() + b"\n"
