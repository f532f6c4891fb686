from libc.string cimport memcmp

cdef Py_ssize_t authority_end(const char* text, Py_ssize_t size) noexcept nogil
cdef Py_ssize_t path_end(const char* text, Py_ssize_t size, Py_ssize_t i) noexcept nogil
cdef Py_ssize_t query_end(const char* text, Py_ssize_t size, Py_ssize_t i) noexcept nogil
cdef Py_ssize_t scheme_end(str text) noexcept
