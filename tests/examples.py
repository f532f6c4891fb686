"""How many examples a test of any input gets: a fifth in `make test`, all of them in `make test-long`."""

from typing import Any

from hypothesis import settings

ALL = 100  # what Hypothesis takes for enough where nothing else is said


def examples(number: int, **more: Any) -> settings:
    """Settings for a test that wants `number` examples where there is time for them."""
    return settings(max_examples=cases(number), **more)


def cases(number: int) -> int:
    """How many of `number` cases a test that makes them up by itself tries now."""
    return max(5, number * settings.default.max_examples // ALL)
