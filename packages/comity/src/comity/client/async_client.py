"""AsyncClient: every request asks the gate first, every redirect hop and every retry again.

It follows redirects and works through lists; its Session sends what the gate permits.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import urlencode

from comity.errors import ComityError, InvalidURL, check_type, place_of
from comity.net.client_settings import ClientSettings, checked_headers, checked_params
from comity.net.clock import Clock
from comity.net.redirects import follow
from comity.net.response import Response, Stream
from comity.net.session import ClientClosed, Session
from comity.net.turns import NO_HEADERS
from comity.policy import Decision, Policy, RobotsResult
from comity_pages import urls
from comity_pages.urls import Url
from comity_robots.fields import settings_of

if TYPE_CHECKING:
    from comity.retrieve import Chooser, Extractor, Fetcher, Retrieved
    from comity_pages.signals.llms import Strategy

Progress = Callable[[int, int], None]  # called with how many URLs are done, and how many there are
Answered = Callable[[int, Mapping[str, str]], None]
"""Called with status and headers of an answer when its head is there."""

MAX_HOSTS: Final = 1000  # asked side by side by `get_many`; the others follow as these are done with
MAX_CALLS_PER_HOST: Final = 4
"""To one host at a time, where it has no pace; else one, so that none waits for longer than a turn."""
MAX_WAITING_ANSWERS: Final = 100  # answers that may wait for a slow caller


class AsyncClient:
    """A polite HTTP client. Use it as an async context manager, or call `close` when you are done with it.

    It opens when it is first used. One that is closed can be opened again, by `async with`.

    Args:
        policy: what may be done; the default respects robots.txt and leaves a second between requests to one host.
        settings: how it is done: limits, time-outs, headers.
        agent: the User-Agent header, instead of the policy's.
        delay: seconds between two requests to one host, instead of the policy's `min_interval`.
        fields: others of the policy's, such as `allow_addresses`, instead of its own.
        clock: for tests.
        pace_with: another on the same event loop; to each host, both keep one pace together.
    """

    def __init__(
        self,
        policy: Policy | None = None,
        settings: ClientSettings | None = None,
        *,
        agent: str | None = None,
        delay: float | None = None,
        clock: Clock | None = None,
        pace_with: "AsyncClient | None" = None,
        **fields: Any,
    ) -> None:
        check_type("policy", policy, Policy)
        check_type("settings", settings, ClientSettings)
        for name in fields.keys() - settings_of(Policy).keys():
            raise TypeError(f"{name} is no field of a policy: {place_of(name, settings=ClientSettings)}")
        given = {name: value for name, value in (("agent", agent), ("min_interval", delay)) if value is not None}
        self.policy = (policy or Policy()).with_changes(**given, **fields)
        self.settings = settings or ClientSettings()
        self._session: Session = Session(
            self.policy, self.settings, clock=clock, pace_with=None if pace_with is None else pace_with._session
        )

    def __repr__(self) -> str:
        return f"<comity.{type(self).__name__} of {self.policy.agent}>"

    async def __aenter__(self) -> Self:
        await self._session.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End every connection and call. Calls that wait, and those that come later, raise RuntimeError; what was
        learned can still be read.
        """
        await self._session.close()

    # Questions

    async def check(self, url: str) -> Decision:
        """Decide about a URL without fetching it; robots.txt is fetched if need be.

        Raises:
            InvalidURL, Postponed
        """
        return await self._session.check(url)

    async def is_allowed(self, url: str) -> bool:
        """Return whether a URL may be fetched."""
        return (await self.check(url)).may_fetch

    def crawl_delay(self, url: str) -> float | None:
        """Return the site's Crawl-delay for us in seconds, from what is known already: no I/O."""
        result = self.inspect().get(urls.origin(url))
        return None if result is None else result.robots.crawl_delay(self.policy.asked_as)

    def clear_cache(self) -> None:
        """Forget every robots.txt, in the cache file too.

        Raises:
            RuntimeError: the client is closed, and its cache file with it.
        """
        self._session.clear_robots()

    def inspect(self) -> Mapping[str, RobotsResult]:
        """Return what was learned, origin by origin."""
        return self._session.driver.gate.robots.results()

    # Requests

    async def get(
        self, url: str, *, headers: Mapping[str, str] = NO_HEADERS, params: Mapping[str, str] = NO_HEADERS
    ) -> Response:
        """GET a URL and follow redirects, each hop decided anew; temporary failures are tried again.

        Args:
            headers: sent with this call; Authorization and Cookie go to the URL's own origin only.
            params: query parameters added to the URL.

        Raises:
            InvalidURL, RobotsDisallowed, AddressBlocked, Postponed, FetchError and its kinds
        """
        return await self._request("GET", url, headers, params)

    async def head(
        self, url: str, *, headers: Mapping[str, str] = NO_HEADERS, params: Mapping[str, str] = NO_HEADERS
    ) -> Response:
        """HEAD, otherwise as `get`."""
        return await self._request("HEAD", url, headers, params)

    @asynccontextmanager
    async def stream(
        self, url: str, *, headers: Mapping[str, str] = NO_HEADERS, params: Mapping[str, str] = NO_HEADERS
    ) -> AsyncIterator[Stream[AsyncIterator[bytes]]]:
        """As `get`, but the body is read while it arrives, inside the `async with` block; failures are not tried again.

        `timeout` holds for each head. The body may take longer, but each part of it no longer than `read_timeout` or,
        where that is not set, `timeout`.
        """
        async with AsyncExitStack() as stack:

            async def send(hop: Url, headers: Mapping[str, str]) -> Stream[AsyncIterator[bytes]]:
                await stack.aclose()  # of the hop before
                return await stack.enter_async_context(self._session.stream(hop, headers=headers))

            yield await follow(self._prepared(url, headers, params), headers, send, self.settings.max_redirects)

    @asynccontextmanager
    async def _turn(self, url: str) -> AsyncIterator[Answered]:
        """Wait for the turn of a GET or another request that somebody else sends inside the block, a browser for
        example, so that both keep one pace. Call what it yields when the answer's head is there.

        Raises:
            InvalidURL, RobotsDisallowed, Postponed
        """
        self._session.open()
        driver = self._session.driver
        async with driver.turn(url, self._session.get_robots) as go:
            yield partial(driver.headers_received, go)

    def _sign(self, method: str, url: str) -> Mapping[str, str]:
        """Return the headers that sign a request which somebody else sends; empty where it is not signed."""
        signing = self._session.open().signing
        return NO_HEADERS if signing is None else signing.headers(method, Url(url), time.time())

    async def get_many(
        self, urls: Iterable[str], *, headers: Mapping[str, str] = NO_HEADERS, progress: Progress | None = None
    ) -> AsyncGenerator[tuple[str, Response | ComityError], None]:
        """GET many URLs, hosts side by side: `async for url, result in client.get_many(urls): ...`

        Each URL comes once for every time it was given, in the order in which answers arrive, with its Response or the
        ComityError that `get` raises for it. Leaving the loop ends what is under way.

        Args:
            urls: are read to their end before the first is asked for.
            headers: as for `get`.
            progress: called with how many are done and how many there are, before each is handed out.

        Raises:
            InvalidSetting: a header cannot be sent.
            RuntimeError: the client is closed.
        """
        given = [urls] if isinstance(urls, str) else list(urls)
        self._session.open()
        checked_headers("headers", headers)
        results = self._arriving(given, headers)
        done = 0
        try:
            async for each in results:
                done += 1
                if progress is not None:
                    progress(done, len(given))
                yield each
        finally:
            await results.aclose()

    async def retrieve(
        self,
        url: str,
        *,
        strategy: "Strategy" = "prefer",
        fetcher: "Fetcher | None" = None,
        extractor: "Extractor | None" = None,
        chooser: "Chooser | None" = None,
    ) -> "Retrieved":
        """Return the page for a reader that is a program: as Markdown, with evidence.

        Arguments and errors as for `comity.retrieve.retrieve`.
        """
        from comity.retrieve import retrieve

        return await retrieve(self, url, strategy=strategy, fetcher=fetcher, extractor=extractor, chooser=chooser)

    async def _arriving(
        self, addresses: Sequence[str], headers: Mapping[str, str]
    ) -> AsyncGenerator[tuple[str, Response | ComityError], None]:
        """Yield each URL with its response or the error that came instead, as they arrive."""
        hosts: dict[str, deque[str]] = {}
        for url in addresses:
            hosts.setdefault(_host(url), deque()).append(url)
        queues = iter(hosts.values())
        calls = 1 if self.policy.min_interval > 0 else MAX_CALLS_PER_HOST
        arrived: asyncio.Queue[tuple[str, Response | ComityError] | Exception] = asyncio.Queue(MAX_WAITING_ANSWERS)

        async def ask(queue: deque[str]) -> None:
            while queue:
                url = queue.popleft()
                try:
                    await arrived.put((url, await self.get(url, headers=headers)))
                except ClientClosed as error:  # no failure of a URL's: the caller is to have it
                    await arrived.put(error)
                except ComityError as error:
                    await arrived.put((url, error))
                except Exception as error:
                    await arrived.put(error)

        async def work() -> None:
            for queue in queues:
                await asyncio.gather(*(ask(queue) for _ in range(min(calls, len(queue)))))

        workers = [asyncio.ensure_future(work()) for _ in range(min(MAX_HOSTS, len(hosts)))]
        try:
            for _ in addresses:
                each = await arrived.get()
                if isinstance(each, Exception):
                    raise each
                yield each
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    def _request(
        self, method: str, url: str, headers: Mapping[str, str], params: Mapping[str, str]
    ) -> Awaitable[Response]:
        def send(hop: Url, headers: Mapping[str, str]) -> Awaitable[Response]:
            return self._session.fetch(hop, method=method, headers=headers, tries=1 + self.settings.max_retries)

        return follow(self._prepared(url, headers, params), headers, send, self.settings.max_redirects)

    def _prepared(self, url: str, headers: Mapping[str, str], params: Mapping[str, str]) -> Url:
        if headers:
            checked_headers("headers", headers)
        if params:
            checked_params(params)
        if params or self.settings.params:
            url, _, fragment = url.partition("#")
            added = urlencode({**self.settings.params, **params})
            url = f"{url}{'&' if '?' in url else '?'}{added}#{fragment}"
        return Url(url)


def _host(url: str) -> str:
    try:
        return urls.host(url)
    except (InvalidURL, TypeError, AttributeError):
        return ""
