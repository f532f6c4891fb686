"""A page in pieces: what is cut where, and how each piece is found again."""

import json
import re
import threading
import unicodedata
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

import comity
from comity_pages.extraction import ExtractedPage, read
from comity_pages.pieces import Chunk, Section
from comity_pages.tokens import count_tokens

URL = "https://example.com/lamps"


def page(markdown: str) -> ExtractedPage:
    return ExtractedPage(markdown, (), False, url=URL)


def words_of(chunk: Chunk) -> str:
    return unquote(chunk.url.partition(":~:text=")[2])


def test_each_heading_begins_a_chunk_that_knows_the_headings_above_it() -> None:
    text = "Before all.\n\n# Lamps\n\n## Oil\n\nOil burns at night.\n\n### Wicks\n\nOf cotton.\n\n## Gas\n\nHisses.\n"
    chunks = page(text).chunks()
    assert [(chunk.path, chunk.text) for chunk in chunks] == [
        ((), "Before all."),
        (("Lamps", "Oil"), "# Lamps\n\n## Oil\n\nOil burns at night."),
        (("Lamps", "Oil", "Wicks"), "### Wicks\n\nOf cotton."),
        (("Lamps", "Gas"), "## Gas\n\nHisses."),
    ]
    assert [text[chunk.start : chunk.end].strip() for chunk in chunks] == [chunk.text for chunk in chunks]
    assert all(chunk.tokens == count_tokens(chunk.text) for chunk in chunks)


def test_code_is_cut_between_lines_and_fenced_again() -> None:
    lines = [f"value_{number} = {number}" for number in range(60)]
    lines[20] = ""
    text = "\n".join(("# Code", "", "```python", *lines, "```", ""))
    chunks = page(text).chunks(100)
    assert len(chunks) > 3
    assert all(chunk.text.removeprefix("# Code\n\n").startswith("```python\n") for chunk in chunks)
    assert all(chunk.text.endswith("\n```") and chunk.text.count("```") == 2 for chunk in chunks)
    assert [line for chunk in chunks for line in chunk.text.split("\n") if line.startswith("value")] == [
        line for line in lines if line
    ]
    assert all(chunk.tokens <= 100 for chunk in chunks)


def test_a_table_is_cut_between_rows_and_each_part_has_its_head() -> None:
    rows = [f"| lamp {number} | {number} |" for number in range(40)]
    chunks = page("\n".join(("| Name | Price |", "| --- | --- |", *rows, ""))).chunks(80)
    assert len(chunks) > 3
    assert all(chunk.text.startswith("| Name | Price |\n| --- | --- |\n") for chunk in chunks)
    assert [line for chunk in chunks for line in chunk.text.split("\n")[2:]] == rows
    assert words_of(chunks[1]) == re.match(r"\| (lamp \d+) ", chunks[1].text.split("\n")[2])[1]  # type: ignore[index]


def test_no_character_stands_between_a_table_that_is_cut_and_what_follows() -> None:
    rows = [f"| lamp {number} | {number} |" for number in range(40)]
    chunks = page("\n".join(("| Name | Price |", "| --- | --- |", *rows, "", "## Oil", "", "It burns.", ""))).chunks(80)
    assert all(first.end == second.start for first, second in pairwise(chunks))


def test_a_list_is_cut_between_items_and_a_paragraph_between_sentences() -> None:
    items = [f"- Item {number} is of brass." for number in range(30)]
    prose = " ".join(f"Sentence {number} has some words." for number in range(30))
    chunks = page("\n".join(items) + "\n\n" + prose + "\n").chunks(60)
    for chunk in chunks:
        assert all(line in items or line.endswith("words.") for line in chunk.text.split("\n") if line)
        assert chunk.tokens <= 60


def test_a_link_is_not_cut_though_it_is_long() -> None:
    link = f"[{'word. ' * 60}](https://example.com/x)"
    assert any(link in chunk.text for chunk in page(f"Before. {link} After.\n").chunks(40))


