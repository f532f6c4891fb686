"""The libraries that comity wraps, behind one function each, so that one sentence of a test holds for all of them."""

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

from conftest import missing

import comity

REFUSED = "refused"
FAILED = "failed"
POSTPONED = "postponed"
Outcome = int | str  # a status, REFUSED, FAILED or POSTPONED
# Fetches URLs, redirects followed, one after another or all at once.
Fetch = Callable[[comity.Policy, Sequence[str], bool], list[Outcome]]
IDENTITY: dict[str, Any] = {}
"""`identity` and `sign` of the wrappers, while a test sets them."""


_at_the_end: list[Callable[[], object]] = []


def close() -> None:
    """End the processes and browsers that the tests of this process share: a start takes seconds."""
    while _at_the_end:
        _at_the_end.pop()()


def need(library: str) -> None:
    if find_spec(library) is None:
        missing(library, f"pip install {library}")


def chromium() -> str:
    need("playwright")
    path = shutil.which("chromium")
    if path is None:
        missing("Chromium", "apt-get install chromium")
    assert path is not None
    return path


def shell() -> str:
    """Chromium without windows, which Playwright takes of its own where none are asked for: a page of it costs a fifth.
    Chromium itself where it is not installed.
    """
    need("playwright")
    return shutil.which("chromium-headless-shell") or chromium()


def _by_threads(
    get: Callable[[str], tuple[int, comity.Decision]], failed: type[Exception], urls: Sequence[str], at_once: bool
) -> list[Outcome]:
    """By a blocking library: `get` gives status and decision, or raises."""

    def fetch(url: str) -> Outcome:
        try:
            status, decision = get(url)
        except comity.RobotsDisallowed:
            return REFUSED
        except comity.Postponed:
            return POSTPONED
        except failed:
            return FAILED
        assert decision.may_fetch
        return status

    with ThreadPoolExecutor(len(urls) if at_once else 1) as threads:
        return list(threads.map(fetch, urls))


def by_httpx(library: str, policy: comity.Policy, urls: Sequence[str], at_once: bool) -> list[Outcome]:
    need(library)
    httpx = import_module(library)
    from comity.middleware.httpx import ComityTransport

    with httpx.Client(transport=ComityTransport(policy, **IDENTITY), follow_redirects=True) as client:

        def get(url: str) -> tuple[int, comity.Decision]:
            response = client.get(url)
            return response.status_code, response.extensions["comity"]

        return _by_threads(get, httpx.HTTPError, urls, at_once)


def by_httpx_async(library: str, policy: comity.Policy, urls: Sequence[str], at_once: bool) -> list[Outcome]:
    need(library)
    httpx = import_module(library)
    from comity.middleware.httpx import AsyncComityTransport

    async def fetch(client: Any, url: str) -> Outcome:
        try:
            response = await client.get(url)
        except comity.RobotsDisallowed:
            return REFUSED
        except comity.Postponed:
            return POSTPONED
        except httpx.HTTPError:
            return FAILED
        assert response.extensions["comity"].may_fetch
        return int(response.status_code)

    async def run() -> list[Outcome]:
        async with httpx.AsyncClient(
            transport=AsyncComityTransport(policy, **IDENTITY), follow_redirects=True
        ) as client:
            if at_once:
                return await asyncio.gather(*(fetch(client, url) for url in urls))
            return [await fetch(client, url) for url in urls]

    return asyncio.run(run())


def by_requests(policy: comity.Policy, urls: Sequence[str], at_once: bool) -> list[Outcome]:
    need("requests")
    import requests

    from comity.middleware.requests import ComityAdapter

    with requests.Session() as session:
        session.mount("http://", adapter := ComityAdapter(policy, **IDENTITY))
        session.mount("https://", adapter)

        def get(url: str) -> tuple[int, comity.Decision]:
            response = session.get(url)
            return response.status_code, response.comity  # type: ignore[attr-defined]

        return _by_threads(get, requests.RequestException, urls, at_once)


