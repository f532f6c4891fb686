from libc.stdlib cimport free, malloc
from libc.string cimport memset

from comity_robots.arrays.origins cimport check_offsets, prefetch
from comity_robots.arrays.programs cimport ProgramTable
from comity_robots.arrays.rules cimport MARKS, Program, bucket_of, head_of, keys_of, strongest
from comity_robots.engine.matcher cimport is_robots_txt
from comity_robots.engine.paths cimport LOOKS_AT, normalise
from comity_robots.engine.records cimport Reading, reading_of, switch, u64
from comity_robots.plain_urls cimport path_end

cdef struct Batch:
    const char* data
    long long* offsets
    int* located
    long long* entries
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

# Of a URL: `text` in the form in which it is compared, `raw` as it stands there, `room` for the former.
cdef struct Path:
    const char* text
    Py_ssize_t size
    const char* raw
    Py_ssize_t raw_size
    u64 marks
    unsigned char* room
    Py_ssize_t room_size

cdef class RowJudge:
    cdef Reading _reading
    cdef Py_ssize_t _agents
    cdef unsigned short _of_rules[6]
    cdef unsigned short _specials[8]
