"""What an llms.txt says, and which URLs it suggests in place of a page."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity_pages import urls
from comity_pages.errors import InvalidSetting, InvalidURL
from comity_pages.signals.llms import MAX_LINKS, MAX_SIZE, Candidate, LlmsLink, LlmsSection, LlmsTxt, candidates, parse

URL = "https://h.example/llms.txt"
LIBRARY = """# The library #

> Everything the islands
> wrote down.

Open from ten to four.

- no link here

## Rooms

- [Reading room](https://h.example/reading-room.md): the quiet one
- [Guide](guide/index.html.md) \u2013 for visitors
* **[Catalogue](/catalogue_(old) "A title")**: *large*
1. [Angles](<https://h.example/a b>)
- <https://h.example/auto>
- https://h.example/bare: as text

### Cellar

- [[Beta] Wine \\] list](https://h.example/wine)

```
- [code](https://h.example/code)
```

## Empty

## Optional

- [Attic](https://h.example/attic)
"""


def library() -> LlmsTxt:
    return parse(LIBRARY, URL)


def listed(*links: str) -> LlmsTxt:
    return parse("# T\n" + "".join(f"- [n]({link})\n" for link in links), URL)


def test_title_summary_and_text_stand_above_the_sections() -> None:
    found = library()
    assert found.title == "The library"
    assert found.summary == "Everything the islands\nwrote down."
    assert found.text == "Open from ten to four.\n\n- no link here"
    assert found.problem is None


def test_sections_hold_links_with_names_and_notes() -> None:
    rooms, empty, optional = library().sections
    assert (rooms.name, empty.name, optional.name) == ("Rooms", "Empty", "Optional")
    assert rooms.links == (
        LlmsLink("Reading room", "https://h.example/reading-room.md", "the quiet one", 12),
        LlmsLink("Guide", "https://h.example/guide/index.html.md", "for visitors", 13),
        LlmsLink("Catalogue", "https://h.example/catalogue_(old)", "*large*", 14),
        LlmsLink("Angles", "https://h.example/a%20b", "", 15),
        LlmsLink("", "https://h.example/auto", "", 16),
        LlmsLink("", "https://h.example/bare", "as text", 17),
        LlmsLink("[Beta] Wine \\] list", "https://h.example/wine", "", 21),
    )
    assert empty.links == ()


LINK = "- [a](https://h/a)"


@pytest.mark.parametrize(
    "text",
    [
        "```pip install x``` is enough",
        "``` a `b` c",
        "``",
        "    ```",
        "```\ncode\n```",
        "```js\ncode\n```",
        "````\n```\n````",
        "```\n`````  ",
        "~~~ a ~~~ b ` c\n```\n~~~",
        "```\n    ```\n```",
    ],
)
def test_a_list_after_code_is_read(text: str) -> None:
    assert [link.url for link in parse(f"# T\n{text}\n{LINK}\n", URL).links] == ["https://h/a"]


@pytest.mark.parametrize(
    "text",
    ["```", "```\n```js", "````\n```", "```\n~~~", "~~~\n~~~ x", "```\n``` ```", "   ~~~~ a\n~~~", "```\n    ```"],
)
def test_a_list_inside_code_is_not_read(text: str) -> None:
    assert parse(f"# T\n{text}\n{LINK}\n", URL).links == ()


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("# Using C#", "Using C#"),
        ("# Title ##", "Title"),
        ("# Title #\t", "Title"),
        ("# Title\t###", "Title"),
        ("# #", ""),
        ("# a ## b", "a ## b"),
        ("# C# #", "C#"),
    ],
)
def test_a_heading_loses_only_a_closing_sequence_that_stands_apart(line: str, title: str) -> None:
    assert parse(line, URL).title == title
    assert parse(f"#{line}", URL).sections == ((LlmsSection(title, ()),) if title else ())


def test_optional_links_come_last() -> None:
    assert [section.optional for section in library().sections] == [False, False, True]
    assert parse("## Optional\n- [a](/a)\n## B\n- [b](/b)", URL).links[0].name == "b"


def test_links_above_the_first_section_are_read_too() -> None:
    assert [(section.name, len(section.links)) for section in listed("/a", "/b").sections] == [("", 2)]


@pytest.mark.parametrize("body", [LIBRARY.encode(), b"\xef\xbb\xbf" + LIBRARY.encode(), LIBRARY.replace("\n", "\r\n")])
def test_bytes_marks_and_line_ends_make_no_difference(body: bytes | str) -> None:
    assert parse(body, URL) == library()


@pytest.mark.parametrize("body", [b"<!DOCTYPE html><h1>Not found</h1>", "\n<html><li>"])
def test_an_error_page_is_no_llms_txt(body: bytes | str) -> None:
    assert parse(body, URL) == LlmsTxt(URL, problem="an HTML page, not an llms.txt")


# covers: W5
@pytest.mark.parametrize(
    "reference",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "ftp://h.example/",
        "data:text/plain,x",
        "https://user@h.example/",
        "https://:secret@h.example/",
        "https://h.example@evil.example/",
        "https://h.example/\x00",
        "https://h.example/\x7f",
        "https://h.example/\u0085",
        "https://",
        "http://[::1/",
        "http://256.256.256.256/",
    ],
)
def test_a_link_is_an_http_url_without_credentials_and_control_characters_or_it_is_dropped(reference: str) -> None:
    found = parse(f"# T\n## S\n- [x](<{reference}>)\n- [y](https://h.example/y)", URL)
    assert [link.name for link in found.links] == ["y"]
    assert found.dropped == 1


# covers: W5
def test_a_link_to_a_private_address_is_only_a_url_to_be_checked() -> None:
    assert listed("http://0x7f.1/").links[0].url == "http://127.0.0.1/"
    assert candidates("https://h.example/", listed("http://169.254.169.254/", "http://0x7f.1/")) == candidates(
        "https://h.example/", listed("https://h.example/other")
    )


def test_what_is_too_much_is_cut_and_counted() -> None:
    many = listed(*(f"/{number}" for number in range(MAX_LINKS + 7)))
    assert (len(many.links), many.dropped, many.problem) == (MAX_LINKS, 7, "only the first 10,000 links were read")
    long = parse(b"# T\n" + b"x" * MAX_SIZE, URL)
    assert long.title == "T"
    assert long.problem == f"only the first {MAX_SIZE:,} bytes were read"
    assert len(long.text) < 100_000
    assert parse("\n" * 300_000, URL).problem == "only the first 250,000 lines were read"


def test_a_full_text_gives_title_and_links_and_keeps_none_of_the_rest() -> None:
    full = "# The library\n\n> All of it.\n\n" + "## Chapter\n\nWords.\n- [Room](/room)\n" * 3
    found = parse(full, "https://h.example/llms-full.txt")
    assert (found.title, found.summary, found.text) == ("The library", "All of it.", "")
    assert len(found.links) == 3


@pytest.mark.parametrize(
    "unit", ["- [", "- [[a]", "- [a](", "- [a](b(", "- [\\", '- [a](b "', "> ", "#", "- [a]((", "`", "- https://"]
)
def test_no_line_takes_long(unit: str) -> None:
    started = time.process_time()
    parse((unit * 3000 + "\n") * 50, URL)
    parse(unit * 300_000, URL)
    assert time.process_time() - started < 30


# covers: W12
def test_candidates_come_in_the_order_of_trust() -> None:
    llms = listed("http://www.h.example/page.html", "https://h.example/page.md", "https://h.example/page", "/other")
    assert candidates("https://h.example/page#part", llms) == (
        Candidate("https://h.example/page", "llms_exact"),
        Candidate("https://h.example/page.md", "llms_loose"),
        Candidate("http://www.h.example/page.html", "llms_loose"),
    )
    assert candidates("https://h.example/new", llms) == (
        Candidate("https://h.example/new.md", "markdown_variant"),
        Candidate("https://h.example/new", "original"),
    )
    assert candidates("https://h.example/new/", llms) == (
        Candidate("https://h.example/new/index.html.md", "index_markdown"),
        Candidate("https://h.example/new/", "original"),
    )


# covers: W12
@pytest.mark.parametrize(
    ("link", "page"),
    [
        ("https://h.example/a.md", "https://h.example/a"),
        ("https://h.example/a.html.md", "https://h.example/a.html"),
        ("https://h.example/a.html.md", "https://h.example/a"),
        ("https://h.example/a/index.html.md", "https://h.example/a/"),
        ("https://h.example/a/index.md", "https://h.example/a"),
        ("https://h.example/a/", "https://h.example/a"),
        ("http://h.example/a", "https://h.example/a"),
        ("https://www.h.example/a", "https://h.example/a"),
        ("https://H.example:443/a#part", "https://h.example/a/index.html"),
        ("https://h.example/index.html.md", "https://h.example"),
        ("/a.md?v=2", "https://h.example/a?v=2"),
    ],
)
def test_a_loose_link_means_the_same_page(link: str, page: str) -> None:
    first = candidates(page, listed(link))[0]
    assert first == Candidate(urls.join(URL, link) or "", "llms_loose")


# covers: W12
@pytest.mark.parametrize(
    "link",
    [
        "https://other.example/a",
        "https://h.example:8443/a",
        "https://h.example/A",
        "https://h.example/a/b",
        "https://h.example/a?v=2",
        "https://h.example/",
    ],
)
def test_a_link_to_another_page_is_no_candidate(link: str) -> None:
    assert [each.reason for each in candidates("https://h.example/a", listed(link))] == ["markdown_variant", "original"]


# covers: W12
def test_strategies() -> None:
    page, llms = "https://h.example/page", library()
    assert [each.reason for each in candidates(page, llms, strategy="prefer")] == ["markdown_variant", "original"]
    assert [each.reason for each in candidates(page, llms, strategy="force")] == ["markdown_variant"]
    assert [each.reason for each in candidates(page, llms, strategy="disabled")] == ["original"]
    assert candidates(page, None, strategy="force") == ()
    assert candidates("https://h.example/a.txt", llms, strategy="force") == ()
    with pytest.raises(InvalidSetting, match="disabled, prefer, force"):
        candidates(page, llms, strategy="always")  # type: ignore[arg-type]
    with pytest.raises(InvalidURL):
        candidates("page", llms)


def test_a_site_without_llms_txt_is_asked_for_nothing_but_the_page() -> None:
    page = Candidate("https://h.example/page", "original")
    assert candidates("https://h.example/page", None) == (page,)
    assert candidates("https://h.example/page", parse(b"<html>", URL)) == (page,)
    assert candidates("https://h.example/page", parse(b"", URL)) == (page,)


# covers: W3, W6
def test_candidates_are_tried_in_turn_each_by_the_rules_of_its_own_origin() -> None:
    llms = listed("https://www.h.example/page", "http://h.example/page.md")
    disallowed = {"http://h.example"}
    tried = [each for each in candidates("https://h.example/page", llms) if urls.origin(each.url) not in disallowed]
    assert tried[0] == Candidate("https://www.h.example/page", "llms_loose")
    assert tried[-1] == Candidate("https://h.example/page", "original")


LINES = st.lists(
    st.sampled_from(LIBRARY.splitlines()) | st.text(max_size=30) | st.text("-*[]()<>\\\"'`#: .ah/", max_size=30)
).map("\n".join)


@given(st.binary() | LINES, st.text() | st.just(URL), st.sampled_from(["prefer", "force", "disabled"]))
def test_nothing_raises_and_a_candidate_is_always_a_plain_http_url(body: bytes | str, url: str, strategy: str) -> None:
    found = parse(body, url)
    for page in ("https://h.example/reading-room", *(link.url for link in found.links)):
        for each in candidates(page, found, strategy=strategy):  # type: ignore[arg-type]
            assert urls.normalise(each.url) == each.url
            assert "@" not in urls.origin(each.url)


@given(st.binary(max_size=200))
def test_bytes_and_the_text_they_hold_give_the_same(body: bytes) -> None:
    assert parse(body, URL) == parse(body.decode("utf-8", "replace"), URL)
