"""Scrapy: a downloader middleware that decides and paces every request, and a parser for Scrapy's own robots check.

ADDONS = {"comity.middleware.scrapy.ComityAddon": 0}, or by hand:
DOWNLOADER_MIDDLEWARES = {"comity.middleware.scrapy.ComityMiddleware": 950}; ROBOTSTXT_OBEY = False
ROBOTSTXT_PARSER = "comity.middleware.scrapy.ComityRobotParser" for the parser alone.
"""

import logging
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Self
from weakref import WeakKeyDictionary

from comity_pages._extras import missing

try:
    from scrapy import Request, signals
    from scrapy.crawler import Crawler
    from scrapy.exceptions import IgnoreRequest, NotConfigured, StopDownload
    from scrapy.http import Response
    from scrapy.http.request import NO_CALLBACK
    from scrapy.robotstxt import RobotParser
    from scrapy.settings import BaseSettings
    from scrapy.utils.asyncio import is_asyncio_available
    from twisted.internet.defer import CancelledError
    from twisted.web.client import HTTPConnectionPool
except ModuleNotFoundError as error:
    raise missing(error, "scrapy", __name__) from None

from comity import InvalidSetting, Policy, Postponed, RobotsDisallowed, parse
from comity.errors import FetchError, InvalidURL
from comity.gate import FetchRobots, Go
from comity.middleware.sending import AsyncSending, as_sent, without_empty_query
from comity.net.client_settings import MAX_WAIT, ClientSettings
from comity.net.response import Response as RobotsResponse
from comity.net.turns import MAX_ROBOTS_BYTES, MAX_ROBOTS_SECONDS, RobotsBody, no_answer
from comity_pages.signals import robots_meta
from comity_robots.fields import settings_of

__all__ = ["ComityAddon", "ComityMiddleware", "ComityRobotParser"]

_log = logging.getLogger(__name__)

_ROBOTS = "comity_robots"  # marks the middleware's own requests for robots.txt, and counts their bytes
_MAX_DOWNLOAD_BYTES = (
    64 * 1024 * 1024
)  # bytes of a robots.txt, for download handlers that cannot be stopped in the middle


class ComityRobotParser(RobotParser):
    """For `ROBOTSTXT_PARSER`. `robots` is comity's own object, for `explain` and the rest."""

    def __init__(self, body: bytes) -> None:
        self.robots = parse(body)

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> Self:
        return cls(robotstxt_body)

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        return self.robots.allowed(_text(url), _text(user_agent))

    def crawl_delay(self, user_agent: str | bytes) -> float | None:
        return self.robots.crawl_delay(_text(user_agent))


class ComityAddon:
    """For `ADDONS`: puts the middleware where it belongs, and warns where Scrapy would check robots.txt as well."""

    def update_settings(self, settings: BaseSettings) -> None:
        settings.setdefault_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", ComityMiddleware, 950)
        if settings.getbool("ROBOTSTXT_OBEY"):
            _log.warning(
                "ROBOTSTXT_OBEY is True, so Scrapy fetches and checks each robots.txt a second time, after comity: "
                "set ROBOTSTXT_OBEY = False"
            )


