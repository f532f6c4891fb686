"""What refreshes of a crawl found changed: the content of a page, or only what stands around it. Nothing is fetched:
the Markdown of each version is made of the output, and compared.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff
from itertools import chain
from typing import Any

from comity.audit.latest import sink_of
from comity.crawler.places.written_crawl import WrittenCrawl
from comity.crawler.sinks.markdown import as_markdown
from comity.crawler.sinks.runner import read_back
from comity.retrieve.evidence import sha256


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


def changes(crawl: WrittenCrawl) -> Iterator[PageChange]:
    """The changed pages in the order in which that was found out.

    Raises:
        StorageError, InvalidSetting, InputError: as `comity.audit.latest.pages`.
    """
    for parts in crawl.there:
        given = [(part, sink_of(part)) for part in parts]

        def records(channel: str, given: list[Any] = given) -> Iterator[dict[str, Any]]:
            stored = chain.from_iterable(read_back(part.path, sink, part.committed) for part, sink in given)
            return (each.record for each in stored if each.channel == channel)

        changed = {record.get("url") for record in records("changes") if record.get("change") == "changed"}
        before: dict[str, str] = {}
        for record in records("pages"):
            if (url := record.get("url")) not in changed or not isinstance(url, str):
                continue
            if not isinstance(now := record.get("markdown"), str):
                now = as_markdown(record)[0]["markdown"] or ""
            if (then := before.get(url)) is not None:
                yield _change(url, record.get("refresh") or 0, then, now)
            before[url] = now


def _change(url: str, refresh: int, then: str, now: str) -> PageChange:
    names = ("before", f"refresh {refresh}")
    lines = unified_diff(then.splitlines(), now.splitlines(), *names, lineterm="") if then != now else ()
    return PageChange(url, refresh, then != now or not now, sha256(now), sha256(then), "\n".join(lines))
