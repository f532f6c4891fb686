# cython: boundscheck=False, wraparound=False, cdivision=True
"""The longest Crawl-delay of an agent, where values are plain numbers; others are left to Python. Compiled only."""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from comity import _cython as cython


def longest_delay(body, records, numbers, count, longest):  # types, here and below: see the .pxd
    """Set the longest of the delays that can be read, in seconds, where it is longer; whether one could not be.

    Args:
        numbers, count: which of `records` are the agent's Crawl-delays.
    """
    i: cython.Py_ssize_t
    value: cython.double
    unreadable: cython.bint = False
    for i in range(count):
        value = seconds_of(
            body + cython.cast(cython.Py_ssize_t, records[numbers[i]] >> 32),
            cython.cast(cython.Py_ssize_t, records[numbers[i]] >> 8 & 0xFFFFFF),
        )
        if value < 0:
            unreadable = True
        elif not longest[0] >= value:
            longest[0] = value
    return unreadable


def seconds_of(text, size):
    """The value of digits with at most one point among them, -1 for anything else."""
    whole: cython.longlong = 0
    scale: cython.longlong = 1
    digits: cython.int = 0
    point: cython.bint = False
    at: cython.Py_ssize_t
    for at in range(size):
        if 48 <= text[at] <= 57 and digits < 15:
            whole = 10 * whole + (text[at] - 48)
            digits += 1
            if point:
                scale *= 10
        elif text[at] == 46 and not point:
            point = True
        else:
            return -1
    return cython.cast(cython.double, whole) / cython.cast(cython.double, scale) if digits else -1
