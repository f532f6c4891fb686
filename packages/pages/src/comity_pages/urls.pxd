cdef extern from "Python.h":
    bint is_ascii "PyUnicode_IS_COMPACT_ASCII"(object text)
    const char* ascii_of "(const char *)PyUnicode_DATA"(object text)


cdef class Base:
    cdef readonly str url
    cdef bint _plain
    cdef str _normal
    cdef Py_ssize_t _root
    cdef str _origin
    cdef str _directory
    cdef str _path

    cpdef str join(self, str reference)
    cdef str _relative(self, str reference)
