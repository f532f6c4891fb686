"""A table of robots.txt files as they were captured, in the order in which they are looked up.

It sorts captures by origin and time and finds their octets in Arrow's buffers, where they stay; it judges nothing.
"""

import os
import re
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
import pyarrow as pa

from comity.errors import InvalidSetting, InvalidURL
from comity_pages import urls
from comity_robots.arrays.located import TOO_EARLY, UNKNOWN

EARLIEST: Final = -(2**63)
# What stands for a row in the place of its capture: the URL is null; its origin has no capture; it is to be normalised
# first; its origin has none by then; it is no URL.
NO_STATUS: Final = -1
_RULES: Final = re.compile(r"\n|^\s*(?:user-agent|allow|disallow|sitemap)\s*:", re.IGNORECASE)  # no path is like this
NO_BODY: Final = -1
_WHOSE: Final = "say whose it is: [{'origin': 'https://example.com', 'body': text}], or a folder of files named so"


class Captures:
    """The robots table, looked up by origin and time.

    Attributes:
        origins: origins in normal form; `numbers` gives the place of each.
        firsts: by origin, the number of its first capture, and one more.
        times: by capture, microseconds since 1970; the earliest possible where it is not known.
        statuses: by capture, the HTTP status; -1 where there was no answer.
        buffers: arrays of octets that hold the bodies.
        held, starts, sizes: by capture, which of them holds its body, where, and how many octets it has; -1 where there
            is none.
        unusable: rows of the table whose origin is none.
    """

    def __init__(self, table: Any) -> None:
        table = as_table(table)
        for name in ("origin", "body"):
            if name not in table.column_names:
                raise InvalidSetting(
                    f"robots: the table has no column {name!r}",
                    hint="it needs origin and body; status and fetched_at where they are known",
                )
        encoded = table["origin"].cast(pa.large_string()).combine_chunks()
        encoded = (encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded).dictionary_encode()
        self.numbers: dict[str, int] = {}
        own = [self._number(text) for text in encoded.dictionary.to_pylist()]
        self.origins = pa.array(list(self.numbers), pa.large_string())
        places = np.array([*own, -1], np.int64)[np.asarray(encoded.indices.fill_null(len(own)))]
        times = _times(table["fetched_at"]) if "fetched_at" in table.column_names else np.zeros(len(places), np.int64)
        order = np.lexsort((times, places))
        self.unusable = int((places < 0).sum())
        order = order[self.unusable :]
        self.times = np.ascontiguousarray(times[order])
        self.firsts = np.searchsorted(places[order], np.arange(len(self.numbers) + 1)).astype(np.int64)
        self.origin_of = places[order]
        if "status" in table.column_names:
            status = table["status"].cast(pa.int64()).fill_null(NO_STATUS).to_numpy()
        else:
            status = np.full(len(places), 200, np.int64)
        self.statuses = status[order]
        self.buffers: list[Any] = []
        self.held, self.starts, self.sizes = self._bodies(table["body"])[:, order]

    def __len__(self) -> int:
        return len(self.times)

    def body(self, number: int) -> bytes:
        """The octets of a capture."""
        start = self.starts[number]
        return bytes(self.buffers[self.held[number]][start : start + max(self.sizes[number], 0)])

    def in_force(self, origin: str, at: int | None) -> int:
        """The capture of an origin in force at a time, the last for None; UNKNOWN where the origin has none, TOO_EARLY
        where it has none by then."""
        import bisect

        number = self.numbers.get(origin)
        if number is None:
            return UNKNOWN
        low, high = int(self.firsts[number]), int(self.firsts[number + 1])
        if at is None:
            return high - 1
        found = bisect.bisect_right(self.times, at, low, high)
        return found - 1 if found > low else TOO_EARLY

    def _number(self, text: str) -> int:
        try:
            origin = urls.origin(text)
        except InvalidURL:
            return -1
        return self.numbers.setdefault(origin, len(self.numbers))

    def _bodies(self, column: Any) -> Any:
        """Where each body lies, without a copy: buffers, starts and sizes."""
        found = [np.empty((3, 0), np.int64)]
        for number, chunk in enumerate(column.chunks):
            places = None
            if pa.types.is_dictionary(chunk.type):
                places, chunk = chunk.indices.cast(pa.int64()), chunk.dictionary
            text = pa.types.is_string(chunk.type) or pa.types.is_large_string(chunk.type)
            chunk = chunk.cast(pa.large_string()) if text else chunk.cast(pa.large_binary())
            offsets, octets = buffers_of(chunk)
            size = np.diff(offsets)
            if chunk.null_count:
                size[chunk.is_null().to_numpy(zero_copy_only=False)] = NO_BODY
            self.buffers.append(octets)
            bodies = np.stack((np.full(len(size), number), offsets[:-1], size))
            if places is not None:
                bodies = np.append(bodies, [[number], [0], [NO_BODY]], axis=1)  # the last is null's
                bodies = bodies[:, np.asarray(places.fill_null(len(size)))]
            found.append(bodies)
        return np.concatenate(found, axis=1)


def as_table(data: Any) -> Any:
    """An Arrow table of what is one: a table, a batch, a data frame, or a path as `comity audit --robots` has it."""
    if isinstance(data, bytes) or (isinstance(data, str) and _RULES.search(data)):
        raise InvalidSetting("robots: this is the text of a robots.txt, and no table or path", hint=_WHOSE)
    if isinstance(data, str | os.PathLike):
        from comity.bulk.sources import robots

        def of_no_host() -> list[str]:
            raise InvalidSetting(f"robots: {data} is one robots.txt, and does not say of which host", hint=_WHOSE)

        return robots(str(data), siblings=True, origins=of_no_host)
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if isinstance(data, dict | list):
        return pa.table(data) if isinstance(data, dict) else pa.Table.from_pylist(data)
    return pa.table(data)


def buffers_of(chunk: Any) -> tuple[Any, Any]:
    """The offsets of a large string or binary array, and its octets: arrays that keep what they show."""
    _, offsets, data = chunk.buffers()
    if offsets is None or len(chunk) == 0:
        return np.zeros(1, np.int64), np.empty(0, np.uint8)
    found = np.frombuffer(offsets, np.int64)[chunk.offset : chunk.offset + len(chunk) + 1]
    return found, np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)


def microseconds(when: Any) -> int:
    """A time as microseconds since 1970: of a datetime (UTC where it names no zone) or of Unix seconds."""
    if isinstance(when, datetime):
        when = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    if isinstance(when, bool) or not isinstance(when, int | float):
        raise InvalidSetting(f"at: {when!r:.80} is neither a time nor a number of Unix seconds")
    return round(when * 1_000_000)


def _times(column: Any) -> Any:
    """Times of a column, in microseconds; of numbers, which are Unix seconds, too."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(pa.int64())
    elif pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("us")).cast(pa.int64())
    else:
        seconds = column.cast(pa.float64()).to_numpy()
        return np.where(np.isnan(seconds), EARLIEST, np.nan_to_num(seconds) * 1e6).astype(np.int64)
    return column.fill_null(EARLIEST).to_numpy()


times_of = _times
