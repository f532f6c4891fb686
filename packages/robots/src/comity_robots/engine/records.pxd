from cpython.array cimport array
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memchr, memcpy

# A record in the index: where its value starts (32 bits), how many octets it has (24), its directive (8).
ctypedef unsigned long long u64
ctypedef u64 Entry

cdef inline Entry entry_of(Py_ssize_t start, Py_ssize_t size, int directive) noexcept nogil:
    return <Entry>start << 32 | <Entry>(size if size < 0xFFFFFF else 0xFFFFFF) << 8 | <Entry>directive

cdef inline Py_ssize_t start_of(Entry entry) noexcept nogil:
    return <Py_ssize_t>(entry >> 32)

cdef inline Py_ssize_t size_of(Entry entry) noexcept nogil:
    return <Py_ssize_t>(entry >> 8 & 0xFFFFFF)

cdef inline unsigned int directive_of(Entry entry) noexcept nogil:
    return <unsigned int>(entry & 0xFF)

cdef inline bint is_blank(unsigned char char) noexcept nogil:
    return char == 32 or (9 <= char <= 13)

cdef struct Records:
    Entry* records
    Py_ssize_t room
    Py_ssize_t count

# What an agent is called: in lower case, equal where there is but one; `letters`: values are compared by their leading
# letters, `-` and `_`, instead of as a whole without version.
cdef struct Names:
    const char* one
    Py_ssize_t one_size
    const char* other
    Py_ssize_t other_size
    bint letters

# How rules are ranked; see `precedence` of Dialect.
cdef enum:
    LONGEST = 0
    ALLOW_FIRST = 2
    DISALLOW_FIRST = 3

cdef class Reading:
    cdef readonly object dialect
    cdef bint merged  # whether an agent's groups are found in one pass; see is_merged
    cdef bint letters
    cdef unsigned int switches  # those that are on, as bits; see switch
    cdef Py_ssize_t longest_line
    cdef Py_ssize_t max_bytes
    cdef int form
    cdef int order
    cdef bint allow_wins
    cdef dict _match_names

cdef unsigned int switch(name) except 0
cdef Reading reading_of(dialect)
cdef tuple match_names_of(Reading reading, agent)
cdef int scan_into(unsigned char* text, Py_ssize_t start, Py_ssize_t stop, Reading reading,
                   Records* into) noexcept nogil
cdef Names names_of(tuple match_names, bint letters)
cdef Py_ssize_t choose_into(const char* text, const Entry* entries, Py_ssize_t total, const Names* names,
                            unsigned int ends, unsigned int wanted, unsigned int* found, unsigned int* starts,
                            Py_ssize_t* groups) noexcept nogil
