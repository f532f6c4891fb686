"""What only a browser does: parts of pages, addresses that change, forms, scripts. A real Chromium."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from aiohttp import web
from libraries import chromium, need, shell
from sites import HANGS, Site

import comity

if TYPE_CHECKING:
    from playwright.async_api import Browser as AsyncBrowser
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
        ComityRoutes(client).new_context(browser) as context,
    ):
        context.set_default_timeout(HANGS * 1000)
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


@pytest.mark.long
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
        ComityRoutes(client).new_context(browser) as context,
        ThreadPoolExecutor(1) as thread,
    ):
        context.set_default_timeout(HANGS * 1000)
        page = context.new_page()
        page.goto(site.url("/"))
        client.get(site.url("/after"))
        beside = [thread.submit(client.get, site.url(f"/beside/{number}")) for number in range(3)]
        page.goto(site.url("/"))
        assert [each.result().status for each in beside] == [404] * 3
        assert client.inspect().keys() == {site.url("").removesuffix("/")}
    assert len(site.seen) == 11
    assert min(site.intervals()) >= 0.1


@pytest.mark.long
def test_a_page_and_its_client_keep_one_pace_on_an_event_loop(site: Site) -> None:
    path = shell()
    from playwright.async_api import async_playwright

    from comity.middleware.playwright import AsyncComityRoutes

    async def run() -> None:
        async with (
            comity.AsyncClient(PACED) as client,
            async_playwright() as playwright,
            await playwright.chromium.launch(executable_path=path) as browser,
            await AsyncComityRoutes(client).new_context(browser) as context,
        ):
            context.set_default_timeout(HANGS * 1000)
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


@pytest.mark.long
def test_a_busy_answer_to_a_page_holds_its_client_back(browser: "Browser", site: Site) -> None:
    from comity.middleware.playwright import ComityRoutes

    site.set("/robots.txt", "")
    site.set("/busy", "busy", status=503, headers={"Retry-After": "86400"})
    with (
        comity.Client(FAST) as client,
        ComityRoutes(client).new_context(browser) as context,
    ):
        context.set_default_timeout(HANGS * 1000)
        context.new_page().goto(site.url("/busy"))
        with pytest.raises(comity.Postponed):
            client.get(site.url("/"))
    assert site.paths() == ["/robots.txt", "/busy"]


@pytest.mark.long
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


@pytest.mark.long
def test_an_endless_redirect_is_given_up(page: "Page", site: Site) -> None:
    from playwright.sync_api import Error

    site.set("/robots.txt", "")
    site.set("/loop", status=302, headers={"Location": "/loop"})
    with pytest.raises(Error, match="ERR_TOO_MANY_REDIRECTS"):
        page.goto(site.url("/loop"))
    assert site.paths().count("/loop") in (20, 21)


@pytest.mark.long
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


@pytest.mark.long
def test_a_stream_without_an_end_does_not_hold_its_host(page: "Page", site: Site) -> None:
    site.set("/robots.txt", "")
    site.set("/", "<script>stream = new EventSource('/events')</script>page")
    site.set("/events", stream)
    site.set("/next", "next")
    page.goto(site.url("/"))
    page.wait_for_function("stream.readyState === EventSource.OPEN")
    page.goto(site.url("/next"))
    assert site.paths() == ["/robots.txt", "/", "/events", "/next"]


async def stream(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    await response.write(b"data: 1\n\n")
    await asyncio.Event().wait()
    return response


def test_each_hop_of_a_part_s_redirect_is_asked_about_and_paced(browser: "Browser", site: Site, other: Site) -> None:
    from comity.middleware.playwright import ComityRoutes

    site.set("/robots.txt", "User-agent: *\nDisallow: /private\n")
    other.set("/robots.txt", "User-agent: *\nDisallow: /private\n")
    for name, target in {"away": other.url("/private/a"), "back": "/private/b", "open": "/1", "1": "/2"}.items():
        site.set(f"/{name}", status=302, headers={"Location": target})
    site.set("/2", "here", content_type="text/javascript")
    site.set("/", "<script src=/open></script><img src=/away><script src=/back></script><iframe src=/back></iframe>")
    with comity.Client(PACED) as client, ComityRoutes(client).new_context(browser) as context:
        context.set_default_timeout(HANGS * 1000)
        context.new_page().goto(site.url("/"))
    assert sorted(site.paths()) == sorted(["/robots.txt", "/", "/open", "/1", "/2", "/away", "/back", "/back"])
    assert min(site.intervals()) >= 0.1
    assert other.paths() == ["/robots.txt"]


def on_a_loop(scene: Callable[["AsyncBrowser"], Awaitable[None]]) -> None:
    """Play a scene in a browser of the async API, in a thread without the sync API's loop."""
    path = shell()
    from playwright.async_api import async_playwright

    async def run() -> None:
        async with async_playwright() as playwright, await playwright.chromium.launch(executable_path=path) as browser:
            await scene(browser)

    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(run())).result()


