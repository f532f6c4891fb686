from libc.stdlib cimport free, realloc
from libc.string cimport memchr, memcpy

from comity.bulk.engine.origins cimport Numbers, prefetch
from comity.bulk.engine.programs cimport CaptureAt, Programs, u64
from comity.robots.engine.records cimport size_of, start_of

cdef struct Cited:
    char* text
    Py_ssize_t size
    Py_ssize_t room
    Numbers ends
    Py_ssize_t count
    Py_ssize_t most
ctypedef Cited* CitedAt
