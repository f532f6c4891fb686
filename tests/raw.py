"""A server that says what a test wants it to, octet for octet, and notes what it was sent."""

import asyncio
import ssl
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Self

from sites import HANGS

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
Talk = Callable[["RawSite", asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def answer(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """A whole answer as it goes over the wire."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


class RawSite:
    """Runs in a thread of its own. `pages`: request target -> the octets sent for it; else robots.txt is empty, and
    every other answer holds the request target that came.

    Attributes:
        heads: every request as it came, its line and headers.
        accepted: connections that there were.
    """

    def __init__(self, *, tls: ssl.SSLContext | None = None, talk: Talk | None = None, address: str = "127.0.0.1"):
        self.pages: dict[str, bytes] = {}
        self.heads: list[bytes] = []
        self.accepted = 0
        self.address = address
        self.port = 0
        self._tls = tls
        self._talk = talk
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(HANGS)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(HANGS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(HANGS)
        self._loop.close()

    def url(self, path: str = "/") -> str:
        return f"http{'s' if self._tls else ''}://{self.address}:{self.port}{path}"

    def targets(self) -> list[str]:
        """The request targets that came, in order."""
        return [head.split(b" ")[1].decode("latin-1") for head in self.heads]

    def answer_to(self, head: bytes) -> bytes:
        target = head.split(b" ")[1].decode("latin-1")
        known = self.pages.get(target)
        if known is not None:
            return known
        return answer(b"" if target.endswith("/robots.txt") else target.encode("latin-1"))

    async def request(self, reader: asyncio.StreamReader) -> bytes:
        """The head of the next request; empty where the connection ended."""
        with suppress(asyncio.IncompleteReadError, OSError):
            head = await reader.readuntil(b"\r\n\r\n")
            self.heads.append(head)
            return head
        return b""

    async def _start(self) -> None:
        self._server = await asyncio.start_server(self._serve, self.address, 0, ssl=self._tls, backlog=4096)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _stop(self) -> None:
        self._server.close()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        try:
            if self._talk is not None:
                await self._talk(self, reader, writer)
                return
            while head := await self.request(reader):
                writer.write(self.answer_to(head))
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
