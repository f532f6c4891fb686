"""What a page says of itself and where it leads, as a browser would read it."""

import re
import time

import pytest
import webencodings
from examples import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from selectolax import lexbor

from comity_pages.errors import InvalidURL
from comity_pages.signals import content_type, encodings, links
from comity_pages.signals.link_header import parse_link_headers
from comity_pages.signals.links import Alternate, Page, read_page

pytestmark = pytest.mark.both_forms

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
def test_relation_types_are_parted_by_ascii_white_space_only() -> None:
    page = read(
        "<a href=/a rel='nofollow\u00a0x'>a</a><a href=/b rel='x\fnofollow'>b</a><link rel='x\u2003license' href=c>"
    )
    assert [link.nofollow for link in page.links] == [False, True]
    assert page.license_links == ()
    assert parse_link_headers(['<a>; rel="x\u00a0license"'])[0].rel == ("x\u00a0license",)


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
    assert [link.url for link in page.license_links] == ["https://example.com/cc", "https://example.com/lic"]
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
        (b'<meta httpequiv="ContentType" content="text/html; charset=gbk">\xcd\xf8', "text/html", "gbk"),
        (b'<meta name="Content-Type" content="text/html;charset=euc-jp">\xa4\xa2', None, "euc-jp"),
        (b'<meta name="description" content="charset=gbk is old">k\xe4se', None, "windows-1252"),
        ('<meta name="Content-Type" content="text/html;charset=gbk"><p>käse'.encode(), None, "utf-8"),
        (b"<p>k\xe4se und mehr", None, "windows-1252"),
        (b"\xff\xfe<\0p\0>\0", None, "utf-16le"),
    ],
)
def test_the_character_set_is_found_as_browsers_find_it(body: bytes, content_type: str | None, encoding: str) -> None:
    assert read(body, content_type).encoding == encoding


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (b'<?xml version="1.0" encoding="windows-1251"?><html>\xcf<', "windows-1251"),
        (b"<?xml version='1.0' encoding = 'koi8-r' ?><html>", "koi8-r"),
        (b'<?xml version="1.0" encoding="UTF-16"?><html>\xcf<', "utf-8"),
        (b'<?xml version="1.0" encoding="windows-1251"?><meta charset=gbk>', "gbk"),
        (b'<?xml version="1.0" encoding="windows-1251"?><!-- ' + b"x" * 2_000, "windows-1251"),
        (b'<?xml encodings="x" encoding="windows-1251"?>\xcf<', "windows-1252"),  # the first `encoding` counts
        (b'<?xml version="1.0" encoding="windows- 1251"?>\xcf<', "windows-1252"),
        (b'<?xml version="1.0" encoding="windows-1251\xcf<', "windows-1252"),
        (b'<?XML version="1.0" encoding="windows-1251"?>\xcf<', "windows-1252"),
        (b' <?xml version="1.0" encoding="windows-1251"?>\xcf<', "windows-1252"),
        (b'<?xml version="1.0"?><p encoding="windows-1251">\xcf<', "windows-1252"),
        ('<?xml version="1.0"?><html>'.encode("utf-16-le"), "utf-16le"),
        ('<?xml version="1.0"?><html>'.encode("utf-16-be"), "utf-16be"),
    ],
)
def test_an_xml_declaration_names_the_character_set_where_no_meta_does(body: bytes, encoding: str) -> None:
    assert read(body, "text/html").encoding == encoding
    assert read(body, "text/html; charset=euc-kr").encoding == "euc-kr"


def test_a_page_in_utf_16_with_an_xml_declaration_is_read() -> None:
    page = read('<?xml version="1.0"?><html><a href="/ж">'.encode("utf-16-le"), "text/html")
    assert [link.url for link in page.links] == ["https://example.com/%D0%B6"]


@pytest.mark.parametrize(
    ("header", "essence", "charset"),
    [
        # Cases of Fetch, "extract a MIME type".
        ("text/plain;charset=gbk, text/html", "text/html", None),
        ("text/html;charset=gbk;a=b, text/html;x=y", "text/html", "gbk"),
        ("text/html;charset=gbk, x/x, text/html;x=y", "text/html", None),
        ("text/html, cannot-parse", "text/html", None),
        ("text/html;charset=gbk, */*", "text/html", "gbk"),
        ("text/html, ", "text/html", None),
        ("text/html, text/html; charset=utf-8", "text/html", "utf-8"),
        ("text/html;charset=gbk, text/html;charset=utf-8", "text/html", "utf-8"),
        ('text/html;x=",text/plain;charset=gbk', "text/html", None),
        ('Text/HTML ; charset="utf\\-8" ; charset=gbk', "text/html", "utf-8"),
        ("text/html;charset=;charset='gbk'", "text/html", "gbk"),
        ("text/html;charset = gbk", "text/html", "gbk"),
    ],
)
def test_the_last_media_type_of_a_header_counts(header: str, essence: str, charset: str | None) -> None:
    assert content_type.extract(header) == (essence, charset)


