"""Output as Parquet: a folder for each channel, `pages/00001.parquet`, `pages/00002.parquet` and so on. In each lies
`00000.parquet` without a row, so that what reads the folder has the schema where nothing was written. All parts of a
folder have one schema: where an expander's records have a new field, its parts are written anew.

A Parquet file cannot be appended to and is worth writing only when it is large, while the frontier commits twice a
second. So records go to a journal first, JSON Lines that are cut back like any other output. The part is written from
it, row group by row group, under a temporary name; when the journal has grown large, or the run ends, it is synced and
renamed. The journal is removed only after the marker that names the part has been committed.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, BinaryIO

from comity import times
from comity.crawler.output.columns import COLUMNS, ColumnType, Fields, record_of, values, widened
from comity.crawler.output.lines import AppendedFile, line
from comity.crawler.output.reader import CHECKED, StoredRecord, from_lines, is_intact
from comity.crawler.output.sink import CHANNELS, Channel, Received
from comity.files import check_regular, made_anew, open_regular, sync_folder, written_anew
from comity.frontier.durable import make_folder
from comity_pages._extras import need

ROLL = 256 * 1024 * 1024  # bytes of journal that make a part
BATCH_ROWS = 16  # that are read back at once: a value of many megabytes stands once in a file, however often it is one
GROUP = 8 * 1024 * 1024  # bytes of journal that make a row group: what is held in memory, and written at a stretch


@dataclass(slots=True)
class _Channel:
    """Where one channel stands: the number of the part being written, and the journal it is written from."""

    part: int
    journal: AppendedFile
    read: int = 0  # bytes of the journal that are in row groups
    file: BinaryIO | None = None
    writer: Any = None


class Parquet:
    """The marker is, for each channel, the number of the next part and the length of its journal; and the columns that
    an expander's fields have: from the start of a crawl these are `fields`."""

    def __init__(self, *, roll: int = ROLL, group: int = GROUP) -> None:
        arrow = self._arrow = need("pyarrow", "parquet", "the format parquet")
        self._types: dict[ColumnType, Any] = {
            "text": arrow.string(),
            "integer": arrow.int64(),
            "real": arrow.float64(),
            "boolean": arrow.bool_(),
            "bytes": arrow.binary(),
            "time": arrow.timestamp("ms", tz="UTC"),
            "date": arrow.date32(),
            "json": arrow.string(),
        }
        self._parquet = need("pyarrow.parquet", "parquet", "the format parquet")
        self._roll = roll
        self._group = group
        self._folder = Path()
        self._channels: dict[Channel, _Channel] = {}
        self.fields: Fields = {}
        self._fields = self.fields
        self._done: list[Path] = []  # journals whose part the next marker names

    @property
    def pending(self) -> int:
        return sum(channel.journal.pending for channel in self._channels.values())

    def open(self, folder: Path, committed: Any) -> None:
        self._folder = folder
        self._fields = (committed or {}).get("fields", self.fields)
        for channel in CHANNELS:
            part, length = (committed or {}).get(channel, (1, 0))
            self._remove_uncommitted(channel, part)
            if not (empty := self._part(channel, 0)).exists():
                make_folder(empty.parent)
                with self._written(channel, 0):
                    pass
            self._channels[channel] = _Channel(part, AppendedFile(self._journal(channel, part), length))
        self._unify()

    def add(self, channel: Channel, record: Mapping[str, Any], answer: Received | None = None) -> None:
        self._channels[channel].journal.add(line(record, channel))

    def flush(self, *, final: bool) -> dict[str, Any]:
        done, self._done = self._done, []
        for path in done:
            path.unlink(missing_ok=True)
        for channel, state in list(self._channels.items()):
            length = state.journal.flush()
            finished = length >= self._roll or (final and length > 0)
            if finished or length - state.read >= self._group:
                self._write_groups(channel, state, rest=finished)
            if finished:
                self._finish_part(channel, state)
        marker: dict[str, Any] = {each: (state.part, state.journal.length) for each, state in self._channels.items()}
        return marker | {"fields": self._fields}

    def close(self) -> None:
        for state in self._channels.values():
            state.journal.close()
            if not state.journal.length:
                state.journal.path.unlink(missing_ok=True)
            self._leave(state)

    def _journal(self, channel: Channel, part: int) -> Path:
        return self._folder / f"{channel}-{part:05}.journal"

    def _part(self, channel: Channel, part: int) -> Path:
        return self._folder / channel / f"{part:05}.parquet"

    def _remove_uncommitted(self, channel: Channel, part: int) -> None:
        """Parts from `part` on were never committed; journals before it have been written out."""
        for path in (*self._folder.glob(f"{channel}-*.*"), *(self._folder / channel).glob("*.parquet")):
            number = path.name.removeprefix(f"{channel}-").partition(".")[0]
            if not number.isdigit():
                continue
            is_journal = path.suffix == ".journal"
            if path.suffix == ".tmp" or (int(number) != part if is_journal else int(number) >= part):
                path.unlink()

    @contextmanager
    def _written(self, channel: Channel, number: int) -> Iterator[Any]:
        """The writer of a part that takes its place, or that of the part before, once it is whole."""
        with (
            written_anew(self._part(channel, number), self._temporary(channel, number)) as file,
            self._parquet.ParquetWriter(file, self._schema(channel), compression="zstd") as writer,
        ):
            yield writer

    def _schema(self, channel: Channel) -> Any:
        return self._arrow.schema([(name, self._types[kind]) for name, kind in self._columns(channel).items()])

    def _columns(self, channel: Channel) -> dict[str, ColumnType]:
        return COLUMNS[channel] | self._fields if channel == "records" else COLUMNS[channel]

    def _widen(self, state: _Channel) -> None:
        """Have a column for each flat field of the expander's records in the journal."""
        fields = self._fields
        for found, _ in _groups(state.journal.path, state.read, self._group, rest=True):
            for record in found:
                fields = widened(fields, record)
        if fields is not self._fields:
            self._fields = fields
            self._leave(state)
            self._unify()

    def _unify(self) -> None:
        """Give all parts of the expander's records the columns that there are now."""
        schema = self._schema("records")
        for part in sorted((self._folder / "records").glob("*.parquet")):
            check_regular(part)
            if self._parquet.read_schema(part).equals(schema):
                continue
            with self._written("records", int(part.stem)) as new, self._parquet.ParquetFile(part) as old:
                for group in range(old.num_row_groups):
                    rows = old.read_row_group(group, columns=list(COLUMNS["records"])).to_pylist()
                    new.write_batch(self._batch("records", [record_of("records", row) for row in rows]))

    def _write_groups(self, channel: Channel, state: _Channel, *, rest: bool) -> None:
        """Write what the journal holds as row groups, whole ones only unless the `rest` is wanted."""
        if channel == "records":
            self._widen(state)
        if state.file is None:
            state.file = made_anew(self._temporary(channel, state.part))
            state.writer = self._parquet.ParquetWriter(state.file, self._schema(channel), compression="zstd")
        for found, size in _groups(state.journal.path, state.read, self._group, rest=rest):
            state.writer.write_batch(self._batch(channel, found))
            state.read += size

    def _leave(self, state: _Channel) -> None:
        """Leave a part that is not finished; it is written anew from the journal."""
        if state.file is not None:
            with suppress(OSError):
                state.writer.close()
            state.file.close()
        state.file = state.writer = None
        state.read = 0

    def _finish_part(self, channel: Channel, state: _Channel) -> None:
        assert state.file is not None
        state.writer.close()
        state.file.flush()
        os.fsync(state.file.fileno())
        state.file.close()
        part = self._part(channel, state.part)
        self._temporary(channel, state.part).replace(part)
        sync_folder(part.parent)
        sync_folder(self._folder)
        state.journal.close()
        self._done.append(state.journal.path)
        number = state.part + 1
        self._channels[channel] = _Channel(number, AppendedFile(self._journal(channel, number)))

    def _temporary(self, channel: Channel, part: int) -> Path:
        return self._folder / f"{channel}-{part:05}.parquet.tmp"

    def _batch(self, channel: Channel, found: list[dict[str, Any]]) -> Any:
        fields = self._fields if channel == "records" else None
        rows = [values(channel, record, fields) for record in found]
        schema = self._schema(channel)
        arrays = []
        for index, (name, kind) in enumerate(self._columns(channel).items()):
            column = [row[index] for row in rows]
            if kind == "date":
                column = [None if value is None else date.fromisoformat(value) for value in column]
            if kind == "time":
                column = [None if value is None else round(times.parse_iso(value) * 1000) for value in column]
            arrays.append(self._arrow.array(column, type=schema.field(name).type))
        return self._arrow.record_batch(arrays, schema=schema)


