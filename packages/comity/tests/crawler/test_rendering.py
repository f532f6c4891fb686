"""Pages whose scripts are run: what is kept, what is sent for them, and that nothing leaves the browser otherwise."""

import asyncio
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pytest
from aiohttp import web
from libraries import chromium
from sites import HANGS, Handler, Site

import comity
from comity.audit.prove import prove
from comity.crawler import CrawledPage, Crawler, CrawlSettings, Expanded, Stats
from comity.crawler.rendering.cors import to_be_asked_about
from comity.crawler.rendering.page_requests import Scripts

POLICY = comity.Policy(agent="MyBot/1.0", min_interval=0, robots_fetch_counts=False, allow_addresses=("127.0.0.0/8",))
RENDER = CrawlSettings(render=True, render_seconds=HANGS, sitemaps=False)
JS = "text/javascript"
REST = ("files", "sqlite", "parquet")


@pytest.fixture(autouse=True)
def browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The folder that this test's browsers have their profiles in, by which they are told from others'."""
    chromium()
    with tempfile.TemporaryDirectory(prefix="comity-", ignore_cleanup_errors=True) as folder:
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setattr(tempfile, "tempdir", None)  # which is kept from the first question on
        yield folder


@pytest.fixture
def other() -> Iterator[Site]:
    with Site() as other:
        yield other


class Bare:
    """A port that answers nothing and counts who comes, by TCP and by UDP."""

    def __enter__(self) -> Self:
        self.came: list[str] = []
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.port = self.tcp.getsockname()[1]
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", self.port))
        for take in (self._accept, self._receive):
            threading.Thread(target=take, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.tcp.shutdown(socket.SHUT_RDWR)
        self.tcp.close()
        self.udp.sendto(b"end", ("127.0.0.1", self.port))

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.tcp.accept()
            except OSError:
                return
            self.came.append("tcp")
            connection.close()

    def _receive(self) -> None:
        while (data := self.udp.recv(2000)) != b"end":
            self.came.append(f"udp {data[:20]!r}")
        self.udp.close()


def crawl(
    site: Site, folder: Path, *, settings: CrawlSettings = RENDER, policy: comity.Policy = POLICY, **options: Any
) -> tuple[Stats, dict[str, dict[str, Any]]]:
    """Crawl a site; its pages' records by path. `comity prove` must find nothing wrong."""
    crawler = Crawler([site.url("/")], folder, policy=policy, settings=settings, **options)
    stats = asyncio.run(crawler.run())
    assert prove(folder).findings == []
    pages = rows(folder, "pages")
    assert len({page["url"] for page in pages}) == len(pages) == stats.pages
    return stats, {page["url"].removeprefix(site.url("")): page for page in pages}


