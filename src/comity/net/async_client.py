"""AsyncClient: every request asks the gate first, every redirect hop and every retry again.

It sends what the gate permits (turns.py) and tells it what came; it decides nothing itself.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import urlencode

from comity import urls
from comity.errors import ComityError, FetchError, Postponed, TooLarge, TooManyRedirects, UnwantedType, check_type
from comity.gate import Gate, Go
from comity.gate.pacing import Pause
from comity.gate.refusals import refusal
from comity.net import kept
from comity.net.address import AddressGuard
from comity.net.clock import Clock
from comity.net.exchange import Exchange
from comity.net.many import Progress, arriving
from comity.net.response import Head, Response, StreamedResponse
from comity.net.sending import Sender
from comity.net.settings import SHARED, ClientSettings, checked_headers
from comity.net.transport import MOST_GONE, ConnectionGone, Room, Transport
from comity.net.turns import Turns
from comity.policy import Decision, Policy, RobotsResult, Ruling

if TYPE_CHECKING:
    from comity.net.cache import Cache

RETRIED: Final = (429, 502, 503, 504)
NO_HEADERS: Final[Mapping[str, str]] = {}
CLOSED: Final = "the client is closed; to open it again, use the client as a context manager"


class AsyncClient:
    """A polite HTTP client. Use it as an async context manager, or call `close` when you are done with it.

    It opens when it is first used. One that is closed can be opened again, by `async with`.

    Args:
        policy: what may be done; the default respects robots.txt and leaves a second between requests to one host.
        settings: how it is done: limits, time-outs, headers.
        delay: seconds between two requests to one host, instead of the policy's `min_interval`.
        clock: for tests.
    """

    def __init__(
        self,
        policy: Policy | None = None,
        settings: ClientSettings | None = None,
        *,
        delay: float | None = None,
        clock: Clock | None = None,
    ) -> None:
        check_type("policy", policy, Policy, "comity.Policy(agent='MyBot/1.0 (+URL)')")
        check_type("settings", settings, ClientSettings, "comity.ClientSettings(timeout=20)")
        self.policy = policy or Policy()
        if delay is not None:
            self.policy = self.policy.with_changes(min_interval=delay)
        self.settings = settings or ClientSettings()
        self._clock = clock or Clock()
        self._gate = Gate(self.policy, epoch=self._clock.wall() - self._clock.monotonic())
        self._turns = Turns(self._gate, self.policy, self.settings, self._clock)
        self._sender = Sender(self._gate, self._turns, self.settings, self._clock)
        self._cache: Cache | None = None
        self._closed = False

    async def __aenter__(self) -> Self:
        self._closed = False
        self._open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End every connection. Calls that come later raise RuntimeError; what was learned can still be read."""
        self._closed = True
        transport, self._turns.transport = self._turns.transport, None
        if transport is not None:
            await transport.close()
        if self._cache is not None:
            self._cache.close()
            self._cache = self._turns.cache = None

    def _open(self) -> None:
        """Make ready to send, where that is not done yet.

        Raises:
            RuntimeError: the client is closed.
        """
        if self._turns.transport is not None:
            return
        if self._closed:
            raise RuntimeError(CLOSED)
        guard = AddressGuard(self.policy.allow_addresses, self.policy.allow_hosts)
        if self.settings.cache is not None:
            from comity.net.cache import Cache

            self._cache = self._turns.cache = Cache(Path(self.settings.cache))
        self._turns.transport = Transport(self.settings, guard, self.policy.agent)

    @property
    def on_robots(self) -> Callable[[RobotsResult], None] | None:
        """Told of each robots.txt as it arrives."""
        return self._turns.on_robots

    @on_robots.setter
    def on_robots(self, listener: Callable[[RobotsResult], None] | None) -> None:
        self._turns.on_robots = listener

    @property
    def on_exchange(self) -> Callable[[Exchange], None] | None:
        """Told of each request when it is over."""
        return self._turns.on_exchange

    @on_exchange.setter
    def on_exchange(self, listener: Callable[[Exchange], None] | None) -> None:
        self._turns.on_exchange = listener

    @property
    def on_report(self) -> Callable[[str], None] | None:
        """Told of a pace (see `pace_of`) when a request that it counts was answered, or never will be."""
        return self._turns.on_report

    @on_report.setter
    def on_report(self, listener: Callable[[str], None] | None) -> None:
        self._turns.on_report = listener

    # Questions

    async def check(self, url: str) -> Decision:
        """Decide about a URL without fetching it; robots.txt is fetched if need be.

        Raises:
            InvalidURL, Postponed
        """
        url = urls.normalise(url)
        self._open()
        decision = self._gate.known(url, self._clock.monotonic())
        if decision is not None:
            return decision
        return await self._turns.decision(url)

    def check_now(self, url: str) -> Decision | None:
        """The decision if no I/O is needed for it, else None. `url` must be normalised."""
        return self._gate.known(url, self._clock.monotonic())

    def ruling_now(self, url: str) -> Ruling | None:
        """What holds for the origin of a URL, if no I/O is needed to know. `url` must be normalised."""
        return self._gate.ruling(url, self._clock.monotonic())

    def robots_until(self, url: str) -> float:
        """When the robots.txt of a normalised URL is asked for again, on the clock's monotonic time; see Gate."""
        return self._gate.robots_until(url)

    async def is_allowed(self, url: str) -> bool:
        """Whether a URL may be fetched."""
        return (await self.check(url)).may_fetch

    def crawl_delay(self, url: str) -> float | None:
        """The site's Crawl-delay for us in seconds, from what is known already: no I/O."""
        result = self._gate.results().get(urls.origin(urls.normalise(url)))
        return (
            result.robots.crawl_delay(self.policy.asked_as)
            if result is not None and result.robots is not None
            else None
        )

    def clear_cache(self) -> None:
        """Forget every robots.txt, in the cache file too.

        Raises:
            RuntimeError: the client is closed, and its cache file with it.
        """
        if self._closed or self.settings.cache is not None:
            self._open()
        self._gate.clear()
        if self._cache is not None:
            self._cache.clear()

    def inspect(self) -> Mapping[str, RobotsResult]:
        """What was learned, origin by origin."""
        return self._gate.results()

    def ready_at(self, host: str) -> float:
        """When a host may be asked next, on the clock's monotonic time."""
        return self._gate.ready_at(host)

    def pause(self, host: str) -> Pause:
        """How long a host is left alone and why; times are the clock's monotonic time."""
        return self._gate.pause(host, self._clock.monotonic())

    def pace_of(self, host: str) -> str | None:
        """The name of what shares one pace with a host; None where `find_pace` must find its address first."""
        return self._gate.pace_of(host)

    async def find_pace(self, host: str) -> None:
        """Have `pace_of` know a host."""
        self._open()
        await self._turns.find_pace(host)

    def give_up_waiting(self) -> None:
        """Cancel every task that waits for its turn; requests under way go on."""
        self._turns.give_up_waiting()

    def waits(self) -> dict[str, float]:
        """Seconds that hosts must still be left alone, for a later run to be told with `left_alone`."""
        return self._gate.waits(self._clock.monotonic())

    def wait_of(self, pace: str) -> tuple[float, float]:
        """Seconds that what has a pace (see `pace_of`) must still be left alone, and those between two requests."""
        return self._gate.wait_of(pace, self._clock.monotonic())

    def intervals(self) -> dict[str, float]:
        """Seconds between two requests, of the hosts that ask for more than the policy's own."""
        return self._gate.intervals()

    def left_alone(
        self, waits: Mapping[str, float], *, intervals: Mapping[str, float] | None = None, others: float = 0.0
    ) -> None:
        """Go on where an earlier run stopped: no host is asked before its time.

        Args:
            intervals: what `intervals` said then.
            others: seconds that hosts not met yet are left alone from now on.
        """
        self._gate.left_alone(waits, self._clock.monotonic(), intervals=intervals, others=others)

    # Requests

    async def get(
        self, url: str, *, headers: Mapping[str, str] = NO_HEADERS, params: Mapping[str, str] = NO_HEADERS
    ) -> Response:
        """GET a URL and follow redirects, each hop decided anew; failures that may pass are tried again.

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
    ) -> AsyncIterator[StreamedResponse]:
        """As `get`, but the body is read while it arrives, inside the `async with` block; failures are not tried again.

        `timeout` holds for each head. The body may take longer, but each part of it no longer than `read_timeout` or,
        where that is not set, `timeout`.
        """
        url = self._prepared(url, headers, params)
        passed: list[Head] = []
        gone = 0
        while True:
            go = await self._turns.permission(url)
            exchange = None
            if self._turns.on_exchange is not None:
                exchange = Exchange(go, "GET", url, self._clock.monotonic())
            good: bool | None = False
            failure: BaseException | None = None
            try:
                try:
                    answer, fetched_at = await self._sender.head_of(go, url, headers, exchange)
                except ConnectionGone as error:
                    if gone == MOST_GONE:
                        raise
                    gone, good, failure = gone + 1, None, error
                    continue
                try:
                    response = StreamedResponse(
                        url=url,
                        status=answer.status,
                        headers=answer.headers,
                        go=go,
                        fetched_at=fetched_at,
                        redirects=tuple(hop.url for hop in passed),
                        history=tuple(passed),
                        reason=answer.reason,
                        http_version=answer.http_version,
                        request_headers=answer.sent,
                    )
                    response._answer, response._limit = answer, self.settings.max_body
                    good = answer.status < 500
                    if response.location is None:
                        self._sender.check_type(answer)
                        yield response
                        return
                finally:
                    answer.close()
            except BaseException as error:
                failure = error
                if isinstance(error, asyncio.CancelledError | Postponed):
                    good = None
                if isinstance(error, Postponed):  # nothing was sent
                    exchange = None
                raise
            finally:
                self._sender.body_over(go)
                self._sender.over(exchange, error=failure)
                self._gate.finished(go, self._clock.monotonic(), good=good)
            url, headers = self._next_hop(response, response.location, passed, headers)

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
        self._open()
        checked_headers("headers", headers)

        async def get(url: str) -> Response:
            return await self.get(url, headers=headers)

        results = arriving(given, get, paced=self.policy.min_interval > 0)
        done = 0
        try:
            async for each in results:
                done += 1
                if progress is not None:
                    progress(done, len(given))
                yield each
        finally:
            await results.aclose()

    async def fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] = NO_HEADERS,
        redirects: tuple[str, ...] = (),
        max_body: int | None = None,
        any_type: bool = False,
        room: Room | None = None,
        credentials: bool = True,
    ) -> Response:
        """One request for a normalised URL: no redirect followed, nothing tried again; waits for its turn.

        Args:
            max_body: bytes of this body, instead of what the settings say.
            any_type: whether `content_types` does not hold for it.
            room: is told of the octets of the body as they arrive, and may have the rest wait.
            credentials: whether those that the settings have for the URL's origin are sent (`auth`).

        Raises:
            RobotsDisallowed, AddressBlocked, Postponed, FetchError and its kinds
        """
        self._open()
        return await self._try(
            method,
            url,
            headers,
            redirects,
            tries=1,
            most=max_body or 0,
            any_type=any_type,
            room=room,
            credentials=credentials,
        )

    async def _request(self, method: str, url: str, headers: Mapping[str, str], params: Mapping[str, str]) -> Response:
        url = self._prepared(url, headers, params)
        passed: list[Head] = []
        while True:
            addresses = tuple(hop.url for hop in passed)
            response = await self._try(method, url, headers, addresses, tries=1 + self.settings.max_retries)
            if response.location is None:
                response.history = tuple(passed)
                return response
            url, headers = self._next_hop(response, response.location, passed, headers)

    def _prepared(self, url: str, headers: Mapping[str, str], params: Mapping[str, str]) -> str:
        self._open()
        if headers:
            checked_headers("headers", headers)
        if params or self.settings.params:
            url, _, fragment = url.partition("#")
            added = urlencode({**self.settings.params, **params})
            url = f"{url}{'&' if '?' in url else '?'}{added}#{fragment}"
        return urls.normalise(url)

    def _next_hop(
        self, response: Head, location: str, passed: list[Head], headers: Mapping[str, str]
    ) -> tuple[str, Mapping[str, str]]:
        """Where a redirect leads; what is meant for one origin stays there."""
        url, known = response.url, [hop.url for hop in passed]
        target = urls.join(url, location)
        if target is None or target in known or target == url or len(known) >= self.settings.max_redirects:
            if target is None:
                where = f"to {location!r:.200}, which is no URL that can be fetched"
            elif target in known or target == url:
                where = f"to {target}, where it has been already"
            else:
                limit = self.settings.max_redirects
                where = f"to {target}, more than the {limit} redirects that are followed (max_redirects)"
            raise TooManyRedirects(f"{url} redirects {where}: not followed", url=url)
        passed.append(response.head_only())
        if headers and urls.origin(target) != urls.origin(url):
            headers = {name: value for name, value in headers.items() if name.lower() in SHARED}
        return target, headers

    async def _try(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        redirects: tuple[str, ...],
        tries: int,
        most: int = 0,
        any_type: bool = False,
        room: Room | None = None,
        credentials: bool = True,
    ) -> Response:
        """One call: a request, and where that may help, the same again."""
        cache = self._cache
        if cache is not None and not kept.may_be_kept(self.settings, method, url, headers):
            cache = None
        cached = None if cache is None else cache.page(url)
        if cached is not None:
            if cached.is_fresh(self._clock.wall()):
                return kept.from_cache(cached, await self._nothing_to_send(url), redirects)
            headers = {**headers, **cached.validators}
        gate, clock = self._gate, self._clock
        go: Go | None = None
        good: bool | None = None  # what the call says about its host
        gone = 0
        try:
            while True:
                tries -= 1
                go = await self._turns.permission(url)
                try:
                    response = await self._sender.send(
                        go,
                        method,
                        url,
                        headers,
                        redirects,
                        most=most,
                        any_type=any_type,
                        room=room,
                        credentials=credentials,
                    )
                except FetchError as error:
                    if isinstance(error, ConnectionGone) and gone < MOST_GONE:
                        gone += 1  # it may be sent again (RFC 9110, 9.2.2), in its turn; no try of the host failed
                        tries += 1
                        continue
                    good = isinstance(error, TooLarge | UnwantedType)
                    if good or not self._once_more(go, tries):
                        raise
                else:
                    good = response.status < 500
                    if response.status not in RETRIED or not self._once_more(go, tries):
                        return response if cache is None else kept.keep(cache, response, cached)
        except asyncio.CancelledError:
            good = None
            raise
        finally:
            if go is not None:
                gate.finished(go, clock.monotonic(), good=good)

    def _once_more(self, go: Go, tries: int) -> bool:
        """Whether a call that failed is worth another try."""
        return tries > 0 and self._gate.may_retry(go) and not self._turns.too_long(go.key)

    async def _nothing_to_send(self, url: str) -> Go:
        """A Go for what needs no request: only the verdict counts, no turn is taken."""
        ruling = self.ruling_now(url)
        if ruling is None:
            await self.check(url)
            ruling = self.ruling_now(url)
        if ruling is None or not ruling.allows(url):
            raise refusal(await self.check(url))
        return Go(url, self._gate.key(urls.host(url)), ruling, self._clock.wall())
