from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memcmp, memcpy

from comity.bulk.engine.origins cimport Numbers, prefetch
from comity.bulk.engine.rules cimport MARKS, ProgramAt, bucket_of, head_of, strongest
from comity.robots.engine.matcher cimport Reading, is_robots_txt, reading_of
from comity.robots.engine.paths cimport LOOKS_AT, normalise
from comity.urls cimport path_end

ctypedef unsigned long long u64

cdef struct Asked:
    const char* data
    Numbers offsets
    int* located
    Numbers entries
    unsigned int* starts
    unsigned short* codes
    int* cited
    unsigned char* used
    Py_ssize_t rows
    Py_ssize_t stride
    bint normal
ctypedef Asked* AskedAt

ctypedef unsigned short[6] Meanings
ctypedef unsigned short[8] Specials

cdef class Asking:
    cdef Reading _reading
    cdef bint _robots_txt_allowed
    cdef Py_ssize_t _agents
    cdef Meanings _meanings
    cdef Specials _specials
