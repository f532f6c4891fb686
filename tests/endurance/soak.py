"""An hour of crawling many hosts, slow and failing ones among them: does memory grow, do descriptors or the journal?

Run by `make soak SECONDS=3600`. A process of its own serves HOSTS=2000 names on loopback: real pages where the corpus
is there, made ones of like sizes where it is not. Of twenty hosts one answers after seconds, one fails (500, 503, an
answer cut off, a connection closed) and of forty one never answers. Every link of a page leads to another page, so
there is always more. Memory's slope is that of a line fitted by least squares to what is resident, after the warm-up.
"""

import argparse
import asyncio
import gzip
import json
import math
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path

import uvloop

from comity.cli.process import tune
from comity.crawler import Crawler, CrawlSettings
from comity.net import ClientSettings
from comity.policy import Policy

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # servers on loopback

from common import above_zero, at_least_one
from loopback import Requests, beside, serve

CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "pages" / "html"
MADE = 200  # pages, where there is no corpus
SHORTEST = 20  # seconds after the warm-up
NEXT = "Link: </%d>; rel=next\r\n"  # so that a page without links leads on too


def bodies(seed: int = 17) -> list[bytes]:
    """Pages packed by gzip."""
    if CORPUS.exists():
        return [path.read_bytes() for path in sorted(CORPUS.glob("*.html.gz"))]
    numbers = random.Random(seed)
    pages = []
    for number in range(MADE):
        size = min(int(numbers.lognormvariate(11.7, 1.2)), 5_000_000)
        lines = [
            f'<p>{numbers.random()} <a href="/{numbers.randrange(10**6)}">{numbers.random()}</a></p>{" " * 40}'
            for _ in range(size // 120 + 1)
        ]
        pages.append(gzip.compress(f"<!doctype html><title>Page {number}</title>{''.join(lines)}".encode(), 1))
    return pages


class Server(Requests):
    """One connection. What a host is like, its number says."""

    pages: list[bytes] = []  # noqa: RUF012
    answered = 0

    def asked(self, host: str, path: str) -> None:
        found = re.match(r"host(\d+)", host)
        self.serve(int(found[1]) if found else 0, path)

    def serve(self, host: int, path: str) -> None:
        number = zlib.crc32(f"{host}{path}".encode())
        if host % 40 == 7:
            return
        if path == "/robots.txt":
            self.send(b"User-agent: *\nDisallow: /private/\n", "Content-Type: text/plain\r\n")
        elif host % 20 == 3:
            asyncio.get_running_loop().call_later(2 + number % 10, self.page, number)
        elif host % 20 == 11 and number % 4 == 0:
            self.transport.abort()
        elif host % 20 == 11 and number % 4 == 1:
            self.page(number, lacking=100)
            self.transport.close()
        elif host % 20 == 11:
            self.send(b"no", "Content-Type: text/plain\r\n", status=500 if number % 4 == 2 else 503)
        else:
            self.page(number)

    def page(self, number: int, *, lacking: int = 0) -> None:
        body = self.pages[number % len(self.pages)]
        kind = f"Content-Type: text/html\r\nContent-Encoding: gzip\r\n{NEXT % (number % 10**6)}"
        self.send(body, kind, lacking=lacking)

    def send(self, body: bytes, headers: str, *, status: int = 200, lacking: int = 0) -> None:
        if not self.transport.is_closing():
            Server.answered += 1
            head = f"HTTP/1.1 {status} OK\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
            self.transport.write(head.encode() + body[: len(body) - lacking])


def run_server(pipe: Connection) -> None:
    Server.pages = bodies()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    serve(Server, pipe, lambda: Server.answered, "127.0.0.1")


def crawl(folder: Path, port: int, hosts: int, seconds: float, rate: float) -> None:
    tune()  # as the command does
    names = [f"host{number}.test" for number in range(hosts)]
    policy = Policy(agent="Bench/1.0", min_interval=hosts / rate, allow_addresses=("127.0.0.0/8",))
    client = ClientSettings(resolve=dict.fromkeys(names, "127.0.0.1"), timeout=20.0)
    settings = CrawlSettings(concurrency=64, scope="host", sitemaps=False)
    seeds = [f"http://{name}:{port}/1" for name in names]
    crawler = Crawler(
        seeds, folder, policy=policy, settings=settings, client_settings=client, plugins={"sink": "jsonl.gz"}
    )

    async def run() -> None:
        asyncio.get_running_loop().call_later(seconds, crawler.stop)
        await crawler.run()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())


