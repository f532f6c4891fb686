"""Which parts of a page are its content, what is said of the rest, and how sure that is."""

import gzip
import json
import random
import re
from array import array
from collections import Counter
from pathlib import Path

import pytest
from commands import ALLOW, comity
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from sites import Site
from test_retrieve import got

import comity as package
from comity.retrieve import json_schema
from comity_pages.content._forest import Forest
from comity_pages.extraction import read

URL = "https://example.com/blog/how-lamps-burn"
SENTENCE = "The lamp burns at night, and by day it is put out by the keeper of the house. "
LINKS = "".join(f'<li><a href="/{n}">Another thing to read {n}</a>' for n in range(12))
PAGE = f"""<title>How lamps burn | The island</title>
<div class="site-header"><ul class="menu">{LINKS}</ul></div>
<div class="post"><h1>How lamps burn</h1><p>{SENTENCE * 4}</p><h2>Oil</h2><p>{SENTENCE * 5}</p>
<pre><code>oil = 3
lamp(oil)</code></pre><p>{SENTENCE * 3}</p></div>
<div class="comments"><p>First!</p></div>
<div class="cookie-banner">We use cookies. <button>Accept</button></div>
<div class="site-footer">© The island. All rights reserved.<ul>{LINKS}</ul></div>"""


# covers: W14
def test_a_page_without_landmarks_loses_its_menus_and_keeps_its_content() -> None:
    markdown = read(PAGE, URL).markdown
    assert markdown.startswith("# How lamps burn\n\nThe lamp burns")
    assert "## Oil" in markdown
    assert "```\noil = 3\nlamp(oil)\n```" in markdown
    assert "Another thing" not in markdown
    assert "All rights reserved" not in markdown


# covers: W14
def test_what_is_left_out_is_counted_and_named() -> None:
    page = read(PAGE, URL)
    places = {each.place: each for each in page.left_out}
    assert {"footer", "overlay"} <= set(places)
    assert places["footer"].words >= 60
    assert places["footer"].excerpt.startswith("© The island")
    assert sum(each.words for each in page.left_out) >= 120
    assert list(page.left_out) == sorted(page.left_out, key=lambda each: -each.words)


# covers: W14
def test_all_keeps_whatever_a_person_would_see() -> None:
    page = read(PAGE, URL, content="all")
    assert page.left_out == ()
    assert page.agreement is None
    assert page.markdown.count("Another thing") == 24
    assert "All rights reserved" in page.markdown


STEPS = "".join(f"<p>Step {n}: {SENTENCE}" for n in range(1, 6))


# covers: W14
def test_a_part_that_the_page_shows_twice_stands_there_once_and_is_named() -> None:
    narrow = f'<div class="for-phones">{STEPS}</div>'
    page = read(f"<title>T</title><main><h1>How lamps burn</h1><p>{SENTENCE * 3}</p>{STEPS}{narrow}</main>", URL)
    for number in range(1, 6):
        assert page.markdown.count(f"Step {number}: The lamp") == 1
    assert sum(each.words for each in page.left_out) >= 5 * 18
    everything = read(f"<main><p>{SENTENCE * 3}</p>{STEPS}{narrow}</main>", URL, content="all").markdown
    assert everything.count("Step 5: The lamp") == 2


@pytest.mark.parametrize(
    "row",
    ["<pre>lamp = Lamp(oil=3, wick=1, glass=True, place='tower', keeper='Ada', nights=7)</pre>", "<p>Put it out."],
)
def test_code_and_short_sentences_stand_as_often_as_they_are_written(row: str) -> None:
    parts = "".join(f"<h2>Room {n}</h2><p>In room {n} there is a lamp. {SENTENCE * 2}</p>{row}" for n in range(3))
    markdown = read(f"<title>Rooms</title><main><h1>Rooms</h1>{parts}</main>", URL).markdown
    assert markdown.count(row.partition(">")[2].partition("<")[0]) == 3


# covers: W14
@pytest.mark.parametrize(
    "page",
    [
        "<h1>Song</h1>" + "".join(f"<p>Verse {n}. {SENTENCE * 2}</p><p>{SENTENCE * 2}</p>" for n in range(4)),
        "<h1>Methods</h1><dl>"
        + "".join(f"<dt>light{n}()<dd><p>Lights lamp {n} of the tower.</p><p>{SENTENCE * 2}</p>" for n in range(4))
        + "</dl>",
    ],
    ids=["a refrain", "entries of a reference"],
)
def test_what_the_author_says_more_than_once_stands_there_as_often(page: str) -> None:
    markdown = read(f"<title>T</title><main>{page}</main>", URL).markdown
    assert markdown.count(SENTENCE.strip()) >= 8


