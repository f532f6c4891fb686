"""The URLs of a crawl that failed, and the pages that link to them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Final

from comity.audit.current_pages import pages
from comity.audit.stored import last_name, page_of, pages_in, stored_in
from comity.crawler.finding.canonicalize import Canonicalizer
from comity.crawler.output.reader import body_of, read_lines
from comity.crawler.output.sink import Channel
from comity.crawler.storage.crawl_output import OutputPart
from comity.crawler.storage.open_crawl import open_output
from comity_pages.urls import Url

MAX_PAGES_PER_LINK: Final = 20  # named for each broken link
MAX_BROKEN_LINKS: Final = 10_000  # that are told apart
MAX_READ_BYTES: Final = 32 * 1024 * 1024  # bytes of bodies


@dataclass(slots=True)
class BrokenLink:
    """A URL that failed; `why` as in the crawl's record of it. `pages`: URLs of the first MAX_PAGES_PER_LINK of the
    `count` pages that link to it."""

    url: str
    why: str
    status: int | None
    pages: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, page: str) -> None:
        """Note a page that links to it."""
        if page not in self.pages:
            self.count += 1
            if len(self.pages) < MAX_PAGES_PER_LINK:
                self.pages.append(page)


def failures(
    part: OutputPart, *, all_formats: bool = True, channel: Channel = "failures"
) -> Iterator[dict[str, Any]] | None:
    """The records of the URLs of a part that failed, or of another channel. Without `all_formats`, None where they do
    not lie in a file of JSON lines, so that all pages would be read."""
    path = next((path for end in ("", ".gz", ".zst") if (path := part.path / f"{channel}.jsonl{end}").exists()), None)
    if path is None and not all_formats:
        return None
    if path is not None:
        lines = read_lines(path, until=(part.committed or {}).get(channel) if part.kept else None)
        return (line.record for line in lines if line.problem is None)
    return (stored.record for stored in stored_in([part]) if stored.channel == channel)


def failed(folder: Path) -> list[BrokenLink]:
    """The URLs of a crawl that failed, each with the page that named it first; none where all pages would be read.
    Errors as of `open_output`."""
    parts = chain.from_iterable(open_output(folder).there)
    return list(failed_in(record for part in parts for record in failures(part, all_formats=False) or ()).values())


def failed_in(records: Iterable[dict[str, Any]]) -> dict[str, BrokenLink]:
    """The URLs that records of failures are about."""
    found: dict[str, BrokenLink] = {}
    for record in records:
        url = str(record.get("url"))
        if url in found or len(found) < MAX_BROKEN_LINKS:
            why = str(record.get("why"))
            link = found[url] = BrokenLink(url, why, record.get("status"))
            if record.get("found_on"):
                link.add(str(record["found_on"]))
    return found


def linking(
    folders: Path | Sequence[Path], url: str, *, store: str | None = None, looks: int = MAX_READ_BYTES
) -> tuple[list[str], bool]:
    """The first MAX_PAGES_PER_LINK pages of a crawl that link to a URL, and whether all pages were read for them:
    in the order in which they were kept, as far as their bodies have `looks` bytes. Errors as of `broken_links`."""
    found, clean = BrokenLink(Url(url), "", None), Canonicalizer().clean
    wanted, last = {found.url, clean(found.url)}, last_name(Url(url))
    crawl = open_output(folders, store)
    for record in pages_in(crawl.parts):
        body = body_of(record)
        looks -= len(body)
        if last in body and any(link.url in wanted or clean(link.url) in wanted for link in page_of(record).links):
            found.add(record["url"])
        if looks < 0 or len(found.pages) == MAX_PAGES_PER_LINK:
            return found.pages, False
    return found.pages, not crawl.absent


def broken_links(folders: Path | Sequence[Path], *, store: str | None = None) -> list[BrokenLink]:
    """The URLs that failed and are not among the crawl's pages, with all pages that link to them; all pages are read.
    Errors as of `stored_in`."""
    crawl = open_output(folders, store)
    parts, clean = chain.from_iterable(crawl.there), Canonicalizer().clean
    found = failed_in(record for part in parts for record in failures(part) or ())
    if not found:
        return []
    for record in pages(crawl, bodies=True):
        found.pop(record["url"], None)  # it was fetched later
        for link in page_of(record).links:
            if (broken := found.get(link.url) or found.get(clean(link.url))) is not None:
                broken.add(record["url"])
    return sorted(found.values(), key=lambda link: -link.count)
