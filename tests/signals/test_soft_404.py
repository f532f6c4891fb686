"""The words by which a page says that it is not there."""

import pytest

from comity.signals.soft_404 import _GONE, gone


@pytest.mark.parametrize(
    "text",
    [
        "Error 404",
        "PAGE NOT FOUND",
        "The page you were looking for could not be found",
        "This product is no longer available",
        "We can't find that", "We can\u2019t find that", "we cant find it", "Cannot be found", "Couldn't locate it",
        "Unable to find the item",
        "It doesn't exist", "They don\u2019t exist", "It does not exist", "No longer exists",
        "Nothing was found", "nothing found",
    ],
)  # fmt: skip
def test_words_that_say_that_a_page_is_not_there_are_found_without_a_search_for_each(text: str) -> None:
    assert _GONE.search(text), "else this tests nothing"
    assert gone(text)


@pytest.mark.parametrize("text", ["Room 4041", "A page about knots", "What we found", "", "Not far from here"])
def test_other_words_say_nothing_of_the_kind(text: str) -> None:
    assert gone(text) is None
