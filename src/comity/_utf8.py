"""UTF-8 as bytes: is it well-formed, and the same as a JSON string. A page need not become a `str` to be written.

Compiled, each is one pass over the bytes; interpreted, the standard library does it. The answers are the same.
"""

from __future__ import annotations

import json
import sys

try:
    import cython
except ModuleNotFoundError:
    from comity import _cython as cython

if cython.compiled:
    from cython.cimports.cpython.bytes import PyBytes_FromStringAndSize
    from cython.cimports.libc.string import memcpy

_LOWEST_FIRST = sys.byteorder == "little"  # eight bytes are looked at as one number
_encode = json.JSONEncoder(ensure_ascii=False).encode


def is_utf8(data: bytes) -> bool:
    """Whether the bytes are well-formed UTF-8 (Unicode, table 3-7: no surrogates, no overlong forms)."""
    if not cython.compiled:
        return _decodes(data)
    return _well_formed(data, len(data))


def json_string(data: bytes) -> bytes:
    """The JSON string, quotes included, of text given in well-formed UTF-8, as orjson writes it (RFC 8259, 7)."""
    if not (cython.compiled and _LOWEST_FIRST):
        return _encode(data.decode("utf-8")).encode("utf-8")
    return _quoted(data, len(data))


def _decodes(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


@cython.cfunc
@cython.exceptval(check=False)
@cython.nogil
def _well_formed(data: cython.p_const_uchar, size: cython.Py_ssize_t) -> cython.bint:
    at: cython.Py_ssize_t = 0
    more: cython.Py_ssize_t
    first: cython.uchar
    low: cython.uchar
    high: cython.uchar
    block: cython.ulonglong = 0
    ones: cython.ulonglong = 0x01010101
    ones |= ones << 32
    while at < size:
        while at + 8 <= size:
            memcpy(cython.address(block), data + at, 8)
            if block & (ones * 0x80):
                break
            at += 8
        while at < size and data[at] < 0x80:
            at += 1
        if at >= size:
            break
        first = data[at]
        low, high = 0x80, 0xBF
        if first < 0xC2 or first > 0xF4:
            return False
        if first < 0xE0:
            more = 1
        elif first < 0xF0:
            more = 2
            if first == 0xE0:
                low = 0xA0
            elif first == 0xED:
                high = 0x9F
        else:
            more = 3
            if first == 0xF0:
                low = 0x90
            elif first == 0xF4:
                high = 0x8F
        if at + more >= size or data[at + 1] < low or data[at + 1] > high:
            return False
        if more > 1 and data[at + 2] & 0xC0 != 0x80:
            return False
        if more > 2 and data[at + 3] & 0xC0 != 0x80:
            return False
        at += more + 1
    return True


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.nogil
def _escaped(block: cython.ulonglong) -> cython.ulonglong:
    """The top bit of each of eight bytes that JSON escapes, exact up to the lowest one: above it others may be set."""
    ones: cython.ulonglong = 0x01010101
    ones |= ones << 32  # a literal of eight bytes would be a Python integer
    quotes: cython.ulonglong = block ^ (ones * 0x22)
    slashes: cython.ulonglong = block ^ (ones * 0x5C)
    found: cython.ulonglong = (quotes - ones) & ~quotes
    found |= (slashes - ones) & ~slashes
    found |= (block - ones * 0x20) & ~block
    return found & (ones * 0x80)


@cython.cfunc
@cython.exceptval(check=False)
@cython.nogil
def _room(data: cython.p_const_uchar, size: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """How many bytes the string takes at most."""
    room: cython.Py_ssize_t = size + 16  # quotes, and eight bytes that are written at a time
    at: cython.Py_ssize_t
    for at in range(size):
        room += (data[at] == 0x22) + (data[at] == 0x5C) + 5 * (data[at] < 0x20)
    return room


@cython.cfunc
def _quoted(data: cython.p_const_uchar, size: cython.Py_ssize_t) -> bytes:
    short: cython.p_const_uchar = b"btn?fr"  # the letters that stand for the bytes 8 to 13
    block: cython.ulonglong = 0
    found: cython.ulonglong
    at: cython.Py_ssize_t = 0
    to: cython.Py_ssize_t = 1
    here: cython.uchar
    made: bytes = PyBytes_FromStringAndSize(cython.NULL, _room(data, size))
    out: cython.p_uchar = cython.cast(cython.p_uchar, cython.cast(cython.p_char, made))
    out[0] = 0x22
    while at < size:
        if at + 8 <= size:
            memcpy(cython.address(block), data + at, 8)
            found = _escaped(block)
            memcpy(out + to, cython.address(block), 8)
            if found == 0:
                at += 8
                to += 8
                continue
            while found & 0x80 == 0:
                found >>= 8
                at += 1
                to += 1
        here = data[at]
        at += 1
        if here >= 0x20 and here != 0x22 and here != 0x5C:
            out[to] = here
            to += 1
            continue
        out[to] = 0x5C
        if here >= 0x20:
            out[to + 1] = here
            to += 2
        elif 8 <= here <= 13 and here != 11:
            out[to + 1] = short[here - 8]
            to += 2
        else:
            memcpy(out + to, cython.cast(cython.p_const_char, b"\\u00"), 4)
            out[to + 4] = 0x30 + (here >> 4)
            out[to + 5] = 0x30 + (here & 15) if here & 15 < 10 else 0x57 + (here & 15)
            to += 6
    out[to] = 0x22
    return made[: to + 1]
