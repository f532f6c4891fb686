"""A sink: writes the records that an expander made as CSV.

It shows what a sink must do to hold every record exactly once after any crash: say in `flush` how far it has got, once
the disk has it, and go back there in `open`.
"""

import csv
import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from comity.crawler.output.sink import Channel, Received


class Table:
    """`records.csv`, with the columns of the first record."""

    def __init__(self) -> None:
        self._waiting = io.StringIO(newline="")
        self._columns: list[str] = []

    @property
    def pending(self) -> int:
        return self._waiting.tell()

    def open(self, folder: Path, committed: Any) -> None:
        self._file = (folder / "records.csv").open("ab")
        if committed is None:
            committed = {"bytes": 0, "columns": []}
        self._file.truncate(committed["bytes"])
        self._file.seek(0, os.SEEK_END)
        self._columns = committed["columns"]

    def add(self, channel: Channel, record: Mapping[str, Any], answer: Received | None = None) -> None:
        if channel != "records":
            return
        row = {"url": record["url"], **record["record"]}
        new = not self._columns
        self._columns = self._columns or list(row)
        writer = csv.DictWriter(self._waiting, self._columns, extrasaction="ignore")
        if new:
            writer.writeheader()
        writer.writerow(row)

    def flush(self, *, final: bool) -> Any:
        self._file.write(self._waiting.getvalue().encode("utf-8", "replace"))
        self._file.flush()
        os.fsync(self._file.fileno())
        self._waiting = io.StringIO(newline="")
        return {"bytes": self._file.tell(), "columns": self._columns}

    def close(self) -> None:
        self._file.close()
