# ruff: noqa: E501, ISC004 (pages as they are)
"""A tree as Markdown: nothing of the page is lost on the way, and nothing in its text becomes markup."""

import re

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from comity_pages.documents import read_answer
from comity_pages.extraction import Content, read
from comity_pages.markdown import inline

URL = "https://example.com/dir/page"


def markdown(body: str) -> str:
    return read(f"<!doctype html><title>T</title><body>{body}", URL).markdown


def html_of(text: str) -> str:
    """Markdown as it is shown."""
    shown: str = MarkdownIt("commonmark").enable("table").render(text)
    return shown


# Code


# covers: W14
@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<pre>a\n\n\n\n\n  b\n</pre>", "```\na\n\n\n\n\n  b\n```\n"),
        ("<pre>```\ncode\n```</pre>", "````\n```\ncode\n```\n````\n"),
        ("<pre>a<br>  b</pre>", "```\na\n  b\n```\n"),
        ("<pre><div>a</div><div>  b</div></pre>", "```\na\n  b\n```\n"),
        ("<p>Use <code>a`b</code> now", "Use ``a`b`` now\n"),
        ("<p>Use <code>*x*</code>", "Use `*x*`\n"),
        (
            "<table><tr><td class=linenos><pre>1\n2</pre><td class=code><pre>if a:\n    b</pre></table>",
            "```\nif a:\n    b\n```\n",
        ),
        (
            "<div class=highlight><table class=lntable><tr><td class=lntd><pre><code><span class=lnt>1\n</span><span class=lnt>2\n</span>"
            "</code></pre></td><td class=lntd><pre><code class=language-go data-lang=go>a := 1\n  b\n</code></pre></table></div>",
            "```go\na := 1\n  b\n```\n",
        ),
        (
            "<table class='highlight'>\n<tr>\n<td class='blob-num' data-line-number=1></td>\n<td class=blob-code>if a:</td></tr>\n"
            "<tr>\n<td class='blob-num'></td>\n<td class=blob-code></td></tr>\n<tr><td class='blob-num'></td><td class=blob-code>  b</td></tr></table>",
            "```\nif a:\n\n  b\n```\n",
        ),
        (
            "<table class=crayon-table><tr><td class=crayon-nums><div class=crayon-num>1</div></td><td class=crayon-code>"
            "<div class=crayon-line>a</div><div class=crayon-line>  b</div></td></tr></table>",
            "```\na\n  b\n```\n",
        ),
        ("<pre><span class=ln>1</span>a := 1</pre>", "```\na := 1\n```\n"),
        ("<p><code>a<br>\n  b</code></p>", "```\na\nb\n```\n"),
        ("<p>Use <code>a</code> now", "Use `a` now\n"),
        (
            "<p>x<div><div><span>Python</span><button>Copy code</button></div><pre>a</pre></div>",
            "x\n\n```python\na\n```\n",
        ),
        ("<p>x<div><pre class=lang-js>a</pre><button>Copy to clipboard</button></div>", "x\n\n```js\na\n```\n"),
        ("<p>x<pre>a<button>Copied!</button></pre>", "x\n\n```\na\n```\n"),
        ("<div><div>app.py</div><pre>a</pre></div>", "app.py\n\n```\na\n```\n"),
        (
            "<table><tr><th>Name<th>Code<tr><td>x<td><pre>if a:\n    b | c</pre></table>",
            "| Name | Code |\n| --- | --- |\n| x | `if a:`<br>`    b \\| c` |\n",
        ),
    ],
)
def test_code_keeps_its_lines_and_its_indentation(html: str, expected: str) -> None:
    assert markdown(html) == expected


# Tables


