"""A real web site on loopback for tests: pages are set, requests are counted."""

import asyncio
import itertools
import socket
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

HANGS = 300  # seconds after which a test is taken to hang: nothing depends on how fast the machine is


def endless(part: bytes) -> Handler:
    """Answers with a part of a body, and no more of it ever comes."""

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(part)
        await asyncio.Event().wait()
        return response

    return handler


@dataclass(frozen=True)
class Seen:
    """A request as the server saw it."""

    time: float
    method: str
    path: str
    headers: dict[str, str] = field(default_factory=dict)


class Site:
    """Serves what `set` was given, 404 for the rest. Runs in a thread of its own."""

    def __init__(self, address: str = "127.0.0.1") -> None:
        self.address = address
        self.port = 0
        self.tls: ssl.SSLContext | None = None
        self.seen: list[Seen] = []
        self._pages: dict[str, Handler | tuple[int, dict[str, str], bytes]] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._open(), self._loop).result(HANGS)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(HANGS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(HANGS)
        self._loop.close()

    def url(self, path: str = "/") -> str:
        return f"http://{self.address}:{self.port}{path}"

    def set(
        self,
        path: str,
        body: str | bytes | Handler = b"",
        *,
        status: int = 200,
        content_type: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        """Serve `body` (or what a handler answers) at a path with its query."""
        if callable(body):
            self._pages[path] = body
            return
        kind = content_type or ("text/plain; charset=utf-8" if path.endswith(".txt") else "text/html; charset=utf-8")
        data = body.encode() if isinstance(body, str) else body
        self._pages[path] = (status, {"Content-Type": kind, **(headers or {})}, data)

    def clear(self) -> None:
        """Forget every page and every request seen."""
        self._pages.clear()
        self.seen.clear()

    def link(self, path: str, *targets: str) -> None:
        """Serve a page that links to targets."""
        anchors = "".join(f'<a href="{target}">{target}</a>' for target in targets)
        self.set(path, f"<!doctype html><title>{path}</title>{anchors}")

    def paths(self) -> list[str]:
        """The paths asked for, in order."""
        return [seen.path for seen in self.seen]

    def intervals(self) -> list[float]:
        """Seconds between requests as the server saw them."""
        times = [seen.time for seen in self.seen]
        return [later - earlier for earlier, later in itertools.pairwise(times)]

    async def _open(self) -> None:
        self._runner = web.ServerRunner(web.Server(self._answer), access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self.address, 0, ssl_context=self.tls)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def _close(self) -> None:
        await self._runner.cleanup()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/favicon.ico" and request.headers.get("Sec-Fetch-Dest") == "image":
            return web.Response(status=404)  # a browser's own wish, which no page and no route handler knows of
        self.seen.append(Seen(time.monotonic(), request.method, request.path_qs, dict(request.headers)))
        page = self._pages.get(request.path_qs)
        if page is None:
            return web.Response(status=404, text="not here")
        if callable(page):
            return await page(request)  # type: ignore[arg-type]
        status, headers, body = page
        return web.Response(status=status, headers=headers, body=body)


def closed(connection: socket.socket) -> bool:
    """Whether the other side ends a connection before it says anything over it."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def linked(stack: ExitStack, hosts: int, pages: int) -> list[Site]:
    """Hosts whose pages lead to each other's, and to what their robots.txt forbids; all are reached from any `/0`."""
    sites = [stack.enter_context(Site(f"127.0.0.{number + 1}")) for number in range(hosts)]
    for number, site in enumerate(sites):
        other, third = sites[(number + 1) % hosts], sites[(number + 2) % hosts]
        site.set("/robots.txt", "User-agent: *\nDisallow: /private/\n")
        for page in range(pages):
            inside = [f"/{child}" for child in (2 * page + 1, 2 * page + 2) if child < pages]
            site.link(f"/{page}", *inside, other.url(f"/{page}"), third.url("/private/x"))
    return sites


@contextmanager
def served(application: Callable[[int], Any]) -> Iterator[int]:
    """Serves what `application` makes of the port by uvicorn, in a thread of its own; gives the port."""
    import pytest

    uvicorn = pytest.importorskip("uvicorn")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(application(port), lifespan="off", log_level="error"))
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])), daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield port
        server.should_exit = True
        thread.join(HANGS)