@pytest.mark.parametrize(
    "aside",
    [
        "<aside class=note>{}</aside>",
        '<aside class="c-callout c-callout--danger"><h4>Danger</h4><p>{}</p></aside>',
        '<aside role=note class="box"><p>{}</p></aside>',
        '<div class="admonition Warning"><p class="admonition-title">Warning</p><p>{}</p></div>',
        '<section class="notecard"><p><strong>Note:</strong> {}</p></section>',
        '<aside class="caution"><strong>Caution:</strong><span> {}</span></aside>',
    ],
)
@pytest.mark.parametrize("page", ["<h1>Lamps</h1>{}", "<main><article><h1>Lamps</h1>{}</article></main>"])
def test_what_an_author_warns_of_beside_the_text_stays_with_it(aside: str, page: str) -> None:
    warning = "Never open the tank while the lamp is lit: the oil burns at once."
    plain = [f"<p>{SENTENCE.replace('lamp', each) * 3}</p>" for each in "lamp light lantern candle torch fire".split()]
    for before, behind in ((1, 0), (0, 1), (len(plain), 0)):
        text = "".join((*plain[:before], aside.format(warning), *plain[before : before + behind]))
        kept = read(f"<title>Lamps</title><nav><a href=/>Home</a></nav>{page.format(text)}", "https://example.com/")
        assert warning in kept.markdown


@pytest.mark.parametrize(
    "banner",
    [
        '<div class="cookie-warning" role="dialog"><p>{}</p><button>OK</button></div>',
        '<aside class="cookie-warning"><p>{}</p></aside>',
        '<div class="newsletter important"><p>{}</p><form><input name=m><button>Subscribe</button></form></div>',
        '<div class="browser-warning" role="dialog"><p>{}</p></div>',
        '<div class="share-tip social" role="dialog"><p>{}</p></div>',
    ],
)
def test_a_banner_of_the_site_is_no_warning_of_the_author(banner: str) -> None:
    said = "We use small files to make your visit better."
    text = "".join(f"<p>{n}. {SENTENCE.replace('lamp', 'lantern') * 3}</p>" for n in range(14))
    page = f"<title>Lamps</title><article><h1>Lamps</h1>{text}{banner.format(said)}</article>"
    assert said not in read(page, "https://example.com/").markdown


def test_links_and_offers_that_are_called_a_note_are_left_out_as_before() -> None:
    text = "".join(f"<p>{SENTENCE.replace('lamp', each) * 3}</p>" for each in "lamp light lantern candle".split())
    links = (
        "<aside class=note><ul>"
        + "".join(f"<li><a href=/{n}>Read about lamp {n}</a>" for n in range(9))
        + "</ul></aside>"
    )
    page = f"<title>Lamps</title><main><h1>Lamps</h1>{text}</main><div>{links}</div>"
    assert "Read about" not in read(page, "https://example.com/").markdown


def test_headlines_of_other_stories_below_an_article_are_not_part_of_it() -> None:
    body = "".join(f"<p>{n}. {SENTENCE * 4}</p>" for n in range(12))
    others = "".join(
        f"<div class=card><h3><a href=/{n}>The keeper of tower {n} retires</a></h3><p>{SENTENCE}</p></div>"
        for n in range(4)
    )
    html = f"<title>Lamps</title><div class=story><h1>Lamps</h1>{body}<div>{others}</div></div>"
    markdown = read(html, URL).markdown
    assert "11\\. The lamp" in markdown or "11. The lamp" in markdown
    assert "retires" not in markdown


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("灯塔的灯每天晚上都会亮起来，为过往的船只指引方向。", 10, 14),
        ("灯台の明かりは毎晩ともされます。", 6, 9),
        ("ประภาคารส่องสว่างทุกคืนเพื่อนำทางเรือ", 6, 10),
        ("Двенадцать слов", 2, 2),
        ("lamp 灯塔", 2, 2),
        ("हिन्दी में तीन", 3, 3),
        ("שָׁלוֹם עֲלֵיכֶם", 2, 2),
        ("Donau\xaddampf\xadschiff", 1, 1),
    ],
)
def test_words_are_counted_in_scripts_without_spaces_too(text: str, least: int, most: int) -> None:
    from comity_pages.content import blocks
    from comity_pages.html import tree

    page = tree.parse(f"<p>{text}</p>", URL)
    (block,) = blocks.split_blocks(page, set())
    assert least <= block.words <= most


