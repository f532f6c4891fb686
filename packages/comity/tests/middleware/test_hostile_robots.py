"""A robots.txt made to exhaust whoever reads it: without an end, a byte at a time, packed to grow without limit."""

import asyncio
import gzip
import time
from functools import cache
from importlib import import_module
from typing import Any

import pytest
from aiohttp import web
from libraries import ALL, REFUSED, Fetch, need
from sites import HANGS, Handler, Site

import comity
from comity.gate import FetchRobots
from comity.middleware.sending import Sending
from comity.net import turns
from comity_pages.urls import Url

FAST = comity.Policy(agent="MyBot/1.0", min_interval=0, robots_fetch_counts=False, allow_addresses=("127.0.0.0/8",))
RULES = b"User-agent: *\nDisallow: /no\n"
# Playwright's robots.txt is the client's.
READERS = ["httpx", "httpx, async", "httpx2", "httpx2, async", "requests", "aiohttp", "Scrapy"]
IN_PROCESS = READERS[:6]


def fetch_by(name: str) -> Fetch:
    return ALL[name]


def endless(sent: list[int], *, length: int | None = None) -> Handler:
    """Rules, then comment lines until the other side hangs up."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        response.content_length = length
        await response.prepare(request)
        await response.write(RULES)
        line = b"#" * 65_535 + b"\n"
        while length is None or sum(sent) + len(RULES) + len(line) <= length:
            await response.write(line)
            sent.append(len(line))
        return response

    return answer


def trickling(times: list[float]) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        response.content_length = 100_000
        await response.prepare(request)
        while True:
            await response.write(b"#")
            times.append(time.monotonic())
            await asyncio.sleep(0.02)

    return answer


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("length", [None, 50_000_000], ids=["without end", "50 MB"])
def test_of_a_huge_robots_txt_the_start_counts_and_the_rest_is_not_read(
    name: str, length: int | None, site: Site
) -> None:
    sent: list[int] = []
    site.set("/robots.txt", endless(sent, length=length))
    site.set("/yes", "page")
    assert fetch_by(name)(FAST, [site.url("/yes"), site.url("/no")], False) == [200, REFUSED]
    assert sum(sent) < 20_000_000, "what a few buffers on the way hold, not more"


@pytest.mark.parametrize("name", IN_PROCESS)
def test_a_robots_txt_that_trickles_is_given_up_in_time(name: str, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "MAX_ROBOTS_SECONDS", 0.5)
    times: list[float] = []
    site.set("/robots.txt", trickling(times))
    started = time.monotonic()
    assert fetch_by(name)(FAST, [site.url("/page")], False) == [REFUSED]
    assert 0.5 <= time.monotonic() - started < HANGS
    assert times, "it was on its way"


@pytest.mark.parametrize("host", ["127.0.0.2", "localhost", "0x7f.2"])
@pytest.mark.parametrize("name", READERS)
def test_a_robots_txt_leads_to_no_address_that_only_the_site_named(name: str, host: str, site: Site) -> None:
    """The library asks the site that its user named, wherever that is; a redirect of its robots.txt (RFC 9309, 2.3.1.2)
    is the site's own word, and the rules at a private address are nobody's."""
    guarded = FAST.with_changes(allow_addresses=())
    with Site("127.0.0.1" if host == "localhost" else "127.0.0.2") as internal:
        internal.set("/restart", "User-agent: *\nAllow: /\n")
        site.set("/robots.txt", status=302, headers={"Location": f"http://{host}:{internal.port}/restart"})
        site.set("/page", "page")
        assert fetch_by(name)(guarded, [site.url("/page")], False) == [REFUSED]
        assert internal.paths() == []
        if host != "localhost":
            allowed = guarded.with_changes(allow_addresses=("127.0.0.2/32",))
            assert fetch_by(name)(allowed, [site.url("/page")], False) == [200]
            assert internal.paths() == ["/restart"]


@pytest.mark.parametrize("name", READERS)
def test_a_robots_txt_that_stays_on_its_own_host_is_followed_there(name: str, site: Site) -> None:
    site.set("/robots.txt", status=301, headers={"Location": "/rules.txt"})
    site.set("/rules.txt", RULES)
    site.set("/yes", "page")
    guarded = FAST.with_changes(allow_addresses=())
    assert fetch_by(name)(guarded, [site.url("/yes"), site.url("/no")], False) == [200, REFUSED]


@pytest.mark.parametrize(
    ("origin", "url", "elsewhere"),
    [
        ("http://intranet", "https://intranet/robots.txt", False),
        ("http://[::1]", "https://[::1]/robots.txt", False),
        ("http://intranet:80", "http://intranet:8080/robots.txt", True),
        ("http://intranet", "http://intranet:6379/robots.txt", True),
        ("http://intranet", "http://evil.intranet/robots.txt", True),
        ("http://evil.intranet", "http://intranet/robots.txt", True),
    ],
)
def test_http_and_https_of_one_host_are_its_own_and_other_ports_are_not(origin: str, url: str, elsewhere: bool) -> None:
    asked = FetchRobots(origin=origin, url=Url(url), cached=None)
    assert (Sending(FAST).elsewhere(asked) is not None) == elsewhere


def test_a_name_that_only_a_proxy_can_find_is_left_to_it() -> None:
    for host in ("no-such-host.test", "example.test"):
        Sending(comity.Policy()).judge(Url(f"http://{host}/robots.txt"), ())
    for host in ("127.0.0.1", "localhost", "[::1]", "10.0.0.1"):
        with pytest.raises(comity.AddressBlocked):
            Sending(comity.Policy()).judge(Url(f"http://{host}/robots.txt"), ())
    with pytest.raises(comity.AddressBlocked):
        Sending(comity.Policy()).judge(Url("http://two.test/"), ("93.184.216.34", "10.0.0.1"))


@cache
def bomb() -> bytes:
    return gzip.compress(RULES + b"#" * 100_000_000)


@pytest.mark.parametrize("name", READERS)
def test_a_packed_robots_txt_counts_as_far_as_it_is_read(name: str, site: Site) -> None:
    site.set("/robots.txt", bomb(), headers={"Content-Encoding": "gzip"})
    site.set("/yes", "page")
    assert fetch_by(name)(FAST, [site.url("/yes"), site.url("/no")], False) == [200, REFUSED]


@pytest.mark.parametrize("name", READERS)
def test_a_coding_that_was_not_asked_for_is_not_undone(name: str, site: Site) -> None:
    # Brotli: 12 bytes that a decoder accepts.
    site.set("/robots.txt", b"\x8b\x03\x80hello\n\n\x03", headers={"Content-Encoding": "br"})
    assert fetch_by(name)(FAST, [site.url("/page")], False) == [REFUSED]
    assert site.paths() == ["/robots.txt"]
    assert site.seen[0].headers["Accept-Encoding"] == "gzip, deflate"


@pytest.mark.parametrize("library", ["httpx", "httpx2"])
def test_answers_that_a_transport_makes_up_are_read_too(library: str) -> None:
    need(library)
    httpx = import_module(library)
    from comity.middleware.httpx import AsyncComityTransport, ComityTransport

    def answer(request: Any) -> Any:
        text = gzip.compress(RULES) if request.url.path == "/robots.txt" else b"page"
        packed = {"Content-Encoding": "gzip"} if request.url.path == "/robots.txt" else {}
        return httpx.Response(200, content=text, headers=packed)

    with httpx.Client(transport=ComityTransport(FAST, httpx.MockTransport(answer))) as client:
        assert client.get("https://example.com/yes").status_code == 200
        with pytest.raises(comity.RobotsDisallowed):
            client.get("https://example.com/no")

    async def run() -> None:
        async with httpx.AsyncClient(transport=AsyncComityTransport(FAST, httpx.MockTransport(answer))) as client:
            assert (await client.get("https://example.com/yes")).status_code == 200
            with pytest.raises(comity.RobotsDisallowed):
                await client.get("https://example.com/no")

    asyncio.run(run())


@pytest.mark.parametrize("timeout", [None, 5, (5, None), "urllib3"])
def test_time_outs_of_requests_in_all_their_forms_hold_for_robots_txt(timeout: object, site: Site) -> None:
    need("requests")
    import requests
    import urllib3

    from comity.middleware.requests import ComityAdapter

    site.set("/robots.txt", RULES)
    site.set("/yes", "page")
    given: object = urllib3.Timeout(connect=5, read=None) if timeout == "urllib3" else timeout
    with requests.Session() as session:
        session.mount("http://", ComityAdapter(FAST))
        assert session.get(site.url("/yes"), timeout=given).status_code == 200  # type: ignore[arg-type]
