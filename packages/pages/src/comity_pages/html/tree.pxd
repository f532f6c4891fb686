cimport cython

@cython.final
cdef class Text:
    cdef public str text
    cdef public bint kept

@cython.final
cdef class TagInfo:
    cdef public str name
    cdef public bint block_level
    cdef public bint element
    cdef public bint dialog
    cdef public bint heading
    cdef public bint word
    cdef public bint skipped
    cdef public bint text
    cdef public bint textless
    cdef public bint unread
    cdef public list nodes

@cython.final
cdef class Node:
    cdef public str name
    cdef public Py_ssize_t number
    cdef public dict attributes
    cdef public Node parent
    cdef public list children
    cdef public bint block_level
    cdef public bint skipped
    cdef public bint has_blocks
    cdef public Py_ssize_t words
    cdef public Py_ssize_t kept_words

cdef class Tree:
    cdef public Node root
    cdef public dict by_name
    cdef public list comments
    cdef public list styled
    cdef public list pointers
    cdef public list microdata
    cdef public list headings
    cdef public dict by_class
    cdef public dict by_id
    cdef public list unread
    cdef list _lower
    cdef bint _drawn
    cdef public bint truncated
    cdef dict _tag_infos
    cdef dict _placed
    cdef set _moved
    cdef list _texts
    cdef Py_ssize_t _count
    cdef Py_ssize_t _size
    cdef Py_ssize_t _size_without_scripts
