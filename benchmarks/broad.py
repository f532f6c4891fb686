"""Real pages on many hosts over TLS, beside Scrapy: what crawling the web costs, not one small site.

Run by `make bench-broad HOSTS=200 COPIES=2`; needs nginx and ../shared/corpus. nginx serves the corpus' pages, packed
by gzip, with TLS 1.3 and one certificate for all of `*.bench.test`; each host has a real robots.txt, its Crawl-delay
taken out unless DELAY is given. Every crawler is given the same list of URLs, reads the links of each page and follows
none, and is a process of its own, which says what it used. What it fetched is counted in its output and in nginx's log.
"""

import argparse
import asyncio
import gzip
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from common import at_least_one, row, start_nginx, table

ROOT = Path(__file__).parents[1]
CORPUS = ROOT.parent / "shared" / "corpus"
PORT = 8470
AT_ONCE = 64
LOOK = 0.01  # seconds between two looks at the loop; every 2 ms a fifteenth of all CPU went there
AGENT = "Bench/1.0"


@dataclass
class Site:
    """The hosts made for one run: every URL, and those among them that robots.txt allows."""

    folder: Path
    urls: list[str]
    allowed: set[str]


def make_site(folder: Path, hosts: int, copies: int, delay: bool) -> Site:
    import comity  # not at the top: Scrapy's process is to have only what it needs

    names = [f"host{number}.bench.test" for number in range(hosts)]
    with gzip.open(CORPUS / "pages" / "truth.jsonl.gz", "rt", encoding="utf-8") as file:
        known = [json.loads(line) for line in file]
    files = sorted((CORPUS / "robots").glob("*.txt"))
    robots = {}
    for number, name in enumerate(names):
        (folder / name).mkdir()
        body = files[number * len(files) // hosts].read_bytes()
        if not delay:
            body = re.sub(rb"(?im)^\s*(crawl-delay|request-rate|visit-time)\s*:.*$", b"", body)
        (folder / name / "robots.txt").write_bytes(body)
        robots[name] = comity.parse(body)
    urls, allowed = [], set()
    for copy in range(copies):
        for number, page in enumerate(known):
            name = names[(copy * len(known) + number) % hosts]
            path = re.sub(r"[^A-Za-z0-9/._-]|\.\.|//", "", urlsplit(page["url"] or "").path).strip("/")[:150] or "index"
            path = f"/{path}-{copy}-{page['id']}.html"  # as deep as the page's own, and one file for each
            file = folder / name / (path[1:] + ".gz")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.symlink_to((CORPUS / "pages" / "html" / f"{page['id']}.html.gz").resolve())
            url = f"https://{name}:{PORT}{path}"
            urls.append(url)
            if robots[name].allowed(url, AGENT):
                allowed.add(url)
    return Site(folder, urls, allowed)


def nginx(folder: Path, site: Path) -> "subprocess.Popen[bytes]":
    import trustme  # not at the top: the processes that are measured have no use for it

    authority = trustme.CA()
    certificate = authority.issue_cert("*.bench.test")
    certificate.private_key_pem.write_to_path(folder / "key.pem")
    for number, blob in enumerate(certificate.cert_chain_pems):
        blob.write_to_path(folder / "cert.pem", append=bool(number))
    authority.cert_pem.write_to_path(folder / "ca.pem")
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log /dev/null; worker_processes 1; user root;\n"
        "events { worker_connections 8192; }\n"
        "http { keepalive_requests 1000000; types { text/html html; text/plain txt; }\n"
        "log_format asked '$connection $ssl_session_reused $status $bytes_sent $host $request_uri';\n"
        f"access_log {folder}/asked.log asked buffer=64k flush=1s;\n"
        f"ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem; ssl_protocols TLSv1.3;\n"
        "ssl_session_cache shared:tls:20m; gzip_static on; gunzip on; gzip on; gzip_types text/plain;\n"
        f"server {{ listen 127.0.0.1:{PORT} ssl backlog=8192; root {site}/$host; }} }}\n"
    )
    return start_nginx(folder, PORT)


