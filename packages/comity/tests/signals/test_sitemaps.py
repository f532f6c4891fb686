"""Sitemaps of every kind, in pieces of any size, damaged or hostile."""

import gzip
import random
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from sites import HANGS

from comity_pages.signals.sitemaps import (
    Image,
    Limits,
    News,
    Position,
    SitemapAlternate,
    SitemapEntry,
    SitemapReader,
    SitemapRef,
    SitemapUrl,
    Video,
    in_scope,
    read,
)
from comity_pages.signals.sitemaps.dates import parse_feed, parse_w3c
from comity_pages.signals.sitemaps.unpack import Stop
from comity_pages.signals.sitemaps.xml import XmlEntries

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
    assert first == SitemapUrl(
        "https://h/a?x=1&y=2",
        datetime(2026, 5, 17, tzinfo=UTC),
        priority=0.8,
        images=(Image("https://h/i.png"),),
        precision="day",
    )
    assert second == SitemapUrl("https://h/b", None, "daily", None)


def test_an_index_names_other_sitemaps() -> None:
    body = f"<sitemapindex {SPACE}><sitemap><loc>https://h/1.xml</loc><lastmod>2026</lastmod></sitemap></sitemapindex>"
    assert list(read(body.encode())) == [SitemapRef("https://h/1.xml", datetime(2026, 1, 1, tzinfo=UTC), "year")]


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


def reading(body: bytes | Iterator[bytes], **limits: int) -> tuple[list[SitemapEntry], SitemapReader]:
    reader = SitemapReader("https://h/sitemap.xml", limits=Limits(**limits))
    return list(reader.read(body)), reader


def urlset(*urls: str) -> bytes:
    return f"<urlset {SPACE}>{''.join(f'<url><loc>{url}</loc></url>' for url in urls)}</urlset>".encode()


def test_the_reader_says_what_it_has_read() -> None:
    for body, kind in (
        (URLSET, "urlset"),
        (b"<sitemapindex/>", "sitemapindex"),
        (b"<rss/>", "rss"),
        (b"<feed/>", "atom"),
        (b"https://h/", "text"),
        (b"{}", "unknown"),
    ):
        assert reading(body)[1].kind == kind


def test_the_extensions_are_read_whatever_their_prefixes() -> None:
    body = b"""<m:urlset xmlns:m="https://www.sitemaps.org/schemas/sitemap/0.9"
        xmlns:i="http://www.google.com/schemas/sitemap-image/1.1" xmlns:n="http://www.google.com/schemas/sitemap-news/0.9"
        xmlns:v="http://www.google.com/schemas/sitemap-video/1.1"><m:url><m:loc>https://h/a</m:loc>
        <x:link xmlns:x="http://www.w3.org/1999/xhtml" rel="alternate" hreflang="de" href="https://h/de?a=1&amp;b"/>
        <x:link xmlns:x="http://www.w3.org/1999/xhtml" rel="alternate" hreflang="x-default" href="https://h/"/>
        <i:image><i:loc>https://h/i</i:loc><i:title>T</i:title><i:caption>C</i:caption><i:license>L</i:license></i:image>
        <i:image><i:loc>https://h/j</i:loc></i:image><i:image><i:caption>no place</i:caption></i:image>
        <n:news><n:publication><n:name>The H</n:name><n:language>en</n:language></n:publication>
        <n:publication_date>2026-03-04</n:publication_date><n:title>News</n:title></n:news>
        <v:video><v:thumbnail_loc>https://h/t</v:thumbnail_loc><v:title>V</v:title><v:description>D</v:description>
        <v:content_loc>https://h/c</v:content_loc><v:player_loc>https://h/p</v:player_loc><v:duration>61</v:duration>
        <v:publication_date>2026-03-04T05:06Z</v:publication_date></v:video></m:url>
        <m:url><m:loc>https://h/b</m:loc></m:url></m:urlset>"""
    first, second = read(body)
    assert first == SitemapUrl(
        "https://h/a",
        images=(Image("https://h/i", "T", "C", "L"), Image("https://h/j")),
        news=(News("News", "The H", "en", datetime(2026, 3, 4, tzinfo=UTC)),),
        videos=(
            Video("V", "D", "https://h/t", "https://h/c", "https://h/p", 61, datetime(2026, 3, 4, 5, 6, tzinfo=UTC)),
        ),
        alternates=(SitemapAlternate("de", "https://h/de?a=1&b"), SitemapAlternate("x-default", "https://h/")),
    )
    assert second == SitemapUrl("https://h/b")