# covers: W14
@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("<tr><th>a|b<th>c<tr><td>1<td>2|3", "| a\\|b | c |\n| --- | --- |\n| 1 | 2\\|3 |\n"),
        (
            "<thead><tr><th>a<th>b</thead><tfoot><tr><td>sum<td>3</tfoot><tbody><tr><td>1<td>2</tbody>",
            "| a | b |\n| --- | --- |\n| 1 | 2 |\n| sum | 3 |\n",
        ),
        (
            "<tr><th>a<th>b<th>c<tr><td rowspan=2>1<td>2<td>3<tr><td>4<td>5",
            "| a | b | c |\n| --- | --- | --- |\n| 1 | 2 | 3 |\n|  | 4 | 5 |\n",
        ),
        (
            "<tr><th colspan=2>a<th>b<tr><td>1<td>2<td>3",
            "| a |  | b |\n| --- | --- | --- |\n| 1 | 2 | 3 |\n",
        ),
        ("<tr><td>a<td>b<tr><td>1<td>2", "|  |  |\n| --- | --- |\n| a | b |\n| 1 | 2 |\n"),
        ("<tr><th>Size<td>2<tr><th>Weight<td>3", "|  |  |\n| --- | --- |\n| Size | 2 |\n| Weight | 3 |\n"),
        ("<caption>Sizes</caption><tr><th>a<th>b<tr><td>1<td>2", "Sizes\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n"),
        ("<tr><td><p>one<tr><td><p>two", "one\n\ntwo\n"),
        ("<tr><th>a<th>b<tr><td rowspan=0>1<td>2<tr><td>3", "| a | b |\n| --- | --- |\n| 1 | 2 |\n|  | 3 |\n"),
        (
            "<thead><tr><th rowspan=2>a<th>b</thead><tbody><tr><td rowspan=9>1<td>2</tbody><tbody><tr><td>3<td>4</tbody>"
            "<tfoot><tr><td>5<td>6</tfoot>",
            "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |\n",
        ),
        ("<tr><th>a<th>b<tr><td colspan=100>1<tr><td>2<td>3", "| a | b |\n| --- | --- |\n| 1 |  |\n| 2 | 3 |\n"),
        ("<tr><td><h2>Layout</h2><p>text<td>beside", "## Layout\n\ntext\n\nbeside\n"),
    ],
)
def test_a_table_keeps_each_cell_in_its_column(rows: str, expected: str) -> None:
    assert markdown(f"<table>{rows}</table>") == expected


# Links, images, films


# covers: W14
@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<a href="/x"><h3>Head</h3><p>more</p></a>', "### [Head](https://example.com/x)\n\nmore\n"),
        ('<h3><a href="/x">Head</a></h3>', "### [Head](https://example.com/x)\n"),
        ('<a href="/x"><div>Card</div></a>', "[Card](https://example.com/x)\n"),
        ('<a href="mailto:a@example.com">Write</a>', "[Write](mailto:a@example.com)\n"),
        ('<a href="tel:+15550100">Call</a>', "[Call](tel:+15550100)\n"),
        ('<a href="vbscript:x">no</a> <a href=" JavaScript:x">no</a>', "no no\n"),
        ('<video src="film.mp4"></video>', "[video](https://example.com/dir/film.mp4)\n"),
        ('<video title="A film"><source src="/f.mp4"></video>', "[A film](https://example.com/f.mp4)\n"),
        ('<img data-src="/late.png" alt="late">', "![late](https://example.com/late.png)\n"),
        (
            '<img src="data:image/gif;base64,R0" data-src="/late.png" alt="late">',
            "![late](https://example.com/late.png)\n",
        ),
        ('<img srcset="/a.png 1x, /b.png 2x" alt="set">', "![set](https://example.com/b.png)\n"),
        ('<a href="/x" title="unseen">seen</a>', "[seen](https://example.com/x)\n"),
        ('<img src="/i.png" alt="seen" title="unseen">', "![seen](https://example.com/i.png)\n"),
    ],
)
def test_what_is_linked_stays_linked_and_what_nobody_sees_stays_out(html: str, expected: str) -> None:
    assert markdown(html) == expected


# Text


