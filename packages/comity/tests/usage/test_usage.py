"""How content may be used: every source is read by its own rules, and one purpose gets one answer with its source."""

import doctest
import json
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

import comity_robots
from comity.errors import InvalidSetting
from comity_pages.signals import rsl, rsl_licence, tdmrep, usage
from comity_pages.signals.links import read_page
from comity_robots import paths
from comity_robots.usage import Statement, Usage, aipref, content_signal, vocabulary

AIPREF = json.loads((Path(__file__).parents[1] / "data" / "aipref.json").read_text(encoding="utf-8"))
URL = "https://example.com/a/page.html"


def answers(found: Usage) -> tuple[str, str, str]:
    search, ai_input, train = (found.preference(purpose) for purpose in usage.PURPOSES)
    return search, ai_input, train


def records(*rows: Sequence[Any]) -> list[usage.UsageLine]:
    return [(line, value, "*") for line, value in rows]


# AIPREF


@pytest.mark.parametrize("case", AIPREF["values"], ids=lambda case: case["why"])
def test_a_content_usage_value_means_what_the_draft_says(case: dict[str, str]) -> None:
    found = usage.from_headers([("Content-Usage", case["value"])])
    assert {key: found.preference(key) for key in ("train-ai", "search")} == {
        key: case[key] for key in ("train-ai", "search")
    }
    assert found.preference("ai-input") == "unknown"


@pytest.mark.parametrize("case", AIPREF["robots"], ids=lambda case: case["why"])
def test_content_usage_rules_cover_the_urls_the_draft_says(case: dict[str, Any]) -> None:
    for path, crawlable, answer, lines in case["urls"]:
        for url in (path, f"https://example.com{path}#top"):
            found = usage.from_robots(url, content_usage=records(*case["content_usage"]), crawlable=crawlable)
            assert (found.preference("train-ai"), [each.line for each in found.statements]) == (answer, lines), url
            assert found.applicable == crawlable


def test_ai_use_is_ai_input_and_says_that_the_draft_reflects_no_consensus() -> None:
    """draft-ietf-aipref-vocab-08 (2026-09-14)."""
    robots = comity_robots.parse("User-agent: *\nContent-Usage: ai-use=n, search=y\nAllow: /\n")
    found = robots.usage("/a", "MyBot")
    assert answers(found) == ("allowed", "disallowed", "unknown")
    assert found.preference("ai-use") == "disallowed"
    assert "vocab-08 of 2026-09-14, which reflects no consensus" in found.explain("ai-use")
    (recorded,) = found.to_record(["ai-input"])["ai-input"]["statements"]
    assert recorded["note"].endswith("which reflects no consensus")
    assert robots.lint() == ()
    assert answers(usage.from_headers([("Content-Usage", "ai-use=y")])) == ("unknown", "allowed", "unknown")


def test_a_policy_token_is_told_of_where_it_may_answer_and_changes_nothing() -> None:
    """draft-kelley-aipref-training-preference-signal-00 (2026-10-30), whose body could not be had."""
    robots = comity_robots.parse(
        "User-agent: *\nContent-Usage: search=y\nDisallow: /x\n\nUser-agent: __usage_ai-training\nDisallow: /b\n"
    )
    found = robots.usage("/b", "MyBot")
    assert (robots.allowed("/b", "MyBot"), answers(found)) == (True, ("allowed", "unknown", "unknown"))
    assert "line 5 says '__usage_ai-training', which does not count: it is a policy token" in found.explain("train-ai")
    assert [each.code for each in robots.lint()] == ["agent-policy-token"], "it is no crawler that misses anything"


def test_where_nothing_is_said_of_a_use_the_licence_is_named() -> None:
    robots = comity_robots.parse("License: https://example.com/l.xml\nUser-agent: *\nAllow: /\n")
    said = robots.usage("/a", "MyBot").explain("train-ai", unsaid="robots.txt says nothing about it")
    assert said == (
        "train-ai: not stated here, but a licence may say it: robots.txt line 1 names https://example.com/l.xml"
    )


def test_licences_stand_in_the_record_and_beside_what_cannot_be_read() -> None:
    text = "User-agent: *\nAllow: /\nContent-Usage: search=maybe\nLicense: /rsl.xml\n"
    text += "".join(f"License: https://{number}.example/\n" for number in range(3))
    found = comity_robots.parse(text).usage("/a", "MyBot")
    recorded = found.to_record(["ai-input"])["ai-input"]
    assert (recorded["preference"], recorded["statements"]) == ("unknown", [])
    assert recorded["licences"][:2] == [
        {"url": "/rsl.xml", "source": "robots.txt line 4", "note": "not an absolute URL"},
        {"url": "https://0.example/", "source": "robots.txt line 5"},
    ]
    said = found.explain("search")
    assert "'search=maybe', which does not count: " in said
    assert "; a licence may say it: robots.txt line 4 names /rsl.xml (not an absolute URL); " in said
    assert said.endswith("line 6 names https://1.example/; and more")
    assert "licences" not in comity_robots.parse("").usage("/a", "MyBot").to_record(["ai-input"])["ai-input"]


def test_noml_forbids_training() -> None:
    """noml.info."""
    assert answers(usage.from_headers([("X-Robots-Tag", "noml")])) == ("unknown", "unknown", "disallowed")
    assert answers(usage.from_metas([("robots", "noml")])) == ("unknown", "unknown", "disallowed")


def test_a_content_usage_field_in_several_lines_is_one_dictionary() -> None:
    found = usage.from_headers([("Content-Usage", "train-ai=n, search=n"), ("content-usage", "search=y")])
    assert answers(found) == ("allowed", "unknown", "disallowed")


