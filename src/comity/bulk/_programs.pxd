from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp

from comity.bulk._delays cimport longest_delay
from comity.bulk._origins cimport Numbers, large_room, prefetch
from comity.bulk._rules cimport Plan, Program, ProgramAt, Rule, Rules, laid_out, octets_of, ruled
from comity.robots._first cimport choose_into
from comity.robots._making cimport Reading, rank_records, reading_of
from comity.robots._match cimport Matcher
from comity.robots._packing cimport Patterns, pack, room_for
from comity.robots._scan cimport Records, scan_into

ctypedef unsigned long long u64
ctypedef ProgramAt* Programs
ctypedef char** Blocks

# A robots.txt; `body` is NULL where what came of asking says it all.
cdef struct Capture:
    const char* body
    long long size
ctypedef Capture* CaptureAt

cdef struct Called:
    const char* one
    Py_ssize_t one_size
    const char* other
    Py_ssize_t other_size
    Py_ssize_t rules
    Py_ssize_t groups
ctypedef Called* CalledAs

cdef struct Work:
    CaptureAt captures
    Numbers entries
    double* delays
    unsigned char* flags
    unsigned int* asked
    unsigned int* limits
    long long unparsable
ctypedef Work* WorkAt

cdef class Maker:
    cdef object _dialect
    cdef list _names
    cdef list _matchers
    cdef bint _letters
    cdef Py_ssize_t _max_bytes
    cdef bint _typos
    cdef bint _nul_ends_line
    cdef Py_ssize_t _longest_line
    cdef Reading _reading
    cdef Py_ssize_t _agents
    cdef CalledAs _called
    cdef Records _records
    cdef unsigned int* _room
    cdef Py_ssize_t _room_size
    cdef Patterns _found
    cdef Rules _rules
    cdef u64* _entries
    cdef Py_ssize_t _found_size
    # Memory of programs: blocks, and what is left of the last.
    cdef Blocks _blocks
    cdef Py_ssize_t _block_count
    cdef char* _free
    cdef Py_ssize_t _left
    cdef Programs _made
    cdef Py_ssize_t _made_count
    cdef Py_ssize_t _made_room
    cdef u64 _octets
