"""One crawl, killed again and again: is every page there exactly once in the end, and was nobody asked too early?

Run by `make test-kills`. The real command crawls a real site on loopback and gets SIGKILL at random moments: while it
starts, or opens what it had, while it fetches, and in the middle of a commit. Then it is resumed, at last to its end.
What came out is compared with what the site holds and with the site's own notes, by readers that are not comity's.
Exit code 1: something is not as it has to be.
"""

import argparse
import itertools
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

from kill_site import CRAWL_DELAY, FAST, SLOW, KillSite, Seen, wanted

sys.path.append(str(Path(__file__).parents[1]))
from outputs import READERS

DELAY = 0.02  # seconds between two requests to a fast host
GRAIN = 0.0005  # seconds: what the clocks of two processes may be apart
RETRIES = 2
STARTING = 0.45  # seconds that the command takes until its first request, about
LONGEST = 0.9  # seconds after the first request
PAGES_A_KILL = 14  # of each fast host: more than a run gets done before it is killed

Urls = dict[str, list[str]]  # by channel, repetitions kept
CHANNELS = ("pages", "refusals", "failures", "redirects")


class Crawl:
    """The command, started and killed."""

    def __init__(self, folder: Path, site: KillSite, form: str) -> None:
        self.folder = folder
        self._site = site
        self._options = ["--delay", str(DELAY), "--allow-address", "127.0.0.0/8", "--format", form]
        self.starts: list[float] = []  # of each run, Unix time
        self.kills = 0
        self.cut = 0  # kills that left output or ledger beyond what the frontier had committed
        self.early = 0  # kills before the first request of a run
        self.early_end = 0  # runs that came to their end before they were killed

    def start(self) -> subprocess.Popen[bytes]:
        self.starts.append(time.time())
        words = ["--resume"] if (self.folder / "frontier.sqlite").exists() else self._site.seeds
        command = [sys.executable, "-m", "comity", "crawl", "-o", str(self.folder), *self._options, *words]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def kill(self, rng: random.Random) -> None:
        """Start a run and kill it at a random moment."""
        before = self._site.asked
        process = self.start()
        kind = rng.random()
        if kind < 0.25:
            _wait(process, lambda: False, rng.uniform(0, STARTING))
        else:
            _wait(process, lambda: self._site.asked > before, 20)
            _wait(process, lambda: False, rng.uniform(0, LONGEST))
            if kind > 0.6:  # in the middle of a commit: the ledger grows first, the frontier follows
                size = _size(self.folder / "ledger.jsonl")
                _wait(process, lambda: _size(self.folder / "ledger.jsonl") != size, 2)
                _wait(process, lambda: False, rng.uniform(0, 0.004))
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            self.kills += 1
        else:
            self.early_end += 1
        _, said = process.communicate()
        if process.returncode != -signal.SIGKILL:
            print(f"ended by itself with {process.returncode}: {said.decode().strip()[-500:]}")
        self.early += self._site.asked == before
        self.cut += self._is_cut()

    def finish(self) -> int:
        """Resume to the end; the exit code."""
        process = self.start()
        _, said = process.communicate(timeout=600)
        if process.returncode not in (0, 2):
            print(said.decode().strip()[-1000:])
        return process.returncode

    def _is_cut(self) -> bool:
        """Whether the ledger is longer than the frontier knows. Asked of a copy, so that nothing is mended here."""
        with tempfile.TemporaryDirectory() as copy:
            for path in self.folder.glob("frontier.sqlite*"):
                shutil.copy(path, copy)
            try:
                database = sqlite3.connect(Path(copy) / "frontier.sqlite")
                row = database.execute("SELECT value FROM fact WHERE key = 'ledger'").fetchone()
                database.close()
            except sqlite3.Error:
                return False  # killed before it was made
        committed = json.loads(row[0])["length"] if row else 0
        return _size(self.folder / "ledger.jsonl") > committed


