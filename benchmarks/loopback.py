"""What the benchmarks' web servers have in common: requests cut out of a connection, and hosts on loopback."""

import asyncio
import multiprocessing
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any

from comity.cli.process import loop_factory


def address(number: int) -> str:
    """The loopback address of a host, beginning at 127.1.0.0."""
    return f"127.{1 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"


class Requests(asyncio.Protocol):
    """One connection. Those who know what to answer have `asked`."""

    transport: Any

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.rest = b""
        self.host, self.port = transport.get_extra_info("sockname")

    def data_received(self, data: bytes) -> None:
        self.rest += data
        while (end := self.rest.find(b"\r\n\r\n")) >= 0:
            head, self.rest = self.rest[:end].decode("latin-1"), self.rest[end + 4 :]
            named = re.search(r"(?im)^host: *(\S+)", head)
            self.asked(named[1] if named else "", head.split(" ", 2)[1])

    def asked(self, host: str, path: str) -> None:
        """A request arrived.

        Args:
            host: as the request names it.
        """
        raise NotImplementedError

    def answer(self, body: str, content_type: str, *, status: int = 200, location: str | None = None) -> None:
        about = f"Content-Type: {content_type}" if location is None else f"Location: {location}"
        text = f"HTTP/1.1 {status} Here\r\n{about}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
        self.transport.write(text.encode())


def serve(server: Callable[[], Requests], pipe: Connection, tell: Callable[[], Any], *hosts: str) -> None:
    """Tell the port, and then, at each word but `stop`, what `tell` gives.

    Args:
        hosts: addresses to listen on; all of this machine's without any.
    """

    async def run() -> None:
        loop = asyncio.get_running_loop()
        port = 0
        for host in hosts or ("0.0.0.0",):
            listening = await loop.create_server(server, host, port, backlog=4096)
            port = listening.sockets[0].getsockname()[1]
        pipe.send(port)
        with suppress(EOFError):  # who asked is gone
            while await loop.run_in_executor(None, pipe.recv) != "stop":
                pipe.send(tell())

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who started this, and ends it
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(run())


@contextmanager
def beside(run: Callable[[Connection], None]) -> Iterator[tuple[Connection, int]]:
    """A process of its own that serves (`run` calls `serve`): what it is asked through, and its port. It ends with the
    block, however that ends."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=run, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours, ours.recv()
    finally:
        ours.close()
        process.join()
