"""A refresh of a finished crawl: how it begins, how and whether to ask for a page again, what changed.

In one transaction the frontier forgets what it met, and keeps what it visited. What is known of the site stays (scope,
traps, duplicates, waits); what is about this crawl's work begins anew (counts, budgets).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from comity import times
from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.finding.sitemap_names import LEFT
from comity.crawler.storage.crawl_output import ENDED, FINISHED, not_finished
from comity.errors import StorageError
from comity.frontier.committed import Visits
from comity.frontier.rules import DurableFrontier
from comity.frontier.values import Entry, EntryKind, Visit
from comity.net import Response
from comity_robots.fields import DAY, made

TRUST_MARGIN_SECONDS: Final = DAY
"""Seconds that a stated change must lie before the last fetch: for a clock that is wrong, a zone that is not named, and
a page that stood in a cache."""
MAX_TRUST_SECONDS: Final = 30 * DAY
"""Seconds after a fetch for which a sitemap's word is taken: then the page is asked for, whatever the sitemap says."""
MOVED_STATUSES: Final = (301, 308)
_MAX_VALIDATOR_CHARACTERS: Final = 1024  # characters of a header that is kept


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RefreshRun:
    """One refresh of a crawl.

    Attributes:
        number: counted from 1.
        last: the id of the last visit when it began; `visits`: what is known of them.
        trusts_sitemaps: whether a sitemap's word is taken instead of asking for a page.
        in_full: whether every page is read again though it may not have changed: what is stated about its use, or
            wanted, may have.
    """

    number: int
    last: int
    visits: Visits
    trusts_sitemaps: bool
    in_full: bool = False

    def before(self, entry: Entry) -> Visit | None:
        """The last visit of a page's URL."""
        return self.visits.of(entry.url) if entry.kind is EntryKind.PAGE else None

    def spared(self, before: Visit, now: float) -> bool:
        """Whether a page need not be asked for: a sitemap says that it has not changed since. `now` is Unix time."""
        if self.in_full or not self.trusts_sitemaps or before.digest is None:
            return False
        if before.stated is None or before.fetched is None:
            return False
        return before.stated + TRUST_MARGIN_SECONDS < before.fetched and now - before.fetched < MAX_TRUST_SECONDS

    def conditions(self, before: Visit | None) -> Mapping[str, str]:
        """Request headers that ask for a page only if it has changed (RFC 9110, 13.1)."""
        headers: dict[str, str] = {}
        if before is not None and before.digest is not None and not self.in_full:
            if before.etag is not None:
                headers["If-None-Match"] = before.etag
            if before.modified is not None:
                headers["If-Modified-Since"] = before.modified
        return headers


def visited(response: Response, *, depth: int, found_on: str | None = None) -> Visit:
    """What is to be known of a page that is kept, should it be asked for again."""
    headers, fetched = response.headers, times.to_milliseconds(response.fetched_at)
    etag, modified = _validator(headers.get("ETag")), _validator(headers.get("Last-Modified"))
    return made(Visit, response.url, depth, response.sha256, fetched, fetched, etag, modified, found_on, None)


def confirmed(before: Visit, response: Response | None) -> Visit:
    """The same of a page that has not changed; what its validators are now may be said anew (RFC 9110, 15.4.5)."""
    if response is None:
        return before
    now = visited(response, depth=before.depth, found_on=before.found_on)
    if response.status == 304:
        now = replace(now, etag=now.etag or before.etag, modified=now.modified or before.modified)
    return replace(now, digest=before.digest, kept=before.kept)


def _validator(value: str | None) -> str | None:
    """A header that can be kept and sent as it is; None where it is missing or no server would mean it."""
    if value and len(value) <= _MAX_VALIDATOR_CHARACTERS and value.isascii() and value.isprintable():
        return value
    return None


_REFRESH_FACT: Final = "refresh"
COUNTED_ORIGINS: Final = {"without_rules": "without rules ", "robots_cut": "robots cut "}
"""By a count of origins, how the names of facts begin that say, by an origin, that it was counted."""
LASTMOD: Final = "lastmod "  # how the names of facts begin that have, by a page's URL, what a sitemap said of it
FORGOTTEN_FACTS: Final = (
    *("stats", "tally", "spent", "spent *", "unreachable *"),
    *(f"{start}*" for start in (LEFT, LASTMOD, *COUNTED_ORIGINS.values())),
)


def begun(number: int, last: int) -> dict[str, Any]:
    """The facts that say that a refresh has begun; `last`: the id of the last visit before it."""
    return {_REFRESH_FACT: {"number": number, "last": last}, ENDED: None}


def refresh_of(frontier: DurableFrontier, settings: CrawlSettings, folder: Path, *, begin: bool) -> RefreshRun | None:
    """The refresh under way in a folder; None while the first crawl is. `begin`: a new one is wanted.

    Raises:
        StorageError: it cannot begin, because the crawl or the refresh before it has not ended.
    """
    now: dict[str, int] = frontier.load_state(_REFRESH_FACT, {"number": 0, "last": 0})
    if begin:
        if frontier.load_state(ENDED) != FINISHED:
            raise not_finished(folder)
        if frontier.load_state("stats", {}).get("pages") and not frontier.visits.any():
            raise StorageError(
                f"{folder} has no information about its pages to compare with", hint="crawl into another folder"
            )

        def save(last: int) -> dict[str, Any]:
            now.update(number=now["number"] + 1, last=last)
            return begun(**now)

        frontier.start_refresh(forget=FORGOTTEN_FACTS, save=save)
    if not now["number"]:
        return None
    trusts_sitemaps = settings.trust_lastmod and settings.sitemaps
    return RefreshRun(now["number"], now["last"], frontier.visits, trusts_sitemaps, in_full=bool(settings.only_if))


def not_begun(folder: Path, wanted: str) -> StorageError:
    """What is wrong where there is no crawl to do with what is wanted."""
    if (folder / "frontier.sqlite").exists():
        return StorageError(f"the crawl in {folder} was stopped before it started", hint="give its URLs to start it")
    return StorageError(f"no crawl in {folder} to {wanted}", hint="give the URLs to start one from")
