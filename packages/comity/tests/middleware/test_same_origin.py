"""What Chromium refuses a hostile page, it refuses behind our contexts too: one page, shown in both."""

import asyncio
import struct
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import pytest
from aiohttp import web
from libraries import shell
from sites import HANGS, Site

import comity

pytestmark = pytest.mark.long

POLICY = comity.Policy(agent="MyBot/1.0", min_interval=0, robots_fetch_counts=False, allow_addresses=("127.0.0.0/8",))
SHARED = {"Access-Control-Allow-Origin": "*"}
AGREED = SHARED | {"Access-Control-Allow-Methods": "PUT", "Access-Control-Allow-Headers": "x-mark"}

ROWS = """async other => {
    const read = async (url, options) => {
        try { const answer = await fetch(url, options); return `${answer.type}: ${await answer.text()}` }
        catch (error) { return error.name }
    }
    const tried = act => { try { return act() } catch (error) { return error.name } }
    const add = (name, fields) => new Promise(resolve => {
        const node = Object.assign(document.createElement(name), fields)
        node.onload = node.onerror = () => resolve(node)
        document.body.append(node)
    })
    const pixel = async fields => {
        const image = await add('img', fields)
        const context = document.createElement('canvas').getContext('2d')
        return tried(() => { context.drawImage(image, 0, 0); return String(context.getImageData(0, 0, 1, 1).data) })
    }
    const errors = async fields => {
        const seen = []
        const note = event => { seen.push(event.message); event.preventDefault() }
        addEventListener('error', note)
        await add('script', fields)
        removeEventListener('error', note)
        return seen.join() || 'nothing'
    }
    const rules = async href => {
        const sheet = (await add('link', {rel: 'stylesheet', href})).sheet
        return tried(() => [...sheet.cssRules].map(rule => rule.cssText).join())
    }
    const frame = async src => {
        const node = await add('iframe', {src})
        return tried(() => node.contentWindow.document.body.textContent)
    }
    const shared = code => new Promise(resolve => { new SharedWorker(code).port.onmessage = ({data}) => resolve(data) })
    const post = () => new Promise(resolve => {
        const into = document.createElement('iframe'), form = document.createElement('form')
        into.name = 'into', Object.assign(form, {method: 'post', action: other + '/transfer', target: 'into'})
        document.body.append(into, form)
        into.onload = () => resolve(tried(() => into.contentWindow.document.body.textContent))
        form.submit()
    })
    return {
        "own page": await read('/secret'),
        "own page without credentials": await read('/secret?omit', {credentials: 'omit'}),
        "own page by a shared worker": await shared('/worker.js'),
        "another's page": await read(other + '/secret'),
        "another's page with credentials": await read(other + '/secret', {credentials: 'include'}),
        "another's page, opaque": await read(other + '/secret', {mode: 'no-cors', credentials: 'include'}),
        "another's shared page": await read(other + '/shared'),
        "another's shared page with credentials": await read(other + '/shared', {credentials: 'include'}),
        "another's page by a redirect": await read('/to/secret'),
        "another's page by a redirect, only own wanted": await read('/to/shared', {mode: 'same-origin'}),
        "another's shared page by a redirect": await read('/to/shared'),
        "own page by another's redirect": await read(other + '/back'),
        "PUT": await read(other + '/put', {method: 'PUT', body: 'x', credentials: 'include'}),
        "PUT that is agreed to": await read(other + '/agreed', {method: 'PUT', body: 'x'}),
        "DELETE that is not": await read(other + '/agreed', {method: 'DELETE'}),
        "a header": await read(other + '/secret', {headers: {'X-Mark': '1'}}),
        "a header that is agreed to": await read(other + '/agreed', {headers: {'X-Mark': '1'}}),
        "JSON": await read(other + '/put', {method: 'POST', body: '{}', headers: {'Content-Type': 'application/json'}}),
        "a form's answer": await post(),
        "own picture": await pixel({src: '/picture'}),
        "another's picture": await pixel({src: other + '/picture'}),
        "another's picture by a redirect": await pixel({src: '/to/picture'}),
        "another's picture by a redirect, with CORS": await pixel({src: '/to/picture?cors', crossOrigin: ''}),
        "own script's error": await errors({src: '/script'}),
        "another's script's error": await errors({src: other + '/script'}),
        "another's script's error by a redirect": await errors({src: '/to/script'}),
        "another's module": await errors({src: other + '/script?module', type: 'module'}),
        "another's script with CORS": await errors({src: other + '/script?cors', crossOrigin: ''}),
        "own sheet's rules": await rules('/sheet'),
        "another's sheet's rules": await rules(other + '/sheet'),
        "another's sheet's rules by a redirect": await rules('/to/sheet'),
        "own frame": await frame('/secret?frame'),
        "another's frame": await frame(other + '/secret?frame'),
        "another's frame by a redirect": await frame('/to/secret?frame'),
    }
}"""
ALIKE = {
    "own page": "basic: secret",
    "own page without credentials": "basic: secret",
    "own page by a shared worker": "secret",
    "another's page": "TypeError",
    "another's page with credentials": "TypeError",
    "another's page, opaque": "opaque: ",
    "another's shared page": "cors: shared",
    "another's shared page with credentials": "TypeError",
    "another's page by a redirect": "TypeError",
    "another's page by a redirect, only own wanted": "TypeError",
    "another's shared page by a redirect": "cors: shared",
    "own page by another's redirect": "TypeError",
    "PUT": "TypeError",
    "PUT that is agreed to": "cors: agreed",
    "DELETE that is not": "TypeError",
    "a header": "TypeError",
    "a header that is agreed to": "cors: agreed",
    "JSON": "TypeError",
    "a form's answer": "SecurityError",
    "own picture": "200,10,20,255",
    "another's picture": "SecurityError",
    "another's picture by a redirect": "SecurityError",
    "another's picture by a redirect, with CORS": "InvalidStateError",
    "own script's error": "Uncaught ReferenceError: secret is not defined",
    "another's script's error": "Script error.",
    "another's script's error by a redirect": "Script error.",
    "another's module": "nothing",
    "another's script with CORS": "nothing",
    "own sheet's rules": ".secret { color: red; }",
    "another's sheet's rules": "SecurityError",
    "another's sheet's rules by a redirect": "SecurityError",
    "own frame": "secret",
    "another's frame": "SecurityError",
    "another's frame by a redirect": "SecurityError",
}


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PICTURE = (
    b"\x89PNG\r\n\x1a\n"
    + _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    + _chunk(b"IDAT", zlib.compress(b"\0\xc8\x0a\x14"))
    + _chunk(b"IEND", b"")
)


