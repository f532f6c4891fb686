# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Rows to captures: which origin a URL begins with, over Arrow's buffers.

The octets up to the first slash are looked up in a hash table of origins in normal form: what is found there needs no
other look at its host. What is not, and not plainly in normal form, is to be normalised and looked up again. No object of Python's is made for a row, and the interpreter's lock is released.
"""

from comity_robots.arrays.located import NEEDS_NORMALISING, TOO_EARLY, UNKNOWN

cdef int _UNKNOWN = UNKNOWN
cdef int _NEEDS_NORMALISING = NEEDS_NORMALISING
cdef int _TOO_EARLY = TOO_EARLY
cdef u64 _LOW = 0xFFFFFFFF
cdef Py_ssize_t _BLOCK = 64  # rows whose places in the table are asked for before any is read


cdef int check_offsets(const unsigned char[::1] octets, const long long[::1] offsets) except -1:
    """Raises: ValueError: offsets that ascend would not end within the octets."""
    if len(offsets) == 0 or offsets[0] < 0 or offsets[len(offsets) - 1] > len(octets):
        raise ValueError("the offsets are not those of these octets")
    return 0


cdef class Origins:
    """Which number an origin has, by its octets."""

    def __init__(self, const unsigned char[::1] octets, const long long[::1] offsets):
        """Args: octets, offsets: those of the origins, each one's from an offset to the next."""
        cdef Py_ssize_t i, length, count = len(offsets) - 1
        cdef size_t slot
        cdef u64 hashed
        cdef size_t size = 16
        while size < 2 * <size_t>count:
            size *= 2
        check_offsets(octets, offsets)
        self._octets, self._places = octets, offsets
        self._data = <const char*>&octets[0]
        self._offsets = <long long*>&offsets[0]
        self._mask = size - 1
        self._slots = <u64*>large_room(8 * size)
        if self._slots == NULL:
            raise MemoryError
        memset(self._slots, 0, 8 * size)
        for i in range(count):
            length = self._offsets[i + 1] - self._offsets[i]
            if length < 8:
                continue  # no URL has so few before its path
            hashed = _hash(self._data + self._offsets[i], length)
            slot = hashed & self._mask
            while self._slots[slot]:
                slot = (slot + 1) & self._mask
            self._slots[slot] = (hashed >> 32) << 32 | <u64>(i + 1)

    def __dealloc__(self):
        free(self._slots)

    def locate(self, const unsigned char[::1] octets, const long long[::1] offsets, const long long[::1] firsts,
               const long long[::1] times, const long long[::1] at, int[::1] found, unsigned int[::1] asked):
        """The capture of each URL of a chunk, or what stands for it.

        Args:
            octets, offsets: the chunk's.
            firsts: by origin, the number of its first capture, and one more.
            times: by capture, its time, ascending for an origin.
            at: the times asked about, of each URL or one for all; None for the last capture.
            found: by URL, set to its capture.
            asked: by capture, how many ask about it; added to.
        """
        cdef Py_ssize_t start, block, step = 0
        cdef Py_ssize_t rows = len(offsets) - 1
        cdef const char* text = <const char*>&octets[0]
        cdef long long* places = <long long*>&offsets[0]
        cdef long long* captures = <long long*>&firsts[0]
        cdef long long* clocks = <long long*>&times[0]
        cdef long long* moments = NULL
        cdef int* out = &found[0]
        cdef unsigned int* counts = &asked[0]
        check_offsets(octets, offsets)
        if at is not None:
            moments = <long long*>&at[0]
            step = len(at) > 1
        if len(found) != rows or len(asked) != len(times) or len(firsts) != len(self._places) or (
            at is not None and len(at) != (rows if step else 1)
        ):
            raise ValueError("columns of one chunk, or tables of one set of captures, differ in length")
        with nogil:
            start = 0
            while start < rows:
                block = min(_BLOCK, rows - start)
                _look_up(self, text, places + start, block, out + start)
                _in_force(captures, clocks, moments + start * step if moments != NULL else NULL, step, block,
                          out + start, counts)
                start += block


cdef inline u64 _hash(const char* text, Py_ssize_t size) noexcept nogil:
    """Eight octets at a time, multiplied and mixed."""
    cdef u64 word
    cdef u64 mixer = 0x9E3779B97F4A7C15
    cdef u64 state = <u64>size * mixer
    cdef Py_ssize_t i = 0
    while i + 8 <= size:
        memcpy(&word, text + i, 8)
        state = (state ^ word) * mixer
        state ^= state >> 29
        i += 8
    if i < size:
        memcpy(&word, text + size - 8, 8)  # an origin has more than eight octets
        state = (state ^ word) * mixer
        state ^= state >> 29
    state *= mixer
    return state ^ (state >> 32)


cdef void _look_up(Origins self, const char* data, long long* offsets, Py_ssize_t count, int* out) noexcept nogil:
    """The origins of up to 64 URLs: first all hashes, so that memory is asked for early, then the comparisons."""
    cdef u64 hashes[64]
    cdef Py_ssize_t lengths[64]
    cdef Py_ssize_t candidates[64]  # slots
    cdef Py_ssize_t row, size, number, candidate
    cdef const char* text
    cdef const char* slash
    cdef Py_ssize_t length = 0
    for row in range(count):
        text = data + offsets[row]
        size = offsets[row + 1] - offsets[row]
        if length and size > length and text[length] == 47 and memcmp(text, data + offsets[row - 1], length) == 0:
            lengths[row] = -1  # the origin of the row before
            continue
        slash = NULL
        if size > 8:
            slash = <const char*>memchr(text + 8, 47, size - 8)
        lengths[row] = length = 0
        if slash == NULL:
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
        out[row] = _NEEDS_NORMALISING
        if length == 0:
            continue
        text = data + offsets[row]
        candidate = candidates[row]
        while candidate >= 0:
            number = <Py_ssize_t>(self._slots[candidate] & _LOW) - 1
            if (
                self._offsets[number + 1] - self._offsets[number] == length
                and memcmp(self._data + self._offsets[number], text, length) == 0
            ):
                out[row] = <int>number
                break
            candidate = _next(self, hashes[row], (candidate + 1) & self._mask)
        if candidate < 0 and authority_end(text, length + 1) == length:
            out[row] = _UNKNOWN


cdef inline Py_ssize_t _next(Origins self, u64 hashed, size_t slot) noexcept nogil:
    """The first slot from one on that may have an origin with this hash; -1 where there is none."""
    while self._slots[slot]:
        if self._slots[slot] >> 32 == hashed >> 32:
            return slot
        slot = (slot + 1) & self._mask
    return -1


cdef void _in_force(long long* firsts, long long* times, long long* at, Py_ssize_t step, Py_ssize_t count, int* out,
                    unsigned int* asked) noexcept nogil:
    """From origins to the captures in force."""
    cdef Py_ssize_t row, low, high, middle
    for row in range(count):
        if out[row] < 0:
            continue
        low = firsts[out[row]]
        high = firsts[out[row] + 1]
        if at != NULL:
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
        out[row] = <int>(high - 1)
        asked[high - 1] += 1
