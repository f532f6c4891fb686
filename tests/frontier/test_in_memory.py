"""A whole crawl over a store that is neither SQLite nor PostgreSQL: what a store has to do is in one place."""

import asyncio
import json
from pathlib import Path

from in_memory import MemoryStore
from sites import Site

from comity.crawler import Crawler
from comity.crawler.places.orders import Orders
from comity.crawler.run.given import FolderStorage
from comity.frontier import State
from comity.frontier.rules import DurableFrontier
from comity.policy import Policy

POLICY = Policy(agent="TestBot/1.0", min_interval=0.0, allow_addresses=("127.0.0.0/8",))


class InMemory(FolderStorage):
    """A crawl whose queue lies elsewhere."""

    def __init__(self, folder: Path, store: MemoryStore) -> None:
        super().__init__(folder, Orders(folder))
        self.store = store

    def frontier(self) -> DurableFrontier:
        return self.store.open()


def test_a_crawl_runs_over_a_store_without_sql(site: Site, tmp_path: Path) -> None:
    for number in range(15):
        site.set(f"/{number}", f'<a href="/{2 * number + 1}">1</a><a href="/{2 * number + 2}">2</a>')
    store = MemoryStore()
    crawl = Crawler([site.url("/0")], tmp_path, policy=POLICY, storage=InMemory(tmp_path, store))
    stats = asyncio.run(crawl.run())
    urls = [json.loads(line)["url"] for line in (tmp_path / "pages.jsonl").read_bytes().splitlines()]
    assert sorted(urls) == sorted(site.url(f"/{number}") for number in range(15))
    assert not (tmp_path / "frontier.sqlite").exists()
    with store.view() as view:
        counts = view.counts()
        assert (counts[State.QUEUED], counts[State.FAILED]) == (0, stats.failed)
        assert sum(counts.values()) == stats.found
