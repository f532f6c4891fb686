"""Drop-in replacements: programs written for other parsers keep their calls. What contradicts RFC 9309 is in tables."""

import gzip
import re
import subprocess
import sys
import unittest
import urllib.robotparser
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit

import pytest
from aiohttp import web
from conftest import missing
from sites import HANGS, Site

import comity
from comity.compat import robotstxt
from comity.compat.reppy import AllowAll, AllowNone
from comity.compat.reppy import Robots as Reppy
from comity.compat.robotparser import RobotFileParser

LOOPBACK = ("127.0.0.0/8", "::1/128")
HERE = comity.Policy(agent="MyBot/1.0", allow_addresses=LOOPBACK)


# urllib.robotparser

# Subtest of CPython's own tests -> why the answer is another here.
CPYTHON_EXCLUDED = {
    ("UseFirstUserAgentWildcardTest", "/another/path"): "RFC 9309, 2.2.1: groups for one agent are merged",
    ("UserAgentGoogleMobileTest", "/something.jpg"): "RFC 9309, 2.2.1: the group with our own product token counts",
}
CPYTHON_OUTSIDE = "NetworkTestCase"  # asks a server on the Internet


def test_the_standard_library_s_own_tests_pass_but_for_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        from test import test_robotparser as theirs
    except ImportError:
        missing("the standard library's test package", "install the interpreter with its tests")

    class Ours(RobotFileParser):
        def __init__(self, url: str = "") -> None:
            super().__init__(url, policy=HERE)

    monkeypatch.setattr(urllib.robotparser, "RobotFileParser", Ours)
    loader = unittest.defaultTestLoader
    suite = unittest.TestSuite(
        loader.loadTestsFromTestCase(case)
        for case in vars(theirs).values()
        if isinstance(case, type) and issubclass(case, unittest.TestCase) and case.__name__ != CPYTHON_OUTSIDE
    )
    result = unittest.TestResult()
    suite.run(result)
    assert result.testsRun > 50
    assert result.errors == []
    assert {_subtest(test) for test, _ in result.failures} == set(CPYTHON_EXCLUDED)


def _subtest(test: Any) -> tuple[str, str]:
    """The class of a failed test, and the URL of the subtest where it is one."""
    case = getattr(test, "test_case", test)
    return type(case).__name__, getattr(test, "params", {}).get("url", test.id())


def test_read_fetches_the_file_from_where_it_was_told(site: Site) -> None:
    site.set("/elsewhere/robots.txt", "User-agent: mybot\r\nDisallow: /private\r\n")
    parser = RobotFileParser(policy=HERE)
    parser.set_url(site.url("/elsewhere/robots.txt"))
    parser.read()
    assert site.paths() == ["/elsewhere/robots.txt"]
    assert site.seen[0].headers["User-Agent"] == "MyBot/1.0"
    assert not parser.can_fetch("MyBot", site.url("/private/x"))
    assert parser.can_fetch("MyBot", site.url("/"))


@pytest.mark.parametrize(
    ("status", "allow_all", "disallow_all"),
    [(401, False, True), (403, False, True), (404, True, False), (410, True, False), (503, False, False)],
)
def test_read_takes_statuses_as_the_standard_library_does(
    site: Site, status: int, allow_all: bool, disallow_all: bool
) -> None:
    site.set("/robots.txt", "User-agent: *\nAllow: /", status=status)
    parser = RobotFileParser(site.url("/robots.txt"), policy=HERE)
    parser.read()
    assert (parser.allow_all, parser.disallow_all, parser.mtime()) == (allow_all, disallow_all, 0)
    assert parser.can_fetch("MyBot", "/") is allow_all


def test_read_forgets_a_refusal_once_the_file_is_there(site: Site) -> None:
    site.set("/robots.txt", status=403)
    parser = RobotFileParser(site.url("/robots.txt"), policy=HERE)
    parser.read()
    site.set("/robots.txt", "User-agent: *\nDisallow: /x")
    parser.read()
    assert parser.can_fetch("MyBot", "/")


def test_read_raises_what_programs_catch_already(site: Site) -> None:
    with pytest.raises(URLError, match="not a public address"):
        RobotFileParser(site.url("/robots.txt")).read()  # no policy allows loopback
    with pytest.raises(URLError):
        RobotFileParser("http://127.0.0.1:1/robots.txt", policy=HERE).read()
    with pytest.raises(ValueError, match="no-url"):
        RobotFileParser("no-url", policy=HERE).read()


@pytest.mark.parametrize(("status", "kind", "allowed"), [(403, AllowNone, False), (404, AllowAll, True)])
def test_reppy_takes_statuses_as_it_did(site: Site, status: int, kind: type[Reppy], allowed: bool) -> None:
    site.set("/robots.txt", status=status)
    robots = Reppy.fetch(site.url("/robots.txt"), policy=HERE)
    assert type(robots) is kind
    assert robots.allowed("/d", "x") is allowed


