# cython: language_level=3, boundscheck=False, wraparound=False
"""From the octets of a robots.txt to the index of its records, and the walk over its groups: the fast form.

Both are one pass that copies nothing and needs no interpreter; what they give is documented in reference.py.
"""

from array import array

from comity.robots.agents import called_as
from comity.robots.directives import LABELS, PREFIXES, USER_AGENT
from comity.robots.engine import reference

cdef unsigned int _USER_AGENT = 1 << USER_AGENT

# Labels by their first letter; whole ones before prefixes.
cdef struct Label:
    const char* text
    Py_ssize_t size
    int directive
    bint prefix

cdef Label _LABELS[64]
cdef unsigned char _FIRST[256]  # of a letter's labels
cdef unsigned char _COUNT[256]
_TEXTS = [*((label, number, False) for label, number in LABELS.items()),
          *((label, number, True) for label, number in PREFIXES)]
_TEXTS.sort(key=lambda row: row[0][:1])


def _fill():
    cdef bytes text
    for i, (text, directive, prefix) in enumerate(_TEXTS):
        _LABELS[i] = Label(text, len(text), directive, prefix)
        if _COUNT[text[0]] == 0:
            _FIRST[text[0]] = i
        _COUNT[text[0]] += 1


_fill()


def scan(bytes body, Py_ssize_t start, Py_ssize_t stop, bint typos, bint nul_ends_line, Py_ssize_t longest_line):
    cdef const char* text = body
    cdef Records found = Records(NULL, 0, 0)
    index = array("Q")
    try:
        if scan_into(<unsigned char*>text, start, stop, typos, nul_ends_line, longest_line, &found):
            raise MemoryError
        if found.count:
            index.frombytes((<char*>found.records)[: found.count * 8])
        return index
    finally:
        free(found.records)


cdef int _directive(unsigned char* text, Py_ssize_t size, bint typos) noexcept nogil:
    """The directive that a label names; 0 where it is none that we know."""
    cdef Py_ssize_t number, at
    cdef const Label* label
    cdef unsigned char first = text[0] | 32, char
    for number in range(_FIRST[first], _FIRST[first] + _COUNT[first]):
        label = &_LABELS[number]
        if size < label.size or (label.prefix and not typos) or (size > label.size and not label.prefix):
            continue
        at = 0
        while at < label.size:
            char = text[at]
            if 65 <= char <= 90:
                char += 32
            if char != <unsigned char>label.text[at]:
                break
            at += 1
        if at == label.size:
            return label.directive
    return 0


cdef int scan_into(unsigned char* text, Py_ssize_t start, Py_ssize_t stop, bint typos, bint nul_ends_line,
                   Py_ssize_t longest_line, Records* into) noexcept nogil:
    """`scan`, added to records that may be there already; -1 where there is no room for them."""
    cdef Entry* grown
    cdef Py_ssize_t key, end, colon, value
    cdef unsigned char* found_at
    cdef int directive
    cdef unsigned char char
    cdef Py_ssize_t position = start
    cdef Py_ssize_t near_lf = -1  # where the next LF stands, found once for all the CRs before it
    while position < stop:
        key = position
        if near_lf < position:
            found_at = <unsigned char*>(memchr(text + position, 10, stop - position))
            near_lf = found_at - text if found_at != NULL else stop
        end = near_lf
        found_at = <unsigned char*>(memchr(text + position, 13, end - position))
        if found_at != NULL:
            end = found_at - text
        position = end + 1
        if longest_line and end - key > longest_line:
            end = key + longest_line
        while key < end and is_blank(text[key]):
            key += 1
        colon = key
        while colon < end:
            char = text[colon]
            if char == 58 or char == 35 or (char == 0 and nul_ends_line):
                break
            colon += 1
        if colon == key:  # blank, a comment, or no label
            continue
        if colon < end and text[colon] == 58:
            value = colon + 1
            found_at = <unsigned char*>(memchr(text + value, 35, end - value))
            if found_at != NULL:
                end = found_at - text
            if nul_ends_line:
                found_at = <unsigned char*>(memchr(text + value, 0, end - value))
                if found_at != NULL:
                    end = found_at - text
            while colon > key and is_blank(text[colon - 1]):
                colon -= 1
        elif typos:  # no colon: exactly two words will do
            end = colon
            while end > key and is_blank(text[end - 1]):
                end -= 1
            colon = key
            while colon < end and text[colon] != 32 and text[colon] != 9:
                colon += 1
            value = colon
            while value < end and (text[value] == 32 or text[value] == 9):
                value += 1
            if value == end:
                continue
            if (memchr(text + value, 32, end - value) != NULL or memchr(text + value, 9, end - value) != NULL):
                continue
        else:
            continue
        directive = _directive(text + key, colon - key, typos)
        if directive == 0:
            continue
        while value < end and is_blank(text[value]):
            value += 1
        while end > value and is_blank(text[end - 1]):
            end -= 1
        if into.count == into.room:
            grown = <Entry*>(realloc(into.records, (2 * into.room + 32) * 8))
            if grown == NULL:
                return -1
            into.records = grown
            into.room = 2 * into.room + 32
        into.records[into.count] = entry_of(value, end - value, directive)
        into.count += 1
    return 0