def by_aiohttp(policy: comity.Policy, urls: Sequence[str], at_once: bool) -> list[Outcome]:
    import aiohttp

    from comity.middleware.aiohttp import ComityMiddleware

    async def fetch(session: aiohttp.ClientSession, url: str) -> Outcome:
        try:
            async with session.get(url) as response:
                assert response.comity.may_fetch  # type: ignore[attr-defined]
                return response.status
        except comity.RobotsDisallowed:
            return REFUSED
        except comity.Postponed:
            return POSTPONED
        except aiohttp.ClientError:
            return FAILED

    async def run() -> list[Outcome]:
        async with aiohttp.ClientSession(middlewares=(ComityMiddleware(policy, **IDENTITY),)) as session:
            if at_once:
                return await asyncio.gather(*(fetch(session, url) for url in urls))
            return [await fetch(session, url) for url in urls]

    return asyncio.run(run())


# A process of its own for each crawl: a program can start Twisted's reactor once only.
SCRAPY = """
import comity, scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.exceptions import IgnoreRequest

policy, urls, at_once, settings = json.loads(question)
outcomes = {}

class Spider(scrapy.Spider):
    name = "test"
    async def start(self):
        for number, url in enumerate(urls):
            meta = {"number": number, "handle_httpstatus_all": True} if "redirect" not in url else {"number": number}
            yield scrapy.Request(url, self.parse, errback=self.failed, dont_filter=True, meta=meta)
    def parse(self, response):
        if "cached" in response.flags:
            assert "comity" not in response.meta
            outcomes[response.meta["number"]] = (response.status, False)
            return
        assert response.meta["comity"].may_fetch
        outcomes[response.meta["number"]] = (response.status, response.meta["comity_page"].noindex)
    def failed(self, failure):
        meta = failure.request.meta
        refused = failure.check(IgnoreRequest) and isinstance(failure.value.__cause__, comity.RobotsDisallowed)
        assert not refused or not meta["comity"].may_fetch
        postponed = failure.check(IgnoreRequest) and isinstance(failure.value.__cause__, comity.Postponed)
        outcomes[meta["number"]] = ("refused" if refused else "postponed" if postponed else "failed", False)

process = CrawlerProcess({
    "COMITY_POLICY": comity.Policy(**policy),
    "DOWNLOADER_MIDDLEWARES": {"comity.middleware.scrapy.ComityMiddleware": 950},
    "ROBOTSTXT_OBEY": False, "DOWNLOAD_DELAY": 0, "RETRY_ENABLED": False, "LOG_LEVEL": "WARNING",
    "CONCURRENT_REQUESTS": 16 if at_once else 1, **settings,
})
crawler = process.create_crawler(Spider)
process.crawl(crawler)
process.start()
print(json.dumps([[outcomes[number] for number in range(len(urls))], crawler.stats.get_value("comity/refused", 0)]))
"""


