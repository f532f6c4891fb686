"""An export as Parquet: a folder for each channel, `pages/00001.parquet`, `pages/00002.parquet` and so on. In each lies
`00000.parquet` without a row, so that what reads the folder has the schema where nothing was written. All parts of a
folder have one schema."""

from datetime import date
from pathlib import Path
from typing import Any, Final

from comity import times
from comity.crawler.output.columns import ColumnType
from comity.crawler.output.source import Source
from comity_pages._extras import need

MAX_PART_BYTES: Final = 256 * 1024 * 1024  # of records, before they are packed
MAX_GROUP_BYTES: Final = 8 * 1024 * 1024  # of a row group: what is held in memory, and written at a stretch


def write(source: Source, folder: Path) -> None:
    """Write all channels."""
    columns, rows = source.in_columns()
    tables = {channel: _Table(folder / channel, own) for channel, own in columns.items()}
    for channel, row in rows:
        tables[channel].add(row)
    for table in tables.values():
        table.end()


class _Table:
    """The parts of one channel."""

    def __init__(self, folder: Path, columns: dict[str, ColumnType]) -> None:
        self._arrow, self._parquet = need("pyarrow", "parquet", ""), need("pyarrow.parquet", "parquet", "")
        arrow = self._arrow
        types: dict[ColumnType, Any] = {
            "text": arrow.string(),
            "integer": arrow.int64(),
            "real": arrow.float64(),
            "boolean": arrow.bool_(),
            "bytes": arrow.binary(),
            "time": arrow.timestamp("ms", tz="UTC"),
            "date": arrow.date32(),
            "json": arrow.string(),
        }
        self._folder, self._columns = folder, columns
        self._schema = arrow.schema([(name, types[kind]) for name, kind in columns.items()])
        self._number, self._size = 0, 0  # of the part, and its bytes
        self._rows: list[list[Any]] = []
        self._waiting = 0  # bytes of them
        folder.mkdir(parents=True)
        self._writer = self._part()
        self._writer.close()

    def add(self, row: list[Any]) -> None:
        self._rows.append(row)
        self._waiting += sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
        if self._waiting >= MAX_GROUP_BYTES:
            self._write()

    def end(self) -> None:
        if self._rows:
            self._write()
        self._writer.close()

    def _part(self) -> Any:
        return self._parquet.ParquetWriter(
            self._folder / f"{self._number:05}.parquet", self._schema, compression="zstd"
        )

    def _write(self) -> None:
        if self._number == 0 or self._size >= MAX_PART_BYTES:
            self._writer.close()
            self._number, self._size = self._number + 1, 0
            self._writer = self._part()
        arrays = []
        for index, (name, kind) in enumerate(self._columns.items()):
            column = [row[index] for row in self._rows]
            if kind == "date":
                column = [None if value is None else date.fromisoformat(value) for value in column]
            if kind == "time":
                column = [None if value is None else round(times.parse_iso(value) * 1000) for value in column]
            arrays.append(self._arrow.array(column, type=self._schema.field(name).type))
        self._writer.write_batch(self._arrow.record_batch(arrays, schema=self._schema))
        self._size += self._waiting
        self._rows, self._waiting = [], 0
