"""Floor 5: frontier, scheduler, sinks, resume.

The package can be called: `comity.crawl(url)` is `comity.crawl.simple.crawl(url)`, so that the name of the task and
the name of its folder may be one.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from comity._late import late

if TYPE_CHECKING:
    from comity.crawl.crawler import Crawler
    from comity.crawl.page import CrawledPage
    from comity.crawl.plugins import Expanded, Expander, Source
    from comity.crawl.settings import CrawlSettings
    from comity.crawl.simple import crawl, crawl_index_page, crawl_page, crawl_pages
    from comity.crawl.sinks import Sink
    from comity.crawl.stats import Stats
    from comity.crawl.watch.snapshot import HostNow, HostState, Snapshot

__all__ = [
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
        "CrawlSettings": "comity.crawl.settings",
        "CrawledPage": "comity.crawl.page",
        "Crawler": "comity.crawl.crawler",
        "Expanded": "comity.crawl.plugins",
        "Expander": "comity.crawl.plugins",
        "HostNow": "comity.crawl.watch.snapshot",
        "HostState": "comity.crawl.watch.snapshot",
        "Sink": "comity.crawl.sinks",
        "Snapshot": "comity.crawl.watch.snapshot",
        "Source": "comity.crawl.plugins",
        "Stats": "comity.crawl.stats",
        "crawl": "comity.crawl.simple",
        "crawl_index_page": "comity.crawl.simple",
        "crawl_page": "comity.crawl.simple",
        "crawl_pages": "comity.crawl.simple",
    },
)


class _Callable(ModuleType):
    def __call__(self, *arguments: Any, **settings: Any) -> Any:
        """See `comity.crawl.simple.crawl`."""
        from comity.crawl.simple import crawl

        return crawl(*arguments, **settings)


sys.modules[__name__].__class__ = _Callable
