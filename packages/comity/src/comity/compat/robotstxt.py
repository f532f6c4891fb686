"""The public methods of Robotstxt, the Ruby gem: `get`, `parse`, `get_allowed`, and a parser that holds one agent.

Rules are read by the dialect `robotstxt`. Without a file, 401 and 403 disallow the whole site and any other answer, or
none, allows it; a client of the caller's keeps its own policy.
"""

import codecs
from collections.abc import Callable, Mapping
from email.message import Message
from functools import partial
from http.client import HTTPConnection, HTTPSConnection
from typing import Any

import webencodings

import comity
from comity.gate import FetchRobots
from comity.net.blocking_driver import Driver, Get, read_robots
from comity.net.response import Response
from comity.net.turns import no_answer, robots_request_headers
from comity.policy import RobotsResult
from comity_pages import urls
from comity_pages.urls import Url
from comity_robots.compat import robotstxt
from comity_robots.compat.robotstxt import url_text

Sender = Callable[[str, dict[str, str], float], Response]
"""Sends a GET of a URL with headers; reads until a time of the monotonic clock."""


class Parser(robotstxt.Parser):
    """A robots.txt, asked for one agent.

    Args:
        url_charset: how non-ASCII characters in the URLs to be asked about are encoded, by the Web's name or Python's.
    """

    def __init__(self, body: bytes | str, agent: str, url_charset: str = "utf-8") -> None:
        super().__init__(body, agent, _charset(url_charset))


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
        source: a URL or URL object, of which scheme, host and port count; or what is open already and is to be used
            again: a `comity.Client`, as it is, with its policy and settings; a connection of `http.client`; a session
            of requests; a client of httpx or httpx2. Redirects to other origins do not go over these three.
        agent: our User-Agent.
        url: the site, where `source` is bound to none.
        num_redirects: hops followed.
        http_timeout: seconds for the whole request.
        url_charset: how non-ASCII characters in the URLs to be asked about are encoded.
        allow_addresses: networks that may be reached although they are not public.

    Raises:
        InvalidURL: the source is no web address.
        InvalidSetting: an option is out of range, or a client or session comes without `url`.
        AddressBlocked: the site has an address that is not public, and `allow_addresses` does not name it.
    """
    _charset(url_charset)
    send = None if isinstance(source, comity.Client) else _sender(source, http_timeout)
    site = _site_of(source) if url is None else url_text(url)
    if (send is not None or isinstance(source, comity.Client)) and not site:
        raise comity.InvalidSetting("url: a client is bound to no site; write get(client, agent, url='https://...')")
    if isinstance(source, comity.Client):
        return _ask(source, site, agent, url_charset)
    policy = comity.Policy(
        agent=agent,
        dialect="robotstxt",
        on_unavailable="disallow_401_403",
        on_unreachable="allow",
        robots_redirects=num_redirects,
        allow_addresses=allow_addresses,
    )
    settings = comity.ClientSettings(timeout=http_timeout)
    if send is not None:
        driver = Driver(policy)
        decision = driver.decision(Url(site), _over(send, urls.origin(site), settings, policy))
        return _parser(driver.gate.robots.results(), decision, agent, url_charset)
    with comity.Client(policy, settings) as client:
        return _ask(client, url_text(source), agent, url_charset)


def get_allowed(urlish: object, agent: str, **options: Any) -> bool:
    """Whether an agent may fetch a URL, by the robots.txt of its site; options and errors as for `get`."""
    return get(urlish, agent, **options).allowed(urlish)


def _ask(client: comity.Client, url: str, agent: str, url_charset: str) -> Parser:
    decision = client.check(url)
    return _parser(client.inspect(), decision, agent, url_charset)


def _parser(known: Mapping[str, RobotsResult], decision: comity.Decision, agent: str, url_charset: str) -> Parser:
    result = known.get(decision.source.origin) if decision.source is not None else None
    if result is not None and result.blocked:
        raise comity.AddressBlocked(result.error or decision.why, url=result.url)
    if result is None or not result.has_file:  # there is no file: the policy has decided for the whole site
        return Parser(b"" if decision.may_fetch else b"User-agent: *\nDisallow: /", agent, url_charset)
    return Parser(_decoded(result.body, result.headers.get("content-type", "")), agent, url_charset)


def _over(send: Sender, origin: str, settings: comity.ClientSettings, policy: comity.Policy) -> Get:
    """Asks for a robots.txt over something open; what it redirects to elsewhere, behind the address guard."""

    def get(step: FetchRobots, _: dict[str, str], deadline: float) -> Response:
        with no_answer(step.url, Exception):
            if step.url.origin == origin:
                return send(step.url, robots_request_headers(policy, step.url, {}, step.url, None), deadline)
            with comity.Client(policy.with_changes(mode="ignore"), settings) as other:
                return other.get(step.url)

    return get


def _site_of(source: Any) -> str:
    """The site that a connection or session is bound to; empty where it is bound to none."""
    if isinstance(source, HTTPConnection):
        host = f"[{source.host}]" if ":" in source.host else source.host
        return f"{'https' if isinstance(source, HTTPSConnection) else 'http'}://{host}:{source.port}"
    return str(getattr(source, "base_url", ""))


def _sender(source: Any, timeout: float) -> Sender | None:
    """What sends a request over a connection or session that is open, told by its methods; None where it is none."""

    def by_connection(url: str, headers: dict[str, str], deadline: float) -> Response:
        source.request("GET", Url(url).path_and_query, headers=headers)
        answer = source.getresponse()
        received = dict(answer.headers.items())
        found = read_robots(url, answer.status, received, iter(partial(answer.read1, 65_536), b""), deadline)
        if found.truncated:
            source.close()
        else:
            answer.read()  # nothing is left, but `read1` does not say so to the connection
        return found

    def by_requests(url: str, headers: dict[str, str], deadline: float) -> Response:
        with source.get(url, headers=headers, allow_redirects=False, stream=True, timeout=timeout) as answer:
            parts = answer.raw.stream(65_536, decode_content=False)
            return read_robots(url, answer.status_code, answer.headers, parts, deadline)

    def by_httpx(url: str, headers: dict[str, str], deadline: float) -> Response:
        with source.stream("GET", url, headers=headers, follow_redirects=False, timeout=timeout) as answer:
            return read_robots(url, answer.status_code, answer.headers, answer.iter_raw(), deadline)

    if isinstance(source, HTTPConnection):
        return by_connection
    if hasattr(source, "mount") and hasattr(source, "get"):
        return by_requests
    return by_httpx if hasattr(source, "stream") and hasattr(source, "base_url") else None


def _decoded(body: bytes, content_type: str) -> bytes | str:
    """The body as text where the server names a charset other than UTF-8, which the engine reads itself."""
    header = Message()
    header["Content-Type"] = content_type
    charset = webencodings.lookup(str(header.get_param("charset", "utf-8")))
    if charset is None or charset.name == "utf-8":
        return body
    text, _ = webencodings.decode(body, charset)
    return str(text)


def _charset(label: str) -> str:
    """Python's name of a charset of URLs, given by the Web's names or Python's."""
    try:  # Python's names, such as latin-1, as well as the Web's
        charset = webencodings.lookup(label) or webencodings.lookup(codecs.lookup(label).name)
    except LookupError:
        charset = None
    if charset is None or charset.name.startswith(("utf-16", "x-", "replacement")):
        raise comity.InvalidSetting(f"url_charset: {label!r} is not a charset for URLs; the usual one is utf-8")
    return str(charset.codec_info.name)