def test_elements_of_other_vocabularies_are_passed_over() -> None:
    body = b"""<urlset xmlns:pm="https://example.com/pagemap"><url><pm:loc>no</pm:loc><loc>u</loc><pm:loc>no</pm:loc>
        <link xmlns="http://www.w3.org/1999/xhtml" rel="alternate" hreflang="de" href="d"/><lastmod>2026</lastmod>
        <pm:url><loc>u</loc></pm:url></url></urlset>"""
    entry = SitemapUrl(
        "u", datetime(2026, 1, 1, tzinfo=UTC), alternates=(SitemapAlternate("de", "d"),), precision="year"
    )
    assert list(read(body)) == [entry]


def test_entries_in_no_namespace_below_one_that_is_in_the_right_one_are_read() -> None:
    body = b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url xmlns=""><loc>u</loc></url></urlset>'
    assert list(read(body)) == [SitemapUrl("u")]


def test_links_that_are_no_alternates_are_passed_over() -> None:
    body = b"""<urlset xmlns:x="http://www.w3.org/1999/xhtml"><url><loc>u</loc>
        <x:link rel="alternate" media="print" href="p"/><x:link rel="amphtml" hreflang="de" href="a"/>
        <x:link rel="alternate" hreflang="de" href="d"/></url></urlset>"""
    assert list(read(body)) == [SitemapUrl("u", alternates=(SitemapAlternate("de", "d"),))]


def test_what_an_atom_entry_says_of_its_source_is_not_said_of_itself() -> None:
    body = b"""<feed xmlns="http://www.w3.org/2005/Atom"><entry><source><link href="s"/><updated>2001</updated></source>
        <link href="u"/><updated>2026</updated><source><updated>2002</updated></source></entry></feed>"""
    assert list(read(body)) == [SitemapUrl("u", datetime(2026, 1, 1, tzinfo=UTC), precision="year")]


def test_the_lines_of_a_list_are_counted_whatever_ends_them() -> None:
    for end in ("\n", "\r\n", "\r"):
        body = end.join(f"https://h/{number}" for number in range(9_999)).encode()
        entries, reader = reading(body, entries=9_000)
        assert len(entries) == 9_000
        assert reader.stopped_at is not None
        assert reader.stopped_at.line == 9_001


def test_values_that_the_protocol_does_not_know_are_none() -> None:
    for name, value in (("priority", "2"), ("priority", "nan"), ("priority", "high"), ("changefreq", "sometimes")):
        body = f"<urlset><url><loc>u</loc><{name}>{value}</{name}></url></urlset>"
        assert list(read(body.encode())) == [SitemapUrl("u")]
    body = b"<urlset><url><loc>u</loc><changefreq> Daily </changefreq><priority> 0.5\n</priority></url></urlset>"
    assert list(read(body)) == [SitemapUrl("u", None, "daily", 0.5)]


def test_entries_without_a_url_are_counted_and_left_out() -> None:
    entries, reader = reading(b"<urlset><url/><url><loc> </loc></url><url><loc>u</loc></url></urlset>")
    assert [entry.loc for entry in entries] == ["u"]
    assert (reader.entries, reader.skipped, reader.problem) == (1, 2, None)


@pytest.mark.parametrize(
    "body",
    [
        "<?xml version='1.0' encoding='windows-1251'?>{}".encode("cp1251").replace(
            b"{}", urlset("Ж").decode().encode("cp1251")
        ),
        b"<?xml version='1.0' encoding='Shift_JIS'?>" + urlset("Ж").decode().encode("shift_jis"),
        b"<?xml version='1.0' encoding='GBK'?>" + urlset("Ж").decode().encode("gbk"),
        b"\xef\xbb\xbf" + urlset("Ж"),
        b"\r\n <?xml version='1.0' encoding='utf-16'?>" + urlset("Ж"),
        b"<?xml version='1.0' encoding='no-such-charset'?>" + urlset("Ж"),
        urlset("Ж").decode().encode("utf-16"),
        urlset("Ж").decode().encode("utf-16-be"),
        urlset("Ж").decode().encode("utf-32"),
        "\ufeff https://h/Ж\n".encode("utf-16"),
    ],
)
def test_the_charset_is_found(body: bytes) -> None:
    assert [entry.loc.removeprefix("https://h/") for entry in read(body)] == ["Ж"]


