"""Stands in for the standard library's `urllib.robotparser`: the same names, answers by RFC 9309.

from comity.integrations.robotparser import RobotFileParser
"""

import time
import urllib.robotparser
from collections.abc import Iterable

import comity


class RobotFileParser:
    """As `urllib.robotparser.RobotFileParser`, with groups merged and the longest rule deciding.

    Attributes:
        policy: with what `read` fetches; a file on a private address needs `allow_addresses` here.
    """

    policy = comity.Policy(mode="ignore", min_interval=0)

    def __init__(self, url: str = "") -> None:
        self.disallow_all = False
        self.allow_all = False
        self.url = url
        self._checked = 0.0
        self._robots = comity.parse(b"")

    def set_url(self, url: str) -> None:
        """Where `read` finds the file."""
        self.url = url

    def read(self) -> None:
        """Fetch and parse the file: 401 and 403 shut everything, other 4xx open everything.

        Raises:
            comity.ComityError: it could not be fetched.
        """
        with comity.Client(self.policy) as client:
            response = client.get(self.url)
        if response.status in (401, 403):
            self.disallow_all = True
        elif 400 <= response.status < 500:
            self.allow_all = True
        elif response.ok:
            self.parse(response.body.decode("utf-8", "surrogateescape").splitlines())

    def parse(self, lines: Iterable[str]) -> None:
        """Parse the lines of a file."""
        self._robots = comity.parse("\n".join(line.rstrip("\r\n") for line in lines))
        self.modified()

    def can_fetch(self, useragent: str, url: str) -> bool:
        """Whether an agent may fetch a URL; False before any file was read."""
        if self.disallow_all:
            return False
        if self.allow_all:
            return True
        return bool(self._checked) and self._robots.allowed(url, useragent)

    def mtime(self) -> float:
        """When the file was last read, Unix time."""
        return self._checked

    def modified(self) -> None:
        """Note that the file was read now."""
        self._checked = time.time()

    def crawl_delay(self, useragent: str) -> float | None:
        """Seconds between requests, or None."""
        return self._robots.crawl_delay(useragent) if self._checked else None

    def request_rate(self, useragent: str) -> urllib.robotparser.RequestRate | None:
        """Requests and seconds, or None."""
        rate = self._robots.request_rate(useragent) if self._checked else None
        return urllib.robotparser.RequestRate(rate.requests, rate.seconds) if rate else None

    def site_maps(self) -> list[str] | None:
        """The sitemaps named, or None."""
        return list(self._robots.sitemaps) or None

    def __str__(self) -> str:
        named = [group for group in self._robots.groups if "*" not in group.agents]
        everybody = [group for group in self._robots.groups if "*" in group.agents]
        parts = []
        for group in [*named, *everybody]:
            lines = [f"User-agent: {agent}" for agent in group.agents]
            delay = self._robots.crawl_delay(group.agents[0])
            rate = self._robots.request_rate(group.agents[0])
            lines += [f"Crawl-delay: {delay:g}"] if delay is not None else []
            lines += [f"Request-rate: {rate.requests}/{rate.seconds}"] if rate is not None else []
            lines += [f"{'Allow' if rule.allow else 'Disallow'}: {rule.pattern}" for rule in group.rules]
            parts.append("\n".join(lines))
        return "\n\n".join(parts)
