from comity_pages.html.tree cimport Node, Text

cimport cython

cdef extern from "Python.h":
    Py_UCS4 char_at "PyUnicode_READ_CHAR"(str text, Py_ssize_t at) nogil

@cython.final
cdef class Block:
    cdef public Node node
    cdef public Node line
    cdef public Py_ssize_t level
    cdef public Py_ssize_t names
    cdef public Py_ssize_t near
    cdef public Py_ssize_t landmarks
    cdef public list pieces
    cdef public list texts
    cdef public Py_ssize_t links
    cdef public str text
    cdef public Py_ssize_t words
    cdef public double chance
    cdef public bint kept

cdef class _Splitter:
    cdef public list blocks
    cdef Block open
    cdef set without
    cdef dict known
    cdef Node line
    cdef Py_ssize_t level

cdef Py_ssize_t count_sentences(str text)
cdef double known_share(str text, set known, unsigned long long firsts)
