"""Drop-in replacements: programs written for other parsers keep their calls. What contradicts RFC 9309 is in tables."""

import gzip
import re
import subprocess
import sys
import unittest
import urllib.robotparser
from collections.abc import Callable
from contextlib import closing
from datetime import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit

import pytest
from aiohttp import web
from conftest import missing
from hypothesis import given
from hypothesis import strategies as st
from sites import HANGS, Site

import comity
from comity.compat import robotstxt
from comity.compat.protego import Protego
from comity.compat.reppy import AllowAll, AllowNone
from comity.compat.reppy import Robots as Reppy
from comity.compat.robotparser import RequestRate, RobotFileParser
from comity_robots.engine import path_of
from comity_robots.rates import RequestRate as Rate
from comity_robots.rates import VisitTime, request_rates, visit_time

LOOPBACK = ("127.0.0.0/8", "::1/128")
HERE = comity.Policy(agent="MyBot/1.0", allow_addresses=LOOPBACK)


# Request-rate and Visit-time


@pytest.mark.parametrize(
    ("value", "rate"),
    [
        ("3/15", Rate(3, 15)),
        ("1/10s", Rate(1, 10)),
        ("100/15M", Rate(100, 900)),
        ("7 / 2h", Rate(7, 7200)),
        ("9000/1d", Rate(9000, 86_400)),
        ("1/10s 0600-0845", Rate(1, 10, time(6), time(8, 45))),
        ("1/10 2200 - 2400", Rate(1, 10, time(22), time(0))),
        ("whale/banana", None),
        ("9/banana", None),
        ("0/10", None),
        ("1/0", None),
        ("1/10w", None),
        ("1/10s tonight", None),
        ("\u0661/10", None),
        ("", None),
    ],
)
def test_a_request_rate_is_read_as_sites_write_it(value: str, rate: Rate | None) -> None:
    assert list(request_rates([value])) == ([rate] if rate else [])


@pytest.mark.parametrize(
    ("value", "visit"),
    [
        ("0600-0845", VisitTime(time(6), time(8, 45))),
        ("0200 0630", VisitTime(time(2), time(6, 30))),
        ("22:00-06:00", VisitTime(time(22), time(6))),
        ("0000-2400", VisitTime(time(0), time(0))),
        ("2500-0600", None),
        ("0660-0700", None),
        ("at night", None),
    ],
)
def test_a_visit_time_is_read_as_sites_write_it(value: str, visit: VisitTime | None) -> None:
    assert visit_time([value]) == visit


# covers: R11
def test_rates_belong_to_the_agents_named_above_them() -> None:
    robots = comity.parse(
        "Request-rate: 9/9\nUser-agent: *\nRequest-rate: 1/5\nVisit-time: 0100-0200\nDisallow: /x\n\n"
        "User-agent: one\nUser-agent: two\nRequest-rate: soon\nRequest-rate: 2/6\n\nUser-agent: three\nDisallow:\n"
    )
    assert robots.request_rate("Other/1.0") == Rate(1, 5)
    assert robots.request_rate("ONE") == robots.request_rate("two/3") == Rate(2, 6)
    assert robots.visit_time("other") == VisitTime(time(1), time(2))
    # One that has lines of its own takes nothing from those for everybody.
    assert robots.request_rate("three") is None
    assert robots.visit_time("one") is None
    assert comity.parse("Request-rate: 1/5").request_rate("x") is None


def test_of_several_rates_all_are_known_and_the_slowest_is_the_one() -> None:
    robots = comity.parse("User-agent: *\nRequest-rate: 1/1s 0000-0001\nRequest-rate: soon\nRequest-rate: 2/6")
    assert robots.request_rates("x") == (Rate(1, 1, time(0), time(0, 1)), Rate(2, 6))
    assert robots.request_rate("x") == Rate(2, 6)
    assert comity.parse("").request_rates("x") == ()


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


