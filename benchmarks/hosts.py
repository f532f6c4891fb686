"""Many hosts met, few of them asked: what a host that waits costs, and how soon a crawl of all of them goes on.

Run by `make bench-hosts HOSTS=1000000`. Hosts are addresses of the loopback network, all served by one process: each
page names a thousand others, so that HOSTS/1000 pages name them all. The crawl is stopped once it has met them; then it
is begun again on the same folder, in a process of its own, and the time is taken from its start to the first request
that the server sees. Memory is what is resident, after garbage was collected and free memory handed back.
"""

import argparse
import asyncio
import ctypes
import gc
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import uvloop

from comity.cli.crawl import tune
from comity.crawler import Crawler, CrawlSettings
from comity.policy import Policy

NAMED = 1_000  # by each page


def address(number: int) -> str:
    """The host with a number, beginning at 127.1.0.0."""
    return f"127.{1 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"


class Server(asyncio.Protocol):
    """One connection. A host's number says which others its page names."""

    port = hosts = 0
    asked: list[float] = []  # noqa: RUF012

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.rest = b""

    def data_received(self, data: bytes) -> None:
        self.rest += data
        while (end := self.rest.find(b"\r\n\r\n")) >= 0:
            head, self.rest = self.rest[:end].decode("latin-1"), self.rest[end + 4 :]
            self.asked.append(time.time())
            body, kind = "", "text/plain"
            found = re.search(r"(?im)^host: 127\.(\d+)\.(\d+)\.(\d+)", head)
            if found and head.split(" ", 2)[1] == "/":
                number = (int(found[1]) - 1 << 16) + (int(found[2]) << 8) + int(found[3])
                named = range(number * NAMED + 1, min((number + 1) * NAMED, self.hosts - 1) + 1)
                body = "".join(f'<a href="http://{address(each)}:{self.port}/">x</a>' for each in named)
                kind = "text/html"
            answer = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
            self.transport.write(answer.encode())


def serve(pipe: Connection, hosts: int) -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(Server, "0.0.0.0", 0, backlog=4096)
        Server.port, Server.hosts = server.sockets[0].getsockname()[1], hosts
        pipe.send(Server.port)
        while await loop.run_in_executor(None, pipe.recv) != "stop":
            pipe.send(Server.asked)
            Server.asked = []

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())


def resident() -> float:
    """MB that this process has in memory, without what could be handed back."""
    gc.collect()
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def crawl(folder: Path, port: int, hosts: int, *, again: bool) -> dict[str, float]:
    """Crawl until all hosts are met or, again, until a hundred pages more are there."""
    tune()  # as the command does
    policy = Policy(agent="Bench/1.0", allow_addresses=("127.0.0.0/8",))
    settings = CrawlSettings(concurrency=64, scope="any", sitemaps=False)
    crawler = Crawler([f"http://{address(0)}:{port}/"], folder, policy=policy, settings=settings)
    figures: dict[str, float] = {}
    begun: list[int] = []  # pages when it began

    def begins() -> None:
        begun.append(crawler.stats.pages)
        figures["cpu_begun"] = time.process_time()

    async def watch() -> None:
        while "resident" not in figures:
            await asyncio.sleep(0.05)
            now = crawler.snapshot()
            if begun and (now.stats.pages >= begun[0] + 100 if again else sum(now.urls.values()) >= hosts):
                figures.update(resident=resident(), pages=now.stats.pages, in_memory=sum(now.states.values()))
                crawler.stop()

    async def run() -> None:
        crawler.on_begin = begins
        watching = asyncio.create_task(watch())
        await crawler.run()
        watching.cancel()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())
    return figures


def measured(folder: Path, port: int, hosts: int, again: bool) -> dict[str, float]:
    words = ["--crawl", str(folder), "--port", str(port), "--hosts", str(hosts), *(["--again"] if again else [])]
    ran = subprocess.run([sys.executable, __file__, *words], stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, float] = json.loads(ran.stdout.splitlines()[-1])
    return figures


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", type=int, default=1_000_000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--crawl", type=Path)
    parser.add_argument("--port", type=int)
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    if options.crawl:
        print(json.dumps(crawl(options.crawl, options.port, options.hosts, again=options.again)))
        return
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs, options.hosts))
    server.start()
    port = ours.recv()
    try:
        with tempfile.TemporaryDirectory() as name:
            few = measured(Path(name) / "few", port, 1 + NAMED, False)
            first = measured(Path(name) / "crawl", port, options.hosts, False)
            ours.send("asked")
            ours.recv()
            started = time.time()
            again = measured(Path(name) / "crawl", port, options.hosts, True)
            ours.send("asked")
            asked = ours.recv()
    finally:
        ours.send("stop")
        server.join()
    more = first["resident"] - few["resident"]
    figures = {
        "hosts": options.hosts,
        "pages": first["pages"],
        "in_memory": first["in_memory"],
        "megabytes": more,
        "bytes_a_host": more * 1e6 / options.hosts,
        "again_after": min(asked) - started,
        "again_megabytes": again["resident"],
        "again_cpu": again["cpu_begun"],
    }
    if options.json:
        print(json.dumps(figures))
        return
    print(f"{options.hosts:,} hosts met by {first['pages']:,.0f} pages; {first['in_memory']:,.0f} are in memory")
    print(f"memory       {more:.0f} MB more than with a thousand hosts, {first['resident']:.0f} in all")
    print(f"             {figures['bytes_a_host']:.0f} bytes a host")
    print(f"begun again  first request after {figures['again_after']:.1f} s, {figures['again_cpu']:.1f} s of CPU")
    print(f"             100 pages later {again['resident']:.0f} MB")


if __name__ == "__main__":
    main()
