"""A crawl at a place, in a folder or in PostgreSQL, as all who are not the crawl itself find it: its queue, the orders
that it was given, how its shards stand, what it wrote. It is opened once and asked for what is wanted of that.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from shlex import quote
from typing import Final

from comity.crawler.storage import orders
from comity.crawler.storage.delays import Delay, delays
from comity.crawler.storage.orders import EVERYTHING, Order, OrderKind
from comity.crawler.storage.placement import PlacedBy, ShardAssignment, shard_with
from comity.crawler.storage.shards import (
    LOCK,
    LOST_PREFIX,
    MANIFEST,
    STORE,
    CrawlManifest,
    StoreMark,
    is_running,
    manifest_and_parts,
    part,
    stored_in,
)
from comity.crawler.storage.status import ShardSummary, describe_shard, read_status
from comity.crawler.storage.stored_config import StoredConfig
from comity.crawler.storage.written_crawl import ENDED, FACTS, FINISHED, FRONTIER, CrawlOutput, OutputPart
from comity.errors import InputError, InvalidSetting, StorageError
from comity.frontier.committed import FrontierView
from comity.frontier.durable import no_crawl
from comity.frontier.sqlite import database
from comity.frontier.sqlite.database import has_begun
from comity.frontier.sqlite.store import pending
from comity.frontier.sqlite.view import View
from comity.frontier.values import Run, State, Unreachable

MAX_CONFIRM_SECONDS: Final = 5.0  # seconds that one waits for a crawl to carry out an order
POLL_SECONDS: Final = 0.05
STORES: Final = ("postgresql://", "postgres://")  # what the address of a store begins with


def open_crawl(place: str | Path | Sequence[Path], store: str | None = None) -> "CrawlReader":
    """The crawl in a folder, in those of several machines, or in the store that a URL names.

    Args:
        store: the address of the store of a crawl in PostgreSQL: what its folders say of that is never connected to,
            for a folder may be anybody's. Without folders it names them: those of this machine.

    Raises:
        InputError: there is none, or the folders are not of one crawl, or not all of its kind.
        InvalidSetting: they are of a crawl in a store, and no store is given.
        StorageError: what says how it is cut cannot be read, or the store not be reached.
    """
    if isinstance(place, str):
        if place.startswith(STORES):
            return CrawlInStore(place)
        place = Path(place)
    crawl = _opened(place, store)
    if isinstance(crawl, CrawlInFolder):
        crawl.check()  # one in a store is there, else it could not be opened
    return crawl


def open_output(folders: Path | Sequence[Path], store: str | None = None) -> CrawlOutput:
    """What the crawl wrote that lies in a folder, or in those of several machines. Its queue need not be there.

    Args, Raises: as of open_crawl.
    """
    return _opened(folders, store).written()


def _opened(folders: Path | Sequence[Path], store: str | None) -> "CrawlReader":
    given = [folders] if isinstance(folders, Path) else list(dict.fromkeys(folders))
    held = {folder: mark for folder in given if (mark := stored_in(folder)) is not None}
    if held or (store is not None and not given):
        if alone := [str(folder) for folder in given if folder not in held]:
            raise InputError(f"{', '.join(alone)}: no part of a crawl in a store lies there", hint="leave it out")
        if store is None:
            folder, mark = next(iter(held.items()))
            raise InvalidSetting(
                f"store: {folder} holds parts of a crawl in {mark.url!r}; a folder does not decide where to connect",
                hint=f"if that database is yours, add --store {quote(mark.url)}; to frontier and serve, instead of DIR",
            )
        try:
            return CrawlInStore(store, held)
        except Unreachable as error:
            raise StorageError(
                f"{error.args[0]}; it says what of the crawl is committed",
                hint="check that it runs, or name another address of it with --store URL",
            ) from error
    if len(given) > 1:
        raise InputError(
            f"{', '.join(map(str, given))}: they hold no parts of one crawl in a store",
            hint="several folders must belong to machines that worked on one crawl; otherwise name one",
        )
    (folder,) = given
    opened = CrawlInFolder(folder)  # refuses a part of a stored crawl by itself
    if store is not None:
        raise InvalidSetting(f"store: {folder} holds no part of a crawl in a store", hint="leave out --store")
    return opened


def end(crawl: "CrawlReader") -> Order:
    """Order a crawl that runs to end, on all machines: what is under way is finished, what waits is for a later run. An
    InvalidSetting says that it does not run."""
    if not crawl.is_running():
        raise InvalidSetting(f"the crawl in {crawl.name} is not running")
    return crawl.give(EVERYTHING, "end", None)


class _CrawlReader:
    """What is the same wherever a crawl lies: its name, for people, and how many shards it has; 1 where it is not
    cut."""

    def __init__(self, name: str, shards: int, by: PlacedBy) -> None:
        self.name = name
        self.shards = shards
        self._by = by

    def view(self, number: int) -> FrontierView | None:
        """That of a shard, where it has begun."""
        raise NotImplementedError

    def _given(self) -> tuple[list[Order], float]:
        """All orders, the oldest first, and the seconds that the clock of who works it is ahead of ours."""
        raise NotImplementedError

    def _is_confirmed(self, order: Order) -> bool:
        """Whether who carries an order out has said so."""
        raise NotImplementedError

    def _has_ended(self) -> bool:
        """Whether it can be seen at once that it is crawled no more."""
        return False

    def confirms(self, order: Order) -> bool:
        """Whether the crawl that runs carries an order out by now: waits for that a while."""
        deadline = time.monotonic() + MAX_CONFIRM_SECONDS
        while not self._is_confirmed(order):
            if time.monotonic() >= deadline or self._has_ended():
                return self._is_confirmed(order)
            time.sleep(POLL_SECONDS)
        return True

    def views(self) -> Iterator[FrontierView]:
        """Each shard's, opened one at a time; of those that have not begun, none."""
        return (view for view in map(self.view, range(self.shards)) if view is not None)

    def view_of(self, host: str) -> FrontierView | None:
        """That of the shard which a host belongs to, if it is there."""
        return self.view(self.shard_of(host))

    def has(self, host: str) -> bool:
        """Whether it has met a URL of a host."""
        if (opened := self.view_of(host)) is None:
            return False
        with opened as view:
            return view.host(host) is not None

    def shard_of(self, host: str) -> int:
        """The number of the shard that a host belongs to; 0 where there are none."""
        return shard_with(host, self.shards, self._by, self.view)

    def delays(self, hosts: list[str]) -> dict[str, Delay]:
        """What keeps hosts from being asked now; times are given by this machine's clock."""
        by_shard: dict[int, list[str]] = {}
        for host in hosts:
            by_shard.setdefault(self.shard_of(host), []).append(host)
        given, ahead = self._given()
        found: dict[str, Delay] = {}
        for number, names in by_shard.items():
            if (view := self.view(number)) is None:
                continue
            with view:
                for host, delay in delays(view, names, given, time.time() + ahead).items():
                    found[host] = replace(delay, until=None if delay.until is None else delay.until - ahead)
        return found

    def last_order(self, host: str) -> Order | None:
        """The order that is in force about a host."""
        return next((order for order in reversed(self._given()[0]) if order.host == host), None)