def test_how_sure_the_choice_is_goes_into_the_score() -> None:
    page = read(PAGE, URL)
    assert page.agreement is not None
    assert 0.5 < page.agreement <= 1.0


@pytest.mark.parametrize(
    "html",
    [
        "<main><p>Text<aside><p>A note of the author</aside></main>",
        "<main><p>Text<aside class=footnote role=doc-footnote>1. A note of the author</aside></main>",
        "<article><blockquote><p>Text<footer>A note of the author</footer></blockquote></article>",
        "<form action=/><h1>Text</h1><p>A note of the author<input></form>",
    ],
)
def test_notes_and_pages_in_forms_are_content(html: str) -> None:
    markdown = read(f"<title>T</title><nav>Menu</nav>{html}", URL).markdown
    assert "Text" in markdown
    assert "A note of the author" in markdown
    assert "Menu" not in markdown


# covers: W13
def test_the_result_and_the_command_say_what_was_left_out(site: Site) -> None:
    site.set("/blog/lamps", PAGE)
    result = got(site.url("/blog/lamps"), strategy="disabled")
    values = result.to_dict()
    Draft202012Validator(json_schema()).validate(values)
    assert {each["place"] for each in values["left_out"]} >= {"footer"}
    words = ("fetch", site.url("/blog/lamps"), *ALLOW, "-A", "MyBot/1.0", "--strategy", "disabled")
    assert "left out (number of words): " in comity(*words).stderr
    assert "All rights reserved" in comity(*words, "--content", "all").stdout
    with pytest.raises(package.InvalidSetting, match="most"):
        got(site.url("/blog/lamps"), content="most")


# covers: W14
def test_of_documentation_all_is_kept_that_its_generator_marks_as_content() -> None:
    terms = "".join(f"<dl><dt><code>lamp({n})</code><dd></dl><pre>x</pre>" for n in range(30))
    head = '<title>T</title><meta name="generator" content="Docutils 0.19">'
    page = read(f"{head}<ul>{LINKS}</ul><div role=main><h1>T</h1><p>{SENTENCE * 4}</p>{terms}</div>", URL)
    assert all(f"`lamp({n})`" in page.markdown for n in range(30))
    assert "Another thing" not in page.markdown


# The trees


@pytest.mark.both_forms
@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5)), max_size=8))
def test_trees_are_asked_as_they_were_fitted(rows: list[tuple[float, float]]) -> None:
    forest = Forest(2, [0, 3], [0, -1, -1, 1, -1, -1], [1.0, -2.0, 3.0, 0.0, 0.5, -0.5], [2, 0, 0, 5, 0, 0])
    found = forest.chances(array("d", [number for row in rows for number in row]))
    assert len(found) == len(rows)
    for (first, second), chance in zip(rows, found, strict=True):
        total = (-2.0 if first <= 1.0 else 3.0) + (0.5 if second <= 0.0 else -0.5)
        assert chance == pytest.approx(1 / (1 + 2.718281828459045**-total))


@pytest.mark.parametrize(
    "table",
    [
        (1, [5], [-1], [0.0], [0]),
        (1, [0], [0], [0.0], [0]),
        (1, [0], [3, -1, -1], [0.0] * 3, [2, 0, 0]),
        (1, [0], [0, -1, -1], [0.0] * 3, [0, 0, 0]),
        (1, [0], [-1], [], [0]),
    ],
)
def test_a_table_that_leads_nowhere_is_refused(table: tuple[int, list[int], list[int], list[float], list[int]]) -> None:
    with pytest.raises(ValueError, match="forest"):
        Forest(*table)


# Real pages


def sample(corpus: Path, count: int) -> list[tuple[dict[str, str], str]]:
    if not (corpus / "pages").is_dir():
        pytest.skip("the corpus of pages is not here")
    lines = gzip.decompress((corpus / "pages" / "truth.jsonl.gz").read_bytes()).decode().split("\n")
    rows = random.Random(4).sample([json.loads(line) for line in lines if line], count)
    return [
        (
            row,
            gzip.decompress((corpus / "pages" / "html" / f"{row['id']}.html.gz").read_bytes()).decode(
                "utf-8", "replace"
            ),
        )
        for row in rows
    ]


