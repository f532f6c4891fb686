"""An archive holds what its pages need to look as they do, each by leave of robots.txt."""

import asyncio
import json
import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from commands import ALLOW, comity, process
from sites import Site

from comity import Crawler, CrawlSettings, Policy
from comity.audit.prove import prove
from comity.audit.url_status import explain_url

POLICY = Policy(agent="TestBot/1.0", min_interval=0.001, allow_addresses=("127.0.0.0/8",))


def png(red: int, green: int, blue: int) -> bytes:
    """A square of one colour."""
    rows = b"".join(b"\0" + bytes((red, green, blue)) * 40 for _ in range(40))
    parts = {b"IHDR": struct.pack(">IIBBBBB", 40, 40, 8, 2, 0, 0, 0), b"IDAT": zlib.compress(rows), b"IEND": b""}
    chunks = (struct.pack(">I", len(data)) + name + data for name, data in parts.items())
    crcs = (struct.pack(">I", zlib.crc32(name + data)) for name, data in parts.items())
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk + crc for chunk, crc in zip(chunks, crcs, strict=True))


@pytest.fixture
def shown(site: Site) -> Iterator[tuple[Site, Site]]:
    """A page that looks as it does by images, sheets, a script and a font, some of them of another host."""
    with Site("127.0.0.2") as other:
        site.set("/robots.txt", "User-agent: *\nDisallow: /private/\n")
        other.set("/robots.txt", "User-agent: *\nDisallow: /no.png\n")
        site.set(
            "/",
            f"""<html><head><link rel=stylesheet href=/s/a.css?v=1&utm_source=x><title>Home</title></head><h1>Home</h1>
            <img src=/i/red.png><img src={other.url("/blue.png")}><img src={other.url("/no.png")}>
            <img src=/private/x.png><img srcset="/i/green.png 1x, /i/moved.png 2x"><img src=/i/lost.png>
            <img src=/big.png width=10><a href=/big.png>large</a><a href=/two>two</a></body></html>""",
        )
        site.set("/two", "<script src=/s/a.js></script><p>two<img src=/i/red.png>")
        site.set(
            "/s/a.css?v=1&utm_source=x",
            '@import "b.css"; body { background: #eee url(/i/bg.png) }',
            content_type="text/css",
        )
        site.set("/s/b.css", "h1 { color: #f00 }", content_type="text/css")
        site.set(
            "/s/a.js", "document.title = 'ran'; document.body.style.background = '#0f0'", content_type="text/javascript"
        )
        colours = {
            "/i/red.png": (255, 0, 0),
            "/i/green.png": (0, 255, 0),
            "/i/bg.png": (200, 200, 255),
            "/big.png": (9, 9, 9),
        }
        for path, colour in colours.items():
            site.set(path, png(*colour), content_type="image/png")
        site.set("/i/moved.png", "", status=302, headers={"Location": "/i/green.png"})
        for path in ("/blue.png", "/no.png"):
            other.set(path, png(0, 0, 255), content_type="image/png")
        yield site, other


def crawl(folder: Path, site: Site, sink: str = "warc", **settings: Any) -> Crawler:
    made = CrawlSettings(sitemaps=False, retries=0, **settings)
    crawler = Crawler(site.url("/"), folder, policy=POLICY, settings=made, plugins={"sink": sink})
    with ThreadPoolExecutor(1) as thread:  # the browser's library has a loop in this one
        thread.submit(lambda: asyncio.run(crawler.run())).result()
    return crawler


def asked(*sites: Site) -> Counter[str]:
    return Counter(seen.path for each in sites for seen in each.seen if not seen.path.startswith("/robots.txt"))


def test_what_pages_need_is_asked_for_once_by_leave_of_robots_txt(shown: tuple[Site, Site], tmp_path: Path) -> None:
    site, other = shown
    stats = crawl(tmp_path, site).stats
    paths = ["/", "/two", "/big.png", "/s/a.css?v=1&utm_source=x", "/s/b.css", "/s/a.js", "/i/bg.png", "/i/red.png"]
    paths += ["/i/green.png", "/i/moved.png", "/i/lost.png", "/blue.png"]
    assert asked(site, other) == Counter(paths)
    assert (stats.pages, stats.requisites, stats.requisites_failed) == (2, 8, 1)
    assert (stats.failed, stats.refused, stats.redirects) == (0, 2, 1)
    assert prove(tmp_path).findings == []
    assert explain_url(tmp_path, site.url("/i/red.png")).fate == "requisite"


def test_pages_are_limited_and_what_they_need_is_not(shown: tuple[Site, Site], tmp_path: Path) -> None:
    site, other = shown
    for number, limits in enumerate(({"max_pages": 1}, {"max_pages_per_host": 1}, {"max_bytes": 1})):
        before = asked(site, other)
        crawler = crawl(tmp_path / str(number), site, **limits)
        assert (crawler.stats.pages, crawler.stats.requisites) == (1, 7)
        new = asked(site, other) - before
        assert "/two" not in new
        assert "/s/b.css" in new
    crawler = Crawler((), tmp_path / "0", policy=POLICY, settings={"max_pages": None})
    asyncio.run(crawler.run())
    assert (crawler.stats.pages, crawler.stats.requisites) == (2, 8)
    assert prove(tmp_path / "0").findings == []


