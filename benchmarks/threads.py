"""Verdicts and pages as Markdown a second, on one thread and on two: more only where Python is free-threaded."""

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import comity
from comity_pages import extraction
from comity_robots._forms import engine

RULES = "User-agent: *\n" + "\n".join(f"Disallow: /section{number}/part{number}/" for number in range(30))
PARAGRAPHS = "".join(
    f"<h2>{n}</h2><p>The lamp {n} burns at night, <a href='/p{n}'>as always</a>.</p>" for n in range(200)
)
PAGE = f"<html><head><title>Lamps</title></head><body><main>{PARAGRAPHS}</main></body></html>"
SECONDS = 2.0


def rate(work: Callable[[], int], threads: int) -> float:
    """How many a second, over all threads."""

    def run(_: int) -> int:
        done, end = 0, time.monotonic() + SECONDS
        while time.monotonic() < end:
            done += work()
        return done

    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(run, range(threads))) / SECONDS


def verdicts() -> int:
    for _ in range(1000):
        robots.allowed("https://example.com/section29/part29/page.html", "MyBot/1.0")
    return 1000


def pages() -> int:
    extraction.read(PAGE, "https://example.com/")
    return 1


robots = comity.parse(RULES)
gil = "with" if getattr(sys, "_is_gil_enabled", lambda: True)() else "without"
print(f"Python {sys.version.split()[0]}, {gil} a lock, {engine()}")
for name, work in (("verdicts", verdicts), ("pages as Markdown", pages)):
    one, two = rate(work, 1), rate(work, 2)
    print(f"{name:20} {one:12,.0f}/s on 1 thread   {two:12,.0f}/s on 2   {two / one:.2f} x")
