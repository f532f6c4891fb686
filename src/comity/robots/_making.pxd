from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdlib cimport free
from libc.string cimport memcmp

from comity.robots._match cimport Matcher
from comity.robots._packing cimport Patterns, pack, room_for
from comity.robots._path cimport normalise
