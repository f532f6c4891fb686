"""A crawl in one line: pages come, what may not be fetched is skipped and logged, nothing is left behind."""

import asyncio
import json
import logging
import re
import subprocess
import sys
import time
from collections import Counter
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from clocks import FakeClock
from commands import ALLOW
from commands import comity as comity_command
from sites import HANGS, Site

import comity
from comity import CrawlSettings, InvalidSetting, InvalidURL, Policy, StorageError
from comity.crawler import CrawledPage, Crawler, crawl_index_page, crawl_page, crawl_pages, simple
from comity.crawler import crawl as crawl_function

QUICK = Policy(min_interval=0, allow_addresses=("127.0.0.0/8",))
ROBOTS = "User-agent: *\nDisallow: /no\n"


@pytest.fixture
def here(site: Site) -> Site:
    site.set("/robots.txt", ROBOTS)
    site.link("/", "/1", "/2", "/no", "/missing")
    for path in ("/1", "/2", "/no"):
        site.link(path, "/")
    return site


def paths(site: Site, pages: list[CrawledPage]) -> list[str]:
    return [page.url.removeprefix(site.url("")) for page in pages]


async def collect(*arguments: Any, **settings: Any) -> list[CrawledPage]:
    settings.setdefault("policy", QUICK)
    return [page async for page in comity.crawl(*arguments, **settings)]


# covers: F23
def test_one_page_or_none_with_a_line_in_the_log(here: Site, caplog: pytest.LogCaptureFixture) -> None:
    page = asyncio.run(crawl_page(here.url("/#top"), policy=QUICK))
    assert page is not None
    assert (page.url, page.status, page.title, page.depth) == (here.url("/"), 200, "/", 0)
    assert page.links == tuple(here.url(path) for path in ("/1", "/2", "/no", "/missing"))
    assert page.text == page.body.decode()
    assert page.decision.verdict == "allowed_implicit"
    with caplog.at_level(logging.WARNING, "comity.crawl"):
        assert asyncio.run(crawl_page(here.url("/no"), policy=QUICK)) is None
        assert asyncio.run(crawl_page(here.url("/missing"), policy=QUICK)) is None
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert "Disallow: /no" in caplog.messages[0]
    assert "404" in caplog.messages[1]
    assert "/no" not in here.paths()
    with pytest.raises(InvalidURL):
        asyncio.run(crawl_page("example.com"))


# covers: F12
def test_a_client_or_a_crawler_that_is_shared_asks_for_robots_txt_once_and_keeps_the_pace(here: Site) -> None:
    clock = FakeClock()
    paced = QUICK.with_changes(min_interval=5.0)

    async def by_client() -> None:
        async with comity.AsyncClient(paced, clock=clock) as client:
            for _ in range(2):
                assert await crawl_page(here.url("/1"), client=client) is not None
            assert len(await crawl_pages([here.url("/1"), here.url("/2")], client=client)) == 2
            assert await crawl_index_page(here.url("/"), client=client)
            assert (await client.get(here.url("/1"))).ok, "it stays open"

    asyncio.run(by_client())
    assert here.paths().count("/robots.txt") == 1
    assert clock.slept == [5.0] * 6

    async def by_crawler() -> list[str]:
        async with comity.PageCrawler(QUICK, max_pages=1) as crawler:
            assert await crawler.crawl_page(here.url("/1")) is not None
            assert len(await crawler.crawl_pages([here.url("/1"), here.url("/2")])) == 1
            return await crawler.crawl_index_page(here.url("/"))

    assert len(asyncio.run(by_crawler())) == 1
    assert here.paths().count("/robots.txt") == 2


def test_a_client_that_is_shared_has_its_own_policy_and_time_outs() -> None:
    own: tuple[dict[str, Any], ...] = ({"policy": QUICK}, {"delay": 1.0}, {"timeout": 5.0})
    for more in own:
        with pytest.raises(InvalidSetting, match="client: it has a policy"):
            comity.PageCrawler(client=comity.AsyncClient(), **more)


