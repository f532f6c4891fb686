"""Kills the command in mid-crawl, again and again, as a machine that is switched off would."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from aiohttp import web
from sites import HANGS, Site


def tree(site: Site, count: int) -> set[str]:
    """So many pages of a site that take their time, each of which names two more; returns their URLs."""

    async def page(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(0.01)
        number = int(request.path[1:])
        links = "".join(f'<a href="/{target}">x</a>' for target in (number * 2 + 1, number * 2 + 2) if target < count)
        return web.Response(text=f"<title>{number}</title>{links}", content_type="text/html")

    for number in range(count):
        site.set(f"/{number}", page)
    return {site.url(f"/{number}") for number in range(count)}


def crawling(folder: Path) -> list[str]:
    """The command that crawls a site on loopback into a folder."""
    command = [sys.executable, "-m", "comity", "crawl", "-o", str(folder), "--delay", "0"]
    return [*command, "--allow-address", "127.0.0.0/8", "--concurrency", "4"]


def killed(
    command: Sequence[str],
    site: Site,
    *,
    begin: Sequence[str],
    times: int,
    after: Callable[[], int],
    linger: Callable[[], float] = lambda: 0.0,
) -> int:
    """Run a crawl `times` times and kill each run; gives how many were killed before they had ended.

    Args:
        begin: further words of the first run; the others have `--resume`.
        after: requests to the site after which a run is killed.
        linger: seconds more.
    """
    kills = 0
    for attempt in range(times):
        words = ["--resume"] if attempt else begin
        process = subprocess.Popen([*command, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        enough, deadline = len(site.seen) + after(), time.monotonic() + HANGS
        while len(site.seen) < enough and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.002)
        time.sleep(linger())
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.wait()
    return kills


def finished(command: Sequence[str]) -> None:
    """Let the crawl go on to its end."""
    done = subprocess.run([*command, "--resume"], capture_output=True, text=True, check=False, timeout=HANGS)
    assert done.returncode == 0, done.stderr
