"""Output as Markdown: a file a page, with what must be known to use it as front matter, and the same in `pages.jsonl`.

Pages become Markdown as they are written, some milliseconds each; bodies as served are not kept. What is no text (an
image, say) is in the index alone, with `markdown` null.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from comity.crawler.output.files import name_of
from comity.crawler.output.lines import JsonLines, read_jsonl
from comity.crawler.output.reader import CHECKED, StoredRecord, body_of
from comity.crawler.output.sink import Channel, Received
from comity.digests import sha256_of
from comity.errors import ExtractionFailed
from comity.files import check_within, made_anew, open_regular, read_regular, sync_folder
from comity_pages.documents import TO_READ_PDF, form_of, read_body
from comity_pages.extraction import ExtractedPage
from comity_pages.quality import quality_of

if TYPE_CHECKING:
    from concurrent.futures import Future

    from comity.net import Response

FOLDER: Final = "files"
SIDE_BY_SIDE: Final = 16  # files that the disk is asked to keep at once: it takes many in hardly more time than one
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


class MarkdownFiles:
    """Files and an index; the marker is the lengths of the JSON Lines files. The index is written first and names each
    file, so that after a crash the files of pages that were not committed are known, and are removed when the index is
    cut back."""

    in_utf8 = True

    def __init__(self) -> None:
        from concurrent.futures import ThreadPoolExecutor  # late: it costs those time who only read

        self._index = JsonLines()
        self._root = Path()
        self._bodies: dict[str, bytes] = {}
        self._size = 0
        self._pool = ThreadPoolExecutor(2, "comity-pdf")

    @property
    def pending(self) -> int:
        return self._index.pending + self._size

    def open(self, folder: Path, committed: Any) -> None:
        self._root = folder / FOLDER
        touched = set()
        for name in _uncommitted(folder / "pages.jsonl", (committed or {}).get("pages", 0)):
            path = self._root / name
            if path.exists():
                path.unlink()
                touched.add(path.parent)
        for parent in touched:  # before the index forgets them
            sync_folder(parent)
        self._index.open(folder, committed)

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
                text = as_file(record).encode("utf-8", "surrogatepass")
                name = name_of(record["url"], "text/markdown", refresh=record.get("refresh", 0))
                self._bodies[name] = text
                self._size += len(text)
                record |= {"file": f"{FOLDER}/{name}", "file_sha256": sha256_of(text)}
        self._index.add(channel, record, answer)

    def flush(self, *, final: bool) -> dict[str, int]:
        lengths = self._index.flush(final=final)
        folders: set[Path] = set()
        for name in self._bodies:
            folder = (self._root / name).parent
            folders |= {folder, *_make_folders(folder, self._root.parent)}
        from concurrent.futures import ThreadPoolExecutor  # late: it costs those time who only read

        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            list(pool.map(self._write, self._bodies, self._bodies.values()))
        for folder in folders:
            sync_folder(folder)
        self._bodies.clear()
        self._size = 0
        return lengths

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._index.close()

    def _write(self, name: str, body: bytes) -> None:
        with made_anew(self._root / name) as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())


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


def as_file(record: Mapping[str, Any]) -> str:
    """The file of a page: front matter, each value as JSON, which is YAML too, and the Markdown."""
    named = {**record, "usage": preferences(record)}
    lines = (f"{name}: {json.dumps(named[name], ensure_ascii=False)}\n" for name in FRONT if named.get(name))
    return f"---\n{''.join(lines)}---\n\n{record['markdown']}"


def read_back(
    folder: Path,
    committed: Mapping[str, int] | None = None,
    *,
    channels: Sequence[Channel] = CHECKED,
    naming: Sequence[bytes] = (),
) -> Iterator[StoredRecord]:
    """What lies in the index, and whether each page's file is the one that it names."""
    for stored in read_jsonl(folder, committed, channels=channels, naming=naming):
        is_page = stored.channel == "pages" and stored.number is not None and stored.problem is None
        if not is_page or stored.record.get("file", "") is None:  # what is no text has no Markdown
            yield stored
            continue
        name = str(stored.record.get("file"))
        try:
            if not _is_ours(name.removeprefix(f"{FOLDER}/")):
                raise ValueError(name)
            check_within(folder / name, folder)
            body = read_regular(folder / name)
        except (OSError, ValueError):
            yield replace(stored, problem=f"its file is not there: {name[:300]!r}")
        else:
            yield replace(stored, intact=sha256_of(body) == stored.record.get("file_sha256"))


def _make_folders(folder: Path, top: Path) -> set[Path]:
    """Make a folder; returns those in which an entry was made on the way."""
    touched = set()
    missing = folder
    while missing != top and not missing.exists():
        touched.add(missing.parent)
        missing = missing.parent
    folder.mkdir(parents=True, exist_ok=True)
    check_within(folder, top)
    return touched


def _uncommitted(index: Path, committed: int) -> Iterator[str]:
    """The files named beyond the committed length. Names from elsewhere than `name_of` are left alone."""
    if not index.exists():
        return
    with open_regular(index) as lines:
        lines.seek(committed)
        for line in lines:
            try:
                name = json.loads(line)["file"].removeprefix(f"{FOLDER}/")
            except (ValueError, KeyError, TypeError, AttributeError):
                continue  # the line was cut by the crash, so none of its flush's files was begun
            if _is_ours(name):
                yield name


def _is_ours(name: str) -> bool:
    """Whether a name stays in the folder, and is one that `name_of` may have given."""
    path = PurePosixPath(name)
    return ".." not in path.parts and not path.is_absolute() and "~" in name
