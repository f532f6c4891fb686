"""Tags are read as a browser's tokenizer reads them: the same as lexbor, a whole HTML parser, finds in its tree."""

import time
from html.entities import html5
from pathlib import Path

import pytest
from examples import examples
from hypothesis import example, given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser, LexborNode

from comity_pages.signals import _tags
from comity_pages.signals._tags import tags, unescape
from comity_robots._forms import engine

pytestmark = pytest.mark.both_forms

DOCUMENTATION = Path("/usr/share/doc/python3.11/html")
ATTRIBUTES = (
    "href",
    "src",
    "rel",
    "name",
    "content",
    "lang",
    "type",
    "hreflang",
    "xlink:href",
    "http-equiv",
    "charset",
)
HTML_INSIDE = {
    "svg": {"foreignobject", "desc", "title"},
    "math": {"mi", "mo", "mn", "ms", "mtext", "annotation-xml"},
}
Found = tuple[str, tuple[tuple[str, str], ...]]


def found(text: bytes) -> list[Found]:
    return [
        (name, tuple(sorted(({"href": said} if isinstance(said, str) else said).items())))
        for name, said in tags(text)
        if name not in ("html", "title", "nosnippet", "script", "#headings")
    ]


def lexbor(text: bytes) -> list[Found]:
    """The same from lexbor's tree. The html element is left out: it has the attributes of all html tags."""
    root = LexborHTMLParser(text).root
    assert root is not None
    return [
        (
            node.tag or "",
            tuple(
                sorted(
                    (name, value or "")
                    for name, value in node.attributes.items()
                    if name in ATTRIBUTES and (name != "xlink:href" or in_svg(node))
                )
            ),
        )
        for node in root.css("a,area,link,iframe,frame,meta,base")
    ]


def in_svg(node: LexborNode) -> bool:
    """Whether the node is an SVG element: lexbor's Python face does not tell its namespace."""
    above, names, root = node.parent, [], ""
    while above is not None:
        names.append((above.tag or "").lower())
        above = above.parent
    for name in reversed(names):
        if not root:
            root = name if name in HTML_INSIDE else ""
        elif name in HTML_INSIDE[root]:
            root = ""
    return root == "svg"


def titles(text: bytes) -> list[str]:
    return [said["text"] for name, said in tags(text) if name == "title" and isinstance(said, dict)]


@pytest.mark.parametrize(
    ("html", "noted"),
    [
        (b"<p>1</p><h3>2</h3>", []),
        (
            b"<!-- <h1> --><H1 class=x>Not <b>found</b></h1><h1>2</h1>",
            [("#headings", "<H1 class=x>Not <b>found</b></h1><h1>2</h1>")],
        ),
        (b"<h2>Nothing</h2><h1>x</h1>", [("#headings", "<h1>x</h1> <h2>Nothing</h2><h1>x</h1>")]),
        (b"<h1>" + 200 * "ü".encode(), [("#headings", "<h1>" + 148 * "ü")]),
        (b"<div data-nosnippet><p DATA-NOSNIPPET><Span Data-NoSnippet=1>", [("nosnippet", ""), ("nosnippet", "")]),
        (b"<div>data-nosnippet</div><template><div data-nosnippet></template>", []),
        (b"<script type=Application/RSL+xml><rsl/></script>", [("script", "<rsl/>")]),
        (b"<script type=text/javascript>1</script><link type=application/rsl+xml>", []),
    ],
)
def test_what_few_pages_have_is_noted_on_the_way(html: bytes, noted: list[tuple[str, str]]) -> None:
    few = ("nosnippet", "script", "#headings")
    assert [(name, dict(said).get("text", "")) for name, said in tags(html) if name in few] == noted


@pytest.mark.interpreted_long
@pytest.mark.skipif(not DOCUMENTATION.exists(), reason="Python's documentation is not installed (python3.11-doc)")
@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.long)])
def test_real_pages_have_the_tags_that_lexbor_finds_in_the_same_order(every: int) -> None:
    pages = sorted(DOCUMENTATION.rglob("*.html"))
    assert len(pages) > 100
    for page in pages[::every]:
        text = page.read_bytes()
        assert found(text) == lexbor(text), page
        title = LexborHTMLParser(text).css_first("title")
        assert titles(text)[:1] == ([title.text()] if title is not None else []), page


