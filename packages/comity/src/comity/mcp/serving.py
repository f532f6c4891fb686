"""Serving: over standard input and output, or over HTTP with Host, Origin and a bearer token checked.

The SDK is imported here, late: over standard input the first answer is given before (see first_answer.py), and
nothing that it does not need is imported at the top of this module.
"""

import asyncio
import os
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import nullcontext, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from comity._listening import bearer, named, server_of
from comity.errors import InputError
from comity.mcp import first_answer
from comity_pages import _extras

if TYPE_CHECKING:
    from comity.mcp.service import Service

MAX_SESSIONS: Final = 1000  # of the protocol of 2025, which end by themselves when nothing was asked for half an hour
_LONGEST_LINE: Final = 1024 * 1024
_EXPOSED: Final = ("Mcp-Session-Id", "MCP-Protocol-Version", "WWW-Authenticate")  # headers that pages may read


def check_installed() -> None:
    """Check that the SDK is there.

    Raises:
        MissingExtra: it is not installed.
    """
    if find_spec("mcp") is None:
        raise _extras.missing(ModuleNotFoundError(name="mcp"), "mcp", "comity mcp")


def over_stdio(make: "Callable[[], Service]") -> None:
    """Serve one client until it closes our standard input.

    Args:
        make: makes the service; called after the first answer.
    """
    wire = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # no other code may read what the client says
    os.close(nothing)
    line = _first_line(wire)
    answered = first_answer.answer(line) if line else None
    if answered is not None:
        os.write(1, answered[1])
    if line:
        _run(_stdio(make(), wire, line, None if answered is None else answered[0]))


def _run(serving: Coroutine[Any, Any, None]) -> None:
    """Serve until the end, or until the process is told to end: then crawls end too, and our folder is removed."""

    async def told() -> None:
        task = asyncio.ensure_future(serving)
        ended = False

        def end() -> None:
            nonlocal ended
            ended = True
            task.cancel()

        if threading.current_thread() is threading.main_thread():
            for name in ("SIGTERM", "SIGHUP", "SIGINT"):
                if hasattr(signal, name):
                    with suppress(NotImplementedError):  # Windows
                        asyncio.get_running_loop().add_signal_handler(getattr(signal, name), end)
        try:
            await task
        except asyncio.CancelledError:
            pass
        except ExceptionGroup as errors:
            from anyio import BrokenResourceError

            if not ended or errors.split(BrokenResourceError)[1] is not None:
                raise  # else the SDK was about to hand on a message when it was told to end

    asyncio.run(told())


def _first_line(wire: int) -> bytes:
    """Read octet by octet, so that what follows is left to the SDK.

    Raises:
        InputError: our standard input is closed.
    """
    line = bytearray()
    while len(line) < _LONGEST_LINE and not line.endswith(b"\n"):
        try:
            octet = os.read(wire, 1)
        except OSError as error:
            raise InputError(f"standard input, where a client speaks, cannot be read: {error.strerror}") from error
        if not octet:
            break
        line += octet
    return bytes(line)


async def _stdio(service: "Service", wire: int, line: bytes, answered: Any) -> None:
    from mcp.server.stdio import stdio_server

    from comity.mcp.server import build

    async with service:
        server = build(service)
        lines: Any = _Lines(wire, line)
        async with stdio_server(stdin=lines) as (read, write):
            out: Any = write if answered is None else _Without(write, answered)
            await server.run(read, out, server.create_initialization_options())


class _Lines:
    """The client's lines, the first of them read already."""

    def __init__(self, wire: int, first_line: bytes) -> None:
        self._first = first_line
        self._wire = wire

    async def __aiter__(self) -> AsyncIterator[str]:
        yield self._first.decode("utf-8", "replace")
        loop = asyncio.get_running_loop()
        parts: list[bytes] = []
        while True:
            # A new thread, which does not keep the process alive where the server ends before the client; and no
            # file object, whose lock the interpreter would wait for when it ends.
            future: asyncio.Future[bytes] = loop.create_future()
            threading.Thread(target=self._read, args=(loop, future), daemon=True).start()
            data = await future
            first, *lines = data.split(b"\n")
            parts.append(first)
            for line in lines:
                yield b"".join(parts).decode("utf-8", "replace")
                parts = [line]
            if not data:
                return

    def _read(self, loop: asyncio.AbstractEventLoop, future: "asyncio.Future[bytes]") -> None:
        data = os.read(self._wire, _LONGEST_LINE)
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(lambda: None if future.done() else future.set_result(data))


class _Without:
    """The stream of what is sent, without the answer that was given already."""

    def __init__(self, stream: Any, answered: Any) -> None:
        self._stream = stream
        self._answered = answered
        self._waiting = True

    async def send(self, item: Any) -> None:
        message = item.message
        if self._waiting and getattr(message, "id", None) == self._answered and hasattr(message, "result"):
            self._waiting = False
            return
        await self._stream.send(item)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> "_Without":
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *details: Any) -> Any:
        return await self._stream.__aexit__(*details)


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

    async def run() -> None:
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
            serving = asyncio.ensure_future(server.serve(sockets=[listening]))
            try:
                await asyncio.shield(serving)
            except asyncio.CancelledError:
                server.should_exit = True
                await serving
                raise

    _run(run())