def test_the_standard_library_s_names_answer_by_rfc_9309() -> None:
    parser = RobotFileParser("https://example.com/robots.txt")
    assert (parser.host, parser.path) == ("example.com", "/robots.txt")
    assert parser.mtime() == 0
    assert not parser.can_fetch("MyBot", "/")  # nothing is known yet
    parser.parse(
        "User-agent: *\nCrawl-delay: 2\nRequest-rate: 3/15\nDisallow: /\nAllow: /open\nSitemap: https://e.com/s\n"
        "User-agent: slow\nCrawl-delay: 1.5\nDisallow:".splitlines()
    )
    assert parser.mtime() > 0
    assert parser.can_fetch("MyBot", "https://example.com/open")
    assert not parser.can_fetch("MyBot", "https://example.com/other")
    assert parser.crawl_delay("MyBot") == 2
    assert isinstance(parser.crawl_delay("MyBot"), int)
    assert parser.crawl_delay("slow") == 1.5
    assert parser.request_rate("MyBot") == RequestRate(3, 15) == urllib.robotparser.RequestRate(3, 15)
    assert parser.site_maps() == ["https://e.com/s"]
    assert str(parser).startswith("User-agent: slow\nCrawl-delay: 1.5\nDisallow: \n\nUser-agent: *")


@pytest.mark.parametrize("rule", ["/v/%F0", "/v/%f0", "/v/\udcf0"])
def test_an_octet_that_is_no_text_is_one_however_it_is_written(rule: str) -> None:
    parser = RobotFileParser()
    parser.parse(["User-agent: *", f"Disallow: {rule}"])
    assert not any(parser.can_fetch("MyBot", url) for url in ("/v/\udcf0", "/v/%F0", "https://h/v/%f0x"))
    assert parser.can_fetch("MyBot", "/v/\udcf1")


def test_the_standard_library_s_reading_can_be_asked_for() -> None:
    lines = ["User-agent: *", "Allow: /a", "Disallow: /a/b"]
    ours, theirs = RobotFileParser(), RobotFileParser(dialect="draft1996")
    ours.parse(lines)
    theirs.parse(lines)
    assert not ours.can_fetch("x", "/a/b")
    assert theirs.can_fetch("x", "/a/b")  # the first rule that matches decides


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


# Protego: what its own tests show, in cases of our own. (behaviour, file, agent, path, allowed)

