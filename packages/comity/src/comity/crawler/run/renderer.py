"""Pages as they are after their scripts ran: a browser that has no network, and the crawl's client that has.

A page that was fetched is shown in the browser until it comes to rest, and read there. One that never rests is cut off;
one that takes its tab or the browser along is kept as it was served. Nothing a page does ends the crawl or holds it up
for longer than the settings say. The browser's library is imported when a crawl that renders starts.
"""

import asyncio
import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.rendering.browser import Browser
from comity.crawler.rendering.page_requests import MAX_REQUESTS, PageRequests, Scripts
from comity.crawler.run.outcomes import PartRefused
from comity.crawler.run.page_reader import Rendered, is_page
from comity.crawler.run.results import ResultBuffer
from comity.errors import ComityError, ExtractionFailed, RenderingFailed
from comity.frontier.values import Entry
from comity.net import Response, Session
from comity.policy import Decision
from comity_pages import urls
from comity_pages.documents import overview

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext
    from playwright.async_api import Page as Tab


POLL_SECONDS: Final = 0.05  # seconds
QUIET_SECONDS: Final = 0.5  # seconds without a request after which a page is at rest
MAX_OPEN_SECONDS: Final = 30.0  # seconds for an empty page, on a machine that has much else to do
MAX_ANSWER_SECONDS: Final = 5.0  # seconds for the browser's own answers
MAX_REFUSALS: Final = 10_000  # URLs remembered, so that a refusal is written down once

# A page without scripts is what it was served as. UTF-16 has zero bytes.
_SCRIPTS: Final = re.compile(rb"<script|[\s\"'/]on[a-z]+\s*=|javascript:|\x00", re.IGNORECASE)

# Read in a world of its own, past whatever a page made of its properties.
_READ: Final = """(() => {
    const of = name => Object.getOwnPropertyDescriptor(Document.prototype, name).get.call(document);
    const [type, root] = [of("doctype"), of("documentElement")];
    const text = (type ? new XMLSerializer().serializeToString(type) + "\\n" : "") + (root ? root.outerHTML : "");
    return text.length <= MOST ? [text, location.href] : [text.length];
})()"""


