"""What a page says of itself and where it leads, as a browser would read it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.signals.links import Page, read_page

URL = "https://example.com/dir/page.html"


def read(html: str | bytes, content_type: str | None = "text/html; charset=utf-8", *headers: str) -> Page:
    return read_page(html.encode() if isinstance(html, str) else html, URL, content_type, headers)


def test_links_are_whole_and_without_repeats_in_order() -> None:
    page = read(
        '<a href="b">1</a><a href="/c#x">2</a><a href="https://EXAMPLE.com/c">3</a><area href="?q">'
        '<iframe src="//o.example/"></iframe><a href="mailto:x@y.z">4</a><a>5</a><a href>6</a><link rel=next href=p2>'
    )
    assert [link.url for link in page.links] == [
        "https://example.com/dir/b",
        "https://example.com/c",
        "https://example.com/dir/page.html?q",
        "https://o.example/",
        "https://example.com/dir/page.html",
        "https://example.com/dir/p2",
    ]


# covers: W11
def test_nofollow_holds_only_where_every_link_to_a_page_has_it() -> None:
    page = read('<a rel="nofollow" href="/a">x</a><a rel="UGC noopener" href="/b">x</a><a href="/a">x</a>')
    assert {link.url[-2:]: link.nofollow for link in page.links} == {"/a": False, "/b": True}


def test_the_first_base_counts_if_it_is_a_web_address() -> None:
    assert read('<base href="/other/"><base href="/third/"><a href="x">').links[0].url == "https://example.com/other/x"
    assert read('<base href="data:,x"><a href="x">').links[0].url == "https://example.com/dir/x"


def test_what_the_page_says_of_itself() -> None:
    page = read(
        '<html lang="de"><title> A\n title </title><link rel="canonical" href="/canon"><meta name="ROBOTS" '
        'content="noindex"><meta name=googlebot content=nofollow><link rel="alternate" hreflang="EN" href="/en">'
        '<link rel="alternate" type="application/rss+xml" href="/feed"><a rel="license" href="/cc">x</a>',
        "text/html",
        '<https://example.com/lic>; rel="license"; type="application/rsl+xml", </next>; rel=next',
    )
    assert (page.title, page.language, page.canonical) == ("A title", "de", "https://example.com/canon")
    assert page.metas == (("robots", "noindex"), ("googlebot", "nofollow"))
    assert [(alternate.hreflang, alternate.type) for alternate in page.alternates] == [
        ("en", None),
        (None, "application/rss+xml"),
    ]
    assert page.license_links == ("https://example.com/cc", "https://example.com/lic")
    assert [link.url for link in page.links] == ["https://example.com/cc", "https://example.com/next"]


@pytest.mark.parametrize(
    ("body", "content_type", "encoding"),
    [
        (b"\xef\xbb\xbf<p>", "text/html; charset=iso-8859-1", "utf-8"),
        (b"<p>", "text/html; charset=ISO-8859-1", "windows-1252"),
        (b'<meta charset="shift_jis">', "text/html", "shift_jis"),
        (b'<meta http-equiv="content-type" content="text/html; charset=koi8-r">', None, "koi8-r"),
        (b'<meta charset="utf-16">', None, "utf-8"),
        ("<p>käse".encode(), "text/html; charset=nonsense", "utf-8"),
        (b"<p>k\xe4se und mehr", None, "windows-1252"),
        (b"\xff\xfe<\0p\0>\0", None, "utf-16le"),
    ],
)
def test_the_character_set_is_found_as_browsers_find_it(body: bytes, content_type: str | None, encoding: str) -> None:
    assert read(body, content_type).encoding == encoding


@given(st.binary(max_size=400), st.text(max_size=40), st.text(max_size=80))
def test_nothing_raises_on_any_octets(body: bytes, content_type: str, header: str) -> None:
    page = read_page(b'<a href="' + body, URL, content_type, [header])
    assert all(link.url.startswith(("http://", "https://")) for link in page.links)
