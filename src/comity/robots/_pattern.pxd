from libc.string cimport memchr, memcmp

cdef bint matches_octets(const char* pattern, Py_ssize_t size, const char* path, Py_ssize_t length) noexcept nogil
