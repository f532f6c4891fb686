"""Verdicts inside the engines that people have their data in: the same answers, on the engine itself."""

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("numpy")

import pyarrow.parquet as pq  # noqa: E402

from comity import bulk  # noqa: E402
from comity.bulk import engines  # noqa: E402

AGENTS = ["GPTBot", "MyBot"]
URLS = ["https://a.example/x/1", None, "https://b.example/", "no URL", "https://a.example/y"] * 20


@cache
def robots() -> pa.Table:
    """Made by the tests and not while they are collected: Arrow imports pandas to make a table."""
    return pa.table(
        {
            "origin": ["https://a.example", "https://b.example"],
            "status": [200, 404],
            "body": pa.array([b"User-agent: *\nDisallow: /x\nUser-agent: GPTBot\nDisallow: /\n", b""], pa.binary()),
        }
    )


@cache
def wanted_by_url() -> dict[str | None, dict[str, Any]]:
    return {row["url"]: row for row in bulk.verdicts(URLS, robots(), AGENTS, wide=True).to_pylist()}


def of(name: str) -> Any:
    """An engine, or a skip that says how to get it: they are hundreds of megabytes, so no run demands them all."""
    return pytest.importorskip(name, reason=f"{name} is not installed: make test-engines")


def same(table: Any) -> None:
    assert sorted(map(str, table["url"].to_pylist())) == sorted(map(str, URLS))
    for row in table.to_pylist():
        wanted = wanted_by_url()[row["url"]]
        for agent in AGENTS:
            for name in ("verdict", "may_fetch", "line", "rule", "usage_search", "reason"):
                assert row[f"{agent}.{name}"] == wanted[f"{agent}.{name}"]


def test_polars_eager_and_lazy() -> None:
    pl = of("polars")
    frame = pl.DataFrame({"n": range(len(URLS)), "url": URLS})
    same(engines.polars(frame, robots(), AGENTS).to_arrow())
    lazy = engines.polars(frame.lazy(), robots(), AGENTS).filter(pl.col("MyBot.may_fetch"))
    assert lazy.collect()["url"].unique().sort().to_list() == ["https://a.example/y", "https://b.example/"]


def test_duckdb_as_a_function_and_as_a_table() -> None:
    duckdb = of("duckdb")
    connection = duckdb.connect()
    connection.register("pages", pa.table({"url": URLS}))
    engines.duckdb(connection, robots(), AGENTS)
    found = connection.sql("SELECT DISTINCT url FROM pages WHERE may_fetch(url, 'MyBot') ORDER BY url").fetchall()
    assert found == [("https://a.example/y",), ("https://b.example/",)]
    verdict = "SELECT may_fetch_verdict('https://a.example/y', 'GPTBot'), may_fetch_verdict(NULL, 'GPTBot')"
    assert connection.sql(verdict).fetchall() == [("disallowed_explicit", None)]
    judged = engines.duckdb_table(connection.sql("SELECT * FROM pages"), robots(), AGENTS)
    connection.register("judged", judged)
    same(connection.sql("SELECT * FROM judged").to_arrow_table())


def test_an_agent_that_duckdb_does_not_know_is_an_error() -> None:
    connection = of("duckdb").connect()
    engines.duckdb(connection, robots(), AGENTS)
    with pytest.raises(of("duckdb").Error, match="'Unknown' is not one of"):
        connection.sql("SELECT may_fetch('https://a.example/y', 'Unknown')").fetchall()
    assert connection.sql("SELECT may_fetch('https://a.example/y', NULL)").fetchall() == [(None,)]


def test_pandas_keeps_its_index() -> None:
    pd = of("pandas")
    frame = pd.DataFrame({"url": URLS}, index=range(1000, 1000 + len(URLS)))
    found = engines.pandas(frame, robots(), AGENTS)
    assert list(found.index) == list(frame.index)
    same(pa.Table.from_pandas(found, preserve_index=False))


def test_dask_partition_by_partition() -> None:
    dd, pd = of("dask.dataframe"), of("pandas")
    frame = dd.from_pandas(pd.DataFrame({"url": URLS}), npartitions=3)
    found = engines.dask(frame, robots(), AGENTS).compute(scheduler="synchronous")
    same(pa.Table.from_pandas(found, preserve_index=False))


def test_daft() -> None:
    daft = of("daft")
    same(engines.daft(daft.from_pydict({"url": URLS}), robots(), AGENTS).to_arrow())


@pytest.mark.long
def test_ray_data_in_worker_processes(tmp_path: Path) -> None:
    ray = of("ray")
    of("ray.data")
    pq.write_table(robots(), tmp_path / "robots.parquet")
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        dataset = ray.data.from_arrow(pa.table({"url": URLS}))
        found = engines.ray(dataset, str(tmp_path / "robots.parquet"), AGENTS)
        same(pa.concat_tables(ray.get(found.to_arrow_refs())))
    finally:
        ray.shutdown()


@pytest.fixture
def spark_session() -> Iterator[Any]:
    import os
    import shutil

    sql = of("pyspark.sql")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java: apt-get install default-jre-headless")
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers are this interpreter
    session = sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    yield session
    session.stop()


@pytest.mark.long
def test_spark_by_map_in_arrow(spark_session: Any) -> None:
    frame = spark_session.createDataFrame([(url,) for url in URLS], "url string")
    rows = engines.spark(frame, robots(), AGENTS).collect()
    same(pa.Table.from_pylist([row.asDict() for row in rows]))
