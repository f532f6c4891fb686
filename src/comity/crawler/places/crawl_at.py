"""What commands beside a crawl do with it: read its queue, give an order about a host. In a folder or in PostgreSQL."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Final

from comity.crawler.places import orders
from comity.crawler.places.delays import Delay, delays
from comity.crawler.places.orders import EVERYTHING, Order, OrderKind
from comity.crawler.places.status import ShardStatus, in_words, standing
from comity.crawler.places.written_crawl import store_of
from comity.crawler.run.checkpoint import Begun
from comity.crawler.sharding.placement import shard_with
from comity.crawler.sharding.shards import CrawlManifest, is_running, manifest_of, part, parts_of, stored_in
from comity.errors import InputError, InvalidSetting
from comity.frontier import View
from comity.frontier.committed import FrontierView

STORE: Final = ("postgresql://", "postgres://")


def crawl_at(place: str | Path) -> "ReadCrawl":
    """The crawl in a folder, or in the store that a URL names, or that a folder with parts of a crawl names.

    Raises:
        InputError: there is none.
    """
    if str(place).startswith(STORE):
        return StoreReading(str(place))
    held = stored_in(Path(place))
    return FolderReading(Path(place)) if held is None else StoreReading(store_of(held))


def end(crawl: "ReadCrawl") -> Order:
    """Order a crawl that runs to end, on all machines: what is under way is finished, what waits is for a later run.

    Raises:
        InvalidSetting: it does not run.
    """
    if not crawl.is_running():
        raise InvalidSetting(f"the crawl in {crawl.name} is not running")
    return crawl.give(EVERYTHING, "end", None)


def _grouped(hosts: Iterable[str], shard_of: Callable[[str], int]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for host in hosts:
        found.setdefault(shard_of(host), []).append(host)
    return found


class FolderReading:
    """A crawl in a folder, of one part or several."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.name = str(folder)
        self._manifest = manifest_of(folder)
        self._parts = parts_of(folder)
        if not any((part / "frontier.sqlite").exists() for part in self._parts):
            raise InputError(f"no crawl in {folder}", hint="name the folder given to comity crawl -o")

    @property
    def shards(self) -> int:
        """How many it has; 1 where it is not cut into shards."""
        return len(self._parts)

    def views(self) -> Iterator[FrontierView]:
        """Each part's, opened one at a time; of those that have not begun, none."""
        opened = (View.begun(part / "frontier.sqlite") for part in self._parts)
        return (view for view in opened if view is not None)

    def view_of(self, host: str) -> FrontierView | None:
        """That of the part which a host belongs to, if it is there."""
        return self.view(self.shard_of(host))

    def shard_of(self, host: str) -> int:
        """The number of the shard that a host belongs to; 0 where there are none."""
        if self._manifest is None:
            return 0
        return shard_with(host, self._manifest.shards, self._manifest.by, self.view)

    def standing(self) -> list[ShardStatus]:
        """How its shards stand, where it has several."""
        return standing(self._folder)

    def delays(self, hosts: list[str]) -> dict[str, Delay]:
        """What keeps hosts from being asked now."""
        found: dict[str, Delay] = {}
        given = list(orders.Orders(self._folder).new())
        for number, names in _grouped(hosts, self.shard_of).items():
            if (view := self.view(number)) is None:
                continue
            with view:
                found |= delays(view, names, given, time.time())
        return found

    def begun(self, view: FrontierView | None = None) -> Begun:
        """With what it was begun. `view`: of one of its parts, where it is open."""
        if self._manifest is not None:
            return Begun.of(self._manifest)
        return Begun.at(self._folder) if view is None else Begun.seen_in(view)

    def last_order(self, host: str) -> Order | None:
        """The order that is in force about a host."""
        return orders.last_order(self._folder, host)

    def give(self, host: str, kind: OrderKind, seconds: float | None) -> Order:
        """Give an order."""
        return orders.give(self._folder, host, kind, seconds)

    def is_running(self) -> bool:
        """Whether it is being crawled now."""
        return is_running(self._folder)

    def view(self, number: int) -> View | None:
        """That of a shard, where it has begun."""
        folder = self._folder if self._manifest is None else self._folder / part(number)
        return View.begun(folder / "frontier.sqlite")


class StoreReading:
    """A crawl in PostgreSQL, whoever works on it."""

    def __init__(self, url: str) -> None:
        from comity.crawler.workers.store import CrawlStore
        from comity.frontier.postgresql.database import address

        self._where = address(url)
        self._store = CrawlStore(self._where)
        self.name = str(self._where)
        with closing(self._store):
            self._manifest = CrawlManifest.read(self._store.crawl().manifest, self._where)

    @property
    def shards(self) -> int:
        """How many it has."""
        return self._manifest.shards

    def views(self) -> Iterator[FrontierView]:
        """Each shard's, opened one at a time."""
        return (self.view(number) for number in range(self._manifest.shards))

    def view_of(self, host: str) -> FrontierView | None:
        """That of the shard which a host belongs to."""
        return self.view(self.shard_of(host))

    def standing(self) -> list[ShardStatus]:
        """How its shards stand: by what their holders said last."""
        found = []
        with closing(self._store):
            pending, rows = self._store.pending(), self._store.rows()
            with self._store.open() as db:
                waiting = dict(db.execute("SELECT shard, sum(unasked + queued)::bigint FROM host GROUP BY shard"))
        for row in rows:
            now = row.now
            words = "nobody has it" if row.holder is None and now.state != "ended" else in_words(now)
            whose = "" if row.holder is None else f", on {row.holder.partition(':')[0]}"
            number = row.number
            found.append(
                ShardStatus(
                    part(number), now.stats.pages, waiting.get(number, 0), pending.get(number, 0), f"{words}{whose}"
                )
            )
        return found

    def delays(self, hosts: list[str]) -> dict[str, Delay]:
        """What keeps hosts from being asked now; times are given by this machine's clock."""
        found = {}
        with closing(self._store):
            given, now = self._orders(), self._store.crawl().at
        ahead = now - time.time()  # what is written in the store is by the database's clock
        for number, names in _grouped(hosts, self.shard_of).items():
            with self.view(number) as view:
                for host, delay in delays(view, names, given, now).items():
                    found[host] = replace(delay, until=None if delay.until is None else delay.until - ahead)
        return found

    def begun(self, view: FrontierView | None = None) -> Begun:
        """With what it was begun."""
        return Begun.of(self._manifest)

    def last_order(self, host: str) -> Order | None:
        """The order that is in force about a host."""
        with closing(self._store):
            return next((order for order in reversed(self._orders()) if order.host == host), None)

    def give(self, host: str, kind: OrderKind, seconds: float | None) -> Order:
        """Give an order to all who take part."""
        order = orders.checked_order(host, kind, seconds)
        with closing(self._store):
            self._store.order(order)
        return order

    def is_running(self) -> bool:
        """Whether somebody works on it."""
        with closing(self._store):
            return self._store.is_running()

    def shard_of(self, host: str) -> int:
        """The number of the shard that a host belongs to."""
        return shard_with(host, self._manifest.shards, self._manifest.by, self.view)

    def _orders(self) -> list[Order]:
        return [order for _, order in self._store.orders()]

    def view(self, number: int) -> FrontierView:
        """That of a shard."""
        from comity.frontier.postgresql.view import PostgresView

        return PostgresView(self._where, number)


ReadCrawl = FolderReading | StoreReading
"""What is asked of a crawl's queue, and told."""
