"""Protego's class and method names, answered by comity's engine.

Rules are read by RFC 9309, with the misspellings that it lets a crawler forgive; every other dialect can be chosen.
"""

from collections.abc import Iterator
from datetime import time
from typing import NamedTuple, Self

from comity_robots.compat import allowed
from comity_robots.engine.reference import Dialect
from comity_robots.robots import Robots, parse

DIALECT = Dialect(name="protego", typos=True)  # RFC 9309, 2.2.4: misspelt records may be accepted


class NotText(TypeError, ValueError):
    """What Protego raises for octets: a ValueError up to its version 0.6, a TypeError since."""


class RequestRate(NamedTuple):
    """So many requests in so many seconds, in a time of day in UTC or, where that is None, always."""

    requests: int
    seconds: int
    start_time: time | None
    end_time: time | None


class VisitTime(NamedTuple):
    """The time of day, in UTC, when a site wants to be visited."""

    start_time: time
    end_time: time


class Protego:
    """A parsed robots.txt; made by `Protego.parse`.

    Attributes:
        robots: the file as comity knows it, with `explain` and all the rest.
    """

    def __init__(self, robots: Robots | None = None) -> None:
        self.robots = parse(b"", DIALECT) if robots is None else robots

    @classmethod
    def parse(cls, content: str, dialect: str | Dialect = DIALECT) -> Self:
        """Read a robots.txt.

        Raises:
            NotText: the content is not text.
        """
        if not isinstance(content, str):
            raise NotText(f"Protego.parse expects str, got {type(content).__name__}")
        return cls(parse(content, dialect))

    def can_fetch(self, url: str, user_agent: str) -> bool:
        """Whether an agent may fetch a URL. Mind the order: `urllib.robotparser` has it the other way round."""
        return allowed(self.robots, url, user_agent)

    def crawl_delay(self, user_agent: str) -> float | None:
        return self.robots.crawl_delay(user_agent)

    def request_rate(self, user_agent: str) -> RequestRate | None:
        rate = self.robots.request_rate(user_agent)
        return RequestRate(rate.requests, rate.seconds, rate.start, rate.end) if rate is not None else None

    def visit_time(self, user_agent: str) -> VisitTime | None:
        visit = self.robots.visit_time(user_agent)
        return VisitTime(visit.start, visit.end) if visit is not None else None

    @property
    def sitemaps(self) -> Iterator[str]:
        return iter(self.robots.sitemaps)

    @property
    def preferred_host(self) -> str | None:
        """The last Host record's value; None where there is none."""
        hosts = self.robots.records("host")
        return hosts[-1].value if hosts else None
