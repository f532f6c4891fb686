"""How the shards of a crawl stand, also in words, for `comity frontier`: while the crawl runs and after it.

It is read from their databases, and from what the process that runs them leaves word of.
"""

import json
import os
import sqlite3
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from comity.crawler.progress.stats import WAITS
from comity.crawler.sharding.shards import LOCK, STATUS, manifest_of, told_of_shards
from comity.errors import StorageError
from comity.frontier import State, View, has_begun
from comity.frontier.sqlite import database
from comity.frontier.sqlite.parcels import pending

if TYPE_CHECKING:  # what reads a finished crawl needs no network
    from comity.crawler.progress.snapshot import ShardNow

_ENDED: Final = "ended"  # see recrawl.ENDED


def write_status(folder: Path, shards: "Iterable[ShardNow]") -> None:
    """Write down how the shards of a crawl that runs stand; where it cannot be written, nobody is told."""
    rows = [
        {"number": now.number, "worker": now.worker, "words": in_words(now), "records": now.records} for now in shards
    ]
    path = folder / STATUS
    with suppress(OSError):
        new = path.with_suffix(".new")
        new.write_text(json.dumps({"at": time.time(), "pid": os.getpid(), "shards": rows}), encoding="ascii")
        new.replace(path)


def remove_status(folder: Path, databases: Iterable[Path]) -> None:
    """The crawl runs no more: nobody reads a shard's database beside it, which kept its journal from being taken up."""
    with suppress(OSError):
        (folder / STATUS).unlink()
    for path in databases:
        with suppress(sqlite3.Error, StorageError):  # else the next run does it
            database.open_for_writing(path).close()


@dataclass(frozen=True, slots=True)
class ShardStatus:
    """How one shard of a crawl stands, running or not.

    Attributes:
        shard: the name of its folder.
        waiting: URLs in its queue.
        to_others: messages that other shards have not taken yet.
        state: what it does or waits for, in words.
    """

    shard: str
    pages: int
    waiting: int
    to_others: int
    state: str


def standing(folder: Path) -> list[ShardStatus]:
    """How the shards of a crawl stand; none where it has no shards. Reads only.

    Raises:
        StorageError: a shard cannot be read.
    """
    manifest = manifest_of(folder)
    if manifest is None:
        return []
    now = {row["number"]: row["words"] for row in told_of_shards(folder)} if database.is_running(folder, LOCK) else {}
    found = []
    paths = {number: folder / name / "frontier.sqlite" for number, name in enumerate(manifest.parts)}
    to_others = pending({number: path for number, path in paths.items() if has_begun(path)})
    for number, name in enumerate(manifest.parts):
        path = paths[number]
        if not has_begun(path):
            found.append(ShardStatus(name, 0, 0, 0, "not begun"))
            continue
        with View(path) as view:
            counts, stats = view.counts(), view.load_state("stats") or {}
            ended = view.load_state(_ENDED) or "cut off"
        waiting = counts[State.UNASKED] + counts[State.QUEUED]
        found.append(ShardStatus(name, stats.get("pages", 0), waiting, to_others[number], now.get(number, ended)))
    return found


def in_words(now: "ShardNow") -> str:
    """What a shard does or waits for."""
    match now.state:
        case "turn":
            return f"waits {now.until:.0f} s for {now.host} ({WAITS.get(now.why or '', now.why)})"
        case "working":
            return "fetches"
        case "starting" | "down":
            return "its worker is being started" + " again" * (now.state == "down")
        case "pages":
            return "waits for pages of the limit"
        case "robots":
            return "waits for robots.txt files that could not be reached"
        case "resting":
            return "nothing is left; waits for what others find"
        case "stopped" | "ended":
            return now.state
