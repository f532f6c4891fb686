"""A page that sends its reader on by itself: read as the HTML standard reads it, followed as search engines do."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sites import Site
from test_crawl import crawl, paths, records

from comity_pages.signals.links import Refresh, read_page
from comity_pages.signals.refresh import parse_refresh


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("0; url=/a", (0, "/a")),
        ("5;URL='/a'x", (5, "/a")),
        (' 3 , uRl = "/a', (3, "/a")),
        ("0 /a", (0, "/a")),
        ("0;/a", (0, "/a")),
        ("0.9.9; url=/a", (0, "/a")),
        (".5; url=/a", (0, "/a")),
        ("0; url", (0, "url")),
        ("0; url /a", (0, "url /a")),
        ("0; ur=/a", (0, "ur=/a")),
        ("300", (300, None)),
        ("300;", (300, None)),
        ("0; url=", (0, "")),
        ("0 ; ; /a", (0, "; /a")),
        ("9" * 40, (1 << 31, None)),
        ("", None),
        ("url=/a", None),
        ("0url=/a", None),
        ("-1; url=/a", None),
    ],
)
def test_a_refresh_is_read_by_the_steps_of_the_html_standard(content: str, said: Any) -> None:
    assert parse_refresh(content) == said


@given(st.text(alphabet="0.9;, \t\nurlURL='\"/ax", max_size=30))
def test_whatever_a_refresh_says_it_is_read_or_it_is_none(content: str) -> None:
    said = parse_refresh(content)
    assert said is None or (said[0] >= 0 and (said[1] is None or isinstance(said[1], str)))


@pytest.mark.parametrize(
    ("html", "url"),
    [
        ('<meta http-equiv="Refresh" content="0; url=b">', "http://a.example/d/b"),
        ('<base href="/x/"><meta http-equiv=refresh content="0; url=b">', "http://a.example/x/b"),
        ("<body><p><META CONTENT='0; url=/b?a=1&amp;c=2' HTTP-EQUIV=REFRESH>", "http://a.example/b?a=1&c=2"),
        ('<meta http-equiv=refresh content="0; url=javascript:alert(1)">', None),
        ('<meta http-equiv=refresh content=";"><meta http-equiv=refresh content="0;/b">', "http://a.example/b"),
        ('<meta http-equiv=refresh content="0;/b"><meta http-equiv=refresh content="0;/c">', "http://a.example/b"),
        ('<template><meta http-equiv=refresh content="0;/b"></template>', None),
        ('<!-- <meta http-equiv=refresh content="0;/b"> -->', None),
        ('<meta http-equiv=refresher content="0;/b"><meta name=refresh content="0;/b">', None),
        ("<meta http-equiv=refresh content=60>", "http://a.example/d/"),
    ],
)
def test_a_page_names_where_it_sends_its_reader(html: str, url: str | None) -> None:
    refresh = read_page(html.encode(), "http://a.example/d/").refresh
    assert (refresh and refresh.url) == url


def test_the_header_counts_before_the_page() -> None:
    html = b'<base href="/x/"><meta http-equiv=refresh content="0;/b">'
    assert read_page(html, "http://a.example/d/", refresh_header="7; url=c").refresh == Refresh(
        7, "http://a.example/d/c"
    )


def sent_on(site: Site, path: str, content: str, more: str = "") -> None:
    site.set(path, f'<meta http-equiv="refresh" content="{content}">{more}')


def test_a_seed_that_only_refreshes_leads_to_the_site_it_means(site: Site, tmp_path: Path) -> None:
    with Site("127.0.0.2") as meant:
        sent_on(site, "/", f"3; url={meant.url('/en/')}")
        meant.link("/en/", "/a")
        meant.link("/a", site.url("/b"))
        site.link("/b")
        crawler = crawl(tmp_path, site.url("/"), sitemaps=False)
        assert meant.paths() == ["/robots.txt", "/en/", "/a"]
        assert crawler.stats.pages == 4, "the page itself is kept too"


def test_a_refresh_at_once_is_a_redirect_and_a_later_one_a_link(site: Site, tmp_path: Path) -> None:
    site.link("/", "/now", "/later")
    sent_on(site, "/now", "0; url=/there")
    sent_on(site, "/later", "1; url=/elsewhere")
    for path in ("/there", "/elsewhere"):
        site.link(path)
    crawl(tmp_path, site.url("/"), sitemaps=False, max_depth=1)
    assert paths(tmp_path, "pages", site) == {"/", "/now", "/later", "/there"}, "a link would be one too deep"
    assert {record["url"]: record["depth"] for record in records(tmp_path, "pages")}[site.url("/there")] == 1


def test_refresh_after_refresh_ends(site: Site, tmp_path: Path) -> None:
    for number in range(30):
        sent_on(site, f"/{number}", f"0; url=/{number + 1}")
    sent_on(site, "/self", "60")
    crawler = crawl(tmp_path, site.url("/0"), site.url("/self"), sitemaps=False)
    assert crawler.stats.pages == 12
    assert [record["trap"] for record in records(tmp_path, "traps")] == ["redirect-chain"]


def test_where_a_page_leads_is_asked_of_robots_txt_and_of_the_page(site: Site, tmp_path: Path) -> None:
    site.set("/robots.txt", "User-agent: *\nDisallow: /no\n")
    site.link("/", "/a", "/b")
    sent_on(site, "/a", "0; url=/no")
    sent_on(site, "/b", "0; url=/c", '<meta name="robots" content="nofollow">')
    crawl(tmp_path, site.url("/"), sitemaps=False)
    assert not {"/no", "/c"} & set(site.paths())
    assert paths(tmp_path, "refusals", site) == {"/no"}
