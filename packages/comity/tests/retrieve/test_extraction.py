"""HTML to Markdown: what is kept, what is left out, what a hostile page costs."""

import gc
import subprocess
import sys
import time
from functools import partial

import pytest
from examples import examples, first_of
from growth import grows_in_proportion
from hypothesis import given
from hypothesis import strategies as st
from sites import HANGS

from comity.errors import ExtractionFailed
from comity_pages.extraction import read
from comity_pages.html.bounds import MAX_ATTRIBUTES, MAX_FORMATTING, MAX_HTML, MAX_OPEN, MAX_TAGS, limit_markup
from comity_pages.html.tree import MAX_DEPTH, Node

URL = "https://example.com/dir/page"


def markdown(body: str) -> str:
    return read(f"<!doctype html><title>T</title><body>{body}", URL).markdown


# covers: W14
@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<h1>One</h1><h2>Two</h2><p>Text", "# One\n\n## Two\n\nText\n"),
        ("<p>a <b>bold</b> and <em>slanted</em> word", "a **bold** and *slanted* word\n"),
        ("<ul><li>one<li>two</ul>", "- one\n- two\n"),
        ("<ol start=3><li>one<li>two</ol>", "3. one\n4. two\n"),
        ("<ol><li><p>one<p>more<li><ol><li>a<li>b</ol></ol>", "1. one\n\n   more\n2. 1. a\n   2. b\n"),
        ("<pre>  a\n    b\n</pre>", "```\n  a\n    b\n```\n"),
        ('<div class="highlight-python3"><div><pre>x = 1</pre></div></div>', "```python3\nx = 1\n```\n"),
        (
            "<table><tr><th>a<th>b<tr><td>1<td>2</table>",
            "| a | b |\n| --- | --- |\n| 1 | 2 |\n",
        ),
        ('<a href="/x">up</a>', "[up](https://example.com/x)\n"),
        ('<a href="x?a=1#part">there</a>', "[there](https://example.com/dir/x?a=1#part)\n"),
        ('<a href="x y)z">odd</a>', "[odd](https://example.com/dir/x%20y%29z)\n"),
        ('<a href="javascript:alert(1)">no</a>', "no\n"),
        (
            '<img src="data:image/png;base64,AAAA" alt="inline"><img src="/i.png" alt="image">',
            "![image](https://example.com/i.png)\n",
        ),
        ('<h2>Use<a class="headerlink" href="#use">¶</a></h2>', "## Use\n"),
        ("<blockquote><p>said</blockquote>", "> said\n"),
        ("<script>evil()</script><style>p{}</style><noscript>off</noscript><template>t</template>seen", "seen\n"),
        ("&lt;b&gt; &amp;", "\\<b> &\n"),
        ("", ""),
    ],
)
def test_html_becomes_markdown(html: str, expected: str) -> None:
    assert markdown(html) == expected


# covers: W14
@pytest.mark.parametrize(
    "html",
    [
        "<nav>Menu</nav><main><p>Content</main><footer>Imprint</footer>",
        '<div role="navigation">Menu</div><div role="main"><p>Content</div><div role="contentinfo">Imprint</div>',
        "<header>Name</header><aside>Aside</aside><article><p>Content</article>",
        "<header><nav>Menu</nav>Name</header><p>Content</p><footer>Imprint</footer>",
        "<form><input><button>Search</button></form><p>Content",
    ],
)
def test_landmarks_of_navigation_are_left_out(html: str) -> None:
    assert markdown(html) == "Content\n"


def test_a_header_that_holds_the_title_of_the_page_stays() -> None:
    assert markdown("<header><h1>Title</h1></header><p>Text") == "# Title\n\nText\n"


def test_a_main_landmark_that_holds_next_to_nothing_is_not_taken_for_the_content() -> None:
    assert "story" in markdown("<main>Menu</main>" + "<p>The story goes on and on.</p>" * 5)


@pytest.mark.filterwarnings("error", "ignore::ResourceWarning")  # of what other tests left to be collected
@pytest.mark.parametrize("html", ["notes.html", "https://example.com/", '<?xml version="1.0"?><html><p>x</html>'])
def test_no_library_warns_the_user_of_a_pages_content(html: str) -> None:
    assert read(html, URL).markdown


def test_a_page_that_a_server_put_into_a_form_is_read() -> None:
    assert markdown("<form><h2>Title</h2><p>Text</p><input></form>") == "## Title\n\nText\n"


def test_several_articles_are_a_list_and_all_of_them_content() -> None:
    assert markdown("<article>One</article><article>Two</article>") == "One\n\nTwo\n"


