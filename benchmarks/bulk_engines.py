"""Verdicts inside engines, with Protego in a Python function of the same engine: `python benchmarks/bulk_engines.py`.

As an argument, how many URLs (300000); Protego gets the first tenth of them, and parses a file once a process. CPU
seconds are those of this process and of its children where an engine has any; engines that are missing are left out.
"""

import resource
import sys
import time
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from bulk import AGENTS, robots_table, urls_of
from protego import Protego

from comity.bulk import engines

AGENT = AGENTS[0]
ORIGINS = 3_000


@cache
def files(path: str) -> dict[str, bytes]:
    table = pq.read_table(path)
    return dict(zip(table["origin"].to_pylist(), table["body"].to_pylist(), strict=True))


@cache
def parsed(path: str, origin: str) -> Protego:
    return Protego.parse(files(path)[origin].decode("utf-8", "replace"))


def peer_of(path: str) -> Callable[[str], bool]:
    """The function that people write."""

    def may_fetch(url: str) -> bool:
        return bool(parsed(path, url[: url.index("/", 8)]).can_fetch(url, AGENT))

    return may_fetch


def pandas(urls: pa.Table, path: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    frame, peer = urls.to_pandas(), peer_of(path)
    few = frame.head(len(frame) // 10)
    return lambda: engines.pandas(frame, pq.read_table(path), AGENT), lambda: few["url"].map(peer).sum()


def polars(urls: pa.Table, path: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    import polars as pl

    frame, peer = pl.from_arrow(urls), peer_of(path)
    few = frame.head(len(frame) // 10)
    return (
        lambda: engines.polars(frame, pq.read_table(path), AGENT),
        lambda: few.select(pl.col("url").map_elements(peer, return_dtype=pl.Boolean)).sum(),
    )


def duckdb(urls: pa.Table, path: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    import duckdb as engine

    connection = engine.connect()
    connection.register("urls", urls)
    connection.register("few", urls.slice(0, len(urls) // 10))
    connection.create_function("protego", peer_of(path), ["VARCHAR"], "BOOLEAN")

    def ours() -> Any:
        engines.duckdb(connection, pq.read_table(path), AGENT)
        return connection.sql(f"SELECT count(*) FILTER (may_fetch(url, '{AGENT}')) FROM urls").fetchall()

    return ours, lambda: connection.sql("SELECT count(*) FILTER (protego(url)) FROM few").fetchall()


def dask(urls: pa.Table, path: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    import dask.dataframe as dd

    whole, peer = urls.to_pandas(), peer_of(path)
    frame = dd.from_pandas(whole, npartitions=2)
    few = dd.from_pandas(whole.head(len(whole) // 10), npartitions=2)
    robots = pq.read_table(path)
    return (
        lambda: engines.dask(frame, robots, AGENT).compute(scheduler="synchronous"),
        lambda: few["url"].map(peer, meta=("may_fetch", bool)).sum().compute(scheduler="synchronous"),
    )


def daft(urls: pa.Table, path: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    import daft as engine

    frame, few, peer = engine.from_arrow(urls), engine.from_arrow(urls.slice(0, len(urls) // 10)), peer_of(path)
    robots = pq.read_table(path)
    return (
        lambda: engines.daft(frame, robots, AGENT).collect(),
        lambda: few.select(engine.col("url").apply(peer, return_dtype=engine.DataType.bool())).collect(),
    )


def cpu() -> float:
    """CPU seconds of this process and of its children that have ended."""
    return sum(
        resource.getrusage(who).ru_utime + resource.getrusage(who).ru_stime
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
    robots, which = robots_table(ORIGINS)
    urls = pa.table({"url": urls_of(which, count).cast(pa.string()).combine_chunks()})
    with TemporaryDirectory() as folder:
        path = str(Path(folder) / "robots.parquet")
        pq.write_table(robots, path)
        for engine in (pandas, polars, duckdb, dask, daft):
            if find_spec(engine.__name__) is None:
                continue
            ours, peer = engine(urls, path)
            speeds = []
            for run, size in ((ours, count), (peer, count // 10)):
                parsed.cache_clear()
                used, wall = cpu(), time.perf_counter()
                run()
                speeds.append((size / (cpu() - used), size / (time.perf_counter() - wall)))
            (own, own_wall), (other, _) = speeds
            print(
                f"{engine.__name__:8} {own:12,.0f} verdicts a CPU second ({own_wall:,.0f} a second)   Protego in its "
                f"function {other:9,.0f}   {own / other:,.0f} times",
                flush=True,
            )


if __name__ == "__main__":
    main()
