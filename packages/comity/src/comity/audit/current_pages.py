"""The pages of a crawl as they are after its refreshes: the latest record of each URL, without those that are gone."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

from comity import times
from comity.audit.stored import stored_in
from comity.crawler.storage.crawl_output import CrawlOutput, OutputPart, number_in
from comity.errors import InputError

_FATES = {
    "refusals": "refused",
    "traps": "trapped",
    "unwanted": "unwanted",
    "failures": "failed",
    "redirects": "redirected",
}
_BODY = ("body", "body_base64", "body_bytes")


def pages(crawl: CrawlOutput, *, bodies: bool = False) -> Iterator[dict[str, Any]]:
    """The current pages in the order in which they were kept, shard by shard where the crawl has several; those of
    parts that are not there are left out.

    `since` says what a later refresh found of one without another page: `fate` (as of `comity why`), `why`, `refresh`;
    None where none did. Bodies are read only where they are wanted; those of `warc` and `files` lie in the archive and
    under `file`.

    Raises:
        StorageError: the folder holds no crawl, or it cannot be read.
        InvalidSetting: the output was written by a plug-in, which cannot be read back.
        InputError: there are fewer than were written, which is said after those that are there.
    """
    lacking: list[str] = []
    for parts in crawl.there:
        yield from _pages(parts, lacking, bodies=bodies)
    if lacking:
        raise InputError("; ".join(lacking), hint="comity prove DIR names the files")


def _pages(parts: Sequence[OutputPart], lacking: list[str], *, bodies: bool) -> Iterator[dict[str, Any]]:
    there = 0
    with closing(sqlite3.connect("", isolation_level=None)) as db:  # temporary: on disk where it is large
        db.execute("CREATE TABLE latest (url BLOB PRIMARY KEY, refresh INTEGER, at REAL, record INTEGER) WITHOUT ROWID")
        db.execute("CREATE TABLE since (url BLOB PRIMARY KEY, refresh INTEGER, fate TEXT) WITHOUT ROWID")
        db.execute("BEGIN")
        # A page that is not there, or not kept, any more counts from the time that was found out.
        for number, (channel, record) in enumerate(_about_pages(parts)):
            there += channel == "pages"
            url, refresh = _key(record), record.get("refresh") or 0
            if channel in _FATES:
                if refresh:
                    fate = {"fate": _FATES[channel], "why": record.get("why"), "refresh": refresh}
                    _put(db, "since", url, refresh, json.dumps(fate))
                continue
            if channel == "unchanged":
                _put(db, "since", url, refresh, None)
                continue
            at = times.parse_iso(record["fetched_at"]) if record.get("fetched_at") else 0.0
            db.execute(
                "INSERT INTO latest VALUES (?, ?, ?, ?) ON CONFLICT (url) DO UPDATE SET refresh = excluded.refresh, "
                "at = excluded.at, record = excluded.record WHERE (excluded.refresh, excluded.at) >= (refresh, at)",
                (url, refresh, at, number if channel == "pages" else None),
            )
        for number, (channel, record) in enumerate(_about_pages(parts)):
            if channel != "pages":
                continue
            row = db.execute(
                "SELECT since.fate FROM latest LEFT JOIN since ON since.url = latest.url "
                "AND since.refresh > latest.refresh WHERE latest.url = ? AND record = ?",
                (_key(record), number),
            ).fetchone()
            if row is not None:
                kept = record if bodies else {name: value for name, value in record.items() if name not in _BODY}
                yield {**kept, "since": None if row[0] is None else json.loads(row[0])}
    wrote = sum(number_in(part.state(), "ledger", "written", "pages") for part in parts)
    if there < wrote:
        lacking.append(f"{parts[0].path}: {there:,} of the {wrote:,} pages that were written can be read")


def _put(db: sqlite3.Connection, table: str, url: bytes, refresh: int, fate: str | None) -> None:
    db.execute(
        f"INSERT INTO {table} VALUES (?, ?, ?) ON CONFLICT (url) DO UPDATE SET refresh = excluded.refresh, "
        "fate = excluded.fate WHERE excluded.refresh >= refresh",
        (url, refresh, fate),
    )


def _about_pages(parts: Sequence[OutputPart]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Records that say something of pages: channel, or `out` or `unchanged`, and record."""
    for stored in stored_in(parts):
        record, what = stored.record, str(stored.channel)
        if what == "changes":
            what = {"gone": "out", "unchanged": "unchanged"}.get(str(record.get("change")), "")
        elif what == "refusals" and record.get("by") == "usage":
            what = "out"
        if what in ("pages", "out", "unchanged", *_FATES):
            yield what, record


def _key(record: dict[str, Any]) -> bytes:
    return str(record["url"]).encode("utf-8", "surrogatepass")
