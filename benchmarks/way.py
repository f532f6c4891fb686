"""How far the way of a page is: the functions that hand it on, from seed URL to line in pages.jsonl, and their files.

Run by `python benchmarks/way.py`; `--list` prints each. A page passes the MILESTONES below; the hops are all functions
of comity that are on the stack when it passes one of them. Beside it all functions that one warm `robots.allowed` and
one warm `Client.get` enter, and one crawl of two pages. Nothing is timed, so every run prints the same. The compiled
modules are interpreted here, else their functions would not be seen.
"""

import asyncio
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import FrameType

MILESTONES = {
    "ResultBuffer.found": "the URL is let into the queue",
    "ChangedTables.add": "it is durable",
    "Tables.queue": "it is read back in its turn",
    "Throttle.started": "its host's turn is taken",
    "Connections.connect": "its request is sent",
    "Throttle.answered": "the gate knows of the answer",
    "BodyReader.read": "the body is read",
    "read_page": "the page is parsed",
    "Gate.finished": "its turn is over",
    "Kept.record": "the record is made",
    "ResultBuffer._write": "it waits for the commit",
    "AppendedFile.add": "the line is written",
    "AppendedFile.flush": "it is on the disk",
}
ASIDE = ("Fetcher.learn", "Discovery.apply", "Ledger.commit", "ResultBuffer.robots")  # ways of something else

Hop = tuple[str, str]  # file and function


class Site(BaseHTTPRequestHandler):
    """Two pages of which the first leads to the second, and a robots.txt."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        page = b"<!doctype html><meta charset=utf-8><title>A page</title><p>Some text. <a href=/two>Next</a>"
        robots = self.path == "/robots.txt"
        body, kind = (b"User-agent: *\nDisallow: /x", "text/plain") if robots else (page, "text/html")
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def site() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            serving.join()


def hop_of(frame: FrameType, roots: tuple[str, ...]) -> Hop | None:
    """A frame of comity's; a comprehension belongs to the function around it."""
    file, name = frame.f_code.co_filename, frame.f_code.co_qualname
    if not file.startswith(roots) or name.endswith(("comp>", "<genexpr>", "<module>")):
        return None
    return file.rpartition("/src/")[2].removeprefix("comity/"), name


@contextmanager
def watched(told: Callable[[FrameType], None]) -> Iterator[None]:
    """`told` hears of each call in this thread, and in those that begin meanwhile."""

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            told(frame)

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def show(title: str, hops: dict[Hop, None], listed: bool) -> None:
    print(f"{title}: {len(hops)} functions in {len({file for file, _ in hops})} files")
    for file, name in hops if listed else ():
        print(f"  {file}: {name}")


def main(listed: bool) -> None:
    import comity
    import comity_pages
    import comity_robots
    from comity.crawler import Crawler, CrawlSettings
    from comity.policy import Policy

    roots = tuple(str(Path(package.__file__).parent) + os.sep for package in (comity, comity_pages, comity_robots))
    policy = Policy(agent="Bench/1.0", min_interval=0.0, allow_addresses=("127.0.0.0/8",))
    entered: dict[Hop, None] = {}
    way: dict[Hop, None] = {}
    passed: set[str] = set()

    def enter(frame: FrameType) -> None:
        if (hop := hop_of(frame, roots)) is not None:
            entered[hop] = None

    def follow(frame: FrameType) -> None:
        hop = hop_of(frame, roots)
        if hop is None:
            return
        entered[hop] = None
        if hop[1] not in MILESTONES:
            return
        stack: list[Hop] = []
        above: FrameType | None = frame
        while above is not None:
            if (caller := hop_of(above, roots)) is not None:
                stack.append(caller)
            above = above.f_back
        if not any(name in ASIDE for _, name in stack):
            passed.add(hop[1])
            way.update(dict.fromkeys(reversed(stack)))

    robots = comity.parse(b"User-agent: *\nDisallow: /x\n")
    robots.allowed("https://example.com/a", "Bench")
    with watched(enter):
        robots.allowed("https://example.com/a", "Bench")
    show("a warm robots.allowed", entered, listed)
    with site() as url:
        with watched(enter), comity.Client(policy) as client:
            client.get(url)
            entered.clear()
            client.get(url)
            warm = dict(entered)
        show("a warm Client.get", warm, listed)
        entered.clear()
        with tempfile.TemporaryDirectory() as folder, watched(follow):
            settings = CrawlSettings(max_pages=2, sitemaps=False)
            asyncio.run(Crawler([url], Path(folder) / "crawl", policy=policy, settings=settings).run())
    if passed != set(MILESTONES):
        raise SystemExit(f"the page did not pass {', '.join(sorted(set(MILESTONES) - passed))}: name its way anew")
    show("a crawl of two pages, all that is entered", entered, False)
    show("the way of a page", way, listed)


if __name__ == "__main__":
    if os.environ.get("COMITY_NO_EXTENSIONS") != "1":
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "COMITY_NO_EXTENSIONS": "1"})
    main("--list" in sys.argv[1:])
