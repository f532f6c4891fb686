"""Other people's HTTP libraries, browsers and crawlers, wrapped: each really runs against a real server."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from aiohttp import web
from examples import first_of
from libraries import ALL, FAILED, POSTPONED, REFUSED, Fetch
from raw import RawSite, answer
from sites import Site

import comity
from comity_pages import urls

AGENT = "MyBot/1.0 (+https://example.org/bot)"
FAST = comity.Policy(agent=AGENT, min_interval=0, robots_fetch_counts=False, allow_addresses=("127.0.0.0/8",))
PACED = comity.Policy(agent=AGENT, min_interval=0.05, backoff=0.1, allow_addresses=("127.0.0.0/8",))


@pytest.fixture(params=first_of(*ALL, now=7))  # not Playwright, which has tests of its own
def fetch(request: pytest.FixtureRequest) -> Fetch:
    return ALL[request.param]


@pytest.fixture
def other() -> Iterator[Site]:
    """A second site, on a port of its own."""
    with Site() as other:
        yield other


def test_what_is_disallowed_is_refused_and_never_reaches_the_server(fetch: Fetch, site: Site) -> None:  # covers: L1
    site.set("/robots.txt", "User-agent: MyBot\nDisallow: /private\n")
    site.set("/open", "hello")
    site.set("/private/page", "secret")
    assert fetch(FAST, [site.url("/open"), site.url("/private/page")], False) == [200, REFUSED]
    assert site.paths()[0] == "/robots.txt"
    assert site.paths()[1:] == ["/open"]


def test_robots_txt_is_asked_for_once_however_many_wait(fetch: Fetch, site: Site) -> None:  # covers: L2
    site.set("/robots.txt", "User-agent: *\nDisallow: /no\n")
    for number in range(4):
        site.set(f"/{number}", "page")
    urls = [site.url(f"/{number}") for number in range(4)]
    assert fetch(FAST, [*urls, site.url("/no")], True) == [200, 200, 200, 200, REFUSED]
    assert site.paths().count("/robots.txt") == 1
    assert sorted(site.paths()[1:]) == ["/0", "/1", "/2", "/3"]


def test_the_sites_crawl_delay_is_kept_by_the_servers_clock(fetch: Fetch, site: Site) -> None:  # covers: L6
    site.set("/robots.txt", "User-agent: *\nCrawl-delay: 0.2\n")
    urls = []
    for number in range(3):
        site.set(f"/{number}", "page")
        urls.append(site.url(f"/{number}"))
    assert fetch(PACED, urls, True) == [200, 200, 200]
    assert len(site.seen) == 4
    assert min(site.intervals()[1:]) >= 0.2
    assert site.intervals()[0] >= 0.05


def test_redirects_of_robots_txt_keep_the_pace(fetch: Fetch, site: Site) -> None:
    site.set("/robots.txt", status=301, headers={"Location": "/2"})
    site.set("/2", status=302, headers={"Location": "/3"})
    site.set("/3", "User-agent: *\nDisallow: /no\n")
    site.set("/yes", "page")
    assert fetch(PACED, [site.url("/yes"), site.url("/no")], False) == [200, REFUSED]
    assert site.paths() == ["/robots.txt", "/2", "/3", "/yes"]
    assert min(site.intervals()) >= 0.05


def test_a_redirect_to_what_is_disallowed_is_refused(fetch: Fetch, site: Site, other: Site) -> None:  # covers: W2
    site.set("/robots.txt", "User-agent: *\nDisallow: /private\n")
    other.set("/robots.txt", "User-agent: *\nDisallow: /theirs\n")
    site.set("/redirect/here", status=302, headers={"Location": "/private"})
    site.set("/redirect/there", status=302, headers={"Location": other.url("/theirs")})
    urls = [site.url("/redirect/here"), site.url("/redirect/there")]
    assert fetch(FAST, urls, False) == [REFUSED, REFUSED]
    assert site.paths() == ["/robots.txt", "/redirect/here", "/redirect/there"]
    assert other.paths() == ["/robots.txt"]


def test_a_redirect_to_what_is_allowed_is_followed(fetch: Fetch, site: Site, other: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nCrawl-delay: 0.1\n")
    site.set("/redirect/a", status=301, headers={"Location": "/redirect/b"})
    site.set("/redirect/b", status=302, headers={"Location": other.url("/end")})
    other.set("/robots.txt", "")
    other.set("/end", "page")
    assert fetch(PACED, [site.url("/redirect/a")], False) == [200]
    assert site.paths() == ["/robots.txt", "/redirect/a", "/redirect/b"]
    assert site.intervals()[1] >= 0.1
    assert other.paths() == ["/robots.txt", "/end"]


def test_robots_txt_is_asked_for_by_the_agent_that_then_fetches(fetch: Fetch, site: Site) -> None:
    site.set("/robots.txt", "User-agent: MyBot\nAllow: /\n")
    site.set("/", "page")
    assert fetch(FAST, [site.url("/")], False) == [200]
    assert [seen.headers["User-Agent"] for seen in site.seen] == [AGENT, AGENT]


def test_an_unreachable_robots_txt_refuses_everything_and_is_not_asked_again(fetch: Fetch, site: Site) -> None:
    site.set("/robots.txt", "down", status=503)
    assert fetch(FAST, [site.url("/a"), site.url("/b")], False) == [REFUSED, REFUSED]  # covers: F13
    assert site.paths() == ["/robots.txt"]


def test_a_missing_robots_txt_allows_everything(fetch: Fetch, site: Site) -> None:
    site.set("/a", "page")
    assert fetch(FAST, [site.url("/a"), site.url("/b")], False) == [200, 404]


def test_robots_txt_is_followed_to_another_host_and_governs_the_first(fetch: Fetch, site: Site, other: Site) -> None:
    site.set("/robots.txt", status=301, headers={"Location": other.url("/rules.txt")})
    other.set("/rules.txt", "User-agent: *\nDisallow: /no\n")
    site.set("/yes", "page")
    assert fetch(FAST, [site.url("/yes"), site.url("/no")], False) == [200, REFUSED]
    assert other.paths() == ["/rules.txt"]
    assert site.paths() == ["/robots.txt", "/yes"]


def test_retry_after_is_kept(fetch: Fetch, site: Site) -> None:  # covers: L13
    site.set("/busy", "later", status=429, headers={"Retry-After": "1"})
    site.set("/page", "page")
    assert fetch(FAST, [site.url("/busy"), site.url("/page")], False) == [429, 200]
    assert site.paths() == ["/robots.txt", "/busy", "/page"]
    assert site.intervals()[1] >= 1.0


def test_a_failed_request_gives_its_turn_back(fetch: Fetch, site: Site) -> None:
    async def hang_up(request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    site.set("/robots.txt", "")
    site.set("/broken", hang_up)
    site.set("/page", "page")
    assert fetch(PACED, [site.url("/broken"), site.url("/page")], False) == [FAILED, 200]
    assert min(site.intervals()) >= 0.05, site.paths()


def test_a_site_cannot_hold_a_caller_for_ever(fetch: Fetch, site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nCrawl-delay: 99999999999\n")
    assert fetch(PACED, [site.url("/a"), site.url("/b")], True) == [POSTPONED, POSTPONED]
    assert site.paths() == ["/robots.txt"]


def test_a_host_that_fails_is_left_alone_where_the_policy_says_so(fetch: Fetch, site: Site) -> None:
    site.set("/robots.txt", "")
    site.set("/down", "down", status=500)
    policy = FAST.with_changes(breaker_failures=1)
    assert fetch(policy, [site.url("/down"), site.url("/page")], False) == [500, POSTPONED]
    assert site.paths() == ["/robots.txt", "/down"]


def test_comity_itself_imports_no_library_that_it_wraps() -> None:
    program = """
