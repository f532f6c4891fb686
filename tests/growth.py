"""How the time that something takes grows with its length. What else the machine does only adds time, so that the least
of a few tries counts.
"""

import gc
from collections.abc import Callable
from math import inf
from time import process_time

import pytest

QUICK = 0.01  # seconds in which nothing of a square can be hidden that would matter


def grows_in_proportion(prepare: Callable[[int], Callable[[], object]], size: int) -> None:
    """Fail where four times the size takes more than eight times as long.

    Args:
        prepare: makes what is timed, of a size.
    """
    short = long = inf
    for _ in range(8):
        long = min(long, _seconds(prepare(4 * size)))
        if long < QUICK:
            return
        short = min(short, _seconds(prepare(size)))
        if long < 8 * short:  # 4 is linear, 16 is quadratic
            return
    pytest.fail(f"{short:.3f} s, and {long:.3f} s for four times as much")


def _seconds(question: Callable[[], object]) -> float:
    gc.disable()  # what it collects is of all tests before, and only the longer text may be enough to start it
    try:
        begun = process_time()
        question()
        return process_time() - begun
    finally:
        gc.enable()
