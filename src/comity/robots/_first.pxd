from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memcmp

from comity.robots._pattern cimport matches_octets
