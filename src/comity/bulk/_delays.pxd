cdef bint longest_delay(const char* body, const unsigned long long* records, const unsigned int* numbers,
                        Py_ssize_t count, double* longest) noexcept nogil
cdef double seconds_of(const char* text, Py_ssize_t size) noexcept nogil
