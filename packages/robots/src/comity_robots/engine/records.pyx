# cython: language_level=3, boundscheck=False, wraparound=False
"""From the octets of a robots.txt to the index of its records, and the walk over its groups: the fast form.

Both are one pass that copies nothing and needs no interpreter; what they give is documented in reference.py.
"""

from cpython.array cimport array, clone

from comity_robots.agents import match_name_octets
from comity_robots.directives import LABELS, PREFIXES, USER_AGENT
from comity_robots.engine import reference

cdef unsigned int _USER_AGENT = 1 << USER_AGENT

# Labels by their first letter; whole ones, which begin a line that most lines are, before prefixes.
cdef struct Label:
    const char* text
    Py_ssize_t size
    int directive
    u64 head  # its first eight octets, and where they are fewer, which bits of eight octets count
    u64 mask
    u64 tail  # its last eight

cdef Label _LABELS[64]
cdef unsigned char _FIRST[256]  # of a letter's labels
cdef unsigned char _WHOLE[256]  # how many of them are whole labels
cdef unsigned char _COUNT[256]
cdef u64 _LOWER = 0x2020202020202020  # makes capital letters small


def _fill():
    cdef bytes text
    texts = [*((label, number, True) for label, number in LABELS.items()),
             *((label, number, False) for label, number in PREFIXES)]
    texts.sort(key=lambda row: row[0][:1])
    for i, (text, directive, whole) in enumerate(texts):
        words = _word(text[:8].ljust(8, b"\0")), _word(b"\xff" * min(len(text), 8) + b"\0" * (8 - min(len(text), 8)))
        _LABELS[i] = Label(text, len(text), directive, words[0], words[1], _word(text[max(len(text) - 8, 0):].rjust(8, b"\0")))
        if _COUNT[text[0]] == 0:
            _FIRST[text[0]] = i
        _COUNT[text[0]] += 1
        _WHOLE[text[0]] += whole


cdef inline u64 _word(const char* text) noexcept nogil:
    cdef u64 word
    memcpy(&word, text, 8)
    return word


_fill()


cdef array _ENTRIES = array("Q")
cdef array _NUMBERS = array("I")
_ORDERS = {"longest": LONGEST, "first": 1, "allow_first": ALLOW_FIRST, "disallow_first": DISALLOW_FIRST}
_READINGS = {}  # by the identity of a dialect, which its value keeps alive
_MAX_KEPT = 1024


_SWITCHES = [name for name, value in reference.Dialect.__annotations__.items() if value is bool]


cdef unsigned int switch(name) except 0:
    """The bit of a Dialect's setting that is on or off."""
    return <unsigned int>1 << _SWITCHES.index(name)


cdef unsigned int _TYPOS = switch("typos")
cdef unsigned int _NUL_ENDS_LINE = switch("nul_ends_line")


cdef class Reading:
    """A dialect as the compiled functions need it."""

    def __init__(self, dialect):
        self.dialect = dialect
        self.merged = reference.is_merged(dialect)
        self.letters = dialect.agent_match == "letters"
        self.switches = sum(switch(name) for name in _SWITCHES if getattr(dialect, name))
        self.longest_line = dialect.longest_line
        self.max_bytes = dialect.max_bytes
        self.form = reference.FORMS[dialect.path_form]
        self.order = _ORDERS[dialect.precedence]
        self.allow_wins = dialect.tie == "allow"
        self._match_names = {}


cdef Reading reading_of(dialect):
    """The one Reading of a dialect."""
    found = _READINGS.get(id(dialect))
    if found is None:
        if len(_READINGS) >= _MAX_KEPT:
            _READINGS.clear()
        found = _READINGS[id(dialect)] = Reading(dialect)
    return found


cdef tuple match_names_of(Reading reading, agent):
    """What an agent is called in files of a dialect that merges groups: the octets of `Names`."""
    found = reading._match_names.get(agent)
    if found is None:
        if len(reading._match_names) >= _MAX_KEPT:
            reading._match_names.clear()
        found = reading._match_names[agent] = match_name_octets(agent, reading.dialect.agent_match)
    return found


def scan(bytes body, Py_ssize_t start, Py_ssize_t stop, dialect):
    cdef const char* text = body
    cdef Records found = Records(NULL, 0, 0)
    cdef array index
    try:
        if scan_into(<unsigned char*>text, start, stop, reading_of(dialect), &found):
            raise MemoryError
        index = clone(_ENTRIES, found.count, False)
        if found.count:
            memcpy(index.data.as_voidptr, found.records, found.count * sizeof(Entry))
        return index
    finally:
        free(found.records)


cdef inline int _labelled(const unsigned char* text, const unsigned char* end, const unsigned char* stop,
                          const unsigned char** value) noexcept nogil:
    """The directive whose whole label a line begins with, before a colon; 0 where there is none.

    Args:
        text, end: the line, from its first octet that is not blank.
        stop: up to where octets may be read.
        value: set to where the value begins.
    """
    cdef unsigned char first = text[0] | 32
    cdef const Label* label = _LABELS + _FIRST[first]
    cdef const Label* last = label + _WHOLE[first]
    cdef const unsigned char* colon
    cdef u64 word = 0
    if label == last:
        return 0
    if text + 8 <= stop:
        word = _word(<const char*>text)
    else:
        memcpy(&word, text, stop - text)
    word |= _LOWER  # makes a CR a hyphen too, but none stands in a line; all octets of labels have this bit
    while label < last:
        if (word ^ label.head) & label.mask == 0 and text + label.size < end and (
            label.size <= 8 or _word(<const char*>text + label.size - 8) | _LOWER == label.tail
        ):
            colon = text + label.size
            while colon < end and is_blank(colon[0]):
                colon += 1
            if colon < end and colon[0] == 58:
                value[0] = colon + 1
                return label.directive
        label += 1
    return 0


