from libc.string cimport memset

from comity.bulk._origins cimport Numbers

cdef struct Columns:
    signed char* verdict
    signed char* recommendation
    short* reason
    unsigned char* may_fetch
    unsigned char* decided
    int* line
    int* rule
    unsigned char* cites
    double* delay
    unsigned char* delays