# covers: W14
@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("10<sup>6</sup> times", "10⁶ times\n"),
        ("x<sup>n+1</sup>, 10<sup>-3</sup>", "xⁿ⁺¹, 10⁻³\n"),
        ("2<sup>k</sup>m", "2^km\n"),
        ("H<sub>2</sub>O", "H₂O\n"),
        ("the 5<sup>th</sup>", "the 5th\n"),
        ("a<sup>1,2</sup>", "a^{1,2}\n"),
        ("<blockquote><p>Said.<footer>A. Uthor</footer></blockquote>", "> Said.\n>\n> A. Uthor\n"),
        ("<p>one<br>two<br><br>three", "one  \ntwo\n\nthree\n"),
        ("<b> bold </b>text", "**bold** text\n"),
        ("<s>old</s> <q>said</q>", "~~old~~ “said”\n"),
        ("<dl><dt>Term<dd>Meaning</dl>", "Term\n: Meaning\n"),
        ("<ul><li>one<ul><li>in it</ul><li>two</ul>", "- one\n  - in it\n- two\n"),
        ("<ul>You need:<li>oil<li>a wick</ul>", "You need:\n\n- oil\n- a wick\n"),
        ("<ul># x<li>y</ul>", "\\# x\n\n- y\n"),
        ("<div>Both <b>of</b> <i>these</i><li>oil <li>wick</div>", "Both **of** *these*\n\n- oil\n- wick\n"),
        ("<p>a<hr><p>b<hr>", "a\n\n---\n\nb\n"),
        ("<ol><li>Fill</li><ol><li>oil</li></ol><li>Light</li></ol>", "1. Fill\n   1. oil\n2. Light\n"),
        ("<ol><li>Fill</li>Then <b>wait</b>.<li>Light</li></ol>", "1. Fill\n\n   Then **wait**.\n2. Light\n"),
        ("<ul><li>Fill</li><p>Then wait.</p><li>Light</li></ul>", "- Fill\n\n  Then wait.\n- Light\n"),
        ("<ol><p>Before<li>Fill</li><ul><li>oil</ul>x</ol>", "Before\n\n1. Fill\n   - oil\n\n   x\n"),
        ("<ol reversed><li>Fill</li>or <li>Light</li></ol>", "2. Fill\n\n   or\n1. Light\n"),
        ("<ul><div>Fill</div><div>Light</div></ul>", "- Fill\n- Light\n"),
        (
            "<ol start=9><li>a</li><li>b</li><ul><li>c</li><li>d</li></ul><li>e</ol>",
            "9. a\n10. b\n    - c\n    - d\n11. e\n",
        ),
        ("<ul><li>a</li><ul><li>b</li><ul><li>c</li></ul></ul><li>d</ul>", "- a\n  - b\n    - c\n- d\n"),
        ("<h2>Ge&shy;samt&shy;kon&shy;zept</h2><p>Lam<b>pen&shy;öl</b>", "## Gesamtkonzept\n\nLam**penöl**\n"),
        (
            '<p>Hot <img alt="👩‍🔬" src=/s.png> <img alt="🇩🇪👍🏽❤️" src=/d.png> <img alt="Oil 🔥" src=/f.png>',
            "Hot 👩‍🔬 🇩🇪👍🏽❤️ ![Oil 🔥](https://example.com/f.png)\n",
        ),
        (
            '<p>Hot <img class=emoji alt="🔥" src=/f.png><img class="wp-emoji x" alt=":oil:" src=/o.png>',
            "Hot 🔥:oil:\n",
        ),
    ],
)
def test_text_says_what_the_page_shows(html: str, expected: str) -> None:
    assert markdown(html) == expected