@dataclass
class Outcome:
    """What a browser let the page read, and what it sent: method, path, cookies, Origin; sorted, by site."""

    read: dict[str, str]
    own: list[tuple[str, ...]]
    other: list[tuple[str, ...]]


def sent(site: Site) -> list[tuple[str, ...]]:
    """Requests in the order of their URLs; those of robots.txt apart."""
    return sorted(
        (each.method, each.path, each.headers.get("Cookie", ""), each.headers.get("Origin", ""))
        for each in site.seen
        if each.path != "/robots.txt"
    )


def furnish(site: Site, away: Site) -> None:
    async def agreed(request: web.Request) -> web.Response:
        return web.Response(text="agreed", headers=AGREED)

    site.set("/robots.txt", "")
    site.set("/", "<body>hostile")
    for query in ("", "?omit", "?frame"):
        site.set("/secret" + query, "secret")
        site.set("/to/secret" + query, status=302, headers={"Location": away.url("/secret" + query)})
    site.set("/shared", "shared", headers=SHARED)
    site.set("/agreed", agreed)
    site.set("/back", status=302, headers={"Location": away.url("/secret")})
    for query in ("", "?cors", "?module"):
        site.set("/picture" + query, PICTURE, content_type="image/png")
        site.set("/script" + query, "secret", content_type="text/javascript")
    site.set("/sheet", ".secret { color: red }", content_type="text/css")
    code = "onconnect = e => fetch('/secret').then(r => r.text()).then(text => e.ports[0].postMessage(text))"
    site.set("/worker.js", code, content_type="text/javascript")
    for path in ("/shared", "/picture", "/picture?cors", "/script", "/sheet"):
        site.set("/to" + path, status=302, headers={"Location": away.url(path)})