class CrawlInFolder(_CrawlReader):
    """A crawl in a folder, of one part or several."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._manifest, self._parts = manifest_and_parts(folder)
        super().__init__(str(folder), len(self._parts), "host" if self._manifest is None else self._manifest.by)

    def check(self) -> None:
        """See that there is one; else an InputError."""
        if not any((path / FRONTIER).exists() for path in self._parts):
            raise no_crawl(self._folder)

    def view(self, number: int) -> FrontierView | None:
        return View.begun(self._parts[number] / FRONTIER)

    def _given(self) -> tuple[list[Order], float]:
        return list(orders.Orders(self._folder).new()), 0.0

    def status(self) -> list[ShardSummary]:
        """How its shards stand, where it has several."""
        if self._manifest is None:
            return []
        found, runs = [], database.is_running(self._folder, LOCK)
        now = {row["number"]: row["words"] for row in read_status(self._folder)} if runs else {}
        begun = {number: path / FRONTIER for number, path in enumerate(self._parts) if has_begun(path / FRONTIER)}
        to_others = pending(begun)
        for number, path in enumerate(self._parts):
            if number not in begun:
                found.append(ShardSummary(path.name, 0, 0, 0, "not begun"))
                continue
            with View(begun[number]) as view:
                counts, stats = view.counts(), view.load_state("stats") or {}
                ended = view.load_state(ENDED) or "cut off"
            waiting = counts[State.UNASKED] + counts[State.QUEUED]
            words = now.get(number, ended)
            found.append(ShardSummary(path.name, stats.get("pages", 0), waiting, to_others[number], words))
        return found

    def written(self) -> CrawlOutput:
        """What it wrote."""
        manifest, running = self._manifest, self.is_running
        given = list(orders.Orders(self._folder, 0).new())
        if manifest is None:
            return CrawlOutput(self.name, [[OutputPart(self._folder)]], is_running=running, orders=given)
        shards = []
        for number, path in enumerate(self._parts):
            place, absent = (
                ShardAssignment(number, manifest.shards, manifest.by),
                None if path.is_dir() else "it is missing",
            )
            shards.append([OutputPart(path, path.name, place, absent)])
        reported = [row["records"] for row in read_status(self._folder)]
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

    def begun(self, view: FrontierView | None = None) -> StoredConfig:
        """With what it was begun. `view`: of one of its parts, where it is open."""
        if self._manifest is not None:
            return StoredConfig.from_manifest(self._manifest)
        return StoredConfig.from_folder(self._folder) if view is None else StoredConfig.from_frontier(view)

    def give(self, host: str, kind: OrderKind, seconds: float | None) -> Order:
        """Give an order."""
        return orders.give(self._folder, host, kind, seconds)

    def is_running(self) -> bool:
        """Whether it is being crawled now."""
        return is_running(self._folder, self._parts)

    def _is_confirmed(self, order: Order) -> bool:
        return orders.is_confirmed(self._folder, order)

    def _has_ended(self) -> bool:
        return not self.is_running()


class CrawlInStore(_CrawlReader):
    """A crawl in PostgreSQL, whoever works on it. `held`: folders that hold parts of its output, and what marks them;
    without, those of this machine are found. An InputError: there is none, or a folder holds parts of another."""

    def __init__(self, url: str, held: Mapping[Path, StoreMark] | None = None) -> None:
        from comity.crawler.storage.store import CrawlStore
        from comity.frontier.postgresql.database import address

        self._url, self._where, self._held = url, address(url), held or {}
        self._store = CrawlStore(self._where)
        with closing(self._store):
            self._stored = self._store.crawl()
        for folder, mark in self._held.items():
            if mark.crawl != self._stored.run.crawl:
                raise InputError(
                    f"{folder} holds parts of another crawl than the one that is now in {self._where}",
                    hint="name folders of one crawl, and by --store URL its store",
                )
        self._manifest = CrawlManifest.read(self._stored.manifest, self._where)
        super().__init__(str(self._where), self._manifest.shards, self._manifest.by)

    def view(self, number: int) -> FrontierView | None:
        from comity.frontier.postgresql.view import PostgresView

        return PostgresView(self._where, number)

    def _given(self) -> tuple[list[Order], float]:
        with closing(self._store):
            return [order for _, order in self._store.orders.since()], self._store.time() - time.time()

    def status(self) -> list[ShardSummary]:
        """How its shards stand: by what their holders said last."""
        found = []
        with closing(self._store):
            pending, rows = self._store.pending(), self._store.status().rows
            with self._store.open() as db:
                waiting = dict(db.execute("SELECT shard, sum(unasked + queued)::bigint FROM host GROUP BY shard"))
        for row in rows:
            words = "nobody has it" if row.holder is None and row.now.state != "ended" else describe_shard(row.now)
            whose = "" if row.holder is None else f", on {row.holder.partition(':')[0]}"
            left = waiting.get(row.number, 0), pending.get(row.number, 0)
            found.append(ShardSummary(part(row.number), row.now.stats.pages, *left, f"{words}{whose}"))
        return found

    def written(self) -> CrawlOutput:
        """What it wrote, on whatever machine."""
        with closing(self._store):
            crawl, rows = self._store.crawl(), self._store.parts()
            states = {row.now.state for row in self._store.status().rows}
            facts = {name: self._store.state(name) for name in FACTS}
            parcels, given = self._store.parcels(), self._store.orders.since()
        folders = list(self._held)
        if not folders:
            here = dict.fromkeys(Path(row.folder) for row in rows)
            folders = [each for each in here if (mark := stored_in(each)) is not None and mark.crawl == crawl.run.crawl]
        shards: list[list[OutputPart]] = [[] for _ in range(self.shards)]
        rows = [row for row in rows if row.ledger is not None]  # of the others nothing was committed
        last = {row.shard: row.token for row in rows}
        for row in rows:
            newest = row.token == last[row.shard]  # rows come by shard and token
            path = next((folder / row.name for folder in folders if (folder / row.name).is_dir()), None)
            shards[row.shard].append(
                OutputPart(
                    path or Path(row.folder) / row.name,
                    row.name,
                    ShardAssignment(row.shard, self.shards, self._by),
                    None if path else f"it is not here; {row.holder.partition(':')[0]} has it in {row.folder}",
                    followed=not newest,
                    kept={
                        **({name: its.get(row.shard) for name, its in facts.items()} if newest else {}),
                        "ledger": row.ledger,
                        "sink": row.sink,
                        "parcels": [parcel for sender, parcel in parcels if sender == row.shard],
                    },
                    run=row.run,
                )
            )
        return CrawlOutput(
            self.name,
            shards,
            STORE,
            self.is_running,
            self._url,
            crawl.run,
            self._manifest.policy,
            over=crawl.ended is not None and states == {"ended"},
            orders=[order for _, order in given],
            lost=[path for folder in folders for path in folder.glob(f"{LOST_PREFIX}*") if path.is_dir()],
        )

    def begun(self, view: FrontierView | None = None) -> StoredConfig:
        """With what it was begun."""
        return StoredConfig.from_manifest(self._manifest)

    def give(self, host: str, kind: OrderKind, seconds: float | None) -> Order:
        """Give an order to all who take part; when, the store's clock says."""
        order = orders.checked_order(host, kind, seconds)
        with closing(self._store):
            order = replace(order, at=round(self._store.time(), 3))
            self._store.orders.give(order)
        return order

    def is_running(self) -> bool:
        """Whether somebody works on it."""
        with closing(self._store):
            return self._store.is_running()

    def confirms(self, order: Order) -> bool:
        """As of any crawl, over one connection."""
        with closing(self._store):
            return super().confirms(order)

    def _is_confirmed(self, order: Order) -> bool:
        return self._store.orders.is_confirmed(order)


CrawlReader = CrawlInFolder | CrawlInStore  # what is asked of a crawl, and told
