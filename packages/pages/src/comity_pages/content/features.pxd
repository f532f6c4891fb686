from comity_pages.content.blocks cimport Block, count_sentences, known_share
from comity_pages.html.tree cimport Node
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

cdef class SimilarBlocks:
    cdef public Py_ssize_t blocks
    cdef public Py_ssize_t words
    cdef public Py_ssize_t characters
    cdef public Py_ssize_t links
    cdef public double expected

cdef class _Page:
    cdef public dict inside
    cdef public list own
    cdef public list shapes
    cdef public list sentences
    cdef public dict same
    cdef public list alike
    cdef public dict repeated
    cdef public list earlier
    cdef public list long
    cdef public Py_ssize_t total
    cdef public Py_ssize_t characters
    cdef public Py_ssize_t linked
    cdef public Py_ssize_t prose
    cdef public set title
    cdef public unsigned long long firsts
    cdef public object page
    cdef public _Entry core

cdef class _Heading:
    cdef public Py_ssize_t since
    cdef public Py_ssize_t level
    cdef public double words
    cdef public tuple about
