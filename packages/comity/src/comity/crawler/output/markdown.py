"""Output as Markdown: JSON Lines in which pages are Markdown, with what must be known to use it, and an export: a file
of each page, which has that as front matter.

Pages become Markdown as they are written, some milliseconds each; bodies as served are not kept. What is no text (an
image, say) has no file, and its `markdown` is null.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from comity.crawler.output.files import name_of, write_file
from comity.crawler.output.lines import JsonLines, read_jsonl
from comity.crawler.output.reader import CHECKED, StoredRecord, body_of
from comity.crawler.output.sink import Channel, Received
from comity.crawler.output.source import Source
from comity.digests import sha256_of
from comity.errors import ExtractionFailed
from comity_pages.documents import TO_READ_PDF, form_of, read_body
from comity_pages.extraction import ExtractedPage
from comity_pages.quality import quality_of

if TYPE_CHECKING:
    from concurrent.futures import Future

    from comity.net import Response

FOLDER: Final = "files"
FRONT: Final = (
    "url",
    "title",
    "author",
    "date",
    "language",
    "licences",
    "usage",
    "reason",
    "hidden_text",
    "fetched_at",
    "sha256",
)


class MarkdownLines(JsonLines):
    """JSON Lines in which each page is Markdown."""

    def __init__(self) -> None:
        from concurrent.futures import ThreadPoolExecutor  # late: it costs those time who only read

        super().__init__()
        self._pool = ThreadPoolExecutor(2, "comity-pdf")

    def read_ahead(self, response: "Response") -> "Future[dict[str, Any]] | None":
        """What is written of a PDF: to read one may take half a minute, for which no other page is to wait."""
        if form_of(response.body, response.content_type) != "pdf":
            return None
        record = {"url": response.url, "content_type": response.content_type}
        return self._pool.submit(lambda: as_markdown(record, response.body)[0])

    def add(self, channel: Channel, record: Mapping[str, Any], answer: Received | None = None) -> None:
        if channel == "pages":
            values = record.get("ahead")
            if values is None:
                values, _ = as_markdown(record, None if record.get("rendered") or answer is None else answer.body)
            record = {name: each for name, each in record.items() if name != "ahead"}
            record |= {**values, "body": None, "body_base64": None, "file": None, "file_sha256": None}
            if values["markdown"] is not None:
                record |= {"file": f"{FOLDER}/{_name(record)}", "file_sha256": sha256_of(as_file(record))}
        super().add(channel, record, answer)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        super().close()


def write(source: Source, folder: Path) -> None:
    """Write an export: a file for each page that has a text."""
    folder.mkdir()
    for _, record in source.records(("pages",)):
        if "markdown" not in record:
            record |= as_markdown(record)[0]
        if record["markdown"] is not None:
            write_file(folder / _name(record), as_file(record))


def _name(record: Mapping[str, Any]) -> str:
    return name_of(record["url"], "text/markdown", refresh=record.get("refresh") or 0)


def as_markdown(record: Mapping[str, Any], body: bytes | None = None) -> tuple[dict[str, Any], ExtractedPage | None]:
    """A page's record as Markdown with what must be known to use it, and what was read. `body`: as it was served, where
    it is not in the record."""
    url = str(record["url"])
    as_served = body is not None or record.get("body_bytes") is not None or record.get("body_base64") is not None
    encoding = record.get("encoding") if as_served else "utf-8"
    body = body if body is not None else body_of(record)
    try:
        read = read_body(body, url, record.get("content_type") or "", encoding=encoding)
        unread = read is None and record.get("content_type") == "application/pdf"
        problem = f"{url}: {TO_READ_PDF}" if unread else None
    except ExtractionFailed as error:
        read, problem = None, str(error)
    said = read.metadata if read is not None else None
    values = {
        "title": (said.title.value if said is not None and said.title is not None else record.get("title")),
        "author": said.author.value if said is not None and said.author is not None else None,
        "date": said.date.value if said is not None and said.date is not None else None,
        "language": said.language.value if said is not None and said.language is not None else None,
        "licences": [licence for *_, licence in read.licences] if read is not None else [],
        "hidden_text": sorted({each.kind for each in read.hidden if each.kept}) if read is not None else [],
        "markdown": read.markdown if read is not None else None,
        "heading_ids": read.heading_ids if read is not None else (),
        "folded": read.folded if read is not None else (),
        "page_starts": read.page_starts if read is not None else (),
        "kind": read.judgement.kind if read is not None else None,
        "reason": read.judgement.reason or None if read is not None else None,
        "quality": None,
        "problem": problem,
    }
    if read is not None:
        form = form_of(body, record.get("content_type") or "")
        source, has_title = len(body) if form == "html" else 0, values["title"] is not None or form == "text"
        quality = quality_of(read, source, has_title=has_title)
        values["quality"] = {"score": quality.score, "reasons": [reason.message for reason in quality.reasons]}
    return values, read


def preferences(record: Mapping[str, Any]) -> dict[str, str]:
    """What is stated for each purpose that was asked about."""
    usage = record.get("usage")
    stated = usage.items() if isinstance(usage, dict) else ()
    return {name: each["preference"] for name, each in stated if isinstance(each, dict) and "preference" in each}


def as_file(record: Mapping[str, Any]) -> bytes:
    """The file of a page: front matter, each value as JSON, which is YAML too, and the Markdown."""
    named = {**record, "usage": preferences(record)}
    lines = (f"{name}: {json.dumps(named[name], ensure_ascii=False)}\n" for name in FRONT if named.get(name))
    return f"---\n{''.join(lines)}---\n\n{record['markdown']}".encode("utf-8", "surrogatepass")


def read_back(
    folder: Path,
    committed: Mapping[str, int] | None = None,
    *,
    channels: Sequence[Channel] = CHECKED,
    naming: Sequence[bytes] = (),
) -> Iterator[StoredRecord]:
    """What lies in the log, and whether each page has the hash of the file that is made of it."""
    for stored in read_jsonl(folder, committed, channels=channels, naming=naming):
        if stored.channel == "pages" and stored.number is not None and stored.problem is None:
            made = None if stored.record.get("markdown") is None else sha256_of(as_file(stored.record))
            told = stored.record.get("file_sha256")
            yield stored if made is told is None else replace(stored, intact=made == told)
        else:
            yield stored