PROTEGO = [
    ("a rule allows or forbids by prefix", "User-agent: *\nDisallow: /shut\nAllow: /open", "*", "/shut/x", False),
    ("a prefix begins at the root", "User-agent: *\nDisallow: /shut", "*", "/a/shut", True),
    ("common misspellings count", "User-agent: *\nDissallow: /a", "x", "/a", False),
    ("common misspellings count", "User-agent: *\nDissalow: /a", "x", "/a", False),
    ("common misspellings count", "User-agent: *\nDisalow: /a", "x", "/a", False),
    ("common misspellings count", "User-agent: *\nDiasllow: /a", "x", "/a", False),
    ("common misspellings count", "User-agent: *\nDisallaw: /a", "x", "/a", False),
    ("common misspellings count", "Useragent: x\nDisallow: /a", "x", "/a", False),
    ("a colon may be missing", "user-agent x\ndisallow /a", "x", "/a", False),
    ("the longest match decides", "User-agent: x\nDisallow: /\nAllow: /pa", "x", "/page", True),
    ("the longest match decides", "User-agent: x\nAllow: /d/\nDisallow: /d/p.htm", "x", "/d/p.htm", False),
    ("wildcards count with their length", "User-agent: x\nAllow: /pa\nDisallow: /*.htm", "x", "/pa.htm", False),
    ("Allow wins a tie", "User-agent: x\nDisallow: /d\nAllow: /d", "x", "/d/e", True),
    ("empty rules match nothing", "User-agent: x\nDisallow:\nAllow:", "x", "/d", True),
    ("a final dollar sign ends the path", "User-agent: x\nAllow: /$\nDisallow: /", "x", "/", True),
    ("a final dollar sign ends the path", "User-agent: x\nAllow: /$\nDisallow: /", "x", "/p", False),
    ("a dollar sign elsewhere is itself", "User-agent: x\nDisallow: /u$/v", "x", "/u$/vw", False),
    ("an escaped dollar sign is itself", "User-agent: x\nDisallow: /u%24", "x", "/u$v", False),
    ("an escaped star is itself", "User-agent: x\nDisallow: /u%2Av", "x", "/uuv", True),
    ("an escaped star is itself", "User-agent: x\nDisallow: /u%2Av", "x", "/u*v", False),
    ("a star is any run", "User-agent: x\nDisallow: /a/*/z$", "x", "/a/b/c/z", False),
    ("a star is any run", "User-agent: x\nDisallow: /a/*/z$", "x", "/a/b/zz", True),
    ("a star may come first", "User-agent: x\nDisallow: *m", "x", "/foo.htm", False),
    ("many stars are one", "User-agent: x\nDisallow: /\nAllow: ****/***.js", "x", "/d/e.js", True),
    ("a star reaches into the query", "User-agent: x\nDisallow: /*s=", "x", "/?s=1", False),
    ("a star reaches into the query", "User-agent: x\nDisallow: /*s=", "x", "/s/", True),
    ("the query counts", "User-agent: x\nDisallow: /?", "x", "/?q", False),
    ("the query counts", "User-agent: x\nDisallow: /?", "x", "/", True),
    ("parameters count", "User-agent: x\nDisallow: /p;v?q", "x", "http://u@h.example:8/p;v?q#f", False),
    ("a URL without a path asks for the root", "User-agent: *\nDisallow: /", "x", "http://h.example", False),
    ("two slashes are two", "User-agent: *\nDisallow: //d/*", "x", "http://h.example//d/e", False),
    ("two slashes are two", "User-agent: *\nDisallow: //d/*", "x", "http://h.example/d/e", True),
    ("paths mind their case", "User-agent: x\nDisallow: /D/", "x", "/d/e", True),
    ("agents and records do not", "uSER-aGENT: FooBot\ndISALLOW: /d", "fOObOT/2.0", "/d/e", False),
    ("letters beyond ASCII compare encoded", "User-agent: x\nDisallow: /käse", "x", "/k%C3%A4se", False),
    ("letters beyond ASCII compare encoded", "User-agent: x\nDisallow: /k%c3%a4se", "x", "/käse", False),
    ("needless escapes are undone", "User-agent: x\nDisallow: /%62%61z", "x", "/baz", False),
    ("agents beyond ASCII compare", "User-agent: Käse-Bot\nDisallow: /d", "käse-bot", "/d", False),
    ("an own group replaces that of all", "User-agent: *\nDisallow: /d\nUser-agent: x\nDisallow: /e", "x", "/d", True),
    ("others keep to that of all", "User-agent: x\nDisallow: /e\nUser-agent: *\nDisallow: /d", "y", "/d", False),
    ("agents share a group", "User-agent: x\nUser-agent: y\nDisallow: /d", "x", "/d", False),
    ("groups of one agent are merged", "User-agent: x\nDisallow: /d\n\nUser-agent: x\nDisallow: /e", "x", "/d", False),
    ("a blank line ends nothing", "User-agent: x\n\n\nDisallow: /d", "x", "/d", False),
    ("rules before any agent are nobody's", "Disallow: /d\nUser-agent: x\nDisallow: /e", "x", "/d", True),
    ("comments are skipped", "# a\nUser-agent: x # b\nDisallow: /d # c", "x", "/d", False),
    ("unknown records are skipped", "User-agent: x\nNonsense: 1\nDisallow: /d", "x", "/d", False),
    ("lines without sense are skipped", "User-agent: x\nnonsense\n::\nDisallow: /d", "x", "/d", False),
    ("an empty file allows all", "", "x", "/d", True),
    (
        "a browser's string with a name inside is that name",
        "User-agent: x-bot\nDisallow: /d",
        "Mozilla/5.0 (compatible; x-bot/1)",
        "/d",
        False,
    ),
    ("mixed line ends", "User-agent: x\r\nAllow: /a\rUser-agent: y\n\r\n\nDisallow: /", "y", "/a", False),
    # The exclusions: Protego answers the opposite. Each contradicts RFC 9309; docs/coming-from.md has the reasons.
    ("2.2.1: token, not substring", "User-agent: *\nDisallow: /d\nUser-agent: hed\nAllow: /", "hed-img", "/d", False),
    ("2.2.1: no wildcard in agents", "User-agent: foo*bot\nDisallow: /d", "foobot", "/d", True),
    ("2.2: a token without colon is one word", "user agent big bot\ndisallow /d", "big bot", "/d", True),
    ("2.2.4: other records end no group", "User-agent: *\nOdd: 1\nUser-agent: x\nDisallow: /", "y", "/d", False),
    ("2.2.2: no index.html rule", "User-agent: *\nAllow: /d/index.html\nDisallow: /", "x", "/d/", False),
    ("2.2.3: a final dollar sign is special", "User-agent: x\nDisallow: /d$", "x", "/d$", True),
    ("2.2: a pattern begins with a slash", "User-agent: x\nDisallow: http://h/", "x", "/http://h/", True),
]


