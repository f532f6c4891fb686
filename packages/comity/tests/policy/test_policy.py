"""A policy is checked when it is made; a decision says what the table of verdicts says."""

import itertools
import json
import math
import time
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity import InvalidRecord, InvalidSetting
from comity.configuration import load
from comity.http_caching import freshness
from comity.policy import Decision, OriginPolicy, Policy, Reason, RobotsResult, decide, json_schema, stale_if_error
from comity.policy.policy import Use
from comity_pages.signals.llms import candidates
from comity_pages.signals.llms import parse as parse_llms
from comity_pages.signals.sitemaps import SitemapUrl
from comity_pages.signals.sitemaps import read as read_sitemap

ORIGIN = "https://example.com"
URL = ORIGIN + "/private/page"


def answered(status: int, body: bytes = b"") -> RobotsResult:
    return RobotsResult.from_response(
        ORIGIN, ORIGIN + "/robots.txt", status, body, fetched_at=1_800_000_000.0, policy=Policy()
    )


def no_answer() -> RobotsResult:
    return RobotsResult.unreachable(
        ORIGIN, ORIGIN + "/robots.txt", "time-out", policy=Policy(), fetched_at=1_800_000_000.0
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("mode", "obey"),
        ("on_unreachable", "maybe"),
        ("on_unavailable", "disallow"),
        ("on_unparsable", "allow"),
        ("dialect", "altavista"),
        ("min_interval", -1),
        ("min_interval", "soon"),
        ("cache_life", -0.5),
        ("failure_life", -1),
        ("robots_redirects", 99),
        ("robots_redirects", True),
        ("honour", ("crawl-delay", "patience")),
        ("purposes", "sell"),
        ("url_charset", "klingon"),
        ("robots_charset", "guess"),
        ("stale_life", -1),
        ("unreachable_life", float("inf")),
        ("robots_fetch_counts", "yes"),
        ("allow_addresses", ("localhost",)),
        ("agent", ""),
        ("agent", "/1.0"),
        ("agent", "Bot\r\nX: y"),
    ],
)
def test_a_setting_that_is_not_allowed_is_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(InvalidSetting, match=field):
        Policy(**{field: value})  # type: ignore[arg-type]


def test_a_policy_is_frozen() -> None:
    with pytest.raises(AttributeError):
        Policy().mode = "ignore"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("agent", "product"), [("MyBot/1.0 (+https://example.org)", "MyBot"), ("MJ12bot", "MJ12bot"), ("Bar Bot", "Bar")]
)
def test_the_product_token_is_what_stands_before_slash_or_space(agent: str, product: str) -> None:
    assert Policy(agent=agent).product == product


# covers: W7, W8, L1
@pytest.mark.parametrize(
    ("result", "verdict", "recommendation", "may_fetch"),
    [
        (answered(200, b"User-agent: *\nAllow: /private/"), "allowed_explicit", "recommended", True),
        (answered(200, b"User-agent: *\nDisallow: /other"), "allowed_implicit", "recommended", True),
        (answered(200, b"User-agent: *\nDisallow: /private/"), "disallowed_explicit", "not_recommended", False),
        (answered(200, b""), "allowed_implicit", "recommended", True),
        (answered(404), "allowed_implicit", "recommended", True),
        (answered(403), "allowed_implicit", "recommended", True),
        (answered(302), "allowed_implicit", "recommended", True),
        (answered(503), "unknown_unreachable", "unknown_do_not_fetch_by_default", False),
        (answered(429), "unknown_unreachable", "unknown_do_not_fetch_by_default", False),
        (no_answer(), "unknown_unreachable", "unknown_do_not_fetch_by_default", False),
        (answered(200, b"<html><body>Not found</body></html>"), "unknown_parse_error", "allowed_but_warn", True),
    ],
)
def test_every_outcome_has_its_verdict(
    result: RobotsResult, verdict: str, recommendation: str, may_fetch: bool
) -> None:
    decision = decide(Policy(), URL, result)
    assert (decision.verdict, decision.recommendation, decision.may_fetch) == (verdict, recommendation, may_fetch)
    assert decision.why
    assert json.loads(json.dumps(decision.to_dict()))["verdict"] == verdict