def agreement(markdown: str, content: str) -> float:
    label = r"((?:[^\[\]\\]|\\.)*)"
    text = re.sub(rf"\[{label}\]\([^()]*\)", r"\1", re.sub(rf"!\[{label}\]\([^()]*\)", " ", markdown))
    found, wanted = (Counter(re.findall(r"\w+", each.lower())) for each in (text.replace("\\", ""), content))
    total = sum(found.values()) + sum(wanted.values())
    return 2 * sum((found & wanted).values()) / total if total else 1.0


# covers: W14
def test_real_pages_are_read_whole_and_well(corpus: Path) -> None:
    """Not one is refused or cut; make bench-extraction has the figures for all of them."""
    found = []
    for row, html in sample(corpus, 30):
        page = read(html, row["url"] or "https://example.com/")
        assert not page.truncated, row["id"]
        found.append(agreement(page.markdown, row["content"]))
    assert sum(found) / len(found) > 0.82


@pytest.mark.long
def test_no_real_page_is_refused_or_cut(corpus: Path) -> None:
    wrong = []
    for row, html in sample(corpus, 1497):
        page = read(html, row["url"] or "https://example.com/", convert=False)
        assert not page.truncated, row["id"]
        if page.judgement.kind != "page" and len(re.findall(r"\w+", row["content"])) >= 50:
            wrong.append((row["id"], page.judgement))
    assert len(wrong) <= 7, wrong  # 0.5 % of them


def test_an_image_that_leads_to_where_a_page_is_shared_is_no_content() -> None:
    story = "".join(
        f"<p>{number}. The keeper climbs two hundred steps with oil and matches, each night.</p>" for number in range(9)
    )
    buttons = "".join(
        f'<a href="{link}"><img src="/{number}.png" alt="Share"></a>'
        for number, link in enumerate(
            ("https://www.facebook.com/sharer.php?u=a", "https://x.com/intent/post?url=a", "mailto:?body=a", "/lamp")
        )
    )
    html = f"<title>Lamps</title><h1>Lamps</h1>{story}<p>{buttons}</p>{story}"
    written = read(html, "https://example.com/").markdown
    assert [f"/{number}.png" in written for number in range(4)] == [False, False, False, True]
    assert written.count(".png") == 1
    assert read(html, "https://example.com/", content="all").markdown.count(".png") == 4


def test_linked_images_before_and_after_the_content_are_no_content() -> None:
    story = "".join(
        f"<p>{number}. The keeper climbs two hundred steps with oil and matches, each night.</p>" for number in range(9)
    )
    html = f"""<a href="/"><img src="/logo.png" alt="The Lamp Paper"></a><h1>Lamps</h1><img src="/lamp.png" alt="Lit">
    {story}<a href="/wick"><img src="/wick.png" alt="A wick"></a>{story}<img src="/night.png" alt="By night">
    <ul><li><a href="/buy"><img src="/buy.png" alt="Oil, cheap"></a></li></ul>"""
    written = read(html, "https://example.com/").markdown
    images = ("lamp", "wick", "night", "logo", "buy")
    assert [f"/{name}.png" in written for name in images] == [True, True, True, False, False]
    assert read(html, "https://example.com/", content="all").markdown.count(".png") == 5


def test_texts_below_an_article_that_each_have_a_linked_headline_are_other_stories() -> None:
    story = "".join(
        f"<p>On night {number} the keeper climbs two hundred steps with oil and matches, and lights the lamp, because "
        "the ships that pass the island in winter have nothing else to go by when clouds hide the moon.</p>"
        for number in range(9)
    )
    cards = "".join(
        f"""<div class="entry n{number}"><h3><a href="/{number}">How the harbour of {name} was built</a></h3>
        <p>{name} was nothing but a beach where nets dried, until the year in which a storm took half of its boats.
        The people who were left cut stones in the hills, rolled them down to the water, and laid them in a ring that
        no wave has broken since. It took them eleven winters and it cost them whatever they had.</p></div>"""
        for number, name in enumerate(("Ardhaven", "Brinmouth", "Calder", "Dunmore"))
    )
    html = f"<title>Lamps</title><main><article><h1>Lamps</h1>{story}</article><div>{cards}</div></main>"
    written = read(html, "https://example.com/lamps").markdown
    assert written.count("On night") == 9
    assert "nets dried" not in written


