"""What a page needs to look as it does, as it and its style sheets name it."""

import pytest
from growth import grows_in_proportion

from comity_pages.requisites import MAX_REQUISITES, of_page, of_sheet

PAGE = "https://example.com/a/page"


def named(html: str, base: str = PAGE) -> list[str]:
    return [
        url.removeprefix("https://example.com") for url in of_page(html.encode(), PAGE, base=base, encoding="utf-8")
    ]


@pytest.mark.parametrize(
    ("html", "urls"),
    [
        ('<img src="x.png#a">', ["/a/x.png"]),
        ('<img srcset="1.png, 2.png 2x,3.png 3x, data:image/gif;base64,R0==, /4,5.png 4x">', [
            "/a/1.png", "/a/2.png", "/a/3.png", "/4,5.png"]),
        ('<img data-src="late.png" data-srcset="later.png 2x">', ["/a/late.png", "/a/later.png"]),
        ('<picture><source srcset="s.webp" type="image/webp"></picture>', ["/a/s.webp"]),
        ('<video poster="p.jpg"><source src="film.mp4"></video>', ["/a/p.jpg"]),
        ('<input type=IMAGE src="i.png"><input type=text src="no.png">', ["/a/i.png"]),
        ('<svg><image href="m.svg"/><use xlink:href="i.svg#x"/><use href="#own"/></svg>', ["/a/m.svg", "/a/i.svg"]),
        ('<object type="image/svg+xml" data=o.svg></object><embed type=image/png src=e.png><object data=no>', [
            "/a/o.svg", "/a/e.png"]),
        ('<script src="s.js"></script><script>"url(no.png)"</script>', ["/a/s.js"]),
        ('<link rel="STYLESHEET alternate" href=a.css><link rel=canonical href=/no><link rel=icon href=/f.ico>', [
            "/a/a.css", "/f.ico"]),
        ('<link rel=preload as=image imagesrcset="1.png 1x, 2.png 2x">', ["/a/1.png", "/a/2.png"]),
        ('<style>@import "i.css"; b { background: url( "b.png" ) }</style>', ["/a/i.css", "/a/b.png"]),
        ('<p style="background:url(&quot;q.png&quot;)"><table background="t.png">', ["/a/q.png", "/a/t.png"]),
        ('<body><noscript><img src=no.gif></noscript><template><img src=no.png></template>', []),
        ('<iframe src="/frame"></iframe><a href="/page">x</a><img src="">', []),
        ('<img src="data:image/gif;base64,R0lG"><img src="mailto:a@b"><img src="#x">', []),
        ('<img src="x.png"><img src="x.png">', ["/a/x.png"]),
    ],
)  # fmt: skip
def test_a_page_names_what_it_shows(html: str, urls: list[str]) -> None:
    assert named(html) == urls


def test_references_are_resolved_against_the_base() -> None:
    assert named('<img src="x.png">', "https://example.com/other/") == ["/other/x.png"]


def test_a_sheet_names_what_it_imports_and_shows() -> None:
    sheet = b"""@charset "utf-8"; @import url(one.css) screen; @import 'two.css';
        /* url(no.png) */ @font-face { src: url("f.woff2") format("woff2"), url('f.woff') }
        a { cursor: url(c.cur), auto; mask: url(#own); background: URL( "b.png") } /* never closed url(no2.png)"""
    found = of_sheet(sheet, "https://example.com/s/main.css", "text/css")
    assert [url.rpartition("/")[2] for url in found] == ["one.css", "two.css", "f.woff2", "f.woff", "c.cur", "b.png"]


def test_an_image_set_names_its_images_with_and_without_url() -> None:
    sheet = b"""a { background: image-set( "1.png" 1x, '2.png' 2x, url(3.png) 3x) } b::before { content: "no" "no" }
        c { background: -webkit-image-set("4.avif" type("image/avif"), "5.png" 1.5dppx) }"""
    found = of_sheet(sheet, "https://example.com/s/main.css", "text/css")
    assert [url.rpartition("/")[2] for url in found] == ["1.png", "2.png", "3.png", "4.avif", "5.png"]


def test_a_page_cannot_send_a_crawl_to_any_number_of_urls() -> None:
    assert len(named("".join(f"<img src=/{number}.png>" for number in range(2 * MAX_REQUISITES)))) == MAX_REQUISITES


@pytest.mark.parametrize(
    "part", ["/*", "url(", 'url("', "@import ", "url(   ", "url('a", '/**/"', "\\", "@import 'url(", '"" ']
)
def test_the_time_to_read_a_sheet_grows_with_its_length(part: str) -> None:
    grows_in_proportion(lambda size: lambda: of_sheet((part * size).encode(), PAGE, "text/css"), 40_000)


@pytest.mark.parametrize("part", [",", ", ", "a,", ",a ", "a b,"])
def test_the_time_to_read_a_srcset_grows_with_its_length(part: str) -> None:
    grows_in_proportion(lambda size: lambda: named(f'<img srcset="{part * size}">'), 20_000)
