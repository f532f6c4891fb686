"""The parser of Robotstxt, the Ruby gem, which holds one agent, and its `parse`.

Rules are read by the dialect `robotstxt`. `get` and `get_allowed` fetch in `comity.compat.robotstxt` only.
"""

import codecs
from urllib.parse import quote

from comity_robots.compat import NeedsNetwork, allowed
from comity_robots.errors import InvalidSetting
from comity_robots.robots import parse as parse_robots

_ASCII = "".join(map(chr, range(33, 127)))


class Parser:
    """A robots.txt, asked for one agent.

    Args:
        url_charset: how non-ASCII characters in the URLs to be asked about are encoded, as Python calls it.

    Attributes:
        agent: what is sent as User-Agent.
        robots: the file as comity knows it, with `explain` and all the rest.

    Raises:
        InvalidSetting: there is no such charset, or none of URLs.
    """

    def __init__(self, body: bytes | str, agent: str, url_charset: str = "utf-8") -> None:
        self.agent = agent
        self.robots = parse_robots(body, "robotstxt")
        try:
            self._charset = codecs.lookup(url_charset).name
            octets = str(self.robots).encode(self._charset, "backslashreplace") if self._charset != "utf-8" else b""
        except LookupError:  # also of what is no encoding of text
            raise InvalidSetting(f"url_charset: {url_charset!r} is not a charset; the usual one is utf-8") from None
        # The engine compares octets: they are brought to the URLs' charset. What it lacks matches no URL.
        self._asked = self.robots if self._charset == "utf-8" else parse_robots(octets, "robotstxt")

    def allowed(self, urlish: object) -> bool:
        """Whether the agent may fetch an absolute URL, a bare path, or a URL object."""
        url = url_text(urlish)
        if self._charset != "utf-8" and not url.isascii():
            url = quote(url, safe=_ASCII, encoding=self._charset, errors="backslashreplace")
        return allowed(self._asked, url, self.agent)

    @property
    def sitemaps(self) -> list[str]:
        return list(self.robots.sitemaps)


def parse(text: bytes | str, agent: str) -> Parser:
    return Parser(text, agent)


def get(source: object, agent: str, **options: object) -> Parser:
    """Raise NeedsNetwork: `comity.compat.robotstxt.get` fetches."""
    raise NeedsNetwork("robotstxt.get", "robotstxt")


def get_allowed(urlish: object, agent: str, **options: object) -> bool:
    """As `get`."""
    raise NeedsNetwork("robotstxt.get_allowed", "robotstxt")


def url_text(urlish: object) -> str:
    """The text of a URL object; urllib's give it by a method."""
    whole = getattr(urlish, "geturl", None)
    return str(whole()) if whole is not None else str(urlish)
