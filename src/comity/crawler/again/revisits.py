"""What a refresh knows of pages visited before: how to ask for one, whether it need be asked for, and what changed.

It judges by what is handed in, and never sends or writes anything.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from comity.crawler.digest import digest
from comity.crawler.hosts import Host
from comity.frontier import Entry, Kind, Visit, Visits
from comity.net import Response
from comity.signals.sitemaps import SitemapUrl

MARGIN: Final = 86_400.0
"""Seconds that a stated change must lie before the last fetch: for a clock that is wrong, a zone that is not named, and
a page that stood in a cache."""
LONGEST_TRUST: Final = 30 * 86_400.0
"""Seconds after a fetch for which a sitemap's word is taken: then the page is asked for, whatever the sitemap says."""
GONE: Final = (404, 410)
MOVED: Final = (301, 308)
_LONGEST_VALIDATOR: Final = 1024  # characters of a header that is kept


@dataclass(frozen=True, slots=True)
class Refresh:
    """One refresh of a crawl.

    Attributes:
        number: counted from 1.
        last: the id of the last visit when it began.
        visits: what is known of earlier visits.
        trusts_sitemaps: whether a sitemap's word is taken instead of asking for a page.
    """

    number: int
    last: int
    visits: Visits
    trusts_sitemaps: bool

    def before(self, entry: Entry) -> Visit | None:
        """The last visit of a page's URL."""
        return self.visits.of(entry.url) if entry.kind is Kind.PAGE else None

    def spared(self, before: Visit, now: float) -> bool:
        """Whether a page need not be asked for: a sitemap says that it has not changed since. `now` is Unix time."""
        if not self.trusts_sitemaps or before.stated is None or before.digest is None or before.fetched is None:
            return False
        return before.stated + MARGIN < before.fetched and now - before.fetched < LONGEST_TRUST

    def in_turn(self, host: Host, waiting: list[Entry], *, unread: bool) -> list[Entry]:
        """What of a host's next URLs may have its turn: sitemaps come before the pages they may speak of.

        Args:
            waiting: sitemaps first.
            unread: whether sitemaps were found, or read, that are not committed yet.
        """
        if not self.trusts_sitemaps:
            return waiting
        if host.delay is None:  # its robots.txt, which names its sitemaps, is asked for in the turn of one URL
            return waiting[:1]
        sitemaps = [entry for entry in waiting if entry.kind is Kind.SITEMAP]
        return sitemaps or ([] if unread or host.sitemaps else waiting)


def visited(response: Response, *, depth: int) -> Visit:
    """What is to be known of a page that is kept, should it be asked for again."""
    headers, fetched = response.headers, round(response.fetched_at, 3)
    etag, modified = _validator(headers.get("ETag")), _validator(headers.get("Last-Modified"))
    return Visit(response.url, depth, digest(response.body), fetched, fetched, etag, modified)


def confirmed(before: Visit, response: Response | None) -> Visit:
    """The same of a page that has not changed; what its validators are now may be said anew (RFC 9110, 15.4.5)."""
    if response is None:
        return before
    now = visited(response, depth=before.depth)
    if response.status == 304:
        now = replace(now, etag=now.etag or before.etag, modified=now.modified or before.modified)
    return replace(now, digest=before.digest, kept=before.kept)


def conditions(before: Visit | None) -> Mapping[str, str]:
    """Request headers that ask for a page only if it has changed (RFC 9110, 13.1)."""
    headers: dict[str, str] = {}
    if before is not None and before.digest is not None:
        if before.etag is not None:
            headers["If-None-Match"] = before.etag
        if before.modified is not None:
            headers["If-Modified-Since"] = before.modified
    return headers


def is_same(before: Visit | None, response: Response) -> bool:
    """Whether a page has the content that it had."""
    return before is not None and before.digest == digest(response.body)


def latest_change(item: SitemapUrl) -> float | None:
    """The latest Unix time in seconds that the `lastmod` of a sitemap's entry leaves; None where it says none."""
    if item.lastmod is None:
        return None
    try:
        return _end(item.lastmod, item.precision).timestamp()
    except (OverflowError, ValueError):  # the year 9999, or one that is no year here
        return None


def _end(start: datetime, precision: str | None) -> datetime:
    match precision:
        case "year":
            return start.replace(year=start.year + 1)
        case "month":
            return (start + timedelta(days=32)).replace(day=1)
        case "day":
            return start + timedelta(days=1)
        case _:
            return start + timedelta(minutes=1)


def _validator(value: str | None) -> str | None:
    """A header that can be kept and sent as it is; None where it is missing or no server would mean it."""
    if value and len(value) <= _LONGEST_VALIDATOR and value.isascii() and value.isprintable():
        return value
    return None
