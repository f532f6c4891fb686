"""How the shards of a crawl stand, in words; and the file by which the process that runs one in a folder says so."""

import json
import os
import sqlite3
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from comity.crawler.observe.snapshot import SHARD_WORDS, ShardStatus
from comity.crawler.observe.stats import WAITS
from comity.errors import StorageError
from comity.files import read_regular, write_anew
from comity.frontier.sqlite import database

_FILE: Final = "status.json"


def write_status(folder: Path, shards: Iterable[ShardStatus]) -> None:
    """Write down how the shards of a crawl that runs stand; where it cannot be written, nobody is told."""
    rows = [
        {"number": now.number, "worker": now.worker, "words": describe_shard(now), "records": now.records}
        for now in shards
    ]
    path = folder / _FILE
    with suppress(OSError):
        text = json.dumps({"at": time.time(), "pid": os.getpid(), "shards": rows})
        write_anew(path, text.encode("ascii"), synced=False)


def remove_status(folder: Path, databases: Iterable[Path]) -> None:
    """The crawl runs no more: nobody reads a shard's database beside it, which kept its journal from being taken up."""
    with suppress(OSError):
        (folder / _FILE).unlink()
    for path in databases:
        with suppress(sqlite3.Error, StorageError):  # else the next run does it
            database.open_for_writing(path).close()


def read_status(folder: Path) -> list[dict[str, Any]]:
    """What the process that runs a crawl, or ran it until it was killed, left word of: a row for each shard."""
    try:
        rows = json.loads(read_regular(folder / _FILE).decode("ascii"))["shards"]
        found = [
            {"number": int(row["number"]), "words": str(row["words"]), "records": int(row["records"])} for row in rows
        ]
        return sorted(found, key=itemgetter("number"))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []


@dataclass(frozen=True, slots=True)
class ShardSummary:
    """How one shard of a crawl, by the name of its folder, stands, running or not: what it does or waits for is in
    words. `to_others`: messages that other shards have not taken yet."""

    shard: str
    pages: int
    waiting: int
    to_others: int
    state: str


def describe_shard(now: ShardStatus) -> str:
    """What a shard does or waits for."""
    if now.state == "turn":
        return f"waiting {now.until:.0f} s for {now.host} ({WAITS.get(now.why or '', now.why)})"
    return SHARD_WORDS[now.state]
