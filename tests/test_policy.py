"""A policy is checked when it is made; a decision says what the table of verdicts says."""

import json

import pytest

from comity import InvalidSetting
from comity.policy import Policy, RobotsResult, decide

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
        ("failure_life", float("inf")),
        ("robots_redirects", 99),
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
