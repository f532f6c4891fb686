from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy

from comity.robots._match cimport Matcher
from comity.robots._packing cimport Patterns, pack, room_for
from comity.robots._path cimport normalise

cdef const char* _LOOKS_AT

cdef struct Reading:
    int form
    int order
    bint allow_wins
    bint wildcards
    bint index_html

cdef Reading reading_of(object dialect)
cdef Py_ssize_t rank_records(unsigned char* octets, const unsigned long long* entries, const unsigned int* records,
                             Py_ssize_t total, Reading* reading, object dialect, Patterns found,
                             unsigned char** spare) except -1 nogil
