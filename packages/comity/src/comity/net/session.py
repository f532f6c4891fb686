"""Session: driver, connections and cache of one policy, for the clients and the crawler.

It sends what the driver permits, in time, and tells driver and listeners what came of it. It follows no redirect.
"""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, TypedDict, Unpack

from comity import errors
from comity.gate import FetchRobots, Go
from comity.gate.machine import End
from comity.gate.steps import Body, refusal
from comity.http_rules import MAX_STALE_RETRIES, RETRIED
from comity.net.address import AddressGuard
from comity.net.async_driver import AsyncDriver
from comity.net.client_settings import TIMEOUT_SECONDS, ClientSettings
from comity.net.clock import Clock
from comity.net.deadlines import Deadline
from comity.net.request_record import RequestRecord
from comity.net.response import Response, Stream
from comity.net.transport import BodyBudget, BodyReader, Transport
from comity.net.turns import Hooks, Relay
from comity.policy import Decision, OriginPolicy, Policy, RobotsResult
from comity_pages.urls import Url, normalise

if TYPE_CHECKING:
    from comity.net.http_cache import HttpCache

ROBOTS_COST_BYTES: Final = 16 * 1024  # bytes that take as long to unpack as a robots.txt takes to be taken up


class ClientClosed(errors.ComityError, RuntimeError):
    """Nothing is sent any more."""

    def __init__(self, message: str = "the client is closed; to open it again, use the client as a context manager"):
        super().__init__(message)


class RequestOptions(TypedDict, total=False):
    """How one request is sent.

    Attributes:
        tries: how often it is sent at most; 1 where nothing is said.
        max_body: bytes of this body, instead of what the settings say.
        any_type: whether `content_types` does not hold for it.
        budget: counts the octets of the body as they arrive, and may have the rest wait.
        credentials: whether those that the settings have for the URL's origin are sent (`auth`); they are by default.
    """

    tries: int
    max_body: int | None
    any_type: bool
    budget: BodyBudget | None
    credentials: bool


