"""Browser contexts for Playwright: each request of their pages is asked about first, and keeps its host's pace.

from comity.middleware.playwright import AsyncComityRoutes, ComityRoutes
context = await AsyncComityRoutes(client).new_context(browser)  # client: an open comity.AsyncClient

The browser sends each request itself, so that its same-origin policy, CORS, cookies and caches are its own. A DevTools
session of the whole browser holds each request back until it is decided: redirected ones, preflights and those of
workers too. Playwright's own routes cannot serve here: behind them every CORS preflight is granted, and redirects,
shared workers and the browser's own requests pass unasked.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Final

from comity_pages._extras import missing

try:
    from greenlet import greenlet  # the sync API's own
    from playwright import async_api, sync_api
    from playwright.async_api import Error  # the same class for both
except ModuleNotFoundError as error:
    raise missing(error, "playwright", __name__) from None

import comity

MAX_HEAD_SECONDS: Final = 30  # seconds that a host's next request waits for the head of an answer
ALIVE_CHECK_SECONDS: Final = 1.0  # seconds between questions whether a request without an answer is still wanted
FETCH_PATTERNS: Final = {"patterns": [{"urlPattern": "*", "requestStage": stage} for stage in ("Request", "Response")]}

REMOVED_HEADERS: Final = frozenset({"speculation-rules", "reporting-endpoints"})
"""Headers of a document that make the browser send what it does not hold back."""
# What cannot be held back is taken from pages and their frames. Workers keep theirs: no script can be put into them.
INIT_SCRIPT: Final = """(() => {
    for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "WebSocket", "WebSocketStream", "WebTransport"])
        delete globalThis[name]
    const rules = value => String(value).trim().toLowerCase() === "speculationrules"
    const {supports} = HTMLScriptElement
    HTMLScriptElement.supports = type => !rules(type) && supports.call(HTMLScriptElement, type)
    const {set, get} = Object.getOwnPropertyDescriptor(HTMLScriptElement.prototype, "type")
    Object.defineProperty(HTMLScriptElement.prototype, "type", {get, configurable: true, enumerable: true,
        set(value) { set.call(this, rules(value) ? "not-asked-about" : value) }})
    const {setAttribute} = Element.prototype
    Element.prototype.setAttribute = function (name, value) {
        const off = this instanceof HTMLScriptElement && String(name).toLowerCase() === "type" && rules(value)
        return setAttribute.call(this, name, off ? "not-asked-about" : value)
    }
    new MutationObserver(changes => {
        for (const {addedNodes} of changes)
            for (const node of addedNodes)
                if (node instanceof HTMLScriptElement && rules(node.type)) node.remove()
    }).observe(document, {childList: true, subtree: true})
})()"""

Send = Callable[[str, dict[str, Any]], Awaitable[Any]]
Sign = Callable[[str, str], Mapping[str, str]]
Head = tuple[int, dict[str, str]]
Turn = Callable[[str], AbstractAsyncContextManager[Callable[[int, dict[str, str]], None]]]


class _Held:
    """The requests of one browser, each of which waits until it is decided.

    Args:
        turn: waits for the turn of a URL; all here runs on its client's loop.
        agent: the User-Agent of all that is sent.
        sign: gives the headers that sign a request, by its method and URL.
        send: gives the browser a command of the DevTools protocol.
    """

    def __init__(self, turn: Turn, agent: str, sign: Sign, send: Send) -> None:
        self._turn = turn
        self._agent = agent
        self._sign = sign
        self._send = send
        # By the request that waits for it: the head, and the task that tells the host's gate of it.
        self._heads: dict[str, tuple[asyncio.Future[Head], asyncio.Task[Any] | None]] = {}

    async def paused(self, event: dict[str, Any]) -> None:
        """A request is about to be sent, or its answer's head is there."""
        with suppress(Error):  # the page may be closed
            if "responseStatusCode" in event or "responseErrorReason" in event:
                await self._answered(event)
            else:
                await self._asked(event)

    async def _asked(self, event: dict[str, Any]) -> None:
        number, request = event["requestId"], event["request"]
        order: dict[str, Any] = {"requestId": number}
        if not request["url"].startswith(("http:", "https:")):
            await self._send("Fetch.continueRequest", order)
            return
        headers = {name.lower(): value for name, value in request["headers"].items()}
        if (
            headers.get("user-agent") != self._agent
        ):  # of a worker or the browser itself, which know no context's settings
            headers["user-agent"] = self._agent
            headers.pop("cookie", None)  # the browser adds what belongs there
            order["headers"] = [{"name": name, "value": value} for name, value in headers.items()]
        reason = "Failed"
        try:
            async with self._turn(request["url"]) as answered:
                if signed := self._sign(request["method"], request["url"]):
                    headers.pop("cookie", None)
                    order["headers"] = [{"name": name, "value": value} for name, value in {**headers, **signed}.items()]
                await self._send("Fetch.continueRequest", order)
                reason = ""  # it is sent
                if (head := await self._head(number)) is not None:
                    answered(*head)
        except comity.RobotsDisallowed:
            reason = "BlockedByClient"
        except comity.Postponed:
            reason = "TimedOut"
        except (comity.ComityError, ConnectionError, RuntimeError):  # the last of a client that is closed
            pass
        finally:
            if reason:
                await self._send("Fetch.failRequest", {"requestId": number, "errorReason": reason})

    async def _head(self, number: str) -> Head | None:
        """Return status and headers of an answer; None where the page has given it up, or it takes too long.

        Raises:
            ConnectionError: there was no answer.
        """
        head: asyncio.Future[Head] = asyncio.get_running_loop().create_future()
        self._heads[number] = head, asyncio.current_task()
        try:
            async with asyncio.timeout(MAX_HEAD_SECONDS):
                while not (await asyncio.wait([head], timeout=ALIVE_CHECK_SECONDS))[0]:
                    # The browser does not say that a page has given up a request. This changes none that it still has.
                    try:
                        await self._send(
                            "Fetch.continueWithAuth",
                            {"requestId": number, "authChallengeResponse": {"response": "Default"}},
                        )
                    except Error as error:
                        if "Invalid InterceptionId" in str(error):
                            return None
            return head.result()
        except TimeoutError:
            return None
        finally:
            if number in self._heads and self._heads[number][0] is head:  # a redirect that followed has another
                del self._heads[number]

    async def _answered(self, event: dict[str, Any]) -> None:
        number, status = event["requestId"], event.get("responseStatusCode")
        headers = event.get("responseHeaders", [])
        head, asked = self._heads.pop(number, (None, None))
        if head is not None and asked is not None and not head.done():
            if status is None:
                head.set_exception(ConnectionError(event["responseErrorReason"]))
            else:
                head.set_result((status, {header["name"].lower(): header["value"] for header in headers}))
            await asyncio.wait([asked])  # the page may send the next request once it has the answer
        if status is None:
            await self._send("Fetch.continueRequest", {"requestId": number})
            return
        order: dict[str, Any] = {"requestId": number}
        kept = [header for header in headers if header["name"].lower() not in REMOVED_HEADERS]
        if len(kept) < len(headers):
            order |= {"responseCode": status, "responseHeaders": kept}
        await self._send("Fetch.continueResponse", order)