@pytest.mark.parametrize(
    ("body", "problem", "position"),
    [
        (b"<urlset>\n<url><loc>u</loc></url>\n<url><loc>v</lock>", "damaged XML: mismatched tag", Position(46, 3)),
        (b"\n\n<urlset>\n<url><loc>u</loc></url>&nbsp;", "damaged XML: undefined entity", Position(34, 4)),
        (b"<urlset><url><loc>u</loc></url>", "damaged XML: no element found", Position(31, 1)),
        (gzip.compress(b"<urlset><url><loc>u</loc></url></urlset>")[:-9], "the gzip data ends too early", None),
    ],
)
def test_damage_keeps_what_came_before_and_says_where_it_is(
    body: bytes, problem: str, position: Position | None
) -> None:
    entries, reader = reading(body)
    assert entries == [SitemapUrl("u")]
    assert reader.problem == problem
    assert reader.stopped_at is not None
    assert position in (None, reader.stopped_at)
    assert reader.feed(body) == reader.close() == []


@pytest.mark.parametrize("size", [1, 1000, 10**9])
def test_damaged_gzip_costs_nothing_of_what_came_before(size: int) -> None:
    body = urlset(*(f"https://h/{number}" for number in range(5000)))
    packing = zlib.compressobj(wbits=31)
    packed = packing.compress(body[:100_000]) + packing.flush(zlib.Z_FULL_FLUSH) + b"\xff" * 50
    entries, reader = reading(iter(in_pieces(packed, size)))
    assert reader.problem is not None
    assert reader.problem.startswith("damaged gzip")
    assert len(entries) == body[:100_000].count(b"</url>")


def test_gzip_in_several_members_and_with_padding_is_one_sitemap() -> None:
    body = urlset("https://h/a", "https://h/b")
    packed = gzip.compress(body[:40]) + gzip.compress(body[40:]) + bytes(512)
    entries, reader = reading(packed)
    assert [entry.loc for entry in entries] == ["https://h/a", "https://h/b"]
    assert reader.problem is None


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "nothing in it"),
        (b" \n", "nothing in it"),
        (b'{"error": 404}', "neither XML nor a list of URLs"),
        (b"\x89PNG\r\n\x1a\n", "neither XML nor a list of URLs"),
        (b"\x1f\x8bnonsense", "damaged gzip"),
        (b"<!doctype html><p>Not found", "an HTML page"),
        (b"<html><p>Not found", "an HTML page"),
        (b"<error/>", "the outermost element is <error>"),
    ],
)
def test_what_is_no_sitemap_is_called_by_its_name(body: bytes, problem: str) -> None:
    entries, reader = reading(body)
    assert entries == []
    assert reader.problem is not None
    assert reader.problem.startswith(problem)
    assert reader.stopped_at is not None


@pytest.mark.parametrize(
    "declaration",
    [
        '<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">',
        '<!ENTITY x SYSTEM "file:///etc/passwd">',
        '<!ENTITY % p SYSTEM "http://h/x"> %p;',
        '<!ATTLIST url x CDATA "a default that every element would repeat">',
    ],
)
def test_documents_that_declare_entities_are_refused(declaration: str) -> None:
    entries, reader = reading(f"<!DOCTYPE urlset [{declaration}]><urlset><url><loc>&b;</loc></url></urlset>".encode())
    assert entries == []
    assert reader.problem == "a document type with declarations of its own (entities) is refused"


def test_a_document_type_elsewhere_is_not_fetched_and_harmless() -> None:
    entries, reader = reading(b'<!DOCTYPE urlset SYSTEM "http://127.0.0.1:9/x.dtd">' + urlset("u"))
    assert [entry.loc for entry in entries] == ["u"]
    assert reader.problem is None


