"""Tags are read as a browser's tokenizer reads them: the same as lexbor, a whole HTML parser, finds in its tree."""

import time
from html.entities import html5
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from comity.signals._tags import tags, unescape

DOCUMENTATION = Path("/usr/share/doc/python3.11/html")
ATTRIBUTES = ("href", "src", "rel", "name", "content", "lang", "type", "hreflang", "xlink:href")
Found = tuple[str, tuple[tuple[str, str], ...]]


def found(text: bytes) -> list[Found]:
    return [(name, tuple(sorted(attributes.items()))) for name, attributes in tags(text) if name not in ("html", "title")]


def lexbor(text: bytes) -> list[Found]:
    """The same from lexbor's tree. The html element is left out: it has the attributes of all html tags."""
    root = LexborHTMLParser(text).root
    assert root is not None
    nodes = ((node.tag or "", node.attributes) for node in root.css("a,area,link,iframe,frame,meta,base"))
    return [(tag, tuple(sorted((n, v or "") for n, v in attrs.items() if n in ATTRIBUTES))) for tag, attrs in nodes]


def titles(text: bytes) -> list[str]:
    return [attributes["text"] for name, attributes in tags(text) if name == "title"]


@pytest.mark.skipif(not DOCUMENTATION.exists(), reason="Python's documentation is not installed (python3.11-doc)")
def test_real_pages_have_the_tags_that_lexbor_finds_in_the_same_order() -> None:
    pages = sorted(DOCUMENTATION.rglob("*.html"))
    assert len(pages) > 100
    for page in pages:
        text = page.read_bytes()
        assert found(text) == lexbor(text), page
        title = LexborHTMLParser(text).css_first("title")
        assert titles(text)[:1] == ([title.text()] if title is not None else []), page


# Nothing here that makes a tree builder drop or repeat an element for its place: see the tests of SVG and templates.
SOUP = st.lists(
    st.sampled_from(
        [
            *("<a href=", "<a ", "<A\thReF='", '<area href="', "<link rel=next href=", "<iframe src=", "<meta name=", "<base "),
            *("<p>", "</p>", "<div ", "</div>", "<b>", "</b>", "</a>", "</A x='>'>", "<table>", "<tr>", "<td>", "</table>"),
            *("<script>", "</script>", "</script ", "<SCRIPT", "<style>", "</style>", "<textarea>", "</textarea/", "<xmp>"),
            *("</xmp>", "</iframe>", "<noembed>", "</noembed>", "<noframes>", "</noframes>", "<noscript>", "</noscript>"),
            *("<title>", "</title>", "<!--", "-->", "--!>", "<!", "<!>", "<!-->", "<!--->", "<!-", "--", "-", "!", "<![CDATA[", "]]>"),
            *("<!doctype html>", "<!DOCTYPE a '", "<?", "</", "</>", "</ ", "<", "<<", "<1", "<a", "<a/", "</a", "<\x00", "<a\x00"),
            *(">", "/>", "/", "=", "==", "'", '"', " ", "\t", "\n", "\r\n", "\r", "\f", "\x00", "\x0b"),
            *("href=", "href = ", "HREF=x", 'href="y"', "href", "src=z", "content='c'", "name", "rel", "x", "=y", "a'b", "\u00fc"),
            *("&amp;", "&amp", "&ampx", "&amp=", "&copy", "&copy;", "&notit;", "&notin;", "&#65;", "&#x41", "&#0;", "&#128;"),
            *("&#xD800;", "&#1114112;", "&#", "&#x", "&", "&&", "&lt", "&quot;", "&#1;", "&acE;", "&#x80", "&#x0D;"),
        ]
    )
    | st.text("ab<>/='\"!-& \n", max_size=4),
    max_size=30,
).map("".join)  # fmt: skip


@settings(max_examples=1500, deadline=None)
@given(SOUP)
@example("<script><!--<script></script><a href=1></script><a href=2>")
@example("<script><!--></script><a href=1>")
@example("<a href=1/><a href='2'href=3><a ='href=4' href=5>")
@example("<a href=x&copy=1&copy;=2&ampx&amp")
def test_tag_soup_has_the_tags_that_lexbor_finds(soup: str) -> None:
    text = soup.encode()
    assert set(found(text)) == set(lexbor(text))