class AsyncComityRoutes:
    """For browsers of Playwright's async API.

    A refused request is aborted as `blockedbyclient`, and `page.goto` raises. robots.txt is fetched by comity's own
    client, behind its address guard; all else is sent by the browser, with the policy's agent as User-Agent. To a host,
    the client and all pages keep one pace together. While a context of this object is open, the
    requests of all other contexts of its browser are asked about too.

    Args:
        client: whose policy and paces hold, and who fetches robots.txt. A request that would wait for its turn for
            longer than its `max_wait`, or whose host failed too often (`breaker_failures`), is aborted as `timedout`.
    """

    def __init__(self, client: comity.AsyncClient) -> None:
        self._client = client
        self._sessions: dict[async_api.Browser, async_api.CDPSession] = {}
        self._contexts: dict[async_api.Browser, int] = {}
        self._changing = asyncio.Lock()

    async def new_context(self, browser: async_api.Browser, **options: Any) -> async_api.BrowserContext:
        """Return a context whose pages ask, with the policy's agent and without service workers.

        Args:
            browser: a Chromium.
            options: for `browser.new_context`.

        Raises:
            playwright.async_api.Error: it is no Chromium.
        """

        async def closed(_: Any) -> None:
            async with self._changing:
                self._contexts[browser] -= 1
                if not self._contexts[browser]:
                    del self._contexts[browser]
                    with suppress(Error):  # the browser may be closed
                        await self._sessions.pop(browser).detach()

        async with self._changing:
            context = await browser.new_context(**_options(self._client.policy.agent, options))
            try:
                await context.add_init_script(INIT_SCRIPT)
                if browser not in self._sessions:
                    session = await browser.new_browser_cdp_session()
                    held = _Held(self._client._turn, self._client.policy.agent, self._client._sign, session.send)
                    session.on("Fetch.requestPaused", held.paused)
                    await session.send("Fetch.enable", FETCH_PATTERNS)
                    self._sessions[browser] = session
            except BaseException:
                await context.close()
                raise
            self._contexts[browser] = self._contexts.get(browser, 0) + 1
            context.once("close", closed)
        return context


