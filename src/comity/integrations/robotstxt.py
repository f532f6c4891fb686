"""Stands in for the Ruby gem Robotstxt: its three functions and its parser, in Python, with its rules.

from comity.integrations import robotstxt
robotstxt.get_allowed("https://example.com/page", "Crawler")
"""

import codecs

import comity
from comity import urls


class Parser:
    """A robots.txt as one agent sees it."""

    def __init__(self, user_agent: str, robots: comity.Robots) -> None:
        self.user_agent = user_agent
        self.robots = robots

    def allowed(self, urlish: object) -> bool:
        """Whether a URL, a bare path or a URL object may be fetched."""
        return self.robots.allowed(_text(urlish), self.user_agent)

    @property
    def sitemaps(self) -> list[str]:
        """The sitemaps named."""
        return list(self.robots.sitemaps)


def parse(robots_txt: str | bytes, user_agent: str) -> Parser:
    """Parse a robots.txt for one agent."""
    return Parser(user_agent, comity.parse(robots_txt, "robotstxt"))


def get(
    source: object,
    user_agent: str,
    *,
    client: comity.Client | None = None,
    num_redirects: int = 5,
    http_timeout: float = 10.0,
    url_charset: str = "utf-8",
    policy: comity.Policy | None = None,
) -> Parser:
    """Obtain and parse the robots.txt of a source; of it only scheme, host and port count.

    401 and 403 forbid everything; any other failure, or none, forbids nothing.

    Args:
        source: an absolute URL or URL object.
        client: a live client, whose connections are used.
        num_redirects: hops followed; more counts as no answer.
        http_timeout: seconds.
        url_charset: in which URLs are written; the file is converted to it.
        policy: who asks, and which addresses may be reached; its mode does not matter.

    Raises:
        comity.InvalidURL: the source is no web address.
    """
    url = urls.origin(urls.normalise(_text(source))) + "/robots.txt"
    if client is None:
        asking = (policy or comity.Policy(agent=user_agent)).with_changes(mode="ignore", min_interval=0)
        settings = comity.ClientSettings(timeout=http_timeout, max_redirects=num_redirects)
        with comity.Client(asking, settings) as own:
            return get(source, user_agent, client=own, url_charset=url_charset)
    try:
        response = client.get(url)
    except (comity.FetchError, comity.RobotsDisallowed):
        return parse(b"", user_agent)
    if response.status in (401, 403):
        return parse("User-agent: *\nDisallow: /", user_agent)
    return parse(_converted(response, url_charset) if response.ok else b"", user_agent)


def get_allowed(
    urlish: object,
    user_agent: str,
    *,
    client: comity.Client | None = None,
    num_redirects: int = 5,
    http_timeout: float = 10.0,
    url_charset: str = "utf-8",
    policy: comity.Policy | None = None,
) -> bool:
    """Whether the robots.txt of a URL's host allows the URL. Arguments as for `get`."""
    parser = get(
        urlish,
        user_agent,
        client=client,
        num_redirects=num_redirects,
        http_timeout=http_timeout,
        url_charset=url_charset,
        policy=policy,
    )
    return parser.allowed(urlish)


def _text(urlish: object) -> str:
    """An absolute URL as text, or path and query of anything less."""
    geturl = getattr(urlish, "geturl", None)
    text = geturl() if callable(geturl) else str(urlish)
    return str(text) or "/"


def _converted(response: comity.Response, charset: str) -> bytes:
    """The body in the charset of the URLs, from its own."""
    declared = response.headers.get("Content-Type", "").lower().partition("charset=")[2].strip("\"' ;") or "utf-8"
    try:
        codecs.lookup(declared)
    except LookupError:
        declared = "utf-8"
    return response.body.decode(declared, "replace").encode(charset, "replace")
