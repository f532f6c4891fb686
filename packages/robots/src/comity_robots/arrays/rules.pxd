from libc.string cimport memchr, memcmp, memcpy

from comity_robots.engine.matcher cimport Matcher, Patterns, best_packed
from comity_robots.engine.paths cimport matches_octets
from comity_robots.engine.records cimport size_of, u64

ctypedef u64[9] Masks
ctypedef u64[256] Marks

# A rule, but for its key, which is looked at first and stands apart, so that many fit into a line of the cache: the
# octets that a path must have behind its first slash, up to seven, and how many these are in the highest octet.
# `need`: marks of octets that a path must hold somewhere; `about`: octets of the text << 8, and bits WILD, LONG, EMPTY.
cdef struct Rule:
    u64 need
    u64 rank
    unsigned int text
    unsigned int about

# The rules of a file for an agent, behind it their keys: first those that every path is tried against, then buckets of those that begin with
# the same `depth` octets behind the slash.
cdef struct Program:
    Rule* rules
    unsigned int* buckets
    u64* records  # of each rule, as the index of the file has them
    char* text
    void* matcher
    unsigned int number  # of its first rule among those of all programs
    unsigned int capture
    unsigned int count
    unsigned int common
    unsigned char depth
    unsigned char bits
    unsigned char named

cdef struct Plan:
    Py_ssize_t count
    Py_ssize_t octets
    Py_ssize_t tried
    unsigned char depth
    unsigned char bits

cdef inline u64* keys_of(Program* program) noexcept nogil:
    return <u64*>(program + 1)

cdef Masks MASKS
cdef Marks MARKS

cdef void make_rules(Patterns found, Py_ssize_t count, const u64* records, bint wildcards, u64* keys, Rule* rules,
                u64* kept, Plan* plan) noexcept nogil
cdef Py_ssize_t octets_of(Plan* plan) noexcept nogil
cdef void write_program(Program* program, Patterns found, const u64* keys, Rule* rules, const u64* kept,
                   Plan* plan) noexcept nogil
cdef u64 strongest(Program* program, const char* path, Py_ssize_t length, u64 marks, bint* empty) noexcept nogil
cdef unsigned int bucket_of(Program* program, u64 head) noexcept nogil
cdef u64 head_of(const char* path, Py_ssize_t length) noexcept nogil
