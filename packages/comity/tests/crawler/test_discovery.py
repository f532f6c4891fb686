"""What a crawl finds and takes up: sitemaps, feeds, links; and what it leaves out as a trap, by name."""

import asyncio
import gzip
import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from examples import first_of
from hypothesis import given
from hypothesis import strategies as st
from sites import HANGS, Site

from comity import Crawler, Policy, parse
from comity.audit.prove import prove
from comity.audit.report.figures import gather
from comity.audit.report.page import CrawlView, html
from comity.audit.url_status import explain_url
from comity.cli.summary import print_summary
from comity.crawler.cluster.workers import Workers
from comity.crawler.finding import sitemap_names
from comity.crawler.run import admission, discovery
from comity_pages import urls
from comity_pages.signals.links import read_page
from comity_pages.signals.robots_meta import RobotsMeta

QUICK = Policy(min_interval=0, allow_addresses=("127.0.0.0/8",))
SITEMAP = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</urlset>'


def crawl(folder: Path, *seeds: str, **settings: Any) -> Crawler:
    crawler = Crawler(seeds, folder, policy=QUICK, settings=settings)
    asyncio.run(asyncio.wait_for(crawler.run(), HANGS))
    return crawler


def records(folder: Path, channel: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"{channel}.jsonl").read_text(encoding="utf-8").splitlines()]


def paths(folder: Path, site: Site, channel: str = "pages") -> set[str]:
    counted = Counter(record["url"].removeprefix(site.url("")) for record in records(folder, channel))
    assert all(count == 1 for count in counted.values()), counted
    return set(counted)


def urlset(site: Site, *targets: str) -> str:
    return SITEMAP.format("".join(f"<url><loc>{site.url(target)}</loc></url>" for target in targets))


# covers: W1
def test_a_page_s_record_has_what_the_sitemap_says_of_its_last_change_also_in_a_later_run(
    site: Site, tmp_path: Path
) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /no")
    dates = {"/a": "2026", "/b": "2026-05", "/c": "2026-05-17", "/d?utm_source=x": "2026-05-17T09:30:00+02:00"}
    dates |= {"/e": "yesterday", "/no": "2026"}
    for path in (*dates, "/d", "/unlisted"):
        site.link(path, "/unlisted")
    entries = (f"<url><loc>{site.url(path)}</loc><lastmod>{date}</lastmod></url>" for path, date in dates.items())
    site.set("/map.xml", SITEMAP.format("".join(entries)))
    crawl(tmp_path, site.url("/map.xml"), max_pages=1)
    crawl(tmp_path, max_pages=None)
    found = {record["url"].removeprefix(site.url("")): record["lastmod"] for record in records(tmp_path, "pages")}
    listed = {"/a": "2026", "/b": "2026-05", "/c": "2026-05-17", "/d": dates["/d?utm_source=x"]}
    assert found == {**listed, "/e": None, "/unlisted": None}
    with closing(sqlite3.connect(tmp_path / "frontier.sqlite")) as db:
        kept = db.execute("SELECT key FROM fact WHERE key LIKE 'lastmod %'").fetchall()
    assert kept == [], "what a record has is forgotten, and what is refused has none"
    site.set("/map.xml", urlset(site, "/a"))
    site.link("/a", "/new")
    asyncio.run(Crawler((), tmp_path, policy=QUICK, refresh=True).run())
    again = [record for record in records(tmp_path, "pages") if record["refresh"] == 1]
    assert {record["url"]: record["lastmod"] for record in again}[site.url("/a")] is None, "it says so no more"


# covers: W4, Y5
def test_a_sitemap_is_looked_for_in_the_well_known_places_if_robots_txt_names_none(site: Site, tmp_path: Path) -> None:
    site.link("/")
    site.link("/hidden")
    site.set("/sitemap_index.xml", urlset(site, "/hidden"))
    crawler = crawl(tmp_path, site.url("/"))
    assert paths(tmp_path, site) == {"/", "/hidden"}
    asked = [path for path in site.paths() if path.startswith("/sitemap")]
    assert asked == ["/sitemap.xml", "/sitemap_index.xml"]
    assert (crawler.stats.failed, crawler.stats.sitemaps) == (0, 1), "that a guess is wrong is no failure"


