"""What `make test` runs of a test with many cases: the rest is for `make test-all`."""

from typing import Any

import pytest
from hypothesis import settings

ALL = 100  # what Hypothesis takes for enough where nothing else is said


def examples(number: int, **more: Any) -> settings:
    """Settings for a test that wants `number` examples where there is time for them."""
    return settings(max_examples=cases(number), **more)


def cases(number: int) -> int:
    """How many of `number` cases a test that makes them up by itself tries now."""
    return max(5, number * settings.default.max_examples // ALL)


def first_of(*values: Any, now: int = 1) -> list[Any]:
    """Cases of one promise: the first of them, or `now`, in `make test`; the others in `make test-all` only."""
    rest = (value if isinstance(value, tuple) else (value,) for value in values[now:])
    return [*values[:now], *(pytest.param(*value, marks=pytest.mark.long) for value in rest)]
