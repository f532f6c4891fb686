"""From the octets of a robots.txt to an index of its records: one pass, nothing copied.

The index holds one 64-bit number for each recognised record: where its value starts (32 bits), how long it is (24
bits), what kind it is (8 bits). Everything else (line numbers, text, groups) is recovered from the octets when
somebody asks. This module knows labels and line ends; it knows nothing of groups and rules.
"""

from __future__ import annotations

from array import array

from comity.robots.kinds import LABELS, PREFIXES

try:
    import cython
except ModuleNotFoundError:
    from comity import _cython as cython

_SPACE = b" \t\x0b\x0c\r\n"


def scan(
    body: bytes,
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    typos: cython.bint,
    nul_ends_line: cython.bint,
    longest_line: cython.Py_ssize_t,
) -> array[int]:
    """The records of `body[start:stop]`.

    Args:
        typos: labels match by prefix, misspellings count, a missing colon is forgiven (see Dialect.typos).
        nul_ends_line: what follows a NUL octet on a line does not count.
        longest_line: octets of a line that count; 0 for all.
    """
    if cython.compiled:
        return _scan_octets(body, start, stop, typos, nul_ends_line, longest_line)
    return _scan_lines(body, start, stop, typos, nul_ends_line, longest_line)


def _scan_lines(body: bytes, start: int, stop: int, typos: bool, nul_ends_line: bool, longest_line: int) -> array[int]:
    """The interpreted form: whole-line operations of `bytes`, which run in C there."""
    found = array("Q")
    position = start
    for line in body[start:stop].splitlines(keepends=True):
        here = position
        position += len(line)
        if longest_line and len(line) > longest_line:
            line = line.rstrip(b"\r\n")[:longest_line]
        if nul_ends_line:
            line = line.partition(b"\0")[0]
        line = line.partition(b"#")[0].rstrip(_SPACE)
        label, colon, value = line.partition(b":")
        label = label.strip(_SPACE)
        if not colon and typos:
            for blank in range(len(label)):
                if label[blank] in b" \t":
                    value = label[blank:].lstrip(b" \t")
                    label = b"" if b" " in value or b"\t" in value else label[:blank]
                    break
            else:
                continue
        elif not colon:
            continue
        label = label.lower()
        kind = LABELS.get(label, 0)
        if typos and not 0 < kind <= 4:
            kind = next((kind for prefix, kind in PREFIXES if label.startswith(prefix)), kind)
        if kind:
            value = value.lstrip(_SPACE)
            found.append((here + len(line) - len(value)) << 32 | min(len(value), 0xFFFFFF) << 8 | kind)
    return found


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_space(char: cython.uchar) -> cython.bint:
    return char == 32 or (9 <= char <= 13)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is(
    text: cython.p_uchar, size: cython.Py_ssize_t, label: cython.p_char, length: cython.Py_ssize_t, prefix: cython.bint
) -> cython.bint:
    """Whether octets are a label, or begin with it, whatever the case."""
    i: cython.Py_ssize_t
    char: cython.uchar
    if size < length or (size != length and not prefix):
        return False
    for i in range(length):
        char = text[i]
        if 65 <= char <= 90:
            char += 32
        if char != cython.cast(cython.uchar, label[i]):
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _kind(text: cython.p_uchar, size: cython.Py_ssize_t, typos: cython.bint) -> cython.int:
    """The kind of record a label names; 0 where it is none that we know. The numbers are those of kinds.py."""
    first: cython.uchar = text[0] | 32
    if first == 100:  # d
        if _is(text, size, b"disallow", 8, typos):
            return 3
        if typos and (
            _is(text, size, b"dissallow", 9, True)
            or _is(text, size, b"dissalow", 8, True)
            or _is(text, size, b"disalow", 7, True)
            or _is(text, size, b"diasllow", 8, True)
            or _is(text, size, b"disallaw", 8, True)
        ):
            return 3
    elif first == 97:  # a
        if _is(text, size, b"allow", 5, typos):
            return 2
    elif first == 117:  # u
        if _is(text, size, b"user-agent", 10, typos):
            return 1
        if typos and (_is(text, size, b"useragent", 9, True) or _is(text, size, b"user agent", 10, True)):
            return 1
    elif first == 115:  # s
        if _is(text, size, b"sitemap", 7, typos) or (typos and _is(text, size, b"site-map", 8, True)):
            return 4
    elif first == 99:  # c
        if _is(text, size, b"crawl-delay", 11, False):
            return 5
        if _is(text, size, b"clean-param", 11, False):
            return 8
        if _is(text, size, b"content-usage", 13, False):
            return 11
        if _is(text, size, b"content-signal", 14, False):
            return 12
    elif first == 114:  # r
        if _is(text, size, b"request-rate", 12, False):
            return 6
    elif first == 118:  # v
        if _is(text, size, b"visit-time", 10, False):
            return 7
    elif first == 104:  # h
        if _is(text, size, b"host", 4, False):
            return 9
    elif first == 110:  # n
        if _is(text, size, b"noindex", 7, False):
            return 10
    elif first == 108 and _is(text, size, b"license", 7, False):  # l
        return 13
    return 0