def test_reppy_fetches_a_file_and_raises_where_there_is_no_answer(site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /d")
    robots = Reppy.fetch(Reppy.robots_url(site.url("/x")), policy=HERE, life=60)
    assert not robots.allowed(site.url("/d"), "x")
    assert 0 < robots.ttl <= 60
    site.set("/robots.txt", status=503)
    with pytest.raises(comity.FetchError, match="503"):
        Reppy.fetch(site.url("/robots.txt"), policy=HERE)


class Address:
    """A URL object of some library."""

    def __init__(self, url: str) -> None:
        self._url = url

    def __str__(self) -> str:
        return self._url


# covers: R1, R2
@pytest.mark.parametrize("make", [str, urlsplit, Address])
def test_the_gem_s_get_takes_scheme_host_and_port_of_a_source(site: Site, make: Any) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /d")
    source = make(site.url("/deep/page?query"))
    parser = robotstxt.get(source, "MyBot", allow_addresses=LOOPBACK)
    assert site.paths() == ["/robots.txt"]
    assert (parser.allowed("/d"), parser.allowed("/e")) == (False, True)
    assert not robotstxt.get_allowed(make(site.url("/d/x")), "MyBot", allow_addresses=LOOPBACK)
    with pytest.raises(comity.InvalidURL):
        robotstxt.get("/index.html", "MyBot")


# covers: R5
@pytest.mark.parametrize(("status", "allowed"), [(401, False), (403, False), (404, True), (429, True), (500, True)])
def test_the_gem_s_get_without_a_file(site: Site, status: int, allowed: bool) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /d", status=status)
    assert robotstxt.get_allowed(site.url("/d"), "MyBot", allow_addresses=LOOPBACK) is allowed


# covers: R5
def test_the_gem_s_get_without_an_answer() -> None:
    assert robotstxt.get_allowed("http://127.0.0.1:1/d", "MyBot", allow_addresses=LOOPBACK)


# covers: R5
def test_the_gem_s_get_of_an_address_that_may_not_be_reached_is_refused_and_no_permission() -> None:
    with pytest.raises(comity.AddressBlocked, match="not a public address"):
        robotstxt.get_allowed("http://127.0.0.1:1/d", "MyBot")


# covers: R3
def test_the_gem_s_get_reuses_a_client_with_its_policy_and_what_it_knows(site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /d")
    with comity.Client(HERE) as client:
        first = robotstxt.get(client, "MyBot", url=site.url("/"))
        again = robotstxt.get(client, "Other", url=urlsplit(site.url("/x")))
        with pytest.raises(comity.InvalidSetting, match="url"):
            robotstxt.get(client, "MyBot")
    assert site.paths() == ["/robots.txt"]
    assert not first.allowed("/d")
    assert again.agent == "Other"
    with comity.Client(HERE) as client:  # whose policy says what no answer means
        assert not robotstxt.get(client, "MyBot", url="http://127.0.0.1:1/").allowed("/")
    with comity.Client(HERE.with_changes(mode="ignore")) as client:
        assert robotstxt.get(client, "MyBot", url=site.url("/")).allowed("/d")
    assert site.paths() == ["/robots.txt"]


def _connection(site: Site) -> Any:
    return HTTPConnection("127.0.0.1", site.port, timeout=HANGS)


def _of_library(name: str, made: str) -> Callable[[Site], Any]:
    def open_(site: Site) -> Any:
        kind = getattr(pytest.importorskip(name), made)
        return kind() if name == "requests" else kind(base_url=site.url("/"))

    return open_


# covers: R3
@pytest.mark.parametrize(
    "opened",
    [_connection, _of_library("requests", "Session"), _of_library("httpx", "Client"), _of_library("httpx2", "Client")],
    ids=["http.client", "requests", "httpx", "httpx2"],
)
def test_the_gem_s_get_goes_over_a_connection_or_session_that_is_open(
    site: Site, opened: Callable[[Site], Any]
) -> None:
    ports: list[int] = []

    async def answer(request: web.Request) -> web.Response:
        assert request.transport is not None
        ports.append(request.transport.get_extra_info("peername")[1])
        if request.path == "/robots.txt":
            return web.Response(status=302, headers={"Location": "/rules"}, text="moved")
        return web.Response(body=gzip.compress(b"User-agent: *\nDisallow: /d"), headers={"Content-Encoding": "gzip"})

    site.set("/robots.txt", answer)
    site.set("/rules", answer)
    with closing(opened(site)) as source:
        bound = {} if getattr(source, "base_url", "") or hasattr(source, "getresponse") else {"url": site.url("/")}
        for _ in range(2):
            parser = robotstxt.get(source, "MyBot", **bound)  # type: ignore[arg-type]
            assert (parser.allowed("/d"), parser.allowed("/e")) == (False, True)
    assert site.paths() == ["/robots.txt", "/rules"] * 2
    assert len(set(ports)) == 1, "the connection is used again"
    assert {seen.headers["User-Agent"] for seen in site.seen} == {"MyBot"}


def test_a_redirect_of_robots_txt_over_a_session_does_not_pass_the_address_guard(site: Site) -> None:
    with Site("127.0.0.2") as inner, closing(_connection(site)) as source:
        inner.set("/secret", "User-agent: *\nDisallow: /")
        site.set("/robots.txt", status=302, headers={"Location": inner.url("/secret")})
        assert robotstxt.get(source, "MyBot").allowed("/"), "as without an answer"
        assert inner.seen == []
        site.set("/robots.txt", status=403)
        assert not robotstxt.get(source, "MyBot").allowed("/")


# covers: R4
def test_the_gem_s_options_bound_redirects_and_time(site: Site) -> None:
    site.set("/robots.txt", status=302, headers={"Location": "/there"})
    site.set("/there", "User-agent: *\nDisallow: /d", content_type="text/plain")
    url = site.url("/d")
    assert not robotstxt.get_allowed(url, "MyBot", allow_addresses=LOOPBACK)
    assert robotstxt.get_allowed(url, "MyBot", num_redirects=0, allow_addresses=LOOPBACK)
    for options in ({"num_redirects": -1}, {"http_timeout": 0}, {"url_charset": "utf-16"}, {"url_charset": "none"}):
        with pytest.raises(comity.InvalidSetting):
            robotstxt.get(url, "MyBot", **options)  # type: ignore[arg-type]


# covers: R4
@pytest.mark.parametrize(
    ("body_charset", "url_charset"), [("utf-8", "latin-1"), ("iso-8859-1", "utf-8"), ("iso-8859-1", "latin-1")]
)
def test_the_gem_s_get_brings_charsets_together(site: Site, body_charset: str, url_charset: str) -> None:
    site.set(
        "/robots.txt",
        "User-agent: *\nDisallow: /käse\nDisallow: /\u20ac".encode(body_charset, "replace"),
        content_type=f"text/plain; charset={body_charset}",
    )
    parser = robotstxt.get(site.url(), "MyBot", url_charset=url_charset, allow_addresses=LOOPBACK)
    assert not parser.allowed("/käse")
    assert not parser.allowed("/k%E4se" if url_charset == "latin-1" else "/k%C3%A4se")
    assert parser.allowed("/k%C3%A4se" if url_charset == "latin-1" else "/k%E4se")


# covers: R4
def test_a_charset_that_does_not_exist_harms_nothing(site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /käse", content_type="text/plain; charset=zlib_codec")
    assert not robotstxt.get_allowed(site.url("/käse"), "MyBot", allow_addresses=LOOPBACK)


# Others' suites

PEERS = Path(__file__).parents[4] / "benchmarks" / "peers.py"


@pytest.mark.skipif(not PEERS.exists(), reason="benchmarks/peers.py is not part of this copy")
def test_questions_of_others_suites_are_asked_and_what_differs_without_a_reason_fails(tmp_path: Path) -> None:
    (tmp_path / "googlebot").mkdir()
    (tmp_path / "googlebot" / "robots_test.cc").write_text(
        'TEST(Unit, Harmony) {\n  const std::string file = "user-agent: *\\n"\n    "disallow: /\\x61\\n";\n'
        '  EXPECT_FALSE(IsUserAgentAllowed(file, "x", "http://e.com/a"));\n'
        '  EXPECT_TRUE(IsUserAgentAllowed(file, "x", "http://e.com/b"));\n'
        '  EXPECT_EQ(2, lines(file));\n  EXPECT_TRUE(IsUserAgentAllowed(other, "x", "/"));\n}\n'
        'TEST(Unit, Discord) {\n  EXPECT_TRUE(IsUserAgentAllowed("user-agent: *\\n"\n "disallow: /", "x", "/"));\n}\n'
    )
    done = subprocess.run([sys.executable, PEERS, tmp_path], capture_output=True, text=True, timeout=HANGS)
    assert re.search(r"Google, robots_test.cc +3 +2 +1 +2\n", done.stdout), done.stderr
    assert "Google, robots_test.cc: Discord (1): NOT IN docs/coming-from.md" in done.stdout
    assert "Harmony" not in done.stdout
    assert re.search(r"Protego +not here\n", done.stdout)
    assert done.returncode == 1
