"""The columns that a channel's records have in formats with columns, and a record's values for them. A field that no
column is named after goes into the column `more`, as JSON. Of an expander's records, which are kept whole in the column
`record`, the flat fields have columns too."""

import json
from collections.abc import Mapping
from datetime import date
from typing import Any, Final, Literal, cast

from comity import times
from comity.crawler.output.sink import Channel
from comity_pages.urls import is_http

ColumnType = Literal["text", "integer", "real", "boolean", "bytes", "time", "date", "json"]

_PYTHON: dict[ColumnType, type | tuple[type, ...]] = {
    "text": str,
    "integer": int,
    "real": (int, float),
    "boolean": bool,
    "bytes": bytes,
    "time": str,
    "date": str,
}


_SCHEMA: Final[dict[Channel, str]] = {
    "pages": "url:text! found_on:text status:integer! fetched_at:time elapsed:real depth:integer content_type:text "
    "bytes:integer sha256:text! encoding:text title:text canonical:text lastmod:text link_count:integer "
    "noindex:boolean duplicate:text duplicate_of:text soft_404:text challenge:text misfit:text warnings:json "
    "refresh:integer rendered:boolean rendered_sha256:text render_note:text render_parts:json usage:json "
    "headers:json body:text body_bytes:bytes DECISION",
    "refusals": "url:text! found_on:text depth:integer by:text why:text! needed_by:text status:integer fetched_at:time "
    "usage:json refresh:integer DECISION",
    "traps": "url:text! found_on:text depth:integer trap:text! why:text! refresh:integer",
    "unwanted": "url:text! found_on:text depth:integer status:integer! content_type:text why:text! refresh:integer",
    "failures": "url:text! found_on:text depth:integer attempts:integer status:integer? why:text! refresh:integer",
    "redirects": "url:text! found_on:text status:integer! location:text! to:text? fetched_at:time depth:integer "
    "refresh:integer DECISION",
    "robots": "origin:text! url:text! outcome:text! status:integer? error:text fetched_at:time! redirects:json "
    "sha256:text? body_bytes:bytes",
    "sitemaps": "url:text! found_on:text status:integer! fetched_at:time! sha256:text! kind:text! entries:integer! "
    "skipped:integer! elsewhere:integer! problem:text stopped_line:integer stopped_byte:integer refresh:integer!",
    "requisites": "url:text! found_on:text status:integer! fetched_at:time depth:integer content_type:text "
    "bytes:integer sha256:text! refresh:integer DECISION",
    "records": "url:text! refresh:integer record:json",
    "changes": "url:text! found_on:text change:text! by:text! refresh:integer! status:integer? fetched_at:time "
    "sha256:text? previous_fetched_at:time previous_sha256:text?",
    "links": "from:text to:text text:text rel:text",
}
"""Columns and their types. Fields with `!` every record of the channel has; those with `?` too, but they may be null.
DECISION: the record has a decision, whose fields are columns."""
_DECISION_COLUMNS: Final = "verdict:text line:integer rule:text robots_sha256:text robots_at:time delay:real"


def _columns(names: str) -> dict[str, ColumnType]:
    pairs = (each.rstrip("!?").split(":") for each in names.replace("DECISION", _DECISION_COLUMNS).split())
    return {name: cast(ColumnType, kind) for name, kind in pairs}


_DECISION: Final = _columns("DECISION")
_NEEDED: Final = {
    channel: [(each.partition(":")[0], each[-1] == "?") for each in names.split() if each[-1] in "!?"]
    for channel, names in _SCHEMA.items()
}
COLUMNS: Final = {channel: _columns(f"{names} more:json") for channel, names in _SCHEMA.items()}


def damaged_field(channel: Channel, record: Mapping[str, Any]) -> str | None:
    """The name of the first field that a record which was read back lacks, or whose value is not of its type."""
    columns = COLUMNS[channel]
    for name, may_be_null in _NEEDED[channel]:
        if name not in record or (record[name] is None and not may_be_null):
            return name
    for name, value in record.items():
        if name in columns and not _fits(value, columns[name]):
            return name
    if channel == "pages" and not is_http(record["url"]):  # a source may have named anything, but pages came from URLs
        return "url"
    said = record.get("decision", None if "verdict" in columns else {})
    fits = isinstance(said, Mapping) and all(_fits(said.get(name), kind) for name, kind in _DECISION.items())
    return None if fits else "decision"


