"""A crawl as those see it who only read its queue or give an order about a host: in a folder, or in PostgreSQL."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Final, Protocol

from comity.crawler import orders
from comity.crawler.holds import Hold, holds
from comity.crawler.orders import Kind, Order
from comity.crawler.placement import part_with, shard_with
from comity.crawler.shards import Manifest, is_running, part, parts_of
from comity.crawler.workers.standing import Standing, in_words, standing
from comity.errors import InputError
from comity.frontier import View
from comity.frontier.protocol import FrontierView

STORE: Final = ("postgresql://", "postgres://")


class ReadCrawl(Protocol):
    """What `comity frontier` asks and tells."""

    @property
    def name(self) -> str: ...
    def views(self) -> Iterator[FrontierView]: ...
    def view_of(self, host: str) -> FrontierView | None: ...
    def standing(self) -> list[Standing]: ...
    def holds(self, hosts: list[str]) -> dict[str, Hold]: ...
    def give(self, host: str, kind: Kind, seconds: float | None) -> Order: ...
    def is_running(self) -> bool: ...


def crawl_at(place: str | Path) -> ReadCrawl:
    """The crawl in a folder, or in the store that a URL names.

    Raises:
        InputError: there is none.
    """
    if str(place).startswith(STORE):
        return StoreReading(str(place))
    return FolderReading(Path(place))


class FolderReading:
    """A crawl in a folder, of one part or several."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.name = str(folder)
        self._parts = [part for part in parts_of(folder) if (part / "frontier.sqlite").exists()]
        if not self._parts:
            raise InputError(f"there is no crawl in {folder}", hint="name the folder given to comity crawl -o")

    def views(self) -> Iterator[FrontierView]:
        """Each part's, opened one at a time."""
        return (View(part / "frontier.sqlite") for part in self._parts)

    def view_of(self, host: str) -> FrontierView | None:
        """That of the part which a host belongs to, if it is there."""
        path = part_with(self._folder, host) / "frontier.sqlite"
        return View(path) if path.exists() else None

    def standing(self) -> list[Standing]:
        """How its shards stand, where it has several."""
        return standing(self._folder)

    def holds(self, hosts: list[str]) -> dict[str, Hold]:
        """What keeps hosts from being asked now."""
        return holds(self._folder, hosts)

    def give(self, host: str, kind: Kind, seconds: float | None) -> Order:
        """Give an order."""
        return orders.give(self._folder, host, kind, seconds)

    def is_running(self) -> bool:
        """Whether it is being crawled now."""
        return is_running(self._folder)


class StoreReading:
    """A crawl in PostgreSQL, whoever works on it."""

    def __init__(self, url: str) -> None:
        from comity.frontier.postgresql.crawl import CrawlStore
        from comity.frontier.postgresql.database import address

        self._where = address(url)
        self._store = CrawlStore(self._where)
        self.name = str(self._where)
        with closing(self._store):
            self._manifest = Manifest(**self._store.crawl().manifest)

    def views(self) -> Iterator[FrontierView]:
        """Each shard's, opened one at a time."""
        return (self._view(number) for number in range(self._manifest.shards))

    def view_of(self, host: str) -> FrontierView | None:
        """That of the shard which a host belongs to."""
        return self._view(shard_with(host, self._manifest, self._view))

    def standing(self) -> list[Standing]:
        """How its shards stand: by what their holders said last."""
        from comity.crawler.workers.leased import as_said

        found = []
        with closing(self._store):
            pending, rows = self._store.pending(), self._store.rows()
            with self._store.open() as db:
                waiting = dict(db.execute("SELECT shard, sum(unasked + queued)::bigint FROM host GROUP BY shard"))
        for row in rows:
            now = as_said(row)
            words = "nobody has it" if row.holder is None and now.state != "ended" else in_words(now)
            whose = "" if row.holder is None else f", on {row.holder.partition(':')[0]}"
            number = row.number
            found.append(
                Standing(
                    part(number), now.stats.pages, waiting.get(number, 0), pending.get(number, 0), f"{words}{whose}"
                )
            )
        return found

    def holds(self, hosts: list[str]) -> dict[str, Hold]:
        """Nothing: it is not read from a store."""
        return {}

    def give(self, host: str, kind: Kind, seconds: float | None) -> Order:
        """Give an order to all who take part."""
        order = orders.checked_order(host, kind, seconds)
        with closing(self._store):
            self._store.order(json.dumps(asdict(order)))
        return order

    def is_running(self) -> bool:
        """Whether somebody works on it."""
        with closing(self._store):
            return self._store.is_running()

    def _view(self, number: int) -> FrontierView:
        from comity.frontier.postgresql.view import PostgresView

        return PostgresView(self._where, number)
