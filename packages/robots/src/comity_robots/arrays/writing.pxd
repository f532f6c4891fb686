from comity_robots.arrays.origins cimport Numbers, prefetch

cdef struct Columns:
    signed char* verdict
    signed char* recommendation
    short* reason
    unsigned char* may_fetch
    unsigned char* decided
    int* line
    unsigned char* cites
    double* delay
    unsigned char* delays