IMAGES = b'<urlset xmlns:i="http://www.google.com/schemas/sitemap-image/1.1"><url><loc>u</loc>'


def endless(start: bytes, repeated: bytes) -> Iterator[bytes]:
    yield start
    block = repeated * (64 * 1024 // len(repeated))
    while True:
        yield block


@pytest.mark.parametrize(
    ("start", "repeated", "problem"),
    [
        (b"<urlset>", b"<a>", "nested more than 64 deep"),
        (b"<urlset><url>", b"<url>", "nested more than"),
        (b"<urlset><url><loc>", b"a", "without one complete entry"),
        (IMAGES, b"<i:image><i:loc>i</i:loc></i:image>", "complete entry"),
        (b"<urlset><!--", b"-a", "without one complete entry"),
        (b"<urlset a='", b"a", "without one complete entry"),
        (b"<urlset>", b" ", "without one complete entry"),
        pytest.param(b"<urlset>", b"<url><loc>u</loc></url>", "more than 250,000 entries", marks=pytest.mark.long),
        (b"", b" ", "nothing in it"),
        pytest.param(b"", b"http://h/\n", "more than 250,000 entries", marks=pytest.mark.long),
        (b"http://h/", b"a", "without one complete entry"),
    ],
)
def test_what_never_ends_is_stopped_in_little_memory(start: bytes, repeated: bytes, problem: str) -> None:
    reader = SitemapReader("https://h/sitemap.xml")
    tracemalloc.start()
    try:
        for _ in reader.read(endless(start, repeated)):
            pass
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert reader.problem is not None
    assert problem in reader.problem
    assert peak < 16 * 1024 * 1024


def test_ever_new_names_are_stopped() -> None:
    reader = SitemapReader("https://h/sitemap.xml")
    body = (f"<url><a{number} b{number}=''/><loc>u</loc></url>".encode() for number in range(10**9))
    assert sum(1 for _ in reader.read(iter([b"<urlset>", *(next(body) for _ in range(100_000))]))) < 10_000
    assert reader.problem == "more than 4,096 different element and attribute names: not a sitemap"


def test_a_gzip_bomb_is_stopped_early() -> None:
    bomb = zlib.compressobj(wbits=31)
    packed = bomb.compress(b"<urlset>")
    reader = SitemapReader("https://h/sitemap.xml.gz", limits=Limits(gap=10**9))
    packed += b"".join(bomb.compress(b" " * 1024 * 1024) for _ in range(64)) + bomb.flush()
    assert list(reader.read(packed)) == []
    assert reader.problem == "the gzip data expands to more than 250 times its size"
    assert reader.stopped_at is not None
    assert reader.stopped_at.byte < 2 * 1024 * 1024


def test_every_limit_can_be_set() -> None:
    body = urlset("https://h/a", "https://h/b", "https://h/" + "c" * 100)
    assert reading(body, entries=2, loc=99)[1].problem is None
    assert reading(body, entries=1)[1].problem == "more than 1 entries"
    assert len(reading(body, entries=1)[0]) == 1
    assert reading(body, loc=99)[1].skipped == 1
    assert reading(body, size=len(body))[1].problem is None
    assert reading(body, size=len(body) - 1)[1].problem == f"larger than {len(body) - 1:,} bytes"
    assert len(reading(body, size=len(body) - 1)[0]) == 3
    images = IMAGES + b"<i:image><i:loc>i</i:loc></i:image>" * 9 + b"</url></urlset>"
    first = reading(images, extras=4)[0][0]
    assert isinstance(first, SitemapUrl)
    assert len(first.images) == 4


def test_a_long_line_of_a_list_is_skipped_and_the_next_one_read() -> None:
    body = b"https://h/a\nhttps://h/" + b"b" * 200_000 + b"\r\nhttps://h/c\n"
    entries, reader = reading(body)
    assert [entry.loc for entry in entries] == ["https://h/a", "https://h/c"]
    assert reader.skipped == 1


@pytest.mark.parametrize(
    ("text", "date", "precision"),
    [
        ("2026", datetime(2026, 1, 1, tzinfo=UTC), "year"),
        ("2026-03", datetime(2026, 3, 1, tzinfo=UTC), "month"),
        ("2026-03-04", datetime(2026, 3, 4, tzinfo=UTC), "day"),
        ("2026-3-4", datetime(2026, 3, 4, tzinfo=UTC), "day"),
        ("2026-03-04T05:06Z", datetime(2026, 3, 4, 5, 6, tzinfo=UTC), "minute"),
        ("2026-03-04T05:06:07Z", datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC), "second"),
        ("2026-03-04 05:06:07", datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC), "second"),
        ("2026-03-04T05:06:07+02:00", datetime(2026, 3, 4, 5, 6, 7, tzinfo=timezone(timedelta(hours=2))), "second"),
        (
            "2026-03-04T05:06:07.25-0330",
            datetime(2026, 3, 4, 5, 6, 7, 250_000, timezone(-timedelta(hours=3.5))),
            "fraction",
        ),
        ("2026-03-04T05:06:07.123456789z", datetime(2026, 3, 4, 5, 6, 7, 123_456, UTC), "fraction"),
        ("yesterday", None, None),
        ("2026-13-01", None, None),
        ("2026-02-30", None, None),
        ("26-01-01", None, None),
        ("0000", None, None),
        ("2026-W10-1", None, None),
        ("2026-03-04T25:00Z", None, None),
        ("2026-03-04T05:06:07+99:00", None, None),
        ("2026-03-04T05:06:07+01:60", None, None),
        ("２０２６", None, None),
        ("2026-03-04T05:06:07." + "1" * 999, None, None),
        ("", None, None),
    ],
)
def test_every_form_of_w3c_date(text: str, date: datetime | None, precision: str | None) -> None:
    found = parse_w3c(text)
    assert found == (date, precision)
    assert date is None or found[0] is not None
    assert date is None or found[0].utcoffset() == date.utcoffset()