def _wait(process: subprocess.Popen[bytes], until: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not until() and process.poll() is None and (left := deadline - time.monotonic()) > 0:
        time.sleep(min(left, 0.0005))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


# What came out, by readers of other people


def read(folder: Path, form: str) -> tuple[Urls, str | None]:
    """The URLs of each channel, and what kept them from being read: a record cut in half, for example."""
    try:
        found = READERS[form](folder)
    except Exception as error:
        return {channel: [] for channel in CHANNELS}, f"{type(error).__name__}: {error}"
    return {"pages": found.urls} | {channel: getattr(found, channel) for channel in CHANNELS[1:]}, None


# The site's own notes


def too_often(seen: list[Seen], starts: list[float], ledger: list[dict[str, object]]) -> tuple[int, int]:
    """URLs asked for again after what they gave was kept, and those asked for more often in a run than it may."""
    kept: dict[str, float] = {}  # URL -> when it was sent whose answer was kept in the end
    port = next(str(record["url"]).split("/")[2].split(":")[1] for record in ledger if record["kind"] == "request")
    for record in ledger:
        if record["kind"] == "request" and record["purpose"] == "content" and record["status"] != 503:
            kept[str(record["url"])] = float(str(record["end"]))
    again = sum(each.time > kept.get(f"http://{each.host}:{port}{each.path}", each.time) + GRAIN for each in seen)
    times: Counter[tuple[int, str, str]] = Counter()
    for each in seen:
        times[sum(start <= each.time for start in starts), each.host, each.path] += 1
    most = {path: 1 + RETRIES if path.startswith("/busy/") else 1 for _, _, path in times}
    return again, sum(count > most[path] for (_, _, path), count in times.items())


def intervals(seen: list[Seen], ledger: list[dict[str, object]]) -> dict[str, list[float]]:
    """Seconds between two requests to each host. What the slow one asks for counts once a commit knows of it."""
    known = next(float(str(each["at"])) for each in ledger if each["kind"] == "robots" and SLOW in str(each["origin"]))
    times = defaultdict(list)
    for each in seen:
        if each.host != SLOW or each.time > known:
            times[each.host].append(each.time)
    return {host: [later - earlier for earlier, later in itertools.pairwise(each)] for host, each in times.items()}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--format", choices=READERS, default="jsonl")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--folder", type=Path, help="where to crawl; it is kept  [a temporary folder]")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as temporary, KillSite(PAGES_A_KILL * options.kills) as site:
        crawl = Crawl((options.folder or Path(temporary)) / "crawl", site, options.format)
        began = time.monotonic()
        for _ in range(options.kills):
            crawl.kill(rng)
        killing = time.monotonic() - began
        code = crawl.finish()
        took = time.monotonic() - began
        seen = site.seen()
        found, damage = read(crawl.folder, options.format)
        want = wanted(site.port, site.pages)
        ledger = [json.loads(line) for line in (crawl.folder / "ledger.jsonl").read_text().splitlines()]
        proof = subprocess.run(
            [sys.executable, "-m", "comity", "prove", str(crawl.folder)], capture_output=True, text=True, check=False
        )
    requests = sum(record["kind"] == "request" for record in ledger)
    again, repeated = too_often(seen, crawl.starts, ledger)
    gaps = intervals(seen, ledger)
    short = sum(gap < (CRAWL_DELAY if host == SLOW else DELAY) - GRAIN for host in gaps for gap in gaps[host])
    defects = 0

    def line(name: str, value: object, note: str = "", *, wrong: bool = False) -> None:
        nonlocal defects
        defects += wrong
        print(f"{name:34}{value:>10}  {note}{'  <-- WRONG' if wrong else ''}".rstrip())

    line("kills", crawl.kills, f"{options.format}, --seed {options.seed}, {killing:.0f} s")
    line("  before the run's first request", crawl.early)
    line("  in the middle of a commit", crawl.cut)
    line("runs that ended before their kill", crawl.early_end, wrong=crawl.early_end > 0)
    line("last run's exit code", code, f"{took:.0f} s in all; 2: some pages fail", wrong=code != 2)
    line("records cut in half", int(damage is not None), damage or "", wrong=damage is not None)
    for channel in CHANNELS:
        expected: set[str] = getattr(want, channel)
        times = Counter(found[channel])
        lost, more = expected - set(times), set(times) - expected
        twice = sum(count > 1 for count in times.values())
        line(f"{channel} expected", len(expected))
        line(f"{channel} lost", len(lost), " ".join(sorted(lost)[:3]), wrong=bool(lost))
        line(f"{channel} twice", twice, wrong=twice > 0)
        line(f"{channel} that should not be there", len(more), " ".join(sorted(more)[:3]), wrong=bool(more))
    line("requests, as the site noted them", len(seen), f"{len(seen) - requests} of them lost with a kill")
    line("asked for again after it was kept", again, wrong=again > 0)
    line("asked for too often within a run", repeated, wrong=repeated > 0)
    least = ", ".join(f"{min(gaps[host]):.4f}" for host in (*FAST, SLOW))
    line("intervals too short", short, f"least {least} s of {DELAY} and {CRAWL_DELAY}", wrong=short > 0)
    line("comity prove", proof.returncode, proof.stdout.splitlines()[0], wrong=proof.returncode != 0)
    print(f"defects: {defects}")
    return int(defects > 0)


if __name__ == "__main__":
    sys.exit(main())
