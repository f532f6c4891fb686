"""Serves the demo site: one port on loopback, told apart by the Host header, every request written down."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from aiohttp import web

from comity.demo.pages import DOMAIN, Pages, ServedAnswer, hosts

ADDRESS = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """A request as the server saw it; `time` is monotonic, in seconds, when its head had arrived."""

    time: float
    host: str
    path: str
    agent: str


class DemoSite:
    """The demo site while it runs. Made by `serve`.

    Attributes:
        port: where it listens on 127.0.0.1.
        log: every request, in order.
    """

    def __init__(self) -> None:
        self.port = 0
        self.log: list[SeenRequest] = []
        self._hosts: dict[str, Pages] = {}

    @property
    def seeds(self) -> tuple[str, ...]:
        """Where a crawl starts: the front page of every host."""
        return tuple(f"http://{host}:{self.port}/" for host in self._hosts)

    @property
    def resolve(self) -> dict[str, str]:
        """Host name -> address, for a client's `resolve` setting: no DNS and no hosts file is needed."""
        return dict.fromkeys(self._hosts, ADDRESS)

    async def open(self, port: int = 0) -> web.ServerRunner:
        """Listen; 0 takes any free port."""
        runner = web.ServerRunner(web.Server(self._answer), access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, ADDRESS, port).start()
        self.port = runner.addresses[0][1]
        self._hosts = hosts(self.port)
        return runner

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        host = request.host.partition(":")[0].lower()
        self.log.append(SeenRequest(time.monotonic(), host, request.path_qs, request.headers.get("User-Agent", "")))
        pages = self._hosts.get(host)
        if pages is None:
            return web.Response(status=421, text=f"no such host here: the demo serves *.{DOMAIN}\n")
        answer = pages.get(request.rel_url.raw_path_qs)
        if answer is None:
            return web.Response(status=404, text="There is nothing here.\n")
        return await _send(request, answer)


async def _send(request: web.BaseRequest, answer: ServedAnswer) -> web.StreamResponse:
    if answer.wait:
        await asyncio.sleep(answer.wait)
    if answer.drop and request.transport is not None:
        request.transport.abort()
    return web.Response(
        status=answer.status, body=answer.body, headers={"Content-Type": answer.content_type, **answer.headers}
    )


@contextmanager
def serve(port: int = 0) -> Iterator[DemoSite]:
    """Run the demo site in a thread of its own while the context lasts. Raises OSError: the port is taken."""
    site = DemoSite()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="comity-demo", daemon=True)
    thread.start()
    try:
        runner = asyncio.run_coroutine_threadsafe(site.open(port), loop).result(10)
        try:
            yield site
        finally:
            asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
