"""How far comity is from the floor: processor time a page, beside a bare program that downloads, unpacks, reads and
writes the same pages, with httptools and comity's own reader, and has no rules, frontier or ledger.

Needs nginx and ../shared/corpus. Real pages are those of broad.py, on many hosts over TLS; small ones are the site of
crawl.py. Each program is a process of its own, its start included, and they run in turns. A ratio is the median of the
rounds' ratios. What a run costs in instructions is told by `valgrind --tool=cachegrind`, before the `--one` of it.
"""

import argparse
import asyncio
import json
import os
import resource
import shutil
import ssl
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from urllib.parse import urlsplit

import broad
import crawl
from common import at_least_one, row, table


def bare(output: Path, urls: list[str]) -> None:
    """Fetch the pages, one after another on each of the connections, and write them with what is read in them."""
    import zlib

    import httptools
    import uvloop

    from comity_pages._utf8 import json_string
    from comity_pages.signals.encodings import to_utf8
    from comity_pages.signals.links import read_page

    tls = ssl.create_default_context(cafile=output.parent / "ca.pem") if urls[0].startswith("https") else None
    file = (output / "pages.jsonl").open("wb")

    class Connection(asyncio.Protocol):
        def __init__(self, mine: list[str], ended: "asyncio.Future[None]") -> None:
            self.mine, self.ended = iter(mine), ended

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.transport = transport
            self.ask()

        def ask(self) -> None:
            self.url = next(self.mine, "")
            if not self.url:
                self.transport.close()
                return
            to = urlsplit(self.url)
            self.parser, self.headers, self.parts = httptools.HttpResponseParser(self), {}, []
            head = f"GET {to.path} HTTP/1.1\r\nHost: {to.netloc}\r\nAccept-Encoding: gzip\r\n\r\n"
            self.transport.write(head.encode())  # type: ignore[attr-defined]

        def data_received(self, data: bytes) -> None:
            self.parser.feed_data(data)

        def connection_lost(self, exc: Exception | None) -> None:
            self.ended.set_result(None)

        def on_header(self, name: bytes, value: bytes) -> None:
            self.headers[name.lower()] = value

        def on_body(self, body: bytes) -> None:
            self.parts.append(body)

        def on_message_complete(self) -> None:
            body, kind = b"".join(self.parts), self.headers.get(b"content-type", b"").decode()
            if self.headers.get(b"content-encoding") == b"gzip":
                body = zlib.decompress(body, 31)
            page = read_page(body, self.url, kind)
            said = {"url": self.url, "status": self.parser.get_status_code(), "type": kind, "title": page.title}
            before = json.dumps(said)[:-1].encode() + b',"body":'
            file.write(json_string(to_utf8(body, page.encoding), before, b"}\n"))
            self.ask()

    async def run() -> None:
        loop, places = asyncio.get_running_loop(), asyncio.Semaphore(broad.AT_ONCE)
        queues = defaultdict(list)
        for number, url in enumerate(urls):
            queues[urlsplit(url).netloc if tls else number % 32].append(url)

        async def host(mine: list[str]) -> None:
            async with places:
                to, ended = urlsplit(mine[0]), loop.create_future()
                name = to.hostname if tls else None
                connecting = loop.create_connection(
                    lambda: Connection(mine, ended), "127.0.0.1", to.port, ssl=tls, server_hostname=name
                )
                await connecting
                await ended

        await asyncio.gather(*map(host, queues.values()))

    with file, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())


def one(name: str, output: Path) -> None:
    urls = json.loads((output.parent / "urls.json").read_text())
    if name == "bare":
        bare(output, urls)
    elif urls[0].startswith("https"):
        broad.by_comity(output, urls)
    else:
        crawl.by_comity(output, len(urls))


def measured(name: str, folder: Path, urls: list[str]) -> float:
    """Milliseconds of processor time a page, in a process of its own."""
    (folder / "urls.json").write_text(json.dumps(urls))
    output = folder / "output"
    output.mkdir()
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}  # as installed
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, __file__, "--one", name, "--output", str(output)], check=True, timeout=1800, env=kept
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    with (output / "pages.jsonl").open("rb") as file:
        pages = sum(1 for _ in file)
    shutil.rmtree(output)
    if pages < len(urls) * 0.99:
        raise SystemExit(f"{name} wrote {pages} pages of {len(urls)}")
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / pages * 1000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pages", type=at_least_one, default=3_000, help="small ones")
    parser.add_argument("--rounds", type=at_least_one, default=3)
    parser.add_argument("--one", choices=("bare", "comity"))
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.one:
        one(options.one, options.output)
        return
    table("processor time a page", "comity", "the bare program", "ratio")
    for what in ("real pages over TLS", "small pages of one site"):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            folder.chmod(0o755)
            (folder / "site").mkdir()
            if what.startswith("real"):
                urls = sorted((site := broad.make_site(folder / "site", 200, 1, delay=False)).allowed)
                server = broad.nginx(folder, site.folder)
            else:
                crawl.make_site(folder / "site", options.pages)
                urls = [f"http://127.0.0.1:{crawl.PORT}/p/{number}.html" for number in range(options.pages)]
                server = crawl.nginx(folder, folder / "site")
            try:
                rounds = [[measured(each, folder, urls) for each in ("comity", "bare")] for _ in range(options.rounds)]
            finally:
                server.terminate()
                server.wait()
        ours, floor = (statistics.median(each) for each in zip(*rounds, strict=True))
        ratio = statistics.median(comity / least for comity, least in rounds)
        row(what, f"{ours:.2f} ms", f"{floor:.2f} ms", f"{ratio:.2f}")


if __name__ == "__main__":
    main()
