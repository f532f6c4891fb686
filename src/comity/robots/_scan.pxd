from libc.stdlib cimport free, realloc
from libc.string cimport memchr
