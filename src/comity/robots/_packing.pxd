from libc.stdlib cimport calloc, free, malloc, qsort
from libc.string cimport memchr, memcmp, memcpy

from comity.robots._match cimport Matcher, spread

cdef struct Pattern:
    unsigned char* text
    unsigned int size
    unsigned long long key
    unsigned long long rank

ctypedef Pattern* Patterns

cdef Patterns room_for(Py_ssize_t count) except NULL nogil
cdef int pack(Matcher made, Patterns found, Py_ssize_t count, bint wildcards) except -1 nogil
cdef int _by_octets(const void* one, const void* other) noexcept nogil
cdef int _by_rank(const void* one, const void* other) noexcept nogil
