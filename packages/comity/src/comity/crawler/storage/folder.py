"""A crawl that is kept in a folder: with its manifest, a folder for each shard, the frontiers in them, its orders, and
how the shards stand. What is asked of it: crawl.py.
"""

import json
import os
import sqlite3
import time
from collections.abc import Iterable
from contextlib import suppress
from itertools import zip_longest
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, Literal

from comity.crawler.observe.snapshot import ShardStatus
from comity.crawler.storage import orders
from comity.crawler.storage.crawl import OrderSource, ShardSummary, StoredCrawl, WaitJournal, describe_shard
from comity.crawler.storage.crawl_output import ENDED, FINISHED, FRONTIER, CrawlOutput, OutputPart
from comity.crawler.storage.manifest import LOCK, MANIFEST, manifest_of
from comity.crawler.storage.orders import Order, OrderKind, Orders
from comity.crawler.storage.placement import ShardAssignment
from comity.crawler.storage.stored_config import StoredConfig
from comity.errors import StorageError
from comity.files import open_regular, read_regular, write_anew
from comity.frontier.committed import FrontierView
from comity.frontier.durable import no_crawl, translate_os_errors
from comity.frontier.rules import DurableFrontier
from comity.frontier.sqlite import database
from comity.frontier.sqlite.store import Frontier, View, pending
from comity.frontier.values import Run, State
from comity.net import Clock

_STATUS: Final = "status.json"


