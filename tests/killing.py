"""Kills the command in mid-crawl, again and again, as a machine that is switched off would."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence

from sites import HANGS, Site


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
