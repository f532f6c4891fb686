"""The crawl: robots.txt before the queue and before the fetch, every page once, whatever happens in between."""

import asyncio
import errno
import json
import subprocess
import sys
from collections import Counter
from concurrent.futures import BrokenExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from clocks import FakeClock
from killing import crawling, finished, killed, tree
from sites import HANGS, Site

from comity import ClientSettings, Crawler, Policy, StorageError
from comity import crawl as comity_crawl
from comity.audit.prove import prove
from comity.cli.summary import print_summary
from comity.crawler import Expanded
from comity.crawler.output.records import CrawledPage
from comity.crawler.run.outcomes import PageKept
from comity.crawler.storage.folder import FolderStorage
from comity.errors import SystemFailed, is_of_the_system
from comity.net import Response

QUICK = Policy(min_interval=0, backoff=0.05, allow_addresses=("127.0.0.0/8",))


def crawl(
    folder: Path, *seeds: str, policy: Policy = QUICK, clock: FakeClock | None = None, **settings: Any
) -> Crawler:
    crawler = Crawler(seeds, FolderStorage(folder, clock=clock), policy=policy, settings=settings)
    asyncio.run(crawler.run())
    return crawler


def records(folder: Path, channel: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"{channel}.jsonl").read_text(encoding="utf-8").splitlines()]


def paths(folder: Path, channel: str, site: Site) -> set[str]:
    """The paths recorded; a path recorded twice fails the test."""
    counted = Counter(record["url"].removeprefix(site.url("")) for record in records(folder, channel))
    assert all(count == 1 for count in counted.values()), counted
    return set(counted)