# Nothing here that makes a tree builder drop or repeat an element for its place: see the tests of SVG and templates.
SOUP = st.lists(
    st.sampled_from(
        [
            *("<a href=", "<a ", "<A\thReF='", '<area href="', "<link rel=next href=", "<iframe src=", "<meta name="),
            *(
                "<base ",
                "<p>",
                "</p>",
                "<div ",
                "</div>",
                "<b>",
                "</b>",
                "</a>",
                "</A x='>'>",
                "<table>",
                "<tr>",
                "<td>",
            ),
            *("</table>", "<script>", "</script>", "</script ", "<SCRIPT", "<style>", "</style>", "<textarea>"),
            *("</textarea/", "<xmp>", "</xmp>", "</iframe>", "<noembed>", "</noembed>", "<noframes>", "</noframes>"),
            *(
                "<noscript>",
                "</noscript>",
                "<title>",
                "</title>",
                "<!--",
                "-->",
                "--!>",
                "<!",
                "<!>",
                "<!-->",
                "<!--->",
            ),
            *("<!-", "--", "-", "!", "<![CDATA[", "]]>", "<!doctype html>", "<!DOCTYPE a '", "<?", "</", "</>", "</ "),
            *("<", "<<", "<1", "<a", "<a/", "</a", "<\x00", "<a\x00", ">", "/>", "/", "=", "==", "'", '"', " ", "\t"),
            *("\n", "\r\n", "\r", "\f", "\x00", "\x0b", "href=", "href = ", "HREF=x", 'href="y"', "href", "src=z"),
            *("content='c'", "name", "rel", "x", "=y", "a'b", "\u00fc", "&amp;", "&amp", "&ampx", "&amp=", "&copy"),
            *(
                "&copy;",
                "&notit;",
                "&notin;",
                "&#65;",
                "&#x41",
                "&#0;",
                "&#128;",
                "&#xD800;",
                "&#1114112;",
                "&#",
                "&#x",
            ),
            *("&", "&&", "&lt", "&quot;", "&#1;", "&acE;", "&#x80", "&#x0D;"),
        ]
    )
    | st.text("ab<>/='\"!-& \n", max_size=4),
    max_size=30,
).map("".join)


@examples(1500)
@given(SOUP)
@example("<script><!--<script></script><a href=1></script><a href=2>")
@example("<script><!--></script><a href=1>")
@example("<a href=1/><a href='2'href=3><a ='href=4' href=5>")
@example("<a href=x&copy=1&copy;=2&ampx&amp")
def test_tag_soup_has_the_tags_that_lexbor_finds(soup: str) -> None:
    text = soup.encode()
    assert set(found(text)) == set(lexbor(text))


LEAF = st.sampled_from(
    [
        "<a href=1>x</a>",
        "<a href=2></a>",
        "<a xlink:href=3>y</a>",
        "text",
        "<circle></circle>",
        "<!-- <a href=no> -->",
        "&lt;",
        "</p>",
    ]
)


