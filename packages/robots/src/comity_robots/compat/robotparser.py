"""A replacement for `urllib.robotparser`: the same class and methods, answered by comity's engine.

Rules are read by RFC 9309 unless another dialect is given; HTTP errors mean what they mean in the standard library.
`read` fetches in `comity.compat.robotparser` only.
"""

import re
import time
from collections.abc import Iterable
from urllib.parse import urlsplit
from urllib.robotparser import RequestRate

from comity_robots.compat import NeedsNetwork, allowed
from comity_robots.engine.reference import Dialect
from comity_robots.robots import Robots, parse
from comity_robots.values import Group

__all__ = ["RequestRate", "RobotFileParser"]


class RobotFileParser:
    """One robots.txt: where it is, what it says, when it was read.

    Args:
        url: of the robots.txt itself.
        dialect: how it is read; `draft1996` comes nearest to the standard library.

    Attributes:
        disallow_all: the site answered 401 or 403.
        allow_all: the site answered with another 4xx.
        robots: the file as comity knows it, with `explain` and all the rest.
    """

    def __init__(self, url: str = "", *, dialect: str | Dialect = "rfc9309") -> None:
        self.dialect = dialect
        self.disallow_all = False
        self.allow_all = False
        self.last_checked = 0.0
        self.robots: Robots = parse(b"", dialect)
        self.set_url(url)

    def mtime(self) -> float:
        """When the file was last read, in Unix time; 0 where it was not."""
        return self.last_checked

    def modified(self) -> None:
        self.last_checked = time.time()

    def set_url(self, url: str) -> None:
        self.url = url
        parts = urlsplit(url)
        self.host, self.path = parts.netloc, parts.path

    def read(self) -> None:
        """Raise NeedsNetwork: `comity.compat.robotparser` has the class whose `read` fetches."""
        raise NeedsNetwork("RobotFileParser.read", "robotparser")

    def read_response(self, status: int, body: bytes) -> None:
        """Parse what the site answered.

        401 and 403 disallow everything, other 4xx allow everything; after any other answer but 2xx nothing is known,
        which disallows everything until a file has been read.
        """
        if 200 <= status < 300:
            self.disallow_all = self.allow_all = False
            self.robots = parse(body, self.dialect)
            self.modified()
        elif 400 <= status < 500:
            self.disallow_all = status in (401, 403)
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
