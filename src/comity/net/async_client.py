"""AsyncClient: every request asks the gate first, every redirect hop and every retry again.

It sends what the gate permits (turns.py) and tells it what came; it decides nothing itself.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import urlencode

from comity import urls
from comity.errors import FetchError, TooLarge, TooManyRedirects, UnwantedType, check_type
from comity.gate import Gate, Go
from comity.gate.pacing import Pause
from comity.gate.refusals import refusal
from comity.net import kept
from comity.net.address import AddressGuard
from comity.net.clock import Clock
from comity.net.exchange import Exchange
from comity.net.response import Response, StreamedResponse
from comity.net.sending import Sender
from comity.net.settings import SHARED, ClientSettings, checked_headers
from comity.net.transport import Transport
from comity.net.turns import Turns
from comity.policy import Decision, Policy, RobotsResult, Ruling

if TYPE_CHECKING:
    from comity.store import Cache

RETRIED: Final = (429, 502, 503, 504)
NO_HEADERS: Final[Mapping[str, str]] = {}


class AsyncClient:
    """A polite HTTP client. Use it as an async context manager.

    Args:
        policy: what may be done; the default respects robots.txt and leaves a second between requests to one host.
        settings: how it is done: limits, time-outs, headers.
        clock: for tests.
    """

    def __init__(
        self, policy: Policy | None = None, settings: ClientSettings | None = None, *, clock: Clock | None = None
    ) -> None:
        check_type("policy", policy, Policy, "comity.Policy(agent='MyBot/1.0 (+URL)')")
        check_type("settings", settings, ClientSettings, "comity.ClientSettings(timeout=20)")
        self.policy = policy or Policy()
        self.settings = settings or ClientSettings()
        self._clock = clock or Clock()
        self._gate = Gate(self.policy, epoch=self._clock.wall() - self._clock.monotonic())
        self._turns = Turns(self._gate, self.policy, self.settings, self._clock)
        self._sender = Sender(self._gate, self._turns, self.settings, self._clock)
        self._cache: Cache | None = None

    async def __aenter__(self) -> Self:
        guard = AddressGuard(self.policy.allow_addresses, self.policy.allow_hosts)
        if self.settings.cache is not None:
            from comity.store import Cache

            self._cache = self._turns.cache = Cache(Path(self.settings.cache))
        self._turns.transport = Transport(self.settings, guard, self.policy.agent)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        transport, self._turns.transport = self._turns.transport, None
        if transport is not None:
            await transport.close()
        if self._cache is not None:
            self._cache.close()
            self._cache = self._turns.cache = None

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
            result.robots.crawl_delay(self.policy.agent) if result is not None and result.robots is not None else None
        )

    def clear_cache(self) -> None:
        """Forget every robots.txt, in the cache file too."""
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
        await self._turns.find_pace(host)

    def give_up_waiting(self) -> None:
        """Cancel every task that waits for its turn; requests under way go on."""
        self._turns.give_up_waiting()

    def waits(self) -> dict[str, float]:
        """Seconds that hosts must still be left alone, for a later run to be told with `left_alone`."""
        return self._gate.waits(self._clock.monotonic())

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
        """As `get`, but the body is read while it arrives; failures are not tried again.

        `timeout` holds for each head; the body may take longer, `read_timeout` bounds its parts.
        """
        url = self._prepared(url, headers, params)
        passed: list[str] = []
        while True:
            go = await self._turns.permission(url)
            exchange = None
            if self._turns.on_exchange is not None:
                exchange = Exchange(go, "GET", url, self._clock.monotonic())
            good: bool | None = False
            failure: BaseException | None = None
            try:
                answer, fetched_at = await self._sender.head_of(go, url, headers, exchange)
                try:
                    response = StreamedResponse(
                        url=url,
                        status=answer.status,
                        headers=answer.headers,
                        go=go,
                        fetched_at=fetched_at,
                        redirects=tuple(passed),
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
                if isinstance(error, asyncio.CancelledError):
                    good = None
                raise
            finally:
                self._sender.over(exchange, error=failure)
                self._gate.finished(go, self._clock.monotonic(), good=good)
            url, headers = self._next_hop(url, response.location, passed, headers)

    async def retrieve(self, url: str, **options: Any) -> Any:
        """The page for a reader that is a program: as Markdown, with evidence; see `comity.retrieve.retrieve`."""
        package = import_module("comity.retrieve")  # a higher floor, which puts this client to work
        return await package.retrieve(self, url, **options)

    async def fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] = NO_HEADERS,
        redirects: tuple[str, ...] = (),
        max_body: int | None = None,
    ) -> Response:
        """One request for a normalised URL: no redirect followed, nothing tried again; waits for its turn.

        Args:
            max_body: bytes of this body, instead of what the settings say.

        Raises:
            RobotsDisallowed, AddressBlocked, Postponed, FetchError and its kinds
        """
        return await self._try(method, url, headers, redirects, tries=1, most=max_body or 0)

    async def _request(self, method: str, url: str, headers: Mapping[str, str], params: Mapping[str, str]) -> Response:
        url = self._prepared(url, headers, params)
        passed: list[str] = []
        while True:
            response = await self._try(method, url, headers, tuple(passed), tries=1 + self.settings.max_retries)
            if response.location is None:
                return response
            url, headers = self._next_hop(url, response.location, passed, headers)

    def _prepared(self, url: str, headers: Mapping[str, str], params: Mapping[str, str]) -> str:
        if headers:
            checked_headers("headers", headers)
        if params or self.settings.params:
            url, _, fragment = url.partition("#")
            added = urlencode({**self.settings.params, **params})
            url = f"{url}{'&' if '?' in url else '?'}{added}#{fragment}"
        return urls.normalise(url)

    def _next_hop(
        self, url: str, location: str, passed: list[str], headers: Mapping[str, str]
    ) -> tuple[str, Mapping[str, str]]:
        """Where a redirect leads; what is meant for one origin stays there."""
        target = urls.join(url, location)
        if target is None or target in passed or target == url or len(passed) >= self.settings.max_redirects:
            if target is None:
                where = f"to {location!r:.200}, which is no URL that can be fetched"
            elif target in passed or target == url:
                where = f"to {target}, where it has been already"
            else:
                limit = self.settings.max_redirects
                where = f"to {target}, more than the {limit} redirects that are followed (max_redirects)"
            raise TooManyRedirects(f"{url} redirects {where}: not followed", url=url)
        passed.append(url)
        if headers and urls.origin(target) != urls.origin(url):
            headers = {name: value for name, value in headers.items() if name.lower() in SHARED}
        return target, headers

    async def _try(
        self, method: str, url: str, headers: Mapping[str, str], redirects: tuple[str, ...], tries: int, most: int = 0
    ) -> Response:
        """One call: a request, and where that may help, the same again."""
        cache = self._cache
        if cache is not None and not kept.may_be_kept(self.settings, method, url, headers):
            cache = None
        cached = None if cache is None else cache.page(url)
        if cached is not None:
            if cached.fresh_until > self._clock.wall():
                return kept.from_cache(cached, await self._nothing_to_send(url), redirects)
            headers = {**headers, **cached.validators}
        gate, clock = self._gate, self._clock
        go: Go | None = None
        good: bool | None = None  # what the call says about its host
        try:
            while True:
                tries -= 1
                go = await self._turns.permission(url)
                try:
                    response = await self._sender.send(go, method, url, headers, redirects, most=most)
                except FetchError as error:
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
        return Go(url, self._gate.key(urls.host(url)), ruling)