@pytest.mark.parametrize(("behaviour", "text", "agent", "url", "allowed"), PROTEGO)
def test_protego_s_behaviours(behaviour: str, text: str, agent: str, url: str, allowed: bool) -> None:
    assert Protego.parse(text).can_fetch(url, agent) is allowed, behaviour


def test_protego_s_other_names() -> None:
    parser = Protego.parse(
        "Sitemap: https://e.com/1\nUser-agent: *\nCrawl-delay: 2.5\nRequest-rate: 1/10m 1820-1940\n"
        "Visit-time: 0200 0630\nHost: e.com\nDisallow: /d\nUser-agent: x\nRequest-rate: odd\nSitemap: https://e.com/2"
    )
    assert parser.crawl_delay("y") == 2.5
    rate = parser.request_rate("y")
    assert rate == (1, 600, time(18, 20), time(19, 40))
    assert rate is not None
    assert rate.start_time == time(18, 20)
    visit = parser.visit_time("y")
    assert visit is not None
    assert (visit.start_time, visit.end_time) == (time(2), time(6, 30))
    assert parser.request_rate("x") is None
    assert parser.visit_time("x") is None
    assert list(parser.sitemaps) == ["https://e.com/1", "https://e.com/2"]
    assert parser.preferred_host == "e.com"
    assert Protego.parse("").preferred_host is None
    assert Protego().can_fetch("/", "x")


@pytest.mark.parametrize("error", [TypeError, ValueError])
def test_octets_are_refused_by_the_error_of_any_version_of_protego(error: type[Exception]) -> None:
    with pytest.raises(error, match="expects str"):
        Protego.parse(b"User-agent: *")  # type: ignore[arg-type]


@pytest.mark.parametrize("agent", ["Bötchen/1.0", "Mozilla/5.0 (compatible; Bötchen/1.0)"])
def test_a_name_with_letters_beyond_ascii_is_a_name(agent: str) -> None:
    assert not Protego.parse("User-agent: Bötchen\nDisallow: /").can_fetch("/", agent)


def test_a_protego_that_reads_as_google_does() -> None:
    text = "User-agent: *\nAllow: /d/index.html\nDisallow: /"
    assert Protego.parse(text, "google").can_fetch("/d/", "x")


# reppy


def test_reppy_s_names() -> None:
    robots = Reppy.parse("https://e.com/robots.txt", b"User-agent: x\nCrawl-delay: 3\nDisallow: /d\nSitemap: /s", 1e12)
    assert not robots.allowed("https://e.com/d", "x")
    assert robots.allowed("/e", "x")
    agent = robots.agent("x")
    assert not agent.allowed("/d")
    assert agent.delay == 3
    assert robots.agent("y").delay is None
    assert robots.sitemaps == ["/s"]
    assert not robots.expired
    assert robots.ttl > 1e9
    assert Reppy.parse("", "", expires=1).expired


