"""The connections of one client: which addresses they may lead to, and whether an answer arrived whole.

Every socket passes the address guard at the moment of connecting. What is sent over them, and when, is not known here.
"""

import asyncio
import contextvars
import socket
import ssl
from contextlib import suppress
from functools import partial
from typing import Any, Final

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.client_proto import ResponseHandler

from comity import urls
from comity.errors import FetchError
from comity.net.address import AddressGuard
from comity.net.settings import ClientSettings

LONGEST_LINE: Final = 100 * 1024  # octets of a status line or header: as curl has it; a policy can be of 20,000
KEPT_IDLE: Final = 30.0  # seconds that a connection is kept for the next request


class Attempt:
    """What became of the connection for one request; the task that sends the request sets it.

    Attributes:
        refusal: why the address guard refused an address, as half a sentence.
    """

    __slots__ = ("refusal", "url")

    def __init__(self, url: str) -> None:
        self.url = url
        self.refusal: str | None = None


ATTEMPT: contextvars.ContextVar[Attempt] = contextvars.ContextVar("ATTEMPT")


class Connections(aiohttp.TCPConnector):
    """Make it inside the event loop that uses it."""

    def __init__(self, settings: ClientSettings, guard: AddressGuard, names: AbstractResolver) -> None:
        super().__init__(
            limit=settings.connections,
            resolver=names,
            socket_factory=self._socket,
            ssl=_tls(settings),
            keepalive_timeout=KEPT_IDLE,
            ttl_dns_cache=300,
        )
        self._guard = guard
        self._factory = partial(_Protocol, loop=self._loop)  # type: ignore[assignment]

    def _socket(self, info: tuple[Any, ...]) -> socket.socket:
        family, kind, protocol, _, address = info
        attempt = ATTEMPT.get()
        refusal = self._guard.refusal(address[0], urls.host(attempt.url) if self._guard.has_names else "")
        if refusal is not None:
            attempt.refusal = refusal
            raise OSError(f"{address[0]} is not to be connected to: {refusal}")
        return socket.socket(family=family, type=kind, proto=protocol)


class _Protocol(ResponseHandler):
    """An answer that ends with its connection is whole only where the connection was ended as it should be (RFC 9112,
    8 and 9.8): after TLS's close_notify, and without an error. Event loops give a cut for an end."""

    _secure: ssl.SSLObject | None = None
    _ended = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._secure = transport.get_extra_info("ssl_object")

    def eof_received(self) -> None:  # uvloop calls it after close_notify only, asyncio after a cut too
        if self._secure is not None:
            with suppress(ssl.SSLError):
                self._ended = not self._secure.read(1)  # all was read before: what comes now is the end, if it was sent
        super().eof_received()

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