@given(st.datetimes(timezones=st.just(UTC)))
def test_what_python_writes_is_read_back(instant: datetime) -> None:
    assert parse_w3c(instant.isoformat())[0] == instant


def test_feeds_write_dates_their_own_way() -> None:
    body = b"<rss><item><link>u</link><pubDate> Sat, 07 Sep 2002 09:42:31 +0200 </pubDate></item></rss>"
    assert list(read(body)) == [SitemapUrl("u", datetime(2002, 9, 7, 7, 42, 31, tzinfo=UTC), precision="second")]
    assert parse_feed("2002-09-07") == (datetime(2002, 9, 7, tzinfo=UTC), "day")
    assert parse_feed("Sat, 07 Sep 2002 09:42 GMT") == (datetime(2002, 9, 7, 9, 42, tzinfo=UTC), "minute")
    assert parse_feed("soon") == (None, None)


def test_a_guid_stands_in_for_a_missing_link() -> None:
    assert [e.loc for e in read(b"<rss><item><guid>https://h/a</guid></item><item><guid>7</guid></item></rss>")] == [
        "https://h/a"
    ]


@pytest.mark.parametrize(("stated", "is_link"), [("false", False), (" False ", False), ("true", True), ("", True)])
def test_a_guid_that_is_no_permanent_link_is_no_page(stated: str, is_link: bool) -> None:
    attribute = f' isPermaLink="{stated}"'
    body = f"<rss><item><guid{attribute}>https://h/a</guid></item><item><guid>https://h/b</guid></item></rss>"
    entries, reader = reading(body.encode())
    assert [entry.loc for entry in entries] == (["https://h/a"] if is_link else []) + ["https://h/b"]
    assert reader.skipped == (not is_link)


@pytest.mark.parametrize(
    "entry",
    [
        "<loc>https://h/a<b/>c</loc>",
        "<loc>https://h/a<b>x</b></loc>",
        "<loc>https://h/a<loc/>c</loc>",
        "<loc>https://h/a</loc><loc>https://h/c</loc>",
        "<loc>https://h/a</loc><loc>https://h/c</loc><loc>https://h/c</loc>",
        "<loc>https://h/a<b/></loc><loc>https://h/c</loc>",
    ],
)
def test_an_entry_whose_address_is_not_one_text_is_skipped_and_counted(entry: str) -> None:
    for root, name in (("urlset", "url"), ("sitemapindex", "sitemap")):
        body = f"<{root}><{name}>{entry}</{name}><{name}><loc>https://h/b</loc></{name}></{root}>"
        entries, reader = reading(body.encode())
        assert ([each.loc for each in entries], reader.skipped) == (["https://h/b"], 1)
    feed = f"<rss><item>{entry.replace('loc', 'link')}<guid>https://h/g</guid></item></rss>"
    assert reading(feed.encode())[0] == []


