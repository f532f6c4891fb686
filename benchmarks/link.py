"""Which files a link from one shard of a crawl to another passes: counted, not timed, so every run prints the same.

Run by `python benchmarks/link.py`; with `--store URL` also for a crawl in PostgreSQL, which must hold none of that
name. One page leads to a host of the other shard. Both workers run in this process. A function counts where one of its
values, or what it returns, is the message about that URL, the parcel with it, or the parcel's text; so do those that
hand on the batch with it. The compiled modules are interpreted here, else their functions would not be seen.
"""

import asyncio
import os
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import fields, is_dataclass
from http.server import ThreadingHTTPServer
from pathlib import Path
from types import FrameType
from typing import Any

from way import Hop, hop_of
from way import Site as Pages

MARK = "/sent"
HERE, THERE = "a.test", "b.test"
OPENED = {"PendingCommit", "Batch"}  # values that are looked into
DEEP = 5  # how far
# other uses of the batch
ASIDE = ("Kept.note", "write_visits", "_settle", "_put_off", "ResultBuffer.record", "ResultBuffer.size")
CROWD = 50  # values of which no collection is looked into that has more


class Site(Pages):
    """Every page leads to one of the other host."""

    def do_GET(self) -> None:  # noqa: N802 - named by http.server
        port = self.server.server_address[1]
        robots = self.path == "/robots.txt"
        body = b"User-agent: *" if robots else f"<a href='http://{THERE}:{port}{MARK}'>there</a>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain" if robots else "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Here:
    """A worker in this process: see comity.crawler.cluster.worker_process.Running."""

    is_placed = True

    def __init__(self, job: Any) -> None:
        from comity.crawler.cluster.member import worker_of

        self.pid: int | None = os.getpid()
        self.returncode: int | None = None
        self._said: asyncio.Queue[Any] = asyncio.Queue()
        self._early: list[Any] = []
        self._on_message: Callable[[Any], None] = self._early.append
        self._task = asyncio.ensure_future(
            worker_of(job, lambda *message: self._said.put_nowait(message)).run(self._listen)
        )
        self._task.add_done_callback(self._done)

    def _listen(self, on_message: Callable[[Any], None]) -> None:
        self._on_message = on_message
        for message in self._early:
            on_message(message)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self.returncode = 0
        self._said.put_nowait(None)

    def send(self, message: Any) -> None:
        self._on_message(message)

    async def messages(self) -> AsyncIterator[Any]:
        while (message := await self._said.get()) is not None:
            yield message

    def kill(self) -> None:
        self._task.cancel()

    async def wait(self) -> None:
        await asyncio.wait([self._task])


async def start(job: Any) -> Here:
    return Here(job)


def holds(value: Any, deep: int = DEEP) -> bool:
    """Whether a value is the message, the parcel or its text, or has one of them in it."""
    from comity.frontier.messages import Parcel
    from comity.frontier.values import Message

    if isinstance(value, str):
        return MARK in value and value.startswith('[["http')  # messages, as JSON
    if isinstance(value, Message):
        return MARK in value.url
    if isinstance(value, Parcel):
        return MARK in value.text
    if deep and isinstance(value, dict):
        value = list(value.values())
    if deep and isinstance(value, list | tuple):
        return len(value) <= CROWD and any(holds(each, deep - 1) for each in value)
    if deep and is_dataclass(value) and type(value).__name__ in OPENED:
        return any(holds(getattr(value, each.name), deep - 1) for each in fields(value))
    return False


def way(store: str | None) -> dict[Hop, None]:
    """The functions that the link passes."""
    import comity
    from comity.crawler import Crawler
    from comity.crawler.cluster.workers import Workers
    from comity.crawler.storage.placement import shard_of
    from comity.net import ClientSettings

    assert shard_of(HERE, 2) != shard_of(THERE, 2)
    root, found = str(Path(comity.__file__).parent) + os.sep, dict[Hop, None]()

    def profile(frame: FrameType, event: str, returned: Any) -> None:
        hop = hop_of(frame, root) if event == "return" else None
        if hop is None or hop in found or hop[1].endswith(ASIDE):
            return
        values = [value for name, value in frame.f_locals.items() if name not in ("self", "cls")]
        if any(map(holds, [*values, returned])):
            found[hop] = None

    policy = comity.Policy(agent="Bench/1.0", min_interval=0.0, allow_addresses=("127.0.0.0/8",))
    how: dict[str, Any] = {
        "policy": policy,
        "settings": {"scope": "any", "sitemaps": False},
        "client_settings": ClientSettings(resolve=dict.fromkeys((HERE, THERE), "127.0.0.1")),
        "workers": Workers(2, 2, store, start=start),
    }
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server, tempfile.TemporaryDirectory() as folder:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        seeds, place = [f"http://{HERE}:{server.server_address[1]}/"], Path(folder) / "crawl"
        crawl = Crawler(seeds, place, **how)
        threading.setprofile(profile)
        sys.setprofile(profile)
        try:
            stats = asyncio.run(crawl.run())
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
            server.shutdown()
            serving.join()
    if stats.pages != 2:
        raise SystemExit("the link did not arrive")
    return found


def main(stores: list[str | None]) -> None:
    for store in stores:
        passed = way(store)
        files = dict.fromkeys(file for file, _ in passed)
        print(f"a link from shard to shard, in a {'folder' if store is None else 'store'}: {len(files)} files")
        for file in files:
            print(f"  {file}: {', '.join(name for its, name in passed if its == file)}")


if __name__ == "__main__":
    if os.environ.get("COMITY_NO_EXTENSIONS") != "1":
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "COMITY_NO_EXTENSIONS": "1"})
    main([None, *sys.argv[2:3]])
