"""A large page holds up nobody: how much processor time the event loop's own thread needs between two of its turns."""

import asyncio
import contextlib
import gc
import gzip
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sites import Site

from comity.crawler import Crawler, CrawlSettings
from comity.net import ClientSettings
from comity.policy import Policy
from comity_pages.signals.links import read_page

GZIP = {"Content-Encoding": "gzip"}
TRIES = 3


@contextlib.contextmanager
def without_garbage() -> Iterator[None]:
    """What other tests left behind is not looked through meanwhile."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def longest_turn(site: Site, pages: dict[str, bytes], folder: Path) -> float:
    """Crawl pages one after another, packed by gzip; the most processor time of one turn, in seconds."""
    site.set("/robots.txt", "")
    site.link("/first")
    for path, body in pages.items():
        site.set(path, gzip.compress(body, 1), headers=GZIP)
    worst = 0.0

    async def watch(crawler: Crawler) -> None:
        nonlocal worst
        while True:
            before = time.thread_time()
            await asyncio.sleep(0)
            if crawler.stats.pages:  # what takes up the start URLs is no page
                worst = max(worst, time.thread_time() - before)

    async def crawl() -> None:
        settings = CrawlSettings(max_depth=0, concurrency=1, sitemaps=False)
        policy = Policy(agent="Test/1.0", min_interval=0.0, allow_addresses=("127.0.0.0/8",))
        crawler = Crawler(
            [site.url("/first"), *(site.url(path) for path in pages)],
            folder,
            policy=policy,
            settings=settings,
            client_settings=ClientSettings(),
        )
        watching = asyncio.create_task(watch(crawler))
        stats = await crawler.run()
        watching.cancel()
        assert stats.pages == 1 + len(pages)

    with without_garbage():
        asyncio.run(crawl())
    return worst


def seconds_to_read(body: bytes) -> float:
    """Processor time that the links of a page take, the least of a few times."""
    times = []
    for _ in range(TRIES):
        before = time.thread_time()
        read_page(body, "https://example.org/", "text/html")
        times.append(time.thread_time() - before)
    return min(times)


def warm_up(site: Site, folder: Path) -> None:
    """What is imported and made once is no page's doing."""
    longest_turn(site, {"/small": b"<title>a page</title>" + b"<a href=/other>other</a>" * 50_000}, folder)


def test_the_loop_comes_round_while_a_large_page_is_read(tmp_path: Path) -> None:
    numbers = random.Random(1)
    links = "".join(
        f'<p>{numbers.random()} <a href="/page/{numbers.random()}">a link</a></p>\n' for _ in range(200_000)
    )
    body = links.encode()
    with Site() as site:
        warm_up(site, tmp_path / "warm")
        tries = (longest_turn(site, {"/large": body}, tmp_path / f"crawl-{number}") for number in range(TRIES))
        assert any(worst < seconds_to_read(body) / 2 for worst in tries)


@pytest.mark.long
def test_no_page_of_the_corpus_holds_up_the_loop_for_as_long_as_the_largest_takes_to_read(
    corpus: Path, tmp_path: Path
) -> None:
    files = sorted((corpus / "pages" / "html").glob("*.html.gz"))
    bodies = {f"/{file.name}": gzip.decompress(file.read_bytes()) for file in files}
    largest = max(bodies.values(), key=len)
    with Site() as site:
        warm_up(site, tmp_path / "warm")
        longest = max(seconds_to_read(body) for body in bodies.values())
        # As of the times to read, the least of a few counts: a turn is longer where others take the caches away.
        tries = (longest_turn(site, bodies, tmp_path / f"crawl-{number}") for number in range(TRIES))
        assert any(worst < longest for worst in tries)
    assert len(largest) > 5_000_000
