"""What refreshes of a crawl found changed: the content of a page, or only what stands around it. Nothing is fetched:
the Markdown of each version is made of the output, and compared.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff

from comity.audit.stored import pages_in, stored_in
from comity.crawler.output.markdown import as_markdown
from comity.crawler.storage.crawl_output import CrawlOutput
from comity.digests import sha256_of


@dataclass(frozen=True, slots=True)
class PageChange:
    """A page that a refresh found changed.

    Attributes:
        refresh: the number of the refresh.
        content: whether its main content changed, and not only the shell around it; what has no text changed as a
            whole.
        content_sha256, previous_content_sha256: of the Markdown, then and before.
        difference: of the two Markdowns, as `diff -u` has it; empty where only the shell changed.
    """

    url: str
    refresh: int
    content: bool
    content_sha256: str
    previous_content_sha256: str
    difference: str


def changes(crawl: CrawlOutput) -> Iterator[PageChange]:
    """The changed pages in the order in which that was found out. Errors as of `comity.audit.current_pages.pages`."""
    for parts in crawl.there:
        records = (stored.record for stored in stored_in(parts) if stored.channel == "changes")
        changed = {
            (record.get("url"), record.get("refresh")) for record in records if record.get("change") == "changed"
        }
        urls = {url for url, _ in changed}
        before: dict[str, str] = {}
        for record in pages_in(parts):
            if (url := record["url"]) not in urls:
                continue
            if not isinstance(now := record.get("markdown"), str):
                now = as_markdown(record)[0]["markdown"] or ""
            refresh = record.get("refresh") or 0
            if (then := before.get(url)) is not None and (url, refresh) in changed:  # not one that is back
                yield _change(url, refresh, then, now)
            before[url] = now


def _change(url: str, refresh: int, then: str, now: str) -> PageChange:
    names = ("before", f"refresh {refresh}")
    lines = unified_diff(then.splitlines(), now.splitlines(), *names, lineterm="") if then != now else ()
    return PageChange(url, refresh, then != now or not now, sha256_of(now), sha256_of(then), "\n".join(lines))
