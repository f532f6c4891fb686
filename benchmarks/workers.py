"""One process beside several: the same pages on many hosts, in pages a second and pages a second of processor time.

Run by `make bench-workers`; needs nginx, for `--real` ../shared/corpus, and for `--store` PostgreSQL, whose server it
starts: then the queue of every run lies there. Small pages are those of
benchmarks/crawl.py, on many names, with links to other hosts; real ones those of benchmarks/broad.py, over TLS. Each
crawl is a process of its own with its workers, in turn in the same run. On a busy machine believe the processor time:
what a second of it yields with two workers, beside one, is what two free processors would gain.
"""

import argparse
import asyncio
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import broad
import crawl

sys.path.append(str(Path(__file__).parents[1] / "tests"))

PORT = 8463
AGENT = "Bench/1.0"


def small(folder: Path, hosts: int, pages: int) -> list[str]:
    """The seeds of a site of small pages with many names."""
    names = [f"host{number}.bench.test" for number in range(hosts)]
    crawl.make_site(folder / "site", pages)
    rng = random.Random(5)
    for number in range(pages):
        path = folder / "site" / "p" / f"{number}.html"
        others = "".join(
            f'<a href="http://{rng.choice(names)}:{PORT}/p/{rng.randrange(pages)}.html">other</a>' for _ in range(4)
        )
        path.write_text(path.read_text().replace("</body>", f"{others}</body>"))
    return [f"http://{name}:{PORT}/p/0.html" for name in names]


def used_by(process: int) -> float:
    """Seconds of processor time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children() -> list[int]:
    path = Path(f"/proc/self/task/{os.getpid()}/children")
    return [int(each) for each in path.read_text().split()]


def one(workers: int, shards: int, output: Path, about: dict[str, Any]) -> None:
    """One crawl; prints what it took."""
    import uvloop

    from comity.cli.process import tune
    from comity.crawler import Crawler, CrawlSettings
    from comity.crawler.cluster.workers import Workers
    from comity.net import ClientSettings
    from comity.policy import Policy

    tune()
    policy = Policy(agent=AGENT, min_interval=0.0, allow_addresses=("127.0.0.0/8",))
    resolve = {urlsplit(url).hostname or "": "127.0.0.1" for url in about["urls"]}
    client = ClientSettings(resolve=resolve, ca_file=about["ca"])
    settings = CrawlSettings(
        concurrency=64,
        scope="any",
        sitemaps=False,
        feeds=False,
        traps=not about["real"],
        max_depth=0 if about["real"] else None,
    )
    store = f"{about['store']}_{time.time_ns()}" if about["store"] else None
    many = Workers(workers, None if shards == 1 else shards, store)
    crawler = Crawler(about["urls"], output, policy=policy, settings=settings, client_settings=client, workers=many)
    begun = [0.0, 0.0]  # when all processes had begun and the first page was kept, and processor time by then
    pages = [0]

    async def run() -> None:
        task = asyncio.ensure_future(crawler.run())
        while not begun[0] and not task.done():
            await asyncio.sleep(0.02)
            if crawler.stats.pages and all(each.begun for each in crawler.processes):
                begun[:] = time.perf_counter(), used_by(os.getpid()) + sum(map(used_by, children()))
                pages[0] = crawler.stats.pages
        await task

    started = time.perf_counter()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())
    ended = time.perf_counter()
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    found = {
        "pages": crawler.stats.pages,
        "rest": crawler.stats.pages - pages[0],
        "seconds": ended - started,
        "steady": (crawler.stats.pages - pages[0]) / (ended - begun[0]),
        "cpu": sum(each.ru_utime + each.ru_stime for each in used) - begun[1],
    }
    print(json.dumps(found))


def measured(workers: int, shards: int, folder: Path) -> dict[str, float]:
    """What one crawl took, without the start of its processes."""
    output = folder / "output"
    command = [sys.executable, __file__, "--one", "--workers", str(workers), "--shards", str(shards)]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}  # as installed
    command += ["--folder", str(folder)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False, env=kept)
    if ran.returncode:
        raise SystemExit(f"{workers} workers failed:\n{ran.stderr[-3000:]}")
    figures: dict[str, float] = json.loads(ran.stdout.splitlines()[-1])
    seen: list[str] = []
    for file in output.rglob("pages.jsonl"):
        seen += [json.loads(line)["url"] for line in file.open("rb")]
    assert len(seen) == len(set(seen)) == figures["pages"], "a page is there twice, or lost"
    shutil.rmtree(output)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", type=int, default=40)
    parser.add_argument("--pages", type=int, default=200, help="of each host")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--real", action="store_true", help="the corpus' pages over TLS")
    parser.add_argument("--store", action="store_true", help="the queue in PostgreSQL")
    parser.add_argument("--runs", default="1x1,1x4,2x4,2x8", help="workers x shards")
    parser.add_argument("--one", action="store_true")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--shards", type=int)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    if options.one:
        about = json.loads((options.folder / "about.json").read_text())
        one(options.workers, options.shards, options.folder / "output", about)
        return
    runs = [tuple(map(int, each.split("x"))) for each in options.runs.split(",")]
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        folder.chmod(0o755)
        if options.real:
            (folder / "site").mkdir()
            site = broad.make_site(folder / "site", options.hosts, 1, delay=False)
            urls, ca = site.urls, str(folder / "ca.pem")
            server = broad.nginx(folder, folder / "site")
        else:
            urls, ca = small(folder, options.hosts, options.pages), None
            crawl.PORT = PORT
            server = crawl.nginx(folder, folder / "site")
        about = {"urls": urls, "ca": ca, "real": options.real, "store": None}
        if options.store:
            from postgres import programs, serve

            bin_ = programs()
            assert bin_ is not None, "PostgreSQL is not installed"
            about["store"] = stack.enter_context(serve(bin_, ("-c", "shared_buffers=256MB"), within=folder)).url(
                "bench"
            )
        (folder / "about.json").write_text(json.dumps(about))
        try:
            rounds = [[measured(*each, folder) for each in runs] for _ in range(options.rounds)]
        finally:
            server.terminate()
            server.wait()
    kind = "real pages over TLS" if options.real else "pages of 10 KB"
    print(f"{rounds[0][0]['pages']:,.0f} {kind} on {options.hosts} hosts, medians of {options.rounds} rounds")
    print("workers  shards   pages/s  beside one   pages/CPU s  beside one")
    for place, (workers, shards) in enumerate(runs):
        steady = statistics.median(each[place]["steady"] for each in rounds)
        gain = statistics.median(each[place]["steady"] / each[0]["steady"] for each in rounds)
        cpu = statistics.median(each[place]["rest"] / each[place]["cpu"] for each in rounds)
        share = statistics.median(
            each[place]["rest"] / each[place]["cpu"] * each[0]["cpu"] / each[0]["rest"] for each in rounds
        )
        print(f"{workers:7}  {shards:6}  {steady:8.0f}  {gain:10.2f}  {cpu:12.0f}  {share:10.2f}")


if __name__ == "__main__":
    main()
