# cython: language_level=3, boundscheck=False, wraparound=False
"""Which texts are plainly URLs in normal form, and where the parts of one end: the look that saves asking a parser.

Each function gives -1 where the text is not plain; of the others it says what WHATWG's URL standard says. They pay only
as machine code; interpreted, nothing asks them.
"""

cdef unsigned long long bits(str chars, unsigned int first):
    cdef unsigned long long found = 0
    cdef Py_UCS4 letter
    cdef unsigned int code
    for letter in chars:
        code = letter
        if first <= code < first + 64:
            found |= <unsigned long long>1 << (code - first)
    return found


# Characters that stay as they are wherever they stand; sets of 128 bits, for characters below 64 and the others.
# In a path `.`, `%`, `/` and `?` need a second look; in a query `'` is written %27.
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
SEGMENT = _LETTERS + "0123456789-_~!$&()*+,;=:@|[]'"
QUERY = _LETTERS + "0123456789-_~!$&()*+,;=:@|[]./?%"
_SCHEME = _LETTERS + "0123456789+-."
cdef unsigned long long _SEGMENT_LOW = bits(SEGMENT, 0)
cdef unsigned long long _SEGMENT_HIGH = bits(SEGMENT, 64)
cdef unsigned long long _QUERY_LOW = bits(QUERY, 0)
cdef unsigned long long _QUERY_HIGH = bits(QUERY, 64)
cdef unsigned long long _SCHEME_LOW = bits(_SCHEME, 0)
cdef unsigned long long _SCHEME_HIGH = bits(_SCHEME, 64)


cdef inline bint _in(unsigned int code, unsigned long long low, unsigned long long high) noexcept nogil:
    """Whether a character stands in a set of 128 bits."""
    if code < 64:
        return (low >> code) & 1 != 0
    return code < 128 and (high >> (code - 64)) & 1 != 0


cdef Py_ssize_t path_end(const char* text, Py_ssize_t size, Py_ssize_t i) noexcept nogil:
    """Where the path and query that go on at `i`, the start of a segment, end: at `#` or the text's end.

    -1 where something in it would be changed: a dot segment, a character to be encoded.
    """
    cdef Py_ssize_t start = i
    cdef unsigned int code
    while i < size:
        code = <unsigned char>text[i]
        if _in(code, _SEGMENT_LOW, _SEGMENT_HIGH):
            pass
        elif code == 47:  # /
            start = i + 1
        elif code == 46:  # .
            if i == start and (i + 1 == size or not _in(<unsigned char>text[i + 1], _SEGMENT_LOW, _SEGMENT_HIGH)):
                return -1
        elif code == 37:  # %
            # %2e may be a dot segment in disguise.
            if i + 2 < size and text[i + 1] == 50 and (text[i + 2] == 101 or text[i + 2] == 69):
                return -1
        elif code == 63:  # ?
            return query_end(text, size, i + 1)
        elif code == 35:  # #
            return i
        else:
            return -1
        i += 1
    return size


cdef Py_ssize_t query_end(const char* text, Py_ssize_t size, Py_ssize_t i) noexcept nogil:
    """Where the query that goes on at `i` ends: at `#` or the text's end; -1 where it would be changed."""
    cdef unsigned int code
    while i < size:
        code = <unsigned char>text[i]
        if not _in(code, _QUERY_LOW, _QUERY_HIGH):
            return i if code == 35 else -1
        i += 1
    return size


cdef Py_ssize_t scheme_end(str text) noexcept:
    """Where the scheme ends that the text begins with, -1 where it begins with none."""
    cdef Py_ssize_t size = len(text)
    cdef Py_ssize_t i = 0
    cdef Py_UCS4 code
    while i < size:
        code = text[i]
        if not _in(code, _SCHEME_LOW, _SCHEME_HIGH):
            return i if code == 58 and i > 0 and text[0] >= 65 else -1
        i += 1
    return -1


cdef Py_ssize_t authority_end(const char* text, Py_ssize_t size) noexcept nogil:
    """Where the authority of an http or https URL ends, -1 where it is not plainly in normal form.

    Plain is a host of non-empty labels of lower-case letters, digits, `-` and `_`, none of them punycode, or a dotted
    quad, and a port that is not the default one.
    """
    cdef Py_ssize_t i
    cdef unsigned int code = 0
    if size > 7 and memcmp(text, b"http://", 7) == 0:
        i = 7
    elif size > 8 and memcmp(text, b"https://", 8) == 0:
        i = 8
    else:
        return -1
    cdef Py_ssize_t start = i
    cdef Py_ssize_t label = i
    while i < size:
        code = <unsigned char>text[i]
        if code == 46:  # .
            if i == label:
                return -1
            label = i + 1
        elif code == 120:  # x
            if i == label and size - i >= 4 and memcmp(text + i, b"xn--", 4) == 0:
                return -1
        elif not (97 <= code <= 122 or 48 <= code <= 57 or code == 45 or code == 95):
            break
        i += 1
    if i == label or (48 <= text[label] <= 57 and not _is_dotted_quad(text + start, i - start)):
        return -1
    if i < size and code == 58:  # :
        i = _port_end(text, size, i + 1, 443 if start == 8 else 80)
        if i < 0:
            return -1
    if i < size:
        code = <unsigned char>text[i]
        if code != 47 and code != 63 and code != 35:  # / ? #
            return -1
    return i


cdef Py_ssize_t _port_end(const char* text, Py_ssize_t size, Py_ssize_t i, int default) noexcept nogil:
    cdef Py_ssize_t start = i
    cdef int port = 0
    while i < size and 48 <= text[i] <= 57:
        port = port * 10 + (text[i] - 48)
        if port > 65535 or text[start] == 48:
            return -1
        i += 1
    return i if i > start and port != default else -1


cdef bint _is_dotted_quad(const char* text, Py_ssize_t size) noexcept nogil:
    """Whether it is four numbers up to 255, written as one writes them."""
    cdef Py_ssize_t i
    cdef int digits = 0, number = 0, dots = 0
    for i in range(size):
        if text[i] == 46:
            if digits == 0:
                return False
            dots += 1
            digits = number = 0
        elif not 48 <= text[i] <= 57 or digits == 3 or (digits and number == 0):
            return False
        else:
            digits += 1
            number = 10 * number + (text[i] - 48)
            if number > 255:
                return False
    return dots == 3 and digits > 0
