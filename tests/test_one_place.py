"""Each rule of robots.txt stands in one place a form."""

import one_place
import pytest


def test_a_rule_of_robots_txt_stands_once_in_the_fast_form_and_once_in_the_reference() -> None:
    files = list(one_place.sources())
    assert {place.rule: wrong for place in one_place.PLACES if (wrong := one_place.elsewhere(place, files))} == {}


@pytest.mark.parametrize(
    "copy",
    [
        'if label == b"crawl-delay":',
        "kind = entry & 0xFF",
        "        ended = True",
        "rank = len(pattern) << 34",
        "allowed = rank & 1",
        'if path == "/robots.txt":',
        'if text[at : at + 3] == b"://":',
        'if pattern.endswith(b"/index.html"):',
        'anchored = pattern.endswith("$")',
    ],
)
def test_a_copy_of_a_rule_is_found(copy: str) -> None:
    files = [*one_place.sources(), ("policy/copied.py", f"def copied():\n    {copy}\n")]
    assert any("policy/copied.py:2" in one_place.elsewhere(place, files) for place in one_place.PLACES)
