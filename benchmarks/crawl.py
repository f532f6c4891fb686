"""Crawling one site beside other crawlers: the same pages, robots.txt respected, links extracted, JSON Lines out.

Run by `make bench-crawl`; needs nginx, which serves the site. Each crawler is a process of its own, and its pages are
counted in its own output; pages per second are from its start to its end, without the time to start the interpreter,
CPU a page is all that the process used. Beside Scrapy and Crawlee there are spider (Rust) and Colly (Go) where cargo
and go are found (see peers/): they keep nothing that outlives them but their output, and spider's is URLs and lengths.
"""

import argparse
import asyncio
import json
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from common import at_least_one, row, start_nginx, table

PORT = 8462
START = f"http://127.0.0.1:{PORT}/p/0.html"
LINKS = 60
WORDS = ("the", "quick", "brown", "fox", "jumps", "over", "lazy", "dogs", "while", "many", "pages", "wait", "to", "be")


def make_site(folder: Path, pages: int, seed: int = 20_260) -> None:
    """Pages of 10 KB with 60 links each, most of them within the site; one in ten leads to what is forbidden."""
    rng = random.Random(seed)
    (folder / "p").mkdir(parents=True)
    (folder / "robots.txt").write_text("User-agent: *\nDisallow: /private/\nDisallow: /*?print=\n")
    for number in range(pages):
        targets = [number * 7 + 1, number * 7 + 2, *(rng.randrange(pages) for _ in range(LINKS - 8))]
        links = [f"/p/{target % pages}.html" for target in targets]
        links += [f"/private/{rng.randrange(pages)}", f"/p/{number}.html?print=1", "#top", "mailto:me@example.com"]
        links += [f"{(number + 1) % pages}.html", f"../p/{(number + 2) % pages}.html"]
        body = "\n".join(
            f'<p><a href="{link}">Item {n}</a> {" ".join(rng.choices(WORDS, k=20))}</p>' for n, link in enumerate(links)
        )
        (folder / "p" / f"{number}.html").write_text(
            f"<!doctype html><html><head><meta charset=utf-8><title>Page {number}</title></head>"
            f"<body>{body}</body></html>"
        )
    for path in (folder, folder / "p"):
        path.chmod(0o755)


def nginx(folder: Path, site: Path) -> "subprocess.Popen[bytes]":
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log /dev/null; worker_processes 1;\n"
        "events { worker_connections 4096; }\n"
        f"http {{ access_log off; keepalive_requests 10000000; types {{ text/html html; text/plain txt; }}\n"
        f"server {{ listen 127.0.0.1:{PORT} backlog=4096; root {site}; }} }}\n"
    )
    return start_nginx(folder, PORT)


def by_comity(output: Path, most: int) -> float:
    import uvloop

    from comity.cli.process import tune
    from comity.crawler import Crawler, CrawlSettings
    from comity.net import ClientSettings
    from comity.policy import Policy

    tune()  # as the command does
    policy = Policy(agent="Bench/1.0", min_interval=0.0, allow_addresses=("127.0.0.0/8",))
    settings = CrawlSettings(max_pages=most, concurrency=32, per_host=32)
    crawler = Crawler([START], output, policy=policy, settings=settings, client_settings=ClientSettings())
    started = time.perf_counter()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(crawler.run())
    return time.perf_counter() - started


def by_scrapy(output: Path, most: int) -> float:
    import scrapy
    from scrapy.crawler import CrawlerProcess
    from scrapy.linkextractors import LinkExtractor

    class Site(scrapy.Spider):
        name = "site"
        start_urls = (START,)
        links = LinkExtractor()

        def parse(self, response):  # type: ignore[no-untyped-def]
            yield {"url": response.url, "title": response.css("title::text").get(), "body": response.text}
            for link in self.links.extract_links(response):
                yield response.follow(link, callback=self.parse)

    process = CrawlerProcess(
        {
            "ROBOTSTXT_OBEY": True,
            "CONCURRENT_REQUESTS": 32,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 32,
            "DOWNLOAD_DELAY": 0,
            "CLOSESPIDER_ITEMCOUNT": most,
            "LOG_LEVEL": "ERROR",
            "TELNETCONSOLE_ENABLED": False,
            "FEEDS": {str(output / "pages.jsonl"): {"format": "jsonlines"}},
        }
    )
    process.crawl(Site)
    started = time.perf_counter()
    process.start()
    return time.perf_counter() - started


def by_crawlee(output: Path, most: int) -> float:
    import logging

    from crawlee import ConcurrencySettings
    from crawlee.configuration import Configuration
    from crawlee.crawlers import ParselCrawler, ParselCrawlingContext

    async def run() -> float:
        crawler = ParselCrawler(
            max_requests_per_crawl=most,
            respect_robots_txt_file=True,
            concurrency_settings=ConcurrencySettings(min_concurrency=32, max_concurrency=32, desired_concurrency=32),
            configuration=Configuration(storage_dir=str(output / "storage")),
            configure_logging=False,
        )
        logging.disable(logging.INFO)
        with (output / "pages.jsonl").open("w") as file:

            @crawler.router.default_handler
            async def page(context: ParselCrawlingContext) -> None:
                title = context.selector.css("title::text").get()
                body = (await context.http_response.read()).decode()
                file.write(json.dumps({"url": context.request.url, "title": title, "body": body}) + "\n")
                await context.enqueue_links()

            started = time.perf_counter()
            await crawler.run([START])
            return time.perf_counter() - started

    return asyncio.run(run())


