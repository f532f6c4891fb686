# cython: boundscheck=False, wraparound=False, cdivision=True
"""Rows to captures: which origin a URL begins with, over Arrow's buffers. Compiled only.

The octets up to the first slash are looked up in a hash table of origins in normal form: what is found there needs no
other look at its host. No object of Python's is made for a row, and the interpreter's lock is released.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from comity import _cython as cython

from comity.bulk.captures import ODD, TOO_EARLY, UNKNOWN

_UNKNOWN = cython.declare(cython.int, UNKNOWN)
_ODD = cython.declare(cython.int, ODD)
_TOO_EARLY = cython.declare(cython.int, TOO_EARLY)
_LOW = cython.declare(cython.ulonglong, 0xFFFFFFFF)
_BLOCK = cython.declare(cython.Py_ssize_t, 64)  # rows whose places in the table are asked for before any is read


@cython.cclass
class Origins:
    """Which number an origin has, by its octets."""

    def __init__(self, data: int, offsets: int, count: int) -> None:
        size: cython.size_t = 16
        i: cython.Py_ssize_t
        slot: cython.size_t
        length: cython.Py_ssize_t
        hashed: cython.ulonglong
        while size < 2 * count:
            size *= 2
        self._data = cython.cast(cython.p_const_char, cython.cast(cython.size_t, data))
        self._offsets = cython.cast(Numbers, cython.cast(cython.size_t, offsets))
        self._mask = size - 1
        self._slots = cython.cast(cython.p_ulonglong, large_room(8 * size))
        if self._slots == cython.NULL:
            raise MemoryError
        memset(self._slots, 0, 8 * size)
        for i in range(count):
            length = self._offsets[i + 1] - self._offsets[i]
            if authority_end(self._data + self._offsets[i], length) != length:
                continue
            hashed = _hash(self._data + self._offsets[i], length)
            slot = hashed & self._mask
            while self._slots[slot]:
                slot = (slot + 1) & self._mask
            self._slots[slot] = (hashed >> 32) << 32 | cython.cast(cython.ulonglong, i + 1)

    def __dealloc__(self) -> None:
        free(self._slots)

    def locate(
        self,
        data: int,
        offsets: int,
        count: int,
        firsts: int,
        times: int,
        at: int,
        at_step: int,
        found: int,
        asked: int,
    ) -> None:
        """The capture of each URL of a chunk, or what stands for it.

        Args:
            data, offsets: addresses of the chunk's octets and of its 64-bit offsets.
            firsts: address, by origin, of the number of its first capture (64 bits), and one more.
            times: address, by capture, of its time, ascending for an origin.
            at: address of the times asked about; 0 for the last capture.
            at_step: 0 where one time is meant for all URLs, else 1.
            found: address of a 32-bit number a URL.
            asked: address, by capture, of how many ask about it (32 bits), added to.
        """
        rows: cython.Py_ssize_t = count
        step: cython.Py_ssize_t = at_step
        start: cython.Py_ssize_t
        block: cython.Py_ssize_t
        text: cython.p_const_char = cython.cast(cython.p_const_char, cython.cast(cython.size_t, data))
        places: Numbers = cython.cast(Numbers, cython.cast(cython.size_t, offsets))
        captures: Numbers = cython.cast(Numbers, cython.cast(cython.size_t, firsts))
        clocks: Numbers = cython.cast(Numbers, cython.cast(cython.size_t, times))
        moments: Numbers = cython.cast(Numbers, cython.cast(cython.size_t, at))
        out: cython.p_int = cython.cast(cython.p_int, cython.cast(cython.size_t, found))
        counts: cython.p_uint = cython.cast(cython.p_uint, cython.cast(cython.size_t, asked))
        with cython.nogil:
            start = 0
            while start < rows:
                block = min(_BLOCK, rows - start)
                _look_up(self, text, places + start, block, out + start)
                _in_force(
                    captures,
                    clocks,
                    moments + start * step if moments != cython.NULL else cython.NULL,
                    step,
                    block,
                    out + start,
                    counts,
                )
                start += block


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _hash(text: cython.p_const_char, size: cython.Py_ssize_t) -> cython.ulonglong:
    """Eight octets at a time, multiplied and mixed."""
    mixer: cython.ulonglong = 0x9E3779B97F4A7C15
    state: cython.ulonglong = cython.cast(cython.ulonglong, size) * mixer
    word: cython.ulonglong
    i: cython.Py_ssize_t = 0
    while i + 8 <= size:
        memcpy(cython.address(word), text + i, 8)
        state = (state ^ word) * mixer
        state ^= state >> 29
        i += 8
    if i < size:
        memcpy(cython.address(word), text + size - 8, 8)  # an origin has more than eight octets
        state = (state ^ word) * mixer
        state ^= state >> 29
    state *= mixer
    return state ^ (state >> 32)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _look_up(
    self: Origins, data: cython.p_const_char, offsets: Numbers, count: cython.Py_ssize_t, out: cython.p_int
) -> cython.void:
    """The origins of up to 64 URLs: first all hashes, so that memory is asked for early, then the comparisons."""
    hashes: Hashes
    lengths: Lengths
    candidates: Candidates  # slots
    row: cython.Py_ssize_t
    size: cython.Py_ssize_t
    length: cython.Py_ssize_t = 0
    text: cython.p_const_char
    slash: cython.p_const_char
    number: cython.Py_ssize_t
    candidate: cython.Py_ssize_t
    for row in range(count):
        text = data + offsets[row]
        size = offsets[row + 1] - offsets[row]
        if length and size > length and text[length] == 47 and memcmp(text, data + offsets[row - 1], length) == 0:
            lengths[row] = -1  # the origin of the row before
            continue
        slash = cython.NULL
        if size > 8:
            slash = cython.cast(cython.p_const_char, memchr(text + 8, 47, size - 8))
        lengths[row] = length = 0
        if slash == cython.NULL:
            continue
        length = slash - text
        lengths[row] = length
        hashes[row] = _hash(text, length)
        prefetch(self._slots + (hashes[row] & self._mask))
    for row in range(count):
        candidates[row] = -1
        if lengths[row] > 0:
            candidates[row] = _next(self, hashes[row], hashes[row] & self._mask)
            if candidates[row] >= 0:
                prefetch(self._offsets + (self._slots[candidates[row]] & _LOW))
    for row in range(count):
        if candidates[row] >= 0:
            prefetch(self._data + self._offsets[(self._slots[candidates[row]] & _LOW) - 1])
    for row in range(count):
        length = lengths[row]
        if length < 0:
            out[row] = out[row - 1]
            continue
        out[row] = _ODD
        if length == 0:
            continue
        text = data + offsets[row]
        candidate = candidates[row]
        while candidate >= 0:
            number = cython.cast(cython.Py_ssize_t, self._slots[candidate] & _LOW) - 1
            if (
                self._offsets[number + 1] - self._offsets[number] == length
                and memcmp(self._data + self._offsets[number], text, length) == 0
            ):
                out[row] = cython.cast(cython.int, number)
                break
            candidate = _next(self, hashes[row], (candidate + 1) & self._mask)
        if candidate < 0 and authority_end(text, length + 1) == length:
            out[row] = _UNKNOWN


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _next(self: Origins, hashed: cython.ulonglong, slot: cython.size_t) -> cython.Py_ssize_t:
    """The first slot from one on that may have an origin with this hash; -1 where there is none."""
    while self._slots[slot]:
        if self._slots[slot] >> 32 == hashed >> 32:
            return slot
        slot = (slot + 1) & self._mask
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _in_force(
    firsts: Numbers,
    times: Numbers,
    at: Numbers,
    step: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    out: cython.p_int,
    asked: cython.p_uint,
) -> cython.void:
    """From origins to the captures in force."""
    row: cython.Py_ssize_t
    low: cython.Py_ssize_t
    high: cython.Py_ssize_t
    middle: cython.Py_ssize_t
    for row in range(count):
        if out[row] < 0:
            continue
        low = firsts[out[row]]
        high = firsts[out[row] + 1]
        if at != cython.NULL:
            while low < high:  # the first that is later
                middle = (low + high) >> 1
                if times[middle] <= at[row * step]:
                    low = middle + 1
                else:
                    high = middle
            if low == firsts[out[row]]:
                out[row] = _TOO_EARLY
                continue
            high = low
        out[row] = cython.cast(cython.int, high - 1)
        asked[high - 1] += 1