@pytest.mark.parametrize(
    "before",
    [
        "foo=@99999999999999",
        "foo=@-999999999999999",
        "foo=1;at=@999999999999999",
        "foo=(@253402300800 @1)",
        'foo="@x\\""',
    ],
)
def test_a_date_beyond_the_calendar_is_valid_syntax_and_spoils_nothing(before: str) -> None:
    # RFC 9651, 4.2.9 fails for what is no Integer only.
    found = usage.from_headers([("Content-Usage", f"{before}, train-ai=n")])
    assert answers(found) == ("unknown", "unknown", "disallowed")


@pytest.mark.parametrize("value", ["foo=@9999999999999999", "foo=@1.5", "foo=@", "foo=@99999999999999.5"])
def test_a_date_that_is_no_integer_makes_the_whole_value_unknown(value: str) -> None:
    found = usage.from_headers([("Content-Usage", f"{value}, train-ai=n")])
    assert [each.purpose for each in found.statements] == [""]


@given(
    st.text(alphabet='yn=, \tatr-ischz*_.1;"', max_size=40),
    st.sampled_from(["", "train-ai=n", " train-ai=y,search=n "]),
)
def test_what_is_read_without_the_library_is_read_as_the_library_does(text: str, known: str) -> None:
    value = f"{known}{text}"
    with patch.object(aipref, "_PLAIN", re.compile("(?!)")):
        by_library = aipref.read(value)
    assert aipref.read(value) == by_library


def test_a_date_inside_a_string_is_left_alone() -> None:
    assert aipref.read('foo="@99999999999999", train-ai=n')[0].value == "disallowed"


def test_what_was_ignored_is_still_shown_with_the_reason() -> None:
    found = usage.from_headers([("content-usage", "ai-train=n, train-ai=no")])
    assert [(each.purpose, each.value) for each in found.statements] == [
        ("train-ai", "unknown"),
        ("ai-train", "unknown"),
    ]
    assert all(each.note for each in found.statements)
    broken = usage.from_headers([("content-usage", "TRAIN=n")])
    assert [(each.purpose, each.value) for each in broken.statements] == [("", "unknown")]
    assert "dictionary" in broken.statements[0].note


RUN_TOGETHER = (
    "User-agent: one\nContent-Usage: train-ai=n\n\nUser-agent: two\nDisallow: /x\nContent-Usage: train-ai=y\n"
)


def test_content_usage_ends_a_group_for_uses_and_not_for_allow_and_disallow() -> None:
    # The AIPREF draft makes it a rule, which ends a run of User-agent lines. RFC 9309, 2.2.4 lets no other record do
    # so, and every crawler that does not know the draft reads one group: nobody is to get more than that allows.
    robots = comity_robots.parse(RUN_TOGETHER)
    assert [robots.allowed("/x", agent) for agent in ("one", "two")] == [False, False]
    assert [robots.usage("/y", agent).preference("train-ai") for agent in ("one", "two")] == ["disallowed", "allowed"]
    assert [finding.code for finding in robots.lint() if finding.line == 1][:2] == [
        "groups-run-together",
        "usage-ends-group",
    ]


# Content Signals


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("search=yes, ai-input=yes, ai-train=no", ("allowed", "allowed", "disallowed")),
        ("ai-train=no", ("unknown", "unknown", "disallowed")),
        ("search=yes,ai-train=no", ("allowed", "unknown", "disallowed")),
        (" Search = YES ,, AI-Train=No,", ("allowed", "unknown", "disallowed")),
        ("ai-train=yes, ai-train=no", ("unknown", "unknown", "disallowed")),
        ("search=maybe, use=reference, ai-train", ("unknown", "unknown", "unknown")),
        ("", ("unknown", "unknown", "unknown")),
    ],
)
def test_content_signals_mean_the_same_in_robots_txt_and_in_a_header(value: str, meant: tuple[str, str, str]) -> None:
    assert answers(usage.from_robots(URL, content_signal=records((7, value)))) == meant
    assert answers(usage.from_headers([("Content-Signal", value)])) == meant


def test_a_key_that_is_no_content_signal_is_recorded_and_not_guessed_at() -> None:
    found = usage.from_headers([("Content-Signal", "reuse=yes")])
    assert [(each.purpose, each.value, each.text) for each in found.statements] == [("reuse", "unknown", "reuse=yes")]


@pytest.mark.parametrize(
    ("value", "use"),
    [
        ("search=yes,ai-train=no,use=reference", "reference"),  # as Cloudflare's managed robots.txt has it
        ("Use = FULL", "full"),
        ("use=full, use=immediate, use=reference", "immediate"),  # the least of several
        ("use=most", None),
        ("use", None),
        ("search=yes", None),
    ],
)
def test_the_most_that_may_be_done_is_read_alike_in_robots_txt_and_in_a_header(value: str, use: str | None) -> None:
    for found in (
        usage.from_robots(URL, content_signal=records((7, value))),
        usage.from_headers([("Content-Signal", value)]),
    ):
        assert found.use == use == found.to_dict()["use"]
        assert found.preference("use") == (use or "unknown")
    stated = usage.from_robots(URL, content_signal=records((7, value)))
    if use is not None:
        assert stated.explain("use").startswith(f"use is {use}: robots.txt line 7 says ")
    assert usage.merge(stated, usage.from_headers([("Content-Signal", "use=immediate")])).use == "immediate"


def test_a_word_that_use_does_not_know_is_told() -> None:
    found = usage.from_headers([("Content-Signal", "use=most")])
    assert found.explain("use") == (
        "use: unknown: header Content-Signal says 'use=most', which does not count: none of immediate, reference, full"
    )


def test_a_content_signal_with_a_longer_path_wins_and_does_not_touch_content_usage() -> None:
    found = usage.from_robots(
        URL,
        content_usage=records((2, "train-ai=n, search=y")),
        content_signal=records((3, "ai-train=no"), (4, "/a/ ai-train=yes, ai-input=no")),
    )
    assert answers(found) == ("allowed", "disallowed", "disallowed")
    assert [each.source for each in found.statements if each.purpose == "train-ai"] == [
        "robots.txt line 2",
        "robots.txt line 4",
    ]


# TDMRep

TDMREP = b"""[
  {"location": "/directory-a/", "tdm-reservation": 1},
  {"location": "/directory-b/html/", "tdm-reservation": 1, "tdm-policy": "https://provider.example/policy.json"},
  {"location": "/directory-b/images/*.jpg", "tdm-reservation": 0}
]"""


@pytest.mark.parametrize(
    ("path", "answer", "policies"),
    [
        ("/directory-a/report.pdf", "disallowed", []),
        ("/directory-b/html/page.html", "disallowed", ["https://provider.example/policy.json"]),
        ("/directory-b/images/2021/cat.jpg", "allowed", []),
        ("/directory-b/images/cat.png", "unknown", []),
        ("/Directory-A/report.pdf", "unknown", []),
    ],
)
def test_the_file_at_the_origin_covers_what_its_patterns_say(path: str, answer: str, policies: list[str]) -> None:
    found = usage.from_tdmrep(tdmrep.parse(TDMREP), "https://provider.example" + path)
    assert found.preference("train-ai") == answer
    assert [licence.url for licence in found.licences] == policies
    assert (found.preference("search"), found.preference("ai-input")) == ("unknown", "unknown")


def test_the_first_rule_of_the_file_that_covers_a_url_counts() -> None:
    body = b'[{"location": "/a/open", "tdm-reservation": 0}, {"location": "/", "tdm-reservation": 1}]'
    found = tdmrep.parse(body)
    assert usage.from_tdmrep(found, "/a/open/1").preference("train-ai") == "allowed"
    assert [each.source for each in usage.from_tdmrep(found, "/a/").statements] == ["tdmrep.json rule 2"]


@pytest.mark.parametrize("value", ["2", "true", '"yes"', "null", "[1]", "1e999", '"1.0"'])
def test_a_reservation_other_than_0_and_1_is_unset(value: str) -> None:
    found = tdmrep.parse(b'[{"location": "/", "tdm-reservation": %s}]' % value.encode())
    assert found.problems
    assert usage.from_tdmrep(found, URL).preference("train-ai") == "unknown"


def test_header_beats_file_and_meta_beats_header() -> None:
    site = usage.from_tdmrep(
        tdmrep.parse(b'[{"location": "/", "tdm-reservation": 1, "tdm-policy": "https://e/p"}]'), URL
    )
    header = usage.from_headers([("TDM-Reservation", "0")])
    meta = usage.from_metas([("TDM-Reservation", "1"), ("tdm-policy", "https://e/q")])
    assert usage.merge(site, header).preference("train-ai") == "allowed"
    together = usage.merge(site, header, meta)
    assert together.preference("train-ai") == "disallowed"
    assert [each.applies for each in together.statements] == [False, False, True]
    assert together.statements[0].note == "superseded by the meta"
    assert [(each.url, each.applies) for each in together.licences] == [("https://e/p", False), ("https://e/q", True)]


def test_a_policy_is_given_by_an_absolute_url_or_said_not_to_be() -> None:
    file = tdmrep.parse(b'[{"location": "/", "tdm-reservation": 1, "tdm-policy": "/policy.json"}]')
    parts = [
        usage.from_tdmrep(file, URL),
        usage.from_headers([("TDM-Policy", "policy.json")], url=URL),
        usage.from_metas([("tdm-policy", "//e.example/p")], url=URL),
        usage.from_tdmrep(file, "/a/page.html"),
        usage.from_headers([("TDM-Policy", "policy.json")]),
        usage.from_metas([("tdm-policy", "javascript:1")], url=URL),
    ]
    assert [(each.url, each.note) for part in parts for each in part.licences] == [
        ("https://example.com/policy.json", ""),
        ("https://example.com/a/policy.json", ""),
        ("https://e.example/p", ""),
        ("/policy.json", "not an absolute URL"),
        ("policy.json", "not an absolute URL"),
        ("javascript:1", "not an absolute URL"),
    ]


def test_absence_and_errors_closer_to_the_content_reset_nothing() -> None:
    site = usage.from_tdmrep(
        tdmrep.parse(b'[{"location": "/", "tdm-reservation": 1, "tdm-policy": "https://e/p"}]'), URL
    )
    header = usage.from_headers([("TDM-Reservation", "maybe")])
    assert usage.merge(site, header).preference("train-ai") == "disallowed"
    only_flag = usage.merge(site, usage.from_headers([("TDM-Reservation", "1")]))
    assert [(each.url, each.applies) for each in only_flag.licences] == [("https://e/p", True)]


def test_tdmrep_does_not_lift_what_another_vocabulary_forbids() -> None:
    found = usage.merge(
        usage.from_robots(URL, content_usage=records((3, "train-ai=n"))), usage.from_headers([("TDM-Reservation", "0")])
    )
    assert found.preference("train-ai") == "disallowed"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"{}",
        b"[1, null, {}]",
        b'[{"location": 3}]',
        b"[" * 100_000,
        b"\xff\xfe[",
        b" " * 2_000_000,
        b"9" * 5000,
    ],
)
def test_a_file_that_cannot_be_used_says_so_and_states_nothing(body: bytes) -> None:
    found = tdmrep.parse(body)
    assert (found.rules, bool(found.problems)) == ((), True)
    assert usage.from_tdmrep(found, URL) == Usage()


def test_what_can_be_used_of_a_damaged_file_is_used() -> None:
    found = tdmrep.parse(b'\xef\xbb\xbf["x", {"location": "/", "tdm-reservation": "1", "tdm-policy": 7}]')
    assert usage.from_tdmrep(found, URL).preference("train-ai") == "disallowed"
    assert usage.from_tdmrep(tdmrep.parse(b'{"location": "/", "tdm-reservation": 1}'), URL).statements


# RSL


def test_licences_of_robots_txt_are_reported_with_their_lines_also_for_forbidden_urls() -> None:
    found = usage.from_robots(
        URL, licences=[(1, "https://example.com/license.xml", None), (9, " /rsl.xml", None)], crawlable=False
    )
    assert [(each.url, each.source) for each in found.licences] == [
        ("https://example.com/license.xml", "robots.txt line 1"),
        ("/rsl.xml", "robots.txt line 9"),
    ]
    assert [each.note for each in found.licences] == ["", "not an absolute URL"]
    assert answers(found) == ("unknown",) * 3


@pytest.mark.parametrize(
    ("value", "urls"),
    [
        ('<https://e.example/l.xml>; rel="license"; type="application/rsl+xml"', ["https://e.example/l.xml"]),
        ("</l.xml>;rel=license;type=application/rsl+xml", ["https://example.com/l.xml"]),
        (
            '<a,b>; TITLE="x, \\"<y>; z"; rel="next LICENSE"; type="Application/RSL+XML;v=1"',
            ["https://example.com/a/a,b"],
        ),
        (
            (
                "<n>; rel=next, <https://e/1>; rel=license; type=application/rsl+xml ,"
                '<https://e/2>; type="application/rsl+xml"; rel=license'
            ),
            ["https://e/1", "https://e/2"],
        ),
        ('<l.xml>; x="\\"; rel=next; y=\\""; rel=license; type=application/rsl+xml', ["https://example.com/a/l.xml"]),
        ("<l.xml>; rel=license", []),
        ("<l.xml>; rel=next; rel=license; type=application/rsl+xml", []),
        ("l.xml; rel=license; type=application/rsl+xml", []),
        ('<l.xml>; rel="license', []),
    ],
)
def test_link_headers_name_rsl_licences(value: str, urls: list[str]) -> None:
    found = usage.from_headers([("Link", value)], url=URL)
    assert [each.url for each in found.licences] == urls


def test_html_links_name_rsl_licences() -> None:
    links = [
        ("license", "application/rsl+xml", "/l.xml"),
        ("license", "text/html", "/cc"),
        ("next", rsl.MEDIA_TYPE, "/n"),
    ]
    assert [each.url for each in usage.from_links(links, URL)] == ["https://example.com/l.xml"]


def test_from_the_bytes_of_a_page_to_its_rsl_licences() -> None:
    body = b"""<base href=/docs/><link rel="License x" type="application/RSL+xml; v=1" href="l.xml">
        <link rel=license href="l.xml"><link rel=license type=text/html href=cc><a rel=license type=application/rsl+xml
        href=/a.xml>terms</a><link rel=license type=application/rsl+xml href="l.xml?2">"""
    page = read_page(body, URL, "text/html", ["</h.xml>; rel=license; type=application/rsl+xml"])
    assert [(each.url, each.source, each.note) for each in usage.from_links(page.license_links)] == [
        ("https://example.com/docs/l.xml", "link license", ""),
        ("https://example.com/a.xml", "link license", ""),
        ("https://example.com/docs/l.xml?2", "link license", ""),
        ("https://example.com/h.xml", "link license", ""),
    ]


def test_a_link_header_about_another_page_licenses_nothing_here() -> None:
    value = "</l.xml>; rel=license; type=application/rsl+xml; anchor=/other"
    assert usage.from_headers([("Link", value)], url=URL).licences == ()


RSL = b"""<?xml version="1.0"?>
<rsl xmlns="https://rslstandard.org/rsl">
  <content url="/"><license><prohibits type="usage">ai-all</prohibits></license></content>
  <content url="/blog/*">
    <license><permits type="usage">search, ai-input</permits><payment type="free"/></license>
    <license><permits type="usage">ai-train</permits><payment type="subscription"><custom>x</custom></payment></license>
  </content>
  <content url="https://example.com/paid/" server="https://collective.example/api">
    <license><permits type="usage">all</permits></license>
  </content>
  <content url="/schools/"><license>
    <permits type="usage">train-ai ai-index</permits><permits type="user">education</permits>
  </license></content>
</rsl>"""


@pytest.mark.parametrize(
    ("path", "meant", "notes"),
    [
        ("/about", ("unknown", "disallowed", "disallowed"), ""),
        ("/blog/1", ("allowed", "allowed", "unknown"), "on terms: payment (subscription)"),
        ("/paid/1", ("unknown", "unknown", "unknown"), "on terms: a licence server"),
        ("/schools/1", ("unknown", "unknown", "unknown"), "on terms: certain users or places only"),
    ],
)
def test_an_rsl_licence_allows_only_what_it_permits_without_terms(
    path: str, meant: tuple[str, str, str], notes: str
) -> None:
    document = rsl_licence.parse(RSL)
    assert document.problems == ()
    found = usage.from_rsl(document, "https://example.com" + path)
    assert answers(found) == meant
    assert notes in [each.note for each in found.statements]


def test_the_most_specific_content_of_a_licence_counts_and_is_named() -> None:
    found = usage.from_rsl(rsl_licence.parse(RSL), "https://example.com/blog/1")
    assert {each.source for each in found.statements} == {"RSL licence rule 2"}
    assert usage.from_rsl(rsl_licence.parse(RSL), "https://other.example/paid/1").statements[0].line == 1


def test_contents_of_equal_length_combine_and_their_order_carries_no_meaning() -> None:
    content = b'<content url="%s"><license><%s>search</%s></license></content>'
    first, second, shorter = (
        content % (url, verb, verb) for url, verb in ((b"/a*", b"permits"), (b"/ab", b"prohibits"), (b"/", b"permits"))
    )
    for body in (first + second + shorter, shorter + second + first):
        found = usage.from_rsl(rsl_licence.parse(b"<rsl>%s</rsl>" % body), "/abc")
        assert (found.preference("search"), len(found.statements)) == ("disallowed", 2)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"\xff\xfe\x00",
        b"<rsl>" * 100_000,
        b"x" * 2_000_000,
        b"<?xml version='1.0' encoding='klingon'?><rsl/>",
        b'<!DOCTYPE rsl [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><rsl>&b;</rsl>',
        b'<!DOCTYPE rsl SYSTEM "file:///etc/passwd"><rsl/>',
    ],
)
def test_an_rsl_licence_that_cannot_be_read_says_so_and_states_nothing(body: bytes) -> None:
    document = rsl_licence.parse(body)
    assert document.problems
    assert usage.from_rsl(document, URL) == Usage()


def test_what_came_before_the_damage_in_an_rsl_licence_is_used() -> None:
    document = rsl_licence.parse(RSL[: RSL.index(b'<content url="https')])
    assert (len(document.contents), len(document.problems)) == (2, 1)


# noai


def test_noai_forbids_training_and_noimageai_forbids_it_on_images() -> None:
    found = usage.merge(
        usage.from_headers([("X-Robots-Tag", "noimageai"), ("x-robots-tag", "otherbot: noai")], agent="MyBot/1.0")
    )
    assert (found.preference("train-ai"), found.preference("train-ai", images=True)) == ("unknown", "disallowed")
    assert usage.from_metas([("robots", "noai")]).preference("train-ai") == "disallowed"
    assert usage.from_metas([("mybot", "noai")], agent="MyBot/1.0").statements[0].source == "meta mybot"


# One answer


def statement(purpose: str, value: Any) -> Statement:
    return Statement(purpose, value, "aipref", "header", "Content-Usage", "")


@pytest.mark.parametrize(
    ("values", "answer"),
    [
        ([], "unknown"),
        (["unknown"], "unknown"),
        (["unknown", "allowed"], "allowed"),
        (["allowed", "disallowed", "unknown"], "disallowed"),
    ],
)
def test_any_disallow_disallows_else_any_allow_allows(values: list[str], answer: str) -> None:
    statements = [statement("train-ai", value) for value in values] + [statement("search", "disallowed")]
    assert usage.combine(statements, "train-ai") == answer
    assert usage.combine(statements, "ai-train") == answer


def test_one_forbidden_part_makes_the_whole_not_applicable() -> None:
    forbidden = usage.from_robots(URL, content_usage=records((1, "train-ai=n")), crawlable=False)
    assert not usage.merge(forbidden, usage.from_headers([])).applicable
    assert usage.merge().applicable


def test_an_unknown_purpose_is_refused_with_the_allowed_ones() -> None:
    with pytest.raises(InvalidSetting, match="search, ai-input, train-ai"):
        Usage().preference("sell-ai")


def test_the_answer_names_who_gives_it() -> None:
    found = usage.merge(
        usage.from_robots(URL, content_usage=records((4, "train-ai=n"))),
        usage.from_headers([("Content-Signal", "search=yes")]),
    )
    assert found.explain("train-ai") == "train-ai is disallowed: robots.txt line 4 says 'train-ai=n'"
    assert found.explain("search") == "search is allowed: header Content-Signal says 'search=yes'"
    assert found.explain("ai-input") == "ai-input: the site says nothing about it"


def test_a_statement_for_others_is_named_where_there_is_none_for_the_agent() -> None:
    star = "User-agent: *\nContent-Signal: ai-train=no\nAllow: /\n\nUser-agent: GPTBot\nAllow: /\n"
    robots = comity_robots.parse(star)
    assert robots.usage("/", "GPTBot").explain("train-ai") == (
        "train-ai: unknown: robots.txt line 2 says 'ai-train=no', which does not count: it is meant for * alone"
    )
    assert robots.usage("/", "other").preference("train-ai") == "disallowed"
    own = comity_robots.parse(f"{star}Content-Signal: search=yes\n").usage("/", "GPTBot")
    assert own.explain("train-ai") == "train-ai: the site says nothing about it"


def test_an_unknown_answer_names_what_stands_in_its_way() -> None:
    robots = comity_robots.parse(
        "User-agent: *\nContent-Usage: train-ai=no\nContent-Signal: ai-input=nope, search\nDisallow: /x\n"
    )
    found = robots.usage("/y", "a")
    line = "train-ai: unknown: robots.txt line 2 says 'train-ai=no', which does not count: "
    assert found.explain("train-ai") == f"{line}the value of train-ai is neither the token y nor the token n"
    assert "line 3" in found.explain("ai-input")
    assert "neither yes nor no" in found.explain("search")
    broken = (
        comity_robots.parse("User-agent: *\nContent-Usage: train-ai=n,\nDisallow:").usage("/", "a").explain("train-ai")
    )
    assert "line 2 says 'train-ai=n,'" in broken
    assert "not a Structured Field dictionary" in broken
    (spaced,) = usage.from_robots("/a", content_usage=[(1, "train-ai = n, search=y", "*")]).statements
    assert spaced.note == "not a Structured Field dictionary: white space stands beside '='"
    disallowed = robots.usage("/x", "a").explain("train-ai")
    assert disallowed == "train-ai: unknown, because robots.txt disallows the URL"


def test_usage_serialises_to_json() -> None:
    found = usage.from_robots(URL, content_usage=records((4, "/a/ train-ai=n")), licences=[(1, "https://e/l", None)])
    data = json.loads(json.dumps(found.to_dict()))
    assert (data["train-ai"], data["search"]) == ("disallowed", "unknown")
    assert data["statements"][0]["source"] == "robots.txt line 4"
    assert data["licences"] == [
        {
            "url": "https://e/l",
            "source": "robots.txt line 1",
            "vocabulary": "rsl",
            "origin": "robots.txt",
            "name": "License",
            "line": 1,
            "applies": True,
            "note": "",
        }
    ]


# Hostile content

WORDS = """train-ai search ai-input ai-train = , ; n y yes no ?0 "n" ( ) : @9 %"% / /a* $ < > rel=license type= " \\
application/rsl+xml noai unavailable_after: location tdm-reservation [ ] { } 1 0"""
texts = st.one_of(
    st.text(max_size=40),
    st.lists(st.sampled_from([*WORDS.split(), " ", "\ud800", "é", "\x00"]), max_size=16).map("".join),
)
NAMES = [
    "Content-Usage",
    "content-signal",
    "TDM-Reservation",
    "tdm-policy",
    "Link",
    "X-Robots-Tag",
    "robots",
    "tdm:policy",
]
pairs = st.lists(st.tuples(st.sampled_from(NAMES) | texts, texts), max_size=5)
rows = st.lists(st.tuples(st.integers(1, 99), texts, st.none()), max_size=5)


@examples(300)
@given(rows, rows, rows, pairs, texts)
def test_nothing_a_site_says_raises(
    usages: list[usage.UsageLine], signals: list[usage.UsageLine], licences: list[usage.UsageLine], named: Any, url: str
) -> None:
    found = usage.merge(
        usage.from_robots(url, content_usage=usages, content_signal=signals, licences=licences),
        usage.from_headers(named, agent=url, url=url),
        usage.from_metas(named, agent=url),
    )
    json.dumps(found.to_dict())
    hash(found)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["location", "tdm-reservation", "tdm-policy"]) | texts, inner, max_size=4)
    ),
    max_leaves=12,
)


@examples(200)
@given(st.binary(max_size=60) | json_values.map(lambda value: json.dumps(value).encode()), texts)
def test_no_tdmrep_file_raises(body: bytes, url: str) -> None:
    usage.from_tdmrep(tdmrep.parse(body), url)


@examples(200)
@given(st.binary(max_size=80) | st.lists(st.sampled_from([*RSL.split(b">"), b""]), max_size=12).map(b">".join), texts)
def test_no_rsl_licence_raises(body: bytes, url: str) -> None:
    usage.from_rsl(rsl_licence.parse(body), url)


@examples(200)
@given(st.lists(texts, max_size=3), st.lists(texts, max_size=3))
def test_a_further_signal_never_lifts_a_disallow(some: list[str], more: list[str]) -> None:
    before = usage.from_headers([("Content-Signal", value) for value in some])
    after = usage.from_headers([("Content-Signal", value) for value in [*some, *more]])
    for purpose in usage.PURPOSES:
        if before.preference(purpose) == "disallowed":
            assert after.preference(purpose) == "disallowed"


def test_endless_values_are_not_read_and_said_so() -> None:
    assert aipref.VOCABULARY.stated("train-ai=n, " * 10_000)[0].note.startswith("longer than")
    assert content_signal.VOCABULARY.stated("ai-train=no," * 10_000)[0].note.startswith("longer than")
    assert len(content_signal.read(",".join(f"k{n}=1" for n in range(1_000)))) == vocabulary.MAX_KEYS
    assert len(aipref.read(", ".join(f"k{n}=1" for n in range(900)))) == vocabulary.MAX_KEYS


# Path patterns


@pytest.mark.parametrize(
    ("pattern", "path", "covered"),
    [
        ("/fish", "/fisher.html?x", True),
        ("/fish", "/Fish", False),
        ("/*.php$", "/a/b.php?x", False),
        ("/exact$", "/exactly", False),
        ("/path/foo-%24", "https://provider.example/path/foo-$", True),
        ("/%61", "/a", True),
        ("/a%2Fb", "/a/b", False),
        ("", "/x", False),
    ],
)
def test_a_path_pattern_covers_what_robots_txt_patterns_cover(pattern: str, path: str, covered: bool) -> None:
    assert paths.pattern(pattern).covers(paths.target(path)) is covered


# A whole robots.txt

ROBOTS = b"""\
License: https://example.com/rsl.xml
Content-Signal: ai-train=no

User-Agent: *
Allow: /
Disallow: /never/
Content-Usage: train-ai=n   # please
Content-Usage: /ai-ok/ train-ai=y

User-Agent: ExampleBot
Allow: /
Content-Usage: train-ai=y

User-agent: Quiet
Disallow: /x

User-agent: One
Content-Signal: search=yes
User-agent: Two
Disallow: /y
"""


