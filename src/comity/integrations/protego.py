"""Stands in for Protego: the same names, with line numbers and reasons underneath.

from comity.integrations.protego import Protego
"""

from collections.abc import Iterator
from typing import Self

from comity.robots import Dialect, Robots, parse
from comity.robots.rates import RequestRate, VisitTime

# Protego takes misspelt labels, and of the groups whose name occurs in ours the one with the longest name.
DIALECT = Dialect(
    name="protego",
    agent_match="substring",
    group_choice="most_specific",
    typos=True,
    index_html=True,
    robots_txt_allowed=False,
)


class Protego:
    """As `protego.Protego`. `robots` is comity's own object, for `explain` and the rest."""

    def __init__(self, robots: Robots) -> None:
        self.robots = robots

    @classmethod
    def parse(cls, content: str) -> Self:
        """Parse the text of a robots.txt."""
        if not isinstance(content, str):
            raise ValueError(f"Protego.parse expects str, got {type(content).__name__}")
        return cls(parse(content, DIALECT))

    def can_fetch(self, url: str, user_agent: str) -> bool:
        """Whether an agent may fetch a URL."""
        return self.robots.allowed(url, user_agent)

    def crawl_delay(self, user_agent: str) -> float | None:
        """Seconds between requests, or None."""
        return self.robots.crawl_delay(user_agent)

    def request_rate(self, user_agent: str) -> RequestRate | None:
        """Requests, seconds and hours, or None."""
        return self.robots.request_rate(user_agent)

    def visit_time(self, user_agent: str) -> VisitTime | None:
        """Hours at which visits are welcome, or None."""
        return self.robots.visit_time(user_agent)

    @property
    def sitemaps(self) -> Iterator[str]:
        """The sitemaps named."""
        return iter(self.robots.sitemaps)

    @property
    def preferred_host(self) -> str | None:
        """The value of the first Host record, or None."""
        return next((record.value for record in self.robots.records("host")), None)
