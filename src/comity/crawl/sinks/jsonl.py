"""Output as JSON Lines: pages, refusals, traps, failures, redirects and the robots.txt files met, one file each.

What a plug-in made of the pages goes to `records.jsonl`, which is there only if there are such records.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from comity.crawl.sinks import CHANNELS, Answer, Channel
from comity.crawl.sinks.appended import AppendedFile


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
            if channel != "records" or lengths.get(channel) or path.exists():
                self._files[channel] = AppendedFile(path, lengths.get(channel, 0))

    def add(self, channel: Channel, record: Mapping[str, Any], answer: Answer | None = None) -> None:
        if channel not in self._files:
            self._files[channel] = AppendedFile(self._folder / f"{channel}.jsonl")
        self._files[channel].add(line(record))

    def flush(self, *, final: bool) -> dict[str, int]:
        return {channel: file.flush() for channel, file in self._files.items()}

    def close(self) -> None:
        for file in self._files.values():
            file.close()


def line(record: Mapping[str, Any]) -> bytes:
    """A record as one line of UTF-8. Bytes of a header that are no text, in Python surrogates, are escaped."""
    try:
        return json.dumps(record, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(record).encode() + b"\n"