def asked(url: str, agent: str) -> Usage:
    robots = comity_robots.parse(ROBOTS)
    return usage.for_agent(robots, agent).for_url(url, crawlable=robots.allowed(url, agent))


@pytest.mark.parametrize(
    ("agent", "path", "answer", "sources"),
    [
        ("MyBot/1.0", "/test", "disallowed", ["robots.txt line 7"]),
        ("MyBot/1.0", "/never/test", "unknown", []),
        ("MyBot/1.0", "/ai-ok/test", "allowed", ["robots.txt line 8"]),
        ("ExampleBot/2.1", "/never/test", "allowed", ["robots.txt line 12"]),
        ("quiet", "/test", "unknown", []),
    ],
)
def test_the_drafts_robots_txt_read_whole(agent: str, path: str, answer: str, sources: list[str]) -> None:
    # covers: F21 (text after # is a comment, lines that say nothing are skipped)
    found = asked(path, agent)
    assert found.preference("train-ai") == answer
    assert [each.source for each in found.statements if each.value != "unknown"] == sources
    assert [each.url for each in found.licences] == ["https://example.com/rsl.xml"]


def test_a_statement_outside_of_any_group_is_shown_and_addresses_nobody() -> None:
    outside = asked("/test", "quiet").statements
    lines = [f"robots.txt line {line}" for line in (2, 7, 8, 12)]  # the others are meant for others
    assert [(each.source, each.value) for each in outside] == [(line, "unknown") for line in lines]
    assert "User-agent" in outside[0].note


def test_a_preference_ends_the_run_of_user_agent_lines_above_it() -> None:
    assert asked("/", "One").preference("search") == "allowed"
    assert asked("/", "Two").preference("search") == "unknown"


def test_the_statement_names_its_group() -> None:
    assert [each.group for each in asked("/test", "MyBot").statements] == ["*", None]


@examples(200)
@given(
    st.binary(max_size=200) | st.lists(st.sampled_from([*ROBOTS.splitlines(keepends=True)]), max_size=12).map(b"".join)
)
def test_no_robots_txt_raises(body: bytes) -> None:
    for dialect in ("rfc9309", "google", "draft1996"):
        found = usage.for_agent(comity_robots.parse(body, dialect), "One/1.0").for_url("/ai-ok/?x", crawlable=True)
        json.dumps(found.to_dict())


def test_a_robots_txt_full_of_preferences_is_answered_in_bounded_time() -> None:
    body = (
        b"User-agent: *\n"
        + b"Content-Usage: /*a*a*a*a*b train-ai=n\n" * 6_000
        + b"Content-Usage: train-ai=n, x=1\n" * 8_000
    )
    asked_often = usage.for_agent(comity_robots.parse(body), "MyBot")
    found = asked_often.for_url("/" + "a" * 2_000, crawlable=True)
    assert found.preference("train-ai") == "disallowed"
    assert len({each.line for each in found.statements}) == 256


def size_per_url(body: bytes, url: str = URL) -> int:
    found = usage.for_agent(comity_robots.parse(body), "MyBot").for_url(url, crawlable=True)
    return len(json.dumps(found.to_dict()))


def test_what_one_url_carries_is_bounded_whatever_the_robots_txt_repeats() -> None:
    agents = b"".join(b"User-agent: agent%d\n" % n for n in range(20_000)) + b"User-agent: *\n"
    keys = b", ".join(b"k%d=1" % n for n in range(33))
    assert size_per_url(agents + b"Content-Usage: train-ai=n, %s\n" % keys * 250) < 500_000
    assert size_per_url(b"User-agent: *\n" + b"Content-Usage: /%s train-ai=n\n" % (b"*" * 2_000) * 200) < 500_000
    headers = [("Content-Signal", ", ".join(f"{n}{n}{n}" for n in range(start, start + 32))) for start in range(200)]
    assert len(usage.from_headers(headers).statements) == 33


def test_the_user_agents_of_a_long_group_are_cut() -> None:
    body = b"".join(b"User-agent: agent%d\n" % n for n in range(99)) + b"User-agent: *\nContent-Usage: train-ai=n\n"
    found = usage.for_agent(comity_robots.parse(body), "MyBot").for_url(URL, crawlable=True)
    group = found.statements[0].group
    assert group is not None
    assert (len(group), group[:16], group[-1]) == (201, "agent0, agent1, ", "…")


def test_statements_about_unknown_keys_are_few_and_the_others_are_counted() -> None:
    usages = [(n, f"a{n}=1, b{n}=1", "*") for n in range(1, 101)] + [(101, "train-ai=n", "*")]
    found = usage.from_robots(URL, content_usage=usages)
    assert found.preference("train-ai") == "disallowed"
    assert len(found.statements) == 34
    assert found.statements[-1].note.startswith("168 more statements were left out")
    assert found.statements[-1].purpose == ""


def test_what_is_left_out_changes_no_answer() -> None:
    late = usage.from_robots(URL, content_usage=records(*[(n, "train-ai=y") for n in range(400)], (400, "train-ai=n")))
    assert late.preference("train-ai") == "disallowed"
    assert len([each for each in late.statements if each.purpose]) == 257
    covering = [(n, f"/{'*' * (n % 90)}a{'*' * (90 - n % 90)} train-ai=y") for n in range(400)]
    equally_long = usage.from_robots("/a", content_usage=records(*covering, (400, f"/a{'*' * 90} train-ai=n")))
    assert equally_long.preference("train-ai") == "disallowed"


