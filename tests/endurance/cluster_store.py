"""A crawl in PostgreSQL on two machines, as it were, of which everything fails in turn.

Run by `make test-cluster`; CLUSTER_HOSTS, CLUSTER_PAGES, CLUSTER_BLOWS and CLUSTER_SEED as of cluster.py, whose
sites these are. Two commands work the crawl, each in a folder of its own; the second reaches the database by a wire of
ours. A worker is killed; stopped for longer than its lease and woken; a whole command is killed and joins again; the
wire falls silent and then ends its connections; the database is restarted. With `--engine ray` the workers are actors
on the two nodes of a Ray cluster, and the raylet of one of them is killed too, whose place another node takes. Exit
code 1: a page is lost or there twice, a host was asked too early, or for what its robots.txt forbids.
"""

import argparse
import asyncio
import itertools
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from contextlib import ExitStack, closing, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
os.environ.setdefault("CLUSTER_PAGES", "40")  # so that the crawl is not over before all has failed once
sys.path[:0] = [str(ROOT / "tests"), str(Path(__file__).parent)]

from cluster import BLOWS, HOSTS, INTERVAL, name_of, serve, wanted  # noqa: E402
from postgres import Server, programs  # noqa: E402
from postgres import serve as serve_database  # noqa: E402
from ray_nodes import Node  # noqa: E402

from comity._ray import joined  # noqa: E402
from comity.crawler.output.lines import JsonLines  # noqa: E402
from comity.crawler.storage.store import CrawlStore  # noqa: E402
from comity.errors import StorageError  # noqa: E402
from comity.frontier.postgresql.database import address  # noqa: E402

LEASE = 4.0  # seconds
PAUSE = (2.0, 6.0)  # seconds between two blows
SETTINGS = {"COMITY_SITEMAPS": "false", "COMITY_TRAPS": "false"}
KINDS = ("kill a worker", "stop a worker", "kill a machine", "silence the wire", "restart the database")
OF_RAY = ("kill a worker", "stop a worker", "kill a raylet", *KINDS[2:])


class Wire(threading.Thread):
    """Passes octets on between a port of its own and the database's."""

    def __init__(self, to: int) -> None:
        super().__init__(daemon=True)
        self.to = to
        self.port = 0
        self._ready = threading.Event()
        self._flowing: asyncio.Event
        self._loop: asyncio.AbstractEventLoop
        self._writers: set[asyncio.StreamWriter] = set()
        self.start()
        self._ready.wait()

    def run(self) -> None:
        asyncio.run(self._serve())

    def silent(self) -> None:
        self._loop.call_soon_threadsafe(self._flowing.clear)

    def reset(self) -> None:
        """End all connections, and pass on what comes over new ones."""

        def end() -> None:
            self._flowing.set()
            for writer in self._writers:
                writer.transport.abort()
            self._writers.clear()

        self._loop.call_soon_threadsafe(end)

    async def _serve(self) -> None:
        self._loop, self._flowing = asyncio.get_running_loop(), asyncio.Event()
        self._flowing.set()
        server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await server.serve_forever()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def flow(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            with suppress(OSError):
                while data := await source.read(1 << 16):
                    await self._flowing.wait()
                    target.write(data)
                    await target.drain()
            target.close()

        try:
            back, forth = await asyncio.open_connection("127.0.0.1", self.to)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, forth}
        await asyncio.gather(flow(reader, forth), flow(back, writer))


