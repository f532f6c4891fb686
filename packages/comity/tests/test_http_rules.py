"""Rules of HTTP that stand once: which redirect is followed, which failure may pass."""

import pytest

from comity.http_rules import is_temporary, next_hop
from comity.policy import Policy, RobotsResult
from comity.policy.robots_result import no_answer

HERE = "https://site.example/here"
BEFORE = "https://site.example/before"


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/there", "https://site.example/there"),
        ("there", "https://site.example/there"),
        ("//other.example", "https://other.example/"),
        ("https://other.example/?q", "https://other.example/?q"),
    ],
)
def test_a_redirect_leads_on(location: str, target: str) -> None:
    assert next_hop(HERE, location, [BEFORE], 2) == (target, "")


@pytest.mark.parametrize(
    ("location", "passed", "why"),
    [
        ("", [], "redirects without a Location"),
        ("file:///etc/passwd", [], "redirects to 'file:///etc/passwd', which cannot be fetched"),
        ("http://", [], "redirects to 'http://', which cannot be fetched"),
        ("HERE", ["https://site.example/HERE"], "redirects to https://site.example/HERE, in a loop"),
        ("#part", [], "redirects to https://site.example/here, in a loop"),
        (
            "/there",
            [BEFORE, "https://site.example/"],
            "redirects to https://site.example/there, more than the limit of 2 redirects (most)",
        ),
    ],
)
def test_a_redirect_that_is_not_followed_says_why(location: str, passed: list[str], why: str) -> None:
    assert next_hop(HERE, location, passed, 2, setting="most") == (None, why)


def test_what_a_server_writes_is_cut_short() -> None:
    _, why = next_hop(HERE, "x:" + "a" * 5000, [], 2)
    assert len(why) < 300


@pytest.mark.parametrize("status", [None, 429, 500, 501, 503, 599, 600])
def test_no_answer_and_what_a_server_says_of_itself_may_pass(status: int | None) -> None:
    assert is_temporary(status)


@pytest.mark.parametrize("status", [200, 301, 304, 400, 404, 408, 410, 499])
def test_what_a_server_says_of_the_request_stays(status: int) -> None:
    assert not is_temporary(status)


@pytest.mark.parametrize("status", [100, 199, 200, 204, 301, 304, 400, 404, 429, 451, 500, 599, 999])
def test_a_robots_txt_is_unreachable_by_one_rule(status: int) -> None:
    result = RobotsResult.from_response(
        "https://site.example", "https://site.example/robots.txt", status, b"", policy=Policy(), fetched_at=0.0
    )
    assert (result.kind == "unreachable") == no_answer(status)