@cython.cfunc
def _scan_octets(
    body: bytes,
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    typos: cython.bint,
    nul_ends_line: cython.bint,
    longest_line: cython.Py_ssize_t,
) -> array[int]:
    """The compiled form: the octets themselves."""
    text: cython.p_const_char = body
    records: Records
    records.records = cython.NULL
    records.room = records.count = 0
    try:
        if scan_into(
            cython.cast(cython.p_uchar, text),
            start,
            stop,
            typos,
            nul_ends_line,
            longest_line,
            cython.address(records),
        ):
            raise MemoryError
        found = array("Q")
        if records.count:
            found.frombytes(cython.cast(cython.p_char, records.records)[: records.count * 8])
        return found
    finally:
        free(records.records)


def scan_into(text, start, stop, typos, nul_ends_line, longest_line, into):  # types: see the .pxd
    """`scan`, compiled, added to records that may be there already; -1 where there is no room for them."""
    grown: cython.p_ulonglong
    position: cython.Py_ssize_t = start
    key: cython.Py_ssize_t
    end: cython.Py_ssize_t
    colon: cython.Py_ssize_t
    value: cython.Py_ssize_t
    near_lf: cython.Py_ssize_t = -1  # where the next LF stands, found once for all the CRs before it
    found_at: cython.p_uchar
    kind: cython.int
    char: cython.uchar
    while position < stop:
        key = position
        if near_lf < position:
            found_at = cython.cast(cython.p_uchar, memchr(text + position, 10, stop - position))
            near_lf = found_at - text if found_at != cython.NULL else stop
        end = near_lf
        found_at = cython.cast(cython.p_uchar, memchr(text + position, 13, end - position))
        if found_at != cython.NULL:
            end = found_at - text
        position = end + 1
        if longest_line and end - key > longest_line:
            end = key + longest_line
        while key < end and _is_space(text[key]):
            key += 1
        colon = key
        while colon < end:
            char = text[colon]
            if char == 58 or char == 35 or (char == 0 and nul_ends_line):
                break
            colon += 1
        if colon == key:  # blank, a comment, or no label
            continue
        if colon < end and text[colon] == 58:
            value = colon + 1
            found_at = cython.cast(cython.p_uchar, memchr(text + value, 35, end - value))
            if found_at != cython.NULL:
                end = found_at - text
            if nul_ends_line:
                found_at = cython.cast(cython.p_uchar, memchr(text + value, 0, end - value))
                if found_at != cython.NULL:
                    end = found_at - text
            while colon > key and _is_space(text[colon - 1]):
                colon -= 1
        elif typos:  # no colon: exactly two words will do
            end = colon
            while end > key and _is_space(text[end - 1]):
                end -= 1
            colon = key
            while colon < end and text[colon] != 32 and text[colon] != 9:
                colon += 1
            value = colon
            while value < end and (text[value] == 32 or text[value] == 9):
                value += 1
            if value == end:
                continue
            if (
                memchr(text + value, 32, end - value) != cython.NULL
                or memchr(text + value, 9, end - value) != cython.NULL
            ):
                continue
        else:
            continue
        kind = _kind(text + key, colon - key, typos)
        if kind == 0:
            continue
        while value < end and _is_space(text[value]):
            value += 1
        while end > value and _is_space(text[end - 1]):
            end -= 1
        if into.count == into.room:
            grown = cython.cast(cython.p_ulonglong, realloc(into.records, (2 * into.room + 32) * 8))
            if grown == cython.NULL:
                return -1
            into.records = grown
            into.room = 2 * into.room + 32
        if end - value > 0xFFFFFF:
            end = value + 0xFFFFFF
        into.records[into.count] = (
            (cython.cast(cython.ulonglong, value) << 32)
            | (cython.cast(cython.ulonglong, end - value) << 8)
            | cython.cast(cython.ulonglong, kind)
        )
        into.count += 1
    return 0
