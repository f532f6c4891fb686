"""What is written of each page: UTF-8 as bytes, whether it is well-formed and as a JSON string, so that a page need not
become a `str`; and which values every writer of JSON writes alike.

Compiled, each is one pass; interpreted, the standard library does what is about bytes. The answers are the same.
"""

from __future__ import annotations

import json

try:
    import cython
except ModuleNotFoundError:
    from comity_pages import _cython as cython

if cython.compiled:
    from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize, _PyBytes_Resize
    from cython.cimports.cpython.ref import Py_DECREF, Py_INCREF, PyObject
    from cython.cimports.libc.string import memcpy

_MIN_NOGIL_BYTES = cython.declare(cython.Py_ssize_t, 32 * 1024)  # bytes for which it is worth letting other threads run
SLACK = cython.declare(cython.Py_ssize_t, 32)  # bytes beyond the text: up to 16 are written at a time, then an escape
_encode = json.JSONEncoder(ensure_ascii=False).encode


def by_any_writer(values: object) -> bool:
    """Whether every writer of JSON writes some values alike: texts, whole numbers, truth values and nulls, and of
    fractions those that need no exponent; not what holds others."""
    value: object
    number: cython.double
    for value in values:
        kind = type(value)
        if kind is float:
            number = value
            if number != 0 and not (1e-4 <= number < 1e16):
                return False
        elif not (value is None or kind is str or kind is int or kind is bool or isinstance(value, str)):
            return False
    return True


def is_utf8(data: bytes) -> bool:
    """Whether the bytes are well-formed UTF-8 (Unicode, table 3-7: no surrogates, no overlong forms)."""
    if cython.compiled:
        octets: cython.p_const_uchar = data
        size: cython.Py_ssize_t = len(data)
        if size < _MIN_NOGIL_BYTES:
            return is_well_formed(octets, size)
        with cython.nogil:
            found: cython.bint = is_well_formed(octets, size)
        return found
    try:
        return data.isascii() or bool(data.decode("utf-8"))
    except UnicodeDecodeError:
        return False


def json_string(data: bytes, before: bytes = b"", after: bytes = b"") -> bytes:
    """The JSON string, quotes included, of text given in well-formed UTF-8, as orjson writes it (RFC 8259, 7).

    Args:
        before, after: what is to stand on either side of it, so that a large string need not be copied.
    """
    if not cython.compiled:
        return b"".join((before, _encode(data.decode("utf-8")).encode("utf-8"), after))
    return _quote(data, len(data), before, len(before), after, len(after))


@cython.cfunc
@cython.exceptval(check=False)
@cython.nogil
def _escaped_size(data: cython.p_const_uchar, size: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """How many bytes the text takes in a JSON string, without the quotes."""
    total: cython.Py_ssize_t = size
    at: cython.Py_ssize_t
    for at in range(size):
        total += (data[at] == 0x22) + (data[at] == 0x5C) + 5 * (data[at] < 0x20)
    return total


@cython.cfunc
def _quote(
    data: cython.p_const_uchar,
    size: cython.Py_ssize_t,
    before: cython.p_const_uchar,
    size_before: cython.Py_ssize_t,
    after: cython.p_const_uchar,
    size_after: cython.Py_ssize_t,
) -> bytes:
    room: cython.Py_ssize_t = size + size // 4  # enough for nearly all text: to count takes longer than to write
    written: cython.Py_ssize_t = -1
    made: object = None
    out: cython.p_uchar = cython.NULL
    while written < 0:
        made = PyBytes_FromStringAndSize(cython.NULL, size_before + 1 + room + SLACK + size_after)
        out = cython.cast(cython.p_uchar, PyBytes_AS_STRING(made)) + size_before
        if size < _MIN_NOGIL_BYTES:
            written = _escape(data, size, out + 1, room)
        else:
            with cython.nogil:
                written = _escape(data, size, out + 1, room)
        room = _escaped_size(data, size) if written < 0 else room
    memcpy(out - size_before, before, size_before)
    out[0] = out[written + 1] = 0x22
    memcpy(out + written + 2, after, size_after)
    Py_INCREF(made)  # what is left of it once `made` lets go belongs to `raw`: to resize takes the only reference
    raw: cython.pointer(PyObject) = cython.cast(cython.pointer(PyObject), made)  # type: ignore[valid-type]
    made = None
    _PyBytes_Resize(cython.address(raw), size_before + written + 2 + size_after)
    made = cython.cast(object, raw)
    Py_DECREF(made)
    return cython.cast(bytes, made)


@cython.cfunc
@cython.exceptval(check=False)
@cython.nogil
def _escape(
    data: cython.p_const_uchar, size: cython.Py_ssize_t, out: cython.p_uchar, room: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """The bytes written; up to SLACK more than `room` may be overwritten. -1 where there was not room enough."""
    short: cython.p_const_char = b"btn?fr"  # the letters that stand for the bytes 8 to 13
    at: cython.Py_ssize_t = 0
    to: cython.Py_ssize_t = 0
    plain: cython.Py_ssize_t
    here: cython.uchar
    while at < size:
        if to > room:
            return -1
        if at + OCTETS_AT_ONCE <= size:
            plain = copy_plain(data + at, out + to)
            at += plain
            to += plain
            if plain == OCTETS_AT_ONCE:
                continue
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
            out[to + 1] = 0x75  # u
            out[to + 2] = out[to + 3] = 0x30
            out[to + 4] = 0x30 + (here >> 4)
            out[to + 5] = 0x30 + (here & 15) if here & 15 < 10 else 0x57 + (here & 15)
            to += 6
    return to
