"""The durable frontier: how fast it takes up URLs from the first million to the last, and what it costs in room.

Run by `python benchmarks/frontier.py [HOW_MANY [HOSTS]]`; nothing is random. Every URL found stays in the queue, which
is the largest the frontier can get. Batches are as the crawler makes them: 1,000 URLs, the links of 20 pages, each of
another host; beside them come 250 that were met before.
"""

import resource
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from common import row, table

from comity.frontier.sqlite.store import Frontier
from comity.frontier.values import Batch, EntryKind, Found, State

BATCH = 1_000
PER_PAGE = 50
REPEATS = 250
PEER = 2_000_000  # URLs; it takes too long with more
WORDS = ("articles", "news", "products", "2026", "archive", "research", "category", "en", "images", "press-release")


def found(number: int, hosts: int) -> Found:
    """The URL with a number: 50 in a row are of one host."""
    host = f"www.site{number // PER_PAGE * 7919 % hosts}.example.com"
    first, second, third = (WORDS[number // base % 10] for base in (1, 10, 100))
    return Found(
        f"https://{host}/{first}/{second}/{third}-{number:x}/page.html?id={number * 37}",
        host,
        5,
        EntryKind.PAGE,
        State.QUEUED,
    )


def batches(total: int, hosts: int) -> Iterator[Batch]:
    for start in range(0, total, BATCH):
        repeated = [found((start * 31 + n * 4057) % start, hosts) for n in range(REPEATS)] if start else []
        yield Batch(found=[found(n, hosts) for n in range(start, min(start + BATCH, total))] + repeated)


def size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:  # merged away meanwhile
            pass
    return total


def resident() -> float:
    """The most this process ever had in memory, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 if sys.platform == "darwin" else 1024)


def plain(total: int, hosts: int, path: Path) -> None:
    """The peer: one table with a unique index over the URLs, as one writes it at first."""
    db = sqlite3.connect(path, isolation_level=None)
    db.executescript(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -32768;"
        "CREATE TABLE url (id INTEGER PRIMARY KEY, url TEXT UNIQUE, host TEXT, depth INT, kind INT, state INT);"
        "CREATE INDEX waiting ON url (host, kind DESC, id) WHERE state < 2;"
    )
    rates, spent, taken, step = [], 0.0, 0, min(500_000, -(-total // 2))
    for batch in batches(total, hosts):
        started = time.perf_counter()
        db.execute("BEGIN")
        db.executemany(
            "INSERT OR IGNORE INTO url (url, host, depth, kind, state) VALUES (?, ?, ?, ?, ?)",
            [(each.url, each.host, each.depth, each.kind, each.state) for each in batch.found],
        )
        db.execute("COMMIT")
        spent, taken = spent + time.perf_counter() - started, taken + BATCH
        if taken >= step:
            rates.append(taken / spent)
            spent, taken = 0.0, 0
    db.close()
    table(f"one table of SQLite with a unique index over {total:,} URLs", "")
    row("taken up", f"first {step:,} {rates[0]:,.0f} URLs/s, last {rates[-1]:,.0f}")
    row("on disk", f"{path.stat().st_size / total:.0f} octets a URL")


def main(total: int, hosts: int, folder: Path) -> None:
    before = resident()
    path = folder / "frontier.sqlite"
    step = min(1_000_000, -(-total // 2))
    rates, costs, slowest, largest = [], [], 0.0, 0
    with Frontier(path) as frontier:
        spent, busy, taken = 0.0, 0.0, 0
        for number, batch in enumerate(batches(total, hosts), 1):
            started, began = time.perf_counter(), time.process_time()
            with frontier.commit(batch):
                pass
            took = time.perf_counter() - started
            busy += time.process_time() - began
            slowest, spent, taken = max(slowest, took), spent + took, taken + BATCH
            if number % 100 == 0:
                largest = max(largest, size(folder))
            if taken >= step:
                rates.append(taken / spent)
                costs.append(busy / taken * 1e6)
                print(
                    f"  {number * BATCH:>11,} URLs: {rates[-1]:>8,.0f} URLs/s, {costs[-1]:.1f} us of CPU each, "
                    f"{resident():,.0f} MB",
                    file=sys.stderr,
                )
                spent, busy, taken = 0.0, 0.0, 0
        assert frontier.counts()[State.QUEUED] == total
        sample = [found(n, hosts).host for n in range(0, min(total, 200 * PER_PAGE), PER_PAGE)]
        times = []
        for host in sample:
            started = time.perf_counter()
            entries = frontier.waiting(host, but_not=(), most=256)
            times.append(time.perf_counter() - started)
            assert entries
        started = time.perf_counter()
        known = sum(1 for _ in frontier.hosts())
        listing = time.perf_counter() - started
        batch = Batch()
        for host in islice(frontier.hosts(), BATCH):
            batch.settled.extend((State.DONE, entry.id) for entry in frontier.waiting(host, but_not=(), most=1))
        started = time.perf_counter()
        with frontier.commit(batch):
            pass
        settling = (time.perf_counter() - started) / len(batch.settled)
    at_rest = size(folder)
    started = time.perf_counter()
    with Frontier(path):
        opening = time.perf_counter() - started
    length = statistics.mean(len(found(n, hosts).url) for n in range(0, total, max(total // 1000, 1)))
    table(f"frontier with {total:,} URLs of {length:.0f} characters on {known:,} hosts", "")
    row("taken up", f"first {step:,} {rates[0]:,.0f} URLs/s, last {rates[-1]:,.0f}")
    row("processor time a URL", f"first {step:,} {costs[0]:.1f} us, last {costs[-1]:.1f} us")
    row("slowest commit", f"{slowest * 1000:.0f} ms")
    row("on disk", f"{at_rest / total:.0f} octets a URL, at most {largest / total:.0f} meanwhile")
    row("resident", f"{resident():.0f} MB at most, {before:.0f} before")
    row("256 of a host's queue", f"{statistics.median(times) * 1000:.2f} ms")
    row("all hosts listed", f"{listing * 1000:.0f} ms")
    row(f"one of each of {len(batch.settled):,} hosts settled", f"{1 / settling:,.0f} URLs/s")
    row("opened", f"{opening * 1000:.0f} ms")


if __name__ == "__main__":
    count, spread = (int(word) for word in (*sys.argv[1:], *("1000000", "1000")[len(sys.argv) - 1 :]))
    where = Path(tempfile.mkdtemp(prefix="frontier-"))
    try:
        main(count, spread, where)
        plain(min(count, PEER), spread, where / "peer.sqlite")
    finally:
        shutil.rmtree(where)
