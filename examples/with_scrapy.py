"""python examples/with_scrapy.py https://example.com/"""

import sys
from typing import ClassVar

import scrapy
from scrapy.crawler import CrawlerProcess

import comity


class Spider(scrapy.Spider):
    name = "example"
    custom_settings: ClassVar = {
        "ADDONS": {"comity.middleware.scrapy.ComityAddon": 0},
        "COMITY_POLICY": comity.Policy(agent="MyBot/1.0 (+https://example.org/bot)"),
        "CONCURRENT_REQUESTS": 1,  # only so that the output has an order
        "ROBOTSTXT_OBEY": False,  # comity checks instead
        "LOG_LEVEL": "WARNING",
    }

    async def start(self):
        for path in ("open", "private"):
            yield scrapy.Request(sys.argv[1] + path, errback=self.failed)

    def parse(self, response):
        print(response.status, response.url, "-", response.meta["comity"].why)
        if response.meta["comity_page"].noindex:
            print("X-Robots-Tag: not to be indexed")

    def failed(self, failure):
        decision = failure.request.meta["comity"]
        if decision.may_fetch:  # a 404, for one
            print("failed:", failure.request.url, "-", failure.getErrorMessage())
        else:
            print("refused:", failure.request.url, "-", decision.why)


process = CrawlerProcess()
process.crawl(Spider)
process.start()