class ComityRoutes:
    """As `AsyncComityRoutes`, for the sync API and an open `comity.Client`.

    Playwright's sync API notices answers only while one of its methods runs. A request of a page that is then still
    under way holds its host for others for 30 s at most.
    """

    def __init__(self, client: comity.Client) -> None:
        self._client = client
        self._sessions: dict[sync_api.Browser, sync_api.CDPSession] = {}
        self._contexts: dict[sync_api.Browser, int] = {}

    def new_context(self, browser: sync_api.Browser, **options: Any) -> sync_api.BrowserContext:
        """As `AsyncComityRoutes.new_context`."""

        def closed(_: Any) -> None:
            self._contexts[browser] -= 1
            if not self._contexts[browser]:
                del self._contexts[browser]
                with suppress(Error):
                    self._sessions.pop(browser).detach()

        context = browser.new_context(**_options(self._client.policy.agent, options))
        try:
            context.add_init_script(INIT_SCRIPT)
            if browser not in self._sessions:
                self._sessions[browser] = self._session(browser)
        except BaseException:
            context.close()
            raise
        self._contexts[browser] = self._contexts.get(browser, 0) + 1
        context.once("close", closed)
        return context

    def _session(self, browser: sync_api.Browser) -> sync_api.CDPSession:
        """Return a session whose requests are decided on the client's loop: a handler of the sync API that waited would
        keep all of Playwright waiting.
        """
        session = browser.new_browser_cdp_session()
        loop, background = session._loop, self._client._open()

        def send(method: str, params: dict[str, Any]) -> Awaitable[Any]:
            sent: Future[Any] = Future()

            def work() -> None:
                if sent.set_running_or_notify_cancel():
                    try:
                        sent.set_result(session.send(method, params))
                    except Exception as error:
                        sent.set_exception(error)

            # The sync API waits by switching greenlets, as it does for its own handlers.
            loop.call_soon_threadsafe(lambda: greenlet(work).switch())
            return asyncio.wrap_future(sent)

        client = self._client._client
        held = _Held(client._turn, client.policy.agent, client._sign, send)

        def paused(event: dict[str, Any]) -> None:
            try:
                background.begin(held.paused(event))
            except RuntimeError:  # the client is closed
                with suppress(Error):
                    session.send("Fetch.failRequest", {"requestId": event["requestId"], "errorReason": "Failed"})

        session.on("Fetch.requestPaused", paused)
        session.send("Fetch.enable", FETCH_PATTERNS)
        return session


def _options(agent: str, given: dict[str, Any]) -> dict[str, Any]:
    return {"user_agent": agent, "service_workers": "block", **given}
