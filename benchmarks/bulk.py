"""Verdicts over columns, with Protego in a Python function in the same run: `python benchmarks/bulk.py [URLS]`.

Origins have robots.txt files of the corpus's distribution, each with a line of its own so that none is like another;
URLs are made of the files' own patterns and of paths that no rule knows, in no order. Run by `make bench-bulk`.
"""

import random
import resource
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from common import row, table
from protego import Protego

from comity import bulk, parse
from comity_robots._forms import engine

CORPUS = Path(__file__).parents[2] / "shared" / "corpus" / "robots"
AGENTS = "GPTBot CCBot ClaudeBot Google-Extended PerplexityBot Bytespider Amazonbot Applebot Googlebot bingbot".split()
PATHS = 64  # of a file, from which its URLs are made


def robots_table(origins: int) -> tuple[pa.Table, list[int]]:
    """Captures, and which file of the corpus each has."""
    files = [path.read_bytes() for path in sorted(CORPUS.iterdir())]
    chance = random.Random(1)
    which = [chance.randrange(len(files)) for _ in range(origins)]
    bodies = [
        files[number] + b"\nSitemap: https://host%d.example/s.xml\n" % place for place, number in enumerate(which)
    ]
    names = [f"https://www.host{place}.example" for place in range(origins)]
    return pa.table({"origin": names, "status": [200] * origins, "body": pa.array(bodies, pa.large_binary())}), which


def paths_of(body: bytes, chance: random.Random) -> list[str]:
    """Paths that rules of a file match, half of them, and others."""
    rules = [rule.pattern for group in parse(body).groups for rule in group.rules]
    found = []
    for number in range(PATHS):
        if rules and number % 2:
            path = "/" + chance.choice(rules).replace("*", "x").rstrip("$").lstrip("/")
            found.append(f"{path[:80]}{chance.choice(['', 'item-17', 'page.html'])}")
        else:
            found.append(
                f"/{chance.choice(['news', 'blog', 'p', 'wiki'])}/2026/{chance.randrange(10**6)}/some-title.html"
            )
    return [path for path in found if path.isascii() and " " not in path] or ["/"]


def urls_of(which: list[int], count: int, ordered: bool = False, seed: int = 3) -> pa.ChunkedArray:
    """URLs over all origins, in no order, or in that of their origins."""
    chance, numbers = random.Random(2), np.random.default_rng(seed)
    files = [path.read_bytes() for path in sorted(CORPUS.iterdir())]
    paths = [paths_of(body, chance) for body in files]
    starts = np.cumsum([0, *map(len, paths)])
    every = pa.array([path for own in paths for path in own], pa.large_string())
    parts = []
    for start in range(0, count, 5_000_000):
        origins = numbers.integers(0, len(which), min(5_000_000, count - start))
        if ordered:
            origins.sort()
        files_of = np.array(which)[origins]
        sizes = np.diff(starts)[files_of]
        chosen = every.take(pa.array(starts[files_of] + numbers.integers(0, 1 << 30, len(origins)) % sizes))
        names = pa.array([f"https://www.host{place}.example" for place in range(len(which))], pa.large_string())
        parts.append(
            pc.binary_join_element_wise(names.take(pa.array(origins)), chosen, pa.scalar("", pa.large_string()))
        )
    return pa.chunked_array(parts)


def memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def timed(name: str, urls: pa.ChunkedArray, robots: pa.Table, agents: list[str], threads: int) -> None:
    best, cpu = 1e9, 1e9
    for _ in range(3 if len(urls) <= 20_000_000 else 1):
        wall, used = time.perf_counter(), time.process_time()
        table = bulk.verdicts(urls, robots, agents, threads=threads)
        best, cpu = min(best, time.perf_counter() - wall), min(cpu, time.process_time() - used)
    rows = len(urls) * len(agents)
    no = table["may_fetch"].to_numpy().astype(bool)
    speed = f"{rows / cpu / 1e6:.2f} million; {rows / best / 1e6:.2f} million a second of the clock"
    row(f"{name}, {1 - no.mean():.0%} refused", f"{speed}; peak {memory():,.0f} MB", "")


def protego(urls: pa.ChunkedArray, robots: pa.Table, agent: str, most: int) -> None:
    """The peer: files parsed once each, and one call a URL, as a Python UDF does it."""
    texts = urls.slice(0, most).to_pylist()
    bodies = dict(zip(robots["origin"].to_pylist(), robots["body"].to_pylist(), strict=True))
    parsed: dict[str, Protego] = {}
    used = time.process_time()
    for url in texts:
        origin = url[: url.index("/", 8)]
        own = parsed.get(origin)
        if own is None:
            own = parsed[origin] = Protego.parse(bodies[origin].decode("utf-8", "replace"))
        own.can_fetch(url, agent)
    speed = len(texts) / (time.process_time() - used)
    row(f"{len(texts):,} URLs of {len(parsed):,} origins", "", f"Protego in a Python function {speed:,.0f}")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    print(f"engine {engine()}, Python {sys.version.split()[0]}, pyarrow {pa.__version__}")
    robots, which = robots_table(min(100_000, max(count // 5, 1)))
    urls = urls_of(which, count)
    size = urls.nbytes / len(urls)
    print(
        f"{len(urls):,} URLs of {size:.0f} octets, {len(which):,} origins, "
        f"{robots['body'].nbytes / len(which):,.0f} octets a file"
    )
    print(f"before: {memory():,.0f} MB")
    table("verdicts a second of the processor", "comity", "others")
    each = count // len(which)
    timed(f"one agent, {each:,} URLs an origin, in no order", urls, robots, AGENTS[:1], 1)
    timed(f"one agent, {each:,} URLs an origin, in order", urls_of(which, count, True), robots, AGENTS[:1], 1)
    if count <= 20_000_000:
        timed("in no order, two threads", urls, robots, AGENTS[:1], 2)
        timed("ten agents, a tenth of the URLs", urls.slice(0, count // 10), robots, AGENTS, 1)
        short = urls.slice(0, 5 * len(which))
        timed("one agent, five URLs an origin", short, robots, AGENTS[:1], 1)
        timed("ten agents, five URLs an origin", short, robots, AGENTS, 1)
        protego(urls, robots, AGENTS[0], 60_000)


if __name__ == "__main__":
    main()
