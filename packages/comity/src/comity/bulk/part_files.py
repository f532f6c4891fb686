"""An audit's verdicts in parts: one Parquet file a batch of URLs.

A part that is there is not made again, so that a run that was stopped goes on. Nothing is fetched.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from comity.bulk.bulk_verdicts import BulkVerdicts
from comity.cells import escape_formula
from comity.errors import InputError
from comity.files import read_regular, write_anew, written_anew
from comity.frontier.durable import writing_to
from comity.policy import Policy

DIALECTS: Final = b"comity.dialects"
MAX_ROWS_AS_TEXT: Final = 10_000  # rows that are turned into text at a time


class Judge:
    """Judges batches into parts. One that was not used yet can be sent to other processes.

    Attributes:
        threads: how many work at once; None for as many as there are cores.
    """

    threads: int | None = None

    def __init__(
        self, robots: Any, agents: list[str], policy: Policy, at: Any, dialects: list[str], column: str = "url"
    ) -> None:
        self._given = (robots, agents, policy, at, dialects, column)
        self._others: dict[str, BulkVerdicts] = {}
        self._rulings: BulkVerdicts | None = None

    def __call__(self, given: Any, part: Path) -> None:
        """Write the verdicts of a table's URLs, with its other columns; with them, how many answers of each agent other
        dialects would change.
        """
        robots, agents, policy, at, dialects, column = self._given
        batch = given[column]
        if self._rulings is None:
            self._rulings = BulkVerdicts(robots, agents, policy=policy)
            for name in dialects:
                self._others[name] = BulkVerdicts(robots, agents, policy=policy.with_changes(dialect=name))
        table = self._rulings.verdicts(batch, at=at, threads=self.threads)
        changed: dict[str, dict[str, int]] = {}
        for name, rulings in self._others.items():
            other = rulings.verdicts(batch, at=at, threads=self.threads)
            differs = pc.not_equal(table["may_fetch"], other["may_fetch"])
            size = len(batch)
            changed[name] = {
                agent: pc.sum(differs.slice(number * size, size)).as_py() or 0 for number, agent in enumerate(agents)
            }
        kept = {name: f"input_{name}" if name in table.column_names else name for name in given.column_names}
        kept[column], said = "url", [name for name in table.column_names if name != "url"]
        for name, own in kept.items():
            if name != column:
                table = table.append_column(own, pa.chunked_array(given[name].chunks * len(agents), given[name].type))
        table = table.select([*kept.values(), *said])
        with written_anew(part, part.with_suffix(".new"), synced=False) as file:
            pq.write_table(table.replace_schema_metadata({DIALECTS: json.dumps(changed)}), file)


def written(judge: Judge, tables: Iterator[Any], folder: Path, piece: int = 0) -> Iterator[tuple[Path, int]]:
    """Each part in a folder, in the order of tables, and how many URLs it has.

    Args:
        piece: the number of the piece of the input that the tables are of: names of parts are in its order.
    """
    for number, table in enumerate(tables):
        part = folder / f"part-{piece:06}-{number:06}.parquet"
        if not part.exists():
            judge(table, part)
        yield part, len(table)


FORMATS: Final = (".parquet", ".csv", ".jsonl")  # what `joined` can write, by the ends of names


def joined(parts: list[Path], output: Path, *, column: str = "url", wide: bool = False) -> None:
    """Parts as one file, in the format that its name says.

    Args:
        column: what the column of the URLs is called.
        wide: one row a URL, with the columns of each agent, `AGENT.verdict` and so on.
    """
    if not parts:
        raise InputError("the files contain no URL")
    shaped = (_shaped(table, column, wide) for table in _tables(parts, whole=wide))
    first = next(shaped)
    tables, schema = chain([first], shaped), first.schema
    with written_anew(output, output.with_suffix(".new")) as file:
        if output.suffix == ".parquet":
            with pq.ParquetWriter(file, schema) as writer:
                for table in tables:
                    writer.write_table(table)
            return
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        if output.suffix == ".csv":
            rows = csv.writer(text, lineterminator="\n")
            rows.writerow(map(escape_formula, schema.names))
            for row in _rows(tables):
                rows.writerow(map(escape_formula, row.values()))
        else:
            text.writelines(f"{json.dumps(row, ensure_ascii=False, default=str)}\n" for row in _rows(tables))
        text.detach()


@contextmanager
def parts_for(
    output: Path, made_from: list[str], *, keep: bool, column: str = "url", wide: bool = False
) -> Iterator[Path]:
    """The folder where parts are written, so that a run that was stopped goes on; at the end they become the output.

    Args:
        made_from: what tells the audit from any other.
        keep: the output is the folder itself; else a file, as `joined` writes it.

    Raises:
        InputError: the folder holds parts of another audit, or what is to be kept is there already.
        StorageError: it cannot be written.
    """
    folder = output.with_name(output.name + ".parts")
    if keep and output.exists():
        raise InputError(f"{output} is there already", hint="remove it, or choose another name by -o")
    with writing_to(output):
        folder.mkdir(parents=True, exist_ok=True)
        note = folder / "audit.json"
        if any(folder.glob("part-*")) and _noted(note) != made_from:
            raise InputError(f"{folder} holds parts of another audit", hint="remove it, or choose another name by -o")
        write_anew(note, json.dumps(made_from).encode("utf-8"))
        yield folder
        if keep:
            note.unlink()
            folder.rename(output)
            return
        names = sorted(folder.glob("part-*.parquet"))
        joined(names, output, column=column, wide=wide)
        for each in [*names, note]:
            each.unlink()
        folder.rmdir()


def _noted(note: Path) -> Any:
    """What parts were made from; None where it was not written to its end."""
    try:
        return json.loads(read_regular(note))
    except (FileNotFoundError, ValueError):
        return None


def _tables(parts: list[Path], *, whole: bool) -> Iterator[Any]:
    for part in parts:
        with pq.ParquetFile(part) as source:
            if whole:
                yield source.read()
                continue
            for group in range(source.num_row_groups):
                yield source.read_row_group(group)


def _shaped(table: Any, column: str, wide: bool) -> Any:
    """A table of verdicts with the column of URLs under its own name, one row a URL if it is to be wide."""
    table = table.replace_schema_metadata(None)
    names = table.column_names
    if wide:
        agents = table["agent"].unique().to_pylist()
        size, first = len(table) // len(agents), names.index("agent")
        shaped = table.slice(0, size).select(names[:first])
        for number, agent in enumerate(agents):
            own = table.slice(number * size, size)
            for name in names[first + 1 :]:
                shaped = shaped.append_column(f"{agent}.{name}", own[name])
        table = shaped
    return table.rename_columns([column if name == "url" else name for name in table.column_names])


def _rows(tables: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for table in tables:
        for batch in table.to_batches(MAX_ROWS_AS_TEXT):
            yield from batch.to_pylist()