def test_a_page_that_asks_for_payment_fails_for_a_reason_of_its_own(site: Site) -> None:
    site.link("/", "/dear", "/licensed", "/members")
    site.set("/dear", "pay", status=402, headers={"crawler-price": "USD 0.01"})
    site.set("/licensed", "no", status=401, headers={"WWW-Authenticate": 'License error="invalid_request"'})
    site.set("/members", "no", status=401, headers={"WWW-Authenticate": "Basic"})

    async def crawled() -> comity.crawler.simple.Crawl:
        crawl = comity.crawl(site.url("/"), policy=QUICK)
        assert [page.url async for page in crawl] == [site.url("/")]
        return crawl

    crawl = asyncio.run(crawled())
    assert [(each["why"], each["status"]) for each in crawl.failures] == [
        ("requires payment, 0.01 USD: HTTP status 402", 402),
        ("requires a licence: HTTP status 401", 401),
        ("HTTP status 401", 401),
    ]
    assert site.paths().count("/dear") == 1
    assert crawl.summary is not None
    assert (crawl.summary.failed, crawl.summary.unpaid) == (3, 2)


def test_what_asks_for_payment_is_counted_in_summary_and_report(site: Site, tmp_path: Path) -> None:
    site.link("/", "/dear")
    site.set("/dear", "pay", status=402)
    told = comity_command(
        "crawl", site.url("/"), "-o", "out", "--report", "r.html", "--delay", "0", *ALLOW, cwd=tmp_path
    )
    assert "payment required               1  of the failed; comity never pays" in told.stdout
    tile = "<b>1</b><span>payment required</span><small>of the failed</small>"
    assert tile in (tmp_path / "r.html").read_text()


# covers: F23
def test_many_pages_in_the_order_given_each_once(here: Site, caplog: pytest.LogCaptureFixture) -> None:
    wanted = [here.url(path) for path in ("/2", "/no", "/missing", "/1", "/2#again")]
    pages = asyncio.run(crawl_pages([*wanted, "not a url"], policy=QUICK))
    assert paths(here, pages) == ["/2", "/1"]
    assert Counter(here.paths())["/2"] == 1
    assert "not a url" in caplog.text


# covers: F23
def test_the_number_of_pages_is_a_limit_on_pages_not_on_tries(here: Site) -> None:
    wanted = [here.url(path) for path in ("/no", "/missing", "/1", "/2", "/")]
    for concurrency in (1, 2, 5):
        pages = asyncio.run(crawl_pages(wanted, max_pages=2, concurrency=concurrency, policy=QUICK))
        assert len(pages) == 2
    with pytest.raises(InvalidSetting, match="max_pages"):
        asyncio.run(crawl_pages(wanted, max_pages=0))


# covers: F23, F15
@pytest.mark.parametrize(("asked", "own"), [(0.15, 0.05), (0.05, 0.15)])
def test_of_two_delays_the_larger_counts(site: Site, asked: float, own: float) -> None:
    site.set("/robots.txt", f"User-agent: *\nCrawl-delay: {asked}")
    for path in ("/1", "/2", "/3"):
        site.link(path)
    pages = asyncio.run(crawl_pages([site.url(path) for path in ("/1", "/2", "/3")], delay=own, policy=QUICK))
    assert len(pages) == 3
    assert min(site.intervals()[1:]) >= 0.15