Fields = dict[str, ColumnType]  # the columns of an expander's fields, which come after those of the channel `records`
MAX_FIELDS: Final = 100
MAX_NAME_CHARACTERS: Final = 100  # characters


def stated(columns: Mapping[str, ColumnType]) -> Fields:
    """The columns that an expander's fields have by what it says of them."""
    fields: Fields = {}
    for name, kind in columns.items():
        if _may_be_column(name, fields):
            fields[name] = kind
    return fields


def widened(fields: Fields, record: Mapping[str, Any]) -> Fields:
    """The columns that an expander's fields have, with those that one more record needs.

    A field is flat where its value is a text, a number or a truth value. Integers and reals together make a column of
    reals, other values of different types one of texts.
    """
    for name, value in _made(record).items():
        kind, known = _kind_of(value), fields.get(name)
        if kind is None or kind == known or (known == "date" and _is_date(value)):
            continue
        if known is not None:
            kind = "real" if {kind, known} == {"integer", "real"} else "text"
            if kind != known:
                fields = {**fields, name: kind}
        elif _may_be_column(name, fields):
            fields = {**fields, name: kind}
    return fields


def _made(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the expander made, with its fields; empty where it is a list, say."""
    made = record["record"]
    return {str(name): value for name, value in made.items()} if isinstance(made, Mapping) else {}


def _kind_of(value: Any) -> ColumnType | None:
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer" if -(2**63) <= value < 2**63 else "text"
        case float():
            return "real"
        case str():
            return "text"
    return None


def _may_be_column(name: str, fields: Fields) -> bool:
    """Whether there is room for a column of that name; SQL does not tell `Price` from `price`."""
    if not name.isprintable() or not 0 < len(name) <= MAX_NAME_CHARACTERS or len(fields) >= MAX_FIELDS:
        return False
    return all(name.casefold() != other.casefold() for other in ("id", *COLUMNS["records"], *fields))


def _is_date(value: Any) -> bool:
    try:
        return isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def _cell(value: Any, kind: ColumnType) -> Any:
    if kind == "json" and value is not None:
        return _plain(json.dumps(value, ensure_ascii=False))
    if _kind_of(value) is None:
        return None
    if kind == "text":
        return _plain(value if isinstance(value, str) else json.dumps(value))
    return float(value) if kind == "real" else value


def values(channel: Channel, record: Mapping[str, Any], fields: Fields | None = None) -> list[Any]:
    """A record's values in the order of its channel's columns, and of an expander's `fields` in a record of its; None
    where it has none."""
    columns = COLUMNS[channel]
    flat = dict(record)
    decision = flat.pop("decision", None)
    if isinstance(decision, Mapping):
        flat |= decision
    flat["more"] = {key: flat.pop(key) for key in list(flat) if not _fits(flat[key], columns.get(key))} or None
    own = [_fitted(flat.get(name), kind) for name, kind in columns.items()]
    return own + [_cell(_made(record).get(name), kind) for name, kind in fields.items()] if fields else own


def _fits(value: Any, kind: ColumnType | None) -> bool:
    if kind is None or value is None:
        return kind is not None
    if kind == "time" and not _is_time(value):
        return False
    if kind == "integer" and isinstance(value, int) and not -(2**63) <= value < 2**63:
        return False
    return kind == "json" or (isinstance(value, _PYTHON[kind]) and isinstance(value, bool) == (kind == "boolean"))


def _is_time(value: Any) -> bool:
    try:
        return isinstance(value, str) and times.parse_iso(value) is not None
    except ValueError:
        return False


def _fitted(value: Any, kind: ColumnType) -> Any:
    if value is None:
        return None
    if kind == "json":
        return json.dumps(value)
    return _plain(value) if isinstance(value, str) else value


def _plain(text: str) -> str:
    """Text that UTF-8 can hold: a surrogate, left of a header's odd bytes, becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