import sys, comity
print(sorted({'httpx', 'httpx2', 'requests', 'scrapy', 'playwright', 'aiohttp'} & {*sys.modules}))
import comity.middleware.httpx
print(sorted({'httpx', 'httpx2'} & {*sys.modules}))
"""
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "[]\n[]\n"


ODD_PATHS = ["/secret?", "/a/%2e%2e/secret", "/a/%2E%2e/b", "/%7eu?", "/x?a=|b'%7e", "/a//b??", "/[x]^y?#f", "/a/../b?"]


# covers: W1
def test_what_is_decided_about_is_what_each_library_sends(fetch: Fetch) -> None:
    rules = b"User-agent: *\nDisallow: /secret$\nDisallow: /a/%2e\nDisallow: /a/%2E\n"
    with RawSite() as raw:
        raw.pages["/robots.txt"] = answer(rules)
        for number, target in enumerate(("/secret?", "/c/%2e%2e/secret", "/d?")):
            raw.pages[f"/redirect{number}"] = answer(b"", f"Location: {target}", status="302 Found")
        paths = [*ODD_PATHS, *(f"/redirect{number}" for number in range(3))]
        outcomes = fetch(FAST, [raw.url(path) for path in paths], False)
        robots, asked = comity.parse(rules), raw.targets()
        assert 2 <= outcomes.count(REFUSED) <= 4, "some leave out an empty query: they ask for /secret"
        assert set(outcomes) == {200, REFUSED}
        assert "/robots.txt" in asked
        for target in asked:
            assert robots.allowed(raw.url(target), AGENT), f"{target} was sent, though it is disallowed"
            assert urls.normalise(raw.url(target)) == raw.url(target), f"{target} is not what was decided about"
