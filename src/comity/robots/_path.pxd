from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_AsUTF8AndSize

cpdef path_of(url, int form, bint semicolon)
cdef Py_ssize_t normalise(const unsigned char* octets, Py_ssize_t size, int form, bint pattern, unsigned char* out) noexcept nogil

cdef const char* _DECODED_AT
cdef const char* _GEM_DECODED_AT
cdef const char* _ENCODED_AT
cdef const char* _HEX_AT
