"""A whole crawl over a store that is neither SQLite nor PostgreSQL: what a store has to do is in one place."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from in_memory import MemoryStore
from sites import Site

from comity.crawler import Crawler, Stats
from comity.crawler.run.checkpoint import RUN_FACT
from comity.crawler.storage.folder import FolderStorage
from comity.crawler.storage.orders import Orders
from comity.crawler.storage.stored_config import StoredConfig
from comity.errors import StorageError
from comity.frontier.rules import DurableFrontier
from comity.frontier.values import State
from comity.policy import Policy

POLICY = Policy(agent="TestBot/1.0", min_interval=0.0, allow_addresses=("127.0.0.0/8",))


class InMemory(FolderStorage):
    """A crawl whose queue lies elsewhere."""

    def __init__(self, folder: Path, store: MemoryStore) -> None:
        super().__init__(folder, Orders(folder))
        self.store = store

    def config(self) -> StoredConfig:
        with self.store.view() as view:
            return StoredConfig.from_frontier(view) if view.load_state(RUN_FACT) else StoredConfig()

    def frontier(self) -> DurableFrontier:
        return self.store.open()


def kept(folder: Path) -> list[str]:
    return [json.loads(line)["url"] for line in (folder / "pages.jsonl").read_bytes().splitlines()]


def test_a_crawl_runs_over_a_store_without_sql(site: Site, tmp_path: Path) -> None:
    for number in range(15):
        site.set(f"/{number}", f'<a href="/{2 * number + 1}">1</a><a href="/{2 * number + 2}">2</a>')
    store = MemoryStore()
    crawl = Crawler([site.url("/0")], InMemory(tmp_path, store), policy=POLICY)
    stats = asyncio.run(crawl.run())
    assert sorted(kept(tmp_path)) == sorted(site.url(f"/{number}") for number in range(15))
    assert not (tmp_path / "frontier.sqlite").exists()
    with store.view() as view:
        counts = view.counts()
        assert (counts[State.QUEUED], counts[State.FAILED]) == (0, stats.failed)
        assert sum(counts.values()) == stats.found


def test_a_crawl_over_a_store_without_sql_is_continued_and_refreshed(site: Site, tmp_path: Path) -> None:
    for number in range(15):
        site.set(f"/{number}", f'<a href="/{2 * number + 1}">1</a><a href="/{2 * number + 2}">2</a>')
    storage = InMemory(tmp_path, MemoryStore())

    def crawl(*seeds: str, **how: Any) -> Stats:
        return asyncio.run(Crawler(seeds, storage, policy=POLICY, **how).run())

    with pytest.raises(StorageError, match="give the URLs to start one from"):
        crawl()
    assert crawl(site.url("/0"), settings={"max_pages": 4}).pages == 4
    assert crawl().pages == 4, "the limit is what it was"
    assert crawl(settings={"max_pages": None}).pages == 15
    assert Counter(kept(tmp_path)) == Counter(site.url(f"/{number}") for number in range(15))
    assert storage.config().policy == POLICY
    assert crawl(refresh=True).unchanged == 15
