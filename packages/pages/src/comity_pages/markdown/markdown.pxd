from comity_pages.html.tree cimport Node, Text, Tree

cdef class Writer:
    cdef object _base
    cdef object _notes
    cdef set _without
    cdef double _deadline
    cdef str _url
    cdef Py_ssize_t _seen
    cdef Py_ssize_t _indent
    cdef object _link
    cdef dict _kinds
