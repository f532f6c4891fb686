"""The connections of one client: which addresses they lead to, how many there are, and whether an answer came whole.

Every socket passes the address guard at the moment of connecting, except those to a proxy, which the operator named.
What is sent over them, and when, is not known here.
A shortage on our side (file descriptors, ports) is waited for: it is no site's fault.
"""

import asyncio
import contextvars
import errno
import os
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError

from comity.errors import SHORTAGES, FetchError, Postponed
from comity.net.address import AddressGuard
from comity.net.client_settings import ClientSettings
from comity.net.deadlines import deadlines_paused
from comity.net.loop_slices import LoopSlices
from comity_pages.urls import Url

if TYPE_CHECKING:
    from aiohttp.client_reqrep import ConnectionKey
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace

MAX_LINE_BYTES: Final = 100 * 1024  # octets of a status line or header: as curl has it; a policy can be of 20,000
MIN_IDLE_SECONDS: Final = 30.0  # seconds that a connection is kept for the next request: at least, and
MAX_IDLE_SECONDS: Final = 75.0  # at most, where the policy's interval is long: most servers close it by then
RESERVED_DESCRIPTORS: Final = 256  # descriptors left to everything else: files, databases, lookups, a browser
MAX_CONNECTS_PER_TURN: Final = 8  # connections in one turn of the loop
MAX_HEADS_WAITING: Final = 64  # of answers, interim ones too, that were not read yet: one request is under way
MAX_PAUSE_SECONDS: Final = 1.0  # seconds until a connection is tried again after a shortage


class Attempt:
    """What became of the connection for one request; the task that sends the request sets it.

    Attributes:
        refusal: why the address guard refused an address, and what allows it.
        fresh: whether a connection was made for it; else it goes over one that was used before.
        reserved: whether it counts as a socket that is about to be opened.
        shortage: what our side lacked.
        address: the IP address of the server; None where a proxy stands between.
        plain: whether an IPv4 address was tried: what has no IPv6 gives EADDRNOTAVAIL for every IPv6 address.
    """

    __slots__ = ("address", "fresh", "plain", "refusal", "reserved", "shortage", "url")

    def __init__(self, url: Url) -> None:
        self.url = url
        self.refusal: str | None = None
        self.address: str | None = None
        self.fresh = self.reserved = self.plain = False
        self.shortage: OSError | None = None


ATTEMPT: contextvars.ContextVar[Attempt] = contextvars.ContextVar("ATTEMPT")


class _Open:
    """The sockets of all clients of this process that are open."""

    def __init__(self) -> None:
        self.count = 0
        self._lock = threading.Lock()

    def add(self, number: int) -> None:
        with self._lock:
            self.count += number


OPEN: Final = _Open()


class _Socket(socket.socket):
    """Counted from the first connection to the last octet; an event loop closes or detaches it."""

    def __init__(self, family: int, kind: int, protocol: int) -> None:
        super().__init__(family, kind, protocol)
        OPEN.add(1)

    def close(self) -> None:
        if self.fileno() >= 0:
            OPEN.add(-1)
        super().close()

    def detach(self) -> int:
        if self.fileno() >= 0:
            OPEN.add(-1)
        return super().detach()


