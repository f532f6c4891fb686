"""The score: between 0 and 1, the product of its reasons, and never the wrong way round."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity_pages.quality import MIN_TEXT_CHARS, Quality, QualityInputs, assess, measure_text

COUNTS = st.integers(0, 5_000)
SIGNS = st.builds(QualityInputs, COUNTS, COUNTS, COUNTS, COUNTS, st.booleans(), st.booleans(), st.booleans())


def reasons(quality: Quality) -> list[str]:
    return [reason.name for reason in quality.reasons]


# covers: W14
@given(SIGNS)
def test_the_score_is_the_product_of_its_reasons(signs: QualityInputs) -> None:
    quality = assess(signs)
    assert 0.0 <= quality.score <= 1.0
    assert quality.score == round(math.prod(reason.factor for reason in quality.reasons), 3)
    assert all(0.0 <= reason.factor < 1.0 for reason in quality.reasons)


# covers: W14
@given(SIGNS, st.integers(0, 2_000))
def test_more_of_what_is_good_never_lowers_it(signs: QualityInputs, more: int) -> None:
    score = assess(signs).score
    assert assess(replace(signs, text=signs.text + more)).score >= score
    assert assess(replace(signs, title=True)).score >= score


# covers: W14
@given(SIGNS, st.integers(0, 2_000))
def test_more_of_what_is_bad_never_raises_it(signs: QualityInputs, more: int) -> None:
    score = assess(signs).score
    assert assess(replace(signs, link_text=signs.link_text + more)).score <= score
    assert assess(replace(signs, boilerplate=signs.boilerplate + more)).score <= score
    assert assess(replace(signs, truncated=True)).score <= score
    assert assess(replace(signs, javascript_shell=True)).score <= score
    if signs.source:  # 0 says that the question does not arise
        assert assess(replace(signs, source=signs.source + more)).score <= score


# covers: W14
@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"text": 100, "source": 0}, "text_length"),
        ({"source": 1_000_000}, "text_to_markup"),
        ({"link_text": 900}, "link_density"),
        ({"boilerplate": 300}, "boilerplate"),
        ({"title": False}, "title_missing"),
        ({"truncated": True}, "truncated"),
        ({"javascript_shell": True}, "javascript_shell"),
    ],
)
def test_each_reason_is_named(change: dict[str, int], name: str) -> None:
    good = QualityInputs(text=1_000, source=10_000)
    assert assess(good) == Quality(1.0, (), good)
    worse = assess(replace(good, **change))
    assert reasons(worse) == [name]
    assert worse.score < 1.0


def test_no_text_at_all_is_worth_nothing() -> None:
    assert assess(QualityInputs(0)).score == 0.0


def test_signs_are_counted_from_the_markdown() -> None:
    text = "# Title\n\nSee [the docs](https://example.com/a_b) and ![a lamp](/i.png).\n\nAccept all cookies\n"
    assert measure_text(text) == (40, 12, 16), "text, links, boilerplate"
    assert measure_text("word " * MIN_TEXT_CHARS)[0] == 4 * MIN_TEXT_CHARS


@pytest.mark.parametrize(
    "text", ["[" * 200_000, "[x](" * 100_000, "[a](b " * 100_000, '[a](b "' * 50_000, "![" * 99_999]
)
def test_counting_takes_linear_time(text: str) -> None:
    measure_text(text)
