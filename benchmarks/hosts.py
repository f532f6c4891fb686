"""Many hosts met, few of them asked: what a host that waits costs, and how soon a crawl of all of them goes on.

Run by `make bench-hosts HOSTS=1000000`. Hosts are addresses of the loopback network, all served by one process. A crawl
meets a thousand, and is stopped and begun again; then its frontier is told of all others, and it is begun again, in a
process of its own. The time is taken from its start to the first request that the server sees. Memory is what is
resident after some hundred requests, when garbage was collected and free memory handed back.
"""

import argparse
import asyncio
import ctypes
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

import uvloop
from common import at_least_one
from loopback import Requests, address, beside, serve

from comity.cli.process import tune
from comity.crawler import Crawler, CrawlSettings
from comity.crawler.run.hosts import MAX_HOSTS
from comity.frontier.sqlite.store import Frontier
from comity.frontier.values import Batch, EntryKind, Found, State
from comity.policy import Policy

NAMED = 1_000


class Server(Requests):
    """One connection. The first host's page names a thousand others."""

    times: list[float] = []  # noqa: RUF012

    def asked(self, host: str, path: str) -> None:
        self.times.append(time.time())
        body, kind = "", "text/plain"
        if path == "/" and host.startswith("127."):
            named = range(1, NAMED + 1) if host.partition(":")[0] == address(0) else range(0)
            body = "".join(f'<a href="http://{address(each)}:{self.port}/">x</a>' for each in named)
            kind = "text/html"
        self.answer(body, kind)


def told() -> list[float]:
    """When requests arrived since this was asked last."""
    times, Server.times = Server.times, []
    return times


def run_server(pipe: Connection) -> None:
    serve(Server, pipe, told)


def resident() -> float:
    """MB that this process has in memory, without what could be handed back."""
    gc.collect()
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def crawl(folder: Path, port: int, requests: int, at_least: int) -> dict[str, float]:
    """Begin a crawl, or go on with it, until so many requests more were answered, and so many hosts are in memory."""
    tune()  # as the command does
    policy = Policy(agent="Bench/1.0", allow_addresses=("127.0.0.0/8",))
    settings = CrawlSettings(concurrency=64, scope="any", sitemaps=False)
    figures: dict[str, float] = {}
    before: list[int] = []  # requests of earlier runs

    def answered() -> int:
        return sum(crawler.snapshot().requests.values())

    def met() -> int:
        return sum(crawler.snapshot().states.values())

    def begins() -> None:
        before.append(answered())
        figures["cpu"] = time.process_time()

    seed = f"http://{address(0)}:{port}/"
    crawler = Crawler([seed], folder, policy=policy, settings=settings)

    async def watch() -> None:
        while not (before and answered() >= before[0] + requests and met() >= at_least):
            await asyncio.sleep(0.05)
        figures.update(resident=resident(), in_memory=met())
        crawler.stop()

    async def run() -> None:
        watching = asyncio.create_task(watch())
        await crawler.run(on_begin=begins)
        await watching

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())
    return figures


def meet(folder: Path, port: int, hosts: int) -> None:
    """Have a crawl that was stopped meet hosts, as if its pages had named them."""
    with Frontier(folder / "frontier.sqlite") as frontier:
        for start in range(NAMED + 1, hosts + 1, NAMED):
            names = [address(number) for number in range(start, min(start + NAMED, hosts + 1))]
            found = [Found(f"http://{name}:{port}/", name, 1, EntryKind.PAGE, State.UNASKED) for name in names]
            with frontier.commit(Batch(found=found)):
                pass


def measured(folder: Path, port: int, requests: int, hosts: int) -> dict[str, float]:
    words = ["--crawl", str(folder), "--port", str(port), "--requests", str(requests), "--hosts", str(hosts)]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}  # as installed
    ran = subprocess.run([sys.executable, __file__, *words], stdout=subprocess.PIPE, text=True, check=True, env=kept)
    figures: dict[str, float] = json.loads(ran.stdout.splitlines()[-1])
    return figures


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", type=at_least_one, default=1_000_000)
    parser.add_argument("--requests", type=at_least_one, default=500, help="of each run that is measured")
    parser.add_argument("--crawl", type=Path)
    parser.add_argument("--port", type=int)
    options = parser.parse_args()
    if options.crawl:
        print(json.dumps(crawl(options.crawl, options.port, options.requests, options.hosts)))
        return
    if options.hosts <= NAMED:
        parser.error(f"--hosts: more than the {NAMED:,} that they are compared with")
    with beside(run_server) as (server, port), tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "crawl"
        measured(folder, port, 50, 1)
        few = measured(folder, port, options.requests, NAMED)
        meet(folder, port, options.hosts)
        server.send("asked")
        server.recv()
        started = time.time()
        many = measured(folder, port, options.requests, min(options.hosts, MAX_HOSTS))
        server.send("asked")
        asked = server.recv()
    more = many["resident"] - few["resident"]
    print(f"{options.hosts:,} hosts met, {many['in_memory']:,.0f} of them in memory, few of them asked")
    print(f"memory       {many['resident']:.0f} MB; {few['resident']:.0f} with a thousand hosts")
    print(f"             so {more * 1e6 / (options.hosts - NAMED):.0f} bytes a host")
    print(f"begun again  first request after {min(asked) - started:.1f} s, {many['cpu']:.1f} s of CPU")


if __name__ == "__main__":
    main()