class Machine:
    """One command that takes part, and its processes.

    Args:
        ray: the address of the cluster where the processes are placed; None: they are children of the command.
    """

    def __init__(self, store: CrawlStore, url: str, folder: Path, words: list[str], ray: str | None) -> None:
        self.store = store
        self.url = url
        self.folder = folder
        self.ray = ray
        self.process = self._start(words)

    def _start(self, words: list[str]) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "comity", "crawl", "--store", self.url, "-o", str(self.folder), "-q"]
        command += ["--workers", "2", "--concurrency", "32", *words]
        command += [] if self.ray is None else ["--engine", "ray", "--address", self.ray]
        with (self.folder.parent / f"{self.folder.name}.log").open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | SETTINGS)

    def workers(self) -> list[int]:
        """Its processes; of actors, those that have shards."""
        if self.ray is not None:
            pid = str(self.process.pid)
            with suppress(StorageError):
                rows = [row for row in self.store.status().rows if row.holder and row.holder.split(":")[1] == pid]
                return sorted({worker for row in rows if row.now.state != "starting" and (worker := row.now.worker)})
            return []
        with suppress(OSError):
            path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
            return [int(word) for word in path.read_text().split()]
        return []

    def kill(self) -> None:
        """End the command; its workers end by themselves."""
        children = self.workers()
        self.process.kill()
        self.process.wait()
        deadline = time.monotonic() + 60
        while any(Path(f"/proc/{pid}").exists() for pid in children) and time.monotonic() < deadline:
            time.sleep(0.05)

    def join(self) -> None:
        """Take part (again)."""
        self.process = self._start(["--join"])


