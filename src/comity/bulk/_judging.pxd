from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memchr, memcmp, memcpy, memset

from comity.robots._first cimport choose_into, records_into
from comity.robots._making cimport Reading, rank_records, reading_of
from comity.robots._match cimport Matcher, best_packed, emptied
from comity.robots._packing cimport Patterns, pack, room_for
from comity.robots._path cimport normalise
from comity.robots._pattern cimport matches_octets
from comity.robots._scan cimport Records, scan_into
from comity.urls cimport authority_end, path_end

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define COMITY_PREFETCH(place) __builtin_prefetch(place)
    #else
    #define COMITY_PREFETCH(place) ((void)(place))
    #endif
    """
    void prefetch "COMITY_PREFETCH"(const void* place) nogil

cdef const char* _LOOKS_AT

ctypedef long long* Offsets
ctypedef long long* OffsetsToo

# Rows [first, last) of a column: octets and where each row's begin. `rows`: for those that were normalised, which
# rows they stand for.
cdef struct Chunk:
    const char* data
    Offsets offsets
    long long first
    long long last
    Offsets rows
ctypedef Chunk* ChunkAt
ctypedef Chunk* Chunks

# A robots.txt; `body` is NULL where what came of asking says it all. `origin_size`: octets of its origin.
cdef struct Capture:
    const char* body
    long long size
    long long origin_size
ctypedef Capture* CaptureAt
ctypedef Capture* Captures

cdef struct Called:
    const char* one
    Py_ssize_t one_size
    const char* other
    Py_ssize_t other_size
    Py_ssize_t rules
    Py_ssize_t groups
ctypedef Called* CalledAs

cdef struct Work:
    Chunks chunks
    Offsets begins
    unsigned int* order
    Captures captures
    unsigned short* codes
    int* cited
    double* delays
    unsigned char* flags
    Py_ssize_t rows
    Py_ssize_t total
    unsigned short[7] meanings
ctypedef Work* WorkAt

cdef struct Cited:
    char* text
    Py_ssize_t size
    Py_ssize_t room
    OffsetsToo entries
    Py_ssize_t count
    Py_ssize_t most
ctypedef Cited* CitedAt

cdef class Origins:
    cdef const char* _data
    cdef Offsets _offsets
    cdef size_t _mask
    cdef unsigned long long* _slots

cdef class Judging:
    cdef object _dialect
    cdef list _names
    cdef bint _letters
    cdef Py_ssize_t _max_bytes
    cdef bint _typos
    cdef bint _nul_ends_line
    cdef Py_ssize_t _longest_line
    cdef bint _robots_txt_allowed
    cdef Reading _reading
    cdef Matcher _matcher
    cdef Py_ssize_t _agents
    cdef CalledAs _called
    cdef Records _records
    cdef unsigned int* _room
    cdef Py_ssize_t _room_size
    cdef Patterns _found
    cdef unsigned long long* _keys
    cdef Py_ssize_t _found_size
    cdef unsigned char* _path
    cdef Py_ssize_t _path_size
    cdef Cited _cited