class FolderCrawl(StoredCrawl):
    """A crawl in a folder, of one part or several; there may be none, which `check` says. An InputError says that the
    folder holds one machine's parts of a crawl in a store, a StorageError that the manifest cannot be read.

    Attributes:
        manifest: of a crawl of several shards.
        parts: the folders of its shards, or the folder itself where it has none.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = manifest_of(folder)
        self.parts = [folder] if self.manifest is None else [folder / name for name in self.manifest.parts]
        super().__init__(str(folder), len(self.parts), "host" if self.manifest is None else self.manifest.by)

    def check(self) -> None:
        """See that there is one; else an InputError."""
        if not any((path / FRONTIER).exists() for path in self.parts):
            raise no_crawl(self.folder)

    def view(self, number: int) -> FrontierView | None:
        return View.begun(self.parts[number] / FRONTIER)

    def config(self, view: FrontierView | None = None) -> StoredConfig:
        if self.manifest is not None:
            return StoredConfig.from_manifest(self.manifest)
        if view is not None:
            return StoredConfig.from_frontier(view)
        if (opened := self.view(0)) is None:
            return StoredConfig()
        with opened:
            return StoredConfig.from_frontier(opened)

    def output(self) -> CrawlOutput:
        manifest, running = self.manifest, self.is_running
        given = list(Orders(self.folder, 0).new())
        if manifest is None:
            return CrawlOutput(self.name, [[OutputPart(self.folder)]], is_running=running, orders=given)
        shards = []
        for number, path in enumerate(self.parts):
            absent = None if path.is_dir() else "it is missing"
            shards.append([OutputPart(path, path.name, ShardAssignment(number, manifest.shards, manifest.by), absent)])
        reported = [row["records"] for row in read_status(self.folder)]
        return CrawlOutput(
            self.name,
            shards,
            MANIFEST,
            running,
            run=Run(manifest.crawl, manifest.run),
            policy=manifest.policy,
            over=manifest.ended == FINISHED,
            records=[max(known) for known in zip_longest(manifest.records, reported, fillvalue=0)],
            orders=given,
        )

    def status(self) -> list[ShardSummary]:
        if self.manifest is None:
            return []
        found, runs = [], database.is_running(self.folder, LOCK)
        now = {row["number"]: row["words"] for row in read_status(self.folder)} if runs else {}
        to_others = pending(begun := self.begun())
        for number, path in enumerate(self.parts):
            if number not in begun:
                found.append(ShardSummary(path.name, 0, 0, 0, "not begun"))
                continue
            with View(begun[number]) as view:
                stats, ended = view.load_state("stats") or {}, view.load_state(ENDED) or "cut off"
                words = now.get(number, ended)
                found.append(ShardSummary(path.name, stats.get("pages", 0), _waiting(view), to_others[number], words))
        return found

    def begun(self) -> dict[int, Path]:
        """The frontiers of the shards that have begun, by number."""
        frontiers = enumerate(path / FRONTIER for path in self.parts)
        return {number: path for number, path in frontiers if database.has_begun(path)}

    def is_running(self) -> bool:
        running, parts = database.is_running, self.parts
        return any(map(running, parts)) or (parts != [self.folder] and running(self.folder, LOCK))

    def has_ended(self) -> bool:
        return not self.is_running()

    def give(self, host: str, kind: OrderKind, seconds: float | None) -> Order:
        return orders.give(self.folder, host, kind, seconds)

    def orders(self) -> tuple[list[Order], float]:
        return list(Orders(self.folder).new()), 0.0

    def is_confirmed(self, order: Order) -> bool:
        return orders.is_confirmed(self.folder, order)


def due(folder: Path) -> Literal["begin", "resume", "refresh"]:
    """What the crawl in a folder is to do next: begin; go on, where it was stopped or cut off, or has reached nothing
    and something waits; or look again at what it has."""
    crawl = FolderCrawl(folder)
    if not crawl.config().is_there:
        return "begin"
    ended = set() if crawl.manifest is None else {crawl.manifest.ended}
    reached = waiting = 0
    for number in range(crawl.shards):
        if (opened := crawl.view(number)) is None:
            continue
        with opened as view:
            stats = view.load_state("stats") or {}
            ended.add(view.load_state(ENDED))
            reached += sum(stats.get(name, 0) for name in ("pages", "unchanged", "gone"))
            waiting += _waiting(view)
    return "refresh" if ended == {FINISHED} and (reached or not waiting) else "resume"


def waiting_in(frontiers: Iterable[Path]) -> int:
    """How many URLs wait in some frontiers."""
    waiting = 0
    for path in frontiers:
        with View(path) as view:
            waiting += _waiting(view)
    return waiting


def _waiting(view: FrontierView) -> int:
    counts = view.counts()
    return counts[State.UNASKED] + counts[State.QUEUED]


class FolderStorage:
    """What a run keeps in a folder beside its output: see RunStorage. `orders`: where they are given to the crawl that
    it is a shard of; None: in its folder too."""

    keeps_clock = True

    def __init__(self, folder: Path, orders: Orders | None = None, clock: Clock | None = None) -> None:
        self.folder = folder
        self.orders: OrderSource = orders or Orders(folder)
        self.clock = clock or Clock()
        self._config: StoredConfig | None = None

    def config(self) -> StoredConfig:
        if self._config is None:
            self._config = FolderCrawl(self.folder).config()
        return self._config

    def frontier(self) -> DurableFrontier:
        return Frontier(self.folder / FRONTIER)

    def journal(self) -> WaitJournal:
        return WaitJournalFile(self.folder / "frontier.waits")

    def is_ours(self) -> bool:
        return True


class WaitJournalFile:
    """The waits of a run in a file: see WaitJournal."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._trouble: OSError | None = None
        with translate_os_errors(path):
            self._file = open_regular(path, "ab", buffering=0)

    def add(self, line: bytes) -> None:
        try:
            self._file.write(line)
        except OSError as error:
            self._trouble = self._trouble or error

    def check(self) -> None:
        with translate_os_errors(self._path):
            if self._trouble is not None:
                raise self._trouble

    def clear(self) -> None:
        with translate_os_errors(self._path):
            self._file.truncate(0)

    def lines(self) -> list[bytes]:
        with translate_os_errors(self._path):
            return read_regular(self._path).split(b"\n")[:-1]  # what has no end was cut short by a crash

    def close(self) -> None:
        self._file.close()


def write_status(folder: Path, shards: Iterable[ShardStatus]) -> None:
    """Write down how the shards of a crawl that runs stand; where it cannot be written, nobody is told."""
    rows = [
        {"number": now.number, "worker": now.worker, "words": describe_shard(now), "records": now.records}
        for now in shards
    ]
    path = folder / _STATUS
    with suppress(OSError):
        text = json.dumps({"at": time.time(), "pid": os.getpid(), "shards": rows})
        write_anew(path, text.encode("ascii"), synced=False)


def remove_status(folder: Path, frontiers: Iterable[Path]) -> None:
    """The crawl runs no more: nobody reads a shard's database beside it, which kept its journal from being taken up."""
    with suppress(OSError):
        (folder / _STATUS).unlink()
    for path in frontiers:
        with suppress(sqlite3.Error, StorageError):  # else the next run does it
            database.open_for_writing(path).close()


def read_status(folder: Path) -> list[dict[str, Any]]:
    """What the process that runs a crawl, or ran it until it was killed, left word of: a row for each shard."""
    try:
        rows = json.loads(read_regular(folder / _STATUS).decode("ascii"))["shards"]
        found = [
            {"number": int(row["number"]), "words": str(row["words"]), "records": int(row["records"])} for row in rows
        ]
        return sorted(found, key=itemgetter("number"))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []
