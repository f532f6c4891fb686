# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""From the rules that decided to the lines that say them: text and number, read from the files. Compiled only."""

def cite(const long long[::1] rules, ProgramTable table):
    """What rules say: their lines' octets one after the other, and pairs of 64 bits of where each ends, and which line
    of its file it is.

    Args:
        rules: their numbers, ascending.
    """
    cdef Cited told
    told.text = NULL
    told.size = told.room = told.count = 0
    cdef Py_ssize_t i, at = 0, count = len(rules)
    cdef long long* numbers = <long long*>&rules[0]
    cdef Capture* files = table.captures
    cdef Program** owners = <Program**>malloc(8 * count + 8)
    told.ends = <long long*>malloc(16 * count + 8)
    try:
        if owners == NULL or told.ends == NULL:
            raise MemoryError
        for i in range(count):
            if not (rules[i - 1] if i else 0) <= rules[i] < table.rules:
                raise ValueError(f"rule {rules[i]} is none, or stands before one with a lower number")
            while at + 1 < table.made_count and table.made[at + 1].number <= rules[i]:
                at += 1
            owners[i] = table.made[at]
        with nogil:
            _cite(numbers, owners, count, files, &told)
        if told.count == 0:
            return b"", b""
        return told.text[: told.size], (<char*>told.ends)[: 16 * told.count]
    finally:
        free(owners)
        free(told.text)
        free(told.ends)


cdef int _cite(long long* numbers, Program** owners, Py_ssize_t count, Capture* files, Cited* told) except -1 nogil:
    cdef Py_ssize_t i, begin, end
    cdef u64 entry
    cdef const char* body
    cdef Py_ssize_t line = 1, last = 0
    for i in range(count):
        if i + 8 < count:
            prefetch(owners[i + 8])
        if i == 0 or owners[i] != owners[i - 1]:
            line = 1
            last = 0
        body = files[owners[i].capture].body
        entry = owners[i].records[numbers[i] - owners[i].number]
        begin = start_of(entry)
        end = begin + size_of(entry)
        line += _line_ends(body, last, begin)
        last = begin
        while begin > 0 and body[begin - 1] != 10 and body[begin - 1] != 13:
            begin -= 1
        while begin < end and _is_blank(body[begin]):
            begin += 1
        while end > begin and _is_blank(body[end - 1]):
            end -= 1
        _keep(told, body + begin, end - begin, line)
    return 0


cdef inline bint _is_blank(char char) noexcept nogil:
    """Whether `str.strip` takes it off."""
    return char == 32 or 9 <= char <= 13 or 28 <= char <= 31


cdef Py_ssize_t _line_ends(const char* body, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    """How many lines end in part of a file: CR, LF and CRLF each end one (as LineNumbers counts)."""
    cdef Py_ssize_t i
    cdef Py_ssize_t count = 0
    for i in range(begin, end):
        count += body[i] == 10
    if memchr(body + begin, 13, end - begin) != NULL:
        for i in range(begin, end - 1):  # what stands before `end` is of a line that ends behind it
            count += (body[i] == 13) & (body[i + 1] != 10)
    return count


cdef int _keep(Cited* told, const char* text, Py_ssize_t size, Py_ssize_t line) except -1 nogil:
    cdef void* more
    if size > 4000:  # 300 characters will be shown
        size = 4000
    if told.size + size > told.room:
        more = realloc(told.text, 2 * (told.size + size))
        if more == NULL:
            with gil:
                raise MemoryError
        told.text = <char*>more
        told.room = 2 * (told.size + size)
    if size:  # an empty text may have no place
        memcpy(told.text + told.size, text, size)
    told.size += size
    told.ends[2 * told.count] = told.size
    told.ends[2 * told.count + 1] = line
    told.count += 1
    return 0