def most_sockets() -> int:
    """Return how many sockets all clients of this process may have open: its limit on open files (`ulimit -n`), less
    what everything else needs."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return 1 << 16
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 1 << 16 if most == resource.RLIM_INFINITY else max(most - min(most // 2, RESERVED_DESCRIPTORS), 1)


class Connections(aiohttp.TCPConnector):
    """Make it inside the event loop that uses it.

    Args:
        guard: None where every connection leads to the proxy.
        may_send: asked when a connection is there, right before a request goes out; where it says no, none does.
        interval: seconds between two requests to a host. For twice as long a connection is kept, within bounds, or the
            next request would need a new one.
    """

    def __init__(
        self,
        settings: ClientSettings,
        guard: AddressGuard | None,
        names: AbstractResolver,
        may_send: Callable[[], bool] | None,
        *,
        interval: float = 0.0,
    ) -> None:
        self._may_send = may_send
        self._most = most_sockets()
        super().__init__(
            limit=min(settings.connections, self._most),
            resolver=names,
            use_dns_cache=False,
            socket_factory=self._socket,
            ssl=_tls(settings),
            keepalive_timeout=min(max(2 * interval, MIN_IDLE_SECONDS), MAX_IDLE_SECONDS),
        )
        self._guard = guard
        self._turns = LoopSlices(MAX_CONNECTS_PER_TURN)
        self._patience = settings.max_wait
        self._reserved = 0  # sockets that are about to be opened
        self._factory = partial(_Protocol, loop=asyncio.get_running_loop())  # type: ignore[assignment]

    def _socket(self, info: tuple[Any, ...]) -> socket.socket:
        family, kind, protocol, _, address = info
        attempt = ATTEMPT.get()
        if self._guard is not None:
            refusal = self._guard.refusal(address[0], attempt.url.host if self._guard.has_names else "")
            if refusal is not None:
                attempt.refusal = refusal
                raise OSError(f"connections to {address[0]} are blocked: {refusal}")
        self._release_reserved(attempt)
        attempt.plain = attempt.plain or family == socket.AF_INET
        try:
            return _Socket(family, kind, protocol)
        except OSError as error:
            if error.errno in SHORTAGES:
                attempt.shortage = error
            raise

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list["Trace"], timeout: aiohttp.ClientTimeout
    ) -> "Connection":
        connection = await super().connect(req, traces, timeout)
        if self._may_send is not None and not self._may_send():  # asked last: to connect may have taken long
            connection.close()
            url = ATTEMPT.get().url
            raise Postponed.at(url, "its host now belongs to another process", seconds=1.0)
        if req.proxy is None and connection.transport is not None:
            peer = connection.transport.get_extra_info("peername")
            ATTEMPT.get().address = peer[0] if peer else None
        return connection

    async def _wait_for_available_connection(self, key: "ConnectionKey", traces: list["Trace"]) -> None:
        with deadlines_paused():  # until others are done: no fault of this request's host
            await super()._wait_for_available_connection(key, traces)

    async def _create_connection(
        self, req: aiohttp.ClientRequest, traces: list["Trace"], timeout: aiohttp.ClientTimeout
    ) -> ResponseHandler:
        attempt = ATTEMPT.get()
        attempt.fresh = True
        await self._turns.take(1)
        pause, waited = 0.01, 0.0
        while True:
            if OPEN.count + self._reserved < self._most:
                attempt.shortage = None
                attempt.reserved = True
                self._reserved += 1
                try:
                    return await super()._create_connection(req, traces, timeout)
                except aiohttp.ClientConnectorError as error:
                    shortage = _shortage(error, attempt)
                    if shortage is None:
                        raise
                finally:
                    self._release_reserved(attempt)
                self._close_idle()
            elif self._close_idle():
                await asyncio.sleep(0)  # it is closed in the loop's next turn
                continue
            else:
                shortage = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            if self._patience is not None and waited > self._patience:
                raise Postponed(
                    f"no connection for {attempt.url}: {shortage.strerror}",
                    url=attempt.url,
                    seconds=MAX_PAUSE_SECONDS,
                    hint="raise this process's limit on open files (ulimit -n), or lower the setting connections",
                )
            with deadlines_paused():
                await asyncio.sleep(pause)
            waited += pause
            pause = min(pause * 2, MAX_PAUSE_SECONDS)

    def _close_idle(self) -> bool:
        """Close the connection that has been idle for longest, or nearly so; False where none is idle."""
        for key, idle in self._conns.items():
            protocol, _ = idle.popleft()
            if not idle:
                del self._conns[key]
            if protocol.transport is not None:
                protocol.transport.abort()  # not close: TLS would wait for as long as the server likes
            return True
        return False

    def _release_reserved(self, attempt: Attempt) -> None:
        if attempt.reserved:
            attempt.reserved = False
            self._reserved -= 1


def _shortage(error: aiohttp.ClientConnectorError, attempt: Attempt) -> OSError | None:
    """Return what our side lacked, where that is why there is no connection."""
    if attempt.shortage is not None:
        return attempt.shortage
    code = error.os_error.errno
    if code in SHORTAGES or (code == errno.EADDRNOTAVAIL and attempt.plain):  # every port is in use
        return OSError(code, os.strerror(code))
    return None


class _Protocol(ResponseHandler):
    """An answer that ends with its connection is whole only where the connection was ended as it should be (RFC 9112,
    8 and 9.8): after TLS's close_notify, and without an error. Event loops give a cut for an end."""

    _secure: ssl.SSLObject | None = None
    _ended = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._secure = transport.get_extra_info("ssl_object")

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if len(self) > MAX_HEADS_WAITING:  # uvloop goes on receiving before whoever waits for the answer has a turn
            self._buffer.clear()
            self.set_exception(HttpProcessingError(code=400, message="it has too many interim answers"))
            if self.transport is not None:
                self.transport.abort()

    def eof_received(self) -> None:  # uvloop calls it after close_notify only, asyncio after a cut too
        if self._secure is not None:
            with suppress(ssl.SSLError):
                self._ended = not self._secure.read(1)  # all was read before: what comes now is the end, if it was sent
        super().eof_received()

    def close(self) -> None:
        body = self._payload
        super().close()
        if body is not None and not body.is_eof():  # else whoever reads it would wait until the time-out
            body.set_exception(aiohttp.ClientPayloadError("the connection was closed"))

    def connection_lost(self, exc: BaseException | None) -> None:
        body = self._payload
        if body is not None and not body.is_eof():
            if exc is not None:
                body.set_exception(aiohttp.ClientPayloadError(f"the connection was lost: {exc}"))
            elif self._secure is not None and not self._ended:
                body.set_exception(aiohttp.ClientPayloadError("the connection was cut off without TLS's close_notify"))
        super().connection_lost(exc)


def _tls(settings: ClientSettings) -> bool | ssl.SSLContext:
    if settings.ca_file is None or not settings.verify_tls:
        return settings.verify_tls
    try:
        return ssl.create_default_context(cafile=settings.ca_file)
    except OSError as error:
        raise FetchError(f"ca_file: {settings.ca_file} cannot be read: {error.strerror or error}") from None
