"""The crawler: frontier, scheduler, fetcher, sinks, resume. `comity.crawl` runs it."""

from typing import TYPE_CHECKING

from comity_robots._lazy import lazy_exports

if TYPE_CHECKING:
    from comity.crawler.crawl_settings import CrawlSettings
    from comity.crawler.crawler import Crawler
    from comity.crawler.finding.scope import Scope
    from comity.crawler.observe.metrics import collector
    from comity.crawler.observe.snapshot import HostState, HostStatus, Snapshot
    from comity.crawler.observe.stats import Stats
    from comity.crawler.output.plugins import Expanded, Expander, SchemaExpander, Source
    from comity.crawler.output.records import CrawledPage
    from comity.crawler.output.sink import Sink
    from comity.crawler.simple import Crawl, PageCrawler, crawl, crawl_index_page, crawl_page, crawl_pages

__all__ = [
    "Crawl",
    "CrawlSettings",
    "CrawledPage",
    "Crawler",
    "Expanded",
    "Expander",
    "HostState",
    "HostStatus",
    "PageCrawler",
    "SchemaExpander",
    "Scope",
    "Sink",
    "Snapshot",
    "Source",
    "Stats",
    "collector",
    "crawl",
    "crawl_index_page",
    "crawl_page",
    "crawl_pages",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "comity.crawler.simple": "Crawl PageCrawler crawl crawl_index_page crawl_page crawl_pages",
        "comity.crawler.crawl_settings": "CrawlSettings",
        "comity.crawler.output.records": "CrawledPage",
        "comity.crawler.crawler": "Crawler",
        "comity.crawler.output.plugins": "Expanded Expander SchemaExpander Source",
        "comity.crawler.observe.snapshot": "HostStatus HostState Snapshot",
        "comity.crawler.finding.scope": "Scope",
        "comity.crawler.observe.metrics": "collector",
        "comity.crawler.output.sink": "Sink",
        "comity.crawler.observe.stats": "Stats",
    },
)
