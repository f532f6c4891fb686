from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.string cimport memchr, memcmp

cdef const char* LOOKS_AT  # by octet: 0 it stays, 1 it needs a closer look, 2 it ends the path

cpdef bytes path_of(url, int form, bint semicolon)
cdef Py_ssize_t normalise(const unsigned char* octets, Py_ssize_t size, int form, bint pattern,
                          unsigned char* out) noexcept nogil
cdef bint matches_octets(const char* pattern, Py_ssize_t size, const char* path, Py_ssize_t length) noexcept nogil
