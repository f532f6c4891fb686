"""Stands in for reppy: the same names.

from comity.integrations.reppy import Robots
"""

from typing import Self

import comity
from comity import urls


class Agent:
    """One agent's view of a file, as `reppy.robots.Agent`."""

    def __init__(self, robots: comity.Robots, name: str) -> None:
        self._robots = robots
        self._name = name

    def allowed(self, path: str) -> bool:
        """Whether a URL, or a path, may be fetched."""
        return self._robots.allowed(path, self._name)

    @property
    def delay(self) -> float | None:
        """Seconds between requests, or None."""
        return self._robots.crawl_delay(self._name)


class Robots:
    """As `reppy.robots.Robots`."""

    def __init__(self, url: str, robots: comity.Robots) -> None:
        self.url = url
        self._robots = robots

    @classmethod
    def parse(cls, url: str, content: str | bytes) -> Self:
        """Parse the content of the robots.txt at a URL."""
        return cls(url, comity.parse(content))

    @classmethod
    def fetch(cls, url: str, policy: comity.Policy | None = None) -> Self:
        """Fetch and parse the robots.txt at a URL: 401 and 403 shut everything, other 4xx open everything.

        Raises:
            comity.ComityError: it could not be fetched.
        """
        with comity.Client(policy or comity.Policy(mode="ignore", min_interval=0)) as client:
            response = client.get(url)
        if response.status in (401, 403):
            return cls(url, comity.parse("User-agent: *\nDisallow: /"))
        if response.status >= 500:
            raise comity.FetchError(f"{url} answered HTTP status {response.status}", url=url, hint="try later")
        return cls(url, comity.parse(response.body if response.ok else b""))

    @staticmethod
    def robots_url(url: str) -> str:
        """Where the robots.txt for a URL is."""
        return urls.origin(urls.normalise(url)) + "/robots.txt"

    def allowed(self, path: str, name: str) -> bool:
        """Whether an agent may fetch a URL, or a path."""
        return self._robots.allowed(path, name)

    def agent(self, name: str) -> Agent:
        """One agent's view."""
        return Agent(self._robots, name)

    @property
    def sitemaps(self) -> list[str]:
        """The sitemaps named."""
        return list(self._robots.sitemaps)


class AllowNone(Robots):
    """A file that forbids everything."""

    def __init__(self, url: str) -> None:
        super().__init__(url, comity.parse("User-agent: *\nDisallow: /"))


class AllowAll(Robots):
    """A file that forbids nothing."""

    def __init__(self, url: str) -> None:
        super().__init__(url, comity.parse(b""))
