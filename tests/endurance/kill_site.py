"""The web site of the kill test: a process of its own, three hosts that answer at once and one that wants more time.

Its notes, by its own clock, are what the test believes: who asked for what, when.
"""

import multiprocessing
import sys
import time
from collections.abc import Iterator
from ctypes import c_longlong
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Self

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # servers on loopback

from loopback import Requests, serve

FAST = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
SLOW = "127.0.0.4"
CRAWL_DELAY = 2.0  # seconds that the slow host asks for: more than lies between a kill and the next request
SLOW_PAGES = 12
MAPPED = 100  # pages of each fast host that only its sitemap names
LARGE = 40_000  # bytes of every fiftieth page
BUSY = 3  # pages of one host that never answer with anything but 503


@dataclass(frozen=True)
class Wanted:
    """The URLs that a crawl of the whole site must have in each channel."""

    pages: set[str]
    refusals: set[str]
    failures: set[str]
    redirects: set[str]


@dataclass(frozen=True)
class Seen:
    """One request: Unix time of its arrival, host, path."""

    time: float
    host: str
    path: str


def robots(host: str, port: int) -> str:
    if host == SLOW:
        return f"User-agent: *\nCrawl-delay: {CRAWL_DELAY}\nDisallow: /no/\n"
    return f"User-agent: *\nDisallow: /no/\nSitemap: http://{host}:{port}/map.xml\n"


def _neighbours(host: str, number: int, count: int) -> Iterator[str]:
    """The paths that a page links to: a tree of pages, and now and then something else."""
    yield from (f"/p/{child}" for child in (2 * number + 1, 2 * number + 2) if child < count)
    if number % 9 == 0:
        yield f"/no/{number}"
    if number % 11 == 0:
        yield f"/moved/{number}"
    if number % 13 == 0:
        yield f"/missing/{number}"
    if host == FAST[0] and number % 50 == 17 and number < 50 * BUSY:
        yield f"/busy/{number}"


def answer(host: str, port: int, path: str, pages: int) -> tuple[int, str, str]:
    """Status, content type (a location for a redirect) and body."""
    count = SLOW_PAGES if host == SLOW else pages
    _, kind, *rest = path.split("/")
    number = int(rest[0]) if rest and rest[0].isdigit() else 0
    match kind:
        case "robots.txt":
            return 200, "text/plain", robots(host, port)
        case "map.xml" if host != SLOW:
            entries = "".join(f"<url><loc>http://{host}:{port}/m/{number}</loc></url>" for number in range(MAPPED))
            return 200, "application/xml", f"<urlset>{entries}</urlset>"
        case "p":
            links = "".join(f'<a href="{target}">x</a>' for target in _neighbours(host, number, count))
            text = f"{host} {number} " * (LARGE // 16 if number % 50 == 49 else 4)
            return 200, "text/html", f"<title>{number}</title><p>{text}</p>{links}"
        case "m" | "to":
            return 200, "text/html", f"<title>{kind} {number} of {host}</title>"
        case "moved":
            return 301, f"/to/{number}", ""
        case "busy":
            return 503, "text/plain", "later"
    return 404, "text/plain", "not here"


def wanted(port: int, pages: int) -> Wanted:
    """What has to come out in the end."""
    found = Wanted(set(), set(), set(), set())
    for host in (*FAST, SLOW):
        root = f"http://{host}:{port}"
        count = SLOW_PAGES if host == SLOW else pages
        if host != SLOW:
            found.pages.update(f"{root}/m/{number}" for number in range(MAPPED))
        for number in range(count):
            found.pages.add(f"{root}/p/{number}")
            for path in _neighbours(host, number, count):
                match path.split("/")[1]:
                    case "no":
                        found.refusals.add(root + path)
                    case "moved":
                        found.redirects.add(root + path)
                        found.pages.add(root + path.replace("moved", "to"))
                    case "missing" | "busy":
                        found.failures.add(root + path)
    return found


class KillSite:
    """The site while it is up. Use it as a context manager."""

    def __init__(self, pages: int) -> None:
        self.pages = pages
        context = multiprocessing.get_context("spawn")
        self._count = context.Value("q", 0, lock=False)
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, pages, self._count), daemon=True)

    def __enter__(self) -> Self:
        self._process.start()
        self.port: int = self._pipe.recv()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.join()

    @property
    def asked(self) -> int:
        """Requests so far."""
        return int(self._count.value)

    @property
    def seeds(self) -> list[str]:
        return [f"http://{host}:{self.port}/p/0" for host in (*FAST, SLOW)]

    def seen(self) -> list[Seen]:
        """All requests so far, in their order."""
        self._pipe.send("seen")
        return [Seen(*each) for each in self._pipe.recv()]


class _Server(Requests):
    seen: list[tuple[float, str, str]] = []  # noqa: RUF012
    pages = 0
    count: c_longlong

    def asked(self, host: str, path: str) -> None:
        self.seen.append((time.time(), self.host, path))
        self.count.value += 1
        status, kind, body = answer(self.host, self.port, path, self.pages)
        self.answer(body, kind, status=status, location=kind if status == 301 else None)


def _serve(pipe: Connection, pages: int, count: c_longlong) -> None:
    _Server.pages, _Server.count = pages, count
    serve(_Server, pipe, lambda: _Server.seen, *FAST, SLOW)
