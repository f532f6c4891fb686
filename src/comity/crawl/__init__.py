"""Floor 5: frontier, scheduler, sinks, resume.

The package can be called: `comity.crawl(url)` is `comity.crawl.simple.crawl(url)`, so that the name of the task and
the name of its folder may be one.
"""

import sys
from types import ModuleType

from comity.crawl.crawler import Crawler
from comity.crawl.page import CrawledPage
from comity.crawl.plugins import Expanded, Expander, Source
from comity.crawl.settings import CrawlSettings
from comity.crawl.simple import crawl, crawl_index_page, crawl_page, crawl_pages
from comity.crawl.sinks import Sink
from comity.crawl.stats import Stats

__all__ = [
    "CrawlSettings",
    "CrawledPage",
    "Crawler",
    "Expanded",
    "Expander",
    "Sink",
    "Source",
    "Stats",
    "crawl",
    "crawl_index_page",
    "crawl_page",
    "crawl_pages",
]


class _Callable(ModuleType):
    __call__ = staticmethod(crawl)


sys.modules[__name__].__class__ = _Callable
