"""What a server of ours needs whatever it serves: an address, who may reach it, and a token beyond this machine."""

import hmac
import ipaddress
import json
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from comity.errors import InvalidSetting, StorageError

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
SHORTEST_TOKEN: Final = 16

AsgiMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiMessage]]
Send = Callable[[AsgiMessage], Awaitable[None]]
App = Callable[[AsgiMessage, Receive, Send], Awaitable[None]]


def is_loopback(host: str) -> bool:
    """Whether an address or name can only be reached from this machine."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def place_of(text: str) -> tuple[str | None, int]:
    """Address, None where there is none, and port of `[ADDRESS:]PORT`.

    Raises:
        ValueError: it is none.
    """
    address, colon, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) <= 65535):
        raise ValueError(f"{text!r} is not [ADDRESS:]PORT")
    return address if colon else None, int(port)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens at an address.

    Raises:
        StorageError: the address cannot be used.
    """
    bare = host.strip("[]")
    try:
        return socket.create_server((bare, port), family=socket.AF_INET6 if ":" in bare else socket.AF_INET)
    except OSError as error:
        raise StorageError(f"{host}:{port} cannot be listened on: {error.strerror or error}") from error


def check_exposure(option: str, host: str, token: str | None, allowed_hosts: tuple[str, ...]) -> None:
    """
    Args:
        option: that names the address, for the error.

    Raises:
        InvalidSetting: others than this machine can ask, and need no token for it; or the token is too short.
    """
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise InvalidSetting(f"--token-file: the token is shorter than {SHORTEST_TOKEN} characters")
    if token is None and (allowed_hosts or not is_loopback(host)):
        raise InvalidSetting(
            f"{option}: {host} is not for this machine alone, so that a token is needed",
            hint="put one into a file and name it with --token-file, or serve on 127.0.0.1",
        )


def bearer(app: App, token: str) -> App:
    """The application for those who show the token (RFC 6750, 2.1); 401 for all others."""
    wanted = token.encode()

    async def checked(scope: AsgiMessage, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = [value for name, value in scope["headers"] if name == b"authorization"]
            scheme, _, shown = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
            if scheme.lower() != b"bearer" or not hmac.compare_digest(shown.strip(), wanted):
                body = json.dumps({"error": "a bearer token is needed"}).encode()
                headers = [(b"content-type", b"application/json"), (b"www-authenticate", b"Bearer")]
                await send({"type": "http.response.start", "status": 401, "headers": headers})
                await send({"type": "http.response.body", "body": body})
                return
        await app(scope, receive, send)

    return checked