@pytest.mark.parametrize("header", ["", "html", "text/", "/html", "text html/x", ",", "*/*", "text/html x;charset=gbk"])
def test_a_header_without_a_media_type_says_nothing(header: str) -> None:
    assert content_type.extract(header) is None
    assert read("<a href=/a>", header).links


@pytest.mark.interpreted_long
@pytest.mark.parametrize("piece", ['"', "\\", ";", "; charset", ',"', "a/b,", " ", ";='", "a"])
def test_any_media_type_takes_linear_time(piece: str) -> None:
    start = time.process_time()
    content_type.extract("text/html;" + piece * 100_000)
    assert time.process_time() - start < 10


def test_a_content_type_that_was_sent_twice_is_still_html() -> None:
    page = read("<a href=/ж>".encode("koi8-r"), "text/html, text/html; charset=koi8-r")
    assert ([link.url for link in page.links], page.encoding) == (["https://example.com/%D0%B6"], "koi8-r")


def test_xlink_href_is_a_link_inside_svg_only() -> None:
    html = "<a xlink:href=/1></a><svg><a xlink:href=/2></a><foreignObject><a xlink:href=/3></a></foreignObject></svg>"
    page = read(
        html + "<math><a xlink:href=/4></a><mi><svg><a xlink:href=/5></a></svg></mi></math><area xlink:href=/6>"
    )
    assert [link.url for link in page.links] == ["https://example.com/2", "https://example.com/5"]


@given(st.binary(max_size=400), st.text(max_size=40), st.text(max_size=80))
def test_nothing_raises_on_any_octets(body: bytes, content_type: str, header: str) -> None:
    page = read_page(b'<a href="' + body, URL, content_type, [header])
    assert all(link.url.startswith(("http://", "https://")) for link in page.links)


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("<base href=/b/>", "https://example.com/b/x"),
        ("<base><base target=_top><base href=../b/><base href=/no/>", "https://example.com/b/x"),
        ("<base href=//other.example/b/c?d#e>", "https://other.example/b/x"),
        ("<base href=javascript:alert(1)>", "https://example.com/dir/x"),
        ("<base href='http://['>", "https://example.com/dir/x"),
        ("<base href='http://me:secret@example.com/s/'>", "http://example.com/s/x"),
        ("<template><base href=/no/></template>", "https://example.com/dir/x"),
        ("<!-- <base href=/no/> --><script>'<base href=/no/>'</script>", "https://example.com/dir/x"),
    ],
)
def test_references_are_relative_to_the_base_that_a_browser_would_use(base: str, expected: str) -> None:
    # A base counts for the references before it as well.
    assert [link.url for link in read(f"<link rel=next href=x>{base}").links] == [expected]


def test_links_in_comments_scripts_raw_text_and_templates_are_none() -> None:
    assert not read(
        "<!-- <a href=1> --><script>'<a href=2>'</script><style><a href=3></style><textarea><a href=4></textarea>"
        "<title><a href=5></title><template><a href=6></template><xmp><a href=7></xmp><p title='<a href=8>'>"
    ).links


def test_a_reference_is_unescaped_and_trimmed_as_a_browser_does() -> None:
    page = read("<a href=' /a?x=1&amp;y=2&copy=3\n'>1</a><a href='/b&#x2F;c'>2</a>")
    assert [link.url for link in page.links] == ["https://example.com/a?x=1&y=2&copy=3", "https://example.com/b/c"]


def test_a_query_is_encoded_in_the_encoding_of_the_page() -> None:
    page = '<a href="/ä?q=ä€\u4e00#ä">'
    assert read(page).links[0].url == "https://example.com/%C3%A4?q=%C3%A4%E2%82%AC%E4%B8%80"
    cyrillic = read('<a href="/ж?q=ж\'|">'.encode("koi8-r"), "text/html; charset=koi8-r")
    assert cyrillic.links[0].url == "https://example.com/%D0%B6?q=%D6%27|"
    western = read_page(b'<a href="/?q=&#8364;&#19968;">', URL, "text/html;charset=latin1")
    assert western.links[0].url == "https://example.com/?q=%80%26%2319968%3B"


