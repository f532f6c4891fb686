"""Whether one pattern matches a path: `*` is any run of octets, a final `$` the end. Linear in the path.

RFC 9309, 2.2.3. Each run between asterisks is looked for leftmost, once; that suffices, because a run found further
left leaves more room for the rest.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from comity import _cython as cython


def matches(pattern: bytes, path: bytes) -> bool:
    """Whether a pattern matches a path from its beginning."""
    if cython.compiled:
        return matches_octets(pattern, len(pattern), path, len(path))
    anchored = pattern.endswith(b"$")
    runs = (pattern[:-1] if anchored else pattern).split(b"*")
    if not path.startswith(runs[0]):
        return False
    position = len(runs[0])
    if len(runs) == 1:
        return not anchored or position == len(path)
    for run in runs[1:-1]:
        position = path.find(run, position)
        if position < 0:
            return False
        position += len(run)
    if anchored:
        return len(path) - len(runs[-1]) >= position and path.endswith(runs[-1])
    return path.find(runs[-1], position) >= 0


def matches_octets(pattern, size, path, length):  # types: see the .pxd
    """`matches`, compiled."""
    anchored: cython.bint = size > 0 and pattern[size - 1] == 36
    position: cython.Py_ssize_t = 0
    at: cython.Py_ssize_t = 0
    end: cython.Py_ssize_t
    first: cython.bint = True
    star: cython.p_const_char
    if anchored:
        size -= 1
    while True:
        star = cython.cast(cython.p_const_char, memchr(pattern + at, 42, size - at))
        end = star - pattern if star != cython.NULL else size
        if first:
            if end > length or memcmp(pattern, path, end) != 0:
                return False
            position = end
            first = False
            if star == cython.NULL:
                return not anchored or position == length
        elif star == cython.NULL and anchored:
            return length - (end - at) >= position and memcmp(pattern + at, path + length - (end - at), end - at) == 0
        else:
            position = _find(path, length, position, pattern + at, end - at)
            if position < 0:
                return False
            position += end - at
            if star == cython.NULL:
                return True
        at = end + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find(
    path: cython.p_const_char,
    length: cython.Py_ssize_t,
    position: cython.Py_ssize_t,
    run: cython.p_const_char,
    size: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Where a run of octets stands in the path from `position` on; negative where it does not."""
    found: cython.p_const_char
    if size == 0:
        return position
    while position + size <= length:
        found = cython.cast(cython.p_const_char, memchr(path + position, run[0], length - size - position + 1))
        if found == cython.NULL:
            return -1
        if memcmp(found, run, size) == 0:
            return found - path
        position = found - path + 1
    return -1