def _groups(journal: Path, start: int, least: int, *, rest: bool) -> Iterator[tuple[list[dict[str, Any]], int]]:
    """A journal's records from `start` on, at `least` so many bytes at a time, with their size in bytes."""
    found: list[dict[str, Any]] = []
    size = 0
    with open_regular(journal) as lines:
        lines.seek(start)
        for text in lines:
            found.append(json.loads(text))
            size += len(text)
            if size >= least:
                yield found, size
                found, size = [], 0
    if found and rest:
        yield found, size


def read_back(folder: Path, committed: Mapping[str, Any] | None = None) -> Iterator[StoredRecord]:
    """What lies in the parts, and in the journals of which no part was made yet."""
    parquet = need("pyarrow.parquet", "parquet", "the format parquet")
    for channel in CHECKED:
        following, length = (None, None) if committed is None else committed.get(channel, (1, 0))
        for part in sorted((folder / channel).glob("*.parquet")):
            if following is None or part.stem < f"{following:05}":
                yield from _rows(parquet, channel, part)
        if following is not None:
            if length:
                yield from from_lines(folder / f"{channel}-{following:05}.journal", channel, until=length)
            continue
        for journal in sorted(folder.glob(f"{channel}-*.journal")):
            number = journal.stem.removeprefix(f"{channel}-")
            if not (folder / channel / f"{number}.parquet").exists():
                yield from from_lines(journal, channel)


def _rows(parquet: Any, channel: Channel, part: Path) -> Iterator[StoredRecord]:
    number = 0
    moments = [name for name, kind in COLUMNS[channel].items() if kind == "time"]
    try:
        with open_regular(part) as opened, parquet.ParquetFile(opened) as file:
            for batch in file.iter_batches(batch_size=BATCH_ROWS):
                for row in batch.to_pylist():
                    number += 1
                    for name in moments:
                        row[name] = times.iso(row[name].timestamp()) if row[name] is not None else None
                    record = record_of(channel, row)
                    yield StoredRecord(channel, f"{channel}/{part.name}", number, record, is_intact(record))
    except (OSError, ValueError, KeyError, AttributeError) as error:  # pyarrow's own are kinds of these
        yield StoredRecord(
            None, f"{channel}/{part.name}", number + 1, problem=f"it cannot be read: {type(error).__name__}: {error}"
        )