def fitted(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The slope of the line with the least squares, and its standard error."""
    count = len(points)
    x = sum(point[0] for point in points) / count
    y = sum(point[1] for point in points) / count
    spread = sum((point[0] - x) ** 2 for point in points)
    slope = sum((point[0] - x) * (point[1] - y) for point in points) / spread
    rest = sum((point[1] - y - slope * (point[0] - x)) ** 2 for point in points)
    return slope, math.sqrt(rest / (count - 2) / spread)


def resident(process: int) -> float:
    """MB that a process has in memory."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def measured(hosts: int, seconds: float, rate: float, warm_up: float) -> dict[str, float]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, beside(run_server) as (server, port):
        return watched(Path(name), server, port, hosts, seconds, rate, warm_up)


def watched(
    folder: Path, server: Connection, port: int, hosts: int, seconds: float, rate: float, warm_up: float
) -> dict[str, float]:
    words = ["--crawl", str(folder / "out"), "--port", str(port), "--hosts", str(hosts), "--rate", str(rate)]
    process = subprocess.Popen([sys.executable, __file__, *words, "--seconds", str(seconds)])
    samples: list[tuple[float, float, int, int, int]] = []  # time, memory, descriptors, journal, answers
    begun = time.monotonic()
    try:
        while process.poll() is None:
            now = time.monotonic() - begun
            if now < seconds:
                server.send("how many")
                answers = server.recv()
                journal = folder / "out" / "frontier.sqlite-wal"
                size = journal.stat().st_size if journal.exists() else 0
                descriptors = sum(1 for _ in Path(f"/proc/{process.pid}/fd").iterdir())
                samples.append((now, resident(process.pid), descriptors, size, answers))
            time.sleep(1)
        ended = time.monotonic() - begun
        written = sum(path.stat().st_size for path in (folder / "out").rglob("*") if path.is_file())
    finally:
        process.kill()
        process.wait()
    if process.returncode or ended < seconds:
        raise SystemExit(f"the crawl ended with code {process.returncode} after {ended:.0f} s")
    steady = [sample for sample in samples if sample[0] > warm_up]
    middle = len(steady) // 2
    slope, error = fitted([(sample[0] / 3600, sample[1]) for sample in steady])

    def pace(part: Sequence[tuple[float, float, int, int, int]]) -> float:
        return (part[-1][4] - part[0][4]) / (part[-1][0] - part[0][0])

    return {
        "answers": samples[-1][4],
        "slope": slope,
        "error": error,
        "memory_before": steady[0][1],
        "memory_after": steady[-1][1],
        "most_memory": max(sample[1] for sample in samples),
        "most_descriptors": max(sample[2] for sample in samples),
        "last_descriptors": steady[-1][2],
        "most_journal": max(sample[3] for sample in samples) / 1e6,
        "first_half": pace(steady[:middle]),
        "second_half": pace(steady[middle:]),
        "written": written / 1e9,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", type=at_least_one, default=2_000)
    parser.add_argument("--seconds", type=above_zero, default=3_600.0)
    parser.add_argument("--rate", type=above_zero, default=50.0, help="requests a second that the hosts' delays allow")
    parser.add_argument("--warm-up", type=float, help="seconds; a sixth of all without it")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--crawl", type=Path)
    parser.add_argument("--port", type=int)
    options = parser.parse_args()
    if options.crawl:
        crawl(options.crawl, options.port, options.hosts, options.seconds, options.rate)
        return
    hosts, seconds = options.hosts, options.seconds
    warm_up = seconds / 6 if options.warm_up is None else options.warm_up
    if seconds - warm_up < SHORTEST:
        parser.error(f"--seconds: at least {SHORTEST} more than the {warm_up:.0f} of --warm-up, to fit a line to")
    found = measured(hosts, seconds, options.rate, warm_up)
    if options.json:
        print(json.dumps(found))
        return
    before, after, most = found["memory_before"], found["memory_after"], found["most_memory"]
    print(f"{hosts:,} hosts for {seconds:,.0f} s: {found['answers']:,} answers, {found['written']:.1f} GB")
    print(f"memory       {found['slope']:+.1f} MB an hour after {warm_up:.0f} s, standard error {found['error']:.1f}")
    print(f"             {before:.0f} MB then, {after:.0f} at the end, {most:.0f} at most")
    print(f"descriptors  {found['most_descriptors']} at most, {found['last_descriptors']} at the end")
    print(f"journal      {found['most_journal']:.1f} MB at most")
    print(
        f"answers/s    {found['first_half']:.1f} in the first half after that, {found['second_half']:.1f} in the second"
    )


if __name__ == "__main__":
    main()