def test_the_posts_of_a_front_page_all_keep_their_linked_headings() -> None:
    texts = (
        "The lamp on the north pier was lit again in spring after ten years in which nobody had climbed the tower.",
        "Its keeper walks out along the wall each evening and carries the oil in two tin cans of her own.",
        "The council had wanted to sell the tower, but no buyer would take on the stairs, the damp and the gulls.",
    )
    posts = "".join(
        f"""<article class="post hentry"><header class="entry-header"><h2 class="entry-title"><a href="/{number}">Story
        number {number}</a></h2></header><div class="entry-content"><p>{text} {SENTENCE}</p></div></article>"""
        for number, text in enumerate(texts)
    )
    html = f"""<title>Lamps</title><header><h1><a href="/">Lamps</a></h1></header><div id="content"><main>{posts}</main>
    </div><footer>Powered by oil</footer>"""
    written = read(html, "https://example.com/").markdown
    assert [f"## [Story number {number}](" in written for number in range(3)] == [True] * 3


def test_many_linked_images_before_a_text_cost_no_more_than_their_number() -> None:
    images = '<a href="/x"><img src="/x.png" alt="x"></a> ' * 400
    html = f"<h1>Lamps</h1><p>{images}end of the row</p><p>{'The keeper lights the lamp each night. ' * 20}</p>"
    assert read(html, "https://example.com/", seconds=5).markdown.count("x.png") == 400


STORY = "".join(
    f"<p>On night {number} the keeper climbs two hundred steps with oil and matches, and lights the lamp, because the "
    "ships that pass the island in winter have nothing else to go by when clouds hide the moon.</p>"
    for number in range(9)
)


@pytest.mark.parametrize(
    "shell",
    [
        '<div id="comments"><h3>3 thoughts</h3><ol class="commentlist">{}</ol></div>',
        '<section class="kommentare"><h3>Leserbriefe</h3>{}</section>',
        '<div class="box x1"><div id="sf_comment_list">{}</div></div>',
        '<aside><div itemprop="comment" itemscope itemtype="https://schema.org/Comment">{}</div></aside>',
    ],
)
def test_what_readers_say_below_an_article_is_not_part_of_it(shell: str) -> None:
    remarks = "".join(
        f"<li class='c{number}'><a href=/u{number}>Reader {number}</a> <a href=#r>Reply</a><p>I was there in "
        f"{1950 + number} when my uncle still rowed the oil across, and what nobody writes is how cold it was, "
        "and how he sang on all of them.</p></li>"
        for number in range(6)
    )
    html = f"<title>Lamps</title><article><h1>Lamps</h1>{STORY}{shell.format(remarks)}</article>"
    page = read(html, "https://example.com/lamps")
    assert page.markdown.count("On night") == 9
    assert "my uncle" not in page.markdown
    assert "comments" in {each.place for each in page.left_out}
    thread = '<script type="application/ld+json">{"@type": "DiscussionForumPosting"}</script>'
    assert "my uncle" in read(thread + html, "https://example.com/lamps").markdown


@pytest.mark.parametrize(
    "data",
    ['{"a": 1} {"articleBody"', '"articleBody":"' * 9_000, '"articleBody":"\\' * 9_000, '{"articleBody": 3, "b": [["x'],
    ids=["no value", "nothing but keys", "no end", "no text"],
)
def test_data_that_state_the_text_of_an_article_badly_are_read_to_their_end(data: str) -> None:
    html = f"<script type=application/ld+json>{data}</script><article><h1>Lamps</h1>{STORY}</article>"
    assert read(html, "https://example.com/lamps", seconds=5).markdown.count("On night") == 9