# Forks a process for each crawl, which spares it what takes longest: to import Scrapy.
FORKING = """
import importlib, json, os, pkgutil, sys, traceback
import comity, comity.middleware.scrapy, scrapy
import scrapy.core.downloader.handlers.http11, scrapy.core.engine, scrapy.core.scheduler, scrapy.logformatter
import scrapy.downloadermiddlewares, scrapy.extensions, scrapy.pqueues, scrapy.spidermiddlewares, scrapy.squeues
for folder in (scrapy.downloadermiddlewares, scrapy.extensions, scrapy.spidermiddlewares):
    for each in pkgutil.iter_modules(folder.__path__, folder.__name__ + "."):
        importlib.import_module(each.name)
from scrapy.crawler import CrawlerProcess
program = compile(sys.argv[1], "crawl", "exec")
for line in sys.stdin:
    folder, question = json.loads(line)
    child = os.fork()
    if child == 0:
        for number, name in ((1, "said"), (2, "complained")):
            os.dup2(os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT), number)
        code = 1
        try:
            exec(program, {"__name__": "__main__", "json": json, "question": question})
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@cache
def _forking() -> subprocess.Popen[str]:
    words = [sys.executable, "-c", FORKING, SCRAPY]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    _at_the_end.append(process.communicate)
    return process


def run_scrapy(policy: comity.Policy, urls: Sequence[str], at_once: bool, **settings: Any) -> tuple[list[Any], int]:
    """What a crawl of the URLs gave: for each its outcome and whether X-Robots-Tag said noindex; how many refused."""
    need("scrapy")
    names = ("agent", "product_token", "min_interval", "backoff", "breaker_failures", "allow_addresses")
    told = {name: getattr(policy, name) for name in names}
    with tempfile.TemporaryDirectory() as folder:
        asked = _forking()
        assert asked.stdin is not None
        assert asked.stdout is not None
        asked.stdin.write(json.dumps([folder, json.dumps([told, list(urls), at_once, settings])]) + "\n")
        asked.stdin.flush()
        code = int(asked.stdout.readline())
        said, complained = ((Path(folder) / name).read_text() for name in ("said", "complained"))
    assert code == 0, complained
    outcomes, refused = json.loads(said.splitlines()[-1])
    return outcomes, refused


def by_scrapy(policy: comity.Policy, urls: Sequence[str], at_once: bool) -> list[Outcome]:
    settings = {f"COMITY_{name.upper()}": value for name, value in IDENTITY.items()}
    outcomes, refused = run_scrapy(policy, urls, at_once, **settings)
    assert refused == sum(outcome == REFUSED for outcome, _ in outcomes)
    return [outcome for outcome, _ in outcomes]


def _aborted(error: Exception) -> Outcome:
    if "ERR_BLOCKED_BY_CLIENT" in str(error):
        return REFUSED
    return POSTPONED if "ERR_TIMED_OUT" in str(error) else FAILED


@cache
def _browser() -> tuple[ThreadPoolExecutor, Any]:
    """A Chromium, and the thread in which it is spoken to."""
    path = shell()
    from playwright.sync_api import sync_playwright

    thread = ThreadPoolExecutor(1)
    playwright = thread.submit(sync_playwright().start).result()
    browser = thread.submit(playwright.chromium.launch, executable_path=path).result()

    def ended() -> None:
        thread.submit(browser.close).result()
        thread.submit(playwright.stop).result()
        thread.shutdown()

    _at_the_end.append(ended)
    return thread, browser


def by_playwright(policy: comity.Policy, urls: Sequence[str], at_once: bool) -> list[Outcome]:
    thread, browser = _browser()
    from playwright.sync_api import Error

    from comity.middleware.playwright import ComityRoutes

    def run() -> list[Outcome]:
        outcomes: list[Outcome] = []
        with (
            comity.Client(policy, comity.ClientSettings(**IDENTITY)) as client,
            ComityRoutes(client).new_context(browser) as context,
        ):
            page = context.new_page()
            for url in urls:
                try:
                    response = page.goto(url)
                    assert response is not None
                    outcomes.append(response.status)
                except Error as error:
                    outcomes.append(_aborted(error))
                    page.close()  # or what it shows of the error would interrupt what comes next
                    page = context.new_page()
        return outcomes

    return thread.submit(run).result()


@cache
def _async_browser() -> tuple[asyncio.AbstractEventLoop, Any]:
    """A Chromium, and the event loop in which it is spoken to."""
    path = shell()
    from playwright.async_api import async_playwright

    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def start() -> tuple[Any, Any]:
        playwright = await async_playwright().start()
        return playwright, await playwright.chromium.launch(executable_path=path)

    async def end() -> None:
        await browser.close()
        await playwright.stop()

    def ended() -> None:
        asyncio.run_coroutine_threadsafe(end(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    playwright, browser = asyncio.run_coroutine_threadsafe(start(), loop).result()
    _at_the_end.append(ended)
    return loop, browser


def by_playwright_async(policy: comity.Policy, urls: Sequence[str], at_once: bool) -> list[Outcome]:
    loop, browser = _async_browser()
    from playwright.async_api import Error, Page

    from comity.middleware.playwright import AsyncComityRoutes

    async def fetch(page: Page, url: str) -> Outcome:
        try:
            response = await page.goto(url)
            assert response is not None
            return response.status
        except Error as error:
            return _aborted(error)

    async def run() -> list[Outcome]:
        async with (
            comity.AsyncClient(policy, comity.ClientSettings(**IDENTITY)) as client,
            await AsyncComityRoutes(client).new_context(browser) as context,
        ):
            if at_once:
                pages = [await context.new_page() for _ in urls]
                return await asyncio.gather(*map(fetch, pages, urls))
            return [await fetch(await context.new_page(), url) for url in urls]

    return asyncio.run_coroutine_threadsafe(run(), loop).result()


ALL: dict[str, Fetch] = {
    "httpx": partial(by_httpx, "httpx"),
    "httpx, async": partial(by_httpx_async, "httpx"),
    "httpx2": partial(by_httpx, "httpx2"),
    "httpx2, async": partial(by_httpx_async, "httpx2"),
    "requests": by_requests,
    "aiohttp": by_aiohttp,
    "Scrapy": by_scrapy,
    "Playwright": by_playwright,
    "Playwright, async": by_playwright_async,
}
