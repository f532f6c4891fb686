"""Where people have their data: the same function inside Polars, DuckDB, pandas, Ray Data, PySpark, Dask and Daft.

Each is a few lines over `BulkVerdicts.verdicts`; a worker of a cluster makes its `BulkVerdicts` once, from a table it
is given or from files it can read. No engine is imported but the one that is asked for.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from comity.bulk.bulk_verdicts import BulkVerdicts, verdicts
from comity.bulk.captures import as_table
from comity.errors import InvalidSetting
from comity.policy import Policy
from comity_pages._extras import need


def arrow(
    urls: str, robots: Any, agents: str | Sequence[str], *, at: Any = None, policy: Policy | None = None
) -> Callable[[Any], Any]:
    """A function from an Arrow table (or batch) to one with the columns of each agent added: what engines map.

    It can be sent to other processes; each reads `robots` once.

    Args:
        urls: the name of the column of URLs.
        robots: a table or a path, as of `verdicts`.
        agents, at, policy: as of `verdicts`.
    """
    return _Adding(urls, robots, agents, at, policy)


class _Adding:
    def __init__(self, urls: str, robots: Any, agents: str | Sequence[str], at: Any, policy: Policy | None) -> None:
        self._given = (urls, robots, agents, at, policy)
        self._rulings: BulkVerdicts | None = None

    def __call__(self, batch: Any) -> Any:
        urls, robots, agents, at, policy = self._given
        if self._rulings is None:
            self._rulings = BulkVerdicts(_read(robots) if isinstance(robots, str) else robots, agents, policy=policy)
        table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
        found = self._rulings.verdicts(table[urls], at=at, wide=True)
        for name in found.column_names[1:]:
            table = table.append_column(name, _plain(found[name]))
        return table

    def __reduce__(self) -> Any:
        return type(self), self._given


def polars(frame: Any, robots: Any, agents: str | Sequence[str], *, urls: str = "url", **options: Any) -> Any:
    """A Polars data frame (or lazy frame, batch by batch) with the columns of each agent added."""
    pl = need("polars", "polars", "verdicts in Polars")
    added = arrow(urls, robots, agents, **options)

    def batch(part: Any) -> Any:
        return pl.from_arrow(added(part.to_arrow()))

    if isinstance(frame, pl.LazyFrame):
        schema = batch(frame.head(0).collect()).schema
        return frame.map_batches(batch, schema=schema, streamable=True)
    return batch(frame)


def pandas(frame: Any, robots: Any, agents: str | Sequence[str], *, urls: str = "url", **options: Any) -> Any:
    """A pandas data frame with the columns of each agent added; its index stays."""
    added = arrow(urls, robots, agents, **options)(pa.table({urls: pa.array(frame[urls], from_pandas=True)}))
    found = added.drop_columns([urls]).to_pandas()
    return frame.join(found.set_index(frame.index))


def duckdb(
    connection: Any, robots: Any, agents: str | Sequence[str], *, name: str = "may_fetch", **options: Any
) -> None:
    """Make two things known to a DuckDB connection: the SQL function `NAME(url, agent)`, whether it may be fetched, and
    `NAME_verdict(url, agent)`, the verdict. For all columns, `duckdb_table`.

    The functions know the agents that are named here: a query that asks about another fails.
    """
    kinds = need("duckdb.sqltypes" if _has("duckdb.sqltypes") else "duckdb.typing", "duckdb", "verdicts in DuckDB")
    names = [agents] if isinstance(agents, str) else list(agents)
    at, policy = options.pop("at", None), options.pop("policy", None)
    rulings = BulkVerdicts(robots, names, policy=policy)

    def column(what: str) -> Callable[[Any, Any], Any]:
        def asked(urls: Any, wanted: Any) -> Any:
            unknown = sorted(set(pc.unique(wanted).to_pylist()) - {None, *names})
            if unknown:
                raise InvalidSetting(f"agents: {unknown[0]!r} is not one of {', '.join(names)}; name it there as well")
            wide = rulings.verdicts(urls, at=at, wide=True, threads=1)
            found = pa.nulls(len(urls), pa.bool_() if what == "may_fetch" else pa.string())
            for agent in names:
                own = pc.equal(wanted, agent)
                found = pc.if_else(own, _plain(wide[f"{agent}.{what}"]).combine_chunks(), found)
            return found

        return asked

    text, yes = kinds.VARCHAR, kinds.BOOLEAN
    for sql, what, kind in ((name, "may_fetch", yes), (f"{name}_verdict", "verdict", text)):
        connection.create_function(sql, column(what), [text, text], kind, type="arrow", null_handling="special")


def duckdb_table(relation: Any, robots: Any, agents: str | Sequence[str], *, urls: str = "url", **options: Any) -> Any:
    """An Arrow table of a DuckDB relation's rows with the columns of each agent: SQL can read it by its name."""
    return arrow(urls, robots, agents, **options)(relation.to_arrow_table())


def ray(dataset: Any, robots: Any, agents: str | Sequence[str], *, urls: str = "url", **options: Any) -> Any:
    """A Ray dataset with the columns of each agent added."""
    batch_size = options.pop("batch_size", 1_000_000)
    return dataset.map_batches(arrow(urls, robots, agents, **options), batch_format="pyarrow", batch_size=batch_size)


def spark(frame: Any, robots: Any, agents: str | Sequence[str], *, urls: str = "url", **options: Any) -> Any:
    """A Spark data frame with the columns of each agent added, by mapInArrow."""
    types = need("pyspark.sql.types", "pyspark", "verdicts in Spark")
    agents = [agents] if isinstance(agents, str) else list(agents)
    added = arrow(urls, robots, agents, **options)
    kinds = {"may_fetch": types.BooleanType(), "line": types.IntegerType(), "crawl_delay": types.DoubleType()}
    fields = [
        *frame.schema.fields,
        *(
            types.StructField(name, kinds.get(name.rpartition(".")[2], types.StringType()))
            for name in added_names(agents)
        ),
    ]

    def batches(parts: Iterator[Any]) -> Iterator[Any]:
        for part in parts:
            yield from added(part).combine_chunks().to_batches()

    return frame.mapInArrow(batches, types.StructType(fields))


def dask(frame: Any, robots: Any, agents: str | Sequence[str], *, urls: str = "url", **options: Any) -> Any:
    """A Dask data frame with the columns of each agent added, partition by partition."""
    given = {"urls": urls, **options}
    meta = pandas(frame._meta, robots, agents, **given)
    return frame.map_partitions(pandas, robots, agents, meta=meta, **given)


def daft(frame: Any, robots: Any, agents: str | Sequence[str], *, urls: str = "url", **options: Any) -> Any:
    """A Daft data frame with the columns of each agent added."""
    module = need("daft", "daft", "verdicts in Daft")
    added = arrow(urls, robots, agents, **options)
    return module.from_arrow(added(frame.to_arrow()))


def added_names(agents: Sequence[str]) -> list[str]:
    """The columns that are added, in order."""
    empty = pa.table({"origin": pa.array([], pa.string()), "body": pa.array([], pa.binary())})
    return list(verdicts(pa.array([], pa.string()), empty, agents, wide=True).column_names[1:])


@lru_cache(4)
def _read(path: str) -> Any:
    return as_table(path)


def _plain(column: Any) -> Any:
    """A column without its dictionary: engines join batches, and not all can join dictionaries."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _has(module: str) -> bool:
    from importlib.util import find_spec

    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
