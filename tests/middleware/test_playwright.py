"""What only a browser does: parts of pages, addresses that change, forms, scripts. A real Chromium."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from aiohttp import web
from libraries import shell
from sites import HANGS, Site

import comity

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FAST = comity.Policy(agent="MyBot/1.0", min_interval=0, robots_fetch_counts=False, allow_addresses=("127.0.0.0/8",))


@pytest.fixture
def other() -> Iterator[Site]:
    with Site() as other:
        yield other


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    path = shell()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=path) as browser:
        yield browser


@pytest.fixture
def page(request: pytest.FixtureRequest, browser: "Browser") -> Iterator["Page"]:
    """A page whose requests all ask first; its marker `policy` says with which policy."""
    from comity.middleware.playwright import ComityRoutes

    with (
        comity.Client(getattr(request, "param", FAST)) as client,
        browser.new_context(user_agent=client.policy.agent, service_workers="block") as context,
    ):
        context.set_default_timeout(HANGS * 1000)
        context.route("**/*", ComityRoutes(client))
        yield context.new_page()


def test_parts_of_a_page_are_asked_about_too(page: "Page", site: Site, other: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /private\n")
    other.set("/robots.txt", "User-agent: *\nDisallow: /\n")
    site.set("/style.css", "p { color: rgb(1, 2, 3) }", content_type="text/css")
    site.set("/private/a.js", "document.title = 'ran'", content_type="text/javascript")
    site.set(
        "/",
        f'<title>still</title><link rel=stylesheet href=/style.css><script src="/private/a.js"></script>'
        f'<p>x<img src="{other.url("/a.png")}"><iframe src="/private/frame"></iframe>',
    )
    page.goto(site.url("/"))
    assert page.title() == "still"
    assert page.evaluate("getComputedStyle(document.querySelector('p')).color") == "rgb(1, 2, 3)"
    assert sorted(site.paths()) == ["/", "/robots.txt", "/style.css"]
    assert other.paths() == ["/robots.txt"]


@pytest.mark.parametrize(
    "page", [FAST.with_changes(min_interval=0.1, robots_fetch_counts=True)], indirect=True, ids=["0.1 s"]
)
def test_parts_of_a_page_are_paced(page: "Page", site: Site) -> None:
    site.set("/robots.txt", "")
    for number in range(4):
        site.set(f"/{number}.js", "1", content_type="text/javascript")
    site.set("/", "".join(f"<script src=/{number}.js></script>" for number in range(4)))
    page.goto(site.url("/"))
    assert len(site.seen) == 6
    assert min(site.intervals()) >= 0.1


PACED = FAST.with_changes(min_interval=0.1, robots_fetch_counts=True)


def parted(site: Site) -> None:
    """A page of three files."""
    site.set("/robots.txt", "")
    for number in range(2):
        site.set(f"/{number}.js", "1", content_type="text/javascript")
    site.set("/", "".join(f"<script src=/{number}.js></script>" for number in range(2)))


def test_a_page_and_its_client_keep_one_pace(browser: "Browser", site: Site) -> None:
    from comity.middleware.playwright import ComityRoutes

    parted(site)
    with (
        comity.Client(PACED) as client,
        browser.new_context(user_agent=PACED.agent, service_workers="block") as context,
        ThreadPoolExecutor(1) as thread,
    ):
        context.set_default_timeout(HANGS * 1000)
        context.route("**/*", ComityRoutes(client))
        page = context.new_page()
        page.goto(site.url("/"))
        client.get(site.url("/after"))
        beside = [thread.submit(client.get, site.url(f"/beside/{number}")) for number in range(3)]
        page.goto(site.url("/"))
        assert [each.result().status for each in beside] == [404] * 3
        assert client.inspect().keys() == {site.url("").removesuffix("/")}
    assert len(site.seen) == 11
    assert min(site.intervals()) >= 0.1


def test_a_page_and_its_client_keep_one_pace_on_an_event_loop(site: Site) -> None:
    path = shell()
    from playwright.async_api import async_playwright

    from comity.middleware.playwright import AsyncComityRoutes

    async def run() -> None:
        async with (
            comity.AsyncClient(PACED) as client,
            async_playwright() as playwright,
            await playwright.chromium.launch(executable_path=path) as browser,
            await browser.new_context(user_agent=PACED.agent, service_workers="block") as context,
        ):
            context.set_default_timeout(HANGS * 1000)
            await context.route("**/*", AsyncComityRoutes(client))
            page = await context.new_page()
            await page.goto(site.url("/"))
            await client.get(site.url("/after"))
            beside = (client.get(site.url(f"/beside/{number}")) for number in range(3))
            await asyncio.gather(page.goto(site.url("/")), *beside)

    parted(site)
    with ThreadPoolExecutor(1) as thread:  # in this one the sync API has its loop
        thread.submit(lambda: asyncio.run(run())).result()
    assert len(site.seen) == 11
    assert min(site.intervals()) >= 0.1


def test_a_busy_answer_to_a_page_holds_its_client_back(browser: "Browser", site: Site) -> None:
    from comity.middleware.playwright import ComityRoutes

    site.set("/robots.txt", "")
    site.set("/busy", "busy", status=503, headers={"Retry-After": "86400"})
    with (
        comity.Client(FAST) as client,
        browser.new_context(user_agent=FAST.agent, service_workers="block") as context,
    ):
        context.set_default_timeout(HANGS * 1000)
        context.route("**/*", ComityRoutes(client))
        context.new_page().goto(site.url("/busy"))
        with pytest.raises(comity.Postponed):
            client.get(site.url("/"))
    assert site.paths() == ["/robots.txt", "/busy"]


def test_a_document_that_moved_has_its_new_address(page: "Page", site: Site, other: Site) -> None:
    site.set("/robots.txt", "")
    site.set("/moved", status=301, headers={"Location": other.url("/new/place?a=%C3%A9&b='\"</script>")})
    target = other.url("/new/place?a=%C3%A9&b=%27%22%3C/script%3E")
    other.set("/robots.txt", "")
    other.set("/new/place?a=%C3%A9&b=%27%22%3C/script%3E", '<a href="next">next</a>')
    page.goto(site.url("/moved"))
    assert page.url == target
    assert page.evaluate("document.querySelector('a').href") == other.url("/new/next")
    assert page.evaluate("origin") == other.url("").rstrip("/")
    assert len(other.paths()) == 2, "the document was fetched once"


def test_an_endless_redirect_is_given_up(page: "Page", site: Site) -> None:
    from playwright.sync_api import Error

    site.set("/robots.txt", "")
    site.set("/loop", status=302, headers={"Location": "/loop"})
    with pytest.raises(Error, match="ERR_FAILED"):
        page.goto(site.url("/loop"))
    assert site.paths().count("/loop") == 21


@pytest.mark.parametrize("after", ["/done", "/form"])
def test_a_form_leads_to_its_answer(page: "Page", site: Site, after: str) -> None:
    async def form(request: web.Request) -> web.Response:
        if request.method == "POST":
            assert (await request.post())["q"] == "é"
            return web.Response(status=303, headers={"Location": after})
        text = '<meta charset=utf-8><form method=post><input name=q value="é"><input type=submit></form>'
        return web.Response(text=text, content_type="text/html")

    site.set("/robots.txt", "")
    site.set("/form", form)
    site.set("/done", "<p>thanks")
    page.goto(site.url("/form"))
    with page.expect_request_finished(lambda request: request.method == "GET" and request.url == site.url(after)):
        page.click("[type=submit]")
    page.wait_for_url(site.url(after))
    asked = [(seen.method, seen.path) for seen in site.seen][1:]
    assert asked == [("GET", "/form"), ("POST", "/form"), ("GET", after)]


def test_a_script_gets_nothing_of_another_site_by_a_redirect(page: "Page", site: Site, other: Site) -> None:
    site.set("/robots.txt", "")
    site.set("/", "page")
    site.set("/here", "mine")
    site.set("/same", status=302, headers={"Location": "/here"})
    site.set("/away", status=302, headers={"Location": other.url("/secret")})
    other.set("/robots.txt", "")
    other.set("/secret", "secret")
    page.goto(site.url("/"))
    read = "url => fetch(url).then(answer => answer.text(), error => 'nothing')"
    assert page.evaluate(read, "/same") == "mine"
    assert page.evaluate(read, "/away") == "nothing"
    assert other.paths() == []


def test_a_stream_without_an_end_does_not_hold_its_host(page: "Page", site: Site) -> None:
    site.set("/robots.txt", "")
    site.set("/", "<script>stream = new EventSource('/events')</script>page")
    site.set("/next", "next")
    page.goto(site.url("/"))
    page.wait_for_function("stream.readyState === EventSource.CLOSED || stream.readyState === EventSource.CONNECTING")
    page.goto(site.url("/next"))
    assert site.paths() == ["/robots.txt", "/", "/next"]
