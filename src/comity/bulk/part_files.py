"""An audit's verdicts in parts: one Parquet file a batch of URLs.

A part that is there is not made again, so that a run that was stopped goes on. Nothing is fetched.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from comity.bulk.rulings import Rulings
from comity.cells import cell
from comity.errors import InputError
from comity.policy import Policy

DIALECTS: Final = b"comity.dialects"
AT_ONCE: Final = 10_000
"""Rows that are turned into text at a time."""


class Judge:
    """Judges batches into parts. One that was not used yet can be sent to other processes.

    Attributes:
        threads: how many work at once; None for as many as there are cores.
    """

    threads: int | None = None

    def __init__(self, robots: Any, agents: list[str], policy: Policy, at: Any, dialects: list[str]) -> None:
        self._given = (robots, agents, policy, at, dialects)
        self._others: dict[str, Rulings] = {}
        self._rulings: Rulings | None = None

    def __call__(self, batch: Any, part: Path) -> None:
        """Write the verdicts of a batch; with them, how many answers of each agent other dialects would change."""
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        robots, agents, policy, at, dialects = self._given
        if self._rulings is None:
            self._rulings = Rulings(robots, agents, policy=policy)
            for name in dialects:
                self._others[name] = Rulings(robots, agents, policy=policy.with_changes(dialect=name))
        table = self._rulings.verdicts(batch, at=at, threads=self.threads)
        changed: dict[str, dict[str, int]] = {}
        for name, rulings in self._others.items():
            other = rulings.verdicts(batch, at=at, threads=self.threads)
            differs = pc.not_equal(table["may_fetch"], other["may_fetch"])
            size = len(batch)
            changed[name] = {
                agent: pc.sum(differs.slice(number * size, size)).as_py() or 0 for number, agent in enumerate(agents)
            }
        fresh = part.with_suffix(".new")
        pq.write_table(table.replace_schema_metadata({DIALECTS: json.dumps(changed)}), fresh)
        fresh.replace(part)


def written(judge: Judge, batches: Iterator[Any], folder: Path, piece: int = 0) -> Iterator[tuple[Path, int]]:
    """Each part in a folder, in the order of batches, and how many URLs it has.

    Args:
        piece: the number of the piece of the input that the batches are of: names of parts are in its order.
    """
    for number, batch in enumerate(batches):
        part = folder / f"part-{piece:06}-{number:06}.parquet"
        if not part.exists():
            judge(batch, part)
        yield part, len(batch)


FORMATS: Final = (".parquet", ".csv", ".jsonl")
"""What `joined` can write, by the ends of names."""


def joined(parts: list[Path], output: Path) -> None:
    """Parts as one file, in the format that its name says."""
    import pyarrow.parquet as pq

    if not parts:
        raise InputError("the files contain no URL")
    whole = output.with_suffix(".new")
    schema = pq.read_schema(parts[0]).remove_metadata()
    if output.suffix == ".parquet":
        with pq.ParquetWriter(whole, schema) as writer:
            for table in _tables(parts):
                writer.write_table(table.replace_schema_metadata(None))
    else:
        with whole.open("w", encoding="utf-8", newline="") as file:
            if output.suffix == ".csv":
                rows = csv.writer(file, lineterminator="\n")
                rows.writerow(schema.names)
                for row in _rows(parts):
                    rows.writerow(map(cell, row.values()))
            else:
                file.writelines(f"{json.dumps(row, ensure_ascii=False)}\n" for row in _rows(parts))
    whole.replace(output)


def _tables(parts: list[Path]) -> Iterator[Any]:
    import pyarrow.parquet as pq

    for part in parts:
        with pq.ParquetFile(part) as source:
            for group in range(source.num_row_groups):
                yield source.read_row_group(group)


def _rows(parts: list[Path]) -> Iterator[dict[str, Any]]:
    for table in _tables(parts):
        for batch in table.to_batches(AT_ONCE):
            yield from batch.to_pylist()
