"""What a crawl holds in memory: bodies that arrive and bodies that wait for the disk are counted, and wait for room."""

import asyncio
from pathlib import Path

import pytest
from aiohttp import web
from sites import HANGS, Site

from comity import ClientSettings, Crawler, CrawlSettings, Policy
from comity.crawler.run.memory import MODERATE_BODY_BYTES, BodyOctets, Memory
from comity.net.deadlines import Deadline, deadlines_paused

MIB = 1024 * 1024
QUICK = Policy(min_interval=0, allow_addresses=("127.0.0.0/8",))


def memory(limit: int = 4 * MIB, requests: int = 4) -> Memory:
    return Memory(limit, requests, lambda: None)


async def reading(claim: BodyOctets, parts: int, size: int = MIB) -> None:
    for _ in range(parts):
        if not claim.consume(size):
            await claim.wait()


def test_a_body_of_any_size_passes_alone() -> None:
    async def run() -> None:
        books = memory()
        claim = books.claim()
        await asyncio.wait_for(reading(claim, 50), HANGS)
        assert books.held == books.most_held == 50 * MIB
        claim.release()
        assert books.held == 0

    asyncio.run(run())


def test_where_there_is_no_room_one_large_body_goes_on_and_the_others_wait_in_line() -> None:
    async def run() -> None:
        books = memory()
        claims = [books.claim() for _ in range(6)]
        tasks = []
        for claim in claims:
            tasks.append(asyncio.create_task(reading(claim, 10)))
            await asyncio.sleep(0)
        assert [task.done() for task in tasks] == [True, False, False, False, False, False]
        assert books.held == (10 + 5) * MIB, "each of the others was stopped after its first part"
        for number, claim in enumerate(claims):
            await asyncio.wait_for(tasks[number], HANGS)
            assert not any(task.done() for task in tasks[number + 1 :])
            claim.release()
            await asyncio.sleep(0)
        assert books.held == 0
        assert books.most_held == 15 * MIB

    asyncio.run(run())


def test_bodies_of_moderate_size_pass_those_that_wait() -> None:
    async def run() -> None:
        books = memory()
        stuck = [books.claim() for _ in range(3)]
        tasks = [asyncio.create_task(reading(claim, 10)) for claim in stuck]
        await asyncio.sleep(0)
        small = books.claim()
        assert small.consume(MODERATE_BODY_BYTES)
        assert not small.consume(1)
        for task in tasks:
            task.cancel()

    asyncio.run(run())


def test_what_waits_to_be_written_takes_room_until_it_is() -> None:
    async def run() -> None:
        woken = []
        books = Memory(4 * MIB, 4, lambda: woken.append(True))
        books.keep(4 * MIB)
        first, second = books.claim(), books.claim()
        assert not first.consume(MIB), "that is gone soon, so nobody is read on all the same"
        first.release()
        assert not second.consume(MIB)
        waiting = asyncio.create_task(second.wait())
        await asyncio.sleep(0)
        assert woken, "a commit is wanted"
        assert books.is_short
        assert not waiting.done()
        books.written(4 * MIB)
        await asyncio.wait_for(waiting, HANGS)
        assert (books.kept, books.held) == (0, MIB)

    asyncio.run(run())


def test_a_body_given_up_while_it_waits_leaves_the_books_even() -> None:
    async def run() -> None:
        books = memory()
        claims = [books.claim() for _ in range(3)]
        tasks = [asyncio.create_task(reading(claim, 10)) for claim in claims]
        await asyncio.sleep(0)
        tasks[1].cancel()
        claims[0].release()  # before the other has noticed
        await asyncio.wait([tasks[1]])
        claims[1].release()
        await asyncio.wait_for(tasks[2], HANGS)
        claims[2].release()
        assert (books.held, books.is_short) == (0, False)

    asyncio.run(run())


def test_a_time_out_stands_still_while_a_body_waits_for_room_and_runs_on_after_it() -> None:
    async def run() -> None:
        with Deadline(0.2):
            with deadlines_paused():
                await asyncio.sleep(0.5)
        with pytest.raises(TimeoutError):
            await too_long()

    async def too_long() -> None:
        with Deadline(0.2):
            with deadlines_paused():
                await asyncio.sleep(0.5)
            await asyncio.sleep(30)

    asyncio.run(run())


def test_sites_that_hold_back_the_ends_of_large_bodies_hold_up_no_page_of_moderate_size(tmp_path: Path) -> None:
    """Eight sites send all but the last octet of 3 MB; another site's pages are all read meanwhile."""
    body, small = b"x" * 3_000_000, [f"/{number}" for number in range(30)]

    async def run(crawler: Crawler, sites: list[Site], good: Site) -> None:
        async def release() -> None:
            while not set(small) <= set(good.paths()):
                await asyncio.sleep(0.01)
            for site in sites:
                site._loop.call_soon_threadsafe(ends[site.address].set)

        releasing = asyncio.create_task(release())
        await crawler.run()
        await releasing

    ends: dict[str, asyncio.Event] = {}

    def holding(site: Site) -> None:
        end = ends[site.address] = asyncio.Event()

        async def answer(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse(headers={"Content-Length": str(len(body))})
            await response.prepare(request)
            await response.write(body[:-1])
            await end.wait()
            await response.write(body[-1:])
            return response

        site.set("/", answer)

    good = Site("127.0.0.100")
    sites = [Site(f"127.0.0.{101 + number}") for number in range(8)]
    with good:
        for site in sites:
            site.__enter__()
        try:
            for site in sites:
                holding(site)
            good.link("/", *small)
            for path in small:
                good.set(path, "<p>" + "y" * 20_000)
            crawler = Crawler(
                [*(site.url("/") for site in sites), good.url("/")],
                tmp_path,
                policy=QUICK,
                settings=CrawlSettings(body_memory=2 * MIB, sitemaps=False),
                client_settings=ClientSettings(connections=16),
            )
            asyncio.run(asyncio.wait_for(run(crawler, sites, good), HANGS))
        finally:
            for site in sites:
                site.__exit__()
    assert (crawler.stats.pages, crawler.stats.failed) == (31 + 8, 0)
    assert crawler.running is not None
    books = crawler.running.results.memory
    assert books.held == books.kept == 0
    assert books.most_held < len(sites) * len(body) // 2, "of all but one body there is only a first part"