def test_reppy_s_rules_above_any_agent_are_for_all() -> None:
    robots = Reppy.parse("", "# none\nDisallow: /path\nAllow: /path/e\nCrawl-delay: 5.2\nUser-agent: x\nDisallow: /x")
    assert [robots.allowed(path, "any") for path in ("/path", "/path/e", "/x")] == [False, True, True]
    assert [robots.allowed(path, "x") for path in ("/path", "/x")] == [True, False]
    assert robots.agent("any").delay == 5.2


@pytest.mark.parametrize(
    ("url", "robots_url"),
    [
        ("https://e.com/a/b?c#d", "https://e.com/robots.txt"),
        ("http://user:word@E.com:8080", "http://e.com:8080/robots.txt"),
        ("http://e.com:80/", "http://e.com/robots.txt"),
        ("https://[::1]:8443/x", "https://[::1]:8443/robots.txt"),
    ],
)
def test_reppy_knows_where_the_file_is(url: str, robots_url: str) -> None:
    assert Reppy.robots_url(url) == robots_url


@pytest.mark.parametrize("url", ["", "/path", "ftp://e.com/", "http://e.com:port/", "https://"])
def test_reppy_refuses_what_has_no_such_file(url: str) -> None:
    with pytest.raises(comity.InvalidURL):
        Reppy.robots_url(url)


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


# The gem


class Address:
    """A URL object of some library."""

    def __init__(self, url: str) -> None:
        self._url = url

    def __str__(self) -> str:
        return self._url


# covers: R1, R2, R6, R10
def test_the_gem_s_parser_holds_one_agent() -> None:
    parser = robotstxt.parse(
        "User-agent: rawl*bot\nAllow: /d/e\nDisallow: /d/\nSitemap: https://e.com/s", "CrawlerBot/1"
    )
    assert not parser.allowed("/d/f")
    assert parser.allowed("/d/e")
    assert not parser.allowed("https://e.com/d/f?x#y")
    assert not parser.allowed(urlsplit("https://e.com/d/f"))
    assert not parser.allowed(Address("https://e.com/d/f"))
    assert parser.sitemaps == ["https://e.com/s"]
    assert robotstxt.parse("User-agent: other\nDisallow: /", "CrawlerBot/1").allowed("/")


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


# What must hold for every file


@given(st.text(), st.text().map("/".__add__), st.text())
def test_no_face_ever_fails_on_what_a_site_writes(text: str, url: str, agent: str) -> None:
    lines = RobotFileParser()
    lines.parse(text.splitlines())
    protego, reppy = Protego.parse(text, "rfc9309"), Reppy.parse("", text)
    whole = url if path_of(url, 0, False) else f"/{url}"  # the originals answer about any text
    expected = comity.parse("\n".join(text.splitlines())).allowed(whole, agent)
    assert lines.can_fetch(agent, url) is expected
    assert protego.can_fetch(url, agent) is comity.parse(text).allowed(whole, agent)
    assert isinstance(reppy.allowed(url, agent), bool)
    assert isinstance(robotstxt.parse(text, agent).allowed(url), bool)
    str(lines)


@given(st.text() | st.from_regex(r"[0-9]+/[0-9]+[smhd]?( [0-9:]+-[0-9:]+)?", fullmatch=True))
def test_a_rate_is_none_or_can_be_waited_for(value: str) -> None:
    assert all(rate.requests > 0 and rate.seconds > 0 for rate in request_rates([value]))
    visit_time([value])


def test_drop_ins_answer_about_text_that_is_no_url_as_their_originals_do() -> None:
    text = "User-agent: *\nDisallow: /private\n"
    parser = RobotFileParser()
    parser.parse(text.splitlines())
    ruby, rep = robotstxt.parse(text, "x"), Reppy.parse("https://h/robots.txt", text)
    for odd, allowed in (("", True), ("MyBot", True), ("private/x", False)):
        assert parser.can_fetch("x", odd) is allowed
        assert Protego.parse(text).can_fetch(odd, "x") is allowed
        assert ruby.allowed(odd) is allowed
        assert rep.allowed(odd, "x") is allowed
        assert rep.agent("x").allowed(odd) is allowed


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
