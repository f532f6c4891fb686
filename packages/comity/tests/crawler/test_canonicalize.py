"""Parameters that only track a visitor or name a session are taken off URLs; nothing else is."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from comity import InvalidURL
from comity.crawler.finding.canonicalize import MAX_RULES, Canonicalizer
from comity_pages import urls

SESSION = "q8f3nq09v4j2k5l6m7n8o9p0a1"


@pytest.mark.parametrize(
    ("written", "clean"),
    [
        ("/a?utm_source=x&id=1&utm_medium=y", "/a?id=1"),
        ("/a?UTM_Source=x", "/a"),
        ("/a?gclid=1&fbclid=2&msclkid=3", "/a"),
        (f"/a?PHPSESSID={SESSION}", "/a"),
        (f"/a?sid={SESSION}&t=5", "/a?t=5"),
        ("/a;jsessionid=0A1B2C.node1?x=1", "/a?x=1"),
        ("/a;JSESSIONID=1/b;v=2;jsessionid=3", "/a/b;v=2"),
        ("/(S(lit3py55t21z5v55vlm25s55))/page.aspx", "/page.aspx"),
        ("/app/(A(abc)S(lit3py55t21z5v55vlm25s55))/", "/app/"),
        ("/x/..;jsessionid=1/y", "/y"),
        ("/a?ASPSESSIONIDQQABCDEF=XYZ", "/a"),
        ("/a?", "/a"),
        ("/a;jsessionid=1?", "/a"),
    ],
)
def test_what_only_tracks_is_taken_off(written: str, clean: str) -> None:
    assert Canonicalizer().clean("http://a.example" + written) == "http://a.example" + clean


@pytest.mark.parametrize(
    "path",
    [
        "/a?sid=12",
        "/a?session=keynote-2024-opening-day",
        "/?s=how+to+crawl+politely",
        "/a?id=utm_source",
        "/a;v=1",
        "/(S)/x",
        "/wiki/Crawling_(S(x))",
        "/a?&&b",
        "/a?ref=x&source=y",
    ],
)
def test_what_may_make_a_difference_stays(path: str) -> None:
    url = "http://a.example" + path
    assert Canonicalizer().clean(url) is url


def test_clean_param_of_robots_txt_is_obeyed_on_its_paths() -> None:
    cleaning = Canonicalizer.from_robots(["ref&from /shop/", "s", "p&z */index.html", "", " /only-a-path", "&&"])
    for path, clean in (
        ("/shop/x?ref=1&id=2&from=3", "/shop/x?id=2"),
        ("/other?ref=1", "/other?ref=1"),
        ("/other?s=1&S=2", "/other?S=2"),
        ("/a/index.html?p=1&u=2", "/a/index.html?u=2"),
    ):
        assert cleaning.clean("http://a.example" + path) == "http://a.example" + clean


def test_a_robots_txt_with_a_million_rules_costs_no_more() -> None:
    cleaning = Canonicalizer.from_robots(f"p{number} /{number}" for number in range(1_000_000))
    assert len(cleaning.rules) == MAX_RULES


PARTS = [
    "/",
    "..",
    ";jsessionid=",
    ";",
    "=",
    "?",
    "&",
    "utm_",
    "sid=",
    SESSION,
    "(S(",
    "lit3py55t21z5v55vlm25s55",
    "))",
]
PIECES = st.lists(st.sampled_from([*PARTS, "/a", "%2e", "b", "é", "#"]), max_size=14).map("".join)


@given(PIECES, st.lists(PIECES, max_size=4))
@example("/..;jsessionid=/(S(lit3py55t21z5v55vlm25s55))/..", [])
@example("?&utm_", [])
def test_cleaning_is_idempotent_and_keeps_the_normal_form(path: str, values: list[str]) -> None:
    try:
        url = urls.normalise("http://a.example/" + path)
    except InvalidURL:
        return
    cleaning = Canonicalizer.from_robots(values)
    clean = cleaning.clean(url)
    assert cleaning.clean(clean) == clean
    assert urls.normalise(clean) == clean
    assert urls.origin(clean) == "http://a.example"
    assert len(clean) <= len(url)
