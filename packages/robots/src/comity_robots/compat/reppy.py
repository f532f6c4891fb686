"""reppy's class and method names, answered by comity's engine: for programs left behind by a package that no longer
builds. Rules are read by RFC 9309 unless another dialect is given. `fetch` does so in `comity.compat.reppy` only.
"""

import time
from typing import Any, Self
from urllib.parse import urlsplit

from comity_robots import robots
from comity_robots.compat import NeedsNetwork, allowed
from comity_robots.engine.reference import Dialect
from comity_robots.errors import InvalidURL

_IN_GROUPS = ("user-agent", "allow", "disallow", "crawl-delay")
MAX_AGE_SECONDS = 3600.0  # a file counts as fresh for so long where nothing else is said


class Agent:
    """What a robots.txt says to one agent; made by `Robots.agent`."""

    def __init__(self, robots: robots.Robots, name: str) -> None:
        self._robots = robots
        self._name = name

    def allowed(self, path: str) -> bool:
        return allowed(self._robots, path, self._name)

    @property
    def delay(self) -> float | None:
        """Seconds between requests; None where the file asks for none."""
        return self._robots.crawl_delay(self._name) or None


class Robots:
    """A parsed robots.txt; made by `Robots.parse`.

    Args:
        url: of the robots.txt.
        content: the file.
        expires: Unix time in seconds until which it is fresh; None for an hour from now.

    Attributes:
        robots: the file as comity knows it, with `explain` and all the rest. Where rules stand above any agent, a line
            `User-agent: *` is put above them.
    """

    def __init__(
        self, url: str, content: bytes | str, expires: float | None = None, *, dialect: str | Dialect = "rfc9309"
    ) -> None:
        self.url = url
        self.expires = time.time() + MAX_AGE_SECONDS if expires is None else expires
        self.robots = robots.parse(content, dialect)
        kinds = (line.kind for line in self.robots.lines)
        if next((kind for kind in kinds if kind in _IN_GROUPS), "user-agent") != "user-agent":
            # What stands above any agent is meant for all of them in reppy.
            self.robots = robots.parse(b"User-agent: *\n" + self.robots.body, dialect)

    @classmethod
    def parse(
        cls, url: str, content: bytes | str, expires: float | None = None, *, dialect: str | Dialect = "rfc9309"
    ) -> Self:
        return cls(url, content, expires, dialect=dialect)

    @classmethod
    def fetch(cls, url: str, *args: Any, **options: Any) -> "Robots":
        """Raise NeedsNetwork: `comity.compat.reppy` has the class whose `fetch` fetches."""
        raise NeedsNetwork("Robots.fetch", "reppy")

    @classmethod
    def robots_url(cls, url: str) -> str:
        """Where the robots.txt that governs a URL is.

        Raises:
            InvalidURL: the URL is no web address.
        """
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            host = None
        if not host or parts.scheme not in ("http", "https"):
            raise InvalidURL(f"{url!r} is not a web address", url=url, hint="write it with https://")
        if ":" in host:
            host = f"[{host}]"
        usual = port in (None, 443 if parts.scheme == "https" else 80)
        return f"{parts.scheme}://{host}{'' if usual else f':{port}'}/robots.txt"

    def allowed(self, path: str, name: str) -> bool:
        return allowed(self.robots, path, name)

    def agent(self, name: str) -> Agent:
        return Agent(self.robots, name)

    @property
    def sitemaps(self) -> list[str]:
        return list(self.robots.sitemaps)

    @property
    def expired(self) -> bool:
        return time.time() > self.expires

    @property
    def ttl(self) -> float:
        """Seconds that the file stays fresh."""
        return max(self.expires - time.time(), 0.0)

    def __str__(self) -> str:
        return str(self.robots)


class AllowNone(Robots):
    """Nothing may be fetched, but the robots.txt itself (RFC 9309, 2.2.2)."""

    def __init__(self, url: str, expires: float | None = None) -> None:
        super().__init__(url, b"User-agent: *\nDisallow: /", expires)


class AllowAll(Robots):
    """Everything may be fetched."""

    def __init__(self, url: str, expires: float | None = None) -> None:
        super().__init__(url, b"", expires)
