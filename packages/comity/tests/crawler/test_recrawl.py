"""A refresh: what is new, changed, gone and unchanged, each page told of once, and no more asked for than must be."""

import asyncio
import json
import sqlite3
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from clocks import FakeClock
from commands import comity, complaint
from examples import first_of
from hypothesis import given
from hypothesis import strategies as st
from killing import finished, killed
from outputs import READERS, answered, lines
from sites import HANGS, Site

from comity import Crawler, Policy, StorageError, times
from comity.audit.prove import prove
from comity.audit.report import write as write_report
from comity.crawler.output.formats import LOGS
from comity.crawler.run.discovery import latest_change
from comity.crawler.run.recrawl import MAX_TRUST_SECONDS, TRUST_MARGIN_SECONDS, RefreshRun, visited
from comity.crawler.storage.folder import FolderStorage
from comity.frontier.values import Visit
from comity_pages.signals import sitemaps

QUICK = Policy(min_interval=0, backoff=0.05, allow_addresses=("127.0.0.0/8",))
LOCAL = ("--delay", "0", "--allow-address", "127.0.0.0/8")


def crawl(
    folder: Path,
    *seeds: str,
    refresh: bool = False,
    policy: Policy = QUICK,
    clock: FakeClock | None = None,
    sink: str | None = None,
    **settings: Any,
) -> Crawler:
    crawler = Crawler(
        seeds,
        FolderStorage(folder, clock=clock),
        policy=policy,
        settings=settings,
        refresh=refresh,
        plugins={"sink": sink},
    )
    asyncio.run(crawler.run())
    return crawler


def records(folder: Path, channel: str) -> list[dict[str, Any]]:
    path = folder / f"{channel}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def changes(folder: Path, site: Site, refresh: int = 1) -> dict[str, tuple[str, str]]:
    """What a refresh says of each path, and by what; a path that it speaks of twice fails the test."""
    found = [record for record in records(folder, "changes") if record["refresh"] == refresh]
    told = {record["url"].removeprefix(site.url("")): (record["change"], record["by"]) for record in found}
    assert len(told) == len(found)
    return told


def serve(site: Site, path: str, body: str, **validators: str) -> None:
    """A page with ETag, Last-Modified or neither, that honours the conditions that fit."""
    headers = {name.replace("_", "-"): value for name, value in validators.items()}

    async def page(request: web.Request) -> web.StreamResponse:
        asked = (request.headers.get("If-None-Match"), request.headers.get("If-Modified-Since"))
        same = "ETag" in headers and asked[0] == headers["ETag"]
        same = same or ("Last-Modified" in headers and asked[0] is None and asked[1] == headers["Last-Modified"])
        return web.Response(
            status=304 if same else 200,
            text=None if same else body,
            headers=headers,
            content_type=None if same else "text/html",
        )

    site.set(path, page)