@pytest.mark.parametrize(
    ("markup", "shown"),
    [
        ("<p><a href=/p.pdf>Download PDF</a></p>{story}", "[Download PDF](https://example.com/p.pdf)"),
        ("{story}<h2>References</h2><ol><li>Smith, 2019<li>Jones, 2020</ol>", "2. Jones, 2020"),
        ("{story}<p><b>Quellen:</b></p><ul><li><a href=/1>Smith</a></ul>", "- [Smith](https://example.com/1)"),
        ("{story}<h3>参考文献</h3><ul><li>Smith</ul>", "参考文献"),
        ("<blockquote>Light is all.<footer>Ann Keeper</footer></blockquote>{story}", "> Ann Keeper"),
        ("<figure><blockquote>Light.</blockquote><figcaption>Ann Keeper</figcaption></figure>{story}", "Ann Keeper"),
    ],
)
def test_what_belongs_to_an_article_stays_with_it(markup: str, shown: str) -> None:
    html = f"<nav><a href=/>Home</a></nav><article><h1>Lamps</h1>{STORY}{markup.format(story=STORY)}</article>"
    assert shown in read(html, "https://example.com/lamps").markdown


def test_comments_in_code_and_sections_about_comments_are_content() -> None:
    remark = "light the lamp, then climb down " * 5
    code = f'<pre><code><span class="hljs-comment"># {remark}</span>\nlamp --on</code></pre>'
    section = f"<section id=comments><h2>Comments in lamp files</h2><p>{SENTENCE * 3}</p></section>"
    html = f"<title>Lamps</title><article><h1>Lamps</h1>{STORY}{section}{STORY.replace('night', 'day')}{code}</article>"
    written = read(html, "https://example.com/lamps").markdown
    assert "# light the lamp" in written
    assert "## Comments in lamp files\n\nThe lamp burns" in written