def test_half_a_megabyte_of_preferences_is_read_once_and_not_for_each_url() -> None:
    keys = b", ".join(b"k%d=1" % n for n in range(33))
    body = b"User-agent: *\n" + b"Content-Usage: %s\n" % keys * 2_200
    start = time.process_time()
    asked_often = usage.for_agent(comity_robots.parse(body), "MyBot")
    prepared = time.process_time()
    for number in range(1_000):
        asked_often.for_url(f"https://example.com/{number}", crawlable=True)
    assert time.process_time() - prepared < max(2.0, 50 * (prepared - start)), (
        "a reading for each URL would be a thousand"
    )


def test_the_documentation_shows_what_really_happens() -> None:
    page = Path(__file__).parents[4] / "docs" / "usage.md"
    result = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert result.attempted > 15
    assert result.failed == 0


# Directives that search engines say mean something for AI


@pytest.mark.parametrize(
    ("directives", "meant", "whose"),
    [
        ("nosnippet", ("unknown", "disallowed", "unknown"), "Google"),
        ("max-snippet:0", ("unknown", "disallowed", "unknown"), "Google"),
        ("max-snippet:20", ("unknown", "unknown", "unknown"), ""),
        ("noarchive", ("unknown", "disallowed", "disallowed"), "Bing"),
        ("nocache", ("unknown", "unknown", "unknown"), "Bing"),
        ("noarchive, nocache", ("unknown", "unknown", "unknown"), "Bing"),  # as Bing has it: nocache counts
        ("noindex, nofollow", ("unknown", "unknown", "unknown"), ""),
    ],
)
def test_what_search_engines_take_a_directive_to_mean_for_ai_is_stated_with_their_name(
    directives: str, meant: tuple[str, str, str], whose: str
) -> None:
    for found in (
        usage.from_headers([("X-Robots-Tag", directives)]),
        usage.from_metas([("robots", directives)]),
    ):
        assert answers(found) == meant
        assert [whose for each in found.statements if whose not in each.note or not whose] == []
        assert bool(found.statements) == bool(whose)
        assert f"by {whose}'s rules" in found.explain("ai-input") or not whose
    assert usage.from_metas([("otherbot", directives)], agent="MyBot/1.0").statements == ()


def test_parts_that_are_not_to_be_quoted_say_nothing_of_the_whole_page() -> None:
    body = b"""<p>one <span data-nosnippet>two</span><DIV Data-NoSnippet=''>x</DIV>
<p data-nosnippet>no <!-- <div data-nosnippet> -->"""
    page = read_page(body, URL, "text/html")
    assert page.withheld == 2
    found = usage.from_page(page)
    assert found.preference("ai-input") == found.preference("ai-input", images=True) == "unknown"
    (statement,) = found.statements
    assert (statement.source, statement.value, statement.scope) == ("attribute data-nosnippet", "disallowed", "parts")


# RSL in a feed and in a page

RSL_FEED = b"""<rss xmlns:rsl="https://rslstandard.org/rsl" xmlns:media="http://search.yahoo.com/mrss/" version="2.0">
<channel>
<link>https://example.com/</link>
<item>
<rsl:content><rsl:license><rsl:prohibits type="usage">ai-train</rsl:prohibits></rsl:license></rsl:content>
<link>https://example.com/news/1</link></item>
<item><link>https://example.com/news/2</link>
<media:content url="https://example.com/x.png"/><permits>all</permits>
<rsl:content url="/deep/*">
<rsl:license><rsl:permits type="usage">search</rsl:permits></rsl:license></rsl:content></item>
</channel></rss>"""


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("/news/1", ("unknown", "unknown", "disallowed")),
        ("/news/12", ("unknown", "unknown", "unknown")),
        ("/news/2", ("unknown", "unknown", "unknown")),
        ("/deep/x", ("allowed", "unknown", "unknown")),
    ],
)
def test_a_feed_with_the_module_of_rsl_is_a_licence(path: str, meant: tuple[str, str, str]) -> None:
    document = rsl_licence.parse(RSL_FEED)
    assert document.problems == ()
    assert answers(usage.from_rsl(document, f"https://example.com{path}")) == meant


def test_a_feed_without_the_module_is_none() -> None:
    assert rsl_licence.parse(b"<rss><channel><item><content/></item></channel></rss>").problems


@pytest.mark.parametrize("place", ["", ' url="https://example.com/a/*"', ' url="/a/"'])
def test_a_licence_that_stands_in_a_page_is_read(place: str) -> None:
    body = f"""<script>var x = "</p>"</script><script type=" Application/RSL+XML ">
<rsl xmlns="https://rslstandard.org/rsl"><content{place}><license><prohibits type="usage">ai-train</prohibits>
</license></content></rsl></script><template><script type=application/rsl+xml>no</script></template>"""
    page = read_page(body.encode(), URL, "text/html")
    assert len(page.rsl) == 1
    assert answers(usage.from_page(page)) == ("unknown", "unknown", "disallowed")


def test_an_index_for_ai_is_listed_by_its_own_name() -> None:
    body = b"<rsl><content url='/'><license><prohibits type='usage'>ai-index</prohibits></license></content></rsl>"
    found = usage.from_rsl(rsl_licence.parse(body), URL)
    assert [(each.purpose, each.value, each.note) for each in found.statements] == [("ai-index", "disallowed", "")]
    assert answers(found) == ("unknown", "unknown", "unknown")
