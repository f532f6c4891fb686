"""What the chances of the blocks around a block say of it: of its neighbours, of the elements that it stands in, of
those of its form, and of the page. Numbers for the trees that are asked in second place.
"""

from __future__ import annotations

from array import array
from math import log1p

try:
    import cython
except ModuleNotFoundError:
    from comity import _cython as cython

REACH = 8
"""Elements around a block, its own included, that are summed up."""
ASKED = 6
"""Of them, those of which the numbers tell."""
WIDTH = 28
"""Numbers of a block."""


@cython.boundscheck(False)
@cython.wraparound(False)
@cython.cdivision(True)
def around(chances: array[float], words: array[int], chains: array[int], forms: array[int]) -> array[float]:
    """WIDTH numbers for each block.

    Args:
        chances: of each block, that it is content.
        words: of each block, at least one.
        chains: of each block its element and those around it by number, REACH of them, -1 where there are none.
        forms: of each block the number of its form.
    """
    count: cython.Py_ssize_t = len(chances)
    found = array("d", bytes(8 * WIDTH * count))
    if count == 0:
        return found
    reach: cython.Py_ssize_t = REACH
    asked: cython.Py_ssize_t = ASKED
    width: cython.Py_ssize_t = WIDTH
    places: cython.Py_ssize_t = max(chains) + 1
    kinds: cython.Py_ssize_t = max(forms) + 1
    zero = bytes(8)
    p: cython.const[cython.double][:] = chances
    w: cython.const[cython.int][:] = words
    chain: cython.const[cython.int][:] = chains
    form: cython.const[cython.int][:] = forms
    # Sums up to each block, within each element, of each form.
    all_before: cython.double[:] = array("d", zero * (count + 1))
    right_before: cython.double[:] = array("d", zero * (count + 1))
    all_in: cython.double[:] = array("d", zero * places)
    right_in: cython.double[:] = array("d", zero * places)
    all_of: cython.double[:] = array("d", zero * kinds)
    right_of: cython.double[:] = array("d", zero * kinds)
    out: cython.double[:] = found
    n: cython.Py_ssize_t
    k: cython.Py_ssize_t
    at: cython.Py_ssize_t
    first: cython.Py_ssize_t = -1
    last: cython.Py_ssize_t = -1
    low: cython.Py_ssize_t
    high: cython.Py_ssize_t
    right: cython.double
    unsure: cython.double = 0.0
    for n in range(count):
        right = p[n] * w[n]
        all_before[n + 1] = all_before[n] + w[n]
        right_before[n + 1] = right_before[n] + right
        unsure += right * (1.0 - p[n])
        for k in range(reach):
            at = chain[n * reach + k]
            if at < 0:
                break
            all_in[at] += w[n]
            right_in[at] += right
        all_of[form[n]] += w[n]
        right_of[form[n]] += right
        if p[n] > 0.5:
            if first < 0:
                first = n
            last = n
    total: cython.double = all_before[count]
    expected: cython.double = right_before[count] + 1e-9
    share: cython.double = expected / total
    size: cython.double = log1p(expected)
    unsure /= expected
    since: cython.Py_ssize_t = -1
    for n in range(count):
        at = n * width
        out[at] = p[n]
        for k in range(3):
            out[at + 1 + k] = p[n - 3 + k] if n - 3 + k >= 0 else 0.0
            out[at + 4 + k] = p[n + 1 + k] if n + 1 + k < count else 0.0
        low, high = max(0, n - 4), min(count, n + 5)
        out[at + 7] = (right_before[high] - right_before[low]) / (all_before[high] - all_before[low])
        low, high = max(0, n - 12), min(count, n + 13)
        out[at + 8] = (right_before[high] - right_before[low]) / (all_before[high] - all_before[low])
        low, high = max(0, n - 8), min(count, n + 9)
        out[at + 9] = (right_before[n] - right_before[low]) / (all_before[n] - all_before[low] + 1e-9)
        out[at + 10] = (right_before[high] - right_before[n + 1]) / (all_before[high] - all_before[n + 1] + 1e-9)
        for k in range(asked):
            low = chain[n * reach + k]
            out[at + 11 + k] = right_in[low] / all_in[low] if low >= 0 else -1.0
        out[at + 17] = right_of[form[n]] / all_of[form[n]]
        out[at + 18] = right_before[n] / expected
        out[at + 19] = (expected - right_before[n + 1]) / expected
        out[at + 20] = share
        out[at + 21] = size
        out[at + 22] = unsure
        out[at + 23] = min(n - since, 99) if since >= 0 else 99.0
        if p[n] > 0.5:
            since = n
        out[at + 25] = n - first if first >= 0 else -99.0
        out[at + 26] = last - n if first >= 0 else -99.0
        out[at + 27] = w[n] / total
    since = -1
    for n in range(count - 1, -1, -1):
        out[n * width + 24] = min(since - n, 99) if since >= 0 else 99.0
        if p[n] > 0.5:
            since = n
    return found