@pytest.mark.parametrize(("choice", "count"), [("same-site", 7), ("none", 0)])
def test_whose_requisites_are_taken_is_the_operators_choice(
    shown: tuple[Site, Site], tmp_path: Path, choice: str, count: int
) -> None:
    site, other = shown
    assert crawl(tmp_path, site, requisites=choice).stats.requisites == count
    assert not other.seen


def test_what_a_pattern_excludes_is_not_fetched_for_a_page_either(shown: tuple[Site, Site], tmp_path: Path) -> None:
    site, other = shown
    crawl(tmp_path, site, exclude=("/i/", f"{other.url('/blue')}*"))
    assert not [path for path in asked(site, other) if path.startswith(("/i/", "/blue"))]


def test_other_formats_hold_no_requisites_and_say_so(shown: tuple[Site, Site], tmp_path: Path) -> None:
    site, _ = shown
    assert crawl(tmp_path / "one", site, "jsonl").stats.requisites == 0
    for name, value in (("--requisites", ("all",)), ("--raw", ())):
        told = comity("crawl", site.url("/"), name, *value, "-o", str(tmp_path / "two"), *ALLOW)
        assert (told.returncode, f"{name} is for archives: add --format warc or wacz" in told.stderr) == (64, True)
    told = comity(
        "crawl", site.url("/"), "--format", "warc", "-o", str(tmp_path / "3"), *ALLOW, "--delay", "0.001", "--quiet"
    )
    assert (told.returncode, "requisites                     9" in told.stdout) == (0, True)
    assert "images, style sheets, scripts, fonts of pages; 1 failed" in told.stdout


def test_a_page_that_another_shows_as_an_image_is_a_page_all_the_same(site: Site, tmp_path: Path) -> None:
    site.set("/", "<img src=/page><a href=/page>x</a>")
    site.link("/page", "/further")
    site.set("/further", "x")
    stats = crawl(tmp_path, site).stats
    assert (stats.pages, stats.requisites) == (3, 0)


def test_sheets_that_import_each_other_without_end_come_to_one(site: Site, tmp_path: Path) -> None:
    site.set("/", "<link rel=stylesheet href=/0.css>")
    for number in range(60):
        site.set(f"/{number}.css", f"@import '{number + 1}.css'", content_type="text/css")
    assert crawl(tmp_path, site).stats.requisites < 30


def replayed(folder: Path) -> dict[str, tuple[int, dict[str, str], bytes]]:
    """What an archive holds: status, headers and body by URL."""
    from warcio.archiveiterator import ArchiveIterator

    found = {}
    for path in folder.glob("crawl-*.warc.gz"):
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                if record.rec_type == "response":
                    head = record.http_headers
                    names = {name.lower(): value for name, value in head.headers}
                    kept = {name: names[name] for name in ("content-type", "location") if name in names}
                    url = record.rec_headers.get_header("WARC-Target-URI")
                    found[url] = (int(head.get_statuscode()), kept, record.content_stream().read())
    return found


@pytest.mark.long
@pytest.mark.parametrize("form", ["warc", "wacz"])
def test_a_page_replayed_without_a_network_looks_as_it_did(
    shown: tuple[Site, Site], tmp_path: Path, chromium: Any, form: str
) -> None:
    site, other = shown
    other.set("/robots.txt", "")
    site.set("/robots.txt", "")
    site.set("/private/x.png", png(7, 77, 7), content_type="image/png")
    live = {}
    for path in ("/", "/two"):
        tab = chromium.new_page(viewport={"width": 800, "height": 600})
        tab.goto(site.url(path), wait_until="load")
        live[path] = tab.title(), tab.screenshot()
        tab.close()
    crawl(tmp_path, site, form)
    archive, missing = replayed(tmp_path), []
    for each in shown:
        each.set("/robots.txt", "", status=500)
    before = len(site.seen) + len(other.seen)

    def answer(route: Any) -> None:
        url = route.request.url
        while url in archive and 300 <= archive[url][0] < 400:  # a replay follows what it answers itself
            url = site.url(archive[url][1]["location"])
        if url not in archive:
            missing.append(url)
            route.abort()
            return
        status, headers, body = archive[url]
        route.fulfill(status=status, headers=headers, body=body)

    for path, looked in live.items():
        tab = chromium.new_page(viewport={"width": 800, "height": 600})
        tab.route("**/*", answer)
        tab.goto(site.url(path), wait_until="load")
        assert (tab.title(), tab.screenshot()) == looked, json.dumps(missing)
        tab.close()
    assert [url for url in missing if not url.endswith("/favicon.ico")] == []
    assert len(site.seen) + len(other.seen) == before


@pytest.mark.long
def test_workers_fetch_what_the_last_pages_of_a_limit_need(shown: tuple[Site, Site], tmp_path: Path) -> None:
    site, other = shown
    words = ("--format", "warc", "--workers", "2", "--max-pages", "1", "--delay", "0.001", "--quiet", "--json", *ALLOW)
    told = process("crawl", site.url("/"), "-o", str(tmp_path / "out"), *words)
    counts = json.loads(told.stdout)
    assert (told.returncode, counts["pages"], counts["requisites"]) == (0, 1, 7)
    assert asked(other) == Counter(["/blue.png"])
    assert prove(tmp_path / "out").findings == []