@pytest.mark.parametrize(
    ("result", "reason", "changes"),
    [
        (answered(200, b"User-agent: *\nAllow: /private/"), Reason.RULE_ALLOWS, {}),
        (answered(200, b"User-agent: *\nDisallow: /private/"), Reason.RULE_DISALLOWS, {}),
        (answered(200, b"User-agent: *\nDisallow:"), Reason.RULE_WITHOUT_PATH, {}),
        (answered(200, b"User-agent: *\nDisallow: /other"), Reason.NO_RULE, {}),
        (answered(200, b"User-agent: Other\nDisallow: /"), Reason.NO_GROUP, {}),
        (answered(404), Reason.UNAVAILABLE, {}),
        (answered(503), Reason.UNREACHABLE, {}),
        (answered(503), Reason.UNREACHABLE_TOO_LONG, {"unreachable_life": 0}),
        (replace(no_answer(), blocked=True), Reason.ADDRESS_BLOCKED, {}),
        (answered(200, b"<html>"), Reason.UNPARSABLE, {}),
        (answered(200, b"User-agent: *\nCrawl-delay: 9"), Reason.CRAWL_DELAY, {"max_crawl_delay": 5}),
        (answered(200, b"User-agent: *\nContent-Signal: use=immediate"), Reason.USE, {"use": "full"}),
        (answered(200, b"User-agent: *\nDisallow: /"), Reason.MODE_IGNORE, {"mode": "ignore"}),
    ],
)
def test_what_a_decision_rests_on_is_a_value(result: RobotsResult, reason: Reason, changes: dict[str, Any]) -> None:
    decision = decide(Policy(**changes), URL, result)
    assert decision.reason is reason
    assert decision.may_pass is (reason is Reason.UNREACHABLE)
    assert Decision.from_dict(json.loads(json.dumps(decision.to_dict()))).reason is reason


def test_the_robots_txt_itself_is_allowed_for_a_reason_of_its_own() -> None:
    for result in (answered(200, b"User-agent: *\nDisallow: /"), answered(503)):
        assert decide(Policy(), f"{ORIGIN}/robots.txt", result).reason is Reason.ROBOTS_TXT_ITSELF


def test_no_words_of_a_site_are_taken_for_our_own_rule_on_addresses() -> None:
    result = RobotsResult.from_response(
        *(ORIGIN, f"{ORIGIN}/robots.txt", 503, b""),
        policy=Policy(),
        fetched_at=0.0,
        error="redirects to /is not a public address, in a loop",
    )
    assert decide(Policy(), URL, result).may_pass


# covers: W9
def test_report_only_decides_the_same_and_blocks_nothing() -> None:
    decision = decide(Policy(mode="report_only"), URL, answered(200, b"User-agent: *\nDisallow: /"))
    assert decision.verdict == "disallowed_explicit"
    assert decision.may_fetch


# covers: L5, F21, R5
def test_what_absence_means_is_selectable() -> None:
    assert decide(Policy(on_unreachable="allow"), URL, no_answer()).may_fetch
    assert not decide(Policy(on_unavailable="disallow_401_403"), URL, answered(403)).may_fetch
    assert decide(Policy(on_unavailable="disallow_401_403"), URL, answered(404)).may_fetch
    assert not decide(Policy(on_unparsable="disallow"), URL, answered(200, b"\x89PNG\r\n\x1a\n\0\0")).may_fetch
    binary = answered(200, b"\x89PNG\r\n\x1a\n\0\0")
    assert decide(Policy(), URL, binary).why.endswith("it has no known line; so everything is allowed")
    assert decide(Policy(), URL, no_answer()).why.endswith("; so nothing may be fetched")