async def played(page: Any, site: Site, other: Site) -> Outcome:
    """Show the page, then go to the other site from there."""
    site.seen.clear()
    other.seen.clear()
    page.set_default_timeout(HANGS * 1000)
    await page.goto(site.url("/"))
    read = await page.evaluate(ROWS, other.url("").rstrip("/"))
    async with page.expect_navigation(url=other.url("/arrived")):
        await page.evaluate("url => { location = url }", other.url("/arrived"))
    return Outcome(read, sent(site), sent(other))


@pytest.fixture(scope="module")
def outcomes() -> Iterator[tuple[Outcome, Outcome]]:
    """The page in plain Chromium, and behind our contexts."""
    path = shell()
    from playwright.async_api import async_playwright

    from comity.middleware.playwright import AsyncComityRoutes

    async def run(site: Site, other: Site) -> tuple[Outcome, Outcome]:
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(comity.AsyncClient(POLICY))
            playwright = await stack.enter_async_context(async_playwright())
            browser = await playwright.chromium.launch(executable_path=path)
            stack.push_async_callback(browser.close)
            found = []
            for make in (browser.new_context, lambda: AsyncComityRoutes(client).new_context(browser)):
                context = await make()
                cookies = [("lax", "Lax"), ("strict", "Strict")]
                await context.add_cookies(
                    [
                        {"name": n, "value": "1", "url": s.url("/"), "sameSite": w}
                        for s in (site, other)
                        for n, w in cookies
                    ]
                )
                found.append(await played(await context.new_page(), site, other))
                await context.close()
            return found[0], found[1]

    with Site() as site, Site("127.0.0.5") as other, ThreadPoolExecutor(1) as thread:
        furnish(site, other)
        furnish(other, site)
        yield thread.submit(lambda: asyncio.run(run(site, other))).result()


@pytest.mark.parametrize("row", ALIKE)
def test_what_chromium_refuses_a_page_is_refused_alike(outcomes: tuple[Outcome, Outcome], row: str) -> None:
    plain, ours = outcomes
    assert plain.read[row] == ALIKE[row]
    assert ours.read[row] == plain.read[row]


def test_sites_see_the_same_requests_cookies_and_origins(outcomes: tuple[Outcome, Outcome]) -> None:
    plain, ours = outcomes
    assert ours.own == plain.own
    assert ours.other == plain.other
    assert ("GET", "/secret", "lax=1; strict=1", "") in ours.own
    assert ("GET", "/secret?omit", "", "") in ours.own


def test_cookies_keep_to_their_site(outcomes: tuple[Outcome, Outcome]) -> None:
    _, ours = outcomes
    assert {(path, cookies) for _, path, cookies, _ in ours.other if cookies} == {("/arrived", "lax=1")}
    assert "/transfer" in {path for method, path, _, _ in ours.other if method == "POST"}


def test_what_another_site_has_not_agreed_to_is_not_sent(outcomes: tuple[Outcome, Outcome]) -> None:
    _, ours = outcomes
    asked = {(method, path) for method, path, _, _ in ours.other}
    assert {("OPTIONS", "/put"), ("OPTIONS", "/agreed"), ("PUT", "/agreed"), ("OPTIONS", "/secret")} <= asked
    assert not {("PUT", "/put"), ("POST", "/put"), ("DELETE", "/agreed")} & asked
