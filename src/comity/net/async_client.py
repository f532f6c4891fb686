"""AsyncClient: every request asks the gate first, every redirect hop and every retry again.

It drives the gate and does the I/O; it decides nothing itself.
"""

import asyncio
import random
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlencode

from comity import urls
from comity.errors import (
    FetchError,
    TooLarge,
    TooManyRedirects,
    UnwantedType,
)
from comity.gate import CircuitOpen, Closed, FetchRobots, Gate, Go, Refuse, Resolve, Step, Wait
from comity.gate.machine import BUSY
from comity.gate.refusals import error_of, no_turn, postponed, refusal
from comity.gate.retry_after import retry_after
from comity.net.address import AddressGuard
from comity.net.clock import Clock
from comity.net.deadlines import Deadlines
from comity.net.exchange import Exchange
from comity.net.response import Response, StreamedResponse
from comity.net.robots import fetch_robots
from comity.net.settings import SHARED, ClientSettings, checked_headers
from comity.net.transport import Answer, Transport, timed_out
from comity.policy import Decision, Policy, RobotsResult, Ruling
from comity.store import Cache, Page

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
        self.policy = policy or Policy()
        self.settings = settings or ClientSettings()
        self._clock = clock or Clock()
        self._gate = Gate(self.policy, epoch=self._clock.wall() - self._clock.monotonic())
        self._transport: Transport | None = None
        self._cache: Cache | None = None
        self._reports: dict[str, asyncio.Event] = {}
        self._lines: dict[str, _Line] = {}  # who waits for a host waits in line
        self.on_robots: Callable[[RobotsResult], None] | None = None  # told of each robots.txt as it arrives
        self.on_exchange: Callable[[Exchange], None] | None = None  # told of each request when it is over

    async def __aenter__(self) -> Self:
        guard = AddressGuard(self.policy.allow_addresses, self.policy.allow_hosts)
        if self.settings.cache is not None:
            self._cache = Cache(Path(self.settings.cache))
        self._transport = Transport(self.settings, guard, self.policy.agent)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._transport is not None:
            await self._transport.close()
            self._transport = None
        if self._cache is not None:
            self._cache.close()
            self._cache = None

    @property
    def _sending(self) -> Transport:
        if self._transport is None:
            raise RuntimeError("the client is not open: async with comity.AsyncClient(...) as client")
        return self._transport

    def _deadlines(self, go: Go) -> Deadlines:
        """The time-outs of the open client; a permission that comes when it is closed is given back."""
        if self._transport is None:
            self._gate.withdrawn(go)
            self._report(go.key)
        return self._sending.deadlines

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
        limit = self._limit()
        while True:
            step = self._gate.consult(url, self._clock.monotonic())
            if isinstance(step, Decision):
                return step
            await self._take(step, url, limit)

    def check_now(self, url: str) -> Decision | None:
        """The decision if no I/O is needed for it, else None. `url` must be normalised."""
        return self._gate.known(url, self._clock.monotonic())

    def ruling_now(self, url: str) -> Ruling | None:
        """What holds for the origin of a URL, if no I/O is needed to know. `url` must be normalised."""
        return self._gate.ruling(url, self._clock.monotonic())

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

    def waits(self) -> dict[str, float]:
        """Seconds that hosts must still be left alone, for a later run to be told with `left_alone`."""
        return self._gate.waits(self._clock.monotonic())

    def left_alone(self, waits: Mapping[str, float]) -> None:
        """Go on where an earlier run stopped: no host is asked before its time."""
        self._gate.left_alone(waits, self._clock.monotonic())

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
            go = await self._permission(url)
            exchange = None
            if self.on_exchange is not None:
                exchange = Exchange(go, "GET", url, self._clock.monotonic())
            good: bool | None = False
            failure: BaseException | None = None
            try:
                answer, fetched_at = await self._head_of(go, url, headers, exchange)
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
                        self._check_type(answer)
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
                self._over(exchange, error=failure)
                self._gate.finished(go, self._clock.monotonic(), good=good)
            url, headers = self._next_hop(url, response.location, passed, headers)

    async def _head_of(
        self, go: Go, url: str, headers: Mapping[str, str], exchange: Exchange | None
    ) -> tuple[Answer, float]:
        """The head of a stream, in time."""
        try:
            with self._deadlines(go).within(self.settings.timeout):
                return await self._open(go, "GET", url, headers, exchange)
        except TimeoutError:
            self._gate.timed_out(go, self._clock.monotonic())
            raise timed_out(url, self.settings.timeout) from None

    async def retrieve(self, url: str, **options: Any) -> Any:
        """The page for a reader that is a program: as Markdown, with evidence; see `comity.retrieve.retrieve`."""
        package = import_module("comity.retrieve")  # a higher floor, which puts this client to work
        return await package.retrieve(self, url, **options)

    async def fetch(
        self, url: str, *, method: str = "GET", headers: Mapping[str, str] = NO_HEADERS, redirects: tuple[str, ...] = ()
    ) -> Response:
        """One request for a normalised URL: no redirect followed, nothing tried again; waits for its turn.

        Raises:
            RobotsDisallowed, AddressBlocked, Postponed, FetchError and its kinds
        """
        return await self._try(method, url, headers, redirects, tries=1)

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
            where = f"to {location!r:.200}" if target is None else f"after {len(passed)} hops, to {target}"
            raise TooManyRedirects(f"{url} redirects {where}: not followed", url=url)
        passed.append(url)
        if headers and urls.origin(target) != urls.origin(url):
            headers = {name: value for name, value in headers.items() if name.lower() in SHARED}
        return target, headers

    async def _try(
        self, method: str, url: str, headers: Mapping[str, str], redirects: tuple[str, ...], *, tries: int
    ) -> Response:
        """One call: a request, and where that may help, the same again."""
        keeps = self._cache is not None and self._keeps(method, url, headers)
        cached = self._cache.page(url) if keeps and self._cache is not None else None
        if cached is not None:
            if cached.fresh_until > self._clock.wall():
                return _from_cache(cached, await self._nothing_to_send(url), redirects)
            headers = {**headers, **cached.validators}
        gate, clock = self._gate, self._clock
        go: Go | None = None
        good: bool | None = None  # what the call says about its host
        try:
            while True:
                tries -= 1
                go = await self._permission(url)
                try:
                    response = await self._send(go, method, url, headers, redirects)
                except FetchError as error:
                    good = isinstance(error, TooLarge | UnwantedType)
                    if good or not self._once_more(go, tries):
                        raise
                else:
                    good = response.status < 500
                    if response.status not in RETRIED or not self._once_more(go, tries):
                        return self._kept(response, cached, keeps=keeps)
        except asyncio.CancelledError:
            good = None
            raise
        finally:
            if go is not None:
                gate.finished(go, clock.monotonic(), good=good)

    def _once_more(self, go: Go, tries: int) -> bool:
        """Whether a call that failed is worth another try."""
        return tries > 0 and self._gate.may_retry(go) and not self._too_long(go.key)

    async def _nothing_to_send(self, url: str) -> Go:
        """A Go for what needs no request: only the verdict counts, no turn is taken."""
        ruling = self.ruling_now(url)
        if ruling is None:
            await self.check(url)
            ruling = self.ruling_now(url)
        if ruling is None or not ruling.allows(url):
            raise refusal(await self.check(url))
        return Go(url, self._gate.key(urls.host(url)), ruling)

    async def _send(
        self, go: Go, method: str, url: str, headers: Mapping[str, str], redirects: tuple[str, ...]
    ) -> Response:
        settings = self.settings
        sent = self._clock.monotonic()
        exchange = None if self.on_exchange is None else Exchange(go, method, url, sent)
        try:
            with self._deadlines(go).within(settings.timeout):
                answer, fetched_at = await self._open(go, method, url, headers, exchange)
                try:
                    self._check_type(answer)
                    body = b"" if method == "HEAD" else await answer.read(settings.max_body)
                except BaseException:
                    answer.close()
                    raise
        except TimeoutError:
            self._gate.timed_out(go, self._clock.monotonic())
            late = timed_out(url, settings.timeout)
            self._over(exchange, error=late)
            raise late from None
        except BaseException as error:
            self._over(exchange, error=error)
            raise
        if exchange is not None:
            self._over(exchange, body=body)
        return Response(
            url=url,
            status=answer.status,
            headers=answer.headers,
            go=go,
            fetched_at=fetched_at,
            redirects=redirects,
            reason=answer.reason,
            http_version=answer.http_version,
            request_headers=answer.sent,
            body=body,
            elapsed=self._clock.monotonic() - sent,
        )

    async def _open(
        self, go: Go, method: str, url: str, headers: Mapping[str, str], exchange: Exchange | None
    ) -> tuple[Answer, float]:
        """Send a request that was permitted, and tell the gate when the head of its answer is there, or never."""
        transport, clock = self._sending, self._clock
        if self.settings.auth and (pair := self.settings.auth.get(urls.origin(url))):
            headers = {"Authorization": _basic(*pair), **headers}
        try:
            if self.settings.head_timeout is None:
                answer = await transport.open(method, url, headers=headers or None)
            else:
                try:
                    with transport.deadlines.within(self.settings.head_timeout):
                        answer = await transport.open(method, url, headers=headers or None)
                except TimeoutError:
                    raise timed_out(url, self.settings.head_timeout) from None
        except asyncio.CancelledError:  # by the caller, or by a time-out, which is told apart further up
            if exchange is not None:
                exchange.lost(clock.monotonic())
            self._gate.abandoned(go, clock.monotonic())
            self._report(go.key)
            raise
        except BaseException:
            if exchange is not None:
                exchange.lost(clock.monotonic())
            self._gate.answered(go, clock.monotonic(), jitter=self._jitter())
            self._report(go.key)
            raise
        wall = clock.wall()
        if exchange is not None:
            exchange.heard(answer.status, clock.monotonic())
        if answer.status == 429 or answer.status >= 500:
            later = retry_after(answer.headers.get("Retry-After"), wall)
            if exchange is not None and answer.status in BUSY:
                exchange.retry_after = later
            self._gate.answered(go, clock.monotonic(), status=answer.status, retry_after=later, jitter=self._jitter())
        else:
            self._gate.answered(go, clock.monotonic(), status=answer.status)
        self._report(go.key)
        return answer, wall

    def _over(
        self, exchange: Exchange | None, *, body: bytes | None = None, error: BaseException | None = None
    ) -> None:
        """Tell who listens of a request that is over."""
        if exchange is not None and self.on_exchange is not None:
            exchange.over(self._clock.monotonic(), body=body, error=error)
            self.on_exchange(exchange)

    def _jitter(self) -> float:
        return random.random() if self.settings.jitter else 1.0

    def _check_type(self, answer: Answer) -> None:
        wanted = self.settings.content_types
        if not wanted or not 200 <= answer.status < 300:
            return
        kind = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind not in wanted and f"{kind.partition('/')[0]}/*" not in wanted:
            raise UnwantedType(
                f"{answer.url} is {kind or 'of no content type'}, which is not wanted (content_types)", url=answer.url
            )

    # Turns

    async def _permission(self, url: str) -> Go:
        """A Go for a URL, when its turn has come. Who waits for a host waits in line; refusals do not wait."""
        self._sending  # noqa: B018 - before the gate is asked
        if not self._lines or self._gate.key(urls.host(url)) not in self._lines:
            step = self._gate.ask(url, self._clock.monotonic())
            if isinstance(step, Go):
                return step
            limit = self._limit()
            while isinstance(step, FetchRobots | Resolve):
                await self._take(step, url, limit)
                step = self._gate.ask(url, self._clock.monotonic())
            if not isinstance(step, Wait):
                return self._granted(url, step)
        else:
            limit = self._limit()
            known = self._gate.known(url, self._clock.monotonic())
            if known is not None and not known.may_fetch:
                raise refusal(known)
        return await self._in_line(url, limit)

    async def _in_line(self, url: str, limit: float | None) -> Go:
        key = self._gate.key(urls.host(url))
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = _Line()
        line.people += 1
        try:
            async with line.turn:
                while True:
                    step = self._gate.ask(url, self._clock.monotonic())
                    if not isinstance(step, FetchRobots | Resolve | Wait):
                        return self._granted(url, step)
                    await self._take(step, url, limit)
        finally:
            line.people -= 1
            if not line.people:
                del self._lines[key]

    def _granted(self, url: str, step: Step) -> Go:
        """The Go, or the error that says why there is none."""
        match step:
            case Go():
                return step
            case Refuse() | Closed() | CircuitOpen():
                raise error_of(step, url, self._clock.monotonic())
        raise AssertionError(step)

    async def _take(self, step: Resolve | FetchRobots | Wait, url: str, limit: float | None) -> None:
        match step:
            case FetchRobots():
                await self._fetch_robots(step, limit)
            case Resolve():
                self._gate.resolved(step.host, await self._address_of(step.host))
            case Wait(until=None):
                await self._next_report(step.key, url, limit)
            case Wait(until=float() as until):
                if limit is not None and until > limit:
                    raise postponed(url, until - self._clock.monotonic())
                await self._clock.sleep(max(until - self._clock.monotonic(), 0.0))

    async def _address_of(self, host: str) -> str:
        try:
            with self._sending.deadlines.within(self.settings.timeout):
                return await self._sending.address_of(host)
        except TimeoutError:
            return host  # a pace of its own

    async def _next_report(self, key: str, url: str, limit: float | None) -> None:
        """Until something is reported about a host."""
        event = self._reports.setdefault(key, asyncio.Event())
        if limit is None:
            await event.wait()
            return
        left = limit - self._clock.monotonic()
        try:
            async with asyncio.timeout(max(left, 0.0)):
                await event.wait()
        except TimeoutError:
            raise no_turn(url, self.settings.max_wait or 0.0) from None

    def _limit(self) -> float | None:
        """Until when this call may wait."""
        return None if self.settings.max_wait is None else self._clock.monotonic() + self.settings.max_wait

    def _too_long(self, key: str) -> bool:
        """Whether trying again would mean a longer wait than the settings allow."""
        limit = self._limit()
        return limit is not None and self._gate.ready_at(key) > limit

    def _report(self, key: str) -> None:
        event = self._reports.pop(key, None) if self._reports else None
        if event is not None:
            event.set()

    # robots.txt

    async def _fetch_robots(self, step: FetchRobots, limit: float | None) -> None:
        clock, gate = self._clock, self._gate
        key = gate.key(urls.host(step.url))
        kept = None if self._cache is None else self._cache.robots(step.origin, self.policy)
        if kept is not None and kept.fetched_at <= clock.wall() < kept.expires_at:
            gate.robots_withdrawn(step)
            gate.robots_known(kept, clock.monotonic(), age=clock.wall() - kept.fetched_at)
            self._report(key)
            self._tell(kept)
            return
        if kept is not None and step.cached is None:
            step = replace(step, cached=kept)
            gate.robots_held(kept)
        asked = [step.url]  # what was asked so far, the last of it is under way
        try:
            answer = await fetch_robots(
                step,
                self._sending,
                self.policy,
                self.settings,
                clock,
                turn=partial(self._hop, step, asked, limit),
                on_exchange=self.on_exchange,
            )
        except BaseException:
            gate.robots_abandoned(step, clock.monotonic())
            raise
        else:
            gate.epoch = clock.wall() - clock.monotonic()
            in_force = gate.robots_arrived(answer, clock.monotonic())
        finally:
            for url in (step.url, asked[-1]):
                self._report(gate.key(urls.host(url)))
        if self._cache is not None:
            self._cache.keep_robots(in_force)
        self._tell(in_force)

    async def _hop(self, step: FetchRobots, asked: list[str], limit: float | None, url: str) -> FetchRobots:
        """Wait for the turn of the host that a robots.txt redirects to."""
        while isinstance(hop := self._gate.robots_redirected(step, url, self._clock.monotonic()), Wait):
            self._report(self._gate.key(urls.host(asked[-1])))
            await self._take(hop, url, limit)
        self._report(self._gate.key(urls.host(asked[-1])))
        asked.append(url)
        return hop

    def _tell(self, result: RobotsResult) -> None:
        if self.on_robots is not None:
            self.on_robots(result)

    # Pages kept from earlier

    def _keeps(self, method: str, url: str, headers: Mapping[str, str]) -> bool:
        """Whether the answer to such a request may be shared: what is meant for one caller may not."""
        personal = headers or urls.origin(url) in self.settings.auth
        return self.settings.cache_pages and method == "GET" and not personal

    def _kept(self, response: Response, cached: Page | None, *, keeps: bool) -> Response:
        """The response, remembered for the next time; the page kept from earlier where the server confirmed it."""
        if self._cache is None or not keeps:
            return response
        if response.status == 304 and cached is not None:
            page = cached.renewed(response.headers, response.fetched_at)
            self._cache.keep_page(page)
            return replace(
                response,
                status=page.status,
                headers=page.header_map(),
                body=page.body,
                from_cache=True,
                reason="",
                http_version="1.1",
                request_headers={},
            )
        page_or_none = Page.from_response(
            response.url, response.status, response.all_headers, response.body, response.fetched_at
        )
        if page_or_none is not None:
            self._cache.keep_page(page_or_none)
        return response


def _basic(name: str, password: str) -> str:
    """RFC 7617."""
    return "Basic " + b64encode(f"{name}:{password}".encode()).decode("ascii")


class _Line:
    """Callers that wait for one host, first come first served."""

    __slots__ = ("people", "turn")

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.people = 0


def _from_cache(page: Page, go: Go, redirects: tuple[str, ...]) -> Response:
    return Response(
        url=page.url,
        status=page.status,
        headers=page.header_map(),
        go=go,
        fetched_at=page.fetched_at,
        redirects=redirects,
        body=page.body,
        elapsed=0.0,
        from_cache=True,
    )
