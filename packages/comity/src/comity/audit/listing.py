"""The URLs of a crawl, a page at a time, each with what became of it, in the words of `comity why`: from the queue, the
visits and the output. One question looks at a bounded number of rows and lines however large the crawl is, says whether
it came to the end, and where the next one goes on."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, get_args
from urllib.parse import quote

from comity import times
from comity.audit.url_status import status_in, waiting
from comity.crawler.output.reader import load
from comity.crawler.storage.crawl import StoredCrawl
from comity.crawler.storage.crawl_output import CrawlOutput, OutputPart
from comity.crawler.storage.open_crawl import open_crawl
from comity.errors import InputError
from comity.files import open_regular
from comity.frontier.committed import FrontierView
from comity.frontier.values import QueuedURL
from comity_pages.urls import Url

URLState = Literal["kept", "redirected", "sitemap", "failed", "refused", "skipped", "queued"]
STATES: Final[tuple[URLState, ...]] = get_args(URLState)
MAX_LISTED_URLS: Final = 50  # URLs of one answer
MAX_ROWS_READ: Final = 50_000  # of one question; a line of a file is one row for each BYTES_PER_ROW bytes
BYTES_PER_ROW: Final = 200
_MAX_LINE_BYTES: Final = 1 << 20  # bytes of a line; of one that is longer nothing is told
_TABLES: Final[Mapping[str, Literal["visit", "aside", "waiting"]]] = {
    "kept": "visit",
    "skipped": "aside",
    "queued": "waiting",
}
_CHANNELS: Final[Mapping[str, tuple[str, ...]]] = {
    "kept": (),
    "redirected": ("redirects",),
    "sitemap": ("sitemaps",),
    "failed": ("failures",),
    "refused": ("refusals",),
    "skipped": ("traps", "unwanted"),
    "queued": (),
}
_LEDGER: Final = "ledger"
_UNREAD: Final = "traps and unwanted pages are not listed: the output is not in JSON Lines"


@dataclass(frozen=True, slots=True)
class ListedURL:
    """One URL: what became of it, and why, as of `url_status.UrlStatus`."""

    url: str
    state: URLState
    fate: str
    why: str
    found_on: str | None = None


@dataclass(slots=True)
class Listing:
    """URLs of a crawl.

    Attributes:
        after: where the next question goes on; None: all was looked at.
        looked: rows and lines looked at.
        missing: what could not be looked at, in words.
    """

    urls: list[ListedURL] = field(default_factory=list)
    after: str | None = None
    looked: int = 0
    missing: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Step:
    """One table of a shard, or one file of a part."""

    name: str
    state: URLState
    shard: int
    source: str
    part: OutputPart | None = None


def listing(
    folders: Path | Sequence[Path],
    *,
    store: str | None = None,
    sought: str = "",
    state: str = "",
    after: str = "",
    most: int = MAX_LISTED_URLS,
    looks: int = MAX_ROWS_READ,
) -> Listing:
    """URLs of a crawl, by state, and in a state in the order in which the crawl came to them.

    Args:
        folders, store: as of `explain_url`.
        sought: a part of the URL, or of the reason why one was not fetched; ASCII letters in either case.
        state: one of STATES; all without it.
        after: as an earlier answer gave it.

    Raises:
        InputError: there is no crawl, no such state, or `after` is none.
        StorageError: it cannot be read.
    """
    if state not in ("", *STATES):
        raise InputError(f"{state[:40]!r} is no state of a URL", hint=f"choose one of {', '.join(STATES)}")
    crawl = open_crawl(folders, store)
    written = crawl.output()
    listing = Listing()
    steps = list(_steps(written, crawl, [each for each in STATES if state in ("", each)], listing))
    name, _, place = after.rpartition("@")
    first = next((number for number, step in enumerate(steps) if step.name == name), None)
    if after and (first is None or not re.fullmatch(r"[0-9]{1,18}", place)):
        raise InputError(f"{after[:80]!r} is no place in this crawl", hint="begin again")
    position = int(place or 0)
    # URLs are ASCII; a reason may name anything
    needle = quote(sought.strip().lower(), safe="".join(map(chr, range(32, 127)))).lower()
    for step in steps[first or 0 :]:
        wanted, left = most - len(listing.urls), looks - listing.looked
        if wanted <= 0 or left <= 0:
            listing.after = f"{step.name}@{position}"
            break
        read = _from_table if step.part is None else _from_file
        found = read(crawl, step, needle, position, wanted, left, listing)
        if found is not None:
            listing.after = f"{step.name}@{found}"
            break
        position = 0
    return listing


def _steps(written: CrawlOutput, crawl: StoredCrawl, states: Sequence[URLState], listing: Listing) -> Iterator[_Step]:
    listing.missing += written.absent
    for state in states:
        for shard in range(crawl.shards):
            if state in _TABLES:
                yield _Step(f"{state}/{shard}", state, shard, _TABLES[state])
            for part in written.there[shard]:
                plain = (part.path / "failures.jsonl").exists()
                if not plain and state == "skipped" and _UNREAD not in listing.missing:
                    listing.missing.append(_UNREAD)
                for source in _CHANNELS[state] if plain else (_LEDGER,) * (state in ("failed", "refused")):
                    yield _Step(f"{state}/{part.name}/{source}", state, shard, source, part)


def _from_table(
    crawl: StoredCrawl, step: _Step, needle: str, position: int, most: int, looks: int, listing: Listing
) -> int | None:
    """Add what a table has; gives the row after which to go on, None where there are no more."""
    view = crawl.view(step.shard)
    if view is None:
        return None
    with view:
        found = view.listed(step.source, needle, after=position, most=most, looks=looks)  # type: ignore[arg-type]
        listing.looked += found.looked
        listing.urls += (_of_row(view, step.state, url, row) for _, url, row in found.urls)
    return found.last


def _of_row(view: FrontierView, state: URLState, url: str, row: Any) -> ListedURL:
    if isinstance(row, QueuedURL):
        fate = waiting(view, Url(url), row)
        return ListedURL(url, state, fate.fate, fate.why, row.found_on)
    if row.kept == row.fetched or row.kept is None or row.fetched is None:
        at = row.fetched or row.kept
        return ListedURL(url, state, "kept", f"fetched at {times.iso(at)}" if at else "fetched", row.found_on)
    why = f"fetched at {times.iso(row.kept)}, found unchanged at {times.iso(row.fetched)}"
    return ListedURL(url, state, "unchanged", why, row.found_on)


def _from_file(
    crawl: StoredCrawl, step: _Step, needle: str, position: int, most: int, looks: int, listing: Listing
) -> int | None:
    """Add what a file has; gives the offset at which to go on, None where there are no more lines."""
    assert step.part is not None
    part, read = step.part, 0
    path = part.ledger if step.source == _LEDGER else part.path / f"{step.source}.jsonl"
    committed = part.ledger_length if step.source == _LEDGER else (part.committed or {}).get(step.source)
    until = None if part.kept is None else committed or 0
    quoted = json.dumps(needle)[1:-1].encode()
    try:
        with open_regular(path) as file, crawl.view(step.shard) or nullcontext() as view:
            last = view if view is not None and view.load_state("refresh") else None
            file.seek(position)
            while data := file.readline(_MAX_LINE_BYTES):
                if not data.endswith(b"\n") and len(data) < _MAX_LINE_BYTES:
                    return None  # it is being written
                if until is not None and position + len(data) > until:
                    return None
                position += len(data)
                read += 1 + len(data) // BYTES_PER_ROW
                record = load(data)[0] if quoted in data.lower() else {}
                if (row := _of_record(step, record, needle)) is not None and not _is_past(last, record):
                    listing.urls.append(row)
                    most -= 1
                if most <= 0 or read >= looks:
                    return position
    except FileNotFoundError:  # made with its first record
        pass
    except OSError as error:
        listing.missing.append(f"{path} cannot be read: {error.strerror or error}")
    finally:
        listing.looked += read
    return None


def _is_past(view: FrontierView | None, record: dict[str, Any]) -> bool:
    """Whether a record is of a run before the last refresh, and there is a page of its URL, which is listed itself."""
    if view is None or not isinstance(record.get("refresh"), int):
        return False
    if record["refresh"] >= view.load_state("refresh")["number"]:
        return False
    visit = view.visited(str(record["url"]))
    return visit is not None and visit.digest is not None


def _of_record(step: _Step, record: dict[str, Any], needle: str) -> ListedURL | None:
    """What a record tells, if it is about a URL that is sought."""
    try:
        if step.source != _LEDGER:
            fate, why = status_in({"channel": step.source, **record})
        elif record["kind"] == "refusal" and step.state == "refused":
            rule = f"robots.txt line {record['line']} ({record['rule']})" if record["rule"] else record["verdict"]
            fate, why = "refused", str(rule)
        elif record["kind"] == "request" and record["purpose"] == "content" and step.state == "failed":
            status = record["status"]
            if status is not None and status < 400:
                return None
            fate, why = "failed", str(record["error"] or f"a request was answered with status {status}")
        else:
            return None
        url = str(record["url"])
    except (KeyError, TypeError):
        return None
    if needle not in url.lower() and needle not in why.lower():
        return None
    found_on = record.get("found_on")
    return ListedURL(url, step.state, fate, why[:2000], found_on if isinstance(found_on, str) else None)