def inside(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """One element of each kind that matters around other content."""
    shapes = [f"<{name}>{{0}}</{name}>{{1}}" for name in ("div", "span", "template", "p")]
    drawn = ("g", "style", "script", "title", "desc", "foreignObject", "textarea", "iframe", "xmp")
    shapes += [f"<svg><{name}>{{0}}</{name}>{{1}}</svg>" for name in drawn]
    shapes += [f"<math><{name}>{{0}}</{name}>{{1}}</math>" for name in ("mi", "mrow", "mtext", "semantics")]
    shapes += ["<svg><![CDATA[{0}]]>{1}</svg>", "<svg/>{0}<svg><a href=4 /><g/><b></b>{1}</svg>"]
    shapes += ["<svg><title>{0}<style>{0}</style></title><style>{1}</style></svg>"]
    content = st.lists(children, max_size=3).map("".join)
    return st.tuples(st.sampled_from(shapes), content, content).map(lambda parts: parts[0].format(parts[1], parts[2]))


@examples(600)
@example("<math><mi></mi><svg><title><template><a href=1>x</a></template></title></svg></math>")
@example("<svg><g></g><math><mi></p></mi></math><a xlink:href=3>y</a></svg>")
@given(st.lists(st.recursive(LEAF, inside, max_leaves=8), max_size=4).map("".join))
def test_templates_svg_and_mathml_change_how_text_is_read_as_in_lexbor(page: str) -> None:
    text = page.encode()
    ours, theirs = ({link for link in links if link[0] == "a"} for links in (found(text), lexbor(text)))
    assert ours == theirs


def test_every_named_character_reference_is_replaced_as_lexbor_does() -> None:
    for name in sorted(html5):
        page = f"<title>&{name} &{name}x &{name}=</title><a href='&{name}'><a href='&{name}x'><a href='&{name}=1'>"
        assert found(page.encode()) == lexbor(page.encode())
        title = LexborHTMLParser(page).css_first("title")
        assert title is not None
        assert titles(page.encode()) == [title.text()]


def test_a_number_of_any_length_is_a_character_reference() -> None:
    assert unescape("&#" + "9" * 10_000 + ";&#x" + "0" * 10_000 + "41;", attribute=True) == "\ufffdA"


@pytest.mark.interpreted_long
@pytest.mark.parametrize(
    "piece",
    [
        *("<div>", "<a href=x>", "<ul><li>", "<b><i>", "<svg><g>", "<svg><title>", "<template>", "<svg></x>"),
        *("</template>", "<", "</", "<!", "<!--", "--", "<!----", "-->", "<![CDATA[", "<script><!--", "</script"),
        *("<textarea></", "<a ", "'", "&", "&a", "&#9", "<a href='&", "\x00", "<a href=\x00>", "<title>", "=a "),
    ],
)
def test_time_is_linear_whatever_is_nested_or_left_open(piece: str) -> None:
    share = 1 if engine() == "compiled" else 4  # a step of the interpreted form takes ten times as long
    text = piece.encode() * (400_000 // share // len(piece))
    started = time.process_time()
    tags(text)
    tags(b"<svg>" + b"<g>" * (5_000 // share) + text)
    tags(b"<template>" * (20_000 // share) + text + b"</template>" * (20_000 // share))
    _tags.text(text + b"<div>words " * (40_000 // share), 100_000)
    assert time.process_time() - started < 30 / share


def words_of(page: bytes) -> list[str]:
    return _tags.text(page, 10_000_000).split()


def test_the_text_of_a_page_is_what_its_reader_sees() -> None:
    page = (
        b"<!doctype html><title>no</title><style>no</style><script>no<!-- <script> no </script> no --></script><p>one"
        b"<b>two</b>&amp;three<!-- no --><noscript>no <p>no</noscript><template>no<template>no</template>no</template>"
        b"<textarea>no</textarea><svg><title>four</title><text>five</text><style>six</style></svg> a < b \xc3\xbc"
        b"<iframe>no</iframe><plaintext>no"
    )
    assert words_of(page) == ["one", "two", "&three", "four", "five", "six", "a", "b", "\u00fc"]
    assert _tags.text(b"<p>a</p>" * 100_000, 9) == "a a a a a"
    assert words_of(b"") == words_of(b"<noscript>x") == []
    assert words_of(b"x <") == ["x", "<"]


@pytest.mark.skipif(not DOCUMENTATION.exists(), reason="Python's documentation is not installed (python3.11-doc)")
def test_the_text_of_real_pages_is_what_lexbor_finds() -> None:
    for path in sorted(DOCUMENTATION.rglob("*.html"))[::25]:
        page = path.read_bytes()
        tree = LexborHTMLParser(page)
        tree.strip_tags(["script", "style", "noscript", "template", "title", "textarea"])
        assert tree.body is not None
        assert words_of(page) == tree.body.text(separator=" ").split(), path


@pytest.mark.parametrize(("attribute", "ends"), [("color=red", True), ("\nSize=2", True), ("id=color", False)])
def test_font_ends_a_drawing_only_with_an_attribute_of_its_own(attribute: str, ends: bool) -> None:
    found = tags(f"<svg><font {attribute}><link rel=next href=/x>".encode())
    assert [name for name, _ in found] == ["link"] * ends
