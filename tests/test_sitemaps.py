"""Sitemaps of every kind, in pieces of any size, damaged or hostile."""

import gzip
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.signals.sitemaps import Entry, SitemapReader, SitemapRef, SitemapUrl, in_scope, read, read_date

SPACE = (
    'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
)
URLSET = (
    f'<?xml version="1.0"?><urlset {SPACE}>'
    "<url><loc> https://h/a?x=1&amp;y=2 </loc><lastmod>2026-05-17</lastmod><priority>0.8</priority>"
    "<image:image><image:loc>https://h/i.png</image:loc></image:image></url>"
    "<url><loc><![CDATA[https://h/b]]></loc><changefreq>daily</changefreq></url></urlset>"
).encode()


def in_pieces(body: bytes, size: int) -> list[bytes]:
    return [body[at : at + size] for at in range(0, len(body), size)]


@pytest.mark.parametrize("size", [1, 2, 7, 100_000])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, lambda body: body.decode().encode("utf-16")])
def test_a_urlset_reads_the_same_in_pieces_of_any_size(size: int, pack: object) -> None:
    assert callable(pack)
    first, second = read(in_pieces(pack(URLSET), size))
    assert first == SitemapUrl("https://h/a?x=1&y=2", datetime(2026, 5, 17, tzinfo=UTC), None, 0.8)
    assert second == SitemapUrl("https://h/b", None, "daily", None)


def test_an_index_names_other_sitemaps() -> None:
    body = f"<sitemapindex {SPACE}><sitemap><loc>https://h/1.xml</loc><lastmod>2026</lastmod></sitemap></sitemapindex>"
    assert list(read(body.encode())) == [SitemapRef("https://h/1.xml", datetime(2026, 1, 1, tzinfo=UTC))]


@pytest.mark.parametrize(
    "body",
    [
        b"https://h/a\r\nnot a url\nhttps://h/b",
        (
            b"<rss><channel><link>https://h/</link><item><title>x</title><link>https://h/a</link></item>"
            b"<item><link>https://h/b</link><pubDate>x</pubDate></item></channel></rss>"
        ),
        (
            b'<feed xmlns="http://www.w3.org/2005/Atom"><link href="https://h/"/><entry><link rel="self" href="https://h/s"/>'
            b'<link href="https://h/a"/></entry><entry><link rel="alternate" href="https://h/b"/></entry></feed>'
        ),
    ],
    ids=["text", "rss", "atom"],
)
def test_lists_and_feeds_are_sitemaps_too(body: bytes) -> None:
    assert [entry.loc for entry in read(body)] == ["https://h/a", "https://h/b"]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (URLSET[:-30] + b"<broken", "stopped at line 1"),
        (gzip.compress(URLSET)[:-9], "cut short"),
        (b"\x1f\x8bnonsense", "stopped"),
    ],
)
def test_damage_yields_what_came_before_and_says_where_it_stopped(body: bytes, problem: str) -> None:
    reader = SitemapReader()
    entries = reader.feed(body) + reader.close()
    assert reader.problem is not None
    assert problem in reader.problem
    assert len(entries) <= 2


@pytest.mark.parametrize(
    "declaration",
    ['<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">', '<!ENTITY x SYSTEM "file:///etc/passwd">', '<!ENTITY % p "x"> %p;'],
)
def test_documents_that_declare_entities_are_refused(declaration: str) -> None:
    reader = SitemapReader()
    body = f"<!DOCTYPE urlset [{declaration}]><urlset><url><loc>https://h/&b;</loc></url></urlset>"
    assert reader.feed(body.encode()) + reader.close() == []
    assert reader.problem is not None
    assert "entities" in reader.problem


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2026", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-03", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-03-04", datetime(2026, 3, 4, tzinfo=UTC)),
        ("2026-03-04T05:06Z", datetime(2026, 3, 4, 5, 6, tzinfo=UTC)),
        ("2026-03-04T05:06:07+02:00", datetime(2026, 3, 4, 5, 6, 7, tzinfo=timezone(timedelta(hours=2)))),
        ("2026-03-04T05:06:07.25-0330", datetime(2026, 3, 4, 5, 6, 7, 250_000, timezone(-timedelta(hours=3.5)))),
        ("yesterday", None),
        ("2026-13-01", None),
        ("26-01-01", None),
        ("2026-03-04T25:00Z", None),
        ("", None),
    ],
)
def test_every_form_of_w3c_date(text: str, date: datetime | None) -> None:
    assert read_date(text) == date


# covers: W4
def test_a_sitemap_speaks_for_its_own_path_and_for_hosts_that_name_it() -> None:
    assert in_scope("https://h/dir/a", "https://h/dir/map.xml")
    assert not in_scope("https://h/a", "https://h/dir/map.xml")
    assert not in_scope("https://o/dir/a", "https://h/dir/map.xml")
    assert in_scope("https://o/a", "https://h/dir/map.xml", named_by="o")


@given(st.binary(max_size=300), st.integers(1, 50))
def test_nothing_raises_and_pieces_change_nothing(body: bytes, size: int) -> None:
    whole: list[Entry] = list(read(b"<urlset><url><loc>https://h/a</loc></url>" + body))
    assert whole == list(read(in_pieces(b"<urlset><url><loc>https://h/a</loc></url>" + body, size)))
