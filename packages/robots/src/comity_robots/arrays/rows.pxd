from libc.stdlib cimport free, malloc
from libc.string cimport memset

from comity_robots.arrays.origins cimport Numbers, check_offsets, prefetch
from comity_robots.arrays.programs cimport ProgramTable
from comity_robots.arrays.rules cimport MARKS, ProgramAt, bucket_of, head_of, keys_of, strongest
from comity_robots.engine.matcher cimport is_robots_txt
from comity_robots.engine.paths cimport LOOKS_AT, normalise
from comity_robots.engine.records cimport Reading, reading_of, switch
from comity_robots.plain_urls cimport path_end

ctypedef unsigned long long u64

cdef struct Batch:
    const char* data
    Numbers offsets
    int* located
    Numbers entries
    unsigned int* starts
    unsigned short* codes
    int* cited
    unsigned char* used
    Py_ssize_t rows
    Py_ssize_t captures
    u64* order  # capture << 32, and rows with a capture, in the order in which they are asked about
    Py_ssize_t count
    unsigned int* ends  # room for a number a capture
    Py_ssize_t stride
    bint normal
ctypedef Batch* BatchAt

# Of a URL: `text` in the form in which it is compared, `raw` as it stands there, `room` for the former.
cdef struct Path:
    const char* text
    Py_ssize_t size
    const char* raw
    Py_ssize_t raw_size
    u64 marks
    unsigned char* room
    Py_ssize_t room_size
ctypedef Path* PathAt

ctypedef unsigned short[6] OfRules
ctypedef unsigned short[8] Specials

cdef class RowJudge:
    cdef Reading _reading
    cdef Py_ssize_t _agents
    cdef OfRules _of_rules
    cdef Specials _specials