class Renderer:
    """The browser of one crawl; errors as of Browser."""

    def __init__(self, client: Session, settings: CrawlSettings, results: ResultBuffer) -> None:
        self._client = client
        self._settings = settings
        self._results = results
        self._browser = Browser(settings.render_browser)
        self._slots = asyncio.Semaphore(settings.render_pages)
        self._scripts = Scripts()
        self._refusals: set[str] = set()
        self._rendering: set[asyncio.Task[Any]] = set()

    @property
    def pages(self) -> int:
        """How many are being rendered or wait for that: no request of theirs counts as under way."""
        return len(self._rendering)

    async def close(self) -> None:
        """End the browser; what is still being rendered must have been cancelled before."""
        await self._scripts.close()
        await self._browser.close()

    async def render(self, entry: Entry, response: Response) -> Rendered | None:
        """Render a page; None where it is no HTML or has no scripts. RenderingFailed where the browser cannot be
        started."""
        if not is_page(response) or _SCRIPTS.search(response.body) is None:
            return None
        task = asyncio.current_task()
        assert task is not None
        self._rendering.add(task)
        try:
            if self._settings.render_auto and not await asyncio.to_thread(_is_shell, response):
                return None
            async with self._slots:
                return await self._shown(entry, response)
        finally:
            self._rendering.discard(task)

    def give_up(self) -> None:
        """Cancel the fetches of these pages."""
        for task in self._rendering:
            task.cancel()

    async def _shown(self, entry: Entry, response: Response) -> Rendered:
        parts = PageRequests(
            response,
            most=self._settings.render_requests,
            client=self._client,
            scripts=self._scripts,
            refused=lambda decision: self._refused(decision, entry),
            copied=self._results.copied,
        )
        body, url, note = None, response.url, None
        for _ in range(2):  # once more where the browser went down: another page may have done it
            try:
                body, url, note = await self._attempt(response, parts)
            except NotRendered as reason:
                note = str(reason)
            if body is not None or self._browser.alive:
                break
        if note is None and parts.cut_short:
            note = f"it requested more than {self._settings.render_requests} resources; the rest were not loaded"
        return Rendered(body=body, url=url, targets=tuple(parts.targets), note=note, parts=parts.counts)

    async def _attempt(self, response: Response, parts: PageRequests) -> tuple[bytes, str, str | None]:
        """Body, base URL and note of a page; raises NotRendered where it cannot be had."""
        context: BrowserContext | None = None
        try:
            async with asyncio.timeout(None) as limit:
                context = await self._browser.context(self._client.policy.agent)
                limit.reschedule(asyncio.get_running_loop().time() + MAX_OPEN_SECONDS)
                await context.route(re.compile(""), parts)
                page = await context.new_page()
                session = await context.new_cdp_session(page)
                parts.begin(page.main_frame)
                limit.reschedule(None)
                note = await self._settled(page, response.url, parts)
                limit.reschedule(asyncio.get_running_loop().time() + MAX_ANSWER_SECONDS)
                body, url = await self._read(session, response.url)
                return body, url, note
        except (NotRendered, RenderingFailed):
            raise
        except TimeoutError:
            if parts.begun:
                raise NotRendered("its scripts did not finish") from None
            await self._browser.verify()
            raise NotRendered("the browser gives no answer") from None
        except Exception as error:  # Playwright's, some of which are of no kind
            await self._browser.verify()
            what = next(iter(str(error).strip().splitlines()), type(error).__name__)
            raise NotRendered(f"the browser could not load it: {what}") from error
        finally:
            await parts.end()
            try:
                if context is not None:
                    await self._leave(context)
            finally:
                await parts.abandon()

    async def _settled(self, page: "Tab", url: str, parts: PageRequests) -> str | None:
        """Show a page until it has loaded and is quiet; says why where it was cut off.

        Waiting for a part of the page is not the browser's time: it may be for politeness.
        """
        loop = asyncio.get_running_loop()
        loaded, crashed = asyncio.Event(), asyncio.Event()

        def arrived(_: Any) -> None:
            parts.active_at = loop.time()
            loaded.set()

        page.once("load", arrived)
        page.once("crash", lambda _: crashed.set())
        page.once("close", lambda _: crashed.set())
        page.on("popup", lambda popup: loop.create_task(_closed(popup)))
        going = loop.create_task(page.goto(url, wait_until="commit", timeout=0))
        spent, before = 0.0, loop.time()
        try:
            while True:
                await asyncio.sleep(POLL_SECONDS)
                now = loop.time()
                if not parts.under_way:
                    spent += now - before
                before = now
                if crashed.is_set() or not self._browser.alive:
                    raise NotRendered("its tab or the browser crashed, perhaps out of memory")
                if parts.seen > MAX_REQUESTS:
                    raise NotRendered(f"it makes more than {MAX_REQUESTS} requests")
                if going.done():
                    going.result()
                    if not parts.under_way and now - parts.active_at >= QUIET_SECONDS:
                        if loaded.is_set():
                            return None
                        if parts.held_back:  # the browser has stopped to read it
                            raise NotRendered("it navigated away before it had loaded")
                if spent >= self._settings.render_seconds:
                    if not going.done():
                        raise TimeoutError
                    return f"it was not at rest after {self._settings.render_seconds:g} s"
        finally:
            going.cancel()
            await asyncio.gather(going, return_exceptions=True)

    async def _read(self, session: Any, url: str) -> tuple[bytes, str]:
        """The document as it is, and its address, which is the page's own but for what history.pushState does."""
        most = self._client.settings.max_body
        frame = (await session.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
        world = await session.send("Page.createIsolatedWorld", {"frameId": frame})
        question = {
            "expression": _READ.replace("MOST", json.dumps(most)),
            "contextId": world["executionContextId"],
            "returnByValue": True,
        }
        match (await session.send("Runtime.evaluate", question))["result"].get("value"):
            case [str() as text, str() as address]:
                with suppress(ComityError):
                    if urls.host(address := urls.normalise(address)) == urls.host(url):
                        return text.encode("utf-8", "replace"), address
                raise NotRendered(f"it was replaced by {address:.100}")
            case [int() | float()]:
                raise NotRendered(f"it has grown to more than {most} characters")
        raise NotRendered("it cannot be read")

    async def _leave(self, context: "BrowserContext") -> None:
        """Close a page's profile, and if that hangs the browser."""
        try:
            await asyncio.wait_for(context.close(), MAX_ANSWER_SECONDS)
        except asyncio.CancelledError:
            raise
        except Exception:
            await self._browser.close()

    def _refused(self, decision: Decision, entry: Entry) -> None:
        if decision.url not in self._refusals:
            if len(self._refusals) >= MAX_REFUSALS:
                self._refusals.clear()
            self._refusals.add(decision.url)
            self._results.record(PartRefused(entry=entry, decision=decision), urls.host(entry.url))


def _is_shell(response: Response) -> bool:
    """Whether a page shows next to nothing without its scripts."""
    with suppress(ExtractionFailed):
        found = overview(response.body, response.url, response.headers.get("Content-Type") or "text/html")
        return found is None or found[0].kind in ("javascript_shell", "empty")
    return True


class NotRendered(Exception):
    """Why a page is kept as it was served."""


async def _closed(page: "Tab") -> None:
    with suppress(Exception):
        await page.close()
