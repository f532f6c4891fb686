"""Drop-in faces: what people call today goes on working, with answers by RFC 9309."""

import datetime
import io
import unittest
from urllib.parse import urlsplit

import pytest
from conftest import missing
from sites import Site

import comity
from comity.integrations import robotstxt
from comity.integrations.protego import Protego
from comity.integrations.reppy import AllowAll, AllowNone, Robots
from comity.integrations.robotparser import RobotFileParser

LOOPBACK = comity.Policy(mode="ignore", min_interval=0, allow_addresses=("127.0.0.0/8",))

# Cases of CPython's own test that contradict RFC 9309, and why.
CONTRADICTING = {
    "UserAgentGoogleMobileTest.test_bad_urls": "2.2.1: Googlebot-Mobile has a group of its own",
    "UseFirstUserAgentWildcardTest.test_good_urls": "2.2.1: all groups for `*` are merged, not only the first read",
}


def test_cpythons_own_test_passes_through_the_face(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        from test import test_robotparser as theirs
    except ImportError:
        missing("CPython's own test package", "it comes with the interpreter, but some distributions leave it out")
        return

    class OnLoopback(RobotFileParser):
        policy = LOOPBACK

    monkeypatch.setattr("urllib.robotparser.RobotFileParser", OnLoopback)
    suite = unittest.TestSuite()
    count = 0
    for case in _cases(unittest.defaultTestLoader.loadTestsFromModule(theirs)):
        name = ".".join(case.id().split(".")[-2:])
        if name not in CONTRADICTING and not name.startswith(("NetworkTestCase", "setUpClass")):
            suite.addTest(case)
            count += 1
    report = io.StringIO()
    result = unittest.TextTestRunner(stream=report).run(suite)
    print(f"CPython's test_robotparser: {count} run, {len(CONTRADICTING)} left out as contradicting RFC 9309")
    assert result.wasSuccessful(), report.getvalue()
    assert count > 40


def _cases(suite: unittest.TestSuite) -> list[unittest.TestCase]:
    found: list[unittest.TestCase] = []
    for member in suite:
        found += _cases(member) if isinstance(member, unittest.TestSuite) else [member]  # type: ignore[list-item]
    return found


@pytest.mark.parametrize(
    ("status", "allowed"), [(200, False), (404, True), (403, False), (401, False)], ids=["200", "404", "403", "401"]
)
def test_the_standard_librarys_face_reads_over_the_network(site: Site, status: int, allowed: bool) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /x\n", status=status)

    class OnLoopback(RobotFileParser):
        policy = LOOPBACK

    parser = OnLoopback(site.url("/robots.txt"))
    assert not parser.can_fetch("MyBot", site.url("/y")), "nothing was read yet"
    parser.read()
    assert parser.can_fetch("MyBot", site.url("/x")) is allowed


def test_protegos_face() -> None:
    robots = Protego.parse(
        "User-agent: *\nDisallow: /private\nAllow: /private/open\nCrawl-delay: 4\nRequest-rate: 1/10s 0600-0845\n"
        "Visit-time: 2200 - 0400\nSitemap: https://h/s.xml\nHost: h\nUser-agent: goo\nDisalow: /g\n"
    )
    assert not robots.can_fetch("https://h/private", "MyBot")
    assert robots.can_fetch("https://h/private/open", "MyBot")
    assert not robots.can_fetch("https://h/g", "Googlebot")
    assert robots.crawl_delay("MyBot") == 4.0
    rate, hours = robots.request_rate("MyBot"), robots.visit_time("MyBot")
    assert rate is not None
    assert (rate.requests, rate.seconds, rate.start_time) == (1, 10, datetime.time(6))
    assert hours is not None
    assert (hours.start_time, hours.end_time) == (datetime.time(22), datetime.time(4))
    assert list(robots.sitemaps) == ["https://h/s.xml"]
    assert robots.preferred_host == "h"
    with pytest.raises(ValueError, match="str"):
        Protego.parse(b"User-agent: *")  # type: ignore[arg-type]


def test_reppys_face(site: Site) -> None:
    robots = Robots.parse("https://h/robots.txt", "User-agent: my\nDisallow: /x\nCrawl-delay: 2\nSitemap: https://h/s")
    assert not robots.allowed("https://h/x", "my")
    assert robots.agent("my").allowed("/y")
    assert robots.agent("my").delay == 2
    assert robots.sitemaps == ["https://h/s"]
    assert Robots.robots_url("https://user@h:8443/a?b") == "https://h:8443/robots.txt"
    assert AllowAll("https://h/robots.txt").allowed("/x", "my")
    assert not AllowNone("https://h/robots.txt").allowed("/x", "my")
    site.set("/robots.txt", status=403)
    assert not Robots.fetch(site.url("/robots.txt"), LOOPBACK).allowed("/x", "my")


# covers: R1, R2
def test_the_gems_parser_holds_one_agent_and_takes_any_urlish() -> None:
    parser = robotstxt.parse("User-agent: Crawl*\nDisallow: /a%20b\nSitemap: https://h/s.xml\n", "Crawler")
    assert not parser.allowed("https://h/a b?x")
    assert not parser.allowed("/a%20b")
    assert not parser.allowed(urlsplit("https://h/a%20b"))
    assert parser.allowed("/index.html")
    assert parser.allowed("")
    assert parser.sitemaps == ["https://h/s.xml"]


# covers: R1, R2, R3, R5
@pytest.mark.parametrize(("status", "allowed"), [(200, False), (401, False), (403, False), (404, True), (500, True)])
def test_the_gems_get_by_status(site: Site, status: int, allowed: bool) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /x\n", status=status)
    assert robotstxt.get_allowed(site.url("/x?deep/path"), "Crawler", policy=LOOPBACK) is allowed
    with comity.Client(LOOPBACK) as client:
        assert robotstxt.get(site.url("/elsewhere"), "Crawler", client=client).allowed("/x") is allowed
        assert robotstxt.get_allowed(urlsplit(site.url("/x")), "Crawler", client=client) is allowed
    assert set(site.paths()) == {"/robots.txt"}


# covers: R4, R5
def test_the_gems_get_follows_redirects_and_converts_charsets(site: Site) -> None:
    site.set("/robots.txt", status=302, headers={"Location": "/r1"})
    for hop in range(1, 5):
        site.set(f"/r{hop}", status=302, headers={"Location": f"/r{hop + 1}"})
    site.set("/r5", "User-agent: *\nDisallow: /käse\n".encode("latin-1"), content_type="text/plain; charset=iso-8859-1")
    assert not robotstxt.get_allowed(site.url("/k%C3%A4se"), "Crawler", policy=LOOPBACK)
    assert robotstxt.get_allowed(site.url("/k%C3%A4se"), "Crawler", policy=LOOPBACK, num_redirects=4)
    unreachable = "http://127.0.0.1:9/x"
    assert robotstxt.get_allowed(unreachable, "Crawler", policy=LOOPBACK, http_timeout=1)


@pytest.mark.parametrize("value", ["", "9/banana", "0/5", "1/0", "1/5 2500-2600", "1/5x", "/", "1"])
def test_a_rate_that_cannot_be_read_is_none(value: str) -> None:
    assert comity.parse(f"User-agent: *\nRequest-rate: {value}").request_rate("x") is None
