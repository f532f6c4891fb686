"""The crawler: frontier, scheduler, fetcher, sinks, resume. `comity.crawl` is its front door."""

from typing import TYPE_CHECKING

from comity._late import late

if TYPE_CHECKING:
    from comity.crawler.crawler import Crawler
    from comity.crawler.plugins import Expanded, Expander, Source
    from comity.crawler.records import CrawledPage
    from comity.crawler.settings import CrawlSettings
    from comity.crawler.simple import Crawl, crawl, crawl_index_page, crawl_page, crawl_pages
    from comity.crawler.sinks import Sink
    from comity.crawler.snapshot import HostNow, HostState, Snapshot
    from comity.crawler.stats import Stats

__all__ = [
    "Crawl",
    "CrawlSettings",
    "CrawledPage",
    "Crawler",
    "Expanded",
    "Expander",
    "HostNow",
    "HostState",
    "Sink",
    "Snapshot",
    "Source",
    "Stats",
    "crawl",
    "crawl_index_page",
    "crawl_page",
    "crawl_pages",
]

__getattr__ = late(
    __name__,
    {
        "Crawl": "comity.crawler.simple",
        "CrawlSettings": "comity.crawler.settings",
        "CrawledPage": "comity.crawler.records",
        "Crawler": "comity.crawler.crawler",
        "Expanded": "comity.crawler.plugins",
        "Expander": "comity.crawler.plugins",
        "HostNow": "comity.crawler.snapshot",
        "HostState": "comity.crawler.snapshot",
        "Sink": "comity.crawler.sinks",
        "Snapshot": "comity.crawler.snapshot",
        "Source": "comity.crawler.plugins",
        "Stats": "comity.crawler.stats",
        "crawl": "comity.crawler.simple",
        "crawl_index_page": "comity.crawler.simple",
        "crawl_page": "comity.crawler.simple",
        "crawl_pages": "comity.crawler.simple",
    },
)
