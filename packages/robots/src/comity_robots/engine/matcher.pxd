from cpython.array cimport array
from libc.stdlib cimport calloc, free, malloc, qsort
from libc.string cimport memchr, memcmp, memcpy

from comity_robots.engine.paths cimport LOOKS_AT, matches_octets, normalise, path_of
from comity_robots.engine.records cimport (
    ALLOW_FIRST, DISALLOW_FIRST, LONGEST, Entry, Names, Reading, match_names_of, choose_into, directive_of, names_of,
    reading_of, size_of, start_of, switch, u64,
)

cdef struct Pattern:
    unsigned char* text
    unsigned int size
    u64 key
    u64 rank

ctypedef Pattern* Patterns

cdef class Matcher:
    cdef int _form
    cdef bint _semicolon
    cdef bint _exempt  # whether /robots.txt is allowed whatever the rules say
    # Literal patterns in order, one after the other in `_text`; pattern i is [_starts[i], _starts[i + 1]).
    cdef Py_ssize_t _count
    cdef char* _text
    cdef unsigned int* _starts
    cdef int* _parents
    cdef u64* _bests
    # Patterns with wildcards from the highest rank down, in the same way.
    cdef Py_ssize_t _wild_count
    cdef char* _wild_text
    cdef unsigned int* _wild_starts
    cdef u64* _wild_ranks
    cdef Py_ssize_t _tried_count
    cdef unsigned int* _tried
    # Hash table with open addressing: key (run of three octets, plus one), and where its patterns are listed.
    cdef unsigned int _mask
    cdef unsigned int* _keys
    cdef unsigned int* _places
    cdef unsigned int* _listed
    cdef unsigned char* _seen
    cdef Py_ssize_t _size

cdef class Matchers:
    cdef readonly bytes body
    cdef readonly object dialect
    cdef public array _index
    cdef readonly dict _matchers
    cdef Reading _reading
    cpdef _keep(self, key, matcher)

cdef inline bint is_robots_txt(const char* path, Py_ssize_t size) noexcept nogil:
    return size == 11 and memcmp(path, b"/robots.txt", 11) == 0

cdef Matcher blank_for(Reading reading)
cdef Py_ssize_t rank_records(unsigned char* octets, const Entry* entries, const unsigned int* records,
                             Py_ssize_t total, Reading reading, Patterns found, unsigned char** spare) except -1 nogil
cdef Patterns room_for(Py_ssize_t count) except NULL nogil
cdef int pack(Matcher made, Patterns found, Py_ssize_t count, bint wildcards) except -1 nogil
cdef u64 best_packed(Matcher self, const char* path, Py_ssize_t length) noexcept nogil
