from comity.retrieve.blocks cimport Block, sentences_in, share_of
from comity.retrieve.tree cimport Node
from libc.math cimport log1p

cdef class _Entry:
    cdef public str key
    cdef public _Entry parent
    cdef public Py_ssize_t first
    cdef public Py_ssize_t last
    cdef public Py_ssize_t words
    cdef public Py_ssize_t characters
    cdef public Py_ssize_t links
    cdef public Py_ssize_t blocks
    cdef public Py_ssize_t prose
    cdef public Py_ssize_t depth
    cdef public Py_ssize_t alike
    cdef public Py_ssize_t steps
    cdef public _Entry section
    cdef public _Entry branch
    cdef public bint within
    cdef public tuple _form
