"""What commands beside a crawl do with it: read its queue, give an order about a host. In a folder or in PostgreSQL."""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Final

from comity.crawler.places import orders
from comity.crawler.places.delays import Delay, delays
from comity.crawler.places.orders import EVERYTHING, Order, OrderKind
from comity.crawler.places.status import ShardStatus, in_words, standing
from comity.crawler.places.written_crawl import no_crawl, store_of
from comity.crawler.run.checkpoint import Begun
from comity.crawler.sharding.placement import PlacedBy, shard_with
from comity.crawler.sharding.shards import CrawlManifest, is_running, manifest_of, part, parts_of, stored_in
from comity.errors import InvalidSetting
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


class _Reading:
    """What is the same wherever a crawl lies.

    Attributes:
        name: for people.
        shards: how many it has; 1 where it is not cut into shards.
    """

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


class FolderReading(_Reading):
    """A crawl in a folder, of one part or several."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._manifest = manifest_of(folder)
        self._parts = parts_of(folder)
        super().__init__(str(folder), len(self._parts), "host" if self._manifest is None else self._manifest.by)
        if not any((part / "frontier.sqlite").exists() for part in self._parts):
            raise no_crawl(folder)

    def view(self, number: int) -> FrontierView | None:
        return View.begun(self._parts[number] / "frontier.sqlite")

    def _given(self) -> tuple[list[Order], float]:
        return list(orders.Orders(self._folder).new()), 0.0

    def standing(self) -> list[ShardStatus]:
        """How its shards stand, where it has several."""
        return standing(self._folder)

    def begun(self, view: FrontierView | None = None) -> Begun:
        """With what it was begun. `view`: of one of its parts, where it is open."""
        if self._manifest is not None:
            return Begun.of(self._manifest)
        return Begun.at(self._folder) if view is None else Begun.seen_in(view)

    def give(self, host: str, kind: OrderKind, seconds: float | None) -> Order:
        """Give an order."""
        return orders.give(self._folder, host, kind, seconds)

    def is_running(self) -> bool:
        """Whether it is being crawled now."""
        return is_running(self._folder)


class StoreReading(_Reading):
    """A crawl in PostgreSQL, whoever works on it."""

    def __init__(self, url: str) -> None:
        from comity.crawler.workers.store import CrawlStore
        from comity.frontier.postgresql.database import address

        self._where = address(url)
        self._store = CrawlStore(self._where)
        with closing(self._store):
            self._manifest = CrawlManifest.read(self._store.crawl().manifest, self._where)
        super().__init__(str(self._where), self._manifest.shards, self._manifest.by)

    def view(self, number: int) -> FrontierView | None:
        from comity.frontier.postgresql.view import PostgresView

        return PostgresView(self._where, number)

    def _given(self) -> tuple[list[Order], float]:
        with closing(self._store):
            return [order for _, order in self._store.orders()], self._store.crawl().at - time.time()

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

    def begun(self, view: FrontierView | None = None) -> Begun:
        """With what it was begun."""
        return Begun.of(self._manifest)

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


ReadCrawl = FolderReading | StoreReading
"""What is asked of a crawl's queue, and told."""
