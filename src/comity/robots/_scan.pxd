from libc.stdlib cimport free, realloc
from libc.string cimport memchr

cdef struct Records:
    unsigned long long* records
    Py_ssize_t room
    Py_ssize_t count

cdef int scan_into(unsigned char* text, Py_ssize_t start, Py_ssize_t stop, bint typos, bint nul_ends_line,
                   Py_ssize_t longest_line, Records* into) noexcept nogil
