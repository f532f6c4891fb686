"""What asking costs: a GET through AsyncClient beside bare aiohttp and httpx, a check, a thousand origins kept.

Run by `make bench-client`; needs nginx. CPU time of this process, medians of several rounds, all in the same run.
"""

import asyncio
import itertools
import statistics
import subprocess
import tempfile
import time
import timeit
import tracemalloc
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp
import httpx
import uvloop
from common import row, start_nginx, table

import comity
from comity import AsyncClient, Client, Policy
from comity.gate import Gate
from comity.policy import RobotsResult

PORT = 8461
REQUESTS = 4_000
WORKERS = 16
ROUNDS = 5
ROBOTS = "User-agent: *\n" + "".join(f"Disallow: /private/{number}/\n" for number in range(30)) + "Crawl-delay: 0\n"
POLICY = Policy(agent="Bench/1.0", min_interval=0.0, allow_addresses=("127.0.0.0/8",))
NUMBERS = itertools.count()


def nginx(folder: Path) -> "subprocess.Popen[bytes]":
    (folder / "page.html").write_bytes(b"<!doctype html><title>page</title>" + b"x" * 2_000)
    (folder / "robots.txt").write_text(ROBOTS)
    folder.chmod(0o755)
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log /dev/null; worker_processes 1; events {{}}\n"
        f"http {{ access_log off; keepalive_requests 10000000;\n"
        f"server {{ listen 127.0.0.1:{PORT}; root {folder}; }} }}\n"
    )
    return start_nginx(folder, PORT)


def url() -> str:
    return f"http://127.0.0.1:{PORT}/page.html?n={next(NUMBERS)}"


async def busy(one: Callable[[], Awaitable[object]], requests: int = REQUESTS) -> float:
    """Microseconds of CPU a request, some of them at the same time."""
    await one()
    left = iter(range(requests))

    async def work() -> None:
        for _ in left:
            await one()

    started = time.process_time()
    await asyncio.gather(*(work() for _ in range(WORKERS)))
    return (time.process_time() - started) / requests * 1e6


async def with_aiohttp() -> float:
    async with aiohttp.ClientSession() as session:

        async def one() -> None:
            async with session.get(url()) as response:
                await response.read()

        return await busy(one)


async def with_comity() -> float:
    async with AsyncClient(POLICY) as client:
        return await busy(lambda: client.get(url()))


async def with_httpx() -> float:
    async with httpx.AsyncClient() as client:
        return await busy(lambda: client.get(url()), REQUESTS // 8)


def gets() -> None:
    def run(work: Callable[[], Awaitable[float]]) -> float:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(work())  # type: ignore[arg-type]

    rounds = [(run(with_aiohttp), run(with_comity), run(with_httpx)) for _ in range(ROUNDS)]
    bare, ours, theirs = (statistics.median(column) for column in zip(*rounds, strict=True))
    row(
        "processor time of a `GET` through AsyncClient",
        f"{ours:.0f} us",
        f"aiohttp {bare:.0f} us, httpx {theirs:.0f} us",
    )


def checks() -> None:
    target = f"http://127.0.0.1:{PORT}/some/dir/page.html?q=1"
    with Client(POLICY) as client:
        client.check(target)
        cost = min(timeit.repeat(lambda: client.check(target), number=20_000, repeat=7)) / 20_000 * 1e6
    row("a check with robots.txt in the cache, Client", f"{cost:.1f} us", "")

    async def check() -> float:
        async with AsyncClient(POLICY) as client:
            await client.check(target)
            costs = []
            for _ in range(7):
                started = time.perf_counter()
                for _ in range(20_000):
                    await client.check(target)
                costs.append((time.perf_counter() - started) / 20_000 * 1e6)
            return min(costs)

    row("a check with robots.txt in the cache, AsyncClient", f"{asyncio.run(check()):.1f} us", "")


def origins(count: int = 1_000) -> None:
    bodies = [ROBOTS.encode() + b"# %d\n" % number for number in range(count)]
    gate = Gate(POLICY)
    gate.origin_policy("http://warm.example/", 0.0)
    tracemalloc.start()
    for number, body in enumerate(bodies):
        origin = f"http://host{number}.example"
        gate.ask(origin + "/page", 0.0)
        result = RobotsResult.from_response(origin, origin + "/robots.txt", 200, body, policy=POLICY, fetched_at=0.0)
        gate.robots_arrived(result, 0.0)
        gate.ask(origin + "/page", 1.0)
        gate.ask(origin + "/other", 1.0)
    size = tracemalloc.get_traced_memory()[0]
    row(f"memory of {count:,} origins with robots.txt of {len(ROBOTS)} octets each", f"{size / 1e6:.1f} MB", "")


def main() -> None:
    versions = f"aiohttp {aiohttp.__version__}, httpx {httpx.__version__}, uvloop {uvloop.__version__}"
    print(f"comity {comity.__version__}, {versions}")
    table("", "comity", "others")
    with tempfile.TemporaryDirectory() as folder:
        process = nginx(Path(folder))
        try:
            gets()
            checks()
        finally:
            process.terminate()
            process.wait()
    origins()


if __name__ == "__main__":
    main()