def test_a_refusal_names_the_line() -> None:
    decision = decide(Policy(), URL, answered(200, b"# hello\nUser-agent: *\nDisallow: /private/ # ours\n"))
    assert decision.rule is not None
    assert decision.rule.line == 3
    assert "/private/" in decision.rule.text
    assert "line 3" in decision.why


# covers: L6
def test_the_larger_of_our_interval_and_the_crawl_delay_applies() -> None:
    slow = answered(200, b"User-agent: *\nCrawl-delay: 7")
    assert decide(Policy(min_interval=1), URL, slow).delay == 7
    assert decide(Policy(min_interval=10), URL, slow).delay == 10


def test_a_crawl_delay_over_the_cap_refuses_rather_than_ignores() -> None:
    decision = decide(Policy(max_crawl_delay=60), URL, answered(200, b"User-agent: *\nCrawl-delay: 86400"))
    assert not decision.may_fetch
    assert "86400" in decision.why


DAY = 86_400.0


def at(seconds: float, status: int = 503, **policy: object) -> RobotsResult:
    return RobotsResult.from_response(
        ORIGIN,
        ORIGIN + "/robots.txt",
        status,
        b"User-agent: *\nDisallow: /private/",
        policy=Policy(**policy),  # type: ignore[arg-type]
        fetched_at=seconds,
    )


def test_the_last_good_copy_stands_in_from_the_first_failure_until_its_time_is_over() -> None:
    policy = Policy(stale_life=3 * DAY)
    copy = at(0.0, 200)
    for day in (1, 2, 3, 3.9):
        copy = stale_if_error(policy, copy, at(day * DAY))
        assert copy.stale
        assert copy.unreachable_since == DAY
        assert decide(policy, URL, copy).verdict == "disallowed_explicit"
        assert decide(policy, ORIGIN + "/open", copy).may_fetch
    gone = stale_if_error(policy, copy, at(4 * DAY))
    assert gone.kind == "unreachable"
    assert gone.unreachable_since == DAY
    assert not decide(policy, ORIGIN + "/open", gone).may_fetch
    back = stale_if_error(policy, gone, at(5 * DAY, 200))
    assert back.unreachable_since is None
    assert decide(policy, ORIGIN + "/open", back).may_fetch


def test_without_a_bound_the_last_good_copy_stands_in_for_ever() -> None:
    policy = Policy(stale_life=None)
    copy = stale_if_error(policy, at(0.0, 200), at(DAY))
    assert stale_if_error(policy, copy, at(9999 * DAY)).stale


def test_a_site_that_had_no_file_and_then_fails_is_closed() -> None:
    assert stale_if_error(Policy(), at(0.0, 404), at(DAY)).kind == "unreachable"


def test_after_thirty_days_unreachable_counts_as_unavailable_where_the_policy_says_so() -> None:
    google = Policy.preset("google")
    first = at(0.0)
    for day, may_fetch in ((1, False), (29, False), (30, True), (31, True)):
        decision = decide(google, URL, stale_if_error(google, first, at(day * DAY)))
        assert decision.may_fetch is may_fetch
        assert decision.verdict == ("allowed_implicit" if may_fetch else "unknown_unreachable")
    never = decide(Policy(), URL, stale_if_error(Policy(), first, at(400 * DAY)))
    assert not never.may_fetch


@pytest.mark.parametrize(
    ("record", "honour", "delay"),
    [
        ("Crawl-delay: 7", ("crawl-delay", "request-rate"), 7.0),
        ("Request-rate: 1/10s", ("crawl-delay", "request-rate"), 10.0),
        ("Request-rate: 30/1m", ("request-rate",), 2.0),
        ("Crawl-delay: 3\nRequest-rate: 1/10s", ("crawl-delay", "request-rate"), 10.0),
        ("Crawl-delay: 7\nRequest-rate: 1/10s", (), 1.0),
    ],
)
def test_the_site_s_wishes_that_the_policy_honours_set_the_pace(
    record: str, honour: tuple[str, ...], delay: float
) -> None:
    policy = Policy(honour=honour)  # type: ignore[arg-type]
    assert decide(policy, URL, answered(200, f"User-agent: *\n{record}".encode())).delay == delay


