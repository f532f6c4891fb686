"""Verdicts inside engines, with Protego in a Python function of the same engine: `python benchmarks/bulk_engines.py`.

Arguments: how many URLs (300000), and engines, where not all are wanted. Protego gets the first tenth of the URLs, and
parses a file once a process. CPU seconds are those of this process and of all it started. Ray and Spark start their
workers before they are measured.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from bulk import AGENTS, robots_table, urls_of
from common import row, table
from protego import Protego

from comity.bulk import engines

AGENT = AGENTS[0]
ORIGINS = 3_000


def peer_of(path: str) -> Callable[[str], bool]:
    """The function that people write. It can be sent to other processes."""
    bodies: dict[str, bytes] = {}
    parsed: dict[str, Protego] = {}

    def may_fetch(url: str) -> bool:
        origin = url[: url.index("/", 8)]
        own = parsed.get(origin)
        if own is None:
            if not bodies:
                table = pq.read_table(path)
                bodies.update(zip(table["origin"].to_pylist(), table["body"].to_pylist(), strict=True))
            own = parsed[origin] = Protego.parse(bodies[origin].decode("utf-8", "replace"))
        return bool(own.can_fetch(url, AGENT))

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


def ray(urls: pa.Table, path: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    import ray as engine
    import ray.data

    peer = peer_of(path)

    def asked(batch: pa.Table) -> pa.Table:
        return pa.table({"may_fetch": [peer(url) for url in batch["url"].to_pylist()]})

    def dataset(table: pa.Table) -> Any:
        half = len(table) // 2
        return engine.data.from_arrow([table.slice(0, half), table.slice(half)])

    if not engine.is_initialized():
        engine.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    engine.data.DataContext.get_current().enable_progress_bars = False
    whole, few = dataset(urls), dataset(urls.slice(0, len(urls) // 10))
    return (
        lambda: engines.ray(whole, path, AGENT).materialize(),
        lambda: few.map_batches(asked, batch_format="pyarrow").materialize(),
    )


def pyspark(urls: pa.Table, path: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    from pyspark.sql import SparkSession

    peer = peer_of(path)

    def asked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.record_batch({"may_fetch": [peer(url) for url in batch["url"].to_pylist()]})

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", 200_000).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    folder = Path(path).parent
    for name, part in (("urls", urls), ("few", urls.slice(0, len(urls) // 10))):
        half = len(part) // 2
        (folder / name).mkdir(exist_ok=True)
        pq.write_table(part.slice(0, half), folder / name / "1.parquet")
        pq.write_table(part.slice(half), folder / name / "2.parquet")
    whole, few = session.read.parquet(str(folder / "urls")), session.read.parquet(str(folder / "few"))
    sink = {"format": "noop", "mode": "overwrite"}
    return (
        lambda: engines.spark(whole, path, AGENT).write.save(**sink),
        lambda: few.mapInArrow(asked, "may_fetch boolean").write.save(**sink),
    )


STARTED = (ray, pyspark)


def cpu() -> float:
    """CPU seconds of this process, and of all that it or its children started, over or not."""
    about = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except (OSError, UnicodeDecodeError):
            continue
        about[int(path.parent.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    total, ours = 0, {os.getpid()}
    left = dict(about)
    while found := [pid for pid, (parent, _) in left.items() if pid in ours or parent in ours]:
        for pid in found:
            total += left.pop(pid)[1]
            ours.add(pid)
    return total / os.sysconf("SC_CLK_TCK")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
    robots, which = robots_table(ORIGINS)
    urls = pa.table({"url": urls_of(which, count).cast(pa.string()).combine_chunks()})
    table("verdicts a second of the processor in", "comity", "Protego in its function")
    with TemporaryDirectory() as folder:
        path = str(Path(folder) / "robots.parquet")
        pq.write_table(robots, path)
        for engine in (pandas, polars, duckdb, dask, daft, ray, pyspark):
            if sys.argv[2:] and engine.__name__ not in sys.argv[2:]:
                continue
            if find_spec(engine.__name__) is None:
                row(engine.__name__, "not installed", "")
                continue
            ours, peer = engine(urls, path)
            speeds = []
            if engine in STARTED:
                for run in engine(urls.slice(0, 100), path):
                    run()
                ours, peer = engine(urls, path)
            for run, size in ((ours, count), (peer, count // 10)):
                used, wall = cpu(), time.perf_counter()
                run()
                speeds.append((size / (cpu() - used), size / (time.perf_counter() - wall)))
            (own, own_wall), (other, _) = speeds
            row(engine.__name__, f"{own:,.0f}; {own_wall:,.0f} a second of the clock", f"{other:,.0f}")


if __name__ == "__main__":
    main()