def test_an_address_stated_twice_in_the_same_words_or_beside_a_comment_is_one_text() -> None:
    body = b"<urlset><url><loc>https://h/a</loc><loc> https://h/a </loc></url><url><loc>https://h/<!-- -->b</loc></url>"
    assert [entry.loc for entry in read(body)] == ["https://h/a", "https://h/b"]


def test_an_image_whose_address_is_not_one_text_is_left_out() -> None:
    image = "<i:image><i:loc>https://h/i<b/>j</i:loc></i:image><i:image><i:loc>https://h/k</i:loc></i:image>"
    entry = next(read(f"{IMAGES.decode()}{image}</url></urlset>".encode()))
    assert isinstance(entry, SitemapUrl)
    assert entry.images == (Image("https://h/k"),)


def feed_singly(form: XmlEntries, body: bytes) -> None:
    for at in range(len(body)):
        form.feed(body[at : at + 1])
    form.close()


@pytest.mark.parametrize("doctype", ['SYSTEM "http://127.0.0.1:9/x.dtd"', 'PUBLIC "a" "http://127.0.0.1:9/x.dtd"'])
@pytest.mark.parametrize(
    "entry",
    [
        "<url><loc>https://h/?a=1&copy;=2</loc></url>",
        "<url><x:link xmlns:x='http://www.w3.org/1999/xhtml' hreflang='de' href='/a&x;b'/><loc>https://h/</loc></url>",
    ],
)
def test_an_entity_that_is_declared_elsewhere_stops_reading_where_it_stands(doctype: str, entry: str) -> None:
    body = f"<!DOCTYPE urlset {doctype}>\n<urlset><url><loc>https://h/&amp;&#97;</loc></url>\n{entry}</urlset>"
    entries, reader = reading(body.encode())
    assert [each.loc for each in entries] == ["https://h/&a"]
    assert reader.problem == "damaged XML: undefined entity"
    assert reader.stopped_at is not None
    assert reader.stopped_at.line == 3
    assert body[reader.stopped_at.byte] in "&<"
    piecewise = XmlEntries(Limits(), "utf-8", 0)
    with pytest.raises(Stop, match="undefined entity"):
        feed_singly(piecewise, body.encode())
    assert [each.loc for each in piecewise.found] == ["https://h/&a"]
    assert piecewise.position == reader.stopped_at


@pytest.mark.parametrize("second", ['<!DOCTYPE b SYSTEM "b">', "<!DOCTYPE b>"])
def test_a_second_document_type_is_damage(second: str) -> None:
    entries, reader = reading(b'<!DOCTYPE a SYSTEM "a">' + second.encode() * 2_000 + urlset("u"))
    assert (entries, reader.problem) == ([], "a second document type")


@pytest.mark.parametrize("body", [URLSET, b"https://h/a", gzip.compress(URLSET)])
def test_closing_again_after_a_whole_read_changes_nothing(body: bytes) -> None:
    entries, reader = reading(body)
    assert entries
    assert (reader.close(), reader.close(), reader.feed(body)) == ([], [], [])
    assert (reader.problem, reader.stopped_at, reader.entries) == (None, None, len(entries))