def test_the_cheap_answer_is_the_decision_s() -> None:
    body = b"User-agent: *\nDisallow: /private/\nCrawl-delay: 100"
    results = [answered(200, body), answered(200, b"<html>"), answered(404), answered(403), answered(503), no_answer()]
    policies = [
        Policy(mode=mode, max_crawl_delay=cap, on_unreachable=unreachable, on_unavailable=unavailable)
        for mode in ("respect", "report_only", "ignore")
        for cap in (None, 10.0)
        for unreachable in ("allow", "disallow")
        for unavailable in ("allow", "disallow_401_403")
    ]
    for policy, result in itertools.product(policies, results):
        origin_policy = OriginPolicy(policy, result)
        for url in (URL, ORIGIN + "/open"):
            assert origin_policy.allows(url) == origin_policy.decide(url).may_fetch


USAGE = b"""User-agent: *
Disallow: /private/
Content-Usage: train-ai=n
Content-Usage: /open/ train-ai=y
Content-Signal: search=yes, ai-input=no
License: https://example.com/licence.xml
"""


def test_a_decision_says_what_the_site_states_about_each_purpose_of_ours() -> None:
    policy = Policy(purposes=("train-ai", "search"))
    decision = decide(policy, ORIGIN + "/open/data", answered(200, USAGE))
    assert decision.usage_of_purposes == {"search": "allowed", "train-ai": "allowed"}
    assert decide(policy, ORIGIN + "/page", answered(200, USAGE)).usage.preference("train-ai") == "disallowed"
    forbidden = decide(policy, URL, answered(200, USAGE))
    assert not forbidden.usage.applicable
    assert forbidden.usage.preference("train-ai") == "unknown"
    assert decide(policy, ORIGIN + "/page", answered(200, USAGE)).may_fetch, "a preference never blocks a fetch"


RESULTS = st.one_of(
    st.builds(
        lambda status, body: answered(status, body),
        st.sampled_from((200, 204, 301, 401, 404, 429, 500, 503)),
        st.sampled_from((b"", USAGE, b"<html>", b"User-agent: *\nAllow: /private\nCrawl-delay: 0.25", b"\x00\xff")),
    ),
    st.builds(no_answer),
    st.none(),
)
POLICIES = st.builds(
    Policy,
    mode=st.sampled_from(("respect", "report_only", "ignore")),
    purposes=st.sampled_from(((), ("search",), ("search", "ai-input", "train-ai"))),
    min_interval=st.floats(0, 100),
    cache_life=st.sampled_from((None, 0.0, 60.0, math.inf)),
)


# covers: W7, W13
@given(POLICIES, RESULTS, st.sampled_from(("/private/page", "/open/x", "/", "/robots.txt", "/%F0%9F%98%80?q=é")))
def test_a_decision_comes_back_from_json_as_it_was_and_keeps_to_the_schema(
    policy: Policy, result: RobotsResult | None, path: str
) -> None:
    result = result if policy.mode != "ignore" else None
    if result is None:
        policy = policy.with_changes(mode="ignore")
    decision = decide(policy, ORIGIN + path, result)
    written = json.loads(json.dumps(decision.to_dict(), allow_nan=False))
    jsonschema.validate(written, json_schema())
    assert Decision.from_dict(written) == decision


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"verdict": "fine"}, "verdict: 'fine' is not one of allowed_explicit"),
        ({"may_fetch": 1}, "may_fetch: 1 is not true or false"),
        ({"rule": {"line": "3", "text": ""}}, "rule, line: '3' is not a whole number"),
        ({"source": []}, "is not an object"),
        ({"usage": None}, "usage: None is not an object"),
        ({"purposes": ["sell"]}, "purposes: 'sell' is not one of search"),
        ({"delay": None}, "delay: None is not a number"),
    ],
)
def test_a_damaged_record_is_told_from_a_decision(change: dict[str, object], message: str) -> None:
    whole = decide(Policy(), URL, answered(200, USAGE)).to_dict()
    with pytest.raises(InvalidRecord, match=message):
        Decision.from_dict({**whole, **change})
    for field in whole:
        with pytest.raises(InvalidRecord, match=field):
            Decision.from_dict({name: value for name, value in whole.items() if name != field})


