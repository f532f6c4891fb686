"""Arrow columns in and out: any kind of text column as chunks of 64-bit offsets, numbers as columns of words."""

from __future__ import annotations

from typing import Any, Final

from comity._extras import need
from comity.bulk.outcomes import Outcomes
from comity.errors import InvalidSetting
from comity.usage.statements import PURPOSES

USAGE: Final = {purpose: f"usage_{purpose.replace('-', '_')}" for purpose in PURPOSES}
"""The purposes of the vocabulary, and the column that has what is stated of each."""
PREFERENCES: Final = ("allowed", "disallowed", "unknown")
ASCII_BLANKS: Final = " \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f"
SHOWN: Final = 300  # characters of a rule, as a decision cites it


def texts(urls: Any) -> Any:
    """A column of URLs as a chunked array of large_string or of a dictionary.

    Raises:
        InvalidSetting: it is no column of text.
    """
    pa = need("pyarrow", "bulk", "verdicts over columns")
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


def words(numbers: Any, names: list[Any], missing: Any = None) -> Any:
    """A dictionary column: a name for each number, null where the name is None.

    Args:
        missing: which rows are null beside.
    """
    import numpy as np
    import pyarrow as pa

    known = list(dict.fromkeys(name for name in names if name is not None))
    places = {name: number for number, name in enumerate(known)}
    small = np.int8 if len(known) < 127 else np.int16
    by_number = np.array([places.get(name, -1) for name in names] or [-1], small)
    indices = by_number[numbers]
    mask = indices < 0 if None in names or not names else None
    if missing is not None:
        mask = missing if mask is None else mask | missing
    column = pa.array(indices, mask=mask)
    return pa.DictionaryArray.from_arrays(column, pa.array(known, pa.string()))


def outcome_columns(codes: Any, outcomes: Outcomes) -> dict[str, Any]:
    """The columns that an outcome's number says all about."""
    import numpy as np
    import pyarrow as pa

    every = outcomes.all
    yes = np.array([bool(each.may_fetch) for each in every])[codes]
    unknown = np.array([each.may_fetch is None for each in every])
    return {
        "verdict": words(codes, [each.verdict for each in every]),
        "recommendation": words(codes, [each.recommendation for each in every]),
        "may_fetch": pa.array(yes, mask=unknown[codes] if unknown.any() else None),
        "reason": words(codes, [each.reason for each in every]),
    }


def rule_columns(cited: Any, rules: Any, lines: Any) -> dict[str, Any]:
    """The line and the text of the rules that decided."""
    import numpy as np
    import pyarrow as pa

    none = cited < 0
    numbers = np.append(lines, 0).astype(np.int32)[cited]
    return {
        "line": pa.array(numbers, mask=none),
        "rule": pa.DictionaryArray.from_arrays(pa.array(cited, mask=none), rules),
    }


def rule_texts(octets: bytes, ends: Any) -> Any:
    """Lines of files as `shown` gives them; those of plain ASCII, nearly all, at Arrow's speed."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    offsets = np.append(0, ends).astype(np.int64)
    lines = pa.LargeStringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(octets))
    trimmed = pc.utf8_trim(lines, characters=ASCII_BLANKS) if octets.isascii() else None
    if trimmed is None:
        plain = np.asarray(pc.string_is_ascii(lines))
        odd = np.flatnonzero(~plain)
        trimmed = pc.utf8_trim(
            pc.if_else(pa.array(plain), lines, pa.scalar("", pa.large_string())), characters=ASCII_BLANKS
        )
    else:
        odd = np.empty(0, np.int64)
    long = np.flatnonzero(np.asarray(pc.binary_length(trimmed)) > SHOWN)
    chosen = np.union1d(odd, long).astype(np.int64)
    if len(chosen):
        mask = np.zeros(len(ends), bool)
        mask[chosen] = True
        texts = [shown(octets[offsets[place] : offsets[place + 1]]) for place in chosen.tolist()]
        trimmed = pc.replace_with_mask(trimmed, pa.array(mask), pa.array(texts, pa.large_string()))
    return trimmed.cast(pa.string())


def shown(line: bytes) -> str:
    """A line as a decision cites it."""
    text = line.decode("utf-8", "replace").strip().removeprefix("\ufeff")
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"