PEERS = Path(__file__).parent / "peers"
BUILT = Path(__file__).parents[1] / ".venv" / "peers"  # outlives a run: to build spider takes many minutes


def spider() -> list[str]:
    command = ["cargo", "build", "--release", "--quiet", "--target-dir", str(BUILT / "spider")]
    subprocess.run(command, cwd=PEERS / "spider", check=True)
    return [str(BUILT / "spider" / "release" / "bench-spider")]


def colly() -> list[str]:
    subprocess.run(["go", "build", "-o", str(BUILT / "colly"), "."], cwd=PEERS / "colly", check=True)
    return [str(BUILT / "colly")]


OTHERS: dict[str, tuple[str, Callable[[], list[str]]]] = {"spider": ("cargo", spider), "Colly": ("go", colly)}
CRAWLERS: dict[str, Callable[[Path, int], float]] = {"comity": by_comity, "Scrapy": by_scrapy, "Crawlee": by_crawlee}


@dataclass(frozen=True)
class Figures:
    speed: float  # pages a second
    cpu: float  # seconds a page, from the start of the process to its end
    forbidden: int  # URLs fetched that robots.txt disallows


def measured(name: str, most: int, folder: Path, program: list[str]) -> Figures:
    """What one crawler did in a process of its own; `program` is empty for those that are in Python."""
    output = folder / f"{name}-{time.monotonic_ns()}"
    output.mkdir()
    command = [sys.executable, __file__, "--one", name, "--pages", str(most), "--output", str(output)]
    if program:
        command = [*program, START, str(most), str(output / "pages.jsonl")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ran.returncode:
        raise SystemExit(f"{name} failed:\n{ran.stderr[-3000:]}")
    with (output / "pages.jsonl").open("rb") as file:
        urls = {json.loads(line)["url"] for line in file}
    shutil.rmtree(output)
    forbidden = sum("/private/" in url or "print=" in url for url in urls)
    assert not forbidden or program, f"{name} fetched what is forbidden"
    used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Figures(len(urls) / float(ran.stdout.splitlines()[-1]), used / len(urls), forbidden)


def raw(pages: int) -> float:
    """Pages per second of fetching, reading links and joining them, with everything in memory and nobody asked."""
    import aiohttp
    import uvloop

    from comity_pages.signals.links import read_page

    async def run() -> float:
        seen, queue, done = {START}, [START], 0
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=32)) as session:

            async def work() -> None:
                nonlocal done
                while done < pages:
                    if not queue:
                        await asyncio.sleep(0.001)
                        continue
                    url = queue.pop()
                    async with session.get(url) as response:
                        body = await response.read()
                    done += 1
                    for link in read_page(body, url, response.headers.get("Content-Type")).links:
                        if link.url not in seen and "/p/" in link.url and "?" not in link.url:
                            seen.add(link.url)
                            queue.append(link.url)

            started = time.perf_counter()
            await asyncio.gather(*(work() for _ in range(32)))
            return done / (time.perf_counter() - started)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(run())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pages", type=at_least_one, default=6_000)
    parser.add_argument("--rounds", type=at_least_one, default=3)
    parser.add_argument("--without", nargs="*", default=[], help="crawlers to leave out, such as Crawlee and spider")
    parser.add_argument("--one", choices=CRAWLERS)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.one:
        print(CRAWLERS[options.one](options.output, options.pages))
        return
    programs: dict[str, list[str]] = {name: [] for name in CRAWLERS if name not in options.without}
    missing = {}
    for name, (tool, build) in OTHERS.items():
        if name in options.without:
            continue
        if shutil.which(tool):
            programs[name] = build()
        else:
            missing[name] = tool
    most = {"Scrapy": 600, "Crawlee": 400}  # they are slow
    rounds, bare = [], []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        folder.chmod(0o755)
        make_site(folder / "site", options.pages)
        server = nginx(folder, folder / "site")
        try:
            for _ in range(options.rounds):
                ran = programs.items()
                rounds.append({name: measured(name, most.get(name, options.pages), folder, it) for name, it in ran})
                bare.append(raw(options.pages))
        finally:
            server.terminate()
            server.wait()
    print(f"one site, {options.pages:,} pages of 10 KB with {LINKS} links, medians of {options.rounds}")
    table("crawler", "pages a second", "processor time a page", "beside comity")
    for name in programs:
        speed = statistics.median(each[name].speed for each in rounds)
        cpu = statistics.median(each[name].cpu for each in rounds)
        ratio = statistics.median(each["comity"].speed / each[name].speed for each in rounds)
        beside = "" if name == "comity" else f"comity is {ratio:.1f} times as fast"
        if forbidden := max(each[name].forbidden for each in rounds):
            beside += f"; it fetched {forbidden:,} URLs that robots.txt disallows"
        row(name, f"{speed:.0f}", f"{cpu * 1000:.1f} ms", beside)
    for name, tool in missing.items():
        row(name, "not measured", "", f"there is no {tool} here")
    for name in options.without:
        row(name, "not measured", "", "left out")
    share = statistics.median(each["comity"].speed / alone for each, alone in zip(rounds, bare, strict=True))
    fastest = f"{statistics.median(bare):.0f}"
    row("fetch, read links and join, all in memory", fastest, "", f"comity is {share:.1f} times as fast")


if __name__ == "__main__":
    main()