def test_a_site_that_sends_every_wrong_guess_to_its_front_page_loses_no_page(site: Site, tmp_path: Path) -> None:
    site.link("/docs/", "/")
    site.link("/")
    site.set("/sitemap.xml", status=302, headers={"Location": "/"})
    site.link("/sitemap_index.xml")  # "not found", with status 200
    crawler = crawl(tmp_path, site.url("/docs/"))
    assert paths(tmp_path, site) == {"/", "/docs/"}
    assert (crawler.stats.failed, crawler.stats.sitemaps) == (0, 0)


def test_a_wrong_guess_at_a_tired_server_is_not_tried_again(site: Site, tmp_path: Path) -> None:
    site.link("/")
    site.set("/sitemap.xml", status=503)
    site.set("/sitemap_index.xml", status=301, headers={"Location": "/maps/main.xml"})
    site.set("/maps/main.xml", urlset(site, "/"))
    crawler = crawl(tmp_path, site.url("/"))
    assert Counter(site.paths())["/sitemap.xml"] == 1
    assert (crawler.stats.failed, crawler.stats.sitemaps) == (0, 1)


def test_the_well_known_places_are_left_alone_if_robots_txt_names_a_sitemap(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", "Sitemap: /sitemap.xml\nSitemap: /more.xml")
    site.link("/")
    crawler = crawl(tmp_path, site.url("/"))
    assert sorted(site.paths()) == ["/", "/more.xml", "/robots.txt", "/sitemap.xml"]
    assert crawler.stats.failed == 2, "what robots.txt names and is not there is a failure"


def test_a_guess_that_robots_txt_disallows_is_not_made(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /sitemap")
    site.link("/")
    crawler = crawl(tmp_path, site.url("/"))
    assert site.paths() == ["/robots.txt", "/"]
    assert crawler.stats.refused == 0


def test_the_sitemaps_of_a_site_are_read_even_if_the_url_given_is_disallowed(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /$\nSitemap: /map.xml")
    site.set("/map.xml", urlset(site, "/open"))
    site.link("/open")
    crawl(tmp_path, site.url("/"))
    assert paths(tmp_path, site) == {"/open"}
    assert "/" not in site.paths()


def test_the_feeds_of_a_page_given_are_read(site: Site, tmp_path: Path) -> None:
    feed = "<rss><channel><item><link>{}</link></item><item><link>http://else.example/</link></item></channel></rss>"
    alternate = '<link rel=alternate type="application/rss+xml" href="{}">'
    site.set("/", alternate.format("/feed") + '<a href="/1">1</a>')
    site.set("/feed", feed.format(site.url("/2")), content_type="application/rss+xml")
    site.set("/1", alternate.format("/1/comments"))
    site.link("/2")
    crawl(tmp_path, site.url("/"), sitemaps=False)
    assert paths(tmp_path, site) == {"/", "/1", "/2"}
    assert "/1/comments" not in site.paths()
    crawl(tmp_path / "without", site.url("/"), sitemaps=False, feeds=False)
    assert paths(tmp_path / "without", site) == {"/", "/1"}


def test_nofollow_is_followed_where_the_operator_says_so_and_noindex_is_recorded(site: Site, tmp_path: Path) -> None:
    site.set("/", '<meta name=robots content="noindex, nofollow"><a href="/1">1</a>')
    site.set("/1", '<a rel=nofollow href="/2">2</a>', headers={"X-Robots-Tag": "otherbot: noindex"})
    site.set("/2", "%PDF", content_type="application/pdf", headers={"X-Robots-Tag": "noindex"})
    crawl(tmp_path / "respect", site.url("/"))
    assert paths(tmp_path / "respect", site) == {"/"}
    crawl(tmp_path, site.url("/"), follow_nofollow=True)
    noindex = {page["url"].removeprefix(site.url("")): page["noindex"] for page in records(tmp_path, "pages")}
    assert noindex == {"/": True, "/1": False, "/2": True}


def test_session_ids_and_what_clean_param_names_are_taken_off(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", "Clean-param: from /a\n")
    site.link("/", "/a?id=1&PHPSESSID=q1", "/a?id=1&PHPSESSID=q2&utm_source=x", "/a?id=1&from=y", "/b?from=y")
    site.link("/a?id=1", "/")
    site.link("/b?from=y", "/;jsessionid=4")
    crawl(tmp_path, site.url("/"))
    assert paths(tmp_path, site) == {"/", "/a?id=1", "/b?from=y"}
    crawl(tmp_path / "as-written", site.url("/"), clean_urls=False, max_depth=1)
    assert "/a?id=1&PHPSESSID=q1" in paths(tmp_path / "as-written", site, "failures")


def test_a_site_that_insists_on_its_session_is_crawled_all_the_same(site: Site, tmp_path: Path) -> None:
    async def page(request: web.Request) -> web.StreamResponse:
        if "PHPSESSID" not in request.query:
            return web.Response(status=302, headers={"Location": f"{request.path}?PHPSESSID={len(site.seen)}"})
        links = "".join(f'<a href="/{name}?PHPSESSID=4">x</a>' for name in "ab")
        return web.Response(text=links, content_type="text/html")

    for name in ("/", "/a", "/b"):
        site.set(name, page)
    for number in range(40):
        for name in ("/", "/a", "/b"):
            site.set(f"{name}?PHPSESSID={number}", page)
    crawler = crawl(tmp_path, site.url("/"), sitemaps=False)
    assert {path.partition("?")[0] for path in paths(tmp_path, site)} == {"/", "/a", "/b"}
    assert crawler.stats.pages <= 4


def test_a_calendar_without_end_ends_and_says_why(site: Site, tmp_path: Path) -> None:
    async def month(request: web.Request) -> web.StreamResponse:
        year, number = int(request.query["y"]), int(request.query["m"])
        after = f"/cal?y={year + number // 12}&m={number % 12 + 1}"
        return web.Response(text=f'<a href="{after}">next</a>', content_type="text/html")

    site.link("/", "/cal?y=2026&m=1")
    for index in range(400):
        site.set(f"/cal?y={2026 + index // 12}&m={index % 12 + 1}", month)
    crawler = crawl(tmp_path, site.url("/"), sitemaps=False)
    assert 20 <= crawler.stats.pages < 80
    (trap,) = records(tmp_path, "traps")
    assert trap["trap"] == "calendar"
    assert "endless series" in trap["why"]
    assert (crawler.stats.trapped, crawler.stats.refused) == (1, 0)


def test_relative_links_that_pile_up_are_a_trap(site: Site, tmp_path: Path) -> None:
    for depth in range(9):
        site.set("/x/" + "a/b/" * depth, '<a href="a/b/">deeper</a>')
    crawler = crawl(tmp_path, site.url("/x/"), sitemaps=False)
    assert crawler.stats.pages == 3
    assert [record["trap"] for record in records(tmp_path, "traps")] == ["repeated-segments"]
    assert crawl(tmp_path / "in", site.url("/x/"), sitemaps=False, traps=False).stats.pages == 9


def test_redirect_after_redirect_is_a_trap(site: Site, tmp_path: Path) -> None:
    site.link("/", "/0")
    for number in range(20):
        site.set(f"/{number}", status=302, headers={"Location": f"/{number + 1}"})
    crawler = crawl(tmp_path, site.url("/"), sitemaps=False)
    assert crawler.stats.redirects == 11
    assert [(record["url"], record["trap"]) for record in records(tmp_path, "traps")] == [
        (site.url("/11"), "redirect-chain")
    ]


TOKENS = [
    "<urlset>",
    "<sitemap>",
    "<url>",
    "<loc>",
    "</loc>",
    "</url>",
    "http://a.example/",
    "//b/",
    "..",
    "&",
    "\0",
    "é",
]
TOKENS += [
    "<link rel=canonical href=",
    "<a href=",
    "<a rel=nofollow href=",
    "<link rel=alternate type=",
    ">",
    "/x",
    "/m/",
]
TOKENS += [
    "application/rss+xml",
    " href=",
    "<rss>",
    "<item>",
    "<link>",
    "</link>",
    "</item>",
    "</sitemap>",
    "Sitemap: ",
]
HOSTILE = st.lists(st.sampled_from(TOKENS), max_size=30).map("".join)


@given(HOSTILE, st.integers(0, 3), st.booleans())
def test_whatever_a_site_serves_what_is_found_are_urls_in_normal_form(text: str, depth: int, nofollow: bool) -> None:
    octets, url = text.encode(), "http://a.example/m/map.xml"
    page = read_page(octets, url, "text/html")
    meta = RobotsMeta(nofollow=nofollow)
    found = [
        *admission.named_sitemaps("http://a.example", parse(octets)),
        *(url for url, _ in discovery.named_by_page(page, is_given=depth == 0, feeds=True)),
        *(url for url, *_ in discovery.SitemapContents(octets, url)),
    ]
    assert found == [urls.normalise(each) for each in found]
    links, left = discovery.links_of(page, meta, follow_nofollow=False)
    assert not (nofollow and links)
    assert {*links, *left} == set(discovery.links_of(page, meta, follow_nofollow=True)[0])


INDEX = '<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</sitemapindex>'


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("content_type", ["application/xml", "text/html"])
def test_a_sitemap_given_to_start_from_is_read_as_one(
    named: bool, content_type: str, site: Site, tmp_path: Path
) -> None:
    index, parts = site.url("/lists/all.xml"), [site.url("/lists/1.xml"), site.url("/lists/2.xml.gz")]
    site.set("/robots.txt", f"Sitemap: {index}\n" if named else "User-agent: *\nDisallow:\n")
    locs = "".join(f"<sitemap><loc>{part}</loc></sitemap>" for part in parts)
    site.set("/lists/all.xml", INDEX.format(locs), content_type=content_type)
    site.set("/lists/1.xml", urlset(site, "/a"), content_type="text/plain")
    packed = gzip.compress(urlset(site, "/b").encode())
    site.set("/lists/2.xml.gz", packed, content_type="application/gzip")
    site.link("/a", "/c")
    site.link("/b")
    site.link("/c")
    crawler = crawl(tmp_path, index, max_depth=1)
    assert paths(tmp_path, site) == {"/a", "/b"}
    assert crawler.stats.sitemaps == 3
    assert site.paths().count("/lists/all.xml") == 1


def test_a_feed_given_to_start_from_is_read_and_another_document_is_a_page(site: Site, tmp_path: Path) -> None:
    feed = f"<rss version='2.0'><channel><item><link>{site.url('/a')}</link></item></channel></rss>"
    site.set("/news.xml", feed, content_type="application/rss+xml")
    site.set("/data.xml", "<data><loc>/b</loc></data>", content_type="application/xml")
    site.set("/list.txt", f"{site.url('/b')}\n")
    site.link("/a")
    crawl(tmp_path, *(site.url(path) for path in ("/news.xml", "/data.xml", "/list.txt")))
    assert paths(tmp_path, site) == {"/a", "/data.xml", "/list.txt"}
    crawl(tmp_path / "off", site.url("/news.xml"), feeds=False)
    assert paths(tmp_path / "off", site) == {"/news.xml"}


def test_a_text_that_robots_txt_names_as_a_sitemap_is_one_though_it_was_given(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", f"Sitemap: {site.url('/list.txt')}\n")
    site.set("/list.txt", f"{site.url('/b')}\n")
    site.link("/b")
    crawl(tmp_path, site.url("/list.txt"))
    assert paths(tmp_path, site) == {"/b"}


def many_sitemaps(site: Site, count: int) -> None:
    """A site of one page, whose index names many sitemaps of one page each."""
    site.set("/robots.txt", f"Sitemap: {site.url('/index.xml')}\n")
    site.set(
        "/index.xml",
        INDEX.format("".join(f"<sitemap><loc>{site.url(f'/{n}.xml')}</loc></sitemap>" for n in range(count))),
    )
    for number in range(count):
        site.set(f"/{number}.xml", urlset(site, f"/{number}"))
        site.link(f"/{number}")


def test_a_limit_on_pages_is_one_on_sitemaps_too(site: Site, tmp_path: Path) -> None:
    many_sitemaps(site, 60)
    for number in range(60):
        site.set(f"/{number}.xml", urlset(site, "/"))
    site.link("/", *(f"/page/{number}" for number in range(5)))
    for number in range(5):
        site.link(f"/page/{number}")
    crawler = crawl(tmp_path, site.url("/"), max_pages=10)
    assert crawler.stats.pages == 6
    assert len([path for path in site.paths() if path.endswith(".xml")]) <= 10
    assert crawler.end.left == 51, "of which the summary tells"
    crawl(tmp_path, max_pages=None)
    assert len(site.paths()) == 2 + 61 + 6, "a higher limit takes them up"


def test_sitemaps_are_read_only_until_enough_pages_wait(site: Site, tmp_path: Path) -> None:
    many_sitemaps(site, 30)
    site.link("/", "/linked")
    site.link("/linked")
    crawler = crawl(tmp_path, site.url("/"), max_pages=5)
    assert crawler.stats.pages == 5
    assert len([path for path in site.paths() if path.endswith(".xml")]) <= 5
    enough = crawl(tmp_path / "other", site.url("/"), max_pages=1)
    assert (enough.stats.pages, enough.stats.sitemaps) == (1, 0)


def test_a_sitemap_that_fails_gives_its_turn_to_the_next(site: Site, tmp_path: Path) -> None:
    many_sitemaps(site, 4)
    for number in (0, 1, 2):
        site.set(f"/{number}.xml", status=404)
    site.link("/")
    crawler = crawl(tmp_path, site.url("/"), max_pages=9)
    assert paths(tmp_path, site) == {"/", "/3"}
    assert crawler.stats.failed == 3


def test_a_page_that_fails_gives_its_place_to_one_that_a_sitemap_names(site: Site, tmp_path: Path) -> None:
    many_sitemaps(site, 3)
    site.link("/", "/gone/1", "/gone/2")
    crawler = crawl(tmp_path, site.url("/"), max_pages=3)
    assert (crawler.stats.pages, crawler.stats.failed) == (3, 2)


def sitemap(*locations: str) -> str:
    return SITEMAP.format("".join(f"<url><loc>{location}</loc></url>" for location in locations))


def index(*locations: str) -> str:
    listed = "".join(f"<sitemap><loc>{location}</loc></sitemap>" for location in locations)
    return f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}</sitemapindex>'


@pytest.fixture
def files() -> Iterator[Site]:
    with Site("127.0.0.2") as files:
        yield files


@pytest.mark.parametrize("scope", ["host", "prefix", "any"])
def test_a_sitemap_on_another_host_speaks_for_the_host_whose_robots_txt_names_it(
    site: Site, files: Site, tmp_path: Path, scope: str
) -> None:
    """sitemaps.org, "Sitemaps & Cross Submits"."""
    with Site("127.0.0.3") as third:
        site.set("/robots.txt", f"Sitemap: {files.url('/s/x.xml')}\nUser-agent: *\nDisallow: /no\n")
        files.set("/robots.txt", f"Sitemap: {files.url('/own.xml')}\n")
        named = (site.url("/p1"), site.url("/no"), third.url("/q"))
        files.set("/s/x.xml", sitemap(*named), content_type="application/xml")
        for each, path in ((site, "/"), (site, "/p1"), (third, "/q")):
            each.link(path)
        crawl(tmp_path, site.url("/"), scope=scope)
        assert {record["url"] for record in records(tmp_path, "pages")} == {site.url("/"), site.url("/p1")}
        assert [record["url"] for record in records(tmp_path, "refusals")] == [site.url("/no")]
        assert third.paths() == [], "nobody of that host named the sitemap"
        assert ("/own.xml" in files.paths()) is (scope == "any"), "what lies outside of the scope has no say in it"
    told = explain_url(tmp_path, site.url("/p1"))
    assert (told.fate, told.found_on) == ("kept", files.url("/s/x.xml"))


@pytest.mark.parametrize("shards", [1, 3])
def test_an_index_and_a_redirect_lead_to_sitemaps_for_the_host_that_named_them(
    site: Site, files: Site, tmp_path: Path, shards: int
) -> None:
    with Site("127.0.0.3") as third:
        site.set("/robots.txt", f"Sitemap: {files.url('/index.xml')}\nSitemap: /moved.xml\nSitemap: /own.xml\n")
        site.set("/moved.xml", status=302, headers={"Location": third.url("/here.xml")})
        site.set("/own.xml", index(third.url("/own.xml")))
        files.set("/index.xml", index(files.url("/1.xml"), third.url("/2.xml")))
        files.set("/1.xml", sitemap(site.url("/1")))
        third.set("/here.xml", sitemap(site.url("/here")))
        third.set("/own.xml", sitemap(site.url("/own")))
        third.set("/2.xml", sitemap(site.url("/2")))
        for path in ("/", "/1", "/2", "/here", "/own"):
            site.link(path)
        if shards > 1:
            asyncio.run(Crawler([site.url("/")], tmp_path, policy=QUICK, workers=Workers(1, shards=shards)).run())
        else:
            crawl(tmp_path, site.url("/"))
        assert {path for path in site.paths() if ".xml" not in path} == {"/robots.txt", "/", "/1", "/here", "/own"}
        assert "/2.xml" not in third.paths(), "a stranger's index may not send the crawl to strangers"


@pytest.mark.parametrize(
    ("way", "shards"),
    first_of(("itself", 3), ("index", 1), ("redirect", 1), ("itself", 1), ("index", 3), ("redirect", 3), now=3),
)
def test_a_sitemap_that_was_read_before_another_host_names_it_is_read_for_that_host_too(
    site: Site, files: Site, tmp_path: Path, shards: int, way: str
) -> None:
    with Site("127.0.0.3") as second:
        files.set("/x.xml", sitemap(site.url("/1"), second.url("/2"), second.url("/3")))
        files.set("/index.xml", index(files.url("/x.xml")))
        files.set("/moved.xml", status=302, headers={"Location": "/x.xml"})
        named = {"itself": "/x.xml", "index": "/index.xml", "redirect": "/moved.xml"}[way]
        for each in (site, second):
            each.set("/robots.txt", f"Sitemap: {files.url(named)}\n")
        site.link("/")
        site.link("/1", second.url("/"))
        for path in ("/", "/2", "/3"):
            second.link(path)
        if shards > 1:
            crawler = Crawler(
                [site.url("/")], tmp_path, policy=QUICK, settings={"scope": "any"}, workers=Workers(1, shards=shards)
            )
            asyncio.run(crawler.run())
        else:
            crawl(tmp_path, site.url("/"), scope="any")
        assert Counter(second.paths()) == Counter(("/robots.txt", "/", "/2", "/3"))
        assert files.paths().count("/x.xml") == 2
    assert prove(tmp_path).findings == []


def test_a_sitemap_is_not_read_again_for_a_host_of_which_it_lists_nothing(
    site: Site, files: Site, tmp_path: Path
) -> None:
    with Site("127.0.0.3") as second:
        files.set("/x.xml", sitemap(site.url("/1"), "http://127.0.0.4/"))
        for each in (site, second):
            each.set("/robots.txt", f"Sitemap: {files.url('/x.xml')}\n")
        site.link("/")
        site.link("/1", second.url("/"))
        second.link("/")
        crawl(tmp_path, site.url("/"), scope="any")
        assert Counter(second.paths()) == Counter(("/robots.txt", "/"))
        assert files.paths().count("/x.xml") == 1


def test_a_robots_txt_has_sitemaps_on_few_hosts_outside_of_the_scope(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sitemap_names, "MAX_HOSTS_ELSEWHERE", 2)
    with ExitStack() as stack:
        others = [stack.enter_context(Site(f"127.0.0.{number}")) for number in (2, 3, 4)]
        named = [other.url(f"/{number}.xml") for other in others for number in (1, 2)]
        site.set("/robots.txt", "".join(f"Sitemap: {url}\n" for url in named))
        site.link("/")
        crawl(tmp_path, site.url("/"))
        assert [len(other.paths()) for other in others] == [3, 3, 0]


def test_a_sitemap_elsewhere_waits_in_the_queue_as_long_as_its_host_is_in_scope(
    site: Site, files: Site, tmp_path: Path
) -> None:
    site.set("/robots.txt", f"Sitemap: {files.url('/x.xml')}\n")
    files.set("/x.xml", sitemap(site.url("/p1")))
    site.link("/")
    site.link("/p1")
    crawl(tmp_path, site.url("/"), max_pages=1)
    assert "/x.xml" not in files.paths()
    crawl(tmp_path, max_pages=None, exclude=("/nothing",))
    assert paths(tmp_path, site) == {"/", "/p1"}


DAMAGED = SITEMAP.format("<url><loc>{}</loc></url><url/>\n<url><loc>{}?a=1&b=2</loc></url><url><loc>{}</loc></url>")


def test_a_sitemap_that_breaks_midway_is_named_wherever_a_crawl_is_told_of(
    site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    site.set("/robots.txt", "Sitemap: /x.xml\nSitemap: /page\nSitemap: /feed\n")
    site.set("/x.xml", DAMAGED.format(*(site.url(path) for path in ("/1", "/2", "/3"))))
    site.set("/page", "<!doctype html><title>Not here</title>")
    site.set(
        "/feed", f"<rss><channel><item><link>{site.url('/1')}</link></item><item><link>http://e.example/</link></item>"
    )
    for path in ("/", "/1", "/3"):
        site.link(path)
    with caplog.at_level("WARNING", "comity.crawl.run"):
        crawler = crawl(tmp_path, site.url("/"))
    assert paths(tmp_path, site) == {"/", "/1"}
    said = {record["url"].removeprefix(site.url("")): record for record in records(tmp_path, "sitemaps")}
    names = ("kind", "entries", "skipped", "elsewhere", "problem", "stopped_line")
    assert {url: tuple(record[name] for name in names) for url, record in said.items()} == {
        "/x.xml": ("urlset", 1, 1, 0, "damaged XML: not well-formed (invalid token)", 2),
        "/page": ("unknown", 0, 0, 0, "an HTML page, not a sitemap", 1),
        "/feed": ("rss", 2, 0, 1, "damaged XML: no element found", 1),
    }
    assert said["/x.xml"]["found_on"] == site.url("/robots.txt")
    assert (crawler.stats.sitemaps, crawler.stats.sitemaps_cut, crawler.stats.failed) == (3, 3, 0)
    told = (
        f"sitemap with 1 entry, read up to line 2, byte {said['/x.xml']['stopped_byte']} ({said['/x.xml']['problem']})"
    )
    assert f"{site.url('/x.xml')}: {told}; 1 more without a URL that can be used" in caplog.text
    assert f"{site.url('/page')}: no sitemap: an HTML page, not a sitemap" in caplog.text
    assert f"{site.url('/x.xml')} may: {told}" in explain_url(tmp_path, site.url("/3")).why
    assert "e.example" not in explain_url(tmp_path, "http://other.example/").why
    itself = explain_url(tmp_path, site.url("/x.xml"))
    assert itself.fate == "sitemap"
    assert told in itself.why
    print_summary(crawler, crawler.stats, as_json=False)
    assert "damaged sitemaps               3  not read to their end; sitemaps.jsonl\n" in capsys.readouterr().out
    page = html(CrawlView(str(tmp_path), gather(tmp_path)))
    assert page.count("read up to line 2") == 1
    assert "3 sitemaps could not be read to the end" in page.partition('id="hosts"')[0], "needs attention"
    assert "3 sitemaps, as they were read." in page
    assert prove(tmp_path).findings == []


def test_a_guess_that_is_a_damaged_sitemap_is_told_of_and_one_that_is_none_is_not(site: Site, tmp_path: Path) -> None:
    site.link("/")
    site.link("/sitemap.xml")
    site.set("/sitemap_index.xml", "<urlset><url><loc>http://x")
    crawler = crawl(tmp_path, site.url("/"))
    (record,) = records(tmp_path, "sitemaps")
    assert (record["url"], record["problem"]) == (site.url("/sitemap_index.xml"), "damaged XML: no element found")
    assert crawler.stats.sitemaps_cut == 1