# covers: W14
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("&lt;script&gt;", "\\<script>"),
        ("# x", "\\# x"),
        ("1. x", "1\\. x"),
        ("- x", "\\- x"),
        ("&gt; x", "\\> x"),
        ("---", "\\---"),
        ("| a | b |", "\\| a | b |"),
        ("[click](javascript:x)", "\\[click\\]\\(javascript:x)"),
        ("![i](x)", "!\\[i\\]\\(x)"),
        ("`code` *a* _b_ a_b", "\\`code\\` \\*a\\* \\_b\\_ a_b"),
        ("&amp;amp; &amp;#60;", "\\&amp; \\&#60;"),
        ("~~no~~", "\\~\\~no\\~\\~"),
        ("C:\\dir", "C:\\\\dir"),
        ("a # b - c 1. d", "a # b - c 1. d"),
    ],
)
def test_text_never_becomes_markup(text: str, expected: str) -> None:
    assert markdown(f"<p>text<p>{text}") == f"text\n\n{expected}\n"


@pytest.mark.parametrize(
    "html",
    [
        '<img src="/i.png" alt="](javascript:x) [y">',
        '<a href="/x">](javascript:x) [y</a>',
        '<a href="/x y)(z&lt;&gt;|">z</a>',
        "<h2>](javascript:x)</h2>",
        "<table><tr><th>a<th>](javascript:x)<tr><td>1<td>2</table>",
    ],
)
def test_nothing_can_forge_a_link(html: str) -> None:
    text = markdown(html)
    assert "](javascript" not in text
    assert all(target.startswith("https://example.com/") for target in _targets(text))


def _targets(text: str) -> list[str]:
    """Where the links of some Markdown lead: what stands behind a bracket that no backslash takes its meaning from."""
    found = []
    for number, char in enumerate(text[:-1]):
        if char == "]" and text[number + 1] == "(" and text[number - 1] != "\\":
            found.append(text[number + 2 : text.index(")", number)])
    return found


# covers: W14
@examples(150)
@given(st.text("<>&#[]()`*_~-+=|!\\1. \nabh", max_size=40))
def test_any_text_keeps_its_letters_and_forges_nothing(text: str) -> None:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    written = markdown(f"<p>x {escaped}")
    assert _targets(written) == []
    bare = written.replace("\\", "")
    assert [char for char in bare if char.isalnum()] == [char for char in "x" + text if char.isalnum()]


# Shortcuts


@examples(200)
@given(st.text("aZ1_ \t\n\x0c\xa0\u3000\\`*[](<&;~>#-|.é中", max_size=30))
def test_text_that_needs_no_escaping_is_what_escaping_would_have_made_of_it(text: str) -> None:
    wide = re.compile(r"(?<=\S)(?=\s*\xa0)\s{2,}(?=\S)")
    gaps = [re.sub(r"\s+", " ", part) for part in wide.split(text)]
    assert inline.words_of(text) == inline.escape_markup("\xa0".join(gaps))


@examples(200)
@given(st.text("a1 #>-+.)=|:\t", max_size=12))
def test_the_beginning_of_a_line_is_escaped_alike_in_one_line_and_in_several(line: str) -> None:
    assert inline.line_starts(line) == inline.line_starts(f"{line}\nx").removesuffix("\nx")


# covers: W14
@pytest.mark.parametrize("content", ["main", "all"])
def test_drawings_choices_and_fields_do_not_vanish_in_silence(content: Content) -> None:
    html = (
        "<main><p>Energy <math><mi>E</mi></math> and</p><svg><title>no</title><text>a drawing</text></svg>"
        "<select><option>one<option>two</select><textarea>a field</textarea><math hidden><mi>x</mi></math></main>"
    )
    found = {each.place: (each.blocks, each.words, each.excerpt) for each in read(html, URL, content=content).left_out}
    assert found == {"drawing": (1, 2, "a drawing"), "form": (2, 3, "onetwo")}


@pytest.mark.parametrize("second", ["=", "==", "-", "---", "= "])
def test_a_break_before_a_line_of_marks_makes_no_heading(second: str) -> None:
    assert html_of(markdown(f"<p>Total<br>{second}</p>")).count("<h") == 0


