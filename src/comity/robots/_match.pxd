from comity.robots._path cimport path_of
from comity.robots._pattern cimport matches_octets
from libc.stdlib cimport free
from libc.string cimport memcmp

cdef class Matcher:
    cdef int _form
    cdef bint _semicolon
    cdef bint _robots_txt_allowed
    # Literal patterns in order, one after the other in `_text`; pattern i is [_starts[i], _starts[i + 1]).
    cdef Py_ssize_t _count
    cdef char* _text
    cdef unsigned int* _starts
    cdef int* _parents
    cdef unsigned long long* _bests
    # Patterns with wildcards from the highest rank down, in the same way.
    cdef Py_ssize_t _wild_count
    cdef char* _wild_text
    cdef unsigned int* _wild_starts
    cdef unsigned long long* _wild_ranks
    cdef Py_ssize_t _tried_count
    cdef unsigned int* _tried
    # Hash table with open addressing: key (run of three octets, plus one), and where its patterns are listed.
    cdef unsigned int _mask
    cdef unsigned int* _keys
    cdef unsigned int* _places
    cdef unsigned int* _listed
    cdef unsigned char* _seen
    cdef Py_ssize_t _size
    cdef object _tables

cdef class Asked:
    cdef readonly dict _matchers

cdef unsigned int spread(unsigned int key) noexcept nogil
cdef unsigned long long best_packed(Matcher self, const char* path, Py_ssize_t length) noexcept nogil
cdef void emptied(Matcher matcher) noexcept nogil
