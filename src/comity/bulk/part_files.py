"""An audit's verdicts in parts: one Parquet file a batch of URLs.

A part that is there is not made again, so that a run that was stopped goes on. Nothing is fetched.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from comity.bulk.rulings import Rulings
from comity.errors import InputError
from comity.policy import Policy

DIALECTS: Final = b"comity.dialects"


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
        fresh.rename(part)


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


def joined(parts: list[Path], output: Path) -> None:
    """Parts as one file."""
    import pyarrow.parquet as pq

    whole = output.with_suffix(".new")
    writer = None
    for part in parts:
        source = pq.ParquetFile(part)
        writer = writer or pq.ParquetWriter(whole, source.schema_arrow.remove_metadata())
        for group in range(source.num_row_groups):
            writer.write_table(source.read_row_group(group).replace_schema_metadata(None))
    if writer is None:
        raise InputError("the files hold no URL")
    writer.close()
    whole.rename(output)
