from libc.math cimport NAN
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp

from comity_robots.arrays.origins cimport large_room, prefetch
from comity_robots.arrays.rules cimport Plan, Program, Rule, make_rules, octets_of, write_program
from comity_robots.engine.matcher cimport (
    Matcher, Patterns, blank_for, pack, rank_records, room_for,
)
from comity_robots.engine.records cimport (
    Names, Reading, Records, choose_into, directive_of, names_of, reading_of, scan_into, size_of, start_of, switch, u64,
)


# A robots.txt; `body` is NULL where what came of asking says it all.
cdef struct Capture:
    const char* body
    long long size

cdef struct Agent:
    Names names
    Py_ssize_t rules
    Py_ssize_t groups

cdef struct Work:
    Capture* captures
    long long* entries
    double* delays
    unsigned char* has_usage
    unsigned int* asked
    unsigned int* limits
    long long unparsable

cdef class ProgramTable:
    cdef list _buffers  # what the captures' texts point into
    cdef Capture* captures
    # By capture and agent, what answers: a program's address, or outcomes for all URLs: twice the outcome of robots.txt
    # itself in the upper 32 bits, twice the outcome of all others plus one in the lower.
    cdef long long* entries
    cdef Py_ssize_t count
    cdef Py_ssize_t agents
    cdef Program** made  # programs in the order of their rules' numbers
    cdef Py_ssize_t made_count
    cdef readonly Py_ssize_t rules  # of all programs

cdef class Builder:
    cdef list _names
    cdef list _matchers
    cdef dict _delays
    cdef Reading _reading
    cdef Py_ssize_t _agents
    cdef Agent* _by_agent
    cdef Records _records
    cdef unsigned int* _room
    cdef Py_ssize_t _room_size
    cdef Patterns _found
    cdef Rule* _rules
    cdef u64* _entries
    cdef u64* _keys
    cdef Py_ssize_t _found_size
    # Memory of programs: blocks, and what is left of the last.
    cdef char** _blocks
    cdef Py_ssize_t _block_count
    cdef char* _free
    cdef Py_ssize_t _left
    cdef Program** _made
    cdef Py_ssize_t _made_count
    cdef Py_ssize_t _made_room
    cdef u64 _octets
