"""Serves over standard input and output, or over HTTP with Host, Origin and bearer token checked."""

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any, Final

from comity._serving import bearer, named, server_of
from comity.errors import InputError

if TYPE_CHECKING:
    from comity.mcp.service import Service

MAX_SESSIONS: Final = 1000  # of the protocol of 2025, which end by themselves when nothing was asked for half an hour
_EXPOSED: Final = ("Mcp-Session-Id", "MCP-Protocol-Version", "WWW-Authenticate")  # headers that pages may read


def over_stdio(service: "Service") -> None:
    """Serve one client until it closes our standard input. Raises InputError: it cannot be read."""
    from comity.mcp.server import build

    try:
        os.read(0, 0)
    except OSError as error:
        raise InputError(f"standard input, where a client speaks, cannot be read: {error.strerror}") from error

    async def serve(told_to_end: asyncio.Event) -> None:
        async with service:
            serving = asyncio.ensure_future(build(service).run_stdio_async())
            ending = asyncio.ensure_future(told_to_end.wait())
            await asyncio.wait([serving, ending], return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                ending.cancel()
                serving.result()

        if told_to_end.is_set():
            os._exit(0)  # a thread of the SDK waits for the client's next line, and cannot be ended

    _run(serve)


def _run(serve: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    """Serve until the end, or until the process is told to stop: then crawls end and our folder is removed."""

    async def until_told() -> None:
        told_to_end = asyncio.Event()
        if threading.current_thread() is threading.main_thread():
            for name in ("SIGTERM", "SIGHUP", "SIGINT"):
                if hasattr(signal, name):
                    with suppress(NotImplementedError):  # Windows
                        asyncio.get_running_loop().add_signal_handler(getattr(signal, name), told_to_end.set)
        await serve(told_to_end)

    asyncio.run(until_told())


def over_http(
    service: "Service",
    listening: socket.socket,
    *,
    host: str,
    token: str | None = None,
    allowed_hosts: tuple[str, ...] = (),
    allowed_origins: tuple[str, ...] = (),
) -> None:
    """Serve any number of clients at `/mcp` until the process is told to end.

    Args:
        allowed_hosts: names that clients may call us by, besides ours.
        allowed_origins: origins of web pages that may ask, such as `https://chat.example`.
    """
    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.middleware.cors import CORSMiddleware

    from comity.mcp.server import build

    # Who may ask is checked here: the SDK takes `localhost:` for the start of any name.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)

    async def serve(told_to_end: asyncio.Event) -> None:
        async with service:
            app: Any = build(service).streamable_http_app(
                host=host, transport_security=security, max_sessions=MAX_SESSIONS
            )
            app.router.redirect_slashes = False  # it would redirect to whatever host the client names
            app = named(app, (host, *allowed_hosts), allowed_origins)
            if token is not None:
                app = bearer(app, token)
            if allowed_origins:  # around the token: a browser asks before it shows one
                app = CORSMiddleware(app, allowed_origins, ["GET", "POST", "DELETE"], ["*"], expose_headers=_EXPOSED)
            server = server_of(app, "mcp", timeout_graceful_shutdown=5)
            server.capture_signals = nullcontext  # it would end the process, see _run
            ending = asyncio.ensure_future(_end(server, told_to_end))
            try:
                await server.serve(sockets=[listening])
            finally:
                ending.cancel()

    _run(serve)


async def _end(server: Any, told_to_end: asyncio.Event) -> None:
    await told_to_end.wait()
    server.should_exit = True
