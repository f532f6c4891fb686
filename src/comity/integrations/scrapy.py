"""Scrapy: a downloader middleware that decides and paces every request, and a parser for Scrapy's own robots check.

DOWNLOADER_MIDDLEWARES = {"comity.integrations.scrapy.ComityMiddleware": 950}; ROBOTSTXT_OBEY = False
ROBOTSTXT_PARSER = "comity.integrations.scrapy.ComityRobotParser" for the parser alone.
"""

from functools import partial
from typing import Self
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.robotstxt import RobotParser
from scrapy.utils.asyncio import is_asyncio_available
from twisted.web.client import HTTPConnectionPool

import comity
from comity import Policy, RobotsDisallowed
from comity.gate import FetchRobots, Go
from comity.integrations._driving import AsyncDriver, Turn
from comity.integrations._robots_request import TIMEOUT, Answer, async_robots_result
from comity.policy import RobotsResult
from comity.signals import robots_meta

_ROBOTS = "comity_robots"  # marks the middleware's own requests for robots.txt


class ComityRobotParser(RobotParser):
    """For `ROBOTSTXT_PARSER`. `robots` is comity's own object, for `explain` and the rest."""

    def __init__(self, body: bytes) -> None:
        self.robots = comity.parse(body)

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> Self:
        return cls(robotstxt_body)

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        return self.robots.allowed(_text(url), _text(user_agent))

    def crawl_delay(self, user_agent: str | bytes) -> float | None:
        return self.robots.crawl_delay(_text(user_agent))


class ComityMiddleware:
    """Asks before each request, redirects and retries included, and keeps each host's pace. Needs asyncio's reactor.

    Order 950 puts it next to the downloader, behind Scrapy's HTTP cache: what is answered from there is neither asked
    about nor waited for. `response.meta["comity"]` is the `comity.Decision`, `response.meta["comity_page"]` what
    X-Robots-Tag says to our agent (a `RobotsMeta`). A refused request fails with `IgnoreRequest`, its cause is
    `comity.RobotsDisallowed`, and counts in the stats as `comity/refused`. The policy's agent is sent as User-Agent.

    Settings: `COMITY_POLICY`, a `comity.Policy`; by default one of `ROBOTSTXT_USER_AGENT` or `USER_AGENT`, and
    `DOWNLOAD_DELAY` as its least interval.
    """

    def __init__(self, crawler: Crawler) -> None:
        if not is_asyncio_available():
            raise NotConfigured("comity needs Scrapy's asyncio reactor: set TWISTED_REACTOR to AsyncioSelectorReactor")
        settings = crawler.settings
        policy = settings.get("COMITY_POLICY") or Policy(
            agent=settings.get("ROBOTSTXT_USER_AGENT") or settings.get("USER_AGENT") or Policy().agent,
            min_interval=settings.getfloat("DOWNLOAD_DELAY"),
        )
        self._crawler = crawler
        self._driver = AsyncDriver(policy)
        # Twisted would send a GET a second time at once when the server drops the connection: a request nobody paced.
        # Scrapy's own retries come through the scheduler, and so through here.
        HTTPConnectionPool.retryAutomatically = False
        self._under_way: WeakKeyDictionary[Request, Go] = WeakKeyDictionary()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_request(self, request: Request) -> None:
        """Wait for the request's turn.

        Raises:
            IgnoreRequest: it is refused.
        """
        if not request.url.startswith(("http:", "https:")):
            return
        request.headers["User-Agent"] = self._driver.policy.agent
        if request.meta.get(_ROBOTS):
            return
        try:
            go = await self._driver.permission(request.url, partial(self._robots, request.meta.get("proxy")))
        except RobotsDisallowed as error:
            request.meta["comity"] = error.decision
            if self._crawler.stats is not None:
                self._crawler.stats.inc_value("comity/refused")
            raise IgnoreRequest(str(error)) from error
        request.meta["comity"] = go.decision
        self._under_way[request] = go

    def process_response(self, request: Request, response: Response) -> Response:
        """The request's turn is over; read what the page asks of us."""
        retry = response.headers.get("Retry-After")
        self._over(request, response.status, retry.decode("latin-1") if retry is not None else None)
        if not request.meta.get(_ROBOTS):
            values = [value.decode("utf-8", "replace") for value in response.headers.getlist("X-Robots-Tag")]
            request.meta["comity_page"] = robots_meta.read(values, (), agent=self._driver.policy.agent)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        """The request failed: its turn is over."""
        self._over(request, None, None)

    def _over(self, request: Request, status: int | None, retry: str | None) -> None:
        go = self._under_way.pop(request, None)
        if go is None:
            return
        turn = Turn(go.decision)
        if status is not None:
            turn.heard(status, retry)
        self._driver.answered(go, turn)

    async def _robots(self, proxy: str | None, step: FetchRobots) -> RobotsResult:
        # Scrapy's downloader raises a great many kinds of errors, Twisted's among them.
        return await async_robots_result(self._driver.policy, step, partial(self._get, proxy), (Exception,))

    async def _get(self, proxy: str | None, url: str) -> Answer:
        alone = {_ROBOTS: True, "dont_redirect": True, "dont_retry": True, "dont_cache": True}
        meta: dict[str, object] = {**alone, "dont_obey_robotstxt": True, "download_timeout": TIMEOUT}
        if proxy is not None:
            meta["proxy"] = proxy
        request = Request(url, priority=1000, meta=meta, callback=NO_CALLBACK)
        engine = self._crawler.engine
        if engine is None:
            raise RuntimeError("the crawler has no engine yet")
        response = await engine.download_async(request)
        headers = {str(name): str(value) for name, value in response.headers.to_unicode_dict().items()}
        return Answer(response.status, headers, response.body)


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
