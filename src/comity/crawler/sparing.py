"""Which of a host's URLs have their turn where the number of pages is limited: sitemaps only as far as they are needed.

A sitemap has its turn when fewer pages wait than may be kept, one at a time, so that what it names counts for the next;
and no more sitemaps are asked for than pages may be kept. So a limit on pages is one on requests too, but for
robots.txt, redirects and what fails.
"""

from collections.abc import Collection

from comity.crawler.hosts import Host
from comity.frontier import Entry, Frontier, Kind


def needed(
    frontier: Frontier, host: Host, but_not: Collection[int], *, room: int, most: int, lists: int, unread: bool
) -> tuple[list[Entry], bool]:
    """What has its turn next, and whether nothing else waits that may have it before the next commit.

    Args:
        room: pages that may still be kept.
        most: URLs held in memory.
        lists: sitemaps that may still be asked for.
        unread: whether one is under way, or was read and is not committed yet: what it names may be enough.
    """
    pages = frontier.waiting(host.name, but_not=but_not, most=most, kind=Kind.PAGE)
    sitemaps = frontier.waiting(host.name, but_not=but_not, most=1, kind=Kind.SITEMAP) if lists and not unread else []
    enough = len(pages) >= min(room, most)
    return pages if enough else sitemaps + pages, len(pages) < most and not sitemaps and not unread
