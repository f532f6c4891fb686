"""What a server of ours needs whatever it serves: an address, who may reach it, and a token beyond this machine."""

import asyncio
import hmac
import ipaddress
import json
import re
import socket
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from typing import Any, Final

from comity.errors import InvalidSetting
from comity_pages._extras import need

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
_AUTHORITY: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z_.-]+)(?::[0-9]{1,5})?")
MIN_TOKEN_CHARACTERS: Final = 16
MAX_CONNECTIONS: Final = 128
"""At once: a crawl that shows its dashboard leaves 256 descriptors to all else of its process (docs/addresses.md)."""
MAX_HEAD_SECONDS: Final = 10.0  # for the head of a request, from the connection or from the end of the request before

AsgiMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiMessage]]
Send = Callable[[AsgiMessage], Awaitable[None]]
App = Callable[[AsgiMessage, Receive, Send], Awaitable[None]]


def is_loopback(host: str) -> bool:
    """Return whether an address or name can only be reached from this machine."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def host_of(authority: str) -> str:
    """Return the host of a Host field, or of what follows `//` in an origin (RFC 9110, 7.2), in lower case and without
    brackets; empty where it is no host, with a port or without."""
    found = _AUTHORITY.fullmatch(authority)
    return found[1].strip("[]").lower() if found else ""


def parse_listen_address(text: str) -> tuple[str | None, int]:
    """Address, None where there is none, and port of `[ADDRESS:]PORT`. Raises ValueError: it is none."""
    address, colon, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) <= 65535):
        raise ValueError(f"{text!r} is not [ADDRESS:]PORT")
    return address if colon else None, int(port)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address. Raises InvalidSetting: the address cannot be used."""
    bare = host.strip("[]")
    try:
        return socket.create_server((bare, port), family=socket.AF_INET6 if ":" in bare else socket.AF_INET)
    except OSError as error:
        raise unusable(f"{host}:{port}", error) from error


def unusable(where: str, error: OSError) -> InvalidSetting:
    """Return the error for an address that cannot be listened on."""
    return InvalidSetting(f"{where} cannot be listened on: {error.strerror or error}", hint="choose another port")


def server_of(app: App, extra: str, **options: Any) -> Any:
    """Return the server of an application, with bounds on who connects and asks nothing; `run(sockets=[...])` serves
    until a signal, or until `should_exit` is true.

    Args:
        extra: that brings what serves.
        options: of `uvicorn.Config`.

    Raises:
        MissingExtra: `uvicorn` is not installed.
    """
    uvicorn = need("uvicorn", extra, "serving over HTTP")
    http = need("uvicorn.protocols.http.auto", extra, "serving over HTTP").AutoHTTPProtocol

    class Bounded(http):  # type: ignore[misc, valid-type]
        """Ends a connection that is one too many, and one over which no head of a request has come in time."""

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self._looking: asyncio.TimerHandle | None = None
            if len(self.connections) > MAX_CONNECTIONS:
                transport.abort()
            else:
                self._look_again(None)

        def connection_lost(self, error: Exception | None) -> None:
            if self._looking is not None:
                self._looking.cancel()
            super().connection_lost(error)

        def _look_again(self, answered: Any) -> None:
            self._looking = asyncio.get_running_loop().call_later(MAX_HEAD_SECONDS, self._look, answered)

        def _look(self, answered: Any) -> None:
            """End the connection where nothing was asked since the last look."""
            waits = self.cycle is None or self.cycle.response_complete
            if waits and self.cycle is answered:
                self.transport.abort()
            else:
                self._look_again(self.cycle)

    options = {"log_level": "warning", "access_log": False, "server_header": False, **options}
    return uvicorn.Server(uvicorn.Config(app, http=Bounded, **options))


def check_exposure(option: str, host: str, token: str | None, allowed_hosts: tuple[str, ...]) -> None:
    """
    Args:
        option: that names the address, for the error.

    Raises:
        InvalidSetting: others than this machine can ask, and need no token for it; or the token is too short.
    """
    if token is not None and len(token) < MIN_TOKEN_CHARACTERS:
        raise InvalidSetting(f"--token-file: the token is shorter than {MIN_TOKEN_CHARACTERS} characters")
    if token is None and (allowed_hosts or not is_loopback(host)):
        raise InvalidSetting(
            f"{option}: {host} is not for this machine alone, so that a token is needed",
            hint="put one into a file and name it with --token-file, or serve on 127.0.0.1",
        )


def named(app: App, hosts: Collection[str], origins: Collection[str]) -> App:
    """Return the application for requests that name this machine or one of the hosts, at any port (a page of a site
    whose name was made to lead here names that site), and come from a page of this machine, of one of the origins, or
    from none.
    """
    known = {host.strip("[]").lower() for host in hosts}

    def wrong(scope: AsgiMessage) -> tuple[int, str] | None:
        (host, *more), (origin, *others) = _values(scope, b"host") or [""], _values(scope, b"origin") or [""]
        if more or not (host_of(host) in known or host.lower() in known or is_loopback(host_of(host))):
            return 421, "the request names another host"
        ours = origin in ("", *origins) or (origin.startswith("http://") and is_loopback(host_of(origin[7:])))
        return (403, "the request comes from another site's page") if others or not ours else None

    async def checked(scope: AsgiMessage, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (refusal := wrong(scope)) is not None:
            await _refuse(send, *refusal)
        else:
            await app(scope, receive, send)

    return checked


def bearer(app: App, token: str) -> App:
    """Return the application for those who show the token (RFC 6750, 2.1); 401 for all others."""
    wanted = token.encode()

    async def checked(scope: AsgiMessage, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = _values(scope, b"authorization")
            scheme, _, shown = given[0].partition(" ") if len(given) == 1 else ("", "", "")
            if scheme.lower() != "bearer" or not hmac.compare_digest(shown.strip().encode("latin-1"), wanted):
                await _refuse(send, 401, "a bearer token is needed", (b"www-authenticate", b"Bearer"))
                return
        await app(scope, receive, send)

    return checked


def _values(scope: AsgiMessage, wanted: bytes) -> list[str]:
    """Return the values of a request's field, a line each."""
    return [value.decode("latin-1") for name, value in scope["headers"] if name == wanted]


async def _refuse(send: Send, status: int, why: str, *headers: tuple[bytes, bytes]) -> None:
    fields = [(b"content-type", b"application/json"), *headers]
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": json.dumps({"error": why}).encode()})