@pytest.mark.parametrize("label", [*sorted(set(webencodings.LABELS.values())), "nonsense"])
def test_every_encoding_of_the_standard_can_be_read(label: str) -> None:
    page = read_page(
        bytes(range(32, 256)) + b"<a href='?q=&#228;&#19968;&#128512;'>", URL, f"text/html; charset={label}"
    )
    assert page.encoding == (label if label != "nonsense" else "windows-1252")


def test_headers_state_links_too_and_know_nothing_of_the_base() -> None:
    page = read(
        "<base href=/base/>",
        "text/html",
        '</c>; rel="canonical", <n?a,b>; rel="next nofollow"; title="a, <b>; \\"c\\"", <d>; rel=alternate; hreflang=DE',
        "<feed>; rel=alternate; type=application/atom+xml",
        '<other>; rel=canonical; anchor="/elsewhere"',
    )
    assert page.canonical == "https://example.com/c"
    assert [(link.url, link.nofollow) for link in page.links] == [("https://example.com/dir/n?a,b", True)]
    assert page.alternates == (
        Alternate("https://example.com/dir/d", "de", None),
        Alternate("https://example.com/dir/feed", None, "application/atom+xml"),
    )


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("<a>; rel=x", [("a", {"rel": "x"})]),
        ("<a>;rel=x;rel=y,<b>", [("a", {"rel": "x"}), ("b", {})]),
        (
            '<a> ; REL = "X y" ; flag ; z=1 , <b>;;; rel=c',
            [("a", {"rel": "X y", "flag": "", "z": "1"}), ("b", {"rel": "c"})],
        ),
        ("<a>; title*=UTF-8'de'%e2%82%ac; title=no", [("a", {"title": "\u20ac"})]),
        ("<a>; title=no; title*=UTF-8'de'%e2%82%ac", [("a", {"title": "\u20ac"})]),
        ('<a>; t="open, <b>', [("a", {"t": "open, <b>"})]),
        ("junk, <a,b>; rel=x, <c", [("a,b", {"rel": "x"})]),
        ("", []),
    ],
)
def test_link_fields_are_parsed_as_rfc_8288_does(field: str, expected: list[tuple[str, dict[str, str]]]) -> None:
    assert [(link.reference, link.parameters) for link in parse_link_headers([field])] == expected


@given(st.text("<>;,=\"\\ *'abrel%", max_size=60))
def test_no_link_field_raises(field: str) -> None:
    for link in parse_link_headers([field]):
        assert link.reference in field


