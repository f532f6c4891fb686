"""The public methods of Robotstxt, the Ruby gem: `get`, `parse`, `get_allowed`, and a parser that holds one agent.

Rules are read by the dialect `robotstxt`. Without a file, 401 and 403 disallow the whole site and any other answer, or
none, allows it; a client of the caller's keeps its own policy.
"""

import codecs
from email.message import Message
from typing import Any
from urllib.parse import quote

import webencodings

import comity
from comity.compat import allowed

_ASCII = "".join(map(chr, range(33, 127)))


class Parser:
    """A robots.txt, asked for one agent.

    Attributes:
        agent: what is sent as User-Agent.
        robots: the file as comity knows it, with `explain` and all the rest.
    """

    def __init__(self, body: bytes | str, agent: str, url_charset: str = "utf-8") -> None:
        self.agent = agent
        self.robots = comity.parse(body, "robotstxt")
        self._charset = _charset(url_charset)
        self._asked = self.robots
        if self._charset.name != "utf-8":
            # The engine compares octets: they are brought to the URLs' charset. What it lacks matches no URL.
            octets, _ = self._charset.codec_info.encode(str(self.robots), "backslashreplace")
            self._asked = comity.parse(octets, "robotstxt")

    def allowed(self, urlish: object) -> bool:
        """Whether the agent may fetch an absolute URL, a bare path, or a URL object."""
        url = _text(urlish)
        if self._charset.name != "utf-8" and not url.isascii():
            url = quote(url, safe=_ASCII, encoding=self._charset.codec_info.name, errors="backslashreplace")
        return allowed(self._asked, url, self.agent)

    @property
    def sitemaps(self) -> list[str]:
        """The sitemaps named in the file."""
        return list(self.robots.sitemaps)


def parse(text: bytes | str, agent: str) -> Parser:
    """A parser of a robots.txt at hand."""
    return Parser(text, agent)


def get(
    source: object,
    agent: str,
    *,
    url: object = None,
    num_redirects: int = 5,
    http_timeout: float = 10.0,
    url_charset: str = "utf-8",
    allow_addresses: tuple[str, ...] = (),
) -> Parser:
    """Obtain the robots.txt of a site and parse it.

    Args:
        source: a URL or URL object, of which scheme, host and port count; or an open `comity.Client`, which is used
            as it is: its policy, settings and connections.
        agent: our User-Agent.
        url: the site, where `source` is a client.
        num_redirects: hops followed.
        http_timeout: seconds for the whole request.
        url_charset: how non-ASCII characters in the URLs to be asked about are encoded.
        allow_addresses: networks that may be reached although they are not public.

    Raises:
        InvalidURL: the source is no web address.
        InvalidSetting: an option is out of range, or a client comes without `url`.
    """
    _charset(url_charset)
    if isinstance(source, comity.Client):
        if url is None:
            raise comity.InvalidSetting(
                "url: a client is bound to no site; write get(client, agent, url='https://...')"
            )
        return _ask(source, _text(url), agent, url_charset)
    policy = comity.Policy(
        agent=agent,
        dialect="robotstxt",
        on_unavailable="disallow_401_403",
        on_unreachable="allow",
        robots_redirects=num_redirects,
        allow_addresses=allow_addresses,
    )
    with comity.Client(policy, comity.ClientSettings(timeout=http_timeout)) as client:
        return _ask(client, _text(source), agent, url_charset)


def get_allowed(urlish: object, agent: str, **options: Any) -> bool:
    """Whether an agent may fetch a URL, by the robots.txt of its site; options and errors as for `get`."""
    return get(urlish, agent, **options).allowed(urlish)


def _ask(client: comity.Client, url: str, agent: str, url_charset: str) -> Parser:
    decision = client.check(url)
    result = client.inspect().get(decision.source.origin) if decision.source is not None else None
    if result is None or result.robots is None:  # there is no file: the policy has decided for the whole site
        return Parser(b"" if decision.may_fetch else b"User-agent: *\nDisallow: /", agent, url_charset)
    return Parser(_decoded(result.body, result.headers.get("content-type", "")), agent, url_charset)


def _decoded(body: bytes, content_type: str) -> bytes | str:
    """The body as text where the server names a charset other than UTF-8, which the engine reads itself."""
    header = Message()
    header["Content-Type"] = content_type
    charset = webencodings.lookup(str(header.get_param("charset", "utf-8")))
    if charset is None or charset.name == "utf-8":
        return body
    text, _ = webencodings.decode(body, charset)
    return str(text)


def _charset(label: str) -> webencodings.Encoding:
    try:  # Python's names, such as latin-1, as well as the Web's
        charset = webencodings.lookup(label) or webencodings.lookup(codecs.lookup(label).name)
    except LookupError:
        charset = None
    if charset is None or charset.name.startswith(("utf-16", "x-", "replacement")):
        raise comity.InvalidSetting(f"url_charset: {label!r} is not a charset for URLs; the usual one is utf-8")
    return charset


def _text(urlish: object) -> str:
    """The text of a URL object; those of urllib give theirs by a method."""
    whole = getattr(urlish, "geturl", None)
    return str(whole()) if whole is not None else str(urlish)
