"""Arrow columns in and out: any kind of text column as chunks of 64-bit offsets, numbers as columns of words."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from comity.bulk.outcomes import Outcomes
from comity.errors import InvalidSetting
from comity_robots.reasons import MAX_QUOTED_CHARACTERS, quoted
from comity_robots.usage.statements import PURPOSES, USE, USES

USAGE: Final = {purpose: f"usage_{purpose.replace('-', '_')}" for purpose in (*PURPOSES, USE)}
"""The purposes of the vocabulary and `use`, and the column that has what is stated of each."""
PREFERENCES: Final = ("allowed", "disallowed", "unknown", *USES)
MIN_ROWS_PER_THREAD: Final = 50_000  # rows a thread should have at least
MapFunction = Callable[..., Any]  # `map`, or a pool's
Pieces = list[tuple[int, Any]]  # of a column: the number of the first row, and its rows


def texts(urls: Any) -> Any:
    """A column of URLs as a chunked array of large_string or of a dictionary.

    Raises:
        InvalidSetting: it is no column of text.
    """
    if isinstance(urls, str | bytes):
        raise InvalidSetting("urls: several URLs are expected, not one text")
    if not isinstance(urls, pa.Array | pa.ChunkedArray):
        try:
            urls = pa.chunked_array(urls) if hasattr(urls, "__arrow_c_stream__") else pa.array(urls)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise InvalidSetting(f"urls: not a column of text ({error})") from None
    if isinstance(urls, pa.Array):
        urls = pa.chunked_array([urls])
    kind = urls.type.value_type if pa.types.is_dictionary(urls.type) else urls.type
    if pa.types.is_null(kind):
        return urls.cast(pa.large_string())
    if kind not in (pa.string(), pa.large_string(), pa.string_view()):
        raise InvalidSetting(f"urls: a column of text is expected, not of {urls.type}")
    return urls if pa.types.is_dictionary(urls.type) else urls.cast(pa.large_string())


def pieces_of(chunks: list[Any], parts: int) -> Pieces:
    """A column in pieces for so many threads."""
    size = max(MIN_ROWS_PER_THREAD, -(-sum(map(len, chunks)) // parts))
    found, start = [], 0
    for chunk in chunks:
        found += [(start + first, chunk.slice(first, size)) for first in range(0, len(chunk), size)]
        start += len(chunk)
    return found


class JudgedRows(NamedTuple):
    """What is known besides the numbers of rows.

    Attributes:
        numbers: the place of each rule below, by the numbers that rows have; None where these are the places.
        rules, lines: texts of the rules that decided, and their lines.
        delays: by capture and agent, the Crawl-delay in seconds, NaN where there is none.
        has_usage: by capture, whether its file states preferences.
    """

    numbers: Any
    rules: Any
    lines: Any
    delays: Any
    has_usage: Any


def table(codes: Any, cited: Any, located: Any, judged: JudgedRows, agent: int, outcomes: Outcomes, usage: Any) -> Any:
    """The table of an agent, by row. `cited` becomes a column of it.

    Args:
        codes, cited, located: by row, the outcome, the rule and the capture.
        usage: by purpose and row, the place of a preference; None: all are unknown.
    """
    rows, every, delays = len(codes), outcomes.all, judged.delays[:, agent]
    known = [list(dict.fromkeys(each[place] for each in every if each[place] is not None)) for place in (0, 1, 3)]
    places = [{name: number for number, name in enumerate(names)} for names in known]
    words = np.array(
        [
            [*(own.get(name, 0) for own, name in zip(places, (one, two, why), strict=True)), -1 if yes is None else yes]
            for one, two, yes, why in every
        ],
        np.int16,
    )
    delayed = not np.isnan(delays).all()
    bits = -(-rows // 8)
    found = {
        "verdict": np.empty(rows, np.int8),
        "recommendation": np.empty(rows, np.int8),
        "reason": np.empty(rows, np.int16),
        "may_fetch": np.empty(bits, np.uint8),
        "decided": np.empty(bits, np.uint8),
        "line": np.empty(rows, np.int32),
        "rule": cited,
        "cites": np.empty(bits, np.uint8),
        "delay": np.empty(rows if delayed else 0),
        "delays": np.empty(bits if delayed else 0, np.uint8),
    }
    _write(codes, cited, located, words, judged, delays if delayed else None, found)

    def column(kind: Any, name: str, valid: str | None = None) -> Any:
        buffers = [pa.py_buffer(found[valid]) if valid else None, pa.py_buffer(found[name])]
        return pa.Array.from_buffers(kind, rows, buffers)

    def of_words(name: str, own: list[Any], valid: str | None) -> Any:
        kind = pa.int16() if name == "reason" else pa.int8()
        return pa.DictionaryArray.from_arrays(column(kind, name, valid), pa.array(own, pa.string()))

    decided = "decided" if any(each.may_fetch is None for each in every) else None
    made = {
        "verdict": of_words("verdict", known[0], decided),
        "recommendation": of_words("recommendation", known[1], decided),
        "may_fetch": column(pa.bool_(), "may_fetch", decided),
        "line": column(pa.int32(), "line", "cites"),
        "rule": pa.DictionaryArray.from_arrays(column(pa.int32(), "rule", "cites"), judged.rules),
        "crawl_delay": column(pa.float64(), "delay", "delays") if delayed else pa.nulls(rows, pa.float64()),
    }
    unstated = np.full(rows, PREFERENCES.index("unknown"), np.int8) if usage is None else None
    for place, name in enumerate(USAGE.values()):
        found[name] = unstated if usage is None else usage[place]
        made[name] = of_words(name, list(PREFERENCES), decided)
    return pa.table({**made, "reason": of_words("reason", known[2], None)})


def _write(
    codes: Any, cited: Any, located: Any, words: Any, judged: JudgedRows, delays: Any, into: dict[str, Any]
) -> None:
    """Fill the buffers of columns (see `write` in arrays/writing.pyx)."""
    try:
        from comity_robots.arrays.writing import write
    except ModuleNotFoundError:
        pass
    else:
        write(codes, cited, located, words, judged.numbers, judged.lines, delays, into)
        return
    for place, name in enumerate(("verdict", "recommendation", "reason")):
        into[name][:] = words[codes, place]
    yes = words[codes, 3]
    into["may_fetch"][:] = np.packbits(yes == 1, bitorder="little")
    into["decided"][:] = np.packbits(yes >= 0, bitorder="little")
    into["line"][:] = np.append(judged.lines, 0)[cited]
    into["cites"][:] = np.packbits(cited >= 0, bitorder="little")
    np.maximum(cited, 0, out=cited)
    if delays is not None:
        into["delay"][:] = np.where(located >= 0, delays[np.maximum(located, 0)], np.nan)
        into["delays"][:] = np.packbits(~np.isnan(into["delay"]), bitorder="little")


def assembled(column: Any, agents: list[str], tables: list[Any], *, wide: bool) -> Any:
    """One table from the tables of all agents: side by side, or one after the other."""
    if wide:
        found = {"url": column}
        for name, own in zip(agents, tables, strict=True):
            found |= {f"{name}.{each}": own[each] for each in own.column_names}
        return pa.table(found)
    names = pa.array(agents)
    agent = pa.chunked_array(
        pa.DictionaryArray.from_arrays(pa.array(np.full(len(column), number, np.int16)), names)
        for number in range(len(tables))
    )
    every = pa.concat_tables(tables)
    url = pa.chunked_array([chunk for _ in tables for chunk in column.chunks], column.type)
    return pa.table({"url": url, "agent": agent, **{name: every[name] for name in every.column_names}})


def rule_texts(octets: bytes, ends: Any) -> Any:
    """Lines of files, without blanks around them, as `shown` gives them: nearly all as they are."""
    offsets = np.append(0, ends).astype(np.int64)
    lines = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(octets)]
    )
    odd = np.diff(offsets) > MAX_QUOTED_CHARACTERS
    if not octets.isascii():
        odd |= ~np.asarray(pc.string_is_ascii(lines.view(pa.large_string())))
    if odd.any():
        texts = [shown(octets[offsets[place] : offsets[place + 1]]) for place in np.flatnonzero(odd).tolist()]
        lines = pc.replace_with_mask(
            lines, pa.array(odd), pa.array([text.encode() for text in texts], pa.large_binary())
        )
    return lines.view(pa.large_string()).cast(pa.string())


def shown(line: bytes) -> str:
    """A line as a decision cites it."""
    text = line.decode("utf-8", "replace").strip().removeprefix("\ufeff")
    return quoted(text)