def test_a_decision_prints_as_one_sentence() -> None:
    decision = decide(Policy(agent="MyBot/1.0"), URL, answered(200, USAGE))
    assert str(decision) == (
        "https://example.com/private/page may not be fetched by MyBot/1.0: "
        "line 2, 'Disallow: /private/', disallows /private/page"
    )


# covers: W1, W3, W4
def test_what_a_sitemap_or_llms_txt_names_is_judged_by_robots_txt_alone() -> None:
    named = parse_llms(f"# Site\n## Pages\n- [page]({URL})\n", ORIGIN + "/llms.txt")
    listed = list(read_sitemap(f"<urlset><url><loc>{URL}</loc></url></urlset>".encode()))
    origin_policy = OriginPolicy(
        Policy(), answered(200, b"User-agent: *\nDisallow: /private/\nAllow: /private/page.md")
    )
    assert isinstance(listed[0], SitemapUrl)
    assert origin_policy.decide(listed[0].loc).verdict == "disallowed_explicit"
    asked = [(each.reason, origin_policy.decide(each.url).verdict) for each in candidates(URL, named)]
    assert asked == [
        ("llms_exact", "disallowed_explicit"),
        ("markdown_variant", "allowed_explicit"),
    ]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("honour", 5),
        ("purposes", None),
        ("allow_addresses", None),
        ("dialect", []),
        ("min_interval", 10**400),
        ("url_charset", "base64"),
        ("url_charset", "utf-16"),
        ("url_charset", "idna"),
        ("allow_hosts", ("a b",)),
        ("mode", ["respect"]),
    ],
)
def test_a_wrong_type_is_refused_by_name_too(field: str, value: object) -> None:
    with pytest.raises(InvalidSetting, match=field):
        Policy(**{field: value})  # type: ignore[arg-type]
    with pytest.raises(InvalidSetting, match=field):
        Policy.preset("google", **{field: value})
    with pytest.raises(InvalidSetting, match="foo"):
        Policy().with_changes(foo=1)


def test_without_an_answer_nothing_is_decided_but_in_mode_ignore() -> None:
    with pytest.raises(InvalidSetting, match="mode is ignore"):
        decide(Policy(), URL, None)
    ignoring = decide(Policy(mode="ignore"), URL, answered(200, b"User-agent: *\nDisallow: /"))
    assert (ignoring.verdict, ignoring.source) == ("skipped_by_user_policy", None)


def test_thirty_days_unreachable_win_over_the_last_good_copy() -> None:
    for stale_life in (None, 30 * DAY):
        policy = Policy(stale_life=stale_life, unreachable_life=10 * DAY)
        copy = at(0.0, 200)
        for day in range(1, 12):
            copy = stale_if_error(policy, copy, at(day * DAY))
        assert decide(policy, URL, copy).verdict == "allowed_implicit"


# covers: R5
def test_presets_that_fail_open_do_so_with_an_old_copy_at_hand_too() -> None:
    for name in ("robotstxt", "f9"):
        policy = Policy.preset(name)
        assert decide(policy, URL, stale_if_error(policy, at(0.0, 200), at(DAY))).may_fetch


# covers: F20
@pytest.mark.parametrize("name", ["f9", "ladon", "yoink"])
def test_one_time_governs_files_and_failures_where_the_original_has_one(name: str) -> None:
    assert Policy.preset(name, cache_life=60).failure_life == 60
    assert Policy.preset(name, cache_life=60, failure_life=5).failure_life == 5
    assert load(preset=name, cache_life="60").policy.failure_life == 60
    assert Policy.preset("rfc9309", cache_life=60).failure_life == Policy().failure_life