@pytest.mark.long
def test_a_request_that_its_page_gives_up_lets_its_host_go(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    need("playwright")
    from comity.middleware import playwright

    monkeypatch.setattr(playwright, "MAX_HEAD_SECONDS", 10 * HANGS)
    settings = comity.ClientSettings(max_wait=HANGS)
    site.set("/robots.txt", "")
    site.set("/", "<script>fetch('/late')</script>")
    site.set("/late", never)

    async def scene(browser: "AsyncBrowser") -> None:
        async with comity.AsyncClient(PACED, settings=settings) as client:
            context = await playwright.AsyncComityRoutes(client).new_context(browser)
            page = await context.new_page()
            await page.goto(site.url("/"))
            async with asyncio.timeout(HANGS):
                while "/late" not in site.paths():
                    await asyncio.sleep(0.01)
            await page.close()
            assert (await client.get(site.url("/after"))).status == 404

    on_a_loop(scene)


async def never(_: web.Request) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise AssertionError


@pytest.mark.long
def test_an_answer_that_does_not_come_holds_its_host_no_longer_than_patience_lasts(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("playwright")
    from comity.middleware import playwright

    monkeypatch.setattr(playwright, "MAX_HEAD_SECONDS", 0.5)
    site.set("/robots.txt", "")
    site.set("/", "<script>fetch('/late')</script>")
    site.set("/late", never)

    async def scene(browser: "AsyncBrowser") -> None:
        async with comity.AsyncClient(PACED, settings=comity.ClientSettings(max_wait=HANGS)) as client:
            context = await playwright.AsyncComityRoutes(client).new_context(browser)
            await (await context.new_page()).goto(site.url("/"))
            assert (await client.get(site.url("/after"))).status == 404

    on_a_loop(scene)


@pytest.mark.long
def test_what_a_browser_asks_for_is_not_sent_once_the_client_is_closed(browser: "Browser", site: Site) -> None:
    from playwright.sync_api import Error

    from comity.middleware.playwright import ComityRoutes

    site.set("/robots.txt", "")
    site.set("/", "page")
    with comity.Client(FAST) as client:
        context = ComityRoutes(client).new_context(browser)
        page = context.new_page()
        page.goto(site.url("/"))
    with pytest.raises(Error, match="ERR_FAILED"):
        page.goto(site.url("/again"))
    context.close()
    assert site.paths() == ["/robots.txt", "/"]


@pytest.mark.long
def test_a_browser_is_held_back_as_long_as_one_of_the_contexts_is_open(browser: "Browser", site: Site) -> None:
    from playwright.sync_api import Error

    from comity.middleware.playwright import ComityRoutes

    site.set("/robots.txt", "User-agent: *\nDisallow: /private\n")
    site.set("/private", "secret")
    with comity.Client(FAST) as client, browser.new_context() as own:
        routes = ComityRoutes(client)
        first, second = routes.new_context(browser), routes.new_context(browser)
        for context in (first, second):
            with pytest.raises(Error, match="ERR_BLOCKED_BY_CLIENT"):
                own.new_page().goto(site.url("/private"))
            context.close()
        assert site.paths() == ["/robots.txt"]
        answer = own.new_page().goto(site.url("/private"))
        assert answer is not None
        assert answer.status == 200


UNASKED = """async ([own, udp]) => {
    const add = (name, fields) => document.body.appendChild(Object.assign(document.createElement(name), fields))
    const rules = urls => JSON.stringify({prefetch: [{urls, eagerness: 'immediate'}],
                                          prerender: [{urls, eagerness: 'immediate'}]})
    const named = add('script', {textContent: rules(['/private/named'])})
    named.remove(), named.setAttribute('type', 'speculationrules'), document.body.append(named.cloneNode(true))
    add('script', {type: 'speculationrules', textContent: rules(['/private/typed'])})
    fetchLater('/private/later', {activateAfter: 0})
    new SharedWorker('/shared.js')
    new SharedWorker(URL.createObjectURL(new Blob([`fetch('${location.origin}/private/blob')`])))
    new Worker(URL.createObjectURL(new Blob([`importScripts('${location.origin}/private/import')`])))
    fetch(own.replace('127.0.0.1', '127.0.0.5') + 'private/preflight', {method: 'PUT'})
    add('iframe', {src: '/private/frame'}), add('link', {rel: 'prefetch', href: '/private/prefetch'})
    add('link', {rel: 'icon', href: '/private/icon'}), navigator.sendBeacon('/private/beacon', 'x')
    open('/private/popup')
    const frames = [window, add('iframe', {}).contentWindow, add('iframe', {srcdoc: 'x'}).contentWindow,
                    add('iframe', {src: 'javascript:0'}).contentWindow, open('about:blank')]
    for (const {RTCPeerConnection} of frames)
        if (RTCPeerConnection) {
            const peer = new RTCPeerConnection({iceServers: [{urls: `stun:127.0.0.1:${udp}`}]})
            peer.createDataChannel('x'), await peer.setLocalDescription(await peer.createOffer())
        }
    for (const {WebSocket} of frames) if (WebSocket) new WebSocket(own.replace('http', 'ws') + 'private/socket')
    for (const {WebTransport} of frames) if (WebTransport) new WebTransport(own.replace('http', 'https') + 'private/wt')
}"""


@pytest.mark.long
@pytest.mark.parametrize("window", [False, True], ids=["shell", "Chromium"])
def test_what_no_route_sees_is_asked_about_or_not_sent(site: Site, window: bool) -> None:
    path = chromium() if window else shell()
    from playwright.async_api import async_playwright

    from comity.middleware.playwright import AsyncComityRoutes

    parsed = (
        '<script type=" SpeculationRules ">{"prefetch": [{"urls": ["/private/p"], "eagerness": "immediate"}]}</script>'
    )
    site.set("/robots.txt", "User-agent: *\nDisallow: /private\n")
    site.set("/", f"<body>{parsed}", headers={"Speculation-Rules": '"/rules.json"'})
    header = '{"prefetch": [{"urls": ["/private/header"], "eagerness": "immediate"}]}'
    site.set("/rules.json", header, content_type="application/speculationrules+json")
    site.set("/shared.js", "fetch('/private/shared'); fetch('/seen')", content_type="text/javascript")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, Site("127.0.0.5") as far:
        udp.bind(("127.0.0.1", 0))
        far.set("/robots.txt", "User-agent: *\nDisallow: /\n")

        async def run() -> None:
            async with (
                comity.AsyncClient(FAST) as client,
                async_playwright() as playwright,
                await playwright.chromium.launch(executable_path=path) as browser,
                await AsyncComityRoutes(client).new_context(browser) as context,
            ):
                page = await context.new_page()
                await page.goto(site.url("/"))
                await page.evaluate(UNASKED, [far.url("/"), udp.getsockname()[1]])
                async with asyncio.timeout(HANGS):
                    while "/seen" not in site.paths():
                        await asyncio.sleep(0.01)
                await asyncio.sleep(1)  # for what must not come
                await page.goto("about:blank")
                await asyncio.sleep(0.5)

        with ThreadPoolExecutor(1) as thread:
            thread.submit(lambda: asyncio.run(run())).result()
        udp.setblocking(False)
        with pytest.raises(BlockingIOError):
            udp.recv(100)
        assert far.paths() in ([], ["/robots.txt"])
    assert sorted(site.paths()) == ["/", "/robots.txt", "/seen", "/shared.js"]
    assert {seen.headers["User-Agent"] for seen in site.seen} == {"MyBot/1.0"}


def test_a_page_gets_an_answer_once_the_gate_of_its_host_knows_of_it() -> None:
    need("playwright")
    from comity.middleware.playwright import _Held

    done: list[object] = []

    @asynccontextmanager
    async def turn(_: str) -> AsyncIterator[Callable[[int, dict[str, str]], None]]:
        yield lambda status, _: done.append(status)
        await asyncio.sleep(0)
        done.append("over")

    async def send(method: str, _: dict[str, object]) -> None:
        done.append(method)

    held = _Held(turn, "MyBot/1.0", lambda *_: {}, send)
    request = {"requestId": "1", "request": {"url": "http://a.example/", "method": "GET", "headers": {}}}

    async def answered() -> None:
        asked = asyncio.ensure_future(held.paused(request))
        while "Fetch.continueRequest" not in done:
            await asyncio.sleep(0)
        await held.paused(request | {"responseStatusCode": 500})
        await asked

    with ThreadPoolExecutor(1) as elsewhere:  # Playwright's sync API has a loop of its own in this thread
        elsewhere.submit(asyncio.run, answered()).result()
    assert done == ["Fetch.continueRequest", 500, "over", "Fetch.continueResponse"]