@pytest.mark.parametrize(
    "paragraph",
    [
        "ตะเกียงน้ำมันให้แสงสว่างตลอดทั้งคืนและผู้ดูแลเติมน้ำมันทุกเย็น" * 30,
        "油灯整夜燃烧守灯人每天傍晚添油" * 60,
        "深い谷の灯台は夜通し光る" * 40 + "[灯台](https://example.com/x)" + "深い谷の灯台は夜通し光る" * 40,
        "e\u0301" * 900,
        "x" * 3000,
        r"\*" * 900,
    ],
)
def test_a_paragraph_without_spaces_is_cut_between_characters(paragraph: str) -> None:
    text = f"Before.\n\n{paragraph}\n\nAfter.\n"
    chunks = page(text).chunks(100)
    assert all(chunk.tokens <= 100 for chunk in chunks)
    assert sum(chunk.tokens >= 75 for chunk in chunks) >= len(chunks) - 2
    assert all(before.end == after.start for before, after in pairwise(chunks))
    assert "".join(text[chunk.start : chunk.end] for chunk in chunks) == text
    for chunk in chunks:
        assert chunk.text == text[chunk.start : chunk.end].strip()
        assert not unicodedata.category(chunk.text[0]).startswith("M")
        assert chunk.text[-1] not in "\\เแโใไ"
        assert chunk.text.count("[灯台](https://example.com/x)") == chunk.text.count("[")
        if ":~:text=" in chunk.url:
            assert words_of(chunk) in "Before." + paragraph.replace("[灯台](https://example.com/x)", "灯台") + "After."


@pytest.mark.parametrize(
    "text",
    [
        "word " * 300 + "\n\nAfter.\n",
        "\n\n" + "word " * 300 + "\n",
        "漢字" * 300 + "\n\n\n# Next\n",
        "\xa0\n\n# Next\n\nText.\n",
        "    code\n\n\n" + "    more code\n" * 60 + "\n\n",
        "\xa0\n",
        "\n\n\n" + "    more code\n" * 60,
    ],
)
def test_no_chunk_is_empty(text: str) -> None:
    chunks = page(text).chunks(64)
    assert [chunk for chunk in chunks if not chunk.text.strip() or not 0 < chunk.tokens <= 64] == []
    assert "".join(text[chunk.start : chunk.end] for chunk in chunks).strip() == text.strip()


@given(st.lists(st.sampled_from([
    "# A heading\n", "\n", "- item one\n", "  - nested item\n", "1. first\n", "> quoted text\n", "```\n", "~~~ x\n",
    "| a | b |\n", "| --- | --- |\n", "| 1 | 2 |\n", "    indented code\n", "A sentence. Another one! A third?\n",
    "[a]: https://example.com\n", "[^1]: A note.\n", "<div>\n", "Title\n", "===\n", "\t- tab\n", "&amp; `code` *x*\n",
    "\r\n", "\x0b", "漢字だけの文。次の文。\n", "漢字だけの文" * 20, "ตะเกียงน้ำมัน" * 9, "\xa0\n",
]), max_size=60), st.integers(32, 80))  # fmt: skip
def test_whatever_the_markdown_nothing_is_lost_and_nothing_stands_twice(parts: list[str], most: int) -> None:
    text = "".join(parts)
    chunks = page(text).chunks(most)
    assert all(before.end == after.start for before, after in pairwise(chunks))
    assert "".join(text[chunk.start : chunk.end] for chunk in chunks).strip() == text.strip()
    for chunk in chunks:
        assert chunk.text.strip()
        assert all(line.strip() in chunk.text for line in text[chunk.start : chunk.end].split("\n"))
    page(text).sections, page(text).links, page(text).images, page(text).tables


def test_tokens_are_counted_by_the_tokenizer_that_is_given() -> None:
    class Encoding:
        ids = (1, 2, 3)

    class Tokenizer:
        def encode(self, text: str) -> Encoding:
            return Encoding()

    assert page("Some words.\n").chunks(tokenizer=Tokenizer())[0].tokens == 3
    assert page("Some words.\n").chunks(tokenizer=lambda text: len(text.split()))[0].tokens == 2
    with pytest.raises(comity.InvalidSetting, match="max_tokens"):
        page("").chunks(5)


