"""What a crawl has done so far, for a progress display and the summary."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(slots=True)
class Stats:
    """Counts of one crawl, or of one refresh, over all its runs.

    Attributes:
        pages: pages kept.
        refused: URLs that robots.txt or the policy forbids; none was fetched.
        trapped: URLs left out because they lead nowhere (see admit/traps.py).
        unwanted: URLs left out by their content type; their bodies were not read.
        duplicates: pages kept that are marked as duplicates of others.
        failed: URLs given up.
        postponed: URLs that wait until their site's robots.txt can be reached.
        redirects, sitemaps: answers that were a redirect, a sitemap.
        body_bytes: bytes of the pages' bodies.
        waited: seconds that hosts with work were left alone for politeness, summed over hosts.
        found: URLs known.
        outside: links left out because scope, patterns or depth do not cover them.
        new, changed, gone, unchanged: what a refresh found out about pages; all 0 in a first crawl.
    """

    pages: int = 0
    refused: int = 0
    trapped: int = 0
    unwanted: int = 0
    duplicates: int = 0
    failed: int = 0
    postponed: int = 0
    redirects: int = 0
    sitemaps: int = 0
    body_bytes: int = 0
    waited: float = 0.0
    found: int = 0
    outside: int = 0
    new: int = 0
    changed: int = 0
    gone: int = 0
    unchanged: int = 0

    @property
    def reached(self) -> int:
        """Pages that were there, or were known and are gone."""
        return self.pages + self.unchanged + self.gone

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)
