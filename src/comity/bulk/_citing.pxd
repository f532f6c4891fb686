from libc.stdlib cimport free, realloc
from libc.string cimport memchr, memcpy

from comity.bulk._origins cimport Numbers, prefetch
from comity.bulk._programs cimport CaptureAt, Programs, u64

cdef struct Cited:
    char* text
    Py_ssize_t size
    Py_ssize_t room
    Numbers ends
    Py_ssize_t count
    Py_ssize_t most
ctypedef Cited* CitedAt
