"""Where a crawl is kept: in a folder (folder.py) or in PostgreSQL (store.py). Both are asked the same: StoredCrawl is
what everybody but its own run asks of a crawl, RunStorage is what a run, of a crawl or of one of its shards, keeps.

open_crawl.py opens the crawl at a place, whichever it is.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol

from comity.crawler.observe.snapshot import SHARD_WORDS, ShardStatus
from comity.crawler.observe.stats import UNREACHABLE
from comity.crawler.observe.words import HOST_WORDS, WAITS
from comity.crawler.storage.crawl_output import CrawlOutput
from comity.crawler.storage.orders import Order, OrderKind
from comity.crawler.storage.placement import shard_with
from comity.crawler.storage.stored_config import StoredConfig
from comity.domains import registrable
from comity.frontier.committed import FrontierView
from comity.frontier.rules import DurableFrontier
from comity.net import Clock
from comity.policy.policy import PaceBy
from comity.times import format_duration

MAX_CONFIRM_SECONDS: Final = 5.0  # seconds that one waits for a crawl to carry out an order
POLL_SECONDS: Final = 0.05


class OrderSource(Protocol):
    """Where the orders of a run come from."""

    def new(self) -> Iterator[Order]:
        """What was ordered since the last call, the oldest first."""

    def confirm(self, order: Order) -> None:
        """An order is carried out from now on."""


class WaitJournal(Protocol):
    """Keeps waits, a line each, that no commit has remembered yet, from the moment they are added: see run/waits.py."""

    def add(self, line: bytes) -> None:
        """Keep one more line. What goes wrong is raised by `check`."""

    def check(self) -> None:
        """Raises StorageError where a line could not be kept."""

    def clear(self) -> None:
        """Forget all that was added."""

    def lines(self) -> list[bytes]:
        """What is kept, the oldest first."""

    def close(self) -> None: ...


class RunStorage(Protocol):
    """Where a run keeps what it has to know; frontier and journal are opened by each call.

    Attributes:
        folder: where its output and its ledger lie.
        clock: which its times are given by.
        orders: what the operator orders of its hosts.
        keeps_clock: whether a later run has the same clock: if not, hosts are left alone then as after a crash.
    """

    folder: Path
    clock: Clock
    orders: OrderSource
    keeps_clock: bool

    def config(self) -> StoredConfig:
        """With what the crawl was begun: read once, before a run."""

    def frontier(self) -> DurableFrontier: ...

    def journal(self) -> WaitJournal: ...

    def is_ours(self) -> bool:
        """Whether this run may still send and keep anything."""


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


@dataclass(frozen=True, slots=True)
class Delay:
    """What keeps a host from being asked now: `until` when (Unix time; None where nothing but an order ends it), and
    why: `interval`, `retry_after`, `back_off`, `circuit_open`, `unreachable` (its robots.txt) or `stopped`."""

    until: float | None
    why: str

    def in_words(self, now: float) -> str:
        """For people; `now`: Unix time."""
        if self.until is None:
            return "stopped by the operator"
        why = HOST_WORDS.get(self.why, self.why)
        return f"for {format_duration(max(self.until - now, 0.0))} ({why})"


class StoredCrawl(ABC):
    """A crawl where it is kept: its queue, the orders that it was given, how its shards stand, what it wrote. It is
    opened once and asked for what is wanted of that.

    Attributes:
        name: for people.
        shards: how many it has; 1 where it is not cut.
    """

    def __init__(self, name: str, shards: int, by: PaceBy) -> None:
        self.name = name
        self.shards = shards
        self._by = by

    @abstractmethod
    def view(self, number: int) -> FrontierView | None:
        """That of a shard, where it has begun."""

    @abstractmethod
    def config(self, view: FrontierView | None = None) -> StoredConfig:
        """With what it was begun. `view`: of one of its parts, where it is open."""

    @abstractmethod
    def output(self) -> CrawlOutput:
        """What it wrote, on whatever machine."""

    @abstractmethod
    def status(self) -> list[ShardSummary]:
        """How its shards stand, where it has several."""

    @abstractmethod
    def is_running(self) -> bool:
        """Whether it is being crawled now."""

    @abstractmethod
    def give(self, host: str, kind: OrderKind, seconds: float | None) -> Order:
        """Give an order to all who work on it."""

    @abstractmethod
    def orders(self) -> tuple[list[Order], float]:
        """All orders, the oldest first, and the seconds that the clock of who works it is ahead of ours."""

    @abstractmethod
    def is_confirmed(self, order: Order) -> bool:
        """Whether who carries an order out has said so."""

    def has_ended(self) -> bool:
        """Whether it can be seen at once that it is crawled no more."""
        return False

    def confirms(self, order: Order) -> bool:
        """Whether the crawl that runs carries an order out by now: waits for that a while."""
        deadline = time.monotonic() + MAX_CONFIRM_SECONDS
        while not self.is_confirmed(order):
            if time.monotonic() >= deadline or self.has_ended():
                return self.is_confirmed(order)
            time.sleep(POLL_SECONDS)
        return True

    def views(self) -> Iterator[FrontierView]:
        """Each shard's, opened one at a time; of those that have not begun, none."""
        return (view for view in map(self.view, range(self.shards)) if view is not None)

    def has(self, host: str) -> bool:
        """Whether it has met a URL of a host."""
        if (opened := self.view(self.shard_of(host))) is None:
            return False
        with opened as view:
            return view.host(host) is not None

    def shard_of(self, host: str) -> int:
        """The number of the shard that a host belongs to; 0 where there are none."""
        return shard_with(host, self.shards, self._by, self.view)

    def last_order(self, host: str) -> Order | None:
        """The order that is in force about a host."""
        return next((order for order in reversed(self.orders()[0]) if order.host == host), None)

    def delays(self, hosts: list[str]) -> dict[str, Delay]:
        """What keeps hosts from being asked now; times are given by this machine's clock. What a run keeps to itself is
        not known here: visiting hours, and limits for each host."""
        by_shard: dict[int, list[str]] = {}
        for host in hosts:
            by_shard.setdefault(self.shard_of(host), []).append(host)
        given, ahead = self.orders()
        stopped = {order.host: order.order == "stop" for order in given}
        found: dict[str, Delay] = {}
        for number, names in by_shard.items():
            if (opened := self.view(number)) is not None:
                with opened as view:
                    for host, delay in _delays(view, names, stopped, time.time() + ahead):
                        found[host] = replace(delay, until=None if delay.until is None else delay.until - ahead)
        return found


def _delays(
    view: FrontierView, hosts: Iterable[str], stopped: dict[str, bool], now: float
) -> Iterator[tuple[str, Delay]]:
    """What keeps hosts of one shard from being asked; of those that nothing does, nothing. `now`: Unix time by the
    clock that the shard is worked by."""

    def kept(name: str) -> dict[str, Any]:
        return view.load_state(name) or {}

    waits, reasons, paces, by_domain = kept("waits"), kept("reasons"), kept("paces"), kept("policy").get("pace_by")
    for name in hosts:
        pace = registrable(name) if by_domain == "domain" else paces.get(name, name)
        silent = (view.load_state(UNREACHABLE + name) or [0, {}])[1]
        until, why = (waits[pace][0], "interval") if pace in waits else (now, "")
        if pace in reasons and reasons[pace][0] >= until:
            until, why = reasons[pace]
        if silent and max(silent.values()) > until:
            until, why = max(silent.values()), "unreachable"
        if stopped.get(name):
            yield name, Delay(None, "stopped")
        elif until > now:
            yield name, Delay(until, why)
