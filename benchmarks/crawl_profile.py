"""Where a page's time goes in a crawl: CPU of the loop's thread by part of the program, and of the thread that commits.

Run by `python benchmarks/crawl_profile.py`; needs nginx. The site is that of crawl.py. A timer samples the thread that
runs the loop every millisecond of CPU time; a sample counts for the innermost frame that belongs to a part.
"""

import asyncio
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from types import FrameType

import crawl
import uvloop

from comity.cli.process import tune
from comity.crawler import Crawler, CrawlSettings
from comity.crawler.run.results import PendingCommit
from comity.policy import Policy

PARTS = (
    ("reading the page: tags, links, encoding", ("comity_pages.signals",)),
    (
        "discovery: scope, traps, robots.txt for each new link",
        (
            *(
                f"comity.crawler.finding.{name}"
                for name in ("admission", "canonicalize", "discovery", "scope", "traps")
            ),
            *("comity.policy", "comity_robots"),
        ),
    ),
    (
        "records and ledger",
        (
            "comity.crawler.output",
            "comity.crawler.finding.duplicates",
            *(f"comity.crawler.run.{name}" for name in ("outcomes", "book")),
        ),
    ),
    ("the queue and what was met before", ("comity.frontier",)),
    ("the gate and the client", ("comity.gate", "comity.net")),
    ("whose turn it is", ("comity.crawler",)),
    ("aiohttp", ("aiohttp", "yarl", "multidict")),
    ("the loop, the kernel and what else there is", ("",)),
)
EVERY = 0.001  # seconds of CPU


def part_of(frame: FrameType | None) -> str:
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        for name, prefixes in PARTS[:-1]:
            if module.startswith(prefixes):
                return name
        frame = frame.f_back
    return PARTS[-1][0]


def main(pages: int) -> None:
    samples: Counter[str] = Counter()
    commits = 0.0
    write = PendingCommit.write

    def timed(self: PendingCommit, *args: object, **named: object) -> object:
        nonlocal commits
        started = time.thread_time()
        done = write(self, *args, **named)  # type: ignore[arg-type]
        commits += time.thread_time() - started
        return done

    PendingCommit.write = timed  # type: ignore[method-assign]
    tune()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        crawl.make_site(folder / "site", pages)
        server = crawl.nginx(folder, folder / "site")
        policy = Policy(agent="Bench/1.0", min_interval=0.0, allow_addresses=("127.0.0.0/8",))
        settings = CrawlSettings(max_pages=pages, concurrency=32, per_host=32)
        crawler = Crawler([crawl.START], folder / "out", policy=policy, settings=settings)
        signal.signal(signal.SIGPROF, lambda _, frame: samples.update((part_of(frame),)))
        signal.setitimer(signal.ITIMER_PROF, EVERY, EVERY)
        began, loop_began = time.perf_counter(), time.thread_time()
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                kept = runner.run(crawler.run()).pages
        finally:
            loop, wall = time.thread_time() - loop_began, time.perf_counter() - began
            signal.setitimer(signal.ITIMER_PROF, 0)
            server.terminate()
            server.wait()
    print(f"{kept:,} pages, {kept / wall:.0f} a second: {wall / kept * 1e6:.0f} us a page")
    print(f"the loop's thread is busy for {loop / kept * 1e6:4.0f} us a page, of them")
    total = sum(samples.values())
    for name, _ in PARTS:
        print(f"  {samples[name] / total:4.0%} {loop / kept * samples[name] / total * 1e6:5.0f} us  {name}")
    print(f"the thread that commits for    {commits / kept * 1e6:4.0f} us a page, mostly beside it")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 6_000)
