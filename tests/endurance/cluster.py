"""A crawl of many hosts by several processes, of which one after the other is killed or stands still for too long.

Run by `make test-cluster`; CLUSTER_HOSTS, CLUSTER_PAGES, CLUSTER_BLOWS and CLUSTER_WORKERS make it longer. What came
out is compared with what the sites hold, and with their own notes of who asked for what and when. Exit code 1: a page
is lost or there twice, a host was asked too early, or for what its robots.txt forbids, or after it was ordered to be
left alone.
"""

import asyncio
import itertools
import json
import multiprocessing
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from comity.audit.prove import prove
from comity.crawler import Crawler
from comity.crawler.cluster.workers import Workers
from comity.crawler.storage import orders
from comity.crawler.storage.folder import FolderCrawl
from comity.frontier.durable import make_folder
from comity.policy import Policy

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # servers on loopback

import loopback
from loopback import Requests

HOSTS = int(os.environ.get("CLUSTER_HOSTS", "60"))
PAGES = int(os.environ.get("CLUSTER_PAGES", "12"))
BLOWS = int(os.environ.get("CLUSTER_BLOWS", "6"))
WORKERS = int(os.environ.get("CLUSTER_WORKERS", "4"))
INTERVAL = 0.5  # seconds
STALLED = 8.0  # seconds of silence after which a worker is killed
PAUSE = (0.5, 3.0)  # seconds between two blows
POLICY = Policy(min_interval=INTERVAL, allow_addresses=("127.0.0.0/8",))


def name_of(number: int) -> str:
    return f"127.1.{number // 250}.{number % 250 + 1}"


def answer(number: int, port: int, path: str) -> tuple[int, str, str]:
    """Status, content type (a location for a redirect) and body of a host's answer."""

    def url(other: int, path: str) -> str:
        return f"http://{name_of(other % HOSTS)}:{port}{path}"

    _, kind, *rest = path.split("/")
    page = int(rest[0]) if rest and rest[0].isdigit() else 0
    rules = "User-agent: *\nDisallow: /no/\n"
    match kind:
        case "robots.txt" if number % 10 == 7:
            return 301, url(number + 1, f"/robots-of/{number}"), ""
        case "robots.txt" | "robots-of":
            return 200, "text/plain", rules
        case "p" if page < PAGES:
            links = [f"/p/{page + 1}", "/no/1", url(number + 1, f"/p/{page}"), url(number * 7 + 3, f"/p/{page}")]
            links += ["/moved/1"] * (page == 1)
            return 200, "text/html", "".join(f'<a href="{link}">x</a>' for link in links if link != f"/p/{PAGES}")
        case "moved":
            return 302, url(number + 5, "/landed/1"), ""
        case "landed":
            return 200, "text/html", f"<title>{number}</title>"
    return 404, "text/plain", "not here"


def wanted(port: int) -> set[str]:
    """The pages that there are."""
    paths = [*(f"/p/{page}" for page in range(PAGES)), "/landed/1"]
    return {f"http://{name_of(number)}:{port}{path}" for number in range(HOSTS) for path in paths}


class Server(Requests):
    """One connection to any of the hosts; notes what is asked before it answers."""

    seen: list[tuple[float, str, str]] = []  # noqa: RUF012

    def asked(self, host: str, path: str) -> None:
        self.seen.append((time.monotonic(), self.host, path))
        parts = self.host.split(".")
        status, kind, body = answer(int(parts[2]) * 250 + int(parts[3]) - 1, self.port, path)
        self.answer(body, kind, status=status, location=kind if status in (301, 302) else None)


def serve(pipe: Connection) -> None:
    loopback.serve(Server, pipe, lambda: Server.seen)


