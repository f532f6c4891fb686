from libc.stdlib cimport calloc, free
from libc.string cimport memchr, memcmp, memcpy

from comity.urls cimport authority_end

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define COMITY_PREFETCH(place) __builtin_prefetch(place)
    #else
    #define COMITY_PREFETCH(place) ((void)(place))
    #endif
    """
    void prefetch "COMITY_PREFETCH"(const void* place) nogil

ctypedef long long* Numbers  # 64 bits each
ctypedef unsigned long long[64] Hashes
ctypedef Py_ssize_t[64] Lengths

cdef class Origins:
    cdef const char* _data
    cdef Numbers _offsets
    cdef size_t _mask
    cdef unsigned long long* _slots
