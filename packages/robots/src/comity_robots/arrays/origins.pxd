from libc.stdlib cimport free
from libc.string cimport memchr, memcmp, memcpy, memset

from comity_robots.plain_urls cimport authority_end

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define COMITY_PREFETCH(place) __builtin_prefetch(place)
    #else
    #define COMITY_PREFETCH(place) ((void)(place))
    #endif
    #if defined(__linux__)
    #include <stdlib.h>
    #include <sys/mman.h>
    static void *comity_large_room(size_t size) {  /* in large pages: nearly every look at it is at another page */
        void *room = NULL;
        if (posix_memalign(&room, size < 0x200000 ? 64 : 0x200000, size)) return NULL;
    #ifdef MADV_HUGEPAGE
        if (size >= 0x200000) (void)madvise(room, size, MADV_HUGEPAGE);
    #endif
        return room;
    }
    #else
    #define comity_large_room malloc
    #endif
    """
    void prefetch "COMITY_PREFETCH"(const void* place) nogil
    void* large_room "comity_large_room"(size_t size) nogil

ctypedef unsigned long long u64

cdef int check_offsets(const unsigned char[::1] octets, const long long[::1] offsets) except -1

cdef class Origins:
    cdef const unsigned char[::1] _octets  # what the two below point into
    cdef const long long[::1] _places
    cdef const char* _data
    cdef long long* _offsets
    cdef size_t _mask
    cdef u64* _slots
