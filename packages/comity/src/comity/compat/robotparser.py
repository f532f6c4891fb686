"""A replacement for `urllib.robotparser`: the same class and methods, answered by comity's engine.

Rules are read by RFC 9309 unless another dialect is given; HTTP errors mean what they mean in the standard library.
"""

import re
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.robotparser import RequestRate

from comity.compat import allowed
from comity_robots import Dialect, Group, Robots, parse

if TYPE_CHECKING:
    from comity import Policy

__all__ = ["RequestRate", "RobotFileParser"]


class RobotFileParser:
    """One robots.txt: where it is, what it says, when it was read.

    Args:
        url: of the robots.txt itself.
        dialect: how it is read; `draft1996` comes nearest to the standard library.
        policy: agent and allowed addresses for `read`; nothing else of it counts.

    Attributes:
        disallow_all: the site answered 401 or 403.
        allow_all: the site answered with another 4xx.
        robots: the file as comity knows it, with `explain` and all the rest.
    """

    def __init__(self, url: str = "", *, dialect: str | Dialect = "rfc9309", policy: "Policy | None" = None) -> None:
        self.dialect = dialect
        self.policy = policy
        self.disallow_all = False
        self.allow_all = False
        self.last_checked = 0.0
        self.robots: Robots = parse(b"", dialect)
        self.set_url(url)

    def mtime(self) -> float:
        """When the file was last read, in Unix time; 0 where it was not."""
        return self.last_checked

    def modified(self) -> None:
        """The file was read just now."""
        self.last_checked = time.time()

    def set_url(self, url: str) -> None:
        """Where the robots.txt is."""
        self.url = url
        parts = urlsplit(url)
        self.host, self.path = parts.netloc, parts.path

    def read(self) -> None:
        """Fetch the file and parse it.

        401 and 403 disallow everything, other 4xx allow everything; after any other answer but 2xx nothing is known,
        which disallows everything until a file has been read.

        Raises:
            urllib.error.URLError: no answer; an address that is not public is refused so too (`policy` allows more).
            ValueError: the URL is no web address.
        """
        from comity import AddressBlocked, Client, FetchError, Policy, TooManyRedirects

        policy = (self.policy or Policy()).with_changes(mode="ignore", min_interval=0.0)
        try:
            with Client(policy) as client:
                response = client.get(self.url)
        except TooManyRedirects:
            return
        except (AddressBlocked, FetchError) as error:
            raise URLError(str(error)) from error
        if response.ok:
            self.disallow_all = self.allow_all = False
            self.robots = parse(response.body, self.dialect)
            self.modified()
        elif 400 <= response.status < 500:
            self.disallow_all = response.status in (401, 403)
            self.allow_all = not self.disallow_all

    def parse(self, lines: Iterable[str]) -> None:
        """Parse a file given as lines, with or without their ends."""
        self.robots = parse("\n".join(_octets(line.rstrip("\r\n")) for line in lines), self.dialect)
        self.modified()

    def can_fetch(self, useragent: str, url: str) -> bool:
        """Whether an agent may fetch a URL; False before anything was read or parsed."""
        if self.disallow_all:
            return False
        if self.allow_all:
            return True
        return bool(self.last_checked) and allowed(self.robots, _octets(url), useragent)

    def crawl_delay(self, useragent: str) -> int | float | None:
        """Seconds between requests; an int where they are whole."""
        seconds = self.robots.crawl_delay(useragent)
        return int(seconds) if seconds is not None and seconds.is_integer() else seconds

    def request_rate(self, useragent: str) -> RequestRate | None:
        """Requests, and the seconds they must be spread over."""
        rate = self.robots.request_rate(useragent)
        return RequestRate(rate.requests, rate.seconds) if rate is not None else None

    def site_maps(self) -> list[str] | None:
        """The sitemaps named in the file; None where it names none."""
        return list(self.robots.sitemaps) or None

    def __str__(self) -> str:
        """The groups without comments, those for `*` last."""
        groups = sorted(self.robots.groups, key=lambda group: "*" in group.agents)
        return "\n\n".join(self._text(group) for group in groups)

    def _text(self, group: Group) -> str:
        lines = [f"User-agent: {agent}" for agent in group.agents]
        for kind in ("crawl-delay", "request-rate"):
            records = self.robots.records(kind)
            own = [record for record in records if group.line < record.line <= group.last_line]
            lines += [f"{kind.capitalize()}: {record.value}" for record in own]
        lines += [f"{'Allow' if rule.allow else 'Disallow'}: {rule.pattern}" for rule in group.rules]
        return "\n".join(lines)


def _octets(text: str) -> str:
    """Octets that are no text, which programs hold as surrogates (PEP 383, `surrogateescape`), as URLs write them."""
    return re.sub("[\udc80-\udcff]", lambda octet: f"%{ord(octet[0]) - 0xDC00:02X}", text)
