"""Floor 5: frontier, scheduler, sinks, resume."""

from comity.crawl.crawler import Crawler
from comity.crawl.settings import CrawlSettings
from comity.crawl.stats import Stats

__all__ = ["CrawlSettings", "Crawler", "Stats"]
