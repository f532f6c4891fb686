"""Arrays of 64-bit words in ascending order: which of some words are in a file of them, and two arrays as one.

The hot loops of seen.py, compiled where there is a compiler. Nothing here knows what the words mean.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import Any

try:
    import cython
except ModuleNotFoundError:
    from comity_pages import _cython as cython


@cython.boundscheck(False)
@cython.wraparound(False)
def contained(file: Any, size: cython.Py_ssize_t, opening: Any, block: Any, ascending: Any) -> list:
    """Those of the ascending words that are in a file of `size` ascending words.

    `opening`: the first word of each block of the file; `block`: an array to read a block into.
    """
    found: list = []
    if not opening or not ascending:
        return found
    openings: cython.ulonglong[::1] = opening
    words: cython.ulonglong[::1] = block
    asked: cython.ulonglong[::1] = ascending
    step: cython.Py_ssize_t = len(block)
    blocks: cython.Py_ssize_t = len(opening)
    read: cython.Py_ssize_t = -1
    filled: cython.Py_ssize_t = 0
    number: cython.Py_ssize_t = 0
    index: cython.Py_ssize_t
    place: cython.Py_ssize_t
    word: cython.ulonglong
    for index in range(len(ascending)):
        word = asked[index]
        number = _position(openings, number, blocks, word)
        if number == blocks or openings[number] != word:
            if number == 0:
                continue
            number -= 1
        if number != read:
            filled = min(step, size - number * step)
            file.seek(number * step * 8)
            if file.readinto(block) < filled * 8:
                raise EOFError(f"the file ends before word {number * step + filled}")
            read = number
        place = _position(words, 0, filled, word)
        if place < filled and words[place] == word:
            found.append(word)
    return found


@cython.boundscheck(False)
@cython.wraparound(False)
def merged(left: Any, right: Any) -> Any:
    """Two ascending arrays without a word in common as one."""
    if not cython.compiled:
        return array("Q", sorted([*left, *right]))
    if not left or not right:
        return left or right
    result = array("Q", bytes(8 * (len(left) + len(right))))
    one: cython.ulonglong[::1] = left
    two: cython.ulonglong[::1] = right
    both: cython.ulonglong[::1] = result
    first: cython.Py_ssize_t = len(left)
    second: cython.Py_ssize_t = len(right)
    i: cython.Py_ssize_t = 0
    j: cython.Py_ssize_t = 0
    while i < first and j < second:
        if one[i] < two[j]:
            both[i + j] = one[i]
            i += 1
        else:
            both[i + j] = two[j]
            j += 1
    while i < first:
        both[i + j] = one[i]
        i += 1
    while j < second:
        both[i + j] = two[j]
        j += 1
    return result


@cython.cfunc
@cython.boundscheck(False)
@cython.wraparound(False)
def _position(
    words: cython.ulonglong[::1], low: cython.Py_ssize_t, high: cython.Py_ssize_t, word: cython.ulonglong
) -> cython.Py_ssize_t:
    """The first position from `low` on, before `high`, whose word is not less."""
    if not cython.compiled:
        return bisect_left(words, word, low, high)
    middle: cython.Py_ssize_t
    while low < high:
        middle = (low + high) // 2
        if words[middle] < word:
            low = middle + 1
        else:
            high = middle
    return low