def test_the_text_of_an_article_that_the_page_states_tells_what_belongs_to_it() -> None:
    remark = "The editors of this paper are members of the harbour's council and have said so before."
    after = f"<p>{remark}</p><p>{remark.replace('council', 'club')}</p>"
    quote = "<div class=x><p>Steps: two hundred, and none of them dry in winter.</p></div>"
    html = f"<title>Lamps</title><div><h1>Lamps</h1>{STORY}{quote}{STORY.replace('night', 'day')}{after}</div>"
    assert remark in read(html, "https://example.com/lamps").markdown
    text = re.sub("<[^>]+>", " ", STORY + quote + STORY.replace("night", "day"))
    data = json.dumps({"@type": "NewsArticle", "articleBody": text})
    written = read(f"<script type=application/ld+json>{data}</script>{html}", "https://example.com/lamps").markdown
    assert "editors" not in written
    assert "none of them dry" in written
    excerpt = json.dumps({"@type": "NewsArticle", "articleBody": text[: len(text) // 2]})
    written = read(f"<script type=application/ld+json>{excerpt}</script>{html}", "https://example.com/lamps").markdown
    assert "On day 8" in written
    assert "editors" in written


def test_what_is_said_twice_among_parts_alike_stays_as_they_do() -> None:
    answers = (
        "The lamp smokes at night and the glass turns black, whatever oil I take for it here.",
        *("Shorten the wick.", "Take other oil.", "Done.", "Done.", "Thanks.", "It smokes as before, only less so."),
        "Then clean the glass with paper, not water.",
    )
    rows = "".join(f"<div class=row><p>{said}</p><a href=/u>Reader {n}</a></div>" for n, said in enumerate(answers))
    html = f"<title>Lamps</title><ul class=menu>{LINKS}</ul><h1>Lamps</h1>{rows}<div class=foot>{LINKS}</div>"
    assert read(html, "https://example.com/x").markdown.count("Done.") == 2


def test_news_in_an_aside_below_an_article_are_not_part_of_it() -> None:
    news = "".join(
        f"<li><span>12:2{n}</span><p>The minister said on the radio this morning that boat {n} would not "
        "leave before the storm was over, and that nobody had asked him."
        for n in range(6)
    )
    html = f"<title>Lamps</title><main><article><h1>Lamps</h1>{STORY}</article><aside><ul>{news}</ul></aside></main>"
    assert "minister" not in read(html, "https://example.com/lamps").markdown


def test_what_asks_to_subscribe_within_a_quote_is_not_part_of_it() -> None:
    quote = f'<blockquote><p>{SENTENCE}</p><div class="promo newsletter"><a href=/f>Subscribe</a></div></blockquote>'
    html = f"<nav><a href=/>Home</a></nav><article><h1>Lamps</h1>{STORY}{quote}{STORY}</article>"
    written = read(html, "https://example.com/lamps").markdown
    assert "> The lamp burns" in written
    assert "Subscribe" not in written


@pytest.mark.parametrize(("left_out", "kept"), [("Yes", True), ("Brass and glass", False)])
def test_a_table_of_which_most_is_kept_is_kept_whole(left_out: str, kept: bool) -> None:
    from comity_pages.content import blocks, content
    from comity_pages.html import tree

    row = "<tr><td>Yes<td>Brass and glass<td>Yes"
    page = tree.parse(f"<p>Yes<table>{row * 3}</table>", URL)
    cut = blocks.split_blocks(page, set())
    for block in cut:
        block.kept = left_out not in block.text
    content._keep_tables(cut)
    assert all(block.kept for block in cut[1:]) is kept
    assert cut[0].kept is (left_out != "Yes")


@pytest.mark.parametrize(
    "heading",
    [
        "<h1>How <span>lamps</span> burn</h1>",
        "<h1><span>How lamps burn</span></h1>",
        f'<h1><a href="{URL}">How lamps burn</a></h1>',
        '<h1><a href="#top"><span>How lamps burn</span></a></h1>',
        "<h1><div><font>How lamps burn</font></div></h1>",
        "<div role=heading aria-level=1><b>How lamps burn</b></div>",
    ],
)
@pytest.mark.parametrize(
    "around", ["<main>{}<div class=post>{}</div></main>", "<div class=head>{}</div><section>{}</section>"]
)
def test_the_heading_of_a_page_is_kept_whatever_stands_in_it(heading: str, around: str) -> None:
    body = around.format(heading, f"<p>{SENTENCE * 4}" * 6)
    page = read(f"<title>How lamps burn</title><ul class=menu>{LINKS}</ul>{body}", URL)
    first = re.sub(r"\[(.*)\]\(.*\)|[*]", r"\1", page.markdown.partition("\n")[0])
    assert first == "# How lamps burn"


def test_a_site_s_name_in_a_heading_that_leads_home_is_no_heading_of_the_page() -> None:
    page = read(f'<div class=head><h1><a href="/"><b>The island</b></a></h1></div><div><p>{SENTENCE * 9}</div>', URL)
    assert page.markdown.startswith("The lamp burns")


def test_the_words_of_a_short_form_are_kept_whatever_stands_in_its_paragraphs() -> None:
    page = read("<form><p>Lamps to let</p><p><b>Bring your own oil</b></p><label>Name</label><input></form>", URL)
    assert page.markdown == "Lamps to let\n\n**Bring your own oil**\n"


SAID = "At most so many entries are given back, and the others come with the next page."


@pytest.mark.parametrize(
    "page",
    [
        (
            "<h2>List lamps</h2><h4>limit</h4><p>{0}</p><p>{1}</p>"
            "<h2>List tools</h2><div class=opt><h4>limit</h4><p>{0}</p><p>{1} Two.</p></div>"
        ),
        "<h2>1. Sale</h2><p>{0}</p><p>{1}</p><h2>2. Hire</h2><div class=clause><p>{0}</p></div><p>{1} Twice.</p>",
        "<div class='admonition warning'><p>{0}</p></div><p>{1}</p><blockquote class=warning><p>{0}</p></blockquote>",
        "<dl><dt>limit<dd>{0}</dl><p>{1}</p><section class=more><ul><li>{0}</li></ul></section>",
        "<h2>Oil</h2><div><p>{0}</p><p>{1}</p></div><h2>Gas</h2><article><p>{0}</p><p>Ask the keeper.</p></article>",
    ],
)
def test_a_sentence_that_is_true_of_two_things_is_said_of_both(page: str) -> None:
    around = "".join(f"<p>Part {n}. {SENTENCE * 3}</p>" for n in range(3))
    html = f"<title>T</title><main><h1>Lamps</h1>{around}{page.format(SAID, SENTENCE)}{around}</main>"
    assert read(html, URL).markdown.count(SAID) == 2


def test_a_quote_of_a_post_stands_there_once() -> None:
    quote = f"<blockquote class=quote><p>{SAID}</p></blockquote>"
    posts = f"<div class=post><p>{SAID}</p></div><div class=post>{quote}<p>No.</div>"
    page = read(f"<title>T</title><main><h1>Lamps</h1><p>{SENTENCE * 4}</p><div class=thread>{posts}</div></main>", URL)
    assert page.markdown.count(SAID) == 1