def rows(folder: Path, channel: str) -> list[dict[str, Any]]:
    with (folder / f"{channel}.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def script(site: Site, path: str, code: str) -> None:
    site.set(path, code, content_type=JS)


@pytest.fixture
def shop(site: Site) -> Site:
    """A site whose links exist only after scripts ran."""
    site.set("/robots.txt", "User-agent: *\nDisallow: /private\n")
    script(
        site,
        "/app.js",
        """fetch('/api/' + (location.pathname.slice(1) || 'home')).then(r => r.json()).then(page => {
            document.title = page.title
            for (const url of page.links) {
                const link = document.body.appendChild(document.createElement('a'))
                link.href = link.textContent = url
            }
        })""",
    )
    shell = (
        "<!doctype html><title>Loading</title><body><script src=/app.js></script><script src=/private/t.js></script>"
    )
    for name, links in {"home": ["/a", "/b", "/private/x"], "a": ["/b", "/c"], "b": ["/"], "c": []}.items():
        site.set("/" + name.replace("home", ""), shell)
        site.set(f"/api/{name}", json.dumps({"title": f"Page {name}", "links": links}), content_type="application/json")
    return site


def test_a_site_whose_links_exist_only_after_scripts_ran_is_crawled_entirely_and_politely(
    shop: Site, tmp_path: Path
) -> None:
    stats, pages = crawl(shop, tmp_path / "without", settings=CrawlSettings(sitemaps=False))
    assert set(pages) == {"/"}
    assert pages["/"]["rendered"] is None
    shop.seen.clear()
    policy = POLICY.with_changes(min_interval=0.15, robots_fetch_counts=True)
    stats, pages = crawl(shop, tmp_path / "with", policy=policy)
    assert set(pages) == {"/", "/a", "/b", "/c"}
    assert pages["/a"]["title"] == "Page a"
    assert '<a href="/c">' in pages["/a"]["body"]
    assert [page["rendered"] for page in pages.values()] == [True] * 4
    assert [page["render_note"] for page in pages.values()] == [None] * 4
    assert stats.duplicates == 0, "all were served the same, and became different"
    assert len({page["sha256"] for page in pages.values()}) == 1
    assert len({page["rendered_sha256"] for page in pages.values()}) == 4
    asked = shop.paths()
    assert asked[0] == "/robots.txt"
    assert sorted(asked[1:]) == sorted(["/", "/a", "/b", "/c", "/app.js", *(f"/api/{n}" for n in ("home", *"abc"))])
    assert {seen.headers["User-Agent"] for seen in shop.seen} == {"MyBot/1.0"}
    # requests for a page keep the pace of their host
    assert len(shop.seen) == 10
    assert min(shop.intervals()) >= 0.15
    # what a page needs and may not have is never asked for, and written down once
    refused = {row["url"]: row for row in rows(tmp_path / "with", "refusals")}
    assert set(refused) == {shop.url("/private/t.js"), shop.url("/private/x")}
    assert refused[shop.url("/private/t.js")]["needed_by"] in {page["url"] for page in pages.values()}
    assert stats.refused == 2
    assert pages["/"]["render_parts"]["refused"] == 1


ESCAPES = """
const tries = [
  () => fetch('/private/fetch'), () => fetch('/open/fetch'), () => fetch('/open/post', {method: 'POST', body: 'x'}),
  () => fetch('/open/put', {method: 'PUT', body: 'x'}), () => fetch('/open/keepalive', {keepalive: true}),
  () => fetch('/open/keepalive-post', {keepalive: true, method: 'POST', body: 'x'}),
  () => { const x = new XMLHttpRequest(); x.open('GET', '/private/xhr'); x.send() },
  () => { const x = new XMLHttpRequest(); x.open('GET', '/open/xhr'); x.send() },
  () => { const x = new XMLHttpRequest(); x.open('GET', '/open/sync-xhr', false); x.send() },
  () => { new Image().src = '/open/image.png' }, () => { new Image().src = BARE + '/image.png' },
  () => add('script', {src: '/private/s.js'}), () => add('script', {src: '/open/s.js'}),
  () => add('script', {src: '/open/module.js', type: 'module'}),
  () => add('iframe', {src: '/private/frame'}), () => add('iframe', {src: '/open/frame'}),
  () => add('object', {data: '/private/object'}), () => add('embed', {src: '/private/embed'}),
  () => add('video', {src: '/open/film.mp4', autoplay: true}),
  () => add('audio', {src: BARE + '/a.mp3', autoplay: true}),
  () => add('a', {href: '/open/pinged', ping: BARE + '/ping'}).click(),
  () => add('a', {href: '/open/file.zip', download: 'x'}).click(),
  () => add('link', {rel: 'stylesheet', href: '/private/s.css'}),
  () => add('link', {rel: 'stylesheet', href: '/open/s.css'}),
  () => add('link', {rel: 'preconnect', href: BARE}), () => add('link', {rel: 'dns-prefetch', href: BARE}),
  () => add('link', {rel: 'prefetch', href: BARE + '/prefetch'}),
  () => add('link', {rel: 'prerender', href: BARE + '/pre'}),
  () => add('link', {rel: 'preload', as: 'font', href: BARE + '/font', crossOrigin: ''}),
  () => add('link', {rel: 'modulepreload', href: '/private/preload.js'}),
  () => add('link', {rel: 'icon', href: BARE + '/icon.png'}),
  () => add('link', {rel: 'manifest', href: BARE + '/m.json'}),
  () => add('script', {type: 'speculationrules', textContent: JSON.stringify(
    {prefetch: [{source: 'list', urls: ['/private/speculation', BARE + '/s'], eagerness: 'immediate'}],
     prerender: [{source: 'list', urls: ['/private/prerender'], eagerness: 'immediate'}]})}),
  () => new WebSocket('ws' + BARE.slice(4) + '/socket'), () => new EventSource(BARE + '/events'),
  () => new EventSource('/open/events'),
  () => navigator.sendBeacon(BARE + '/beacon', 'x'), () => navigator.sendBeacon('/open/beacon', 'x'),
  () => new Worker('/open/worker.js'), () => new Worker('/private/worker.js'),
  () => new SharedWorker('/open/shared.js'),
  () => new Worker(URL.createObjectURL(new Blob([
    `try { importScripts('${location.origin}/private/import.js') } catch (e) {}
     try { new WebSocket('ws${BARE.slice(4)}/socket') } catch (e) {}
     fetch('${location.origin}/private/from-blob'); fetch('${BARE}/from-blob', {method: 'POST', mode: 'no-cors'})`]))),
  () => navigator.serviceWorker.register('/open/service.js'),
  () => { const peer = new RTCPeerConnection({iceServers: [{urls: 'stun:' + BARE.slice(7)},
      {urls: 'turn:' + BARE.slice(7), username: 'u', credential: 'p'},
      {urls: 'turn:' + BARE.slice(7) + '?transport=tcp', username: 'u', credential: 'p'}]})
    peer.createDataChannel('x'); peer.createOffer().then(offer => peer.setLocalDescription(offer)) },
  () => { const [one, two] = [new RTCPeerConnection(), new RTCPeerConnection()]
    one.createDataChannel('x')
    const port = BARE.split(':')[2]
    one.createOffer().then(async offer => {
      await one.setLocalDescription(offer); await two.setRemoteDescription(offer)
      const answer = await two.createAnswer(); await two.setLocalDescription(answer)
      await one.setRemoteDescription(answer)
      one.addIceCandidate({candidate: `candidate:1 1 udp 2113937151 127.0.0.1 ${port} typ host`, sdpMid: '0'})
      one.addIceCandidate({candidate: `candidate:2 1 tcp 1518280447 127.0.0.1 ${port} typ host tcptype passive`,
        sdpMid: '0'})
    }) },
  () => new WebTransport('https' + BARE.slice(4) + '/transport'),
  () => window.open('/private/window'), () => window.open(BARE + '/window'),
  () => { const f = add('form', {action: '/private/form', method: 'post'}); f.submit() },
  () => { const f = add('form', {action: BARE + '/form', method: 'post', target: '_blank'}); f.submit() },
  () => new Notification('x', {icon: BARE + '/n.png'}),
  () => fetch(BARE + '/cors', {headers: {'X-A': '1'}, method: 'DELETE'}),
  () => navigator.credentials.get({identity: {providers: [{configURL: BARE + '/fedcm.json', clientId: '1'}]}}),
  () => document.body.append(Object.assign(document.createElement('p'), {style: `background: url(${BARE}/b.png)`})),
  () => import('/private/dynamic.js').catch(() => 0),
  () => { location = '/private/elsewhere' },
]
function add(name, values) {
  const made = Object.assign(document.createElement(name), values)
  document.body.append(made)
  return made
}
addEventListener('load', () => setTimeout(() => {
  for (const one of tries) { try { Promise.resolve(one()).catch(() => 0) } catch (error) {} }
}))
addEventListener('pagehide', () => navigator.sendBeacon(BARE + '/pagehide', 'x'))
"""


def test_nothing_leaves_the_browser_but_what_may_be_asked_for(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /private\n")
    with Bare() as bare:
        code = f"const BARE = 'http://127.0.0.1:{bare.port}'\n{ESCAPES}"
        site.set("/", f"<!doctype html><title>x</title><body><script>{code}</script>")
        script(site, "/open/s.js", "document.title += ' s'")
        script(site, "/open/module.js", "import '/private/imported.js'")
        script(site, "/open/worker.js", "importScripts('/open/imported.js'); fetch('/private/from-worker')")
        script(site, "/open/imported.js", f"new WebSocket('ws://127.0.0.1:{bare.port}/socket')")
        script(site, "/open/shared.js", "importScripts('/private/shared-import.js'); fetch('/private/from-shared')")
        script(site, "/open/service.js", "addEventListener('fetch', e => e.respondWith(fetch('/private/by-service')))")
        site.set("/open/frame", "<script>fetch('/private/from-frame'); new Image().src = '/private/f.png'</script>")
        settings = replace(RENDER, max_pages=1)
        policy = POLICY.with_changes(min_interval=0.03, robots_fetch_counts=True)
        _, pages = crawl(site, tmp_path, settings=settings, policy=policy)
        time.sleep(0.3)
        # Nobody answers there, so robots.txt is unreachable and nothing else may follow it.
        own = [row for row in rows(tmp_path, "ledger") if row["kind"] == "request" and f":{bare.port}/" in row["url"]]
        assert {row["purpose"] for row in own} <= {"robots"}
        assert bare.came == ["tcp"] * len(own)
    page = pages["/"]
    assert page["rendered"]
    assert page["title"] == "x s"
    asked = site.paths()
    assert asked[0] == "/robots.txt"
    assert {seen.method for seen in site.seen} == {"GET"}
    assert set(asked[1:]) <= {
        "/",
        *(f"/open/{name}" for name in ("fetch", "xhr", "sync-xhr", "s.js", "module.js", "frame", "s.css", "keepalive")),
        *("/open/worker.js", "/open/imported.js", "/open/shared.js"),
    }
    assert page["render_note"] is None
    assert {
        "/open/fetch",
        "/open/xhr",
        "/open/s.js",
        "/open/frame",
        "/open/worker.js",
        "/open/imported.js",
        "/open/s.css",
    } <= set(asked)
    assert len(asked) == len(set(asked))
    assert min(site.intervals()) >= 0.03
    sent = [row["url"] for row in rows(tmp_path, "ledger") if row["kind"] == "request"]
    assert sorted(url for url in sent if url.startswith(site.url(""))) == sorted(site.url(path) for path in asked)


HOSTILE = {
    "loop": ("for (;;);", False),
    "late": ("setTimeout(() => { for (;;); }, 100)", False),
    "promises": ("(async () => { for (;;) await 0 })()", False),
    "alerts": ("for (;;) alert(1)", False),
    "heap": ("const all = []; for (;;) all.push(new Array(1e6).fill({}))", False),
    "buffers": ("const all = []; for (;;) all.push(new Uint8Array(1e8).fill(1))", True),
    "large": ("document.body.append('x'.repeat(3e7))", False),
    "polls": ("setInterval(() => fetch('/tick'), 50)", True),
    "elsewhere": ("location = '/target'", False),
    "reload": ("location.reload()", False),
    "later": ("onload = () => { location = '/target' }", True),
    "blank": ("onload = () => { location = 'about:blank' }", False),
    "blob": ("onload = () => { location = URL.createObjectURL(new Blob(['x'], {type: 'text/html'})) }", False),
    "clobbered": (
        "onload = () => { document.body.innerHTML += '<img name=documentElement><form name=doctype>' }",
        True,
    ),
    "written": ("onload = () => { document.open(); document.write('<title>written</title>'); document.close() }", True),
    "closed": ("close(); print(); prompt(); window.stop()", True),
}


RESTLESS = {"polls", "closed"}  # good pages that are read as they are when their time is over


def served(name: str) -> str:
    return f"<title>{name}</title><body><script>{HOSTILE[name][0]}</script><a href=/after-{name}>after</a>"


@pytest.mark.long
@pytest.mark.parametrize("finishes", [True, False], ids=["pages that come to rest", "pages that do not"])
def test_a_hostile_page_costs_its_own_time_and_nothing_else(site: Site, tmp_path: Path, finishes: bool) -> None:
    names = [name for name, (_, good) in HOSTILE.items() if (good and name not in RESTLESS) is finishes]
    site.set("/robots.txt", "")
    lasts = [f"/last{number}" for number in range(1 if finishes else 10)]
    site.link("/", *(f"/{name}" for name in names), *lasts)
    site.set("/tick", "1")
    site.set("/target", "<title>target</title>")
    for name in names:
        site.set(f"/{name}", served(name))
        site.set(f"/after-{name}", name)
    for last in lasts:
        site.set(last, "<title>last</title><script>document.title += ' ran'</script>")
    # Pages that come to rest have all the time they need; the others do not, however long they are given.
    seconds = HANGS if finishes else 16
    settings = CrawlSettings(render=True, sitemaps=False, render_seconds=seconds, render_requests=10)
    stats, pages = crawl(site, tmp_path, settings=settings)
    assert {name: pages[f"/{name}"]["rendered"] for name in names} == {name: HOSTILE[name][1] for name in names}
    for name in names:
        page = pages[f"/{name}"]
        assert page["render_note"] or finishes, page
        assert f"/after-{name}" in pages or name == "written"
        if not page["rendered"]:
            assert page["body"] == served(name)
    assert "last ran" in {pages[last]["title"] for last in lasts}
    assert stats.failed == 0
    if finishes:
        assert "/target" in pages
    else:
        assert site.paths().count("/tick") == 10


def processes(browser: str) -> set[int]:
    """Those of this test's browsers."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            program, *words = (entry / "cmdline").read_bytes().split(b"\0")
            if b"chromium" in program and any(browser.encode() in word for word in words):
                found.add(int(entry.name))
        except OSError:
            continue
    return found


def gone(browser: str) -> bool:
    """Whether all browsers have ended, at the latest after some time."""
    end = time.monotonic() + HANGS
    while processes(browser):
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_a_browser_that_was_killed_is_started_again(shop: Site, tmp_path: Path, browser: str) -> None:
    killed: set[int] = set()

    def kill(_: CrawledPage) -> None:
        if not killed:
            killed.update(processes(browser))
            for one in killed:
                with suppress(ProcessLookupError):
                    os.kill(one, signal.SIGKILL)

    crawler = Crawler([shop.url("/")], tmp_path, policy=POLICY, settings=RENDER)
    asyncio.run(crawler.run(on_page=kill))
    assert killed
    pages = rows(tmp_path, "pages")
    assert [page["rendered"] for page in pages] == [True] * 4
    assert prove(tmp_path).findings == []
    assert gone(browser)


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_a_driver_that_was_killed_leaves_no_folder_and_no_complaint(
    site: Site, tmp_path: Path, browser: str, caplog: pytest.LogCaptureFixture
) -> None:
    killed: list[int] = []
    collected: list[int] = []

    def drivers() -> Iterator[int]:
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                mine = (entry / "stat").read_text().rpartition(")")[2].split()[1] == str(os.getpid())
                if mine and b"run-driver" in (entry / "cmdline").read_bytes():
                    yield int(entry.name)

    async def kill(_: web.Request) -> web.Response:
        if not killed:
            killed.extend(set(drivers()) - before)
            os.kill(killed[0], signal.SIGKILL)
        return web.Response(text="document.title = 'shown'", content_type=JS)

    before = set(drivers())  # those of other tests

    site.set("/robots.txt", "")
    site.set("/", "<script src=/kill.js></script>")
    site.set("/kill.js", kill)
    crawler = Crawler([site.url("/")], tmp_path / "out", policy=POLICY, settings=RENDER)
    # asyncio complains of tasks that nothing refers to
    asyncio.run(crawler.run(on_page=lambda _: collected.append(gc.collect())))
    [page] = rows(tmp_path / "out", "pages")
    assert killed
    assert collected
    assert page["title"] == "shown"
    assert list(Path(browser).iterdir()) == []
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []
    assert os.environ["TMPDIR"] == browser


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    "signals",
    [
        pytest.param([signal.SIGINT], id="interrupted"),
        pytest.param([signal.SIGINT, signal.SIGINT], id="interrupted twice"),
        pytest.param([signal.SIGKILL], id="killed"),
    ],
)
def test_no_browser_is_left_behind_and_the_crawl_goes_on_where_it_stopped(
    shop: Site, tmp_path: Path, browser: str, signals: list[signal.Signals]
) -> None:
    slow = threading.Event()

    async def api(request: web.Request) -> web.Response:
        slow.set()
        await asyncio.sleep(1.5)
        return web.json_response({"title": "Page a", "links": ["/b", "/c"]})

    shop.set("/api/a", api)
    command = [sys.executable, "-m", "comity", "crawl", "--allow-address", "127.0.0.0/8", "--delay", "0", "--json"]
    command += ["-o", str(tmp_path / "out"), "--render"]
    crawling = subprocess.Popen(
        [*command, shop.url("/")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    assert slow.wait(HANGS)
    for number in signals:
        os.killpg(crawling.pid, number)  # as a terminal does: the browser's driver hears it too
        time.sleep(0.3)
    crawling.communicate(timeout=HANGS)
    assert gone(browser)
    assert subprocess.run([*command, "--resume"], capture_output=True, timeout=HANGS, check=False).returncode == 0
    pages = {page["url"].removeprefix(shop.url("")): page for page in rows(tmp_path / "out", "pages")}
    assert {"/", "/a", "/b", "/c"} == set(pages)
    assert [page["rendered"] for page in pages.values()] == [True] * 4
    assert len(rows(tmp_path / "out", "pages")) == 4
    if signals != [signal.SIGKILL]:
        assert prove(tmp_path / "out").findings == []
    assert gone(browser)


@pytest.mark.long
def test_at_most_so_many_pages_are_kept_as_were_wished_for(shop: Site, tmp_path: Path) -> None:
    stats, pages = crawl(shop, tmp_path, settings=replace(RENDER, max_pages=2))
    assert stats.pages == len(pages) == 2


@pytest.mark.long
def test_a_page_waits_for_the_browser_without_holding_up_other_hosts(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", "")
    site.link("/", *(f"/{number}" for number in range(4)))
    for number in range(4):
        site.set(f"/{number}", f"<script src=/script{number}></script>")
    settings = replace(RENDER, render_pages=1, concurrency=2, per_host=4)
    with Site("127.0.0.2") as other:  # a host is its name, without the port
        other.set("/robots.txt", "")
        other.link("/", *(f"/{number}" for number in range(20)))
        for number in range(20):
            other.set(f"/{number}", "plain")
        seen: list[int] = []

        async def after_all_others(_: web.Request) -> web.StreamResponse:
            end = time.monotonic() + HANGS
            while (count := len(other.paths())) < 22 and time.monotonic() < end:
                await asyncio.sleep(0.01)
            seen.append(count)
            return web.Response(text="", content_type=JS)

        for number in range(4):
            site.set(f"/script{number}", after_all_others)
        client = comity.ClientSettings(timeout=2 * HANGS)
        crawler = Crawler(
            [site.url("/"), other.url("/")], tmp_path, policy=POLICY, settings=settings, client_settings=client
        )
        asyncio.run(crawler.run())
    assert len(rows(tmp_path, "pages")) == 26
    assert seen == [22] * 4, "a page has the browser until all of the other host has been fetched"


@pytest.mark.long
def test_scripts_are_fetched_once_and_data_each_time(shop: Site, tmp_path: Path) -> None:
    _, pages = crawl(shop, tmp_path)
    assert shop.paths().count("/app.js") == 1
    assert sum(page["render_parts"]["reused"] for page in pages.values()) == 3
    shop.set("/app.js", "fetch('/api/a')", content_type=JS, headers={"Cache-Control": "no-store"})
    shop.set("/b", "<script src=/app.js></script>")
    shop.link("/", "/b", "/a")
    shop.seen.clear()
    crawl(shop, tmp_path / "again")
    assert shop.paths().count("/app.js") == 2
    assert shop.paths().count("/api/a") == 2


@pytest.mark.long
@pytest.mark.parametrize(("stated", "sent"), [("max-age=60", 1), ("no-store", 2), ("", 1)])
def test_pages_that_wait_for_one_script_share_its_answer_unless_it_may_not_be_kept(
    site: Site, stated: str, sent: int
) -> None:
    site.set("/robots.txt", "")
    site.set("/app.js", "1", content_type=JS, headers={"Cache-Control": stated})
    key = site.url("/app.js"), "", False

    async def two_at_a_time() -> list[tuple[comity.Response, bool]]:
        scripts = Scripts()
        async with comity.AsyncClient(POLICY) as client:
            return await asyncio.gather(*(scripts.get(key, lambda: client.get(key[0])) for _ in range(2)))

    answers = asyncio.run(two_at_a_time())
    assert [answer.body for answer, _ in answers] == [b"1", b"1"]
    assert [reused for _, reused in answers] == [False, sent == 1]
    assert site.paths().count("/app.js") == sent


@pytest.mark.long
def test_a_script_gets_nothing_of_another_site_that_does_not_share_it(site: Site, other: Site, tmp_path: Path) -> None:
    for each in (site, other):
        each.set("/robots.txt", "")
    site.set("/away", status=302, headers={"Location": other.url("/secret")})
    site.set("/here", status=302, headers={"Location": "/mine"})
    site.set("/mine", "mine")
    other.set("/secret", "secret", headers={"Set-Cookie": "a=1"})
    other.set("/shared", "shared", headers={"Access-Control-Allow-Origin": "*"})
    other.set("/frame", "<title>hidden</title>")
    site.set("/frame", status=302, headers={"Location": other.url("/frame")})
    site.set(
        "/",
        f"""<title>x</title><body><iframe src=/frame></iframe><script>
        const wanted = ['/here', '/away', '{other.url("/secret")}', '{other.url("/shared")}']
        Promise.all(wanted.map(url => fetch(url).then(r => r.text(), () => 'nothing'))).then(all => {{
            document.title = all.join(' ') + ' ' + document.cookie
        }})
        onload = () => {{
            try {{ document.body.append(document.querySelector('iframe').contentDocument.title) }} catch (error) {{}}
        }}</script>""",
    )
    _, pages = crawl(site, tmp_path, settings=replace(RENDER, max_pages=1))
    assert pages["/"]["title"] == "mine nothing nothing shared"
    assert "hidden" not in pages["/"]["body"]
    assert not [seen for seen in (*site.seen, *other.seen) if "Cookie" in seen.headers]


@pytest.mark.long
def test_a_script_or_sheet_of_another_site_does_not_become_the_page_s_own(
    site: Site, other: Site, tmp_path: Path
) -> None:
    for path in ("/", "/cors"):
        script(other, f"{path}script", "secret_script")
        other.set(f"{path}sheet", ".secret_rule { color: red }", content_type="text/css")
    script(other, "/runs", "put('ran')")
    other.set("/to-runs", status=302, headers={"Location": site.url("/runs")})
    script(site, "/runs", "put('ran')")
    own = site.url("").rstrip("/")
    script(site, "/own", "secret_of_its_own")
    with Site("127.0.0.2") as third:
        third.set("/named", "secret_named", headers={"Access-Control-Allow-Origin": own})
        third.set("/all", "open to all", headers={"Access-Control-Allow-Origin": "*"})
        for path in ("/named", "/all"):
            other.set(path, status=302, headers={"Location": third.url(path), "Access-Control-Allow-Origin": "*"})
        for path in ("/script", "/sheet"):
            site.set(path, status=302, headers={"Location": other.url(path)})
        site.set(
            "/",
            f"""<p id=seen></p><script>
            const put = text => document.getElementById('seen').append(text + '; ')
            onerror = message => put(message)
            for (const url of ['{other.url("/named")}', '{other.url("/all")}'])
                fetch(url).then(r => r.text()).then(put, () => put('refused'))
            onload = () => {{
                for (const sheet of document.styleSheets)
                    try {{ put([...sheet.cssRules].map(rule => rule.cssText)) }} catch (error) {{ put(error.name) }}
            }}
            </script>
            <script src=/own></script><script src=/script></script><script src="{other.url("/to-runs")}"></script>
            <script crossorigin src="{other.url("/corsscript")}"></script>
            <link rel=stylesheet href=/sheet><link rel=stylesheet href="{other.url("/sheet")}">
            <link rel=stylesheet crossorigin href="{other.url("/corssheet")}">""",
        )
        _, pages = crawl(site, tmp_path / "out", settings=replace(RENDER, max_depth=0))
    seen = pages["/"]["body"].partition('id="seen">')[2].partition("</p>")[0]
    assert "secret_of_its_own is not defined" in seen
    assert "ran; " in seen
    assert "open to all; " in seen
    assert seen.count("refused; ") == 1
    assert seen.count("SecurityError; ") == 3, "a sheet that was refused has no rules to be read either"
    for secret in ("secret_script", "secret_rule", "secret_named"):
        assert secret not in seen


@pytest.mark.long
def test_a_part_that_redirects_in_a_loop_is_asked_for_once(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", "")
    site.set("/round", status=302, headers={"Location": "/and-round"})
    site.set("/and-round", status=302, headers={"Location": "/round"})
    site.set("/", "<script src=/round></script><p>page")
    _, pages = crawl(site, tmp_path, settings=replace(RENDER, max_pages=1))
    assert "/" in pages
    assert [path for path in site.paths() if "round" in path] == ["/round", "/and-round"]


@pytest.mark.long
def test_credentials_go_where_a_page_is_of_their_origin_and_to_no_part_of_another_page(
    site: Site, other: Site, tmp_path: Path
) -> None:
    """`other` is ours and needs a password; pages of `site` would like to read it."""
    for each in (site, other):
        each.set("/robots.txt", "")
    script(other, "/secret.js", "window.secret = 'secret'")
    script(other, "/own.js", "window.own = 'own'")
    other.set("/data", "data")
    other.set("/inner", f"<script src='{site.url('/through.js')}'></script><script src='/framed.js'></script>")
    script(other, "/framed.js", "")
    script(site, "/through.js", "")
    site.set("/to-secret", status=302, headers={"Location": other.url("/redirected.js")})
    script(other, "/redirected.js", "")
    other.set("/back", status=302, headers={"Location": site.url("/back")})
    site.set("/back", status=302, headers={"Location": other.url("/tainted.js")})
    script(other, "/tainted.js", "")
    other.set(
        "/",
        "<script src=/secret.js></script><script src=/own.js></script><script src=/back></script>"
        "<iframe src=/inner></iframe><script>fetch('/data')</script>",
    )
    site.set(
        "/",
        f"""<script src='{other.url("/secret.js")}'></script><script src=/to-secret></script>
        <iframe src='{other.url("/inner")}'></iframe>
        <script>fetch('{other.url("/data")}', {{mode: 'no-cors'}})</script><a href='{other.url("/")}'>other</a>""",
    )
    settings = replace(RENDER, scope="any", max_pages=3)
    client = comity.ClientSettings(auth={other.url("/"): ("me", "secret")})
    crawl(site, tmp_path, settings=settings, client_settings=client)
    with_credentials = [seen.path for seen in other.seen if "Authorization" in seen.headers]
    without = [seen.path for seen in other.seen if "Authorization" not in seen.headers and seen.path != "/robots.txt"]
    assert sorted(set(without)) == ["/data", "/framed.js", "/inner", "/redirected.js", "/secret.js", "/tainted.js"]
    assert sorted(set(with_credentials) - {"/robots.txt"}) == [
        *("/", "/back", "/data", "/framed.js", "/inner", "/own.js", "/secret.js")
    ]
    assert not [seen for seen in site.seen if "Authorization" in seen.headers]


@pytest.mark.long
def test_headers_of_a_script_s_choice_go_to_another_site_only_if_it_agrees(
    site: Site, other: Site, tmp_path: Path
) -> None:
    asked: list[tuple[str, str, dict[str, str]]] = []

    def agreeing(*names: str) -> Handler:
        async def answer(request: web.Request) -> web.Response:
            asked.append((request.method, request.path, dict(request.headers)))
            headers = {"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": ", ".join(names)}
            return web.Response(text=request.path, headers=headers)

        return answer

    for each in (site, other):
        each.set("/robots.txt", "User-agent: *\nDisallow: /private\n")
    other.set("/agreed", agreeing("X-Key", "authorization"))
    other.set("/star", agreeing("*"))
    other.set("/star-is-not-authorization", agreeing("*"))
    other.set("/refused", agreeing("X-Other"))
    other.set("/private", agreeing("X-Key"))
    other.set("/plain", agreeing())
    other.set("/no-cors", agreeing())
    site.set("/own", agreeing())
    site.set(
        "/",
        f"""<title>x</title><script>
        const key = {{'X-Key': '1'}}, login = {{Authorization: 'Bearer 1'}}, there = '{other.url("")}'
        const get = (url, headers, more) => fetch(url, {{headers, ...more}}).then(r => r.text(), () => '-')
        ;(async () => {{
            const all = [
                await get('/own', {{...key, ...login}}), await get(there + '/agreed', {{...key, ...login}}),
                await get(there + '/agreed', {{...key, ...login}}), await get(there + '/star', key),
                await get(there + '/star-is-not-authorization', login), await get(there + '/refused', key),
                await get(there + '/private', key),
                await get(there + '/plain', {{Accept: 'a/b'}}, {{cache: 'no-store'}}),
                await get(there + '/no-cors', key, {{mode: 'no-cors'}}),
            ]
            document.title = all.join(' ')
        }})()</script>""",
    )
    _, pages = crawl(site, tmp_path, settings=replace(RENDER, max_pages=1))
    assert pages["/"]["title"].rstrip() == "/own /agreed /agreed /star - - - /plain"
    assert [(method, path) for method, path, _ in asked] == [
        ("GET", "/own"),
        ("OPTIONS", "/agreed"),
        ("GET", "/agreed"),
        ("GET", "/agreed"),
        ("OPTIONS", "/star"),
        ("GET", "/star"),
        ("OPTIONS", "/star-is-not-authorization"),
        ("OPTIONS", "/refused"),
        ("GET", "/plain"),
        ("GET", "/no-cors"),
    ]
    _, _, preflight = asked[1]
    assert preflight["Origin"] == site.url("")
    assert preflight["Access-Control-Request-Method"] == "GET"
    assert preflight["Access-Control-Request-Headers"] == "authorization,x-key"
    for method, path, headers in asked:
        if method == "OPTIONS" or path in ("/plain", "/no-cors"):
            assert not {"X-Key", "Authorization"} & headers.keys()


@pytest.mark.parametrize(
    ("header", "value", "safe"),
    [
        ("accept", "text/html, */*;q=0.8", True),
        ("accept", "a(b)", False),
        ("accept", "x" * 129, False),
        ("accept-language", "de, en;q=0.5", True),
        ("content-language", "de:en", False),
        ("content-type", "text/plain; charset=utf-8", True),
        ("content-type", "application/json", False),
        ("range", "bytes=0-9", True),
        ("range", "bytes=-9", False),
        ("cache-control", "no-cache", True),
        ("x-key", "", False),
        ("authorization", "Basic eA==", False),
    ],
)
def test_headers_that_need_no_preflight_are_those_of_the_fetch_standard(header: str, value: str, safe: bool) -> None:
    assert to_be_asked_about({header: value}) == (() if safe else (header,))


@pytest.mark.long
def test_what_a_page_asks_of_robots_holds_though_a_script_took_it_away(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", "")
    site.set(
        "/",
        """<meta name=robots content="nofollow, noindex"><a href=/linked>x</a>
        <script>document.querySelector('meta').remove()</script>""",
    )
    _, pages = crawl(site, tmp_path)
    assert set(pages) == {"/"}
    assert pages["/"]["noindex"]


@pytest.mark.long
def test_links_are_read_from_where_scripts_moved_the_page_to(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", "")
    site.set(
        "/",
        """<script>history.pushState(0, '', '/shop/all'); onload = () => {
        document.body.innerHTML = '<a href=one>x</a>' }</script><body>""",
    )
    site.set("/shop/one", "one")
    _, pages = crawl(site, tmp_path)
    assert set(pages) == {"/", "/shop/one"}


@pytest.mark.long
def test_a_page_without_scripts_stays_out_of_the_browser(site: Site, tmp_path: Path, browser: str) -> None:
    site.set("/robots.txt", "")
    site.set("/", '<link rel=stylesheet href=/s.css><p id="x">plain <a href=/text>x</a>')
    site.set("/text", "<script>", content_type="text/plain")
    started: set[int] = set()
    crawler = Crawler([site.url("/")], tmp_path, policy=POLICY, settings=RENDER)
    asyncio.run(crawler.run(on_page=lambda _: started.update(processes(browser))))
    assert site.paths() == ["/robots.txt", "/", "/text"]
    assert not started
    assert rows(tmp_path, "pages")[0]["rendered"] is None


@pytest.mark.long
def test_programs_get_the_page_as_it_is_after_its_scripts(shop: Site, tmp_path: Path) -> None:
    seen: list[bytes] = []

    class Titles:
        def expand(self, response: comity.Response) -> Expanded:
            seen.append(response.body)
            return Expanded([{"length": len(response.body)}])

    pages: list[CrawledPage] = []
    crawler = Crawler([shop.url("/")], tmp_path, policy=POLICY, settings=RENDER, plugins={"expander": Titles()})
    asyncio.run(crawler.run(on_page=pages.append))
    assert sorted(page.title or "" for page in pages) == ["Page a", "Page b", "Page c", "Page home"]
    assert sorted(page.body for page in pages) == sorted(seen)
    assert all("Page" in page.text and page.encoding == "utf-8" for page in pages)


@pytest.mark.long
@pytest.mark.parametrize("form", ["warc", *REST])
def test_every_format_keeps_the_page_as_served_and_as_rendered(shop: Site, tmp_path: Path, form: str) -> None:
    settings = replace(RENDER, max_pages=1)
    crawler = Crawler([shop.url("/")], tmp_path, policy=POLICY, settings=settings, plugins={"sink": form})
    asyncio.run(crawler.run())
    shell = b"<title>Loading</title>"
    match form:
        case "files":
            (page,) = rows(tmp_path / "files", "pages")
            assert shell in (tmp_path / "files" / page["file"]).read_bytes()
            assert "<title>Page home</title>" in page["body"]
        case "warc":
            from warcio.archiveiterator import ArchiveIterator

            with (tmp_path / "crawl-00001.warc.gz").open("rb") as file:
                records = [
                    (one.rec_type, one.rec_headers, one.content_stream().read())
                    for one in ArchiveIterator(file)
                    if one.rec_headers.get_header("WARC-Target-URI") == shop.url("/")
                ]
            kinds = {kind: (headers, body) for kind, headers, body in records}
            assert shell in kinds["response"][1]
            headers, body = kinds["conversion"]
            assert b"<title>Page home</title>" in body
            assert headers.get_header("WARC-Refers-To") == kinds["response"][0].get_header("WARC-Record-ID")
        case "sqlite":
            import sqlite3

            with sqlite3.connect(tmp_path / "crawl.sqlite") as database:
                ((body, rendered),) = database.execute("SELECT body, rendered FROM pages")
            assert "<title>Page home</title>" in body
            assert rendered == 1
        case "parquet":
            from pyarrow import parquet

            (page,) = parquet.read_table(tmp_path / "pages" / "00001.parquet").to_pylist()
            assert "<title>Page home</title>" in page["body"]
    assert prove(tmp_path).findings == []


def test_a_crawl_that_cannot_render_says_what_is_missing(shop: Site, tmp_path: Path) -> None:
    for wrong in ({"render_browser": "/no/such/browser"}, {"render_browser": "/bin/false"}):
        settings = CrawlSettings(render=True, render_seconds=HANGS, **wrong)  # type: ignore[arg-type]
        crawler = Crawler([shop.url("/")], tmp_path / wrong["render_browser"][-5:], policy=POLICY, settings=settings)
        with pytest.raises((comity.InvalidSetting, comity.RenderingFailed), match="browser"):
            asyncio.run(crawler.run())
    code = "import sys; sys.modules['playwright'] = None; from comity.cli import main; main()"
    arguments = ["crawl", shop.url("/"), "--render", "-o", str(tmp_path / "out")]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 64
    assert done.stderr == (
        "comity: rendering pages needs playwright, which is not installed (pip install 'comity[playwright]')\n"
    )


def test_a_crawl_that_does_not_render_imports_nothing_for_it(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", "")
    site.set("/", "<script></script>")
    code = f"""import asyncio, sys, pathlib, comity
from comity.crawler import Crawler
policy = comity.Policy(agent="x", min_interval=0, allow_addresses=("127.0.0.0/8",))
asyncio.run(Crawler([{site.url("/")!r}], pathlib.Path({str(tmp_path)!r}), policy=policy).run())
assert not [name for name in sys.modules if "playwright" in name or "rendering" in name]"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "wrong",
    [{"render": 1}, {"render_seconds": 0}, {"render_seconds": None}, {"render_requests": -1}, {"render_pages": 0}],
    ids=str,
)
def test_wrong_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(comity.InvalidSetting, match=next(iter(wrong))):
        CrawlSettings(**wrong)


@pytest.mark.long
def test_a_refresh_compares_what_was_served_and_follows_what_scripts_name_now(shop: Site, tmp_path: Path) -> None:
    crawl(shop, tmp_path)
    shop.set("/api/c", json.dumps({"title": "Page c", "links": ["/d"]}), content_type="application/json")
    shop.set("/d", "<title>new</title>")
    asyncio.run(Crawler([], tmp_path, policy=POLICY, settings=RENDER, refresh=True).run())
    assert prove(tmp_path).findings == []
    changes = {row["url"].removeprefix(shop.url("")): row["change"] for row in rows(tmp_path, "changes")}
    assert changes == {"/": "unchanged", "/a": "unchanged", "/b": "unchanged", "/c": "unchanged", "/d": "new"}


@pytest.mark.long
def test_only_pages_that_are_next_to_empty_without_scripts_are_rendered_where_that_is_wanted(
    site: Site, tmp_path: Path
) -> None:
    story = f"<p>{'The keeper of the lamps goes round each evening and fills them with oil. ' * 12}</p>"
    add = "document.body.innerHTML += '<p>put there by a script</p><a href=/more>more</a>'"
    site.set("/", f"<title>Lamps</title><main><h1>Lamps</h1>{story}</main><a href=/shell>s</a><script>{add}</script>")
    site.set("/shell", f"<title>Shell</title><body><div id=root></div><script>{add}</script>")
    site.set("/more", f"<title>More</title><main><h1>More</h1>{story}</main>")
    _, pages = crawl(site, tmp_path, settings=replace(RENDER, render=False, render_auto=True))
    assert {path: page["rendered"] for path, page in pages.items()} == {"/": None, "/shell": True, "/more": None}
    assert '<a href="/more">more</a>' in pages["/shell"]["body"]
