"""How the queue of a crawl stands, running or not: what the dashboard, the report and `comity frontier` say of it."""

import os
import shutil
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.observe.stats import UNREACHABLE, RequestCounters, Stats, summed
from comity.crawler.observe.words import FAILED, KEPT, NO_ROBOTS, QUEUED, REFUSED
from comity.crawler.storage.crawl import Delay, ShardSummary, StoredCrawl
from comity.crawler.storage.orders import EVERYTHING, ORDERS, Order
from comity.frontier.values import HostCounts, State
from comity.net.client_settings import concealed
from comity.policy import Policy
from comity_robots.fields import settings_of

MAX_HOSTS: Final = 200
_LITTLE: Final = 1 << 30  # bytes


@dataclass(slots=True)
class Queue:
    """How the queue stands.

    Attributes:
        at: when it was looked at, Unix time.
        counts: URLs by the words of `words.URL_WORDS`.
        hosts: those with most to do, by name; `delays`: what holds them; `orders`: the ones in force.
        silent: by host, why its robots.txt could not be reached, in words.
        settings: those that differ from the default, as they are written.
        free, used: bytes of the disk and of the crawl's output; None where it lies elsewhere.
    """

    at: float
    running: bool
    counts: dict[str, int]
    stats: Stats
    tally: RequestCounters
    memory: int = 0
    hosts: list[HostCounts] = field(default_factory=list)
    delays: dict[str, Delay] = field(default_factory=dict)
    orders: dict[str, Order] = field(default_factory=dict)
    silent: dict[str, str] = field(default_factory=dict)
    shards: list[ShardSummary] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    free: int | None = None
    used: int | None = None

    @property
    def is_disk_short(self) -> bool:
        return self.free is not None and self.free < max(_LITTLE, self.used or 0) / 2


def url_counts(counts: Counter[State], stats: Stats) -> dict[str, int]:
    """URLs by what becomes of them; `counts` as the queue has them, where redirects and sitemaps are done too."""
    waiting = counts[State.UNASKED] + counts[State.QUEUED]
    without = min(max(counts[State.UNASKED], stats.postponed), waiting)
    return {
        KEPT: stats.pages,
        QUEUED: waiting - without,
        NO_ROBOTS: without,
        REFUSED: counts[State.REFUSED],
        FAILED: counts[State.FAILED],
    }


def look(crawl: StoredCrawl) -> Queue:
    """Look at a queue. Errors as of `StoredCrawl.view`."""
    counts, tally, parts = Counter[State](), RequestCounters(), list[Stats]()
    hosts, silent, memory = list[HostCounts](), dict[str, str](), dict[int, int | None]()
    for each in crawl.views():
        with each as view:
            counts.update(view.counts())
            hosts += view.busiest(MAX_HOSTS)
            parts.append(Stats(**(view.load_state("stats") or {})))
            silent |= {
                name.removeprefix(UNREACHABLE): str(said[2])
                for name, said in view.load_states(UNREACHABLE).items()
                if len(said) > 2
            }
            if kept := view.load_state("tally"):
                tally.add(RequestCounters(kept))
                memory |= [kept[-1]]  # by process: shards may share one
    hosts = sorted(sorted(hosts, key=lambda host: -host.waiting)[:MAX_HOSTS], key=lambda host: host.host)
    running, stats, orders = crawl.is_running(), summed(parts), crawl.orders()[0]
    in_force = {order.host: order for order in orders if order.host != EVERYTHING}
    found = Queue(
        time.time(),
        running,
        url_counts(counts, stats),
        stats,
        tally,
        sum(size or 0 for size in memory.values()) if running else 0,
        hosts,
        crawl.delays([host.host for host in hosts if host.waiting]),
        {host: order for host, order in in_force.items() if order.order != "go"},
        silent,
        crawl.status(),
        _changed(crawl),
    )
    if Path(crawl.name).is_dir():
        found.free = shutil.disk_usage(crawl.name).free
        found.used = sum(entry.stat().st_size for entry in os.scandir(crawl.name) if entry.is_file())
    return found


def order_in_words(order: Order) -> str:
    """What an order asks for."""
    return ORDERS[order.order].words.format(host=order.host, seconds=order.seconds)


def _changed(crawl: StoredCrawl) -> dict[str, str]:
    config = crawl.config()
    given: list[tuple[type, dict[str, Any]]] = []
    if config.policy is not None:
        given.append((Policy, {name: getattr(config.policy, name) for name in settings_of(Policy)}))
    given.append((CrawlSettings, dict(config.settings)))
    return {
        name: each.written(concealed(name, values[name]))
        for kind, values in given
        for name, each in settings_of(kind).items()
        if name in values and name != "agent" and values[name] != each.default
    }
