"""The frontier in PostgreSQL beside the one in SQLite: how fast each takes up URLs, what each costs in room and memory.

Run by `python benchmarks/frontier_postgresql.py [HOW_MANY [HOSTS]]`; the URLs and batches are those of frontier.py. The
two take turns, 50 commits at a time, so that whatever else the machine does slows both. The server is the system's, as
it is installed but for a buffer of 256 MB, with everything synced to a disk; it runs beside this process.
"""

import resource
import shutil
import sys
import tempfile
import time
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "benchmarks")]

from frontier import BATCH, batches, found, size  # noqa: E402
from postgres import Server, programs, serve  # noqa: E402
from stores import PostgresStore  # noqa: E402

from comity.frontier.postgresql.database import connect  # noqa: E402
from comity.frontier.sqlite.store import Frontier  # noqa: E402
from comity.frontier.values import Batch, State  # noqa: E402

TURN = 50  # commits
OPTIONS = ("-c", "shared_buffers=256MB", "-c", "max_wal_size=2GB")


class Taker:
    """One of the two: seconds by the clock and of this process's processor, commit by commit."""

    def __init__(self, name: str, frontier: Any, total: int, hosts: int) -> None:
        self.name = name
        self.frontier = frontier
        self.rates: list[float] = []
        self.slowest = self.spent = self.busy = self.all = 0.0
        self._batches = batches(total, hosts)
        self._taken = 0

    def turn(self, step: int) -> bool:
        """Some commits; whether there are more."""
        some = list(islice(self._batches, TURN))
        for batch in some:
            started, began = time.perf_counter(), time.process_time()
            with self.frontier.commit(batch):
                pass
            took = time.perf_counter() - started
            self.busy += time.process_time() - began
            self.spent, self.all, self.slowest = self.spent + took, self.all + took, max(self.slowest, took)
            self._taken += BATCH
        if some and self._taken % step == 0:
            self.rates.append(step / self.spent)
            self.spent = 0.0
            print(f"  {self.name} {self._taken:>11,} URLs: {self.rates[-1]:>8,.0f} URLs/s", file=sys.stderr)
        return bool(some)


def memory(server: Server) -> tuple[float, float]:
    """MB that the server's processes have for themselves, and share."""
    own = shared = 0.0
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if str(server.socket / "data") not in (path / "cwd").readlink().as_posix():
                continue
            sizes = dict(line.split(":", 1) for line in (path / "smaps_rollup").read_text().splitlines()[1:])
        except OSError:
            continue
        own += sum(int(sizes[name].split()[0]) for name in ("Private_Clean", "Private_Dirty")) / 1024
        shared = max(shared, sum(int(sizes[name].split()[0]) for name in ("Shared_Clean", "Shared_Dirty")) / 1024)
    return own, shared


def settle(frontier: Any) -> float:
    """URLs a second: one of each host is done."""
    batch = Batch()
    for host in islice(frontier.hosts(), BATCH):
        batch.settled.extend((State.DONE, entry.id) for entry in frontier.waiting(host, but_not=(), most=1))
    started = time.perf_counter()
    with frontier.commit(batch):
        pass
    return len(batch.settled) / (time.perf_counter() - started)


def ask(frontier: Any, hosts: list[str]) -> float:
    """Seconds for 256 URLs of a host."""
    times = []
    for host in hosts:
        started = time.perf_counter()
        assert frontier.waiting(host, but_not=(), most=256)
        times.append(time.perf_counter() - started)
    return sorted(times)[len(times) // 2]


def main(total: int, hosts: int, folder: Path) -> None:
    bin_ = programs()
    if bin_ is None:
        sys.exit("PostgreSQL is not here: apt-get install postgresql")
    folder.chmod(0o755)
    step = min(1_000_000, total)
    with serve(bin_, OPTIONS, within=folder) as server:
        store = PostgresStore(server)
        kept = folder / "sqlite"
        kept.mkdir()
        with Frontier(kept / "frontier.sqlite") as first, store.open() as second:
            takers = [Taker("SQLite", first, total, hosts), Taker("PostgreSQL", second, total, hosts)]
            while takers[0].turn(step) | takers[1].turn(step):
                pass
            assert all(taker.frontier.counts()[State.QUEUED] == total for taker in takers)
            sample = [found(n * (total // 50), hosts).host for n in range(50)]
            asked = [ask(taker.frontier, sample) for taker in takers]
            settled = [settle(taker.frontier) for taker in takers]
            own, shared = memory(server)
            with closing(connect(store.where)) as db:
                (room,) = db.execute(
                    "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace = "
                    "%s::regnamespace",
                    (store.where.schema,),
                ).fetchone()
        rooms = [size(kept) / total, float(room) / total]
        for number, taker in enumerate(takers):
            print(
                f"{taker.name}, {total:,} URLs on {hosts:,} hosts: {total / taker.all:,.0f} URLs/s (first {step:,} "
                f"{taker.rates[0]:,.0f}/s, last {taker.rates[-1]:,.0f}/s), {taker.busy / total * 1e6:.1f} us of this "
                f"process's CPU each, slowest commit {taker.slowest * 1000:.0f} ms, {rooms[number]:.1f} bytes/URL; "
                f"256 of a host's queue in {asked[number] * 1000:.2f} ms, one of each host settled at "
                f"{settled[number]:,.0f}/s"
            )
        ratio = takers[0].all / takers[1].all
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"PostgreSQL beside SQLite: {ratio:.2f}; this process had {most:.0f} MB at most with both, the server "
            f"{own:.0f} MB of its own and {shared:.0f} MB shared"
        )


if __name__ == "__main__":
    count, spread = (int(word) for word in (*sys.argv[1:], *("1000000", "1000")[len(sys.argv) - 1 :]))
    where = Path(tempfile.mkdtemp(prefix="frontier-"))
    try:
        main(count, spread, where)
    finally:
        shutil.rmtree(where, ignore_errors=True)
