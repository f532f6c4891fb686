"""What Scrapy's wrapper does with a robots.txt itself: a parser for Scrapy's own check, and bodies within bounds."""

from typing import Self

from comity._extras import missing

try:
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.robotstxt import RobotParser
except ModuleNotFoundError as error:
    raise missing(error, "scrapy", __name__) from None

import comity
from comity.middleware._robots_request import LONGEST, Body


class ComityRobotParser(RobotParser):
    """For `ROBOTSTXT_PARSER`. `robots` is comity's own object, for `explain` and the rest."""

    def __init__(self, body: bytes) -> None:
        self.robots = comity.parse(body)

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> Self:
        return cls(robotstxt_body)

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        return self.robots.allowed(_text(url), _text(user_agent))

    def crawl_delay(self, user_agent: str | bytes) -> float | None:
        return self.robots.crawl_delay(_text(user_agent))


def decoded(response: Response) -> Response:
    """A robots.txt as Scrapy's own decompression, which comes next, is to leave it: decoded, within bounds."""
    body = Body(response.url, response.status, headers_of(response))
    body.take(response.body[:LONGEST])
    headers = response.headers.copy()
    headers.pop("Content-Encoding", None)
    return response.replace(body=body.end(), headers=headers)


def headers_of(response: Response) -> dict[str, str]:
    return {str(name): str(value) for name, value in response.headers.to_unicode_dict().items()}


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