@dataclass
class Blocks:
    """The longest that the loop did not come round, in seconds: by the clock, which tells of a busy machine too, and
    the processor time that the loop's own thread used meanwhile, which does not."""

    clock: float = 0.0
    processor: float = 0.0

    async def watch(self) -> None:
        while True:
            before, used = time.perf_counter(), time.thread_time()
            await asyncio.sleep(LOOK)
            self.clock = max(self.clock, time.perf_counter() - before - LOOK)
            self.processor = max(self.processor, time.thread_time() - used)


def by_comity(output: Path, urls: list[str]) -> dict[str, float]:
    import uvloop

    from comity.cli.process import tune
    from comity.crawler import Crawler, CrawlSettings
    from comity.net import ClientSettings
    from comity.policy import Policy

    tune()  # as the command does
    policy = Policy(agent=AGENT, min_interval=0.0, allow_addresses=("127.0.0.0/8",))
    client = ClientSettings(
        resolve={urlsplit(url).hostname or "": "127.0.0.1" for url in urls}, ca_file=str(output.parent / "ca.pem")
    )
    settings = CrawlSettings(max_depth=0, concurrency=AT_ONCE, sitemaps=False, feeds=False, scope="any", traps=False)
    crawler = Crawler(urls, output, policy=policy, settings=settings, client_settings=client)
    blocks = Blocks()

    async def run() -> None:
        watch = asyncio.create_task(blocks.watch())
        await crawler.run()
        watch.cancel()

    started = time.perf_counter()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())
    return {"seconds": time.perf_counter() - started, "blocked": blocks.clock, "turn": blocks.processor}


def by_scrapy(output: Path, urls: list[str]) -> dict[str, float]:
    import scrapy
    from scrapy.crawler import CrawlerProcess
    from scrapy.linkextractors import LinkExtractor
    from scrapy.resolver import CachingThreadedResolver
    from twisted.internet.defer import Deferred, succeed

    class Loopback(CachingThreadedResolver):
        def getHostByName(self, name: str, timeout: object = ()) -> "Deferred[str]":  # noqa: N802 as Twisted calls it
            return succeed("127.0.0.1")

    class Pages(scrapy.Spider):
        name = "pages"
        links = LinkExtractor()

        async def start(self):  # type: ignore[no-untyped-def]
            for url in urls:
                yield scrapy.Request(url)

        def parse(self, response):  # type: ignore[no-untyped-def]
            found = self.links.extract_links(response)
            title = response.css("title::text").get()
            yield {"url": response.url, "title": title, "links": len(found), "body": response.text}

    process = CrawlerProcess(
        {
            "ROBOTSTXT_OBEY": True,
            "USER_AGENT": AGENT,
            "CONCURRENT_REQUESTS": AT_ONCE,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
            "DOWNLOAD_DELAY": 0,
            "DNS_RESOLVER": Loopback,
            "LOG_LEVEL": "ERROR",
            "TELNETCONSOLE_ENABLED": False,
            "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
            "FEEDS": {str(output / "pages.jsonl"): {"format": "jsonlines"}},
        }
    )
    process.crawl(Pages)
    blocks = Blocks()
    watch = asyncio.get_event_loop().create_task(blocks.watch())
    started = time.perf_counter()
    process.start()
    watch.cancel()
    return {"seconds": time.perf_counter() - started, "blocked": blocks.clock, "turn": blocks.processor}


CRAWLERS: dict[str, Callable[[Path, list[str]], dict[str, float]]] = {"comity": by_comity, "Scrapy": by_scrapy}


def one(name: str, output: Path) -> None:
    urls = json.loads((output.parent / "urls.json").read_text())
    figures = CRAWLERS[name](output, urls)
    used = resource.getrusage(resource.RUSAGE_SELF)
    peak = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    figures["cpu"] = used.ru_utime + used.ru_stime
    figures["memory"] = int(peak[1]) / 1024 if peak else used.ru_maxrss / 1024
    print(json.dumps(figures))


