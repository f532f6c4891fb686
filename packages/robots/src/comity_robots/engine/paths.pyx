# cython: language_level=3, boundscheck=False, wraparound=False
"""Paths and patterns in the form in which they are compared, and whether one matches the other: the fast form.

What they give is documented in reference.py.
"""

from comity_robots.engine import reference

LOOKS_AT = <bytes>reference.LOOKS
cdef const char* _IN_SCHEME = <bytes>reference.IN_SCHEME
cdef const char* _DECODED[3]
cdef const char* _ENCODED[3]
cdef Py_ssize_t _form
for _form in range(3):
    _DECODED[_form] = <bytes>reference.DECODED[_form]
    _ENCODED[_form] = <bytes>reference.ENCODED[_form]


def normalised(bytes octets, int form, bint pattern):
    if form == 0:
        return octets
    cdef bytes room = PyBytes_FromStringAndSize(NULL, 3 * len(octets))
    cdef char* start = room
    cdef const char* given = octets
    return start[:normalise(<unsigned char*>given, len(octets), form, pattern, <unsigned char*>start)]


cdef Py_ssize_t normalise(const unsigned char* octets, Py_ssize_t size, int form, bint pattern,
                          unsigned char* out) noexcept nogil:
    """Write octets to `out`, which has room for three times as many, as `normalised` gives them; how many these are."""
    cdef int char, code
    cdef const char* decoded = _DECODED[form]
    cdef const char* encoded = _ENCODED[form]
    cdef const char* digits = b"0123456789ABCDEF"
    cdef Py_ssize_t i = 0, n = 0
    while i < size:
        char = octets[i]
        if char == 37 and i + 2 < size and (code := _hex_pair(octets[i + 1], octets[i + 2])) >= 0:
            i += 3
            if decoded[code]:
                out[n] = code
                n += 1
                continue
            char = code
        else:
            i += 1
            if not (encoded[char] or (char == 42 and not pattern) or (char == 36 and not (pattern and i == size))):
                out[n] = char
                n += 1
                continue
        out[n] = 37
        out[n + 1] = digits[char >> 4]
        out[n + 2] = digits[char & 15]
        n += 3
    return n


cdef int _hex_pair(int high, int low) noexcept nogil:
    """The octet that two hexadecimal digits name; negative where they are none."""
    cdef int a = _digit(high)
    cdef int b = _digit(low)
    return -1 if a < 0 or b < 0 else 16 * a + b


cdef int _digit(int char) noexcept nogil:
    if 48 <= char <= 57:
        return char - 48
    char = char | 32
    return char - 87 if 97 <= char <= 102 else -1


cpdef bytes path_of(url, int form, bint semicolon):
    cdef Py_ssize_t size = 0
    cdef const char* text
    cdef bytes encoded
    if not isinstance(url, str):
        return b""
    try:
        text = PyUnicode_AsUTF8AndSize(url, &size)
    except UnicodeEncodeError:  # lone surrogates
        encoded = url.encode("utf-8", "surrogatepass")
        return _cut_path(encoded, len(encoded), form, semicolon)
    return _cut_path(text, size, form, semicolon)


cdef bytes _cut_path(const char* text, Py_ssize_t size, int form, bint semicolon):
    cdef Py_ssize_t end, i
    cdef char look
    cdef Py_ssize_t begin = 2 if size >= 2 and text[0] == 47 and text[1] == 47 else 0
    cdef Py_ssize_t at = begin
    cdef bint special = False
    cdef bint open = False  # a bracket in the authority
    cdef const char* in_scheme = _IN_SCHEME
    while at < size and not _starts_path(text[at], semicolon):
        if text[at] == 35:
            return b"/" if (begin and not open) or (semicolon and at == 0) else b""
        open = text[at] == 91 or (open and text[at] != 93)
        at += 1
    if begin < at < size - 1 and text[at] == 47 and text[at - 1] == 58 and text[at + 1] == 47:
        for i in range(begin, at - 1):
            if not in_scheme[<unsigned char>text[i]]:
                return b""
        at += 2
        while at < size and not _starts_path(text[at], semicolon):
            if text[at] == 35:
                return b"" if open else b"/"
            open = text[at] == 91 or (open and text[at] != 93)
            at += 1
    elif begin == 0 and at > 0:
        return b""
    if open:
        return b""
    if at >= size:
        return b"/" if at or semicolon else b""
    end = at
    cdef const char* looks = LOOKS_AT
    while end < size:
        look = looks[<unsigned char>text[end]]
        if look:
            if look == 2:
                break
            special = True
        end += 1
    cdef bytes path = PyBytes_FromStringAndSize(text + at, end - at)
    if text[at] != 47:
        path = b"/" + path
    return normalised(path, form, False) if special and form else path


cdef inline bint _starts_path(char char, bint semicolon) noexcept:
    return char == 47 or char == 63 or (char == 59 and semicolon)


def matches(bytes pattern, bytes path):
    return matches_octets(pattern, len(pattern), path, len(path))


cdef bint matches_octets(const char* pattern, Py_ssize_t size, const char* path, Py_ssize_t length) noexcept nogil:
    """`matches`."""
    cdef Py_ssize_t end
    cdef const char* star
    cdef bint anchored = size > 0 and pattern[size - 1] == 36
    cdef Py_ssize_t position = 0, at = 0
    cdef bint first = True
    if anchored:
        size -= 1
    while True:
        star = <const char*>(memchr(pattern + at, 42, size - at))
        end = star - pattern if star != NULL else size
        if first:
            if end > length or memcmp(pattern, path, end) != 0:
                return False
            position = end
            first = False
            if star == NULL:
                return not anchored or position == length
        elif star == NULL and anchored:
            return length - (end - at) >= position and memcmp(pattern + at, path + length - (end - at), end - at) == 0
        else:
            position = _find(path, length, position, pattern + at, end - at)
            if position < 0:
                return False
            position += end - at
            if star == NULL:
                return True
        at = end + 1


cdef Py_ssize_t _find(const char* path, Py_ssize_t length, Py_ssize_t position, const char* run,
                      Py_ssize_t size) noexcept nogil:
    """Where a run of octets stands in the path from `position` on; negative where it does not."""
    cdef const char* found
    if size == 0:
        return position
    while position + size <= length:
        found = <const char*>(memchr(path + position, run[0], length - size - position + 1))
        if found == NULL:
            return -1
        if memcmp(found, run, size) == 0:
            return found - path
        position = found - path + 1
    return -1
