"""The pages of a crawl as they are now, cut into chunks for a search by meaning: each with an id that stays as long as
its place in the page does, and a hash of its text, so that a store is brought up to date by what is new, changed and
gone. What is around the content (menus, footers) is in no chunk, and changes none."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from comity.audit.current_pages import pages
from comity.crawler.output.lines import line
from comity.crawler.output.markdown import as_markdown, preferences
from comity.crawler.output.targets import MANIFEST
from comity.crawler.storage.crawl_output import CrawlOutput
from comity.crawler.storage.export import Read, put_export
from comity.digests import sha256_of
from comity.errors import InvalidSetting, StorageError
from comity_pages._extras import need
from comity_pages.extraction import ExtractedPage

IDS: Final = ".ids"  # what the name of the file ends with that has id and state of each chunk, for the next time
MAX_INDEX_SHARE: Final = 0.5  # of a page's text, above which its links make it an index
_ROWS: Final = 1000  # that are written at once
_COLUMNS: Final = {
    **dict.fromkeys(
        ("id", "change", "url", "page", "title", "text", "hash", "verdict", "usage", "fetched_at"), "string"
    ),
    **dict.fromkeys(("headings", "licences"), "list"),
    **dict.fromkeys(("tokens", "refresh"), "int64"),
    "index": "bool_",
}


def export_chunks(crawl: CrawlOutput, where: str, *, tokens: int, changed: bool) -> dict[str, Any]:
    """Write the chunks of all current pages to a file, as Parquet or JSON Lines by its name; gives the manifest.

    Args:
        tokens: the most of a chunk.
        changed: only those that are not as the last export to that file had them; of what is gone, the id.
    """
    if (end := Path(where).suffix) not in (".parquet", ".jsonl"):
        raise InvalidSetting(f"-o: {where} does not say what to write", hint="let the name end with .parquet or .jsonl")
    writes, name = _write_parquet if end == ".parquet" else _write_lines, where.rpartition("/")[2]
    pinned = [
        [replace(part, kept=part.state()) for part in parts] for parts in crawl.there
    ]  # no more is committed then
    crawl = replace(crawl, shards=pinned)

    def write(folder: Path, read: Read) -> None:
        known: dict[str, str] = {}
        if changed:
            if not json.loads(read(f"{name}.{MANIFEST}") or b'{"complete": true}').get("complete"):
                raise StorageError(
                    f"{where}: the last export broke off", hint="export without --changed, and begin anew"
                )
            known = dict(json.loads(each) for each in (read(f"{name}{IDS}") or b"").splitlines())
        folder.mkdir()
        with (folder / f"{name}{IDS}").open("xb") as ids:
            writes(_changed(_noted(chunks(crawl, tokens), ids.write), known, all_=not changed), folder / name)

    return put_export(crawl, "chunks", where, write, tokens=tokens, changed=changed)


def read_of(record: dict[str, Any]) -> ExtractedPage | None:
    """A page's content as Markdown, which the record has then too; None where it is no text."""
    if isinstance(written := record.get("markdown"), str):  # the crawl's output is Markdown
        known = {name: record[name] for name in ("heading_ids", "folded", "page_starts") if name in record}
        return ExtractedPage(written, (), False, url=record["url"], **known)
    values, read = as_markdown(record) if "markdown" not in record else ({}, None)
    record |= values
    return read


def chunks(crawl: CrawlOutput, tokens: int) -> Iterator[dict[str, Any]]:
    """The chunks of all current pages."""
    for record in pages(crawl, bodies=True):
        if (read := read_of(record)) is None:
            continue
        links, shown = sum(len(link.text) for link in read.links), len(read.markdown)
        shown -= sum(len(link.url) + len("[]()") for link in read.links)
        page, seen = record["url"], Counter[tuple[str, ...]]()
        for chunk in read.chunks(tokens):
            seen[chunk.path] += 1
            place = json.dumps([page, chunk.path, seen[chunk.path]])
            yield {
                "id": sha256_of(place.encode())[:32],
                "change": None,
                "url": chunk.url,
                "page": page,
                "title": record.get("title"),
                "headings": list(chunk.path),
                "text": chunk.text,
                "tokens": chunk.tokens,
                "hash": sha256_of(chunk.text.encode("utf-8", "surrogatepass")),
                "licences": list(record.get("licences") or ()),
                "usage": json.dumps(preferences(record)),
                "verdict": (record.get("decision") or {}).get("verdict"),
                "refresh": record.get("refresh") or 0,
                "index": links > MAX_INDEX_SHARE * shown,
                "fetched_at": record.get("fetched_at"),
            }


def _noted(found: Iterator[dict[str, Any]], write: Any) -> Iterator[dict[str, Any]]:
    for each in found:
        write(f"{json.dumps([each['id'], _state(each)])}\n".encode())
        yield each


def _state(chunk: dict[str, Any]) -> str:
    """What changes with its text, and with what may be done with it: a store that keeps both is to know of both."""
    return sha256_of(json.dumps([chunk[name] for name in ("hash", "licences", "usage", "verdict")]).encode())


def _changed(found: Iterator[dict[str, Any]], known: dict[str, str], *, all_: bool) -> Iterator[dict[str, Any]]:
    for each in found:
        before = known.pop(each["id"], None)
        if all_ or before != _state(each):
            yield each if all_ else {**each, "change": "new" if before is None else "changed"}
    for name in known:
        yield {**dict.fromkeys(_COLUMNS), "id": name, "change": "gone"}


def _write_lines(rows: Iterator[dict[str, Any]], path: Path) -> None:
    with path.open("xb") as file:
        file.writelines(map(partial(line, channel="records"), rows))


def _write_parquet(rows: Iterator[dict[str, Any]], path: Path) -> None:
    arrow, parquet = need("pyarrow", "parquet", "chunks in Parquet"), need("pyarrow.parquet", "parquet", "")
    texts = arrow.list_(arrow.string())
    kinds = {name: texts if kind == "list" else getattr(arrow, kind)() for name, kind in _COLUMNS.items()}
    schema = arrow.schema(list(kinds.items()))
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        batch: list[dict[str, Any]] = []
        for row in rows:
            batch.append(row)
            if len(batch) >= _ROWS:
                writer.write_table(arrow.Table.from_pylist(batch, schema))
                batch = []
        writer.write_table(arrow.Table.from_pylist(batch, schema))
