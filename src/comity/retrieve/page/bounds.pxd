cdef class _Open:
    cdef public Py_ssize_t elements
    cdef public Py_ssize_t formatting
    cdef public Py_ssize_t drawings
    cdef public Py_ssize_t shapes
