cdef extern from "Python.h":
    Py_UCS4 char_at "PyUnicode_READ_CHAR"(str text, Py_ssize_t at) nogil

cdef class _OpenCounts:
    cdef public Py_ssize_t elements
    cdef public Py_ssize_t formatting
    cdef public Py_ssize_t drawings
    cdef public Py_ssize_t shapes