def site_map(site: Site, **lastmod: str) -> None:
    entries = "".join(
        f"<url><loc>{site.url('/' + path)}</loc>{f'<lastmod>{when}</lastmod>' if when else ''}</url>"
        for path, when in lastmod.items()
    )
    site.set("/map.xml", f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>')
    site.set("/robots.txt", f"User-agent: *\nAllow: /\nSitemap: {site.url('/map.xml')}\n")


def proved(folder: Path) -> bool:
    return prove(folder).findings == []


def test_every_page_is_new_changed_gone_or_unchanged_and_asked_for_as_cheaply_as_can_be(
    site: Site, tmp_path: Path
) -> None:
    modified = "Sat, 01 Mar 2025 10:00:00 GMT"
    site.link("/", "/tagged", "/dated", "/plain", "/tagged-changes", "/dated-changes", "/plain-changes", "/goes")
    serve(site, "/tagged", "tagged", ETag='W/"1"')
    serve(site, "/dated", "dated", Last_Modified=modified)
    serve(site, "/plain", "plain")
    serve(site, "/tagged-changes", "before", ETag='"1"')
    serve(site, "/dated-changes", "before", Last_Modified=modified)
    serve(site, "/plain-changes", "before")
    serve(site, "/goes", "goes", ETag='"1"')
    first = crawl(tmp_path, site.url("/"))
    assert (first.stats.pages, first.stats.new, first.refreshes) == (8, 0, False)
    assert not (tmp_path / "changes.jsonl").exists()

    serve(site, "/tagged-changes", '<a href="/fresh">after</a>', ETag='"2"')
    serve(site, "/dated-changes", "after", Last_Modified="Sat, 01 Mar 2025 11:00:00 GMT")
    serve(site, "/plain-changes", "after")
    site.link("/fresh")
    site.set("/goes", status=410)
    site.seen.clear()
    second = crawl(tmp_path, refresh=True)
    assert changes(tmp_path, site) == {
        "/": ("unchanged", "content"),
        "/tagged": ("unchanged", "validator"),
        "/dated": ("unchanged", "validator"),
        "/plain": ("unchanged", "content"),
        "/tagged-changes": ("changed", "content"),
        "/dated-changes": ("changed", "content"),
        "/plain-changes": ("changed", "content"),
        "/fresh": ("new", "content"),
        "/goes": ("gone", "status"),
    }
    stats = second.stats
    assert (stats.new, stats.changed, stats.gone, stats.unchanged, stats.pages, stats.failed) == (1, 3, 1, 4, 4, 0)
    assert second.refreshes
    asked = {seen.path: seen.headers for seen in site.seen}
    assert asked["/tagged"]["If-None-Match"] == 'W/"1"'
    assert asked["/dated"]["If-Modified-Since"] == modified
    assert not {"If-None-Match", "If-Modified-Since"} & set(asked["/plain"])
    assert max(Counter(site.paths()).values()) == 1

    pages = [record["url"].removeprefix(site.url("")) for record in records(tmp_path, "pages")]
    assert sorted(pages[8:]) == ["/dated-changes", "/fresh", "/plain-changes", "/tagged-changes"]
    assert {record.get("refresh") for record in records(tmp_path, "pages")[8:]} == {1}
    assert records(tmp_path, "failures") == [
        record for record in records(tmp_path, "failures") if "/sitemap" in record["url"]
    ]
    assert proved(tmp_path)
    write_report(tmp_path, tmp_path / "report.html")


def test_a_change_names_the_records_before_and_after(site: Site, tmp_path: Path, clock: FakeClock) -> None:
    serve(site, "/", "one")
    crawl(tmp_path, site.url("/"), clock=clock)
    clock.now += 100
    crawl(tmp_path, refresh=True, clock=clock)
    serve(site, "/", "two")
    clock.now += 100
    crawl(tmp_path, refresh=True, clock=clock)
    one, two = records(tmp_path, "pages")
    same, changed = records(tmp_path, "changes")
    assert same["previous_fetched_at"] == changed["previous_fetched_at"] == one["fetched_at"]
    assert same["previous_sha256"] == same["sha256"] == changed["previous_sha256"] == one["sha256"]
    assert (changed["sha256"], changed["fetched_at"]) == (two["sha256"], two["fetched_at"])
    assert times.parse_iso(same["fetched_at"]) == pytest.approx(times.parse_iso(one["fetched_at"]) + 100, abs=50)


def test_one_refresh_works_on_top_of_the_other(site: Site, tmp_path: Path) -> None:
    site.link("/", "/a", "/b")
    serve(site, "/a", "one", ETag='"1"')
    serve(site, "/b", "b", ETag='"b"')
    crawl(tmp_path, site.url("/"))
    serve(site, "/a", "two", ETag='"2"')
    site.link("/", "/a", "/c")
    site.link("/c")
    site.set("/b", status=404)
    crawl(tmp_path, refresh=True)
    site.seen.clear()
    last = crawl(tmp_path, refresh=True)
    assert changes(tmp_path, site, 1) == {
        "/": ("changed", "content"),
        "/a": ("changed", "content"),
        "/b": ("gone", "status"),
        "/c": ("new", "content"),
    }
    assert changes(tmp_path, site, 2) == {
        "/": ("unchanged", "content"),
        "/a": ("unchanged", "validator"),
        "/c": ("unchanged", "content"),
    }
    assert "/b" not in site.paths()
    assert (last.stats.unchanged, last.stats.new, last.stats.pages, last.stats.gone) == (3, 0, 0, 0)
    assert proved(tmp_path)
    serve(site, "/b", "b is back")
    site.link("/", "/a", "/b", "/c")
    crawl(tmp_path, refresh=True)
    assert changes(tmp_path, site, 3)["/b"] == ("new", "content")


def test_what_robots_txt_forbids_by_now_is_refused_and_not_asked_for(site: Site, tmp_path: Path) -> None:
    site_map(site, a="2020-01-01", b="")
    site.link("/", "/a", "/b")
    for path in ("/a", "/b"):
        serve(site, path, path, ETag='"1"')
    crawl(tmp_path, site.url("/"))
    site.set("/robots.txt", f"User-agent: *\nDisallow: /a\nDisallow: /b\nSitemap: {site.url('/map.xml')}\n")
    site.seen.clear()
    stats = crawl(tmp_path, refresh=True).stats
    assert not {"/a", "/b"} & set(site.paths())
    assert {record["url"] for record in records(tmp_path, "refusals")} == {site.url("/a"), site.url("/b")}
    assert set(changes(tmp_path, site)) == {"/"}
    assert stats.refused == 2
    assert proved(tmp_path)
    site_map(site, a="", b="")
    crawl(tmp_path, refresh=True)
    assert changes(tmp_path, site, 2)["/a"] == ("unchanged", "validator")


@pytest.mark.parametrize("interval", [0, 1])
def test_a_page_that_has_not_changed_by_its_sitemap_is_not_asked_for(
    site: Site, tmp_path: Path, clock: FakeClock, interval: int
) -> None:
    today = datetime.fromtimestamp(clock.wall(), UTC).strftime("%Y-%m-%d")
    site_map(site, old="2020-01-01", new=today, unsaid="", exact="2020-01-01T10:00:00+02:00", never="sometime")
    paths = ("/old", "/new", "/unsaid", "/exact", "/never")
    site.link("/", *paths)
    for path in paths:
        site.link(path)
    policy = QUICK.with_changes(min_interval=interval)
    crawl(tmp_path, site.url("/"), clock=clock, policy=policy)
    site.seen.clear()
    crawl(tmp_path, refresh=True, clock=clock, policy=policy)
    assert changes(tmp_path, site) == {
        "/": ("unchanged", "content"),
        "/old": ("unchanged", "lastmod"),
        "/new": ("unchanged", "content"),
        "/unsaid": ("unchanged", "content"),
        "/exact": ("unchanged", "lastmod"),
        "/never": ("unchanged", "content"),
    }
    assert sorted(site.paths()) == ["/", "/map.xml", "/never", "/new", "/robots.txt", "/unsaid"]
    assert site.paths()[:2] == ["/robots.txt", "/map.xml"]
    assert proved(tmp_path)
    site.seen.clear()
    crawl(tmp_path, refresh=True, clock=clock, policy=policy, trust_lastmod=False)
    assert {*paths} <= set(site.paths())
    assert {by for _, by in changes(tmp_path, site, 2).values()} == {"content"}


def test_all_sitemaps_of_an_index_are_read_before_the_pages(site: Site, tmp_path: Path, clock: FakeClock) -> None:
    maps = [f"/map-{number}.xml" for number in range(5)]
    index = "".join(f"<sitemap><loc>{site.url(path)}</loc></sitemap>" for path in maps)
    site.set(
        "/sitemap.xml", f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{index}</sitemapindex>'
    )
    for number, path in enumerate(maps):
        entry = f"<url><loc>{site.url(f'/{number}')}</loc><lastmod>2020</lastmod></url>"
        site.set(path, f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entry}</urlset>')
        site.link(f"/{number}")
    site.link("/", *(f"/{number}" for number in range(5)))
    crawl(tmp_path, site.url("/"), clock=clock)
    site.seen.clear()
    crawl(tmp_path, refresh=True, clock=clock)
    assert site.paths()[:2] == ["/robots.txt", "/sitemap.xml"]
    assert sorted(site.paths()[2:]) == ["/", *maps]
    assert site.paths()[-1] == "/"


def test_a_sitemap_that_fails_holds_no_page_back(site: Site, tmp_path: Path, clock: FakeClock) -> None:
    site_map(site, a="2020-01-01")
    site.link("/", "/a")
    site.link("/a")
    crawl(tmp_path, site.url("/"), clock=clock)
    site.set("/map.xml", status=503)
    stats = crawl(tmp_path, refresh=True, clock=clock).stats
    assert changes(tmp_path, site) == {"/": ("unchanged", "content"), "/a": ("unchanged", "content")}
    assert stats.failed == 1
    site.set("/robots.txt", f"User-agent: *\nDisallow: /map\nSitemap: {site.url('/map.xml')}\n")
    crawl(tmp_path, refresh=True, clock=clock)
    assert set(changes(tmp_path, site, 2)) == {"/", "/a"}


def test_a_failure_that_may_pass_says_nothing_of_the_page(site: Site, tmp_path: Path, clock: FakeClock) -> None:
    site.link("/", "/ill", "/ill-at-first", "/away")
    serve(site, "/ill", "well", ETag='"1"')
    serve(site, "/away", "here")
    site.set("/ill-at-first", status=503)
    crawl(tmp_path, site.url("/"), clock=clock)
    site.set("/ill", status=500)
    site.set("/away", status=302, headers={"Location": "/sorry"})
    site.link("/sorry")
    serve(site, "/ill-at-first", "well", ETag='"1"')
    stats = crawl(tmp_path, refresh=True, clock=clock).stats
    assert changes(tmp_path, site) == {
        "/": ("unchanged", "content"),
        "/ill-at-first": ("new", "content"),
        "/sorry": ("new", "content"),
    }
    assert (stats.failed, stats.redirects) == (1, 1)
    serve(site, "/ill", "well", ETag='"1"')
    serve(site, "/away", "here again")
    crawl(tmp_path, refresh=True, clock=clock)
    assert changes(tmp_path, site, 2)["/ill"] == ("unchanged", "validator")
    assert changes(tmp_path, site, 2)["/away"] == ("changed", "content")
    assert proved(tmp_path)


def test_a_page_that_moved_for_good_is_gone_and_new_where_it_went(site: Site, tmp_path: Path) -> None:
    site.link("/", "/old")
    site.set("/old", "it")
    crawl(tmp_path, site.url("/"))
    site.set("/old", status=301, headers={"Location": "/new"})
    site.set("/new", "it")
    crawl(tmp_path, refresh=True)
    assert changes(tmp_path, site)["/old"] == ("gone", "status")
    assert changes(tmp_path, site)["/new"] == ("new", "content")
    assert records(tmp_path, "redirects")[0]["to"] == site.url("/new")
    (page,) = [record for record in records(tmp_path, "pages") if record["url"] == site.url("/new")]
    assert page["duplicate"] is None, "what it repeats is gone"
    assert proved(tmp_path)


def test_an_answer_of_not_modified_that_nobody_asked_for_is_a_failure(site: Site, tmp_path: Path) -> None:
    site.link("/", "/odd")
    site.set("/odd", "plain")
    crawl(tmp_path, site.url("/"))
    site.set("/odd", status=304)
    stats = crawl(tmp_path, refresh=True).stats
    assert set(changes(tmp_path, site)) == {"/"}
    assert stats.failed == 1


def test_counts_and_limits_are_those_of_the_refresh(site: Site, tmp_path: Path) -> None:
    site.link("/", *(f"/{number}" for number in range(10)))
    for number in range(10):
        serve(site, f"/{number}", str(number), ETag='"1"')
    crawl(tmp_path, site.url("/"), max_pages=6)
    refreshed = crawl(tmp_path, refresh=True, max_pages=4)
    assert (refreshed.stats.unchanged, refreshed.stats.new) == (2, 2)
    assert refreshed.end.limit_reached == "pages"
    again = crawl(tmp_path, max_pages=20)
    assert again.refreshes
    assert Counter(change for change, _ in changes(tmp_path, site).values()) == {"unchanged": 6, "new": 5}
    assert (again.stats.unchanged, again.stats.new) == (6, 5)
    assert proved(tmp_path)


def test_what_was_asked_for_longest_ago_has_its_turn_first(site: Site, tmp_path: Path) -> None:
    site.link("/", *(f"/{number}" for number in range(9)))
    for number in range(9):
        site.link(f"/{number}")
    crawl(tmp_path, site.url("/"))
    for _ in range(3):
        crawl(tmp_path, refresh=True, max_pages=4)
    told = Counter(path for refresh in (1, 2, 3) for path in changes(tmp_path, site, refresh) if path != "/")
    assert set(told) == {f"/{number}" for number in range(9)}


def test_known_pages_and_new_ones_have_their_shares_of_a_limit(site: Site, tmp_path: Path) -> None:
    site.link("/", *(f"/{number}" for number in range(40)))
    for number in range(40):
        serve(site, f"/{number}", str(number), ETag='"1"')
    crawl(tmp_path, site.url("/"), max_pages=12)
    for number in range(40):
        serve(site, f"/{number}", f"other {number}", ETag='"2"')
    for refresh in (1, 2, 3):
        refreshed = crawl(tmp_path, refresh=True)
        told = Counter(change for change, _ in changes(tmp_path, site, refresh).values())
        assert told.total() == 12
        assert 4 <= told["new"] <= 8, "neither those that are known nor the others alone"
        assert refreshed.end.unasked == {1: 6, 2: 18 - (12 - told["new"])}.get(refresh, refreshed.end.unasked)
    assert proved(tmp_path)


def test_duplicates_are_those_of_the_pages_as_they_are_now(site: Site, tmp_path: Path) -> None:
    site.link("/", "/a")
    site.set("/a", "same")
    crawl(tmp_path, site.url("/"))
    site.set("/a", "other")
    site.link("/", "/a", "/b", "/c")
    site.set("/b", "same")
    site.set("/c", "same")
    crawl(tmp_path, refresh=True)
    marks = {record["url"].removeprefix(site.url("")): record["duplicate_of"] for record in records(tmp_path, "pages")}
    assert marks["/a"] is None
    assert {marks["/b"], marks["/c"]} in ({None, site.url("/b")}, {None, site.url("/c")})


def test_only_pages_with_news_are_handed_out(site: Site, tmp_path: Path) -> None:
    site.link("/", "/a", "/b")
    site.set("/a", "a")
    site.set("/b", "b")
    crawl(tmp_path, site.url("/"))
    site.set("/a", "another")
    handed: list[str] = []
    crawler = Crawler((), tmp_path, policy=QUICK, refresh=True)
    asyncio.run(crawler.run(on_page=lambda page: handed.append(page.url)))
    assert handed == [site.url("/a")]


def test_what_has_not_ended_cannot_be_refreshed(site: Site, tmp_path: Path) -> None:
    site.link("/", "/a", "/b")
    with pytest.raises(StorageError, match=r"no crawl in .* to refresh"):
        crawl(tmp_path / "nothing", refresh=True)
    assert not (tmp_path / "nothing").exists()
    crawler = Crawler([site.url("/")], tmp_path, policy=QUICK)
    asyncio.run(crawler.run(on_page=lambda page: crawler.stop()))
    with pytest.raises(StorageError, match=r"is not finished.*--resume"):
        crawl(tmp_path, refresh=True)
    crawl(tmp_path)
    crawl(tmp_path, refresh=True)
    assert changes(tmp_path, site)["/"] == ("unchanged", "content")


def test_a_folder_from_before_there_were_refreshes_goes_on_and_says_why_it_cannot_be_refreshed(
    site: Site, tmp_path: Path
) -> None:
    site.link("/", "/a")
    site.link("/a")
    crawl(tmp_path, site.url("/"), max_pages=1)
    with sqlite3.connect(tmp_path / "frontier.sqlite") as db:
        db.execute("DROP TABLE visit")
        db.execute("DELETE FROM fact WHERE key = 'ended'")
    db.close()
    with pytest.raises(StorageError, match="is not finished"):
        crawl(tmp_path, refresh=True)
    with sqlite3.connect(tmp_path / "frontier.sqlite") as db:
        db.execute("DROP TABLE visit")
    db.close()
    assert crawl(tmp_path, max_pages=1).stats.pages == 1
    with pytest.raises(StorageError, match="no information about its pages to compare"):
        crawl(tmp_path, refresh=True)
    assert crawl(tmp_path, max_pages=None).stats.pages == 2


@pytest.mark.parametrize("form", first_of(*LOGS))
def test_every_log_holds_the_changes(form: str, site: Site, tmp_path: Path) -> None:
    pytest.importorskip({"warc": "warcio"}.get(form, "json"))
    site.link("/", "/a", "/b", "/c")
    serve(site, "/a", "<title>one</title>")
    serve(site, "/b", "b", ETag='"1"')
    serve(site, "/c", "c")
    crawl(tmp_path, site.url("/"), sink=form)
    serve(site, "/a", "<title>two</title>")
    site.set("/c", status=404)
    crawl(tmp_path, refresh=True)
    output = READERS[form](tmp_path)
    bodies = [b"", b""] if form == "markdown" else [b"<title>one</title>", b"<title>two</title>"]  # it keeps no HTML
    assert [body for url, body in output.pages if url.endswith("/a")] == bodies
    assert dict(host_outcome(form, tmp_path)) == {
        site.url("/"): "unchanged",
        site.url("/a"): "changed",
        site.url("/b"): "unchanged",
        site.url("/c"): "gone",
    }
    assert proved(tmp_path)


def host_outcome(form: str, folder: Path) -> list[tuple[str, str]]:
    if form == "warc":
        return [
            (record["url"], record["change"])
            for kind, _, record in warc_records(folder)
            if kind == "metadata" and "change" in record
        ]
    suffix = form if form.startswith("jsonl") else "jsonl"
    return [(record["url"], record["change"]) for record in lines(folder / f"changes.{suffix}")]


def warc_records(folder: Path) -> list[tuple[str, Any, dict[str, Any]]]:
    """Kind and headers of each record, and what a metadata record says."""
    archiveiterator = pytest.importorskip("warcio.archiveiterator")
    found = []
    for path in sorted(folder.glob("crawl-*.warc.gz")):
        with path.open("rb") as file:
            for record in archiveiterator.ArchiveIterator(file, check_digests="raise"):
                body = record.content_stream().read()
                said: dict[str, Any] = {}
                if record.rec_type == "metadata":
                    said = json.loads(body.decode().splitlines()[1].removeprefix("comity-record: "))
                elif record.rec_type == "revisit":
                    assert body == b""
                found.append((record.rec_type, record.rec_headers, said))
    return found


def test_in_an_archive_an_unchanged_page_is_a_revisit_of_the_response_kept(site: Site, tmp_path: Path) -> None:
    pytest.importorskip("warcio")
    site.link("/", "/a")
    serve(site, "/a", "a", ETag='"1"')
    crawl(tmp_path, site.url("/"), sink="warc")
    crawl(tmp_path, refresh=True)
    crawl(tmp_path, refresh=True)
    found = warc_records(tmp_path)
    dates = {
        headers.get_header("WARC-Target-URI"): headers.get_header("WARC-Date")
        for kind, headers, _ in found
        if kind == "response"
    }
    profiles = []
    for kind, headers, _ in found:
        if kind == "revisit":
            url = headers.get_header("WARC-Refers-To-Target-URI")
            assert headers.get_header("WARC-Refers-To-Date") == dates[url]
            profiles.append((url.removeprefix(site.url("")), headers.get_header("WARC-Profile").rpartition("/")[2]))
    assert sorted(profiles) == [("/", "identical-payload-digest")] * 2 + [("/a", "server-not-modified")] * 2


def test_a_page_that_a_refresh_found_changed_is_known_as_it_is_now(site: Site, tmp_path: Path) -> None:
    """What names it as its canonical URL repeats it, in the same refresh and in the next."""
    site.set("/", "<p>first")
    crawl(tmp_path, site.url("/"), concurrency=1)
    for number, words in enumerate(("second", "third"), 1):
        site.set("/", f'<p>{words}<a href="/copy{number}">a copy</a>')
        site.set(f"/copy{number}", f'<link rel=canonical href="/"><p>{words}, elsewhere')
        crawl(tmp_path, refresh=True, concurrency=1)
        copy = next(each for each in records(tmp_path, "pages") if each["url"] == site.url(f"/copy{number}"))
        assert (copy["duplicate"], copy["duplicate_of"]) == ("canonical", site.url("/"))


@pytest.mark.long
def test_a_refresh_that_is_killed_goes_on_and_tells_of_every_page_exactly_once(site: Site, tmp_path: Path) -> None:
    count = 300
    version = 1

    def body(number: int) -> str:
        links = "".join(f'<a href="/{target}">x</a>' for target in (number * 2 + 1, number * 2 + 2) if target < count)
        extra = f'<a href="/new-{number}">new</a>' if version == 2 and number % 30 == 0 else ""
        return f"<title>{number} {version if number % 3 == 0 else ''}</title>{links}{extra}"

    async def page(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(0.005)
        if request.path.startswith("/new"):
            return web.Response(text=request.path, content_type="text/html")
        number = int(request.path[1:])
        if version == 2 and number % 7 == 1:
            return web.Response(status=404)
        tag = f'"{version if number % 3 == 0 else 0}"' if number % 2 else None
        if tag is not None and request.headers.get("If-None-Match") == tag:
            return web.Response(status=304)
        return web.Response(text=body(number), content_type="text/html", headers={"ETag": tag} if tag else {})

    for number in range(count):
        site.set(f"/{number}", page)
        site.set(f"/new-{number}", page)
    folder = tmp_path / "out"
    command = [sys.executable, "-m", "comity", "crawl", "-o", str(folder), *LOCAL, "--concurrency", "4"]
    first = subprocess.run([*command, site.url("/0")], capture_output=True, text=True, check=False, timeout=HANGS)
    assert first.returncode == 0, first.stderr
    version = 2
    kills = killed(command, site, begin=["--refresh"], times=6, after=lambda: 40)
    finished(command)
    assert kills >= 3
    told = {path: change for path, (change, _) in changes(folder, site).items()}
    expected = {
        f"/{number}": "gone" if number % 7 == 1 else "changed" if number % 3 == 0 else "unchanged"
        for number in range(count)
    }
    expected |= {f"/new-{number}": "new" for number in range(0, count, 30) if number % 7 != 1}
    assert told == expected
    pages = Counter(record["url"].removeprefix(site.url("")) for record in records(folder, "pages"))
    assert pages == {path: 1 + (change == "changed") for path, change in expected.items() if path in pages}
    assert proved(folder)


@pytest.mark.parametrize(
    ("path", "lie", "said"),
    [
        ("/same", {"sha256": "0" * 64}, "contradicts itself"),
        ("/same", {"change": "changed"}, "contradicts itself"),
        ("/same", {"status": None, "by": "lastmod", "change": "gone"}, "contradicts itself"),
        ("/same", {"status": 200, "by": "content"}, "the ledger has no request"),
        ("/other", {"status": 304, "by": "validator", "change": "unchanged"}, "contradicts itself"),
        ("/gone", {"status": 410}, "the ledger has no request"),
        ("/gone", {"url": "http://127.0.0.1/never"}, "the ledger has no request"),
    ],
)
def test_a_lie_about_a_change_is_found(site: Site, tmp_path: Path, path: str, lie: dict[str, Any], said: str) -> None:
    site.link("/", "/same", "/other", "/gone")
    serve(site, "/same", "same", ETag='"1"')
    serve(site, "/other", "one")
    serve(site, "/gone", "gone")
    crawl(tmp_path, site.url("/"))
    serve(site, "/other", "two")
    site.set("/gone", status=404)
    crawl(tmp_path, refresh=True)
    assert proved(tmp_path)
    lines = [
        json.dumps(record | lie if record["url"] == site.url(path) else record)
        for record in records(tmp_path, "changes")
    ]
    (tmp_path / "changes.jsonl").write_text("\n".join(lines) + "\n")
    (finding,) = prove(tmp_path).findings
    assert finding.file == "changes.jsonl"
    assert said in str(finding)


def test_the_command_refreshes_and_sums_up(site: Site, tmp_path: Path) -> None:
    site.link("/", "/a", "/b")
    site.set("/a", "a")
    serve(site, "/b", "b", ETag='"1"')
    out = str(tmp_path / "out")
    assert "unchanged" not in comity("crawl", site.url("/"), "-o", out, *LOCAL).stdout
    site.set("/a", "another")
    shown = comity("crawl", "-o", out, "--refresh", *LOCAL)
    assert shown.returncode == 0, shown.stderr
    lines = {line.split("  ")[0]: line.split() for line in shown.stdout.splitlines()}
    assert lines["new"][1:] == ["0", "changes.jsonl"]
    assert (lines["changed"][1], lines["gone"][1], lines["unchanged"][1], lines["pages"][1]) == ("1", "0", "2", "1")
    told = json.loads(comity("crawl", "-o", out, "--refresh", "--no-lastmod", "--json", *LOCAL).stdout)
    assert (told["new"], told["changed"], told["gone"], told["unchanged"], told["pages"]) == (0, 0, 0, 3, 0)
    assert comity("prove", out).returncode == 0


def test_the_command_says_what_cannot_be_refreshed(tmp_path: Path) -> None:
    assert "needs the folder" in complaint(comity("crawl", "--refresh"))
    assert "no crawl in" in complaint(comity("crawl", "--refresh", "-o", str(tmp_path / "none")))
    assert "exclude each other" in complaint(comity("crawl", "--refresh", "--resume", "-o", str(tmp_path)))


@pytest.mark.parametrize(
    ("lastmod", "latest"),
    [
        ("2020", "2021-01-01T00:00:00+00:00"),
        ("2020-02", "2020-03-01T00:00:00+00:00"),
        ("2020-12", "2021-01-01T00:00:00+00:00"),
        ("2020-02-28", "2020-02-29T00:00:00+00:00"),
        ("2020-02-28T23:59Z", "2020-02-29T00:00:00+00:00"),
        ("2020-02-28T23:00:00+02:00", "2020-02-28T21:01:00+00:00"),
    ],
)
def test_a_date_stands_for_the_end_of_what_it_names(lastmod: str, latest: str) -> None:
    (item,) = sitemaps.read(f"<urlset><url><loc>http://a/</loc><lastmod>{lastmod}</lastmod></url></urlset>".encode())
    assert isinstance(item, sitemaps.SitemapUrl)
    assert latest_change(item) == datetime.fromisoformat(latest).timestamp()


@given(st.text("0123456789-:TZ+.", max_size=30) | st.sampled_from(["9999", "9999-12", "9999-12-31", "0001-01-01"]))
def test_a_date_of_any_kind_gives_a_time_or_nothing(lastmod: str) -> None:
    document = f"<urlset><url><loc>http://a/</loc><lastmod>{lastmod}</lastmod></url></urlset>".encode()
    for item in sitemaps.read(document):
        assert isinstance(item, sitemaps.SitemapUrl)
        assert latest_change(item) is None or isinstance(latest_change(item), float)


def test_a_sitemaps_word_is_taken_for_a_while_and_where_it_leaves_no_doubt() -> None:
    def spared(stated: float | None, *, fetched: float = 1e9, now: float = 1e9, digest: str | None = "x") -> bool:
        refresh = RefreshRun(1, 0, None, trusts_sitemaps=True)  # type: ignore[arg-type]
        return refresh.spared(Visit("http://a/", 0, digest, fetched, fetched, stated=stated), now)

    assert spared(1e9 - TRUST_MARGIN_SECONDS - 1)
    assert not spared(1e9 - TRUST_MARGIN_SECONDS)
    assert not spared(2e9)
    assert not spared(None)
    assert not spared(0.0, digest=None)
    assert spared(0.0, now=1e9 + MAX_TRUST_SECONDS - 1)
    assert not spared(0.0, now=1e9 + MAX_TRUST_SECONDS)


@pytest.mark.parametrize("value", ["", '"caf\udce9"', '"a\x7f"', f'"{"x" * 2000}"'])
def test_a_validator_that_cannot_be_sent_as_it_came_is_not_kept(value: str) -> None:
    response = answered("http://a/", b"x", {"ETag": value, "Last-Modified": format_datetime(datetime.now(UTC))})
    visit = visited(response, depth=0)
    assert visit.etag is None
    assert visit.modified is not None
