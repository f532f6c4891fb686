"""One request, one answer, over aiohttp. It follows no redirect, keeps no cookie and asks nobody for permission:
that is the client's work. Every connection passes the address guard at the moment of connecting.
"""

import asyncio
import socket
import ssl
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from multidict import CIMultiDictProxy
from yarl import URL

from comity.errors import AddressBlocked, ComityError, FetchError, Timeout, TooLarge
from comity.net.address import AddressGuard
from comity.net.settings import ClientSettings


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """An answer as received. `cut`: the body went on past the limit and was left there; `sent`: request headers."""

    status: int
    headers: CIMultiDictProxy[str]
    body: bytes
    cut: bool
    reason: str
    http_version: str
    sent: CIMultiDictProxy[str]


class _RefusedAddress(OSError):
    pass


_REFUSED = "refused by the address guard"


class _Resolver(AbstractResolver):
    """The operator's own answers first, then DNS."""

    def __init__(self, own: Mapping[str, str]) -> None:
        self._own = {name.lower().rstrip("."): address for name, address in own.items()}
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


class Transport:
    """A pool of connections. Make it and use it inside one running event loop."""

    def __init__(self, settings: ClientSettings, guard: AddressGuard, agent: str) -> None:
        self._settings = settings
        self._guard = guard
        connector = aiohttp.TCPConnector(
            limit=settings.connections,
            resolver=_Resolver(settings.resolve),
            socket_factory=self._socket,
            ssl=settings.verify_tls,
            keepalive_timeout=30,
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": agent, "Accept": "*/*", **settings.headers},
            timeout=aiohttp.ClientTimeout(total=None),
            trust_env=False,
        )

        # aiohttp would send a GET a second time at once when the server drops the connection: a request nobody paced.
        self._session._retry_connection = False

    async def close(self) -> None:
        await self._session.close()

    async def send(
        self,
        method: str,
        url: str,
        *,
        timeout: float,
        max_body: int,
        cut: bool = False,
        on_head: Callable[[int, CIMultiDictProxy[str]], None] | None = None,
    ) -> RawAnswer:
        """Send one request and read the whole answer.

        Args:
            max_body: bytes of the decoded body; a longer one raises TooLarge, or is cut there if `cut`.
            on_head: called when status and headers have arrived.

        Raises:
            AddressBlocked, Timeout, TooLarge, FetchError
        """
        try:
            async with asyncio.timeout(timeout):
                async with self._session.request(method, URL(url, encoded=True), allow_redirects=False) as answer:
                    if on_head is not None:
                        on_head(answer.status, answer.headers)
                    body, was_cut = await self._read(answer, url, max_body, cut)
                    version = answer.version or aiohttp.HttpVersion11
                    return RawAnswer(
                        status=answer.status,
                        headers=answer.headers,
                        body=body,
                        cut=was_cut,
                        reason=answer.reason or "",
                        http_version=f"{version.major}.{version.minor}",
                        sent=answer.request_info.headers,
                    )
        except TimeoutError:
            raise Timeout(
                f"no complete answer from {url} within {timeout:.3g} s", url=url, hint="raise the time-out or try later"
            ) from None
        except (aiohttp.ClientError, OSError, ValueError, zlib.error) as error:
            raise _explained(error, url) from error

    async def _read(self, answer: aiohttp.ClientResponse, url: str, limit: int, cut: bool) -> tuple[bytes, bool]:
        parts: list[bytes] = []
        size = 0
        async for part in answer.content.iter_any():
            parts.append(part)
            size += len(part)
            if size > limit:
                answer.close()  # the rest is not read; the connection cannot be used again
                if cut:
                    return b"".join(parts)[:limit], True
                raise TooLarge(f"the body of {url} is over {limit} bytes", url=url, hint="raise max_body")
        return (parts[0] if len(parts) == 1 else b"".join(parts)), False

    def _socket(self, info: tuple[Any, ...]) -> socket.socket:
        family, kind, protocol, _, address = info
        refusal = self._guard.refusal(address[0])
        if refusal is not None:
            raise _RefusedAddress(f"{address[0]} {_REFUSED}: {refusal}")
        return socket.socket(family=family, type=kind, proto=protocol)


def _explained(error: Exception, url: str) -> ComityError:
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
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return FetchError(f"the host of {url} is not known to DNS", url=url, hint="check the spelling of the host name")
    if isinstance(error, aiohttp.ClientConnectorCertificateError | ssl.SSLError | aiohttp.ClientConnectorSSLError):
        return FetchError(f"no secure connection to {url}: {text}", url=url, hint="verify_tls=False accepts any")
    if isinstance(error, aiohttp.ClientConnectorError):
        return FetchError(f"no connection to {url}: {error.os_error.strerror or error.os_error}", url=url)
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return FetchError(f"{url}: the server closed the connection without an answer", url=url)
    return FetchError(f"{url}: {type(error).__name__}: {text}", url=url)