def applying(bytes body, index, agent, dialect, unsigned int ends, unsigned int wanted):
    if not agent.isascii() or not reference.is_merged(dialect):
        return reference.applying(body, index, agent, dialect, ends, wanted)
    cdef const Entry[:] entries = index
    cdef Py_ssize_t total = len(index), groups = 0, count
    cdef unsigned int* found = <unsigned int*>malloc(8 * total + 8)
    cdef tuple called = called_as(agent, dialect.agent_match)
    cdef Names names = names_of(called, dialect)
    numbers = array("I")
    if found == NULL:
        raise MemoryError
    try:
        count = choose_into(body, &entries[0] if total else NULL, total, &names, ends, wanted, found, found + total,
                            &groups)
        if count:
            numbers.frombytes((<char*>found)[: 4 * count])
        return tuple([found[total + i] for i in range(groups)]), numbers
    finally:
        free(found)


cdef Names names_of(tuple called, dialect):
    """What an agent is called in a file; `called`, whose octets these are, must outlive it."""
    cdef bytes one, other
    one, other = called
    return Names(one, len(one), other, len(other), dialect.agent_match == "letters")


cdef Py_ssize_t choose_into(const char* text, const Entry* entries, Py_ssize_t total, const Names* names,
                            unsigned int ends, unsigned int wanted, unsigned int* found, unsigned int* starts,
                            Py_ssize_t* groups) noexcept nogil:
    """`applying` for names that are compared as a whole and groups that are merged: how many records there are.

    Args:
        found, starts: room for `total` numbers each: of the records, and where groups begin.
        groups: set to the number of groups.
    """
    cdef Py_ssize_t number, size
    cdef Entry entry
    cdef unsigned int directive
    cdef const char* start
    cdef bint ours = False, everybodys = False, named = False, ended = True
    cdef Py_ssize_t group = 0  # where it begins
    cdef Py_ssize_t count = 0
    groups[0] = 0
    for number in range(total):
        entry = entries[number]
        directive = <unsigned int>1 << directive_of(entry)
        if directive == _USER_AGENT:
            start = text + start_of(entry)
            size = size_of(entry)
            if ended:
                ours = everybodys = ended = False
                group = number
            if _is_star(start, size, names.letters):
                if not everybodys and not ours and not named:
                    starts[groups[0]] = group
                    groups[0] += 1
                everybodys = True
            elif not ours and _is_called(start, size, names):
                if not named:  # what was found for everybody does not count
                    groups[0] = 0
                    count = 0
                ours = named = True
                starts[groups[0]] = group
                groups[0] += 1
            continue
        if directive & ends:
            ended = True
        if directive & wanted and (ours or (everybodys and not named)):
            found[count] = number
            count += 1
    return count


cdef inline bint _is_star(const char* value, Py_ssize_t size, bint letters) noexcept nogil:
    return size > 0 and value[0] == 42 and (size == 1 or (letters and is_blank(value[1])))


cdef inline bint _is_called(const char* value, Py_ssize_t size, const Names* names) noexcept nogil:
    """Whether a `User-agent` value is one of an agent's two names, which are in lower case."""
    cdef char first = _lower(value[0]) if size else 0
    if not ((names.one_size and first == names.one[0]) or (names.other_size and first == names.other[0])):
        return False
    size = _letters(value, size) if names.letters else _token(value, size)
    return _equals(value, size, names.one, names.one_size) or _equals(value, size, names.other, names.other_size)


cdef inline char _lower(char char) noexcept nogil:
    return char + 32 if 65 <= char <= 90 else char


cdef Py_ssize_t _letters(const char* text, Py_ssize_t size) noexcept nogil:
    """How many leading letters, `-` and `_` there are."""
    cdef char char
    cdef Py_ssize_t i = 0
    while i < size:
        char = _lower(text[i])
        if not (97 <= char <= 122 or char == 45 or char == 95):
            break
        i += 1
    return i


cdef inline Py_ssize_t _token(const char* text, Py_ssize_t size) noexcept nogil:
    """How many octets a value has without its version; see `token` in agents.py."""
    cdef Py_ssize_t last
    cdef const char* slash = <const char*>(memchr(text, 47, size))
    if slash != NULL:
        size = slash - text
    while size and is_blank(text[size - 1]):
        size -= 1
    last = size
    while last and text[last - 1] != 32:
        last -= 1
    if last > 1 and last < size and 48 <= text[last] <= 57:
        last -= 1
        while last and is_blank(text[last - 1]):
            last -= 1
        if last:
            return last
    return size


cdef bint _equals(const char* text, Py_ssize_t size, const char* name, Py_ssize_t length) noexcept nogil:
    cdef Py_ssize_t i
    if size != length or size == 0:
        return False
    for i in range(size):
        if _lower(text[i]) != name[i]:
            return False
    return True
