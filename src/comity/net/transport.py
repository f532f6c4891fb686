"""One request, one answer, over aiohttp. It follows no redirect, keeps no cookie and asks nobody for permission:
that is the client's work. Every connection passes the address guard at the moment of connecting.
"""

import contextvars
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from multidict import CIMultiDictProxy
from yarl import URL

from comity import urls
from comity.errors import AddressBlocked, ComityError, FetchError, InvalidSetting, Timeout, TooLarge
from comity.net.address import AddressGuard
from comity.net.deadlines import Deadlines
from comity.net.decoding import ACCEPTED, Decoder
from comity.net.settings import ClientSettings


class _RefusedAddress(OSError):
    pass


_REFUSED = "refused by the address guard"
_HOST: contextvars.ContextVar[str] = contextvars.ContextVar("_HOST", default="")  # of the request that is connecting
_ERRORS = (aiohttp.ClientError, OSError, ValueError)


class _Resolver(AbstractResolver):
    """The operator's own answers first, then DNS."""

    def __init__(self, own: Mapping[str, str], nameservers: tuple[str, ...]) -> None:
        self._own = {name.lower().rstrip("."): address for name, address in own.items()}
        self._dns: AbstractResolver
        if nameservers:
            self._dns = _from_nameservers(nameservers)
        else:
            self._dns = aiohttp.ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        address = self._own.get(host.lower().rstrip("."))
        if address is None:
            return await self._dns.resolve(host, port, family)
        version = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [
            ResolveResult(hostname=host, host=address, port=port, family=version, proto=0, flags=socket.AI_NUMERICHOST)
        ]

    async def close(self) -> None:
        await self._dns.close()


def _from_nameservers(nameservers: tuple[str, ...]) -> AbstractResolver:
    try:
        return aiohttp.AsyncResolver(nameservers=list(nameservers), tries=2, timeout=3.0)
    except (ImportError, RuntimeError):
        raise FetchError("nameservers needs aiodns", hint="pip install 'comity[dns]'") from None


class Answer:
    """An answer whose head has arrived. Read its body or close it.

    Attributes:
        reason, http_version: the rest of the status line, as received.
        sent: the request's headers.
        cut: whether the body went on past the limit and was left there.
    """

    __slots__ = ("_response", "_settings", "cut", "headers", "http_version", "reason", "sent", "status", "url")

    def __init__(self, url: str, response: aiohttp.ClientResponse, settings: ClientSettings) -> None:
        self.url = url
        self.status = response.status
        self.headers: CIMultiDictProxy[str] = response.headers
        self.reason = response.reason or ""
        major, minor = response.version or aiohttp.HttpVersion11
        self.http_version = f"{major}.{minor}"
        self.sent: CIMultiDictProxy[str] = response.request_info.headers
        self.cut = False
        self._response = response
        self._settings = settings

    def close(self) -> None:
        """Leave the rest unread; the connection cannot be used again unless all was read."""
        self._response.close()

    async def read(self, limit: int, *, cut: bool = False) -> bytes:
        """The whole decoded body.

        Args:
            limit: bytes; a longer body raises TooLarge, or is cut there if `cut`.

        Raises:
            TooLarge, Timeout, FetchError
        """
        length = self._response.content_length
        try:
            if length is not None and length <= limit and "Content-Encoding" not in self.headers:
                return await self._response.read()
        except _ERRORS as error:
            raise explained(error, self.url) from error
        parts = []
        room = limit
        async for part in self.chunks(limit, cut=cut):
            parts.append(part)
            room -= len(part)
            if cut and room <= 0:
                self.cut = self.cut or room < 0
                break
        return b"".join(parts)[:limit]

    async def chunks(self, limit: int, *, cut: bool = False) -> AsyncIterator[bytes]:
        """The decoded body in parts as they arrive; limits and errors as for `read`."""
        coding = self.headers.get("Content-Encoding", "").strip().lower()
        decoder = None
        if coding not in ("", "identity") and self.status not in (204, 304):
            decoder = Decoder(coding, self.url, self._settings.max_ratio)
        room = limit
        whole = False
        try:
            async for data in self._response.content.iter_any():
                part = data if decoder is None else decoder.feed(data, room)
                room -= len(part)
                if room < 0:
                    if not cut:
                        raise TooLarge(
                            f"the body of {self.url} is over {limit} bytes", url=self.url, hint="raise max_body"
                        )
                    self.cut = True
                    yield part[: len(part) + room]
                    return
                if part:
                    yield part
            if decoder is not None and self._response.method != "HEAD":
                decoder.close()
            whole = True
        except _ERRORS as error:
            raise explained(error, self.url) from error
        finally:
            if not whole:
                self._response.close()