def test_a_decision_by_an_old_copy_says_so() -> None:
    policy = Policy()
    why = decide(policy, URL, stale_if_error(policy, at(0.0, 200), at(DAY))).why
    assert why.endswith("(from the last good copy: robots.txt has been unreachable since 1970-01-02 00:00 UTC)")


def test_a_refusal_of_ours_is_no_recommendation() -> None:
    slow = answered(200, b"User-agent: *\nCrawl-delay: 100")
    decision = decide(Policy(max_crawl_delay=10), URL, slow)
    assert (decision.may_fetch, decision.recommendation) == (False, "not_recommended")
    reported = decide(Policy(max_crawl_delay=10, mode="report_only"), URL, slow)
    assert reported.may_fetch
    assert reported.why.endswith("not blocked, because the mode is report_only")


@pytest.mark.parametrize(
    ("seconds", "words"), [("86401", "24 hours"), ("1e308", "over a thousand years"), ("1e7", "116 days")]
)
def test_a_delay_that_makes_fetching_hopeless_is_no_recommendation(seconds: str, words: str) -> None:
    decision = decide(Policy(), URL, answered(200, f"User-agent: *\nCrawl-delay: {seconds}".encode()))
    assert (decision.verdict, decision.may_fetch) == ("allowed_implicit", True)
    assert decision.recommendation == "not_recommended"
    assert decision.why.endswith(f"({words}) between requests, which makes crawling hopeless")
    assert Decision.from_dict(json.loads(json.dumps(decision.to_dict()))) == decision
    assert (
        decide(Policy(honour=()), URL, answered(200, b"User-agent: *\nCrawl-delay: 1e9")).recommendation
        == "recommended"
    )


SIGNALS = b"User-agent: *\nAllow: /\nContent-Signal: search=yes, use=reference\nContent-Signal: /open/ use=full\n"


@pytest.mark.parametrize(
    ("use", "path", "may_fetch"),
    [
        (None, "/a", True),
        ("immediate", "/a", True),
        ("reference", "/a", True),
        ("full", "/a", False),
        ("full", "/open/a", True),
        ("full", "/robots.txt", True),
    ],
)
def test_what_a_site_grants_less_use_of_than_we_intend_is_not_fetched(
    use: Use | None, path: str, may_fetch: bool
) -> None:
    result, url = answered(200, SIGNALS), ORIGIN + path
    policy = Policy(use=use)
    decision = decide(policy, url, result)
    assert decision.may_fetch == OriginPolicy(policy, result).allows(url) == may_fetch
    if not may_fetch:
        said = "robots.txt line 3 says 'search=yes, use=reference'"
        assert decision.why == f"use is reference: {said}, less than the use=full of the policy"
        assert (decision.verdict, decision.recommendation) == ("allowed_explicit", "not_recommended")
        assert decision.by_policy
        assert decide(policy.with_changes(mode="report_only"), url, result).may_fetch
    jsonschema.validate(decision.to_dict(), json_schema())
    assert Decision.from_dict(json.loads(json.dumps(decision.to_dict()))) == decision


def test_robots_txt_itself_may_always_be_fetched() -> None:
    policy = Policy(max_crawl_delay=10)
    slow = answered(200, b"User-agent: *\nCrawl-delay: 100")
    for result in (answered(503), no_answer(), answered(200, b"User-agent: *\nDisallow: /"), slow):
        assert decide(policy, ORIGIN + "/robots.txt", result).may_fetch
        assert decide(policy, ORIGIN + "/robots.txt", result).recommendation != "not_recommended"
        assert OriginPolicy(policy, result).allows(ORIGIN + "/robots.txt")
        assert not decide(policy, ORIGIN + "/dir/robots.txt", result).may_fetch


MIDNIGHT = 20_000 * DAY  # Unix time, UTC