class Blows:
    """What befalls the workers of one crawl."""

    def __init__(self, crawl: Crawler, rng: random.Random) -> None:
        self.crawl = crawl
        self.rng = rng
        self.kills = self.stops = 0
        self.recovery: list[float] = []  # seconds from a worker's death until its successor has begun

    async def befall(self) -> None:
        while not any(worker.begun for worker in self.crawl.processes):
            await asyncio.sleep(0.05)
        for blow in range(BLOWS):
            await asyncio.sleep(self.rng.uniform(*PAUSE))
            worker = self.rng.choice(self.crawl.processes)
            process = worker.process
            if process is None or process.returncode is not None or not worker.begun:
                continue
            if blow % 3 == 2:
                os.kill(process.pid, signal.SIGSTOP)
                self.stops += 1
                while process.returncode is None:  # until it is taken for dead, and is
                    await asyncio.sleep(0.05)
                try:
                    os.kill(process.pid, signal.SIGCONT)  # the zombie
                except ProcessLookupError:
                    pass
            else:
                process.kill()
                self.kills += 1
            died = time.monotonic()
            while worker.process is process or not worker.begun:
                await asyncio.sleep(0.02)
            self.recovery.append(time.monotonic() - died)


async def crawled(folder: Path, port: int, rng: random.Random) -> tuple[Crawler, Blows, float]:
    """Crawl all hosts among blows; gives when the last of them was ordered to be left alone."""
    crawl = Crawler(
        [f"http://{name_of(number)}:{port}/p/0" for number in range(0, HOSTS, 3)],
        folder,
        policy=POLICY,
        settings={"scope": "any", "sitemaps": False, "concurrency": 64, "traps": False},
        workers=Workers(WORKERS, stalled=STALLED),
    )
    blows = Blows(crawl, rng)
    running = asyncio.ensure_future(crawl.run())
    befalling = asyncio.ensure_future(blows.befall())
    while crawl.stats.pages < HOSTS * 2 and not running.done():
        await asyncio.sleep(0.05)
    orders.give(folder, name_of(0), "stop")
    ordered = time.monotonic()
    await running
    befalling.cancel()
    return crawl, blows, ordered


def main() -> int:
    seed = int(os.environ.get("CLUSTER_SEED", str(random.randrange(1 << 30))))
    rng = random.Random(seed)
    context = multiprocessing.get_context("spawn")
    pipe, theirs = context.Pipe()
    server = context.Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    port: int = pipe.recv()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "crawl"
        make_folder(folder)
        begun = time.monotonic()
        _, blows, ordered = asyncio.run(crawled(folder, port, rng))
        took = time.monotonic() - begun
        orders.give(folder, name_of(0), "go")
        asyncio.run(Crawler([], folder, policy=POLICY, workers=2).run())
        found: Counter[str] = Counter()
        for part in FolderCrawl(folder).parts:
            with (part / "pages.jsonl").open("rb") as file:
                found.update(json.loads(line)["url"] for line in file)
        proof = prove(folder)
    pipe.send("seen")
    seen: list[tuple[float, str, str]] = pipe.recv()
    server.terminate()
    server.join()
    by_host: dict[str, list[float]] = defaultdict(list)
    for at, host, _ in seen:
        by_host[host].append(at)
    short = [later - earlier for times in by_host.values() for earlier, later in itertools.pairwise(times)]
    late = [at - ordered for at in by_host[name_of(0)] if at > ordered]
    in_vain = [each for each in late if each < took - (ordered - begun)]
    figures: dict[str, Any] = {
        "pages lost": len(wanted(port) - found.keys()),
        "pages written twice": sum(count > 1 for count in found.values()),
        "intervals too short": sum(each < INTERVAL for each in short),
        "requests forbidden": sum(path.startswith("/no/") for _, _, path in seen),
        "requests over a second after the order to stop": sum(each > 1.0 for each in in_vain),
        "findings of the proof": proof.found,
    }
    print(f"{HOSTS:,} hosts, {len(found):,} pages, {WORKERS} workers, {took:.0f} s, seed {seed}")
    print(f"{blows.kills} workers killed, {blows.stops} stopped for longer than {STALLED:g} s and then woken")
    if blows.recovery:
        print(f"their successors began after {statistics.median(blows.recovery):.1f} s (median)")
    print(f"{len(seen):,} requests; shortest interval {min(short):.3f} s of {INTERVAL:g} s")
    if in_vain:
        print(f"the last request after the order to stop came {max(in_vain):.2f} s after it")
    for what, count in figures.items():
        print(f"{count:7}  {what}")
    for finding in proof.findings[:5]:
        print(f"         {finding}")
    return 1 if any(figures.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
