# cython: boundscheck=False, wraparound=False, cdivision=True
"""From the rules that decided to the lines that say them: text and number, read from the files. Compiled only."""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from comity import _cython as cython


def cite(rules: int, programs: int, count: int, captures: int) -> tuple[bytes, bytes]:
    """What rules say: their lines' octets one after the other, and pairs of 64 bits of where each ends, and which line
    of its file it is.

    Args:
        rules, programs: addresses of 64 bits each, of `count` rules' numbers, ascending, and their programs' addresses.
        captures: address of an array of Capture.
    """
    told: Cited
    told.text = cython.NULL
    told.ends = cython.NULL
    told.size = told.room = told.count = told.most = 0
    many: cython.Py_ssize_t = count
    numbers: Numbers = cython.cast(Numbers, cython.cast(cython.size_t, rules))
    owners: Programs = cython.cast(Programs, cython.cast(cython.size_t, programs))
    files: CaptureAt = cython.cast(CaptureAt, cython.cast(cython.size_t, captures))
    try:
        with cython.nogil:
            _cite(numbers, owners, many, files, cython.address(told))
        if told.count == 0:
            return b"", b""
        return told.text[: told.size], cython.cast(cython.p_char, told.ends)[: 16 * told.count]
    finally:
        free(told.text)
        free(told.ends)


@cython.cfunc
@cython.nogil
@cython.exceptval(-1)
def _cite(numbers: Numbers, owners: Programs, count: cython.Py_ssize_t, files: CaptureAt, told: CitedAt) -> cython.int:
    i: cython.Py_ssize_t
    begin: cython.Py_ssize_t
    end: cython.Py_ssize_t
    line: cython.Py_ssize_t = 1
    last: cython.Py_ssize_t = 0
    entry: u64
    body: cython.p_const_char
    for i in range(count):
        if i + 8 < count:
            prefetch(owners[i + 8])
        if i == 0 or owners[i] != owners[i - 1]:
            line = 1
            last = 0
        body = files[owners[i].capture].body
        entry = owners[i].records[numbers[i] - owners[i].number]
        begin = cython.cast(cython.Py_ssize_t, entry >> 32)
        end = begin + cython.cast(cython.Py_ssize_t, entry >> 8 & 0xFFFFFF)
        line += _line_ends(body, last, begin)
        last = begin
        while begin > 0 and body[begin - 1] != 10 and body[begin - 1] != 13:
            begin -= 1
        while begin < end and _is_blank(body[begin]):
            begin += 1
        while end > begin and _is_blank(body[end - 1]):
            end -= 1
        _keep(told, body + begin, end - begin, line)
    return 0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_blank(char: cython.char) -> cython.bint:
    """Whether `str.strip` takes it off."""
    return char == 32 or 9 <= char <= 13 or 28 <= char <= 31


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _line_ends(body: cython.p_const_char, begin: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """How many lines end in part of a file: CR, LF and CRLF each end one (as LineNumbers counts)."""
    count: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    for i in range(begin, end):
        count += body[i] == 10
    if memchr(body + begin, 13, end - begin) != cython.NULL:
        for i in range(begin, end):
            count += (body[i] == 13) & (body[i + 1] != 10)
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(-1)
def _keep(told: CitedAt, text: cython.p_const_char, size: cython.Py_ssize_t, line: cython.Py_ssize_t) -> cython.int:
    more: cython.p_void
    if size > 4000:  # 300 characters will be shown
        size = 4000
    if told.size + size > told.room:
        more = realloc(told.text, 2 * (told.size + size))
        if more == cython.NULL:
            with cython.gil:
                raise MemoryError
        told.text = cython.cast(cython.p_char, more)
        told.room = 2 * (told.size + size)
    if told.count == told.most:
        more = realloc(told.ends, 16 * (2 * told.most + 64))
        if more == cython.NULL:
            with cython.gil:
                raise MemoryError
        told.ends = cython.cast(Numbers, more)
        told.most = 2 * told.most + 64
    if size:  # an empty text may have no place
        memcpy(told.text + told.size, text, size)
    told.size += size
    told.ends[2 * told.count] = told.size
    told.ends[2 * told.count + 1] = line
    told.count += 1
    return 0