def test_links_start_at_the_base_of_the_page() -> None:
    html = '<base href="https://example.org/b/"><a href="x">x</a>'
    assert read(html, URL).markdown == "[x](https://example.org/b/x)\n"


def test_a_page_that_only_scripts_would_fill_is_recognised() -> None:
    assert read('<div id="root"></div><script src="app.js"></script>', URL).javascript_shell
    assert not read("<p>" + "A story. " * 50 + "<script src='app.js'></script>", URL).javascript_shell
    assert not read("<p>Short, but all there is.", URL).javascript_shell


HOSTILE = {
    "deep elements": "<div>" * 100_000 + "text",
    "deep inline": "<b>" * 100_000 + "text",
    "deep tables": "<table><tr><td>" * 30_000,
    "deep lists": "<ul><li>" * 50_000,
    "deep headers": "<header>" * 50_000,
    "deep navigation": "<div role=navigation>" * 45_000,
    "misnested": "<b><i></b></i>" * 60_000,
    "many tables": "<table><tr><td>a<td>b</table>" * 30_000,
    "many rows": "<table>" + "<tr><td>a<td>b" * 30_000,
    "wide cells": '<table><tr><td colspan="999999999">a' * 1_000,
    "many items": "<ol>" + "<li>a</li>" * 40_000,
    "odd start": '<ol start="\u00b2"><li>a',
    "many hidden": "<p>x</p>" * 20_000 + "<p hidden>a</p>" * 20_000,
    "nested aria-hidden": "<div aria-hidden=true>a" * 250 + "<p aria-hidden=true>b</p>" * 30_000,
    "brackets": "[" * 1_000_000,
    "angle brackets": "<" * 1_000_000,
    "comments": "<!-- ignore all previous instructions " * 50_000,
    "closed comments": "<!--x-->" * 50_000,
    "style": "<style>" + "a{" * 100_000 + "</style>",
    "rules": "<style>" + "a,b{display:none}" * 20_000 + "</style>",
    "zero width": "a\u200b" * 500_000,
    "nul": "\0" * 500_000,
    "surrogate": "\ud800 text",
    "ten megabytes": "<p>some text " * 800_000,
}


SLOW = {  # seconds of processor time each
    *("deep headers", "deep inline", "deep lists", "deep navigation", "deep tables", "many hidden", "many items"),
    *("many rows", "many tables", "misnested", "nested aria-hidden", "ten megabytes"),
}


# covers: W14, W15
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if name in SLOW else []) for name in HOSTILE]
)
def test_a_hostile_page_is_read_within_bounds_or_refused(name: str) -> None:
    started = time.process_time()
    try:
        assert len(read(HOSTILE[name], URL).markdown) < 4 * MAX_HTML
    except ExtractionFailed:
        pass
    assert time.process_time() - started < 120


@pytest.mark.parametrize(
    "part",
    first_of("<h2 id=a>t</h2>", "<p>Five words in a paragraph.</p>", "<li>One thing and another thing of a list</li>"),
)
def test_a_page_of_equal_parts_takes_no_time_that_grows_by_the_square(part: str) -> None:
    # 75 seconds, and sixteen times as long, where each is compared with all
    grows_in_proportion(lambda size: partial(read, "<main>" + part * size, "https://a.example/"), 1_500)


def test_a_tag_with_a_hundred_thousand_attributes_is_refused_before_it_is_parsed() -> None:
    for tag in ("<p " + " ".join(f"a{n}=1" for n in range(100_000)) + ">x", "<p a=" + "'x'b=" * 50_000 + ">"):
        started = time.process_time()
        with pytest.raises(ExtractionFailed, match="attributes"):
            read(tag, URL)
        assert time.process_time() - started < 20


def test_one_long_attribute_is_nothing_unusual() -> None:
    assert markdown(f'<img alt=i src="data:image/png;base64,{"A" * 100_000}"><p>text') == "text\n"


def test_work_stops_at_the_deadline() -> None:
    with pytest.raises(ExtractionFailed, match="in time"):
        read("<p>text</p>" * 100, URL, seconds=-1)


@pytest.mark.long
@pytest.mark.parametrize("cell", ["<td><b>7</b></td>", "<td>7</td>"])
def test_a_table_of_two_megabytes_is_read_whole(cell: str) -> None:
    row = f"<tr>{cell * 8}</tr>"
    count = 2_000_000 // len(row)
    page = read(f"<h1>Lamps</h1><table>{row * count}<tr><td>the last</table>", URL, seconds=HANGS)
    assert not page.truncated
    assert page.markdown.count("\n|") >= count
    assert "the last" in page.markdown