class ComityMiddleware:
    """Asks before each request, redirects and retries included, and keeps each host's pace. Needs asyncio's reactor.

    Order 950 puts it next to the downloader, behind Scrapy's HTTP cache: what is answered from there is neither asked
    about nor waited for. `response.meta["comity"]` is the `comity.Decision`, `response.meta["comity_page"]` what
    X-Robots-Tag says to our agent (a `RobotsMeta`). A refused request fails with `IgnoreRequest`, its cause is
    `comity.RobotsDisallowed`, and counts in the stats as `comity/refused`. The policy's agent is sent as User-Agent.

    Settings: `COMITY_POLICY`, a `comity.Policy`; by default one of `USER_AGENT`, with `ROBOTSTXT_USER_AGENT` as the
    product token where it occurs there, else as the agent, and `DOWNLOAD_DELAY` as its least interval.
    `COMITY_MAX_WAIT`, seconds that a request waits for its turn: 600 by default, None for ever. One that would wait
    longer, or whose host failed too often (`breaker_failures`), fails with `IgnoreRequest`, its cause is
    `comity.Postponed` with the seconds, and counts as `comity/postponed`. `COMITY_IDENTITY` and `COMITY_SIGN`: in whose
    name requests are signed, and when, as `identity` and `sign` of `comity.ClientSettings`.
    """

    def __init__(self, crawler: Crawler) -> None:
        if not is_asyncio_available():
            raise NotConfigured("comity needs Scrapy's asyncio reactor: set TWISTED_REACTOR to AsyncioSelectorReactor")
        settings = crawler.settings
        policy = settings.get("COMITY_POLICY") or _policy(settings)
        self._crawler = crawler
        self._sending = AsyncSending(
            policy,
            _wait(settings.get("COMITY_MAX_WAIT", MAX_WAIT)),
            settings.get("COMITY_IDENTITY"),
            settings.get("COMITY_SIGN", "always"),
        )
        self._driver = self._sending.driver
        crawler.signals.connect(self._received, signals.bytes_received)
        # Twisted would send a GET a second time at once when the server drops the connection: a request without a turn.
        # Scrapy's own retries come through the scheduler, and so through here.
        HTTPConnectionPool.retryAutomatically = False
        self._under_way: WeakKeyDictionary[Request, Go] = WeakKeyDictionary()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_request(self, request: Request) -> Request | None:
        """Wait for the request's turn. One that would be sent in another form than the one that is decided about is
        given back in that form.

        Raises:
            IgnoreRequest: it is refused, or its turn would come too late.
        """
        if not request.url.startswith(("http:", "https:")):
            return None
        if _ROBOTS in request.meta:
            return None
        try:
            url = as_sent(request.url, lambda url: _sent(request.replace(url=url)))
        except (FetchError, InvalidURL) as error:
            raise IgnoreRequest(str(error)) from error
        if url != _sent(request):
            return request.replace(url=url, dont_filter=True)
        try:
            go = await self._driver.permission(url, partial(self._get, request))
        except RobotsDisallowed as error:
            request.meta["comity"] = error.decision
            _log.info("Refused %s: %s", request, error.decision.why)
            if self._crawler.stats is not None:
                self._crawler.stats.inc_value("comity/refused")
            raise IgnoreRequest(str(error)) from error
        except Postponed as error:
            _log.info("Postponed %s: %s", request, error)
            if self._crawler.stats is not None:
                self._crawler.stats.inc_value("comity/postponed")
            raise IgnoreRequest(str(error)) from error
        request.meta["comity"] = go.decision
        self._under_way[request] = go
        self._sending.prepare(request, url)
        return None

    def process_response(self, request: Request, response: Response) -> Response | Request:
        """End the request's turn, and read what the page asks of us. Where it asks for a signature, ask again."""
        if _ROBOTS in request.meta:
            return _decoded(response)
        headers = _headers(response)
        self._over(request, response.status, headers)
        if self._sending.sign.again(request.method, _sent(request), response.status, headers):
            return request.replace(dont_filter=True)
        values = [value.decode("utf-8", "replace") for value in response.headers.getlist("X-Robots-Tag")]
        request.meta["comity_page"] = robots_meta.read(values, (), agent=self._driver.policy.asked_as)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        """The request failed: its turn is over."""
        self._over(request, None, {}, given_up=isinstance(exception, IgnoreRequest | CancelledError))

    def _received(self, data: bytes, request: Request) -> None:
        """Of a robots.txt only the start is read."""
        if _ROBOTS in request.meta:
            request.meta[_ROBOTS] += len(data)
            if request.meta[_ROBOTS] > MAX_ROBOTS_BYTES:
                raise StopDownload(fail=False)

    def _over(
        self, request: Request, status: int | None, headers: Mapping[str, str], *, given_up: bool = False
    ) -> None:
        go = self._under_way.pop(request, None)
        if go is None:
            return
        if status is not None:
            self._driver.headers_received(go, status, headers)
        self._driver.finished(go, "abandoned" if given_up else "done")

    async def _get(self, cause: Request, step: FetchRobots, conditions: dict[str, str]) -> RobotsResponse:
        await self._sending.check_redirect(step)
        alone = {_ROBOTS: 0, "dont_redirect": True, "dont_retry": True, "dont_cache": True}
        meta: dict[str, object] = {**alone, "dont_obey_robotstxt": True, "download_timeout": MAX_ROBOTS_SECONDS}
        meta["download_maxsize"] = _MAX_DOWNLOAD_BYTES
        if cause.meta.get("proxy") is not None:
            meta["proxy"] = cause.meta["proxy"]
        headers = self._sending.robots_headers(step.url, conditions, cause)
        request = Request(str(step.url), headers=headers, priority=1000, meta=meta, callback=NO_CALLBACK)
        engine = self._crawler.engine
        if engine is None:
            raise RuntimeError("the crawler has no engine yet")
        with no_answer(step.url, Exception):  # there are a great many kinds of errors, Twisted's among them
            response = await engine.download_async(request)
        return RobotsResponse(
            url=step.url, status=response.status, headers=_headers(response), body=response.body[:MAX_ROBOTS_BYTES]
        )


def _decoded(response: Response) -> Response:
    """Return a robots.txt as Scrapy's own decompression, which comes next, is to leave it: decoded, within bounds."""
    body = RobotsBody(response.url, response.status, _headers(response))
    body.take(response.body[:MAX_ROBOTS_BYTES])
    headers = response.headers.copy()
    headers.pop("Content-Encoding", None)
    return response.replace(body=body.end(), headers=headers)


def _headers(response: Response) -> Any:
    return response.headers.to_unicode_dict()


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _sent(request: Request) -> str:
    """Return what Twisted sends: without fragment."""
    return without_empty_query(request.url.partition("#")[0])


def _policy(settings: BaseSettings) -> Policy:
    """Return what Scrapy's own settings amount to."""
    agent, name = settings.get("USER_AGENT"), settings.get("ROBOTSTXT_USER_AGENT")
    interval = settings.getfloat("DOWNLOAD_DELAY")
    if agent and name:
        with suppress(InvalidSetting):  # the name does not occur in the agent string
            return Policy(agent=agent, product_token=name, min_interval=interval)
    return Policy(agent=name or agent or Policy().agent, min_interval=interval)


def _wait(value: Any) -> Any:
    """Return a setting, which the command line gives as text."""
    return settings_of(ClientSettings)["max_wait"].read(value.lower()) if isinstance(value, str) else value