class Transport:
    """A pool of connections. Make it and use it inside one running event loop."""

    def __init__(self, settings: ClientSettings, guard: AddressGuard, agent: str) -> None:
        self._settings = settings
        self._guard = guard
        self.deadlines = Deadlines()
        self._resolver = _Resolver(settings.resolve, settings.nameservers)
        connector = aiohttp.TCPConnector(
            limit=settings.connections,
            resolver=self._resolver,
            socket_factory=self._socket,
            ssl=_tls(settings),
            keepalive_timeout=30,
            ttl_dns_cache=300,
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": agent, "Accept": "*/*", "Accept-Encoding": ACCEPTED, **settings.headers},
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=settings.connect_timeout, sock_read=settings.read_timeout
            ),
            auto_decompress=False,
            trust_env=False,
            proxy=settings.proxy,
        )

        # aiohttp would send a GET a second time at once when the server drops the connection: a request nobody paced.
        self._session._retry_connection = False

    async def close(self) -> None:
        self.deadlines.close()
        await self._session.close()

    async def open(self, method: str, url: str, *, headers: Mapping[str, str] | None = None) -> Answer:
        """Send one request; gives the answer as soon as its head is there.

        Raises:
            AddressBlocked, Timeout, FetchError
        """
        if self._guard.has_names:
            _HOST.set(urls.host(url))
        try:
            response = await self._session.request(
                method, URL(url, encoded=True), headers=headers, allow_redirects=False
            )
        except _ERRORS as error:
            raise explained(error, url) from error
        return Answer(url, response, self._settings)

    async def address_of(self, host: str) -> str:
        """The first address of a host, by the resolver that connections use; the host itself where it has none."""
        try:
            found = await self._resolver.resolve(host.strip("[]"), 0, socket.AF_UNSPEC)
        except OSError:
            return host
        return min((each["host"] for each in found), default=host)

    def _socket(self, info: tuple[Any, ...]) -> socket.socket:
        family, kind, protocol, _, address = info
        refusal = self._guard.refusal(address[0], _HOST.get())
        if refusal is not None:
            raise _RefusedAddress(f"{address[0]} {_REFUSED}: {refusal}")
        return socket.socket(family=family, type=kind, proto=protocol)


def _tls(settings: ClientSettings) -> bool | ssl.SSLContext:
    if settings.ca_file is None or not settings.verify_tls:
        return settings.verify_tls
    try:
        return ssl.create_default_context(cafile=settings.ca_file)
    except OSError as error:
        raise InvalidSetting(f"ca_file: {settings.ca_file} cannot be read: {error.strerror or error}") from None


def timed_out(url: str, seconds: float) -> Timeout:
    return Timeout(
        f"no complete answer from {url} within {seconds:.3g} s", url=url, hint="raise the time-out or try later"
    )


def explained(error: Exception, url: str) -> ComityError:
    """The library's error as one of ours, in words for people."""
    text = str(error.os_error) if isinstance(error, aiohttp.ClientConnectorError) else str(error)
    if _REFUSED in text:
        start = text.find(":", text.find(_REFUSED)) + 1
        reason = text[start:].strip(" ]'")
        return AddressBlocked(
            f"{url} leads to an address that is not to be reached: {reason}",
            url=url,
            hint="allow its network with allow_addresses (--allow-address) if it is yours",
        )
    if isinstance(error, TimeoutError):  # of connecting or reading alone; the total is the client's
        return Timeout(f"{url} took too long: {text or type(error).__name__}", url=url, hint="raise the time-out")
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return FetchError(f"the host of {url} is not known to DNS", url=url, hint="check the spelling of the host name")
    plain = "WRONG_VERSION_NUMBER" in text or "HTTP_REQUEST" in text
    if plain or (isinstance(error, aiohttp.ClientConnectorError) and not text and url.startswith("https:")):
        how = "does not speak TLS there" if plain else "ended the connection before TLS was agreed on"
        return FetchError(f"no secure connection to {url}: the server {how}", url=url, hint="try http://")
    if isinstance(error, aiohttp.ClientConnectorCertificateError | ssl.SSLError | aiohttp.ClientConnectorSSLError):
        return FetchError(f"no secure connection to {url}: {text}", url=url, hint="verify_tls=False accepts any")
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return FetchError(f"no connection to the proxy for {url}: {text}", url=url)
    if isinstance(error, aiohttp.ClientConnectorError):
        return FetchError(f"no connection to {url}: {error.os_error.strerror or error.os_error}", url=url)
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return FetchError(f"{url}: the server closed the connection without an answer", url=url)
    if isinstance(error, aiohttp.ClientPayloadError):
        return FetchError(f"{url}: the answer was cut short: {text}", url=url)
    return FetchError(f"{url}: {type(error).__name__}: {text}", url=url)
