"""Floor 5: frontier, scheduler, sinks, resume."""

from comity.crawl.crawler import Crawler
from comity.crawl.plugins import Expanded, Expander, Source
from comity.crawl.settings import CrawlSettings
from comity.crawl.sinks import Sink
from comity.crawl.stats import Stats

__all__ = ["CrawlSettings", "Crawler", "Expanded", "Expander", "Sink", "Source", "Stats"]
