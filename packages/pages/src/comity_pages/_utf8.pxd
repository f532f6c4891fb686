cdef extern from *:
    """
    #include <string.h>
    /* Copies octets up to the first that JSON escapes, and others after it; how many are plain. */
    #if defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    #define OCTETS_AT_ONCE 16
    typedef unsigned char comity_octets __attribute__((vector_size(16)));
    static inline Py_ssize_t copy_plain(const unsigned char *source, unsigned char *target) {
        comity_octets octets, found;
        unsigned long long halves[2];
        memcpy(&octets, source, 16);
        memcpy(target, &octets, 16);
        found = (comity_octets)((octets < 0x20) | (octets == 0x22) | (octets == 0x5c));
        memcpy(halves, &found, 16);
        if (halves[0]) return __builtin_ctzll(halves[0]) >> 3;
        return halves[1] ? 8 + (__builtin_ctzll(halves[1]) >> 3) : 16;
    }
    #else
    #define OCTETS_AT_ONCE 1
    static inline Py_ssize_t copy_plain(const unsigned char *source, unsigned char *target) {
        *target = *source;
        return *source >= 0x20 && *source != 0x22 && *source != 0x5c;
    }
    #endif
    """
    const Py_ssize_t OCTETS_AT_ONCE
    Py_ssize_t copy_plain(const unsigned char* source, unsigned char* target) noexcept nogil