# covers: Y1, F16, F23, W2
def test_a_disallowed_url_never_enters_the_queue(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /no\nAllow: /no/but-yes\n")
    site.link("/", "/a", "/no", "/no/x", "/no/but-yes", "http://elsewhere.example/")
    site.link("/a", "/", "/b", "/no/x#part")
    site.link("/no/but-yes")
    crawler = crawl(tmp_path, site.url("/"))
    assert paths(tmp_path, "pages", site) == {"/", "/a", "/no/but-yes"}
    assert paths(tmp_path, "refusals", site) == {"/no", "/no/x"}
    assert paths(tmp_path, "failures", site) == {"/b"}
    assert not {"/no", "/no/x"} & set(site.paths())
    assert site.paths()[0] == "/robots.txt"
    assert (crawler.stats.pages, crawler.stats.refused, crawler.stats.failed) == (3, 2, 1)
    (refusal, _) = records(tmp_path, "refusals")
    assert refusal["decision"]["line"] == 2


FAR_OFF = {
    "a delay without end": "User-agent: *\nCrawl-delay: 99999999999999999999999\n",
    "a delay of two hours": "User-agent: *\nCrawl-delay: 7200\n",
    "visits at another time of day": "User-agent: *\nVisit-time: 0400-0401\n",  # the clock begins at 08:16
}


@pytest.mark.parametrize("robots", FAR_OFF.values(), ids=FAR_OFF)
def test_a_run_ends_and_says_so_when_what_is_left_must_wait_for_too_long(
    robots: str, site: Site, clock: FakeClock, tmp_path: Path
) -> None:
    site.set("/robots.txt", robots)
    site.link("/", "/a", "/b")
    with Site("127.0.0.2") as other:
        other.link("/", "/1")
        other.link("/1")
        crawler = crawl(tmp_path, site.url(), other.url(), clock=clock)
        assert other.paths().count("/1") == 1
    assert crawler.end.deferred is not None
    assert crawler.end.deferred.startswith("127.0.0.1 must rest for another ")
    assert "others" not in crawler.end.deferred, "of the other host nothing is left"
    assert crawler.end.limit_reached is None
    assert crawler.stats.waited <= clock.now - 1_000, "what was not waited for is no delay"
    assert crawler.end.left > 0
    assert clock.now < 1_000 + 3600
    again = crawl(tmp_path, clock=clock)
    assert again.end.deferred is not None
    assert site.paths().count("/robots.txt") <= 2
    assert prove(tmp_path).holds


def test_a_run_waits_for_as_long_as_its_settings_say(site: Site, clock: FakeClock, tmp_path: Path) -> None:
    site.set("/robots.txt", "User-agent: *\nCrawl-delay: 7200\n")
    site.link("/", "/a")
    site.link("/a", "/")
    crawler = crawl(tmp_path, site.url(), clock=clock, longest_wait=None, sitemaps=False)
    assert (crawler.stats.pages, crawler.end.left, crawler.end.deferred) == (2, 0, None)


def test_a_site_that_asks_for_too_much_holds_no_run_open_when_nothing_of_it_is_left(
    site: Site, clock: FakeClock, tmp_path: Path
) -> None:
    site.set("/robots.txt", "User-agent: *\nCrawl-delay: 3000\n")
    site.link("/", "/")
    crawler = crawl(tmp_path, site.url(), clock=clock, sitemaps=False, longest_wait=3500)
    assert (crawler.stats.pages, crawler.end.left, crawler.end.deferred, crawler.end.limit_reached) == (
        1,
        0,
        None,
        None,
    )


def test_requests_at_hours_with_another_rate_are_proved_by_it(site: Site, clock: FakeClock, tmp_path: Path) -> None:
    site.set("/robots.txt", "User-agent: *\nRequest-rate: 1/40 0810-0817\n")  # the clock begins at 08:16:40
    site.link("/", *(f"/{number}" for number in range(6)))
    crawl(tmp_path, site.url(), clock=clock, policy=QUICK.with_changes(min_interval=1), sitemaps=False)
    kept = [record for record in records(tmp_path, "ledger") if record["kind"] == "request"]
    assert {record["interval"] for record in kept if record["purpose"] == "content"} == {1.0, 40.0}
    assert prove(tmp_path).holds, prove(tmp_path)


def test_pages_carry_the_evidence_and_the_robots_txt_is_kept(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", "User-agent: *\nAllow: /\n")
    site.set("/", "<title>Käse</title>".encode("latin-1"), content_type="text/html; charset=iso-8859-1")
    crawl(tmp_path, site.url("/"))
    (page,) = records(tmp_path, "pages")
    (robots,) = records(tmp_path, "robots")
    assert page["title"] == "Käse"
    assert page["body"] == "<title>Käse</title>"
    assert page["decision"]["robots_sha256"] == robots["sha256"]
    assert page["decision"]["verdict"] == "allowed_explicit"


def test_a_page_in_an_encoding_that_only_browsers_know_is_kept(site: Site, tmp_path: Path) -> None:
    site.link("/", "/mac", "/odd", "/text")
    site.set("/mac", b"<title>\x80</title>", content_type="text/html; charset=x-mac-cyrillic")
    site.set("/odd", b"<title>x</title>", content_type="text/html; charset=x-user-defined")
    site.set("/text", "Käse".encode("latin-1"), content_type="text/plain; charset=latin1")
    crawl(tmp_path, site.url("/"))
    assert paths(tmp_path, "pages", site) == {"/", "/mac", "/odd", "/text"}
    bodies = {page["url"].rpartition("/")[2]: page["body"] for page in records(tmp_path, "pages")}
    assert bodies["text"] == "Käse"
    assert bodies["mac"] == "<title>\u0410</title>"


def test_redirects_go_through_the_queue_and_the_gate(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /closed\n")
    site.link("/", "/moved", "/trap", "/loop")
    site.set("/moved", status=301, headers={"Location": "/new"})
    site.link("/new")
    site.set("/trap", status=302, headers={"Location": "/closed"})
    site.set("/loop", status=302, headers={"Location": "/loop"})
    crawl(tmp_path, site.url("/"))
    assert paths(tmp_path, "pages", site) == {"/", "/new"}
    assert paths(tmp_path, "redirects", site) == {"/moved", "/trap", "/loop"}
    assert paths(tmp_path, "refusals", site) == {"/closed"}
    assert "/closed" not in site.paths()


# covers: W4, Y5
def test_sitemaps_named_in_robots_txt_are_read_and_grant_nothing(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", f"User-agent: *\nDisallow: /no\nSitemap: {site.url('/map.xml')}\n")
    urlset = "".join(f"<url><loc>{site.url(path)}</loc></url>" for path in ("/hidden", "/no/x"))
    urlset += "<url><loc>http://elsewhere.example/</loc></url>"
    site.set("/map.xml", f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urlset}</urlset>')
    site.link("/")
    site.link("/hidden")
    crawl(tmp_path, site.url("/"))
    assert paths(tmp_path, "pages", site) == {"/", "/hidden"}
    assert paths(tmp_path, "refusals", site) == {"/no/x"}


def test_a_sitemap_may_be_as_large_as_sitemaps_org_allows_whatever_holds_for_pages(site: Site, tmp_path: Path) -> None:
    urlset = "".join(f"<url><loc>{site.url(f'/{number}')}</loc></url>" for number in range(3)) + " " * 50_000_000
    site.set("/sitemap.xml", f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urlset}</urlset>')
    site.set("/", "-" * 3_000)
    for number in range(3):
        site.link(f"/{number}")
    settings = ClientSettings(max_body=2_000)
    asyncio.run(Crawler([site.url("/")], tmp_path, policy=QUICK, client_settings=settings).run())
    assert paths(tmp_path, "pages", site) == {"/0", "/1", "/2"}
    assert paths(tmp_path, "failures", site) == {"/"}


def test_each_origin_of_a_host_has_its_sitemaps_read(tmp_path: Path) -> None:
    with Site() as plain, Site() as secure:  # as http and https of one host are
        plain.set("/", status=301, headers={"Location": secure.url("/")})
        secure.set("/robots.txt", f"User-agent: *\nDisallow: /no\nSitemap: {secure.url('/map.xml')}\n")
        urlset = f"<url><loc>{secure.url('/hidden')}</loc></url>"
        secure.set("/map.xml", f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urlset}</urlset>')
        secure.link("/")
        secure.link("/hidden")
        crawl(tmp_path, plain.url("/"))
        assert paths(tmp_path, "pages", secure) == {"/", "/hidden"}
        assert secure.paths().count("/robots.txt") == 1
        assert prove(tmp_path).findings == []


def test_nofollow_is_respected(site: Site, tmp_path: Path) -> None:
    site.set("/", '<a href="/meta">m</a><a href="/header">h</a><a rel="nofollow" href="/link">l</a>')
    site.set("/meta", '<meta name="robots" content="nofollow"><a href="/behind-meta">x</a>')
    site.set("/header", '<a href="/behind-header">x</a>', headers={"X-Robots-Tag": "nofollow"})
    crawl(tmp_path, site.url("/"))
    assert paths(tmp_path, "pages", site) == {"/", "/meta", "/header"}


def test_a_site_whose_robots_txt_fails_is_left_alone(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", status=503)
    site.link("/")
    crawler = crawl(tmp_path, site.url("/"))
    assert crawler.stats.pages == 0
    assert set(site.paths()) == {"/robots.txt"}
    assert crawler.end.trouble is not None
    assert "503" in crawler.end.trouble


def test_what_fails_for_now_is_tried_again(site: Site, tmp_path: Path, clock: FakeClock) -> None:
    tries = Counter[str]()

    async def sometimes(request: web.Request) -> web.StreamResponse:
        tries[request.path] += 1
        if request.path == "/later" and tries[request.path] == 2:
            return web.Response(text="at last")
        return web.Response(status=503)

    site.link("/", "/later", "/never")
    site.set("/later", sometimes)
    site.set("/never", sometimes)
    crawl(tmp_path, site.url("/"), clock=clock, retries=2)
    assert tries == {"/later": 2, "/never": 3}
    assert paths(tmp_path, "pages", site) == {"/", "/later"}
    (failure,) = records(tmp_path, "failures")
    assert (failure["status"], failure["attempts"]) == (503, 3)


# covers: F15, Y4
def test_what_is_of_an_unwanted_type_is_asked_for_once_and_left_out(
    site: Site, tmp_path: Path, clock: FakeClock
) -> None:
    site.set("/robots.txt", f"Sitemap: {site.url('/map.xml')}\n")
    site.set("/map.xml", f"<urlset><url><loc>{site.url('/b')}</loc></url></urlset>", content_type="application/xml")
    site.link("/", "/1.gif", "/2.gif", "/none")
    site.link("/b")
    for path in ("/1.gif", "/2.gif"):
        site.set(path, b"GIF89a", content_type="image/gif")
    site.set("/none", b"?", headers={"Content-Type": ""})
    wanted = ClientSettings(content_types=("text/html",))
    crawler = Crawler([site.url("/")], FolderStorage(tmp_path, clock=clock), policy=QUICK, client_settings=wanted)
    stats = asyncio.run(crawler.run())
    assert Counter(site.paths()) == dict.fromkeys(
        ("/robots.txt", "/map.xml", "/", "/1.gif", "/2.gif", "/none", "/b"), 1
    ), "a sitemap is read whatever its type, for it is no page"
    assert (stats.pages, stats.unwanted, stats.failed, crawler.end.trouble) == (2, 3, 0, None)
    assert paths(tmp_path, "unwanted", site) == {"/1.gif", "/2.gif", "/none"}
    (first, *_) = sorted(records(tmp_path, "unwanted"), key=lambda record: record["url"])
    why = f"{site.url('/1.gif')} is image/gif, which content_types leaves out"
    gif = {"url": site.url("/1.gif"), "depth": 1, "status": 200, "content_type": "image/gif", "why": why}
    assert first == gif | {"found_on": site.url("/"), "refresh": 0}
    assert prove(tmp_path).findings == []


def test_what_is_of_an_unwanted_coding_is_left_out_and_proved(site: Site, tmp_path: Path) -> None:
    site.link("/", "/br", "/to-br")
    site.set("/br", b"\x0b\x02\x80hello\x03", headers={"Content-Encoding": "br"}, content_type="text/css")
    site.set("/to-br", b"", status=302, headers={"Location": "/br?2"})
    site.set("/br?2", b"", headers={"Content-Encoding": "gzip, br"}, content_type="text/html")
    crawl(tmp_path, site.url("/"))
    left_out = sorted(records(tmp_path, "unwanted"), key=lambda record: record["url"])
    assert [(each["status"], each["content_type"]) for each in left_out] == [(200, "text/css"), (200, "text/html")]
    assert prove(tmp_path).findings == []


def test_what_cannot_be_read_for_free_is_a_warning_of_its_record(site: Site, tmp_path: Path) -> None:
    site.link("/", "/paid", "/free")
    stated = (
        '<!doctype html><script type="application/ld+json">{"@type": "NewsArticle", "headline": "Lamps", %s}</script>'
    )
    site.set("/paid", stated % '"isAccessibleForFree": false' + "<p>Text")
    site.set("/free", stated % '"isAccessibleForFree": true' + "<p>isAccessibleForFree")
    crawl(tmp_path, site.url("/"))
    pages = {each["url"].rpartition("/")[2]: each.get("warnings") for each in records(tmp_path, "pages")}
    assert [each["code"] for each in pages["paid"]] == ["paywall"]
    assert (pages[""], pages["free"]) == (None, None)


def test_a_licence_is_part_of_a_pages_usage_and_told_once(site: Site, tmp_path: Path) -> None:
    rsl = "application/rsl+xml"
    link = f'</b>; rel=license; type="{rsl}"'
    site.set("/", f"<!doctype html><link rel=license type={rsl} href=/a>", headers={"Link": link})
    policy = QUICK.with_changes(purposes=("train-ai",))
    (page,) = comity_crawl(site.url("/"), policy=policy, max_pages=1)
    assert page.usage is not None
    assert [each.url for each in page.usage.licences] == [site.url("/b"), site.url("/a")]
    crawl(tmp_path, site.url("/"), policy=policy)
    (record,) = records(tmp_path, "pages")
    said = [each["message"] for each in record["warnings"] if each["code"] == "licence"]
    assert [text.split()[5] for text in said] == [site.url("/b"), site.url("/a")]


def test_no_interval_is_violated_by_the_servers_own_clock(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", "User-agent: *\nCrawl-delay: 0.06\n")
    site.link("/", *(f"/{number}" for number in range(12)))
    for number in range(12):
        site.link(f"/{number}", "/")
    crawler = crawl(tmp_path, site.url("/"), policy=QUICK.with_changes(min_interval=0.02))
    assert crawler.stats.pages == 13
    assert min(site.intervals()[1:]) >= 0.06
    assert crawler.stats.waited > 0.5


def test_hosts_wait_side_by_side(tmp_path: Path) -> None:
    with Site("127.0.0.2") as one, Site("127.0.0.3") as two:
        for site in (one, two):
            site.link("/", *(f"/{number}" for number in range(5)))
            for number in range(5):
                site.link(f"/{number}")
        crawler = crawl(tmp_path, one.url("/"), two.url("/"), policy=QUICK.with_changes(min_interval=0.2))
        assert crawler.stats.pages == 12
        begun, ended = ([site.seen[end].time for site in (one, two)] for end in (0, -1))
        assert max(begun) < min(ended), "not one after the other"
        assert max(begun) - min(begun) < min(ended) - max(begun), "side by side for most of the time"


@pytest.mark.parametrize("ended_by", ["the end", "a limit", "a stop"])
def test_a_pause_of_a_host_without_an_interval_is_counted_whatever_ends_it(
    ended_by: str, site: Site, clock: FakeClock, tmp_path: Path
) -> None:
    site.link("/", "/a", "/b")
    site.set("/a", "later", status=429, headers={"Retry-After": "600"})
    site.link("/b")
    limit = {"max_seconds": 45} if ended_by == "a limit" else {}
    crawler = Crawler(site.url("/"), FolderStorage(tmp_path, clock=clock), policy=QUICK, settings=limit)

    async def run() -> None:
        running = asyncio.ensure_future(crawler.run())
        if ended_by == "a stop":
            await clock.sleep(30)
            crawler.stop()
        await running

    asyncio.run(run())
    passed = clock.now - 1_000
    assert passed == {"the end": pytest.approx(1_200, abs=1), "a limit": 45, "a stop": 30}[ended_by]
    assert crawler.stats.waited == passed


def test_a_pause_is_counted_as_far_as_it_was_waited_for(site: Site, clock: FakeClock, tmp_path: Path) -> None:
    site.link("/", "/a", "/b")
    site.set("/a", "later", status=429, headers={"Retry-After": "86400"})
    site.link("/b")
    with Site("127.0.0.2") as other:
        other.link("/", "/1")
        other.link("/1")
        crawler = crawl(
            tmp_path, site.url("/"), other.url("/"), clock=clock, policy=QUICK.with_changes(min_interval=2.0)
        )
    passed = clock.now - 1_000
    assert 4 <= crawler.stats.waited <= 2 * passed < 60
    assert crawler.end.deferred == "127.0.0.1 must rest for another 24 hours; a run waits 60 minutes at most"
    with Site("127.0.0.3") as third:
        third.set("/", "later", status=429, headers={"Retry-After": "90000"})
        assert "others with work longer" in str(
            crawl(tmp_path / "two", site.url("/a"), third.url("/"), clock=clock).end
        )


@pytest.mark.parametrize("cut", [True, False], ids=["cut", "whole"])
def test_a_robots_txt_that_goes_on_behind_the_limit_is_recorded_as_cut(
    site: Site,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    cut: bool,
) -> None:
    rules = "User-agent: *\nDisallow: /no\n" + "#" * 512_000
    site.set("/robots.txt", rules if cut else rules[:512_000])
    site.link("/")
    settings = ClientSettings(max_robots_body=512_000)
    crawler = Crawler([site.url("/")], tmp_path, policy=QUICK, client_settings=settings)
    asyncio.run(crawler.run())
    (record,) = records(tmp_path, "robots")
    assert crawler.stats.robots_cut == cut
    print_summary(crawler, crawler.stats, as_json=False)
    assert ("robots.txt cut                 1  hosts: read to the limit" in capsys.readouterr().out) is cut
    assert record.get("cut", False) is cut
    assert ("read to 512,000 bytes: what follows is not known" in caplog.text) is cut
    assert prove(tmp_path).holds


def test_hosts_are_counted_that_are_crawled_without_readable_rules(tmp_path: Path, capsys: Any) -> None:
    """RFC 9309, 2.3.1.3 and 2.3.1.5 let them be crawled; whoever reads the summary is to know it."""
    answers: list[tuple[str, int]] = [
        ("forbidden", 403),
        ("<!doctype html><title>Are you a robot?</title>", 200),
        ('{"error": "x"}', 200),
        ("not here", 404),
        ("User-agent: *\nDisallow: /no\n", 200),
    ]
    with ExitStack() as stack:
        sites = [stack.enter_context(Site(f"127.0.0.{number}")) for number in range(2, 2 + len(answers))]
        for site, (body, status) in zip(sites, answers, strict=True):
            site.set("/robots.txt", body, status=status)
            site.link("/", "/1")
            site.link("/1")
        crawler = crawl(tmp_path, *(site.url("/") for site in sites), max_pages=6)
        assert crawler.stats.without_rules == 3
        crawler = crawl(tmp_path, max_pages=None)
        assert (crawler.stats.pages, crawler.stats.without_rules) == (10, 3), "each once, over all runs"
        refresh = Crawler((), tmp_path, policy=QUICK, refresh=True)
        asyncio.run(refresh.run())
        assert refresh.stats.without_rules == 3, "a refresh counts anew"
        decision = crawler.check(sites[0].url("/"))
    assert decision is not None
    assert decision.why == "robots.txt unavailable (HTTP status 403): everything is allowed"
    print_summary(crawler, crawler.stats, as_json=False)
    assert (
        "without rules                  3  hosts: robots.txt is 403, HTML, ...; robots.jsonl" in capsys.readouterr().out
    )


# covers: F23
def test_max_pages_is_kept_exactly_and_a_later_run_goes_on(site: Site, tmp_path: Path) -> None:
    site.link("/", *(f"/{number}" for number in range(40)))
    for number in range(40):
        site.link(f"/{number}", "/")
    assert crawl(tmp_path, site.url("/"), max_pages=10).stats.pages == 10
    assert len(paths(tmp_path, "pages", site)) == 10
    assert crawl(tmp_path, max_pages=None).stats.pages == 41
    assert len(paths(tmp_path, "pages", site)) == 41
    assert Counter(site.paths())["/"] == 1


def test_max_depth_counts_links_from_the_seed(site: Site, tmp_path: Path) -> None:
    for depth in range(5):
        site.link(f"/{depth}", f"/{depth + 1}")
    crawl(tmp_path, site.url("/0"), max_depth=2)
    assert paths(tmp_path, "pages", site) == {"/0", "/1", "/2"}


def test_a_page_that_defeats_us_does_not_end_the_crawl(site: Site, tmp_path: Path) -> None:
    async def dropped(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    site.link("/", "/dropped", "/lies", "/binary", "/fine")
    site.set("/dropped", dropped)
    site.set("/lies", b"not gzip", headers={"Content-Encoding": "gzip"})
    site.set("/binary", bytes(range(256)) * 40, content_type="text/html")
    site.link("/fine")
    crawl(tmp_path, site.url("/"), retries=0)
    assert paths(tmp_path, "failures", site) == {"/dropped", "/lies"}
    assert {"/", "/fine"} <= paths(tmp_path, "pages", site)


@pytest.mark.parametrize("where", ["record", "page", "beside"])
def test_a_page_that_cannot_be_entered_is_a_failure_and_counts_once(
    where: str, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.link("/", "/odd", "/fine")
    site.link("/odd")
    site.link("/fine")
    entered = getattr(PageKept, where)

    def entering(kept: PageKept, *rest: Any) -> Any:
        if kept.answer.url.endswith("/odd"):
            raise ValueError("an odd page")
        return entered(kept, *rest)

    monkeypatch.setattr(PageKept, where, entering)
    pages: list[str] = []
    crawler = Crawler([site.url("/")], tmp_path, policy=QUICK, settings={"max_pages": 3})
    stats = asyncio.run(crawler.run(on_page=lambda page: pages.append(page.url)))
    assert (stats.pages, stats.failed) == (2, 1)
    assert paths(tmp_path, "pages", site) == {"/", "/fine"}
    assert sorted(pages) == [site.url("/"), site.url("/fine")]
    (failed,) = records(tmp_path, "failures")
    assert failed["why"] == "cannot be processed: ValueError: an odd page"
    assert [finding.file for finding in prove(tmp_path).findings] == ["failures.jsonl"], "it is no site's fault"


REFUSED = (
    OSError(errno.EMFILE, "Too many open files", "module.py"),
    OSError(errno.ENFILE, "Too many open files in system"),
    OSError(errno.ENOMEM, "Cannot allocate memory"),
    OSError(errno.EIO, "Input/output error"),
    RuntimeError("can't start new thread"),
    ImportError("cannot import name 'x' from 'comity.y'"),
    MemoryError(),
    BrokenExecutor("a child process terminated abruptly"),
    Exception("of no kind"),
)


@pytest.mark.parametrize(
    ("where", "error"),
    [*(("reading", each) for each in REFUSED), *(("expanding", each) for each in REFUSED if is_of_the_system(each))],
)
def test_what_the_system_refuses_ends_the_run_in_words_and_fails_no_page(
    where: str, error: Exception, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.link("/", "/odd")
    site.link("/odd")

    class Expanding:
        def expand(self, response: Response) -> Expanded:
            if response.url.endswith("/odd") and site.paths().count("/odd") == 1:
                raise error
            return Expanded()

    expander = Expanding() if where == "expanding" else None
    if expander is None:
        made = PageKept.record

        def record(kept: PageKept) -> Any:
            if kept.answer.url.endswith("/odd") and site.paths().count("/odd") == 1:
                raise error
            return made(kept)

        monkeypatch.setattr(PageKept, "record", record)
    with pytest.raises(SystemFailed, match="cannot go on") as caught:
        asyncio.run(Crawler([site.url("/")], tmp_path, policy=QUICK, plugins={"expander": expander}).run())
    assert "--resume" in caught.value.hint
    asyncio.run(Crawler([], tmp_path, policy=QUICK, plugins={"expander": expander}).run())
    assert paths(tmp_path, "pages", site) == {"/", "/odd"}
    assert records(tmp_path, "failures") == []
    assert prove(tmp_path).findings == []


def test_pages_are_handed_out_though_the_program_fails_on_one_of_them(site: Site, tmp_path: Path) -> None:
    """What was committed with it is handed out by no later run."""
    site.link("/", *(f"/{number}" for number in range(20)))
    for number in range(20):
        site.link(f"/{number}")
    handed: list[str] = []

    def take(page: CrawledPage) -> None:
        handed.append(page.url)
        if len(handed) == 3:
            raise ValueError("the program failed")

    with pytest.raises(ValueError, match="the program failed"):
        asyncio.run(Crawler([site.url("/")], tmp_path, policy=QUICK).run(on_page=take))
    assert sorted(handed) == sorted(record["url"] for record in records(tmp_path, "pages"))
    asyncio.run(Crawler([], tmp_path, policy=QUICK).run(on_page=lambda page: handed.append(page.url)))
    assert sorted(handed) == sorted([site.url("/"), *(site.url(f"/{number}") for number in range(20))])


def test_a_folder_in_use_is_refused(site: Site, tmp_path: Path) -> None:
    from comity.frontier.sqlite.store import Frontier

    with Frontier(tmp_path / "frontier.sqlite") as frontier:
        frontier.save_state("seeds", [])
        with pytest.raises(StorageError, match="in use"):
            crawl(tmp_path, site.url("/"))


def test_output_changed_from_outside_is_noticed(site: Site, tmp_path: Path) -> None:
    site.link("/")
    crawl(tmp_path, site.url("/"))
    (tmp_path / "pages.jsonl").write_text("")
    with pytest.raises(StorageError, match="another program changed it"):
        crawl(tmp_path)


@pytest.mark.parametrize("times", [2, pytest.param(6, marks=pytest.mark.long)])
def test_a_killed_crawl_resumes_with_every_page_exactly_once(site: Site, tmp_path: Path, times: int) -> None:
    urls, command = tree(site, 300), crawling(tmp_path / "out")
    kills = killed(command, site, begin=[site.url("/0")], times=times, after=lambda: 40)
    finished(command)
    assert kills >= times / 2
    assert {site.url(path) for path in paths(tmp_path / "out", "pages", site)} == urls


def test_a_host_is_not_asked_early_though_a_crash_lost_its_last_request(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", "User-agent: *\nCrawl-delay: 0.7\n")
    site.link("/", "/a")
    site.link("/a")

    async def crash() -> None:
        task = asyncio.ensure_future(Crawler([site.url("/")], tmp_path, policy=QUICK).run())
        while "/" not in site.paths():
            await asyncio.sleep(0.001)
        task.cancel()  # before the commit that would have said so
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(crash())
    crawl(tmp_path, sitemaps=False)
    assert paths(tmp_path, "pages", site) == {"/", "/a"}
    assert site.paths()[:3] == ["/robots.txt", "/", "/robots.txt"]
    assert min(site.intervals()) >= 0.7


def ill(site: Site, *, well_after: int) -> None:
    """A robots.txt that answers from the request after so many on."""

    async def robots(request: web.Request) -> web.StreamResponse:
        failing = site.paths().count("/robots.txt") <= well_after
        return web.Response(status=503) if failing else web.Response(text="User-agent: *\nDisallow: /no\n")

    site.set("/robots.txt", robots)


def test_what_waits_for_a_robots_txt_has_its_turn_in_a_later_run(site: Site, tmp_path: Path, clock: FakeClock) -> None:
    ill(site, well_after=1)
    site.link("/", "/a", "/no")
    site.link("/a")
    policy = Policy(min_interval=0, failure_life=60, allow_addresses=("127.0.0.0/8",))
    first = crawl(tmp_path, site.url("/"), policy=policy, clock=clock, sitemaps=False)
    assert (first.stats.postponed, first.stats.refused) == (1, 0)
    at_once = crawl(tmp_path, policy=policy, clock=clock, sitemaps=False)
    assert site.paths() == ["/robots.txt"], "no more often than the failure's life allows"
    assert at_once.stats.postponed == 1
    clock.now += 61
    later = crawl(tmp_path, policy=policy, clock=clock, sitemaps=False)
    assert (later.stats.postponed, later.stats.refused) == (0, 1)
    assert paths(tmp_path, "pages", site) == {"/", "/a"}
    assert paths(tmp_path, "refusals", site) == {"/no"}
    assert prove(tmp_path).findings == []


def test_what_waits_for_a_robots_txt_has_its_turn_in_the_same_run_while_that_lasts(
    site: Site, tmp_path: Path, clock: FakeClock
) -> None:
    with Site("127.0.0.2") as other:
        ill(other, well_after=1)
        other.link("/", "/b")
        other.link("/b")
        for number in range(10):
            site.link(f"/{number}", f"/{number + 1}")
        policy = Policy(min_interval=10, failure_life=40, allow_addresses=("127.0.0.0/8",))
        crawler = crawl(tmp_path, site.url("/0"), other.url("/"), policy=policy, clock=clock, sitemaps=False, retries=1)
        assert other.paths() == ["/robots.txt", "/robots.txt", "/", "/b"]
        assert (crawler.stats.postponed, crawler.stats.refused, crawler.stats.pages) == (0, 0, 12)
        assert prove(tmp_path).findings == []


@pytest.mark.parametrize("step", [3_600.0, -3_600.0])
def test_a_step_of_the_machines_clock_wears_out_no_patience_with_a_robots_txt(
    site: Site, tmp_path: Path, step: float
) -> None:
    class Stepped(FakeClock):
        def wall(self) -> float:
            return super().wall() + (step if self.now >= 1_015 else 0.0)

    with Site("127.0.0.2") as other:
        ill(other, well_after=2)
        other.link("/", "/b")
        other.link("/b")
        for number in range(12):
            site.link(f"/{number}", f"/{number + 1}")
        policy = Policy(min_interval=10, failure_life=40, allow_addresses=("127.0.0.0/8",))
        crawler = crawl(tmp_path, site.url("/0"), other.url("/"), policy=policy, clock=Stepped(), sitemaps=False)
        assert other.paths() == ["/robots.txt"] * 3 + ["/", "/b"]
        assert (crawler.stats.postponed, crawler.stats.refused, crawler.stats.pages) == (0, 0, 14)
        assert prove(tmp_path).findings == []


def test_a_clock_set_back_between_two_runs_makes_no_wait_longer(site: Site, tmp_path: Path, clock: FakeClock) -> None:
    class SetBack(FakeClock):
        def wall(self) -> float:
            return super().wall() - 80_000

    ill(site, well_after=1)
    site.link("/")
    policy = Policy(min_interval=1, failure_life=60, allow_addresses=("127.0.0.0/8",))
    assert crawl(tmp_path, site.url("/"), policy=policy, clock=clock, sitemaps=False).stats.postponed == 1
    back = SetBack()
    assert crawl(tmp_path, policy=policy, clock=back, sitemaps=False).stats.postponed == 1
    assert back.now < 1_002
    back.now += 61
    assert crawl(tmp_path, policy=policy, clock=back, sitemaps=False).stats.pages == 1
    assert back.now < 1_065


def test_a_url_is_refused_for_good_when_its_robots_txt_failed_too_often(
    site: Site, tmp_path: Path, clock: FakeClock
) -> None:
    ill(site, well_after=100)
    policy = Policy(min_interval=0, failure_life=60, allow_addresses=("127.0.0.0/8",))
    for run in range(4):
        crawler = crawl(tmp_path, site.url("/"), policy=policy, clock=clock, retries=2)
        assert (crawler.stats.postponed, crawler.stats.refused) == ((1, 0) if run < 2 else (0, 1))
        clock.now += 61
    assert len(site.paths()) == 3, "it is asked once a run, and not at all when nothing waits for it"
    assert paths(tmp_path, "refusals", site) == {"/"}
    assert prove(tmp_path).findings == []


def test_two_origins_of_a_host_wait_each_for_its_own_robots_txt(tmp_path: Path, clock: FakeClock) -> None:
    with Site() as well, Site() as sick:
        ill(sick, well_after=1)
        well.link("/", sick.url("/"), "/a")
        well.link("/a")
        sick.link("/")
        policy = Policy(min_interval=0, failure_life=60, allow_addresses=("127.0.0.0/8",))
        first = crawl(tmp_path, well.url("/"), policy=policy, clock=clock, sitemaps=False)
        assert (first.stats.pages, first.stats.postponed) == (2, 1)
        clock.now += 61
        assert crawl(tmp_path, policy=policy, clock=clock, sitemaps=False).stats.pages == 3
        assert prove(tmp_path).findings == []


REPLACED = """
import sys
from comity.cli import app, process

class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "comity":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

def crawled(*given, run=process.run):
    stats = run(*given)
    sys.meta_path.insert(0, Gone())
    return stats

process.run = crawled
app.main()
"""


def test_a_crawl_is_summed_up_though_the_package_is_gone_when_it_ends(site: Site, tmp_path: Path) -> None:
    site.link("/", "/lost")
    words = ["crawl", site.url("/"), "-o", str(tmp_path / "out"), "--allow-address", "127.0.0.0/8", "--delay", "0"]
    words += ["--report", str(tmp_path / "out" / "report.html")]
    done = subprocess.run(
        [sys.executable, "-c", REPLACED, *words], capture_output=True, text=True, timeout=HANGS, check=False
    )
    assert done.returncode == 2, done
    assert "Traceback" not in done.stderr
    assert "/lost  HTTP status 404" in done.stdout
    assert "report in" in done.stdout
    assert (tmp_path / "out" / "report.html").stat().st_size > 0
