from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memcmp

from comity.robots._pattern cimport matches_octets

cdef Py_ssize_t choose_into(const char* text, const unsigned long long* entries, Py_ssize_t total, bint letters,
                            const char* one, Py_ssize_t one_size, const char* other, Py_ssize_t other_size,
                            unsigned int ends, unsigned int wanted, unsigned int* found, unsigned int* starts, Py_ssize_t* groups) noexcept nogil
cdef bint is_called(const char* value, Py_ssize_t size, bint letters, const char* one, Py_ssize_t one_size,
                    const char* other, Py_ssize_t other_size) noexcept nogil