# covers: W4
@pytest.mark.parametrize(
    ("entry", "sitemap", "named_by", "inside"),
    [
        ("https://h/dir/a", "https://h/dir/map.xml", None, True),
        ("https://h/dir/deep/a?x", "https://h/dir/map.xml?of=x/y", None, True),
        ("http://h/dir/a", "https://H:443/dir/map.xml", None, True),
        ("https://h/a", "https://h/dir/map.xml", None, False),
        ("https://h/dir/../a", "https://h/dir/map.xml", None, False),
        ("https://h/directory", "https://h/dir/map.xml", None, False),
        ("https://o/dir/a", "https://h/dir/map.xml", None, False),
        ("https://h:8443/dir/a", "https://h/dir/map.xml", None, False),
        ("https://h@o/dir/a", "https://h/dir/map.xml", None, False),
        ("https://o/a", "https://h/dir/map.xml", "o", True),
        ("https://o/a", "https://h/dir/map.xml", "https://O/robots.txt", True),
        ("https://o:8443/a", "https://h/dir/map.xml", "o", True),
        ("https://h/dir/a", "https://h/dir/map.xml", "o", True),
        ("https://h/a", "https://h/dir/map.xml", "o", False),
        ("https://so/a", "https://h/dir/map.xml", "o", False),
        ("/dir/a", "https://h/dir/map.xml", "h", False),
        ("ftp://h/dir/a", "https://h/dir/map.xml", "h", False),
        ("https://h/a", "not a URL", "h", False),
    ],
)
def test_a_sitemap_speaks_for_its_own_path_and_for_the_host_that_names_it(
    entry: str, sitemap: str, named_by: str | None, inside: bool
) -> None:
    assert in_scope(entry, sitemap, named_by) is inside


@given(st.text(), st.text(), st.none() | st.text())
def test_scope_is_answered_for_every_text(entry: str, sitemap: str, named_by: str | None) -> None:
    assert in_scope(entry, sitemap, named_by) in (True, False)


PARTS = st.sampled_from(
    "<urlset> </urlset> <url> </url> <loc> </loc> https://h/a <lastmod>2026</lastmod> <sitemapindex> <sitemap> "
    "</sitemap> <![CDATA[ ]]> <!-- --> &amp; &x; <rss> <item> </item> <link> </link> <link/> <feed> <entry> "
    "</entry> <?xml?> <!DOCTYPE [ ]> <image:image> </image:image> \0 \x1f\x8b \xc3 \xff\xfe \n".encode("latin-1").split(
        b" "
    )
)
BODIES = (st.binary(max_size=300) | st.lists(PARTS).map(b"".join)).flatmap(
    lambda body: st.sampled_from(
        [body, URLSET[:-9] + body, gzip.compress(body), gzip.compress(URLSET + body)[: len(body)]]
    )
)


def everything(chunks: list[bytes]) -> tuple[object, ...]:
    reader = SitemapReader("https://h/sitemap.xml")
    entries = [entry for chunk in chunks for entry in reader.feed(chunk)] + reader.close()
    return entries, reader.kind, reader.problem, reader.stopped_at, reader.skipped


@given(BODIES, st.integers(1, 50))
def test_nothing_raises_and_pieces_change_nothing(body: bytes, size: int) -> None:
    assert everything([body]) == everything(in_pieces(body, size)) == everything([b"", body, b""])


@examples(40)
@given(st.binary(min_size=1, max_size=8), st.integers(0, 400_000), st.integers(100, 200_000))
def test_damage_anywhere_in_a_long_sitemap_reads_the_same_in_pieces(damage: bytes, at: int, size: int) -> None:
    whole = gzip.compress(LONG[:at] + damage + LONG[at:], 1) if size % 2 else LONG[:at] + damage + LONG[at:]
    assert everything([whole]) == everything(in_pieces(whole, size))
    packed = LONG_PACKED[: at // 20] + damage + LONG_PACKED[at // 20 :]
    assert everything([packed]) == everything(in_pieces(packed, size))


LONG = urlset(*(f"https://h/{random.Random(number).getrandbits(256):x}" for number in range(4000)))
LONG_PACKED = gzip.compress(LONG)

BENCHMARKS = Path(__file__).parents[4] / "benchmarks"
MEASURE = """
import sys
sys.path.insert(0, sys.argv[1])
import sitemaps
print(sitemaps.largest(), sitemaps.index())
print(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0])
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is measured as Linux counts it")
def test_the_largest_sitemap_and_an_index_of_a_thousand_files_fit_in_64_mb() -> None:
    command = [sys.executable, "-c", MEASURE, str(BENCHMARKS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=HANGS)
    entries, files, kilobytes = map(int, done.stdout.split())
    assert (entries, files) == (50_000, 1_000)
    assert kilobytes < 64 * 1024
