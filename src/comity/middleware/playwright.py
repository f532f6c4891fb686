"""Routes for Playwright that ask before each request of a page, subresources too, and keep each host's pace.

from comity.middleware.playwright import AsyncComityRoutes, ComityRoutes
await context.route("**/*", AsyncComityRoutes(client))  # client: an open comity.AsyncClient
"""

import html
import json
from collections import deque
from contextlib import suppress

from comity._extras import missing

try:
    from playwright import async_api, sync_api
    from playwright.async_api import Error  # the same class for both
except ModuleNotFoundError as error:
    raise missing(error, "playwright", __name__) from None

import comity
from comity import urls
from comity.http import REDIRECTS, next_hop
from comity.middleware._wire import without_empty_query

MOST_KEPT = 16
MOST_REDIRECTS = 20  # as browsers have it
# What a page shows but its scripts cannot read: another site's answer may stand in for a redirect to it.
SHOWN = frozenset({"font", "image", "media", "script", "stylesheet"})


class _Redirects:
    """The redirects of one request that a browser made and Playwright routed.

    Playwright routes only a request's first URL, so redirects are followed out here, hop by hop, and the browser is
    told where it has arrived. Ask `url` with `headers`; `leads_on` says of each answer whether another hop follows.

    Attributes:
        document: whether the answer becomes a document, not a part of one.
        arrived: whether the last answer is that of `url`: not so after a form, whose answer the browser fetches itself.

    Raises:
        FetchError: the request cannot be answered out here.
        InvalidURL
    """

    def __init__(self, request: async_api.Request | sync_api.Request, agent: str) -> None:
        self.headers = {**request.headers, "user-agent": agent}
        self.url = self._start = without_empty_query(urls.normalise(request.url))  # as `route.fetch` sends it
        if request.resource_type == "eventsource":
            raise comity.FetchError(f"{self.url} is an endless stream and cannot be routed", url=self.url)
        self.arrived = request.method in ("GET", "HEAD")
        self.document = request.is_navigation_request()
        self._shown = request.resource_type in SHOWN
        self._passed: list[str] = []

    @property
    def moved(self) -> bool:
        """Whether the browser has to be told that the document is elsewhere."""
        return self.document and (self.url != self._start or (bool(self._passed) and not self.arrived))

    def leads_on(self, answer: async_api.APIResponse | sync_api.APIResponse) -> bool:
        """Whether `url` is to be asked now, after this answer.

        Raises:
            FetchError: the redirect cannot be followed.
        """
        location = answer.headers.get("location")
        if answer.status not in REDIRECTS or not location:
            return False
        # A URL may lead back to itself once it has set a cookie, which the browser keeps.
        target, why = next_hop(self.url, location, self._passed, MOST_REDIRECTS, again=True)
        if target is None:
            raise comity.TooManyRedirects(f"{self.url} {why}: not followed", url=self.url)
        self._passed.append(self.url)
        if not self.arrived and not (self.document and answer.status in (301, 302, 303)):
            raise comity.FetchError(
                f"{self.url} redirects a request with a body to {target}, which is not supported", url=self.url
            )
        if not self.document and not self._shown and urls.origin(target) != urls.origin(self._start):
            raise comity.FetchError(f"{target} is another site's: scripts may not read it", url=target)
        self.url = without_empty_query(target)
        return self.arrived

    def bounce(self) -> str:
        """A document that leads to `url` at once, so that the page has the right address and origin."""
        script = json.dumps(self.url).replace("<", "\\u003c")
        refresh = f'<noscript><meta http-equiv="refresh" content="0;url={html.escape(self.url)}"></noscript>'
        return f"<!doctype html><script>location.replace({script})</script>{refresh}"


class AsyncComityRoutes:
    """For `page.route` and `context.route` of the async API; one object per browser context.

    What is refused is aborted as `blockedbyclient`, and `page.goto` raises. robots.txt is fetched by comity's own
    client; the rest by the browser context (`route.fetch`), with the policy's agent as User-Agent. To a host, the
    client's own requests and those of all its routes keep one pace together. The address guard covers robots.txt
    only. Playwright routes neither WebSockets nor what a service worker asks for: open the context
    with `service_workers="block"`, and with `user_agent=client.policy.agent`, so that scripts see the same name.

    Args:
        client: whose policy and paces hold, and who fetches robots.txt. A request that would wait for its turn for
            longer than its `max_wait`, or whose host failed too often (`breaker_failures`), is aborted as `timedout`.
    """

    def __init__(self, client: comity.AsyncClient) -> None:
        self._client = client
        self._kept: dict[str, async_api.APIResponse] = {}  # documents that the browser has been sent to

    async def __call__(self, route: async_api.Route) -> None:
        if not route.request.url.startswith(("http:", "https:")):
            await route.continue_()
            return
        try:
            trail = _Redirects(route.request, self._client.policy.agent)
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

    async def _fetch(self, route: async_api.Route, trail: _Redirects) -> async_api.APIResponse:
        while True:
            async with self._client._turn(trail.url) as answered:
                answer = await route.fetch(url=trail.url, headers=trail.headers, max_redirects=0)
                answered(answer.status, answer.headers.get("retry-after"))
            if not trail.leads_on(answer):
                return answer


class ComityRoutes:
    """As `AsyncComityRoutes`, for the sync API and an open `comity.Client`; one request at a time."""

    def __init__(self, client: comity.Client) -> None:
        self._client = client
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
            trail = _Redirects(route.request, self._client.policy.agent)
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

    def _fetch(self, route: sync_api.Route, trail: _Redirects) -> sync_api.APIResponse:
        while True:
            with self._client._turn(trail.url) as answered:
                answer = route.fetch(url=trail.url, headers=trail.headers, max_redirects=0)
                answered(answer.status, answer.headers.get("retry-after"))
            if not trail.leads_on(answer):
                return answer


def _reason(error: Exception) -> str:
    """Why a request is aborted, as Playwright has it."""
    if isinstance(error, comity.RobotsDisallowed):
        return "blockedbyclient"
    return "timedout" if isinstance(error, comity.Postponed) else "failed"