def measured(name: str, site: Site, folder: Path, most: int) -> dict[str, float]:
    """What one crawler did with the first URLs of the list, in a process of its own."""
    urls = site.urls[:most]
    (folder / "urls.json").write_text(json.dumps(urls))
    output = folder / "output"
    output.mkdir()
    log = folder / "asked.log"
    seen = log.stat().st_size if log.exists() else 0
    command = [sys.executable, __file__, "--one", name, "--output", str(output)]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}  # as installed
    ran = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False, env=kept)
    if ran.returncode:
        raise SystemExit(f"{name} failed:\n{ran.stderr[-3000:]}")
    time.sleep(1.5)  # nginx writes its log once a second
    figures: dict[str, float] = json.loads(ran.stdout.splitlines()[-1])
    written = output / "pages.jsonl"
    with written.open("rb") as file:
        got = Counter(json.loads(line)["url"] for line in file)
    with log.open(encoding="utf-8") as file:
        file.seek(seen)
        asked = [line.rstrip("\n").split(" ", 5) for line in file]
    new = {each[0]: each[1] for each in reversed(asked)}  # the first request of each connection tells of its handshake
    paths = [f"https://{each[4]}:{PORT}{each[5]}" for each in asked if each[5] != "/robots.txt"]
    if not got:
        raise SystemExit(f"{name} wrote no page: {len(asked)} requests reached the server")
    figures |= {
        "pages": len(got),
        "lost": len(site.allowed.intersection(urls) - got.keys()),
        "twice": sum(number > 1 for number in got.values()),
        "forbidden": sum(path not in site.allowed for path in paths),
        "handshakes": len(new),
        "resumed": sum(reused == "r" for reused in new.values()),
        "sent": sum(int(each[3]) for each in asked) / 1e6,
        "output": sum(each.stat().st_size for each in output.rglob("*") if each.is_file()) / 1e6,
    }
    shutil.rmtree(output)
    return figures


ROWS: tuple[tuple[str, str, Callable[[dict[str, float]], float]], ...] = (
    ("pages", "{:,.0f}", lambda f: f["pages"]),
    ("pages a second", "{:.0f}", lambda f: f["pages"] / f["seconds"]),
    ("CPU a page, ms", "{:.2f}", lambda f: f["cpu"] / f["pages"] * 1000),
    ("pages a core and second", "{:.0f}", lambda f: f["pages"] / f["cpu"]),
    ("its own peak memory, MB", "{:.0f}", lambda f: f["memory"]),
    ("longest block of the loop, ms", "{:.0f}", lambda f: f["blocked"] * 1000),
    ("most CPU of one turn of it, ms", "{:.0f}", lambda f: f["turn"] * 1000),
    ("handshakes", "{:.0f}", lambda f: f["handshakes"]),
    ("handshakes resumed", "{:.0f}", lambda f: f["resumed"]),
    ("MB sent by the server", "{:.0f}", lambda f: f["sent"]),
    ("MB written", "{:.0f}", lambda f: f["output"]),
    ("allowed pages lost", "{:.0f}", lambda f: f["lost"]),
    ("written twice", "{:.0f}", lambda f: f["twice"]),
    ("forbidden URLs requested", "{:.0f}", lambda f: f["forbidden"]),
)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", type=at_least_one, default=200)
    parser.add_argument("--copies", type=at_least_one, default=2)
    parser.add_argument("--rounds", type=at_least_one, default=1)
    parser.add_argument("--delay", action="store_true", help="leave Crawl-delay in robots.txt")
    parser.add_argument("--scrapy-pages", type=int, help="for a quick look, only the first of the list (0: no Scrapy)")
    parser.add_argument("--one", choices=CRAWLERS)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.one:
        one(options.one, options.output)
        return
    if not CORPUS.exists():
        raise SystemExit("this benchmark serves the pages of ../shared/corpus, which are not here")
    most = options.scrapy_pages
    if most is not None and most < 0:
        parser.error("--scrapy-pages is at least 0")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "site").mkdir()
        site = make_site(folder / "site", options.hosts, options.copies, options.delay)
        server = nginx(folder, folder / "site")
        try:
            rounds = []
            for _ in range(options.rounds):
                ran = {"comity": measured("comity", site, folder, len(site.urls))}
                if most != 0:
                    ran["Scrapy"] = measured("Scrapy", site, folder, len(site.urls) if most is None else most)
                rounds.append(ran)
        finally:
            server.terminate()
            server.wait()
    print(
        f"{options.hosts} hosts over TLS, {len(site.urls):,} URLs of real pages, {len(site.allowed):,} of them allowed"
    )
    names = list(rounds[0])
    table(f"medians of {options.rounds}", *names)
    for label, form, figure in ROWS:
        values = [statistics.median(figure(ran[name]) for ran in rounds) for name in names]
        row(label, *map(form.format, values))


if __name__ == "__main__":
    main()