@pytest.mark.interpreted_long
@pytest.mark.parametrize("piece", ["<", "<a>", "<a>;", '<a>;b="', "<a>;b=c,", ";", ",", '\\"', "<a>; ", " "])
def test_link_fields_take_linear_time(piece: str) -> None:
    started = time.process_time()
    parse_link_headers([piece * (200_000 // len(piece)), '<a>;b="' + piece * (200_000 // len(piece))])
    assert time.process_time() - started < 10


def test_a_body_that_is_called_something_else_is_not_read_as_html() -> None:
    page = read("<a href=/a>x</a>", "application/pdf", "</b>; rel=next")
    assert [link.url for link in page.links] == ["https://example.com/b"]
    assert read("<a href=/a>x</a>", "Application/XHTML+xml;charset=utf-8").links
    assert read("<a href=/a>x</a>", None).links


@pytest.mark.interpreted_long
def test_a_page_cannot_make_us_hold_more_than_the_limits() -> None:
    many = b"".join(b"<a href=%d>" % number for number in range(links.MAX_LINKS + 10))
    page = read(many)
    assert (len(page.links), page.truncated) == (links.MAX_LINKS, True)
    long = read_page(many, URL + "/" + "x" * 8_000 + "/")
    assert long.truncated
    assert sum(len(link.url) for link in long.links) <= links.MAX_TOTAL_LENGTH
    assert read("<a href='" + "x" * 10_000 + "'>x</a><a href=y>").links[0].url.endswith("/y")
    assert not read("<a href=x>").truncated


def test_the_url_of_the_page_must_be_one() -> None:
    with pytest.raises(InvalidURL):
        read_page(b"", "example.com")


PRESCANNED = st.lists(
    st.sampled_from(
        [
            *(
                b"<meta ",
                b"<META\t",
                b"<meta/",
                b"charset=",
                b"charset = ",
                b"utf-8",
                b"'koi8-r'",
                b'"latin1"',
                b"shift_jis ",
            ),
            *(
                b"content=",
                b"'text/html; charset=gbk'",
                b'"charset=euc-kr"',
                b"http-equiv=content-type ",
                b"http-equiv=",
            ),
            *(
                b"content-type",
                b">",
                b"/>",
                b"<!--",
                b"-->",
                b"<",
                b"</p ",
                b"<p ",
                b"<!x",
                b"<?",
                b"'",
                b'"',
                b" ",
                b"=",
            ),
            *(b"a", b"/", b"utf-16", b"x-user-defined", b"charset", b"<!-->", b"\x00", b"\xff", b"</", b"bogus", b";"),
        ]
    ),
    max_size=14,
)


@pytest.mark.skipif(not hasattr(lexbor, "_prescan_encoding_label"), reason="this selectolax does not show its prescan")
@examples(400)
@given(PRESCANNED.map(b"".join))
def test_a_meta_is_found_where_lexbor_finds_it(head: bytes) -> None:
    head += b" >"  # what is left open at the end counts in lexbor; the standard says it does not
    assume(not re.search(rb"(?:<meta|=\s*+[^\s>=]++)[\s/]++=", head, re.IGNORECASE))  # in lexbor, no name begins with =
    label = lexbor._prescan_encoding_label(head)
    known = webencodings.lookup(label.decode("latin-1")) if label is not None else None
    expected = known.name if known is not None else None
    expected = {"utf-16le": "utf-8", "utf-16be": "utf-8", "x-user-defined": "windows-1252"}.get(expected, expected)
    assert encodings.prescan(head) == expected


USUAL = st.tuples(
    st.sampled_from([b"", b"\n", b" \v"]),
    st.sampled_from([b"<!doctype html>", b"<!DOCTYPE HTML>"]),
    st.sampled_from([b"<html>", b"<html lang=en>", b'<HTML lang="de-AT">', b'<html lang="en>', b"<html lang='x'>"]),
    st.sampled_from([b"<head>", b"\n  <head>", b"<head >", b"<!-- <head> -->"]),
    st.sampled_from([b"<meta charset=", b"\r\n<META charset=", b"<meta  charset="]),
    st.sampled_from(
        [b"utf-8>", b'"utf-8">', b'"utf-8"/>', b'"UTF-8" />', b"utf-8/>", b'"utf-8>', b'utf-8">', b"utf-8 >"]
    ),
)


@pytest.mark.parametrize("named", [b"charset", b"CharSet", b"&#99;harset", b"char&#x73;et"])
def test_a_charset_is_found_however_its_name_is_written(named: bytes) -> None:
    head = b'<meta http-equiv=content-type content="text/html; %s=koi8-r">' % named
    assert encodings.prescan(head) == "koi8-r"
    assert encodings.prescan(head.replace(b"koi8-r", b"")) is None


@given(USUAL.map(b"".join))
def test_the_usual_head_is_read_as_the_long_way_reads_it(head: bytes) -> None:
    assert encodings.prescan(head) == (encodings._from_metas(head) or encodings._from_xml(head))


@pytest.mark.parametrize(
    ("label", "text"), [("shift_jis", "ランプ"), ("windows-1251", "Лампа"), ("euc-kr", "등불"), ("windows-1252", "Öl")]
)
@pytest.mark.parametrize("meta", ["charset={}", 'http-equiv=Content-Type content="text/html; charset={}"'])
def test_an_encoding_that_is_named_late_changes_what_was_taken_for_granted(label: str, text: str, meta: str) -> None:
    late = "<!doctype html><head><!--" + "c" * 1_100 + f"--><meta {meta.format(label)}><p>"
    assert encodings.detect(late.encode() + text.encode(encodings.python_codec(label))) == label
    assert encodings.detect((late + text).encode()) == "utf-8"
    assert encodings.detect(late.encode() + b"\xff", "text/html; charset=big5") == "big5"


@pytest.mark.parametrize(
    ("head", "links_of", "title"),
    [
        ('<script src="a.js"/><title>Lamps</title>', '<a href="b">b</a>', "Lamps"),
        ("<title/><style/>", "<textarea/><iframe name='i'/><a href='b'>b</a>", None),
        (
            "<script><![CDATA[if (a < b) go('</script')]]></script>",
            "<p><![CDATA[<a href='no'>]]></p><a href='b'/>",
            None,
        ),
    ],
)
def test_links_of_a_page_in_xhtml_are_read_by_its_rules(head: str, links_of: str, title: str | None) -> None:
    html = f'<html xmlns="http://www.w3.org/1999/xhtml"><head>{head}</head><body>{links_of}</body></html>'
    types = ("application/xhtml+xml", "Application/XHTML+XML; charset=utf-8", "application/vnd.wap.xhtml+xml")
    for stated in (*types, "text/xml", "application/xml; charset=utf-8"):
        page = read(html, stated)
        assert [link.url for link in page.links] == ["https://example.com/dir/b"]
        assert page.title == title
    assert read('<script src="a.js"/><a href="b">b</a>').links == ()