@pytest.mark.parametrize("text", ["|", "a|b", r"a\|b", r"\\|", r"\|"])
@pytest.mark.parametrize("name", ["span", "code"])
def test_a_cell_says_what_it_said_whatever_marks_stand_in_it(text: str, name: str) -> None:
    table = f"<table><tr><th>a<th>b<tr><td>x<{name}>{text}</{name}>y<td>z</table>"
    shown = html_of(markdown(table))
    assert re.sub("<[^>]+>", "", shown).split() == ["a", "b", f"x{text}y", "z"]


@pytest.mark.parametrize(
    ("attributes", "address"),
    [
        ('srcset="/s-150.jpg 150w, /s-1200.jpg 1200w, /s-600.jpg 600w"', "/s-1200.jpg"),
        ('srcset="/a.jpg 1x,/b.jpg 2x"', "/b.jpg"),
        ('srcset="/a,b.jpg, /c.jpg 1.5x"', "/c.jpg"),
        ('srcset=" ,, /w_400,h_300/b.jpg 400w 300h , "', "/w_400,h_300/b.jpg"),
        ('src="/good.jpg" data-srcset="/w_400,h_300/b.jpg 400w"', "/w_400,h_300/b.jpg"),
        ('src="/good.jpg" data-url="/thumb.jpg"', "/good.jpg"),
        ('src="data:," data-actualsrc="/r.jpg"', "/r.jpg"),
        ('src="data:," data-hi-res-src="/r.jpg"', "/r.jpg"),
        ('src="data:," data-ks-lazyload="/r"', "/r"),
        ('src="/blank.gif" data-orig-file="/r.jpg?w=9"', "/r.jpg?w=9"),
        ('src="/blank.gif" data-echo="/r.webp" data-id="7"', "/r.webp"),
        ('data-large-file="/r.avif" data-original-title="A lamp. Lit."', "/r.avif"),
    ],
)
def test_an_image_is_where_its_largest_candidate_is(attributes: str, address: str) -> None:
    assert markdown(f"<p><img {attributes}>") == f"![](https://example.com{address})\n"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<div style="white-space:pre-wrap">A: lit?\nB: no.</div>', "A: lit?  \nB: no.\n"),
        ('<p style="white-space: break-spaces"><span>A: <b>lit?\nB</b>: no.</span></p>', "A: **lit?  \nB**: no.\n"),
        ('<div style="white-space:pre-wrap">\n<p>one\ntwo</p>\n<p>three</p>\n</div>', "one  \ntwo\n\nthree\n"),
        ('<div style="white-space:pre-wrap"><pre>a\n  b</pre></div>', "```\na\n  b\n```\n"),
        ('<div style="white-space:normal">A: lit?\nB: no.</div>', "A: lit? B: no.\n"),
        ("<style>.talk{white-space:pre-wrap}</style><div class=talk>A: lit?\nB: no.</div>", "A: lit?  \nB: no.\n"),
        (
            "<style>p{color:red} #a .b, i{margin:0;white-space: break-spaces !important}</style>"
            "<div id=a><p class='x b'>A: <b>lit?\nB</b>: no.</p></div>",
            "A: **lit?  \nB**: no.\n",
        ),
        (
            "<style>@media screen{article p{white-space:pre}}</style><article><p>one\ntwo</p></article><p>a\nb</p>",
            "one  \ntwo\n\na b\n",
        ),
        ("<style>@media print{p{white-space:pre-wrap}}</style><p>A: lit?\nB: no.</p>", "A: lit? B: no.\n"),
        ("<style>pre{white-space:pre-wrap}</style><pre>a\n  b</pre>", "```\na\n  b\n```\n"),
        ("<p style='white-space: pre-line'>A:   lit?\n  B: no.</p>", "A: lit?  \nB: no.\n"),
        ("<style>.talk{white-space:pre-line}</style><div class=talk>A:   lit?\n\nB: no.</div>", "A: lit?\n\nB: no.\n"),
        ("<p style='white-space-collapse: preserve-breaks'>A:   lit?\nB: no.</p>", "A: lit?  \nB: no.\n"),
        ("<p style='white-space: preserve nowrap'>A:   lit?\nB: no.</p>", "A:\xa0lit?  \nB: no.\n"),
        ("<P STYLE='WHITE-SPACE:PRE'>A: lit?\nB: no.</P>", "A: lit?  \nB: no.\n"),
        ("<STYLE>.talk{WHITE-SPACE : PRE-WRAP}</STYLE><div class=talk>A: lit?\nB: no.</div>", "A: lit?  \nB: no.\n"),
        ("<p style='white-space:pre-line'>A: <b>lit?</b>\n<i>B</i>\n<b>no</b></p>", "A: **lit?**  \n*B*  \n**no**\n"),
        ("<p style='white-space:pre'>A <span style='white-space:normal'>is\nlit</span>\nB</p>", "A is lit  \nB\n"),
        ("<p style='white-space:pre; white-space:normal'>A: lit?\nB: no.</p>", "A: lit? B: no.\n"),
    ],
)
def test_lines_that_a_style_keeps_are_lines(html: str, expected: str) -> None:
    assert markdown(html) == expected