def test_the_address_of_a_chunk_leads_to_words_that_stand_on_the_page_one_after_the_other() -> None:
    html = """<main><h1 id="top">Lamps</h1><p>Ten<sup>n2</sup> lamps of <b>brass</b>-work, <i>very</i>
    old, stand in the <a href="/hall">great hall</a> of the house.</p>
    <h2>Lamps</h2><p>See <code>a-b, c</code> for more about all of them.</p></main>"""
    chunks = read(html, f"{URL}#old").chunks()
    assert chunks[0].url.startswith("https://example.com/lamps#top:~:text=")
    assert words_of(chunks[0]) == "lamps of brass-work, very old, stand in the"  # the mark of a note is left out
    assert "-" not in chunks[0].url.partition("text=")[2]
    assert words_of(chunks[1]) == "See a-b, c for more about all of"


def test_space_in_code_that_is_wider_than_one_is_not_in_what_a_chunk_is_found_by() -> None:
    (chunk,) = page("```\n  --db FILE   database file to be used here\n```\n").chunks()
    assert words_of(chunk) == "database file to be used here"


def test_words_that_stand_earlier_on_the_page_too_are_not_what_a_chunk_is_found_by() -> None:
    text = "# One\n\nThe same beginning of two long passages of a page, here the first.\n\n# Two\n\n"
    text += "The same beginning of two long passages of a page, here the second.\n"
    first, second = page(text).chunks()
    assert words_of(first) == "The same beginning of two long passages of"
    assert words_of(second).endswith("here the second.")


@pytest.mark.parametrize(
    "around",
    [
        '<button aria-controls="more">More</button><div id="more" hidden>{}</div>',
        '<div role="tabpanel" style="display:none"><p>Before.</p>{}</div>',
        "<style>.faq-answer {{ display: none }}</style><div class=faq-answer>{}</div>",
    ],
)
def test_what_a_browser_unfolds_at_a_click_only_is_found_by_no_words(around: str) -> None:
    hidden = "<p>The keeper fills the lamps with oil of olives before the sun goes down, every day of the year.</p>"
    html = f"""<main><h1>Lamps</h1><p>The lamps of the great hall burn all night and are very old, people say.</p>
    <h2>Oil</h2>{around.format(hidden)}<h2>Wicks</h2><p>They are of cotton and are cut in the morning.</p></main>"""
    extracted = read(html, URL)
    lamps, oil, wicks = extracted.chunks()
    assert "fills the lamps" in oil.text
    assert words_of(lamps) == "The lamps of the great hall burn all"
    assert words_of(wicks) == "They are of cotton and are cut in"
    assert "fills" not in oil.url
    assert any("fills the lamps" in each for each in extracted.folded)


_TEASER = """<aside><p>{}</p></aside><div style="height:3000px"></div><main><h1>Lamps</h1>
<p>The lamps of the great hall burn all night and are very old, people say.</p><div style="height:3000px"></div>
<h2>Oil</h2><p>The keeper fills the lamps with oil of olives before the sun goes down.</p>
<div style="height:3000px"></div></main>"""


@pytest.mark.parametrize(
    ("teaser", "words"),
    [
        ("The keeper fills the lamps with oil of olives …", "with oil of olives before the sun goes down."),
        ("The keeper fills the lamps with oil of olives before the sun goes down.", ""),
        ("Once more: how the keeper fills the lamps.", "The keeper fills the lamps with oil of"),
    ],
)
def test_words_that_were_left_out_above_the_content_are_not_what_a_chunk_is_found_by(teaser: str, words: str) -> None:
    lamps, oil = read(_TEASER.format(teaser), URL).chunks()
    assert "olives" not in lamps.text
    assert words_of(lamps) == "The lamps of the great hall burn all"
    assert words_of(oil).endswith(words)
    assert bool(words_of(oil)) == bool(words)


