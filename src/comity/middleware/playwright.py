"""Routes for Playwright that ask before each request of a page, subresources too, and keep each host's pace.

from comity.middleware.playwright import AsyncComityRoutes, ComityRoutes
await context.route("**/*", AsyncComityRoutes(client))  # client: an open comity.AsyncClient
"""

from collections import deque
from contextlib import suppress

from comity._extras import missing

try:
    from playwright import async_api, sync_api
    from playwright.async_api import Error  # the same class for both
except ModuleNotFoundError as error:
    raise missing(error, "playwright", __name__) from None

import comity
from comity.gate import FetchRobots
from comity.middleware._driving import MAX_WAIT, AsyncDriver, Driver
from comity.middleware._trail import Trail
from comity.policy import RobotsResult

MOST_KEPT = 16


class AsyncComityRoutes:
    """For `page.route` and `context.route` of the async API; one object per browser context.

    What is refused is aborted as `blockedbyclient`, and `page.goto` raises. robots.txt is fetched by comity's own
    client; the rest by the browser context (`route.fetch`), with the policy's agent as User-Agent. The address guard
    covers robots.txt only. Playwright routes neither WebSockets nor what a service worker asks for: open the context
    with `service_workers="block"`, and with `user_agent=client.policy.agent`, so that scripts see the same name.

    Args:
        client: whose policy holds, and who fetches robots.txt.
        max_wait: seconds that a request waits for its turn; one that would wait longer, or whose host failed too often
            (`breaker_failures`), is aborted as `timedout`. None: for ever.
    """

    def __init__(self, client: comity.AsyncClient, *, max_wait: float | None = MAX_WAIT) -> None:
        self._client = client
        self._driver = AsyncDriver(client.policy, max_wait)
        self._kept: dict[str, async_api.APIResponse] = {}  # documents that the browser has been sent to

    async def __call__(self, route: async_api.Route) -> None:
        if not route.request.url.startswith(("http:", "https:")):
            await route.continue_()
            return
        try:
            trail = Trail(route.request, self._client.policy.agent)
            kept = self._kept.pop(trail.url, None) if trail.document else None
            answer = kept or await self._fetch(route, trail)
            if trail.moved:
                if trail.arrived:
                    self._kept[trail.url] = answer
                if len(self._kept) > MOST_KEPT:
                    await self._kept.pop(next(iter(self._kept))).dispose()
                await route.fulfill(body=trail.bounce(), content_type="text/html; charset=utf-8")
            else:
                await route.fulfill(response=answer)
                await answer.dispose()
        except Exception as error:
            with suppress(Error):  # the page may be closed
                await route.abort(_reason(error))
            if not isinstance(error, comity.ComityError | Error):
                raise

    async def _fetch(self, route: async_api.Route, trail: Trail) -> async_api.APIResponse:
        while True:
            async with self._driver.turn(trail.url, self._robots) as turn:
                answer = await route.fetch(url=trail.url, headers=trail.headers, max_redirects=0)
                turn.heard(answer.status, answer.headers.get("retry-after"))
            if not trail.leads_on(answer):
                return answer

    async def _robots(self, step: FetchRobots) -> RobotsResult:
        await self._client.check(step.url)
        return self._client.inspect()[step.origin]


class ComityRoutes:
    """As `AsyncComityRoutes`, for the sync API and an open `comity.Client`; one request at a time."""

    def __init__(self, client: comity.Client, *, max_wait: float | None = MAX_WAIT) -> None:
        self._client = client
        self._driver = Driver(client.policy, max_wait)
        self._kept: dict[str, sync_api.APIResponse] = {}
        self._waiting: deque[sync_api.Route] = deque()
        self._busy = False

    def __call__(self, route: sync_api.Route) -> None:
        # All routes share one thread: one that waited for another's answer would wait for ever. So the first in works
        # off what arrives meanwhile.
        self._waiting.append(route)
        if self._busy:
            return
        self._busy = True
        try:
            while self._waiting:
                self._answer(self._waiting.popleft())
        finally:
            self._busy = False

    def _answer(self, route: sync_api.Route) -> None:
        if not route.request.url.startswith(("http:", "https:")):
            route.continue_()
            return
        try:
            trail = Trail(route.request, self._client.policy.agent)
            kept = self._kept.pop(trail.url, None) if trail.document else None
            answer = kept or self._fetch(route, trail)
            if trail.moved:
                if trail.arrived:
                    self._kept[trail.url] = answer
                if len(self._kept) > MOST_KEPT:
                    self._kept.pop(next(iter(self._kept))).dispose()
                route.fulfill(body=trail.bounce(), content_type="text/html; charset=utf-8")
            else:
                route.fulfill(response=answer)
                answer.dispose()
        except Exception as error:
            with suppress(Error):
                route.abort(_reason(error))
            if not isinstance(error, comity.ComityError | Error):
                raise

    def _fetch(self, route: sync_api.Route, trail: Trail) -> sync_api.APIResponse:
        while True:
            with self._driver.turn(trail.url, self._robots) as turn:
                answer = route.fetch(url=trail.url, headers=trail.headers, max_redirects=0)
                turn.heard(answer.status, answer.headers.get("retry-after"))
            if not trail.leads_on(answer):
                return answer

    def _robots(self, step: FetchRobots) -> RobotsResult:
        self._client.check(step.url)
        return self._client.inspect()[step.origin]


def _reason(error: Exception) -> str:
    """Why a request is aborted, as Playwright has it."""
    if isinstance(error, comity.RobotsDisallowed):
        return "blockedbyclient"
    return "timedout" if isinstance(error, comity.Postponed) else "failed"
