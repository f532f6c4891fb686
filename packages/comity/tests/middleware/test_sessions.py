"""What of a session a robots.txt must not get: cookies, another origin's credentials. What it must: TLS settings."""

import asyncio
import copy
import pickle
import ssl
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import TYPE_CHECKING

import pytest
import trustme
from aiohttp import web
from libraries import need
from sites import HANGS, Site

import comity

if TYPE_CHECKING:
    import requests

FAST = comity.Policy(agent="MyBot/1.0", min_interval=0, robots_fetch_counts=False, allow_addresses=("127.0.0.0/8",))
SECRET = {"Authorization": "Bearer secret", "Cookie": "session=secret"}
Get = Callable[[str, bool], int | str]  # a URL and whether certificates count -> a status, or how it ended


@pytest.fixture
def other() -> Iterator[Site]:
    with Site() as other:
        yield other


class SecureSite(Site):
    """Over TLS, with a certificate that nobody trusts."""

    def url(self, path: str = "/") -> str:
        return super().url(path).replace("http:", "https:")

    async def _open(self) -> None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        trustme.CA().issue_cert(self.address).configure_cert(context)
        self._runner = web.ServerRunner(web.Server(self._answer), access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, self.address, 0, ssl_context=context).start()
        self.port = self._runner.addresses[0][1]


@pytest.fixture
def secure() -> Iterator[Site]:
    with SecureSite() as site:
        yield site


def by_httpx(url: str, verify: bool, library: str = "httpx") -> int | str:
    need(library)
    httpx = import_module(library)
    from comity.middleware.httpx import ComityTransport

    transport = ComityTransport(FAST, httpx.HTTPTransport(verify=verify))
    with httpx.Client(transport=transport, headers=SECRET, auth=("name", "secret")) as client:
        try:
            return int(client.get(url).status_code)
        except comity.RobotsDisallowed as error:
            return type(error).__name__


def by_requests(url: str, verify: bool) -> int | str:
    need("requests")
    import requests

    from comity.middleware.requests import ComityAdapter

    with requests.Session() as session:
        session.headers.update(SECRET)
        session.auth = ("name", "secret")
        session.mount("http://", ComityAdapter(FAST))
        session.mount("https://", ComityAdapter(FAST))
        try:
            return session.get(url, verify=verify).status_code
        except comity.RobotsDisallowed as error:
            return type(error).__name__


def by_aiohttp(url: str, verify: bool) -> int | str:
    import aiohttp

    from comity.middleware.aiohttp import ComityMiddleware

    async def run() -> int | str:
        async with aiohttp.ClientSession(headers=SECRET, middlewares=(ComityMiddleware(FAST),)) as session:
            try:
                async with session.get(url, ssl=verify) as response:
                    return response.status
            except comity.RobotsDisallowed as error:
                return type(error).__name__

    return asyncio.run(run())


def by_httpx2(url: str, verify: bool) -> int | str:
    return by_httpx(url, verify, "httpx2")


@pytest.fixture(params=[by_httpx, by_httpx2, by_requests, by_aiohttp], ids=["httpx", "httpx2", "requests", "aiohttp"])
def get(request: pytest.FixtureRequest) -> Get:
    return request.param  # type: ignore[no-any-return]


def test_credentials_go_with_robots_txt_but_not_where_it_redirects(get: Get, site: Site, other: Site) -> None:
    site.set("/robots.txt", status=302, headers={"Location": other.url("/rules.txt")})
    other.set("/rules.txt", "")
    site.set("/page", "page")
    assert get(site.url("/page"), True) == 200
    assert "Authorization" in site.seen[-1].headers
    assert other.paths() == ["/rules.txt"]
    assert site.seen[0].headers["Authorization"] == site.seen[-1].headers["Authorization"]
    assert "Cookie" not in site.seen[0].headers
    assert not {"Authorization", "Cookie"} & other.seen[0].headers.keys()


def test_rules_behind_a_password_hold_for_who_has_it(get: Get, site: Site) -> None:
    async def guarded(request: web.Request) -> web.StreamResponse:
        if "Authorization" not in request.headers:
            return web.Response(status=401)
        return web.Response(text="User-agent: *\nDisallow: /private\n")

    site.set("/robots.txt", guarded)
    assert get(site.url("/private"), True) == "RobotsDisallowed"
    assert site.paths() == ["/robots.txt"]


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_tls_settings_hold_for_robots_txt_too(get: Get, secure: Site) -> None:  # covers: L10
    secure.set("/robots.txt", "User-agent: *\nDisallow: /no\n")
    secure.set("/page", "page")
    assert get(secure.url("/page"), False) == 200
    assert get(secure.url("/no"), False) == "RobotsDisallowed"


def test_an_untrusted_certificate_makes_robots_txt_unreachable(get: Get, secure: Site) -> None:
    assert get(secure.url("/page"), True) == "RobotsUnreachable"
    assert secure.paths() == []


# Copies


def _session(policy: comity.Policy) -> "requests.Session":
    need("requests")
    import requests

    from comity.middleware.requests import ComityAdapter

    session = requests.Session()
    session.mount("http://", adapter := ComityAdapter(policy, max_wait=60))
    session.mount("https://", adapter)
    return session


def test_a_session_of_requests_can_be_pickled(site: Site) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /no\n")
    session = _session(FAST)
    session.get(site.url("/a"))
    copied = pickle.loads(pickle.dumps(session))
    assert copied.get(site.url("/a")).status_code == 404
    with pytest.raises(comity.RobotsDisallowed):
        copied.get(site.url("/no"))
    assert copied.get_adapter("http://x") is copied.get_adapter("https://x")
    assert site.paths().count("/robots.txt") == 2, "another process has to ask for itself"


def test_deep_copies_of_a_session_of_requests_keep_one_pace(site: Site) -> None:
    session = _session(FAST.with_changes(min_interval=0.1))
    copied = copy.deepcopy(session)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda each: each.get(site.url("/a")), (session, copied, session, copied)))
    assert site.paths().count("/robots.txt") == 1
    assert all(interval >= 0.1 for interval in site.intervals()[1:])


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_session_of_requests_goes_on_in_a_forked_process(site: Site) -> None:
    """Even where it was forked in the middle of a call, which never ends there."""
    script = """
    import os, sys, threading, comity, requests
    from comity.middleware.requests import ComityAdapter
    session = requests.Session()
    session.mount("http://", ComityAdapter(comity.Policy(min_interval=0), max_wait=20))
    url, slow = sys.argv[1:]
    threading.Thread(target=session.get, args=[slow], daemon=True).start()
    sys.stdin.readline()
    if os.fork() == 0:
        print(session.get(url).status_code)
        os._exit(0)
    os.wait()
    """
    begun = threading.Event()

    async def slow(_: web.Request) -> web.StreamResponse:
        begun.set()
        await asyncio.sleep(300)
        return web.Response()

    site.set("/robots.txt", slow)
    command = [sys.executable, "-u", "-c", textwrap.dedent(script), site.url("/a"), site.url("/slow")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert begun.wait(HANGS)
        site.set("/robots.txt", "")
        assert process.communicate("go\n", timeout=HANGS)[0].strip() == "404"
