from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memchr, memcpy

from comity_robots.arrays.origins cimport Numbers, prefetch
from comity_robots.arrays.programs cimport CaptureAt, Programs, ProgramTable, u64
from comity_robots.engine.records cimport size_of, start_of

cdef struct Cited:
    char* text
    Py_ssize_t size
    Py_ssize_t room
    Numbers ends
    Py_ssize_t count
ctypedef Cited* CitedAt
