"""The requests of one page in the browser: each is answered here or not at all.

The document is the response at hand. Scripts, style sheets, frames and what scripts fetch are asked for through the
crawl's client: robots.txt, pace, address guard and ledger are the crawl's own. All else is left out. Scripts and style
sheets are kept for the run, so that a site's pages do not ask for them again and again.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from comity.crawler.rendering.cors import agreed, is_shared, question, to_be_asked_about
from comity.errors import ComityError, FetchError, Postponed, RobotsDisallowed
from comity.net import Response, Session
from comity.net.client_settings import CLIENT_HEADERS
from comity.net.redirects import follow
from comity.policy import Decision
from comity_pages import urls
from comity_pages.urls import Url
from comity_robots.fields import MIB

if TYPE_CHECKING:
    from playwright.async_api import Request, Route

KINDS: Final = ("script", "stylesheet")
MAX_CACHE_BYTES: Final = 64 * MIB  # bytes
_OVERHEAD: Final = 2000  # bytes of an answer beside its body, about

SubresourceKey = tuple[str, str, bool]
"""URL; the origin that asks, where it says so; whether credentials are sent: the answer may differ."""


class Scripts:
    """What is kept; the longest unused goes first."""

    def __init__(self, most: int = MAX_CACHE_BYTES) -> None:
        self._most = most
        self._size = 0
        self._kept: OrderedDict[SubresourceKey, Response] = OrderedDict()
        self._coming: dict[SubresourceKey, asyncio.Task[Response]] = {}

    async def get(
        self, key: SubresourceKey, fetch: Callable[[], Coroutine[Any, Any, Response]]
    ) -> tuple[Response, bool]:
        """The answer for a key, and whether it is one that another page got; errors are those of `fetch`."""
        if (kept := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
            return kept, True
        task = self._coming.get(key)
        if task is None:
            task = self._coming[key] = asyncio.get_running_loop().create_task(fetch())
            task.add_done_callback(lambda task: self._arrived(key, task))
            # The page that asked first may be closed while others wait.
            return await asyncio.shield(task), False
        response = await asyncio.shield(task)
        if _may_be_kept(response):
            return response, True
        return await fetch(), False  # that one was for the page that asked, and for no other

    async def close(self) -> None:
        """Give up what is under way."""
        await _given_up(self._coming.values())

    def _arrived(self, key: SubresourceKey, task: asyncio.Task[Response]) -> None:
        self._coming.pop(key, None)
        if task.cancelled() or task.exception() is not None or not _may_be_kept(response := task.result()):
            return
        self._kept[key] = response
        self._size += len(response.body) + _OVERHEAD
        while self._size > self._most:
            self._size -= len(self._kept.popitem(last=False)[1].body) + _OVERHEAD


async def _given_up(under_way: Iterable[asyncio.Task[Any]]) -> None:
    tasks = list(under_way)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _may_be_kept(response: Response) -> bool:
    stated = ",".join(response.header_values("Cache-Control")).lower()
    return response.status == 200 and "no-store" not in stated and "*" not in response.header_values("Vary")


WANTED: Final = frozenset((*KINDS, "document", "xhr", "fetch", "other"))  # `other`: what a worker imports, for one
READ_BY_SCRIPTS: Final = frozenset(("xhr", "fetch"))
PIXEL: Final = bytes.fromhex("47494638396101000100800000000000ffffff21f90401000000002c000000000100010000020144003b")
"""What the page gets for every picture, so that nothing waits for it or mourns it."""
MAX_TARGETS: Final = 100
MAX_REQUESTS: Final = 2000  # requests of any kind, most of them for pictures; a page that wants more floods us
NOT_SENT: Final = CLIENT_HEADERS | {"cookie", "upgrade-insecure-requests", "referer"}
NOT_SHOWN: Final = frozenset(
    (  # of no use to a page, or about a network that the browser does not have
        *("accept-ch", "alt-svc", "clear-site-data", "connection", "content-disposition", "content-encoding"),
        *("content-length", "critical-ch", "keep-alive", "link", "nel", "refresh", "report-to", "reporting-endpoints"),
        *("set-cookie", "speculation-rules", "strict-transport-security", "transfer-encoding"),
    )
)
FOREIGN: Final = "https://nobody.invalid"  # an origin that no page has


class PageRequests:
    """The requests of one page.

    Args:
        response: the page, which the browser's first navigation gets.
        most: requests that may be sent for it, redirects included.
        refused, copied: told of a URL that may not be fetched, and of an answer that is a copy kept from earlier.

    Attributes:
        targets: where the page wanted to go, in normal form.
        counts: see `Rendered.parts`.
        under_way: requests that are being answered by the client.
        active_at: when a request last began or ended, on the loop's clock.
        cut_short: whether it wanted more than `most`.
        seen: requests of any kind.
        held_back: whether it wanted to go elsewhere: a page that does so while it loads never says that it has loaded.
    """

    def __init__(
        self,
        response: Response,
        *,
        most: int,
        client: Session,
        scripts: Scripts,
        refused: Callable[[Decision], None],
        copied: Callable[[Response], None],
    ) -> None:
        self.targets: dict[str, None] = {}
        self.counts = dict.fromkeys(("fetched", "reused", "refused", "failed", "left_out"), 0)
        self.under_way = 0
        self.active_at = 0.0
        self.cut_short = False
        self.held_back = False
        self.seen = 0
        self._response = response
        self._most = most
        self._sent = 0
        self._client = client
        self._scripts = scripts
        self._refused = refused
        self._copied = copied
        self._main: Any = None  # the frame that is to show the page
        self._shown = False
        self._over = True
        self._tasks: set[asyncio.Task[Any]] = set()
        self._fetches: set[asyncio.Task[Response]] = set()
        self._agreed: set[tuple[str, str, tuple[str, ...]]] = set()  # origin that asks, URL, headers

    @property
    def begun(self) -> bool:
        """Whether the page was ever to be shown."""
        return self._main is not None

    def begin(self, main_frame: Any) -> None:
        """The page is about to be shown in a frame, for the first time or once more."""
        self._main, self._shown, self._over, self.held_back = main_frame, False, False, False
        self.targets.clear()

    def __call__(self, route: "Route") -> None:
        """The handler of the browser's routes."""
        self.seen += 1
        waiter = asyncio.current_task()  # of Playwright's: it waits until the route is answered
        for task in (asyncio.get_running_loop().create_task(self._answer(route)), waiter):
            if task is not None:
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def end(self) -> None:
        """Give up what the client is asked for, and let nothing follow. What the browser is being told ends with it."""
        self._over = True
        await _given_up(self._fetches)

    async def abandon(self) -> None:
        """End what waits for a browser that has closed the page, or is gone and never answers."""
        await _given_up(self._tasks)

    async def _answer(self, route: "Route") -> None:
        from playwright.async_api import Error

        with suppress(Error):  # the page may be closed meanwhile
            try:
                reason = await self._handled(route)
            except RobotsDisallowed as error:
                self.counts["refused"] += 1
                self._refused(error.decision)
                reason = "blockedbyclient"
            except _TooMany:
                self.cut_short = True
                self.counts["left_out"] += 1
                reason = "blockedbyclient"
            except (ComityError, ValueError) as error:  # ValueError: of a header that cannot be sent
                self.counts["failed"] += 1
                reason = "timedout" if isinstance(error, Postponed) else "failed"
            except asyncio.CancelledError:
                reason = "aborted"
            if reason is not None:
                await route.abort(reason)

    async def _handled(self, route: "Route") -> str | None:
        """Answer a request, or say why it is aborted."""
        request = route.request
        if self._over or self.seen > MAX_REQUESTS:
            return "aborted"
        if request.is_navigation_request():
            frame = _frame(request)
            if frame is self._main and not self._shown:
                self._shown = True
                await route.fulfill(
                    status=self._response.status, headers=_headers(self._response), body=self._response.body
                )
                return None
            if frame is None or frame.parent_frame is None:
                if request.method == "GET" and len(self.targets) < MAX_TARGETS:
                    with suppress(ComityError):
                        self.targets[urls.normalise(request.url)] = None
                self.held_back = True
                self.active_at = asyncio.get_running_loop().time()
                return "aborted"  # with any other word an error page would take the page's place
        if request.resource_type == "image":
            self.counts["left_out"] += 1
            await route.fulfill(status=200, content_type="image/gif", body=PIXEL)
            return None
        wanted = request.resource_type in WANTED and "sec-purpose" not in request.headers  # a guess at what is next
        if not wanted or request.method not in ("GET", "HEAD"):
            self.counts["left_out"] += 1
            return "blockedbyclient"
        self.under_way += 1
        self.active_at = asyncio.get_running_loop().time()
        try:
            fetch = asyncio.get_running_loop().create_task(self._fetched(request))
            self._fetches.add(fetch)
            fetch.add_done_callback(self._fetches.discard)
            response = await fetch
            if not self._may_see(request, response):
                raise FetchError(
                    f"{request.url} redirects to another origin that does not allow it (CORS)", url=request.url
                )
            headers = _headers(response)
            # else Playwright would share it with any site, and its scripts would be that site's own
            headers.setdefault("access-control-allow-origin", FOREIGN)
            await route.fulfill(status=response.status, headers=headers, body=response.body)
        finally:
            self.under_way -= 1
            self.active_at = asyncio.get_running_loop().time()
        return None

    async def _fetched(self, request: "Request") -> Response:
        headers = _sent(request.headers)
        url = Url(request.url)
        credentials = self._is_own(request, url)
        asker = headers.get("origin", "")
        if request.resource_type in READ_BY_SCRIPTS:
            return await self._fetch(url, request.method, headers, credentials, asker=asker or _origin(request))
        if request.resource_type not in KINDS or request.method != "GET":
            return await self._fetch(url, request.method, headers, credentials)
        key = url, asker, credentials
        response, reused = await self._scripts.get(key, lambda: self._fetch(url, "GET", headers, credentials))
        self.counts["reused"] += reused
        return response

    def _is_own(self, request: "Request", url: Url) -> bool:
        """Whether a part is of the page's origin, and so is every document between the page and the part: what is sent
        with credentials is not shown to other sites.
        """
        page = urls.origin(self._response.url)
        if url.origin != page or request.headers.get("origin", page) != page:
            return False
        frame = _frame(request)
        if frame is not None and request.is_navigation_request():  # the frame itself shows something else as yet
            frame = frame.parent_frame
        while frame is not None and frame is not self._main:
            if not urls.is_http(frame.url) or urls.origin(frame.url) != page:
                return False
            frame = frame.parent_frame
        return frame is not None

    async def _fetch(
        self, url: Url, method: str, headers: dict[str, str], credentials: bool, asker: str | None = None
    ) -> Response:
        """Ask for a URL and follow its redirects, each hop decided anew.

        Args:
            credentials: whether the settings' credentials are sent, as long as no redirect leaves the origin.
            asker: the origin of the script that asks and has a say in the headers; None: they are the browser's own.
        """
        origin = url.origin

        async def send(hop: Url, headers: Mapping[str, str]) -> Response:
            nonlocal credentials
            credentials = credentials and hop.origin == origin
            if asker is not None and hop.origin != asker:
                await self._agree(hop, method, headers, asker)
            response = await self._send(hop, method, headers, credentials)
            if response.from_cache:
                self._copied(response)
            self.counts["fetched"] += 1
            return response

        return await follow(url, headers, send, self._client.settings.max_redirects)

    async def _send(self, url: str, method: str, headers: Mapping[str, str], credentials: bool) -> Response:
        if self._sent >= self._most:
            raise _TooMany(url)
        self._sent += 1
        return await self._client.fetch(url, method=method, headers=headers, credentials=credentials)

    async def _agree(self, url: str, method: str, headers: Mapping[str, str], asker: str) -> None:
        """Ask another origin whether it takes the headers that a script has chosen, where a browser would; else a
        FetchError. Playwright says yes to each such question of the browser's by itself."""
        names = to_be_asked_about(headers)
        if not names or (asker, url, names) in self._agreed:
            return
        answer = await self._send(url, "OPTIONS", question(asker, method, names), False)
        if not agreed(answer, asker, names):
            raise FetchError(f"{url} does not let {asker} send {', '.join(names):.200}", url=url)
        self._agreed.add((asker, url, names))

    def _may_see(self, request: "Request", response: Response) -> bool:
        """Whether a redirect kept to its origin, or what it led to is no more open to the page than without: the
        browser knows of no redirect.
        """
        asked = urls.origin(request.url)
        if urls.origin(response.url) == asked:
            return True
        asker = request.headers.get("origin")
        if request.resource_type in KINDS and asker is None:  # closed to scripts, unless it seems to be their own
            return _origin(request) not in ("null", asked) and urls.origin(self._response.url) != asked
        # What one foreign origin redirects to another names nobody as its asker (Fetch standard, HTTP-redirect fetch).
        named = asker if asker in (None, asked) else "null"
        return request.resource_type in (*KINDS, *READ_BY_SCRIPTS) and is_shared(response, named or asked)


class _TooMany(Exception):
    """The page has had as many requests as it may have."""


def _frame(request: "Request") -> Any:
    """The frame that a request is for; None where that is a window which is not open yet."""
    from playwright.async_api import Error

    try:
        return request.frame
    except Error:
        return None


def _sent(headers: dict[str, str]) -> dict[str, str]:
    """Of the headers that the browser would send, those that the client sends for it."""
    return {
        name: value
        for name, value in headers.items()
        if name not in NOT_SENT and not name.startswith(("sec-", "proxy-", "if-", ":"))
    }


def _headers(response: Response) -> dict[str, str]:
    """The headers that the browser is shown; one that repeats is joined (RFC 9110, 5.2)."""
    shown: dict[str, str] = {}
    for name, value in response.all_headers:
        name = name.lower()
        if name not in NOT_SHOWN:
            shown[name] = f"{shown[name]}, {value}" if name in shown else value
    return shown


def _origin(request: "Request") -> str:
    """The origin of the document that a request is for; `null` where it has none of its own."""
    frame = _frame(request)
    known = frame is not None and urls.is_http(frame.url)
    return urls.origin(frame.url) if known else "null"
