"""What an export is made of: the records that the parts of a crawl have committed, one at a time. What is missing or
damaged is an error: an export holds all that was written, or is not there."""

import base64
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from comity.crawler.output.columns import COLUMNS, Fields, values, widened
from comity.crawler.output.reader import StoredRecord
from comity.crawler.output.sink import CHANNELS, Channel
from comity.errors import StorageError
from comity_pages.signals import encodings


@dataclass(frozen=True, slots=True)
class SourcePart:
    """A folder with a log: its name among the parts of the crawl, the log's format, how far log and ledger are
    committed, how many records of each channel that is, and what reads those of some `channels` back."""

    path: Path
    name: str
    format: str
    committed: Any
    ledger: int
    written: Mapping[str, int]
    read_back: Callable[..., Iterator[StoredRecord]]


@dataclass(slots=True)
class Source:
    """What a crawl has committed.

    Attributes:
        title: for people.
        since: the first refresh whose records are wanted; those of channels that know no refresh are, all of them.
        fields: the columns that the fields of an expander's records have at least.
        on_record: told of each record that is read.
    """

    title: str
    parts: Sequence[SourcePart]
    since: int = 0
    fields: Fields = field(default_factory=dict)
    on_record: Callable[[], None] = lambda: None

    @property
    def count(self) -> int:
        """How many records there are, about."""
        return sum(sum(part.written.values()) for part in self.parts)

    def records(
        self, channels: Sequence[Channel] = CHANNELS, *, as_served: bool = False
    ) -> Iterator[tuple[Channel, dict[str, Any]]]:
        """The records of some channels, part by part; a body that is no text as `body_bytes`, and so any that is kept
        `as_served`, where that is wanted. A StorageError says that one cannot be read, or that there are fewer than
        were written."""
        for part in self.parts:
            there: Counter[str] = Counter()
            for stored in part.read_back(channels=channels):
                if (problem := _problem(stored)) and (stored.number is not None or part.written):
                    where = f"{part.path / stored.file}{'' if stored.number is None else f', record {stored.number}'}"
                    raise StorageError(f"{where}: {problem}", hint=_HINT)
                channel, record = stored.channel, stored.record
                if stored.number is None or channel is None or channel not in channels:
                    continue
                there[channel] += 1
                if "refresh" not in COLUMNS[channel] or (record.get("refresh") or 0) >= self.since:
                    self.on_record()
                    yield channel, _with_body(record, as_served=as_served)
            for name, count in part.written.items():
                if name in channels and there[name] < count:
                    what = f"{there[name]:,} of the {count:,} {name} that were written can be read"
                    raise StorageError(f"{part.path}: {what}", hint=_HINT)

    def in_columns(self) -> tuple[dict[Channel, Fields], Iterator[tuple[Channel, list[Any]]]]:
        """The columns of each channel, with those that an expander's records need, and all records as rows of them."""
        fields = self.fields
        for _, record in self.records(("records",)):
            fields = widened(fields, record)
        more: dict[Channel, Fields] = {"records": fields}
        columns = {channel: own | more.get(channel, {}) for channel, own in COLUMNS.items()}
        return columns, ((channel, values(channel, record, more.get(channel))) for channel, record in self.records())


_HINT: Final = "comity prove DIR names all that is missing or damaged"


def _problem(stored: StoredRecord) -> str | None:
    if stored.number is None:
        return "it is missing"
    return stored.problem or ("its body was changed: its hash differs" if stored.intact is False else None)


def _with_body(record: dict[str, Any], *, as_served: bool) -> dict[str, Any]:
    """The record with its body as bytes or as text."""
    if "body_base64" in record:
        encoded = record.pop("body_base64")
        record["body_bytes"] = None if encoded is None else base64.b64decode(encoded)
    text, encoding = record.get("body"), record.get("encoding")
    if not as_served and (text is not None or encoding) and (body := record.get("body_bytes")) is not None:
        record |= {"body": encodings.to_text(body, str(encoding)) if text is None else text, "body_bytes": None}
    return record