cdef int _misspelt(const unsigned char* text, Py_ssize_t size) noexcept nogil:
    """The directive that a label names or begins with; 0 where it is none that we know."""
    cdef Py_ssize_t number, at
    cdef const Label* label
    cdef unsigned char first = text[0] | 32, char
    for number in range(_FIRST[first], _FIRST[first] + _COUNT[first]):
        label = &_LABELS[number]
        if size < label.size or (size > label.size and number < _FIRST[first] + _WHOLE[first]):
            continue
        at = 0
        while at < label.size and _lower(text[at]) == label.text[at]:
            at += 1
        if at == label.size:
            return label.directive
    return 0


cdef int scan_into(unsigned char* text, Py_ssize_t start, Py_ssize_t stop, Reading reading,
                   Records* into) noexcept nogil:
    """`scan`, added to records that may be there already; -1 where there is no room for them."""
    cdef Entry* grown
    cdef const unsigned char* value
    cdef const unsigned char* end
    cdef const unsigned char* key
    cdef int directive
    cdef bint typos = reading.switches & _TYPOS, nul_ends_line = reading.switches & _NUL_ENDS_LINE
    cdef Py_ssize_t longest_line = reading.longest_line
    cdef const unsigned char* line = text + start
    cdef const unsigned char* last = text + stop
    cdef const unsigned char* lf = NULL  # where the next one of each stands
    cdef const unsigned char* cr = NULL
    while line < last:
        if lf == NULL or lf < line:
            lf = _next(line, 10, last)
        if cr == NULL or cr < line:
            cr = _next(line, 13, last)
        key = line
        end = lf if lf < cr else cr
        line = end + 1
        if longest_line and end - key > longest_line:
            end = key + longest_line
        while key < end and is_blank(key[0]):
            key += 1
        if key == end or key[0] == 35:
            continue
        directive = _labelled(key, end, last, &value)
        if directive == 0 and typos:
            directive = _loosely_labelled(key, &end, nul_ends_line, &value)
        if directive == 0:
            continue
        end = _next(value, 35, end)
        if nul_ends_line:
            end = _next(value, 0, end)
        while value < end and is_blank(value[0]):
            value += 1
        while end > value and is_blank((end - 1)[0]):
            end -= 1
        if into.count == into.room:
            grown = <Entry*>(realloc(into.records, (2 * into.room + 32) * 8))
            if grown == NULL:
                return -1
            into.records = grown
            into.room = 2 * into.room + 32
        into.records[into.count] = entry_of(value - text, end - value, directive)
        into.count += 1
    return 0


cdef inline const unsigned char* _next(const unsigned char* text, int char, const unsigned char* end) noexcept nogil:
    """Where an octet stands next; `end` where it does not."""
    cdef const unsigned char* found = <const unsigned char*>memchr(text, char, end - text)
    return end if found == NULL else found


cdef int _loosely_labelled(const unsigned char* key, const unsigned char** end, bint nul_ends_line,
                           const unsigned char** value) noexcept nogil:
    """`_labelled` for labels that begin so or are misspelt, and for lines without a colon (see Dialect.typos).

    Args:
        end: set to where the line ends in a comment or at a NUL.
    """
    cdef const unsigned char* colon = key
    cdef const unsigned char* stop = _next(key, 35, end[0])
    if nul_ends_line:
        stop = _next(key, 0, stop)
    end[0] = stop
    colon = _next(key, 58, stop)
    if colon < stop:
        value[0] = colon + 1
        while colon > key and is_blank((colon - 1)[0]):
            colon -= 1
    else:  # exactly two words will do
        while stop > key and is_blank((stop - 1)[0]):
            stop -= 1
        colon = key
        while colon < stop and colon[0] != 32 and colon[0] != 9:
            colon += 1
        value[0] = colon
        while value[0] < stop and (value[0][0] == 32 or value[0][0] == 9):
            value[0] += 1
        if value[0] == stop or _next(value[0], 32, stop) < stop or _next(value[0], 9, stop) < stop:
            return 0
    return _misspelt(key, colon - key) if colon > key else 0


def applying(bytes body, array index, agent, dialect, unsigned int ends, unsigned int wanted):
    cdef Reading reading = reading_of(dialect)
    if not agent.isascii() or not reading.merged:
        return reference.applying(body, index, agent, dialect, ends, wanted)
    cdef Py_ssize_t total = len(index), groups = 0, count
    cdef unsigned int* found = <unsigned int*>malloc(8 * total + 8)
    cdef tuple match_names = match_names_of(reading, agent)
    cdef Names names = names_of(match_names, reading.letters)
    cdef array numbers
    if found == NULL:
        raise MemoryError
    try:
        count = choose_into(body, <Entry*>index.data.as_voidptr, total, &names, ends, wanted, found, found + total,
                            &groups)
        numbers = clone(_NUMBERS, count, False)
        if count:
            memcpy(numbers.data.as_voidptr, found, count * sizeof(unsigned int))
        return tuple([found[total + i] for i in range(groups)]), numbers
    finally:
        free(found)


cdef Names names_of(tuple match_names, bint letters):
    """What an agent is called in a file; `match_names`, whose octets these are, must outlive it."""
    cdef bytes one, other
    one, other = match_names
    return Names(one, len(one), other, len(other), letters)


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
            elif not ours and _is_named(start, size, names):
                if not named:  # what was found under `*` does not count
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


cdef inline bint _is_named(const char* value, Py_ssize_t size, const Names* names) noexcept nogil:
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
