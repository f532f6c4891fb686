"""Drop-in replacements without their fetching: programs written for other parsers keep their calls. What contradicts
RFC 9309 is in tables; what fetches is tested in tests/compat."""

import urllib.robotparser
from datetime import time
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity_robots import parse
from comity_robots.compat import NeedsNetwork, robotstxt
from comity_robots.compat.protego import Protego
from comity_robots.compat.reppy import Robots as Reppy
from comity_robots.compat.robotparser import RequestRate, RobotFileParser
from comity_robots.engine import path_of
from comity_robots.errors import InvalidSetting, InvalidURL
from comity_robots.rates import RequestRate as Rate
from comity_robots.rates import VisitTime, request_rates, visit_time

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
    robots = parse(
        "Request-rate: 9/9\nUser-agent: *\nRequest-rate: 1/5\nVisit-time: 0100-0200\nDisallow: /x\n\n"
        "User-agent: one\nUser-agent: two\nRequest-rate: soon\nRequest-rate: 2/6\n\nUser-agent: three\nDisallow:\n"
    )
    assert robots.request_rate("Other/1.0") == Rate(1, 5)
    assert robots.request_rate("ONE") == robots.request_rate("two/3") == Rate(2, 6)
    assert robots.visit_time("other") == VisitTime(time(1), time(2))
    # One that has lines of its own takes nothing from those for everybody.
    assert robots.request_rate("three") is None
    assert robots.visit_time("one") is None
    assert parse("Request-rate: 1/5").request_rate("x") is None


def test_of_several_rates_all_are_known_and_the_slowest_is_the_one() -> None:
    robots = parse("User-agent: *\nRequest-rate: 1/1s 0000-0001\nRequest-rate: soon\nRequest-rate: 2/6")
    assert robots.request_rates("x") == (Rate(1, 1, time(0), time(0, 1)), Rate(2, 6))
    assert robots.request_rate("x") == Rate(2, 6)
    assert parse("").request_rates("x") == ()


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
    with pytest.raises(InvalidURL):
        Reppy.robots_url(url)


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


# What must hold for every file


@given(st.text(), st.text().map("/".__add__), st.text())
def test_no_face_ever_fails_on_what_a_site_writes(text: str, url: str, agent: str) -> None:
    lines = RobotFileParser()
    lines.parse(text.splitlines())
    protego, reppy = Protego.parse(text, "rfc9309"), Reppy.parse("", text)
    whole = url if path_of(url, 0, False) else f"/{url}"  # the originals answer about any text
    expected = parse("\n".join(text.splitlines())).allowed(whole, agent)
    assert lines.can_fetch(agent, url) is expected
    assert protego.can_fetch(url, agent) is parse(text).allowed(whole, agent)
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


def test_what_fetches_names_the_package_that_does() -> None:
    for fetch in (
        RobotFileParser("https://e.com/robots.txt").read,
        lambda: Reppy.fetch("https://e.com/robots.txt", life=60),
        lambda: robotstxt.get("https://e.com/", "x"),
        lambda: robotstxt.get_allowed("https://e.com/", "x"),
    ):
        with pytest.raises(NeedsNetwork, match="pip install comity"):
            fetch()


@pytest.mark.parametrize(("status", "allowed"), [(200, False), (401, False), (404, True), (503, False)])
def test_an_answer_that_was_fetched_otherwise_counts_as_in_the_standard_library(status: int, allowed: bool) -> None:
    parser = RobotFileParser()
    parser.read_response(status, b"User-agent: *\nDisallow: /d")
    assert parser.can_fetch("x", "/d") is allowed
    assert bool(parser.mtime()) is (status == 200)


def test_a_charset_of_urls_is_named_as_python_does() -> None:
    parser = robotstxt.Parser("User-agent: *\nDisallow: /k\u00e4se", "x", "latin-1")
    assert (parser.allowed("/k\u00e4se"), parser.allowed("/k%E4se"), parser.allowed("/k%C3%A4se")) == (
        False,
        False,
        True,
    )
    for odd in ("klingon", "zlib_codec"):
        with pytest.raises(InvalidSetting, match="url_charset"):
            robotstxt.Parser("", "x", odd)
