"""The pages of a crawl as they are after its refreshes: the latest record of each URL, without those that are gone."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from comity import times
from comity.crawler.shards import parts_of
from comity.crawler.sinks.runner import FORMATS, read_back
from comity.errors import InvalidSetting
from comity.frontier import View

_BODY = ("body", "body_base64", "body_bytes")


def pages(folder: Path, *, bodies: bool = False) -> Iterator[dict[str, Any]]:
    """The current pages in the order in which they were kept, shard by shard where the crawl has several.

    Their bodies are read only where they are wanted; those of `warc` and `files` lie in the archive and under `file`.

    Raises:
        StorageError: the folder holds no crawl, or it cannot be read.
        InvalidSetting: the output was written by a plug-in, which cannot be read back.
    """
    for part in parts_of(folder):
        yield from _pages(part, bodies=bodies)


def _pages(folder: Path, *, bodies: bool) -> Iterator[dict[str, Any]]:
    with View(folder / "frontier.sqlite") as view:
        sink = (view.load_state("sink") or {}).get("name", "jsonl")
    if sink not in FORMATS:
        raise InvalidSetting(f"{folder} was written by the plug-in {sink}, which cannot be read back")
    with closing(sqlite3.connect("", isolation_level=None)) as db:  # temporary: on disk where it is large
        db.execute("CREATE TABLE latest (url TEXT PRIMARY KEY, at REAL, record INTEGER) WITHOUT ROWID")
        db.execute("BEGIN")
        # A page that is not there, or not kept, any more counts from the time that was found out.
        for number, (channel, record) in enumerate(_told(folder, sink)):
            db.execute(
                "INSERT INTO latest VALUES (?, ?, ?) ON CONFLICT (url) DO UPDATE SET at = excluded.at, "
                "record = excluded.record WHERE excluded.at >= at",
                (record["url"], _at(record), number if channel == "pages" else None),
            )
        for number, (channel, record) in enumerate(_told(folder, sink)):
            if channel != "pages":
                continue
            row = db.execute("SELECT 1 FROM latest WHERE url = ? AND record = ?", (record["url"], number)).fetchone()
            if row is not None:
                yield record if bodies else {name: value for name, value in record.items() if name not in _BODY}


def _told(folder: Path, sink: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for stored in read_back(folder, sink):
        record = stored.record
        is_out = (stored.channel == "changes" and record.get("change") == "gone") or (
            stored.channel == "refusals" and record.get("by") == "usage"
        )
        if (stored.channel == "pages" or is_out) and isinstance(record.get("url"), str):
            yield ("pages" if stored.channel == "pages" else "out"), record


def _at(record: dict[str, Any]) -> float:
    try:
        return times.read(record["fetched_at"])
    except (KeyError, TypeError, ValueError):
        return 0.0
