from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memchr, memcpy

from comity_robots.arrays.origins cimport prefetch
from comity_robots.arrays.programs cimport Capture, ProgramTable
from comity_robots.arrays.rules cimport Program
from comity_robots.engine.records cimport size_of, start_of, u64

cdef struct Cited:
    char* text
    Py_ssize_t size
    Py_ssize_t room
    long long* ends
    Py_ssize_t count