class Session:
    """Opens when it is first used; one that is closed can be opened again, by `async with`.

    Args:
        pace_with: another on the same event loop, with which it keeps one pace to each host. The robots.txt files that
            each knows, its connections and its listeners are its own.

    Attributes:
        driver: waits for turns and asks the gate.
        on_robots, on_request: as of Hooks.
    """

    def __init__(
        self,
        policy: Policy,
        settings: ClientSettings,
        *,
        clock: Clock | None = None,
        pace_with: "Session | None" = None,
        hooks: Hooks | None = None,
    ) -> None:
        self.policy = policy
        self.settings = settings
        self._hooks = hooks = hooks or Hooks()
        self.on_robots = hooks.on_robots
        self.on_request = hooks.on_request
        self.clock = clock or Clock()
        self.driver: AsyncDriver = AsyncDriver(
            policy,
            settings.max_wait,
            self.clock,
            None if pace_with is None else pace_with.driver,
            replace(hooks, cached_robots=self._cached_robots, on_robots=self._robots_in_force),
            jitter=settings.jitter,
            robots_timeout=settings.robots_timeout or settings.timeout or TIMEOUT_SECONDS,
        )
        self._transport: Transport | None = None
        self._cache: HttpCache | None = None
        self._closed = False

    async def __aenter__(self) -> Self:
        self._closed = False
        self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End every connection, and every call, those that wait for a turn too. These and calls that come later raise
        RuntimeError; what was learned can still be read.
        """
        self._closed = True
        self.driver.give_up_waiting(ClientClosed)
        transport, self._transport = self._transport, None
        if transport is not None and transport.loop is asyncio.get_running_loop():
            await transport.close()
        elif transport is not None:
            transport.abandon()
        if self._cache is not None:
            self._cache.close()
            self._cache = None

    def open(self) -> Transport:
        """Make ready to send, where that is not done yet. What was learned goes along from one event loop to the next,
        connections do not.

        Raises:
            RuntimeError: it is closed, or another event loop uses it.
        """
        transport, loop = self._transport, asyncio.get_running_loop()
        if transport is not None and transport.loop is not loop:
            if transport.loop.is_running():
                raise RuntimeError("another event loop uses the client: open one in each, or use comity.Client")
            transport.abandon()
            self._transport = None
        if self._transport is None:
            if self._closed:
                raise ClientClosed
            guard = AddressGuard(self.policy.allow_addresses, self.policy.allow_hosts)
            self._open_cache()
            self._transport = Transport(self.settings, guard, self.policy, self._hooks.may_send)
            look_up, placed = self._transport.address_of, self._hooks.address_of
            self.driver.address_of = look_up if placed is None else partial(placed, look_up)
        return self._transport

    def _open_cache(self) -> None:
        if self._cache is None and self.settings.cache is not None:
            from comity.net.http_cache import HttpCache, access_of

            self._cache = HttpCache(Path(self.settings.cache), access_of(self.policy, self.settings))

    # Questions

    async def check(self, url: str) -> Decision:
        """Decide about a URL without fetching it; robots.txt is fetched if need be. Raises Postponed."""
        if self._transport is None:
            self.open()
        text = normalise(url)  # which is made faster than a Url, and most answers are at hand
        if (known := self.driver.known(text)) is not None:
            return known
        self.open()
        return await self.driver.decision(Url(text), self.get_robots)

    def origin_policy(self, url: str) -> OriginPolicy | None:
        """Return what holds for the origin of a URL, if no I/O is needed to know."""
        return self.driver.gate.origin_policy(url, self.clock.monotonic())

    def clear_robots(self) -> None:
        """Forget every robots.txt, in the cache file too.

        Raises:
            RuntimeError: it is closed, and its cache file with it.
        """
        if self._closed:
            raise ClientClosed
        self._open_cache()
        self.driver.gate.robots.clear()
        if self._cache is not None:
            self._cache.clear()

    # Requests

    async def fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        **options: Unpack[RequestOptions],
    ) -> Response:
        """Send one request for a URL when its turn has come, and where that may help, the same again.

        Raises:
            RobotsDisallowed, AddressBlocked, Postponed, FetchError and its kinds
        """
        self.open()
        url, cache, cached = Url(url), self._cache, None
        if cache is not None:
            from comity.net.http_cache import conditions, is_fresh

            personal = headers or self.settings.credentials(url.origin)  # what is meant for one caller
            if not self.settings.cache_pages or method != "GET" or personal:
                cache = None
            elif (cached := cache.page(url)) is not None:
                if is_fresh(cached, self.clock.wall()):
                    cached.go = await self._permit_cached(url)
                    return cached
                headers = conditions(cached)
        to_come: Body | None = None if method == "HEAD" else "read"
        reader = await self._exchange(url, method, headers, to_come, **options)
        return reader.response if cache is None else cache.keep(reader.response, cached)

    @asynccontextmanager
    async def stream(
        self, url: str, *, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[Stream[AsyncIterator[bytes]]]:
        """Send one request for a URL, whose body is read while it arrives, inside the block."""
        self.open()
        reader = await self._exchange(Url(url), "GET", headers, "streamed")
        go = reader.response.go
        assert go is not None
        try:
            with closing(reader):
                yield Stream(reader.response, reader.chunks)
            self._finish_record(reader.record)
        except BaseException as error:
            self._finish_record(reader.record, error=error)
            ours = isinstance(error, errors.FetchError | asyncio.CancelledError)  # what the block raises is no failure
            self.driver.finished(go, _end_of(error) if ours else "done")
            raise
        self.driver.finished(go)

    async def _exchange(
        self,
        url: Url,
        method: str,
        headers: Mapping[str, str] | None,
        to_come: Body | None,
        *,
        tries: int = 1,
        max_body: int | None = None,
        any_type: bool = False,
        budget: BodyBudget | None = None,
        credentials: bool = True,
    ) -> BodyReader:
        """Send a request in its turn, and where that may help, again.

        Args:
            to_come: how the body is read: here, or `streamed`, by the caller, who then says that the request is over.
        """
        settings, streamed, stale = self.settings, to_come == "streamed", 0
        if credentials and (settings.auth or settings.licences or settings.origin_headers):
            headers = {**settings.credentials(url.origin), **(headers or {})}
        while True:
            tries -= 1
            go = await self.driver.permission(url, self.get_robots)
            sent, record = self.clock.monotonic(), self.on_request and self._record(go, method, url)
            digest = None if record is None or streamed else hashlib.sha256()
            try:
                transport = self._transport or self.open()  # closed while it waited: open says so
                # While a budget has the rest of a body wait, the time-out stands still.
                with Deadline(settings.most_seconds, url):
                    reader = await transport.open(
                        method, url, headers=headers or None, streamed=streamed, timeout=settings.head_timeout
                    )
                    response, reader.record = reader.response, record
                    response.go, response.fetched_at = go, (wall := self.clock.wall())
                    if record is not None:
                        record.headers_received(response.status, response.headers, self.clock.monotonic(), wall)
                    self.driver.headers_received(go, response.status, response.headers, body=to_come)
                    try:
                        if settings.content_types and not any_type:
                            reader.require_type(settings.content_types)
                        if to_come == "read":
                            await reader.read(max_body or settings.max_body, budget=budget, digest=digest)
                        elif not streamed:
                            response.body = b""
                        response.elapsed = self.clock.monotonic() - sent
                    except BaseException:
                        reader.close()
                        raise
                signing = transport.signing
                once_more = signing is not None and signing.asked(url, response.status, response.headers)
                if streamed and not once_more:
                    return reader
                if record is not None:
                    response._sha256 = None if digest is None else digest.hexdigest()
                    self._finish_record(record, body=None if streamed else response.body, sha256=response._sha256)
            except BaseException as failed:
                error = self._as_closed(failed)
                self._finish_record(record, error=error)
                # The connection that was kept for it had ended (RFC 9110, 9.2.2): no try of the host failed.
                once_more = isinstance(error, errors.StaleConnection) and stale < MAX_STALE_RETRIES
                end: End = "abandoned" if once_more else _end_of(error)
                again = self.driver.finished(go, end, may_repeat=tries > 0 and end in ("failed", "timed_out"))
                stale, tries = stale + once_more, tries + once_more
                if again or once_more:
                    continue
                if error is not failed:
                    raise error from None
                raise
            if once_more:  # signed this time
                reader.close()
                self.driver.finished(go)
                tries += 1
            elif not self.driver.finished(go, may_repeat=tries > 0 and response.status in RETRIED):
                return reader

    async def _permit_cached(self, url: Url) -> Go:
        """Return a Go for what needs no request: only the verdict counts, no turn is taken."""
        decision = await self.check(url)
        origin_policy = self.origin_policy(url)
        if origin_policy is None or not decision.may_fetch:
            raise refusal(decision)
        return Go(url, self.driver.gate.pace_of(url.host) or url.host, origin_policy, self.clock.wall())

    def _record(self, cause: Go | FetchRobots, method: str, url: str) -> RequestRecord | None:
        if self.on_request is None:
            return None
        record = RequestRecord(cause, method, url, self.clock.monotonic())
        if self._transport is not None and (signing := self._transport.signing) is not None:
            record.signed = signing.keyid(url, time.time())
        return record

    def _finish_record(
        self,
        record: RequestRecord | None,
        *,
        body: bytes | None = None,
        sha256: str | None = None,
        error: BaseException | None = None,
    ) -> None:
        """Tell who listens of a request that is over, once; not of one that was never sent."""
        if record is None or record.end or self.on_request is None:
            return
        if error is None or not isinstance(error, errors.Postponed | ClientClosed):
            record.finished(self.clock.monotonic(), body=body, sha256=sha256, error=error)
            self.on_request(record)

    def _as_closed(self, failed: BaseException) -> BaseException:
        """Return what a request that failed means: where the connections were ended by `close`, the site is not to
        blame."""
        return ClientClosed() if self._closed and isinstance(failed, errors.FetchError) else failed

    # robots.txt

    def _cached_robots(self, step: FetchRobots) -> FetchRobots | None:
        """Return what is left of a step when the cache was looked into; None: what is kept there is in force."""
        if self._cache is None or self.settings.credentials(step.origin):  # what credentials open is for us alone
            return step
        kept = self._cache.robots(step.origin, self.policy)
        if kept is None:
            return step
        age = self.clock.wall() - kept.fetched_at
        asked = self.driver.gate.robots_at_hand(step, kept, self.clock.monotonic(), age=age)
        if asked is None and self.on_robots is not None:
            self.on_robots(kept)
        return asked

    async def get_robots(self, step: FetchRobots, headers: dict[str, str]) -> Response:
        """Send a request for a robots.txt. It goes around the gate's rules (no recursion), never around the guard."""
        record = self._record(step, "GET", step.url)
        if step.url.origin == step.origin:  # not where it redirects to
            headers = {**self.settings.credentials(step.origin), **headers}
        try:
            transport = self.open()
            reader = await transport.open("GET", step.url, headers=headers or None)
            if record is not None:
                head = reader.response
                record.headers_received(head.status, head.headers, self.clock.monotonic(), self.clock.wall())
            response = await reader.read(self.settings.max_robots_body, truncate=True)
            await transport.slices.take(len(response.body) + ROBOTS_COST_BYTES)
        except BaseException as failed:
            error = self._as_closed(failed)
            self._finish_record(record, error=error)
            if error is not failed:  # nothing is learned of the site
                raise error from None
            raise
        self._finish_record(record, body=response.body)
        return response

    async def relayed_robots(self, asked: Relay) -> Response | Exception:
        """Return what a host of ours answers that another session is redirected to for a robots.txt; an error: nothing.

        Raises:
            Postponed
        """
        self.open()
        return await self.driver.relayed(asked, self.get_robots)

    def _robots_in_force(self, result: RobotsResult) -> None:
        if self._cache is not None and not self.settings.credentials(result.origin):
            self._cache.keep_robots(result)
        if self.on_robots is not None:
            self.on_robots(result)


def _end_of(error: BaseException) -> End:
    """Return how a request ended that raised an error."""
    if isinstance(error, errors.TooLarge | errors.UnwantedType):
        return "done"
    if isinstance(error, errors.Timeout):
        return "timed_out"
    if isinstance(error, errors.FetchError):
        return "failed"
    return "withdrawn" if isinstance(error, errors.Postponed | errors.AddressBlocked | ClientClosed) else "abandoned"