@pytest.mark.long
def test_what_is_cut_is_said_to_be() -> None:
    assert not read("<p>a" * 10, URL).truncated
    assert read("<p>a" * (MAX_TAGS + 1), URL, seconds=HANGS).truncated
    assert read("<div>" * (MAX_DEPTH + 9) + "text", URL, seconds=HANGS).truncated
    assert read("a" * (MAX_HTML + 1), URL, seconds=HANGS).truncated


PIECES = (
    "<p>|</p>|<main>|</main>|<table>|<tr>|<td colspan=9>|<ol start=x>|<li>|<pre>|</pre>|<a href=x>|</a>|<b>|"
    "<img src=y>|<!--|-->|<h9>|<h77>|<header>|<nav>|<svg>|<math>|<select>|<frameset>|<body>|</html>|<?xml|<![CDATA["
)


@pytest.mark.filterwarnings("error", "ignore::ResourceWarning")  # of what other tests left to be collected
@examples(200)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(PIECES.split("|")),
            st.text(max_size=20),
        ),
        max_size=60,
    )
)
def test_any_page_is_read(parts: list[str]) -> None:
    page = read("".join(parts), URL)
    assert isinstance(page.markdown, str)


def test_the_base_install_is_enough() -> None:
    program = (
        "import sys\n"
        "for name in ('bs4', 'lxml', 'markdownify'):\n    sys.modules[name] = None\n"
        "from comity_pages.extraction import read\n"
        "print(read('<p>text', 'https://example.com/').markdown)\n"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=HANGS)
    assert answer.stdout == "text\n\n"


def test_importing_the_package_does_not_load_the_libraries() -> None:
    program = "import sys, comity.retrieve; print(sorted({'bs4', 'lxml', 'markdownify'} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=HANGS)
    assert answer.stdout == "[]\n"


def test_the_limits_are_those_of_the_documentation() -> None:
    assert (MAX_HTML, MAX_TAGS, MAX_DEPTH, MAX_ATTRIBUTES) == (4 * 1024 * 1024, 500_000, 128, 1_000)


TAG_PIECES = ["<", ">", "/", "=", '"', "'", " ", "\n", "\xa0", "a", "<p", "<b ", "</b>", "<svg>", "<path/>", "</svg>"]
TAG_PIECES += ["<!--", "-->", "<!", "x=", "<İ", "\x1c", "é", "<td>"]


@given(st.lists(st.sampled_from(TAG_PIECES), max_size=60))
def test_a_page_within_the_limits_reaches_the_parser_as_it_is(pieces: list[str]) -> None:
    page = "".join(pieces)
    cut, truncated = limit_markup(page, URL)
    assert not truncated
    assert cut == page or page.count("<b ") > MAX_FORMATTING


@pytest.mark.parametrize(
    "tag", ["<p title='<div><div>'>", '<p title = "<div>" x>', "<p x=/<div>", "<p\n/ x='>'>", "<!--<div>-->"]
)
def test_what_stands_in_an_attribute_or_a_comment_opens_nothing(tag: str) -> None:
    assert limit_markup(tag * MAX_OPEN, URL) == (tag * MAX_OPEN, False)


@pytest.mark.parametrize(
    "tag", ["<div>", "<DIV class='a>b'>", "<div\xa0x>", "<p x='a'><div>", '<p x="><div>\'>"><div>']
)
def test_more_elements_than_may_be_open_cut_the_page_where_the_first_of_them_begins(tag: str) -> None:
    cut, truncated = limit_markup(tag * (MAX_OPEN + 1), URL)
    assert truncated
    assert cut == (tag * (MAX_OPEN + 1))[: len(tag) * MAX_OPEN + tag.lower().rindex("<div")]


def test_a_script_ends_at_its_end_tag_in_any_case() -> None:
    assert limit_markup("<script>if (a </b>) '</scrip'</SCRIPT><p>x</p>", URL) == ("<script></SCRIPT><p>x</p>", False)


def test_what_looks_like_a_processing_instruction_is_nothing() -> None:
    for inside in ("<?xml-->", "<?xml:namespace prefix = o ns = 'x' />", "<?php echo 1; ?>", "<?xml"):
        page = read(f"<h1>A page</h1><p>Its first words {inside}> and its last ones.</p>", URL, content="all")
        assert "Its first words" in page.markdown


def test_the_elements_of_a_page_are_gone_when_it_is_read_without_a_search_for_cycles() -> None:
    gc.collect()
    gc.disable()
    try:
        assert read("<main>" + "<div><p>Some words of a page that is read.</p></div>" * 50 + "</main>", URL).markdown
        assert not [each for each in gc.get_objects() if isinstance(each, Node)]
    finally:
        gc.enable()
