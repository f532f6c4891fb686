"""What only Scrapy does: its own robots check with our parser, X-Robots-Tag in the meta, many hosts in one crawl."""

import subprocess
import sys
from pathlib import Path

import pytest
from examples import first_of
from libraries import REFUSED, need, run_scrapy
from sites import HANGS, Site

import comity

FAST = comity.Policy(agent="MyBot/1.0", min_interval=0, robots_fetch_counts=False)


def test_x_robots_tag_is_read_for_our_agent(site: Site) -> None:  # covers: W11
    site.set("/robots.txt", "")
    site.set("/all", "page", headers={"X-Robots-Tag": "noindex"})
    site.set("/ours", "page", headers={"X-Robots-Tag": "mybot: noindex"})
    site.set("/theirs", "page", headers={"X-Robots-Tag": "otherbot: noindex"})
    urls = [site.url(path) for path in ("/all", "/ours", "/theirs")]
    assert run_scrapy(FAST, urls, False) == ([[200, True], [200, True], [200, False]], 0)


def test_a_retry_waits_for_its_turn(site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nCrawl-delay: 0.2\n")
    site.set("/down", status=500)
    outcomes, _ = run_scrapy(FAST, [site.url("/down")], False, RETRY_ENABLED=True, RETRY_TIMES=2)
    assert outcomes == [[500, False]]
    assert site.paths() == ["/robots.txt", "/down", "/down", "/down"]
    assert min(site.intervals()[1:]) >= 0.2


def test_a_slow_host_does_not_keep_a_quick_one_waiting(site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nCrawl-delay: 1\n")
    with Site("127.0.0.2") as quick:
        quick.set("/robots.txt", "")
        urls = []
        for number in range(3):
            site.set(f"/{number}", "page")
            quick.set(f"/{number}", "page")
            urls += [site.url(f"/{number}"), quick.url(f"/{number}")]
        outcomes, _ = run_scrapy(FAST, urls, True)
        assert outcomes == [[200, False]] * 6
        assert quick.seen[-1].time < site.seen[-1].time - 1.0
    assert min(site.intervals()[1:]) >= 1.0


def test_what_scrapys_cache_holds_is_neither_asked_about_nor_fetched(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", "")
    site.set("/page", "page")
    settings = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    for _ in range(2):
        assert run_scrapy(FAST, [site.url("/page")], False, **settings) == ([[200, False]], 0)
    assert site.paths() == ["/robots.txt", "/page"]


# One request at a time: of several that wait for one robots.txt, the check of Scrapy 2.19 lets all but two through.
PARSER = """
import sys
import scrapy
from scrapy.crawler import CrawlerProcess

class Spider(scrapy.Spider):
    name = "test"
    start_urls = sys.argv[1:]
    custom_settings = {"ROBOTSTXT_OBEY": True, "CONCURRENT_REQUESTS": 1, "LOG_LEVEL": "ERROR",
        "USER_AGENT": "MyBot/1.0", "ROBOTSTXT_PARSER": "comity.middleware.scrapy.ComityRobotParser"}
    def parse(self, response):
        print("got", response.url)

process = CrawlerProcess()
process.crawl(Spider)
process.start()
"""


@pytest.mark.long
def test_the_parser_alone_serves_scrapys_own_check(site: Site) -> None:
    need("scrapy")
    # Of two groups for one agent both count, and of two rules the longer: RFC 9309, 2.2.1 and 2.2.2.
    site.set("/robots.txt", "User-agent: mybot\nDisallow: /a\nUser-agent: MyBot\nAllow: /a/open\nDisallow: /b*.pdf$\n")
    paths = ("/a/1", "/a/open", "/b.pdf", "/b.pdf?x")
    for path in paths:
        site.set(path, "page")
    urls = [site.url(path) for path in paths]
    output = subprocess.run(
        [sys.executable, "-c", PARSER, *urls], capture_output=True, text=True, timeout=HANGS, check=True
    )
    assert set(output.stdout.splitlines()) == {f"got {site.url('/a/open')}", f"got {site.url('/b.pdf?x')}"}
    assert sorted(site.paths()) == ["/a/open", "/b.pdf?x", "/robots.txt"]


def test_the_parser_knows_crawl_delay() -> None:
    need("scrapy")
    from comity.middleware.scrapy import ComityRobotParser

    parser = ComityRobotParser(b"User-agent: MyBot\nCrawl-delay: 1.5\n\xff\xfe")
    assert parser.crawl_delay(b"MyBot/1.0") == 1.5
    assert parser.crawl_delay("OtherBot") is None
    assert parser.allowed(b"https://example.com/\xff", b"MyBot")
    assert not ComityRobotParser(b"User-agent: *\nDisallow: /\n").allowed("https://example.com/", "MyBot")


@pytest.mark.parametrize("obeys", first_of(True, False))
def test_the_add_on_puts_the_middleware_in_place_and_warns_of_a_second_check(site: Site, obeys: bool) -> None:
    need("scrapy")
    site.set("/robots.txt", "User-agent: *\nDisallow: /private\n")
    site.set("/open", "page")
    program = PARSER.replace('"ROBOTSTXT_OBEY": True', f'"ROBOTSTXT_OBEY": {obeys}').replace(
        '"LOG_LEVEL": "ERROR"', '"ADDONS": {"comity.middleware.scrapy.ComityAddon": 0}, "LOG_LEVEL": "WARNING"'
    )
    urls = [site.url("/open"), site.url("/private")]
    ran = subprocess.run(
        [sys.executable, "-c", program, *urls], capture_output=True, text=True, timeout=HANGS, check=True
    )
    assert ran.stdout == f"got {urls[0]}\n"
    assert site.paths().count("/robots.txt") == 1 + obeys, "Scrapy fetches it once more for its own check"
    assert ("set ROBOTSTXT_OBEY = False" in ran.stderr) is obeys


@pytest.mark.long
def test_what_is_not_on_the_web_is_not_asked_about() -> None:
    need("scrapy")
    urls = ["data:text/plain,hello", "file:///etc/hostname"]
    program = PARSER.replace('"ROBOTSTXT_OBEY": True', '"ROBOTSTXT_OBEY": False').replace(
        '"LOG_LEVEL"', '"DOWNLOADER_MIDDLEWARES": {"comity.middleware.scrapy.ComityMiddleware": 950}, "LOG_LEVEL"'
    )
    output = subprocess.run(
        [sys.executable, "-c", program, *urls], capture_output=True, text=True, timeout=HANGS, check=True
    )
    assert sorted(output.stdout.splitlines()) == [f"got {url}" for url in urls]


def test_refused_requests_reach_the_errback_with_the_decision(site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /no\n")
    assert run_scrapy(FAST, [site.url("/no")], False) == ([[REFUSED, False]], 1)


def test_a_refused_request_is_one_line_of_scrapys_log(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /no\n")
    settings = {"LOG_LEVEL": "INFO", "LOG_FILE": str(tmp_path / "log")}
    run_scrapy(FAST, [site.url("/no")], False, **settings)
    (line,) = (line for line in (tmp_path / "log").read_text().splitlines() if "/no>" in line)
    assert line.endswith("line 2, 'Disallow: /no', disallows /no")