WORD = "<p class=MsoListParagraph style='margin-left:{2}pt;mso-list:l0 level{0} lfo1'>{1}"
MARK = "<span style='mso-list:Ignore'>{}<span style='font:7pt'>&nbsp; </span></span>"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (
            '<ul class="c1 lst-kix_a-0 start"><li>Brass</ul> <ul class="lst-kix_a-1"><li>Small<li>Large</ul>'
            '<ul class="lst-kix_a-2"><li>Blue</ul><ul class="lst-kix_a-0"><li>Iron</ul><p>End</p>',
            "- Brass\n  - Small\n  - Large\n    - Blue\n- Iron\n\nEnd\n",
        ),
        (
            '<ol class="lst-kix_a1-b-0 start" start="1"><li>Fill it</ol><ol class="lst-kix_a1-b-1"><li>with oil</ol>'
            '<ol class="lst-kix_a1-b-0" start="2"><li>Light it</ol>',
            "1. Fill it\n   1. with oil\n2. Light it\n",
        ),
        (
            '<ul class="lst-kix_a-1"><li>Deep</ul><ul class="lst-kix_a-0"><li>Top</ul><p>Then</p>'
            '<ul class="lst-kix_a-1"><li>Deep</ul>',
            "- Deep\n\n* Top\n\nThen\n\n- Deep\n",
        ),
        (
            "".join(
                WORD.format(level, MARK.format(mark) + text, level * 36)
                for level, mark, text in ((1, "·", "Brass <b>lamps</b>"), (2, "o", "Small"), (1, "·", "Iron"))
            ),
            "- Brass **lamps**\n  - Small\n- Iron\n",
        ),
        (
            "<div>"
            + "\n".join(
                WORD.format(level, f"<![if !supportLists]>{MARK.format(mark)}<![endif]>{text}", 36)
                for level, mark, text in ((1, "3.", "Fill"), (2, "a)", "oil"), (1, "4.", "Light"))
            )
            + "</div>",
            "3. Fill\n   1. oil\n4. Light\n",
        ),
        (WORD.format(1, "No marker", 36), "No marker\n"),
    ],
)
def test_lists_of_word_processors_are_lists_in_one_another(html: str, expected: str) -> None:
    assert markdown(html) == expected


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# Lamps #\n", "Lamps"),
        ("Lamps\n=====\n", "Lamps"),
        ("```\n# code\n```\n\n    # code\n\n# Lamps", "Lamps"),
        ("> # Said\n\n- # Item\n\n## Second", None),
        ("", None),
    ],
)
def test_the_title_of_served_markdown_is_its_first_heading(text: str, title: str | None) -> None:
    said, page = read_answer(text.encode(), "https://example.com/lamps.md", "text/markdown")
    assert said.title == title
    assert page is not None
    assert page.markdown == text
