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
    /* Unicode, table 3-7. */
    static int is_well_formed(const unsigned char *data, Py_ssize_t size) {
        const unsigned char *end = data + size;
        unsigned long long halves[2];
        while (data < end) {
            unsigned char first = *data, low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
            unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
            Py_ssize_t more = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
            if ((first >= 0x80 && first < 0xc2) || first > 0xf4 || end - data <= more) return 0;
            if (more && (data[1] < low || data[1] > high)) return 0;
            if (more > 1 && (data[2] & 0xc0) != 0x80) return 0;
            if (more > 2 && (data[3] & 0xc0) != 0x80) return 0;
            data += more + 1;
            for (; end - data >= 16; data += 16) {
                memcpy(halves, data, 16);
                if ((halves[0] | halves[1]) & 0x8080808080808080ULL) break;
            }
        }
        return 1;
    }
    """
    const Py_ssize_t OCTETS_AT_ONCE
    Py_ssize_t copy_plain(const unsigned char* source, unsigned char* target) noexcept nogil
    bint is_well_formed(const unsigned char* data, Py_ssize_t size) noexcept nogil