@pytest.mark.parametrize(
    ("html", "words"),
    [
        ('<p><a href="/a">View<br>all</a> <a href="/b">of these</a></p>', ""),
        ('<p><a href="/a">Join us</a> <a href="/b">Read it all in a browser</a></p>', "Read it all in a browser"),
        ("<p><span>The first of all the lampsThe</span> second of all the lamps</p>", "The first of all the"),
        ("<p>Summit 24™ delivers the cleanest of all the lamps</p>", "delivers the cleanest of all the lamps"),
    ],
)
def test_words_that_a_style_may_set_apart_are_not_what_a_chunk_is_found_by(html: str, words: str) -> None:
    (chunk,) = read(html, URL, content="all").chunks()
    assert words_of(chunk) == words


def test_a_bullet_is_not_among_the_words_that_a_chunk_is_found_by() -> None:
    (chunk,) = page("● **Storage:** a hall of oil and wicks, dry in winter.\n").chunks()
    assert words_of(chunk) == "Storage: a hall of oil and wicks, dry"


def test_a_word_in_which_a_link_ends_is_not_among_the_words_that_a_chunk_is_found_by() -> None:
    text = "Of [Minnow](https://example.com/x)’s slightly bigger brother, which we have here"
    assert [words_of(chunk) for chunk in page(text).chunks()] == ["slightly bigger brother, which we have here"]


def test_words_that_a_style_keeps_wide_apart_are_not_what_a_chunk_is_found_by() -> None:
    html = "<p style='white-space: pre-wrap'>The code:  of all lamps in the <b>tower</b>"
    assert [words_of(chunk) for chunk in read(html, URL).chunks()] == ["of all lamps in the tower"]


def test_words_around_a_gap_between_elements_are_not_what_a_chunk_is_found_by() -> None:
    html = "<p><i>Add the lamp to &nbsp; </i> Compare</p><p>Or buy the lamp with its oil</p>"
    assert [words_of(chunk) for chunk in read(html, URL).chunks()] == ["Or buy the lamp with its oil"]


def test_a_heading_of_two_lines_is_not_what_a_chunk_is_found_by() -> None:
    html = "<h2>The lamp and<br>its oil</h2><p>Both stand in the tower</p>"
    assert [words_of(chunk) for chunk in read(html, URL).chunks()] == ["Both stand in the tower"]


def test_no_word_is_cut_among_those_that_a_chunk_is_found_by() -> None:
    words = [f"illumination{number}" for number in range(32)]
    text = " ".join(words)
    above = text[:300].rpartition(" ")[0]
    [_, second] = page(f"# A\n\n{' '.join(words[:20])}\n\n# B\n\n{text}").chunks()
    assert words_of(second) in ("B", above)


def test_the_colon_before_what_a_term_means_is_not_among_the_words_that_a_chunk_is_found_by() -> None:
    assert [words_of(chunk) for chunk in page("Joined\n: April of the year before last").chunks()] == [
        "April of the year before last"
    ]


def test_a_further_paragraph_of_a_note_is_text_and_no_code() -> None:
    text = "[^1]: See\n\n    2. The *oil* of [whales](https://example.com/whales) burns\n\n    Or gas.\n"
    found = page(text)
    assert [link.url for link in found.links] == ["https://example.com/whales"]
    assert [words_of(chunk) for chunk in found.chunks()] == ["The oil of whales burns"]


def test_a_chunk_all_of_whose_words_stand_earlier_on_the_page_has_no_address_that_leads_there() -> None:
    refrain = "The lamp burns at night.\n"
    first, _, third = page(f"# One\n\n{refrain}\n# Two\n\nThe keeper sleeps.\n\n# Two\n\n{refrain}").chunks()
    assert words_of(first) == "The lamp burns at night."
    assert "#" not in third.url