@pytest.mark.parametrize(
    ("rates", "times"),
    [
        (["1/60s 0600-0845"], {"05:59": 1, "06:00": 60, "08:45": 60, "08:46": 1, "23:50": 1}),
        (["1/1s 0000-0001", "1/3s 0001-2400"], {"00:00": 3, "12:00": 3, "23:59": 3}),
        (["1/20s 2200-0459", "1/5s 0500-1259"], {"23:00": 20, "04:59": 20, "05:00": 5, "13:00": 1, "21:59": 1}),
        (["1/4s", "1/2s 0100-0159"], {"01:30": 4, "03:00": 4}),
        (["1/4s", "1/9s 0100-0159"], {"01:30": 9, "03:00": 4}),
    ],
)
def test_a_request_rate_holds_in_its_hours_and_every_line_counts(rates: list[str], times: dict[str, float]) -> None:
    body = "User-agent: *\n" + "".join(f"Request-rate: {rate}\n" for rate in rates)
    origin_policy = OriginPolicy(Policy(min_interval=1), answered(200, body.encode()))
    for clock, seconds in times.items():
        hours, minutes = map(int, clock.split(":"))
        wall = MIDNIGHT + 3600 * hours + 60 * minutes
        assert origin_policy.delay_at(wall) == origin_policy.decide(URL, wall).delay == seconds, clock
    assert origin_policy.delay == origin_policy.decide(URL).delay == max(origin_policy.delay, *times.values())


def test_a_site_that_asks_for_too_much_at_some_hours_is_refused() -> None:
    slow = answered(200, b"User-agent: *\nCrawl-delay: 2\nRequest-rate: 1/60s 0600-0845")
    decision = decide(Policy(max_crawl_delay=10), URL, slow)
    assert not decision.may_fetch
    assert "60 s between requests at some time of the day" in decision.why


def test_a_site_cannot_make_a_decision_long() -> None:
    body = b"User-agent: *\nAllow: /" + b"*" * 400_000
    decision = decide(Policy(), ORIGIN + "/" + "x" * 50_000, answered(200, body))
    assert len(str(decision)) < 52_000
    assert len(decision.why) < 2_000
    assert decision.rule is not None
    assert len(decision.rule.text) < 1_000


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"expires": "Thu Jan  1 06:00:00 1970"}, 21_600.0),
        ({"expires": "Thu, 01 Jan 1970 06:00:00 -0000"}, 21_600.0),
        ({"expires": "Thu, 01 Jan 1970 06:00:00 GMT", "date": "Thu, 01 Jan 1970 05:00:00 GMT"}, 3_600.0),
        ({"expires": "0"}, 60.0),
        ({"cache-control": "max-age=-1"}, 60.0),
        ({"cache-control": "max-age=abc"}, 60.0),
        ({"cache-control": "max-age=3600, no-store"}, 60.0),
        ({"cache-control": 'no-cache="set-cookie", max-age=3600'}, 3_600.0),
        ({"cache-control": "max-age=3600", "age": "600"}, 3_000.0),
        ({"age": "80000"}, 6_400.0),
        ({}, DAY),
    ],
)
def test_freshness_is_http_s_and_the_same_in_every_time_zone(
    monkeypatch: pytest.MonkeyPatch, headers: dict[str, str], seconds: float
) -> None:
    for zone in ("UTC", "America/New_York", "Asia/Tokyo"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        assert freshness(headers, 0.0) == seconds
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"delay": -5.0}, "delay"),
        ({"delay": math.inf}, "delay"),
        ({"delay": 10**400}, "delay"),
        ({"may_fetch": True}, "may_fetch does not fit"),
        ({"recommendation": "recommended"}, "recommendation"),
        ({"more": 1}, "more is not one"),
    ],
)
def test_a_record_that_contradicts_itself_is_no_decision(change: dict[str, object], message: str) -> None:
    whole = decide(Policy(), URL, answered(200, USAGE)).to_dict()
    with pytest.raises(InvalidRecord, match=message):
        Decision.from_dict({**whole, **change})
    for field, value in (("sha256", "zz"), ("fetched_at", math.nan), ("redirects", [1])):
        with pytest.raises(InvalidRecord, match=field):
            Decision.from_dict({**whole, "source": {**whole["source"], field: value}})
