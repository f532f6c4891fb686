"""X-Robots-Tag and robots metas: what is stated, to whom, and what holds for our agent."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from comity_pages.signals import robots_meta
from comity_pages.signals.robots_meta import RobotsMeta

pytestmark = pytest.mark.both_forms

AGENT = "MyBot/1.0 (+https://example.org/bot)"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def header(*values: str, now: datetime | None = None) -> RobotsMeta:
    return robots_meta.read(values, (), agent=AGENT, now=now)


def meta(*metas: tuple[str, str]) -> RobotsMeta:
    return robots_meta.read((), metas, agent=AGENT)


def codes(found: RobotsMeta) -> list[str]:
    return [warning.code for warning in found.warnings]


def test_a_page_that_says_nothing_restricts_nothing_and_warns_of_nothing() -> None:
    found = robots_meta.read((), [("viewport", "width=device-width"), ("referrer", "none")], agent=AGENT)
    assert found == RobotsMeta()


def test_repeated_headers_and_lists_in_one_header_are_united() -> None:
    found = header("noindex, NoArchive", "nofollow")
    assert (found.noindex, found.noarchive, found.nofollow, found.nosnippet) == (True, True, True, False)
    assert [(d.name, d.index) for d in found.directives] == [("noindex", 0), ("noarchive", 0), ("nofollow", 1)]


def test_none_means_noindex_and_nofollow_and_all_means_nothing() -> None:
    assert (header("none").noindex, header("none").nofollow) == (True, True)
    assert (header("all").noindex, header("all").warnings) == (False, ())


def test_a_scope_in_a_header_addresses_what_follows_it_in_that_header_only() -> None:
    found = header("noarchive, otherbot: noindex, nosnippet, mybot: nofollow, notranslate", "noimageindex")
    assert (found.noarchive, found.noindex, found.nosnippet) == (True, False, False)
    assert (found.nofollow, found.notranslate, found.noimageindex) == (True, True, True)
    assert [d.agent for d in found.directives] == [None, "otherbot", "otherbot", "mybot", "mybot", None]


def test_agents_are_compared_as_in_robots_txt() -> None:
    for agent in ("Bar Bot/2.0", "bar bot"):
        assert robots_meta.read(["BAR BOT: noindex"], [("bar bot/1", "nofollow")], agent=agent).noindex
    assert not robots_meta.read(["googlebot: noindex"], [], agent="Googlebot-News").noindex
    assert not robots_meta.read([], [("", "noindex")], agent="").noindex


def test_a_star_scope_addresses_everybody_again() -> None:
    assert header("otherbot: noindex, *: nofollow").nofollow


@pytest.mark.parametrize("scope", ["360Spider", "MJ12bot", "Bar", "unknown_bot"])
def test_a_scope_after_a_date_is_still_a_scope(scope: str) -> None:
    found = header(f"unavailable_after: Sat, 25 Jun 2011 15:00:00 GMT, {scope}: noindex")
    assert found.unavailable_after == datetime(2011, 6, 25, 15, tzinfo=UTC)
    assert found.directives[-1].agent == scope.lower()


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("25 Jun 2010 15:00:00 PST", datetime(2010, 6, 25, 23, tzinfo=UTC)),  # RFC 822
        ("Fri, 25 Jun 2010 15:00:00 GMT", datetime(2010, 6, 25, 15, tzinfo=UTC)),
        ("Fri, 25 Jun 10 15:00 EST", datetime(2010, 6, 25, 20, tzinfo=UTC)),
        ("Friday, 25-Jun-10 15:00:00 GMT", datetime(2010, 6, 25, 15, tzinfo=UTC)),  # RFC 850
        ("25-Jun-2010 15:00:00 EST", datetime(2010, 6, 25, 20, tzinfo=UTC)),
        ("Fri Jun 25 15:00:00 2010", datetime(2010, 6, 25, 15, tzinfo=UTC)),  # asctime
        ("2010-06-25", datetime(2010, 6, 25, tzinfo=UTC)),  # ISO 8601
        ("2010-06-25T15:00:00+02:00", datetime(2010, 6, 25, 13, tzinfo=UTC)),
        ("2010-06-25T15:00:00.5Z", datetime(2010, 6, 25, 15, 0, 0, 500_000, tzinfo=UTC)),
        ("20100625T150000Z", datetime(2010, 6, 25, 15, tzinfo=UTC)),
        ("2011-06", datetime(2011, 6, 1, tzinfo=UTC)),
        ("2011", datetime(2011, 1, 1, tzinfo=UTC)),
        ("2011-06-25 15:00 UTC", datetime(2011, 6, 25, 15, tzinfo=UTC)),
        ("2011-06-25 15:00:30 gmt", datetime(2011, 6, 25, 15, 0, 30, tzinfo=UTC)),
        ("2011-06-25T24:00:00Z", datetime(2011, 6, 26, tzinfo=UTC)),
        ("2011-12-31 24:00", datetime(2012, 1, 1, tzinfo=UTC)),
        ("2011-06-25T24:00:00+02:00", datetime(2011, 6, 25, 22, tzinfo=UTC)),
    ],
)
@pytest.mark.parametrize(
    "frame",
    ["unavailable_after: {}", "mybot: unavailable_after:{}, noarchive", "noindex, unavailable_after: {}, nofollow"],
)
def test_dates_survive_the_comma_and_the_colon(written: str, meant: datetime, frame: str) -> None:
    found = header(frame.format(written))
    assert found.unavailable_after == meant
    assert [d.value for d in found.directives if d.name == "unavailable_after"] == [written]
    assert [d.name for d in found.directives] == [
        name for name in ("noindex", "unavailable_after", "nofollow", "noarchive") if name in frame
    ]


def test_the_earliest_of_several_dates_counts_and_expiry_is_judged_at_the_time_given() -> None:
    found = header("unavailable_after: 2026-02-01", "unavailable_after: 2026-01-02", now=NOW)
    assert found.unavailable_after == datetime(2026, 1, 2, tzinfo=UTC)
    assert not found.expired(NOW)
    assert found.expired(NOW + timedelta(days=1))
    assert found.expired(datetime(2026, 1, 2, 1, tzinfo=timezone(timedelta(hours=1))))
    assert not found.expired(datetime(2026, 1, 1, 23))
    assert codes(found) == ["unavailable_after"]
    assert codes(header("unavailable_after: 2025-01-01", now=NOW)) == ["expired"]
    assert codes(header("unavailable_after: 2025-01-01")) == ["unavailable_after"]


def test_the_ends_of_the_calendar_are_dates_too() -> None:
    last = header("unavailable_after: 9999-12-31T23:59:59-01:00")
    assert last.unavailable_after == datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert last.expired(datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))))
    assert not last.expired(datetime.min.replace(tzinfo=timezone(timedelta(hours=1))))


def test_a_date_that_cannot_be_read_is_said_not_guessed() -> None:
    found = header("unavailable_after: when hell freezes over, noindex")
    assert found.unavailable_after is None
    assert found.noindex
    assert codes(found) == ["noindex", "unreadable_value"]


@pytest.mark.parametrize(
    ("values", "limit"),
    [
        (["max-snippet:50"], 50),
        (["max-snippet: -1"], -1),
        (["max-snippet:-1", "max-snippet:20", "max-snippet:30"], 20),
        (["max-snippet:0"], 0),
        (["max-snippet:20, nosnippet"], 0),
        (["max-snippet:-2"], None),
        (["max-snippet:many"], None),
        (["max-snippet:999999999999999999999999"], None),
        (["max-snippet"], None),
    ],
)
def test_the_smallest_snippet_limit_wins_and_minus_one_is_no_limit(values: list[str], limit: int | None) -> None:
    assert header(*values).max_snippet == limit


def test_max_snippet_zero_is_nosnippet() -> None:
    assert header("max-snippet:0").nosnippet


def test_the_smallest_previews_win() -> None:
    found = header("max-image-preview:large, max-video-preview:-1", "MAX-IMAGE-PREVIEW: Standard, max-video-preview: 4")
    assert (found.max_image_preview, found.max_video_preview) == ("standard", 4)
    assert codes(header("max-image-preview:huge")) == ["unreadable_value"]


def test_metas_for_us_and_for_everybody_are_united_and_those_for_others_are_kept_apart() -> None:
    found = meta(
        ("Robots", "index, noarchive"), ("MYBOT", "nofollow"), ("googlebot", "noindex"), ("description", "none")
    )
    assert (found.noarchive, found.nofollow, found.noindex) == (True, True, False)
    assert [(d.name, d.agent, d.source, d.index) for d in found.directives] == [
        ("index", None, "meta", 0),
        ("noarchive", None, "meta", 0),
        ("nofollow", "mybot", "meta", 1),
        ("noindex", "googlebot", "meta", 2),
    ]


def test_restrictive_beats_permissive_wherever_it_stands() -> None:
    found = robots_meta.read(["index, follow"], [("robots", "noindex"), ("mybot", "index")], agent=AGENT)
    assert (found.noindex, found.nofollow) == (True, False)


@pytest.mark.parametrize(
    "content",
    ["noindex nofollow", "noindex;nofollow", "noindex ; nofollow", "NOINDEX,NOFOLLOW,", "noindex\n, nofollow"],
)
def test_missing_commas_are_forgiven(content: str) -> None:
    found = meta(("robots", content))
    assert (found.noindex, found.nofollow) == (True, True)


@pytest.mark.parametrize(
    "value",
    [
        "max-snippet:20; noindex",
        "max-snippet:20 noindex",
        "max-snippet: 20 noindex nofollow",
        "noindex max-snippet:20",
        "noindex; max-snippet : 20",
        "mybot: noindex max-snippet:20",
        "max-image-preview: none noindex max-snippet:20",
        "max-snippet:20 max-video-preview:-1 noindex",
        "please noindex now max-snippet:20",
        "unavailable_after: 2030-01-01 noindex; max-snippet:20",
        "unavailable_after: Sat, 25 Jun 2030 15:00:00 GMT noindex max-snippet:20",
    ],
)
def test_whatever_parts_directives_none_is_lost(value: str) -> None:
    for found in (header(value), meta(("robots", value))):
        assert (found.noindex, found.max_snippet) == (True, 20)
        assert ("unavailable_after" in value) == (found.unavailable_after is not None)


@pytest.mark.parametrize("value", ["max-snippet: noindex", "unavailable_after: noindex", "max-image-preview: noindex"])
def test_a_directive_in_the_place_of_a_value_is_still_one(value: str) -> None:
    assert header(value).noindex
    assert "unreadable_value" in codes(header(value))


@pytest.mark.parametrize("value", ["rating: adult", "fancy: shiny", "otherbot:", "a: b: c", "otherbot: fancy: noindex"])
def test_a_key_that_is_not_followed_by_a_directive_is_no_agent_and_is_said(value: str) -> None:
    found = header(f"{value}, noindex")
    assert found.noindex
    assert codes(found) == ["noindex", "unknown_directive"]
    assert repr(found.directives[0].text) in found.warnings[-1].message


def test_an_unknown_directive_for_another_agent_is_not_warned_of() -> None:
    found = header("otherbot: noindex, rating: adult, nofollow")
    assert (found.noindex, found.nofollow, found.warnings) == (False, False, ())
    assert [(d.name, d.value, d.agent) for d in found.directives][1] == ("rating", "adult", "otherbot")


def test_in_a_meta_a_colon_opens_no_scope() -> None:
    found = meta(("robots", "otherbot: noindex, nofollow"))
    assert found.nofollow
    assert found.directives[1].agent is None


def test_an_unknown_directive_with_a_number_does_not_swallow_what_follows() -> None:
    assert header("max-thing: 3, noindex").noindex
    assert header("crawl-pause: 3, noindex").noindex


def test_usage_and_citation_come_as_warnings_with_codes() -> None:  # covers: W11
    found = robots_meta.read(
        ["noindex, noarchive, noai", "max-snippet: 120"], [("mybot", "nosnippet, noimageai")], agent=AGENT
    )
    assert codes(found) == ["noindex", "noarchive", "nosnippet", "noai", "noimageai"]
    assert all(warning.message.startswith("The page asks") for warning in found.warnings)
    assert not any("fetch" in warning.message for warning in found.warnings)


def test_an_endless_list_is_cut_and_the_cut_is_said() -> None:
    found = header(*["noindex," * 5_000] * 10)
    assert len(found.directives) == robots_meta.MAX_DIRECTIVES
    assert "cut_off" in codes(found)


def test_an_endless_value_is_cut_and_the_cut_is_said() -> None:
    assert "cut_off" in codes(header("x" * 1_000_000))
    assert "cut_off" in codes(meta(("robots", "x" * 1_000_000)))


WORDS = """noindex none all nofollow max-snippet max-image-preview unavailable_after MyBot otherbot * robots : , ; -1 0
25 Jun Sat 2010-06-25 15:00:00 +99:99 GMT 9999-12-31T23:59:59-23:59 0001-01-01T00:00:00+23:59 large
"""
words = st.sampled_from([*WORDS.split(), " ", "\x00", "\ud800", "\u00b2", "é"])
texts = st.one_of(st.text(max_size=60), st.lists(words, max_size=14).map("".join))


@examples(300)
@given(st.lists(texts, max_size=4), st.lists(st.tuples(texts, texts), max_size=4), texts)
def test_nothing_a_page_says_raises(headers: list[str], metas: list[tuple[str, str]], agent: str) -> None:
    found = robots_meta.read(headers, metas, agent=agent, now=NOW)
    found.expired(NOW)
    hash(found)


@examples(200)
@given(st.lists(texts, max_size=3), st.lists(texts, max_size=3))
def test_a_further_header_never_lifts_a_restriction(some: list[str], more: list[str]) -> None:
    before, after = header(*some), header(*some, *more)
    for name in ("noindex", "nofollow", "noarchive", "nosnippet", "noimageindex", "notranslate", "noai", "noimageai"):
        assert getattr(after, name) >= getattr(before, name)
    if before.unavailable_after is not None:
        assert after.unavailable_after is not None
        assert after.unavailable_after <= before.unavailable_after