# covers: F23
def test_concurrency_and_timeout_are_limits(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    under_way: list[int] = [0, 0]

    async def slow(request: web.Request) -> web.StreamResponse:
        under_way[0] += 1
        under_way[1] = max(under_way)
        await asyncio.sleep(0.05)
        under_way[0] -= 1
        return web.Response(text="done")

    async def never(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(2 * HANGS)
        return web.Response(text="late")

    for number in range(12):
        site.set(f"/{number}", slow)
    site.set("/never", never)
    pages = asyncio.run(crawl_pages([site.url(f"/{n}") for n in range(12)], concurrency=3, policy=QUICK))
    assert len(pages) == 12
    assert under_way[1] == 3
    started = time.monotonic()
    assert asyncio.run(crawl_page(site.url("/never"), timeout=0.3, policy=QUICK)) is None
    assert time.monotonic() - started < HANGS, "a few tries, none longer than the time-out"
    assert "skipped" in caplog.text


# covers: F23
def test_the_links_of_an_index_page_without_those_disallowed(here: Site, caplog: pytest.LogCaptureFixture) -> None:
    def ask(*arguments: Any, **options: Any) -> list[str]:
        found = asyncio.run(crawl_index_page(here.url("/"), *arguments, policy=QUICK, **options))
        return [url.removeprefix(here.url("")) for url in found]

    with caplog.at_level(logging.INFO, "comity.crawl"):
        assert ask() == ["/1", "/2", "/missing"]
    assert "Disallow: /no" in caplog.text
    assert ask(url_pattern="") == ask()
    assert ask(url_pattern="/1") == ["/1"]
    assert ask("/*s*g$") == ["/missing"]
    assert ask(re.compile(r"/\d+$")) == ["/1", "/2"]
    assert ask(max_pages=1) == ["/1"]
    assert here.paths().count("/1") == 0, "links are named, not fetched"
    assert asyncio.run(crawl_index_page(here.url("/no"), policy=QUICK)) == []


def test_links_to_other_sites_are_judged_by_their_own_robots_txt(here: Site) -> None:
    with Site("127.0.0.2") as other:
        other.set("/robots.txt", "User-agent: *\nDisallow: /secret")
        here.link("/index", other.url("/open"), other.url("/secret"))
        found = asyncio.run(crawl_index_page(here.url("/index"), policy=QUICK))
        assert found == [other.url("/open")]
        assert other.paths() == ["/robots.txt"]


def test_a_crawl_hands_out_each_page_once_and_leaves_nothing_behind(
    here: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    pages = asyncio.run(collect(here.url("/")))
    assert sorted(paths(here, pages)) == ["/", "/1", "/2"]
    assert [page.depth for page in pages] == [0, 1, 1]
    assert asyncio.run(collect(here.url("/"), max_pages=2)) != []
    assert list(tmp_path.iterdir()) == []


def test_a_crawl_that_is_left_early_stops_and_leaves_nothing_behind(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    site.link("/", *(f"/{number}" for number in range(200)))
    for number in range(200):
        site.link(f"/{number}")

    async def first() -> str:
        async with aclosing(comity.crawl(site.url("/"), policy=QUICK.with_changes(min_interval=0.05))) as pages:
            async for page in pages:
                return page.url
        raise AssertionError("no page")

    assert asyncio.run(first()) == site.url("/")
    assert len(site.seen) < 100
    assert list(tmp_path.iterdir()) == []


def test_a_plain_break_is_enough_to_leave_a_crawl(here: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    async def first() -> None:
        async for _ in comity.crawl(here.url("/"), policy=QUICK.with_changes(min_interval=0.3)):
            break
        for _ in range(200):  # what is left is ended by the event loop as soon as it can
            if not list(tmp_path.iterdir()):
                return
            await asyncio.sleep(0.01)

    asyncio.run(first())
    assert list(tmp_path.iterdir()) == []
    assert len(here.seen) < 4


def test_a_crawl_with_a_folder_goes_on_where_it_was_left(site: Site, tmp_path: Path) -> None:
    site.link("/", *(f"/{number}" for number in range(30)))
    for number in range(30):
        site.link(f"/{number}")

    async def some() -> list[CrawledPage]:
        pages = []
        async with aclosing(comity.crawl(site.url("/"), folder=tmp_path, max_pages=12, policy=QUICK)) as crawl:
            async for page in crawl:
                pages.append(page)
                if len(pages) == 5:
                    break
        return pages

    before = asyncio.run(some())
    asyncio.run(collect(folder=tmp_path, settings={"max_pages": None}))
    lines = (tmp_path / "pages.jsonl").read_text().splitlines()
    kept = [json.loads(line)["url"] for line in lines]
    assert len(kept) == len(set(kept)) == 31
    assert {page.url for page in before} <= set(kept)


def test_the_crawl_waits_for_a_program_that_is_slower(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simple, "MAX_PAGES_AHEAD", 4)
    site.link("/", *(f"/{number}" for number in range(60)))
    for number in range(60):
        site.link(f"/{number}")

    async def slowly() -> int:
        count = 0
        async for _ in comity.crawl(
            site.url("/"), policy=QUICK.with_changes(min_interval=0.01), settings=CrawlSettings(sitemaps=False)
        ):
            count += 1
            if count == 2:
                await asyncio.sleep(1.5)
                # What came in within one commit, what was under way, and what may be ahead.
                assert len(site.seen) < 62
        return count

    assert asyncio.run(slowly()) == 61


def test_what_ends_a_crawl_is_raised_where_it_is_read(here: Site, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(comity.StorageError):
        asyncio.run(collect(here.url("/"), folder=tmp_path / "file"))
    with pytest.raises(InvalidURL):
        comity.crawl("example.com")
    with pytest.raises(InvalidSetting, match="start URL"):
        comity.crawl()
    with pytest.raises(InvalidSetting, match="max_pages"):
        comity.crawl("http://a.example/", max_pages=0)


def test_comity_crawl_is_the_function_and_the_package_is_a_package() -> None:
    import comity.crawler as package

    assert package.Crawler is Crawler
    assert comity.crawl is package.crawl is crawl_function


def test_comity_crawl_can_be_called_without_importing_the_package() -> None:
    if "crawl" not in comity.__all__:
        pytest.skip("the public face does not name crawl yet")
    code = "import comity; print(type(comity.crawl('http://a.example/')).__name__); from comity.crawler import Crawler"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=HANGS)
    assert done.stdout == "Crawl\n"


def test_a_crawl_of_what_is_forbidden_says_so_in_the_log(here: Site, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "comity.crawl"):
        assert asyncio.run(collect(here.url("/no"))) == []
    assert "Disallow: /no" in caplog.text


def test_an_address_that_is_not_to_be_reached_is_a_warning(here: Site, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "comity.crawl"):
        assert asyncio.run(crawl_page(here.url("/"), policy=Policy(min_interval=0))) is None
    assert "is not a public address" in caplog.text
    assert here.seen == []


def test_one_url_and_a_folder_may_be_given_as_text(here: Site, tmp_path: Path) -> None:
    crawler = Crawler(here.url("/"), str(tmp_path / "out"), policy=QUICK)
    assert asyncio.run(crawler.run()).pages == 3
    assert (tmp_path / "out" / "pages.jsonl").exists()
    assert paths(here, asyncio.run(crawl_pages(here.url("/1"), policy=QUICK))) == ["/1"]


def test_to_go_on_with_a_crawl_that_is_not_there_makes_no_folder(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"no crawl in .* to continue"):
        asyncio.run(collect(folder=tmp_path / "nosuch"))
    assert not (tmp_path / "nosuch").exists()


def test_a_crawl_tells_its_failures_its_refusals_and_its_summary(site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /no\n")
    site.link("/", "/no", "/missing")

    async def work() -> comity.crawler.simple.Crawl:
        crawl = comity.crawl(site.url("/"), policy=QUICK)
        assert [page.url async for page in crawl] == [site.url("/")]
        return crawl

    crawl = asyncio.run(work())
    assert [(each["url"], each["status"]) for each in crawl.failures] == [(site.url("/missing"), 404)]
    assert [(each["url"], each["decision"]["line"]) for each in crawl.refusals] == [(site.url("/no"), 2)]
    assert crawl.failures[0]["found_on"] == crawl.refusals[0]["found_on"] == site.url("/")
    assert crawl.summary is not None
    assert (crawl.summary.pages, crawl.summary.failed, crawl.summary.refused) == (1, 1, 1)


def test_a_page_says_what_robots_txt_headers_and_metas_state_together_and_where_it_was_found(site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nAllow: /\nContent-Usage: train-ai=y\n")
    site.link("/", "/no")
    site.set("/no", "<title>no</title>", headers={"X-Robots-Tag": "noai"})
    policy = QUICK.with_changes(purposes=("train-ai",))

    async def work() -> list[CrawledPage]:
        return [page async for page in comity.crawl(site.url("/"), policy=policy)]

    first, second = asyncio.run(work())
    assert (first.found_on, second.found_on) == (None, site.url("/"))
    for page, stated in ((first, "allowed"), (second, "disallowed")):
        assert page.usage is not None
        assert page.usage.preference("train-ai") == stated
        assert page.decision.usage.preference("train-ai") == "allowed", "it is made before the page is asked for"
    alone = asyncio.run(crawl_page(site.url("/no"), policy=policy))
    assert alone is not None
    assert alone.usage is not None
    assert alone.usage.preference("train-ai") == "disallowed"


# covers: Y8
def test_what_a_crawl_learned_can_be_inspected_and_asked_while_it_runs_and_afterwards(site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /no\nCrawl-delay: 0.01\n")
    site.link("/", "/a")
    site.link("/a")
    policy = Policy(min_interval=0, allow_addresses=("127.0.0.0/8",))

    async def run() -> tuple[simple.Crawl, list[bool | None]]:
        crawl = comity.crawl(site.url("/"), policy=policy)
        assert (dict(crawl.inspect()), crawl.check(site.url("/no"))) == ({}, None)
        answers = []
        async for _ in crawl:
            decision = crawl.check(site.url("/no"))
            answers.append(None if decision is None else decision.may_fetch)
        return crawl, answers

    crawl, answers = asyncio.run(run())
    assert answers == [False, False]
    robots = crawl.inspect()[site.url("")].robots
    assert robots is not None
    assert (robots.crawl_delay("x"), len(robots.groups)) == (0.01, 1)
    assert (allowed := crawl.check(site.url("/yes"))) is not None
    assert allowed.may_fetch
    assert crawl.check("https://elsewhere.example/") is None
    assert site.paths().count("/robots.txt") == 1