def test_sections_are_a_tree_with_the_ids_that_the_page_links_to() -> None:
    html = """<main><h1>Lamps</h1><p>Of many kinds, and all of them burn.</p>
    <section id="oil"><h2>Oil <a class="headerlink" href="#oil">¶</a></h2><p>Burns slowly, all the night.</p>
    <h3><a name="wick"></a>Wicks</h3><p>Made of cotton, cut often.</p></section>
    <h2 id="gas">Gas</h2><p>It hisses, and it is bright.</p></main>"""
    extracted = read(html, URL)

    def shape(sections: tuple[Section, ...]) -> list[object]:
        return [(each.level, each.title, each.id, shape(each.sections)) for each in sections]

    assert shape(extracted.sections) == [
        (1, "Lamps", None, [(2, "Oil", "oil", [(3, "Wicks", "wick", [])]), (2, "Gas", "gas", [])])
    ]
    oil = extracted.sections[0].sections[0]
    assert extracted.markdown[oil.start : oil.end].strip().endswith("cut often.")


def test_links_images_and_tables_of_the_content_are_values() -> None:
    html = """<main><h1>Lamps</h1><p>See <a href="/oil">oil <b>lamps</b></a>. <img src="a.png" alt="A lamp"></p>
    <table><tr><th>Name</th><th>Price</th></tr><tr><td><a href="x">Oil</a></td><td>1|2</td></tr></table></main>"""
    extracted = read(html, URL)
    assert [(each.text, each.url) for each in extracted.links] == [
        ("oil lamps", "https://example.com/oil"),
        ("Oil", "https://example.com/x"),
    ]
    assert [(each.text, each.url) for each in extracted.images] == [("A lamp", "https://example.com/a.png")]
    (table,) = extracted.tables
    assert (table.head, table.rows) == (("Name", "Price"), (("Oil", "1|2"),))
    assert json.dumps(extracted.pieces(["sections", "chunks", "links", "images", "tables"]))


@pytest.mark.long
def test_chromium_finds_every_chunk_by_its_address(chromium: Any) -> None:
    parts = [
        f"""<h2 id="p{number}">Part {number}</h2><p>Lamp {number}, of <b>brass</b>&mdash;and
        5&nbsp;% tin&mdash;&nbsp; is &nbsp;
        <a href="/x">rather-old</a>, a &amp; b.</p><div style="height:3000px"></div>
        <pre><code>lamp_{number} = burn(x, y - {number})\nprint()</code></pre><div style="height:3000px"></div>
        <p>Wide&nbsp; {number} gaps.</p><ul><li>第{number}盏灯，很旧的灯。</li>
        <li>Nummer {number}: größer als Öl</li></ul>
        <table><tr><th>Name {number}</th><th>Price</th></tr><tr><td>Olive {number}</td><td>3</td></tr></table>"""
        for number in range(8)
    ]
    html = f"<!doctype html><html><body><main><h1>Lamps</h1>{''.join(parts)}</main></body></html>"
    assert len(shown_by_addresses(chromium, html)) >= 15


@pytest.mark.long
def test_chromium_is_led_to_a_chunk_and_not_to_a_teaser_of_it_above(chromium: Any) -> None:
    (shown,) = shown_by_addresses(chromium, _TEASER.format("The keeper fills the lamps with oil of olives …"))
    assert "before the sun goes down" in shown


def shown_by_addresses(chromium: Any, html: str) -> list[str]:
    """What Chromium shows at the address of each chunk but the first."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        chunks = read(html, f"http://127.0.0.1:{server.server_port}/").chunks(60)
        seen = []
        tab = chromium.new_page()
        try:
            for chunk in chunks[1:]:
                place, _, words = chunk.url.partition("#")
                tab.goto("about:blank")
                tab.goto(f"{place}#:~:text={words.partition(':~:text=')[2]}")  # without the id, which leads there too
                shown = tab.evaluate(_SHOWN)
                assert shown[0] > 0, chunk.url
                seen.append(" ".join(shown[1].split()))
                assert words_of(chunk) in seen[-1], chunk.url
        finally:
            tab.close()
            server.shutdown()
    return seen


_SHOWN = """() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); const seen = [];
  while (walker.nextNode()) {
    const range = document.createRange(); range.selectNodeContents(walker.currentNode);
    const box = range.getBoundingClientRect();
    if (box.bottom > 0 && box.top < innerHeight) seen.push(walker.currentNode.data);
  }
  return [scrollY, seen.join("")];
}"""