class Nodes:
    """A cluster of two nodes on this machine: one that goes on, and one that dies and is replaced."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self.address: str = ray.get_runtime_context().gcs_address
        self._other = Node(ray, 2)

    def strike(self) -> None:
        """Kill the raylet of the other; its workers end with it."""
        os.kill(self._other.raylet, signal.SIGKILL)
        self._other.end()
        self._other = Node(self._ray, 2)

    def end(self) -> None:
        self._other.end()


def befall(
    kind: str, machines: list[Machine], wire: Wire, server: Server, nodes: Nodes | None, rng: random.Random
) -> None:
    machine = rng.choice(machines)
    workers = machine.workers()
    match kind:
        case "kill a worker" if workers:
            with suppress(ProcessLookupError):
                os.kill(rng.choice(workers), signal.SIGKILL)
        case "stop a worker" if workers:
            pid = rng.choice(workers)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
            time.sleep(LEASE * 1.7)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)  # the zombie
        case "kill a raylet" if nodes is not None:
            nodes.strike()
        case "kill a machine":
            machine.kill()
            machine.join()
        case "silence the wire":
            wire.silent()
            time.sleep(LEASE * 1.7)
            wire.reset()
        case "restart the database":
            server.stop()
            time.sleep(1.0)
            server.start()


def kept(store: CrawlStore) -> Counter[str]:
    """The pages of all parts of the output, after each is brought back to what is committed of it."""
    found: Counter[str] = Counter()
    for part in store.parts():
        folder = Path(part.folder) / part.name
        if folder.is_dir():
            lines = JsonLines()
            lines.open(folder, (part.sink or {}).get("committed"))
            lines.close()
            if (folder / "pages.jsonl").exists():
                with (folder / "pages.jsonl").open("rb") as file:
                    found.update(json.loads(line)["url"] for line in file)
    return found


def crawled(
    folder: Path, server: Server, port: int, nodes: Nodes | None, rng: random.Random
) -> tuple[Counter[str], list[tuple[str, float]], float]:
    """The pages kept, what befell and when, and the seconds that it took."""
    ray, kinds = (None, KINDS) if nodes is None else (nodes.address, OF_RAY)
    wire = Wire(server.port)
    urls = server.url("chaos"), server.url("chaos", port=wire.port)
    policy = ["--scope", "any", "--delay", str(INTERVAL), "--allow-address", "127.0.0.0/8"]
    seeds = [f"http://{name_of(number)}:{port}/p/0" for number in range(0, HOSTS, 3)]
    begun = time.monotonic()
    store = CrawlStore(address(urls[0]))
    blows: list[tuple[str, float]] = []
    words = [*seeds, *policy, "--shards", "8", "--lease", str(LEASE)]
    machines = [Machine(store, urls[0], folder / "first", words, ray)]
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        with suppress(StorageError):
            if store.status().rows:
                break
        if machines[0].process.poll() is not None:
            sys.exit((folder / "first.log").read_text())
        time.sleep(0.1)
    machines.append(Machine(store, urls[1], folder / "second", ["--join"], ray))
    with closing(store):
        while not any(row.now.worker for row in store.status().rows):
            time.sleep(0.1)
        for number in range(BLOWS):
            time.sleep(rng.uniform(*PAUSE))
            if all(machine.process.poll() is not None for machine in machines):
                break
            kind = kinds[number % len(kinds)]
            blows.append((kind, time.monotonic()))
            befall(kind, machines, wire, server, nodes, rng)
        for machine in machines:
            while machine.process.wait() not in (0, 2):  # the database was away just when it began
                print(f"{machine.folder.name} ended with {machine.process.returncode}, and joins again")
                machine.join()
        store.close()  # its connection may have ended with the database
        return kept(store), blows, time.monotonic() - begun


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--engine", choices=("local", "ray"), default="local", help="what places the workers")
    engine = asked.parse_args().engine
    seed = int(os.environ.get("CLUSTER_SEED", str(random.randrange(1 << 30))))
    bin_ = programs()
    if bin_ is None:
        print("PostgreSQL is not here: apt-get install postgresql")
        return 1
    context = multiprocessing.get_context("spawn")
    pipe, theirs = context.Pipe()
    sites = context.Process(target=serve, args=(theirs,), daemon=True)
    sites.start()
    port: int = pipe.recv()
    with tempfile.TemporaryDirectory() as name, serve_database(bin_, ()) as server, ExitStack() as stack:
        nodes = None
        if engine == "ray":
            nodes = Nodes(stack.enter_context(joined("--engine ray", "local", processors=2)))
            stack.callback(nodes.end)
        found, blows, took = crawled(Path(name), server, port, nodes, random.Random(seed))
        said = "".join(path.read_text() for path in sorted(Path(name).glob("*.log")))
    workers = "of 2 actors of Ray" if engine == "ray" else "of 2 workers"
    try:
        return judge(pipe, port, found, blows, took, seed, said, workers)
    finally:
        sites.terminate()
        sites.join()


def judge(
    pipe: Connection,
    port: int,
    found: Counter[str],
    blows: list[tuple[str, float]],
    took: float,
    seed: int,
    said: str,
    workers: str,
) -> int:
    pipe.send("seen")
    seen: list[tuple[float, str, str]] = pipe.recv()
    by_host: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for at, host, path in seen:
        by_host[host].append((at, path))
    pairs = [(host, *pair) for host, asked in by_host.items() for pair in itertools.pairwise(asked)]
    short = [later[0] - earlier[0] for _, earlier, later in pairs]
    figures: dict[str, Any] = {
        "pages lost": len(wanted(port) - found.keys()),
        "pages written twice": sum(count > 1 for count in found.values()),
        "intervals too short": sum(each < INTERVAL for each in short),
        "requests forbidden": sum(path.startswith("/no/") for _, _, path in seen),
    }
    print(f"{HOSTS:,} hosts, {len(found):,} pages kept, two commands {workers}, {took:.0f} s, seed {seed}")
    print(", ".join(f"{kind}: {count}" for kind, count in Counter(kind for kind, _ in blows).items()))
    print(f"{len(seen):,} requests; shortest interval {min(short):.3f} s of {INTERVAL:g} s")
    for what, count in figures.items():
        print(f"{count:7}  {what}")
    for host, (earlier, first), (later, second) in pairs:
        if later - earlier < INTERVAL:
            kind, at = max(
                ((kind, at) for kind, at in blows if at < later), key=lambda blow: blow[1], default=("", 0.0)
            )
            print(f"{host}: {first}, {second} {later - earlier:.3f} s later, {later - at:.1f} s after: {kind}")
    if any(figures.values()):
        print(said[-4000:])
    return 1 if any(figures.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
