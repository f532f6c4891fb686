"""What the output of a crawl holds, read back record by record, whatever its format, for those who ask about it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from comity.crawler.output.columns import damaged_field
from comity.crawler.output.formats import FORMATS
from comity.crawler.output.reader import StoredRecord, body_of
from comity.crawler.output.runner import DEFAULT, read_back
from comity.crawler.storage.crawl_output import OutputPart
from comity.errors import InvalidSetting
from comity_pages.signals.links import Page, read_page
from comity_pages.urls import Url


def stored_in(parts: Iterable[OutputPart], *, naming: Iterable[str] = ()) -> Iterator[StoredRecord]:
    """The records of some parts, one part after the other. Parts that are not there are passed over, and records that
    are damaged, which `comity prove` names. With `naming`, records in which none of these URLs stands may be left out,
    unread.

    Raises:
        InputError: a folder holds no crawl.
        InvalidSetting: a plug-in wrote the output, which cannot be read back.
    """
    wanted = tuple(naming)
    for part in parts:
        if part.absent is None:
            for stored in read_back(part.path, _sink_of(part), part.committed, naming=wanted):
                if stored.channel is None or stored.number is None or stored.problem is not None:
                    continue
                if damaged_field(stored.channel, stored.record) is None:
                    yield stored


def pages_in(parts: Iterable[OutputPart]) -> Iterator[dict[str, Any]]:
    """The records of the pages that can be read. Errors as of `stored_in`."""
    return (stored.record for stored in stored_in(parts) if stored.channel == "pages")


def page_of(record: Mapping[str, Any]) -> Page:
    """What a stored page says of itself, and where it points."""
    return read_page(body_of(record), record["url"], record.get("content_type"))


def last_name(url: Url) -> bytes:
    """What stands in every link to a URL, a relative one too."""
    return url.path_and_query.strip("/").rpartition("/")[2].encode() or b"/"


def _sink_of(part: OutputPart) -> str:
    part.check_begun()
    sink = part.state().get("sink")
    name = sink.get("name", DEFAULT) if isinstance(sink, dict) else DEFAULT
    if name not in FORMATS:
        raise InvalidSetting(f"{part.path} was written by the plug-in {name}, which cannot be read back")
    return str(name)
