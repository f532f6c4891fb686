# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Rows to outcomes: each row's path against the program of its capture, in the order of rows.

A row gets two numbers an agent: an outcome, and the rule that decided. No object of Python's is made for a row, and
the interpreter's lock is released.
"""

from comity.bulk.captures import ODD

cdef int _ODD = ODD
cdef u64 _LOW = 0xFFFFFFFF
cdef u64 _CLOSER = 1 << 60  # see _marks in rules.pyx
cdef u64 _DOT = 1 << 61
cdef Py_ssize_t _FARTHEST = 40  # rows ahead whose entries are asked for
cdef Py_ssize_t _FAR = 24  # rows ahead whose programs are asked for
cdef Py_ssize_t _NEAR = 12  # rows ahead whose buckets are


cdef class Asking:
    """The question, with what does not change from column to column.

    Args:
        meanings: outcomes for: allowed by a rule, allowed by a rule without path, disallowed, no rule, no group,
            robots.txt itself.
        specials: by what stands for a capture, negated, the outcome.
    """

    def __init__(self, agents, dialect, tuple meanings, tuple specials):
        cdef int i
        self._agents = agents
        self._reading = reading_of(dialect)
        self._robots_txt_allowed = dialect.robots_txt_allowed
        for i in range(6):
            self._meanings[i] = meanings[i]
        for i in range(len(specials)):
            self._specials[i] = specials[i]

    def ask(self, data, offsets, rows, located, entries, starts, codes, cited, stride, used, bint normal):
        """Write an outcome and a rule for each row and agent.

        Args:
            data, offsets: addresses of the octets of URLs and of their 64-bit offsets.
            located: address of the capture of each, or what stands for it (32 bits); set to ODD where a path is not
                plainly in normal form.
            entries: address, by capture and agent, of a program's address, or of outcomes for all URLs: twice that of
                robots.txt itself in the upper 32 bits, twice that of all others plus one in the lower.
            starts: address, by capture, of how many octets its origin has (32 bits).
            codes, cited: addresses of 16-bit and 32-bit numbers; from one agent's to the next's are `stride` numbers.
            used: address of an octet a rule, set to 1 where it decided.
            normal: whether all URLs are in normal form.
        """
        cdef Asked asked
        asked.data = <const char*><size_t>data
        asked.offsets = <Numbers><size_t>offsets
        asked.located = <int*><size_t>located
        asked.entries = <Numbers><size_t>entries
        asked.starts = <unsigned int*><size_t>starts
        asked.codes = <unsigned short*><size_t>codes
        asked.cited = <int*><size_t>cited
        asked.used = <unsigned char*><size_t>used
        asked.rows = rows
        asked.stride = stride
        asked.normal = normal
        with nogil:
            _ask(self, &asked)


cdef inline ProgramAt _program_of(long long entry) noexcept nogil:
    """The program of an entry, NULL where it has none."""
    return NULL if entry & 1 else <ProgramAt><size_t>entry


cdef inline void _ask_ahead(Asking self, AskedAt asked, Py_ssize_t row) noexcept nogil:
    """Programs lie far from each other: ask for those that come next."""
    cdef ProgramAt program
    cdef const char* path
    cdef Py_ssize_t here, capture
    if row + _FARTHEST < asked.rows:
        capture = asked.located[row + _FARTHEST]
        if capture >= 0 and capture != asked.located[row + _FARTHEST - 1]:
            prefetch(asked.entries + capture * self._agents)
            prefetch(asked.starts + capture)
    if row + _FAR >= asked.rows:
        return
    capture = asked.located[row + _FAR]
    if capture >= 0 and capture != asked.located[row + _FAR - 1]:
        program = _program_of(asked.entries[capture * self._agents])
        if program != NULL:
            prefetch(program)
            prefetch(<const char*>program + 64)
            prefetch(<const char*>program + 128)
    here = row + _NEAR
    capture = asked.located[here]
    if capture >= 0:
        program = _program_of(asked.entries[capture * self._agents])
        if program != NULL:
            prefetch(program.rules)
            if program.bits:
                path = asked.data + asked.offsets[here] + asked.starts[capture]
                here = asked.offsets[here + 1] - asked.offsets[here] - asked.starts[capture]
                prefetch(program.rules + program.buckets[bucket_of(program, head_of(path, here))])


cdef inline u64 _marks_of(const char* path, Py_ssize_t size) noexcept nogil:
    cdef u64 marks = 0, more = 0
    cdef Py_ssize_t i = 0
    while i + 4 <= size:
        marks |= MARKS[<unsigned char>path[i]] | MARKS[<unsigned char>path[i + 1]]
        more |= MARKS[<unsigned char>path[i + 2]] | MARKS[<unsigned char>path[i + 3]]
        i += 4
    while i < size:
        marks |= MARKS[<unsigned char>path[i]]
        i += 1
    return marks | more


cdef bint _has_dot_segment(const char* path, Py_ssize_t size) noexcept nogil:
    """Whether a dot stands behind a slash: it may make a dot segment."""
    cdef Py_ssize_t i
    for i in range(size - 1):  # noqa: SIM110 (a generator would be slow here)
        if path[i] == 47 and path[i + 1] == 46:
            return True
    return False


cdef int _ask(Asking self, AskedAt asked) except -1 nogil:
    cdef Py_ssize_t row, at, agent, capture, size, raw_size, other
    cdef const char* path
    cdef const char* raw
    cdef u64 marks, rank
    cdef long long entry
    cdef bint empty, special, itself
    cdef ProgramAt program
    cdef char look
    cdef const char* looks = LOOKS_AT
    cdef unsigned char* room = NULL
    cdef Py_ssize_t room_size = 0
    try:
        for row in range(asked.rows):
            _ask_ahead(self, asked, row)
            capture = asked.located[row]
            if capture >= 0:
                raw = path = asked.data + asked.offsets[row] + asked.starts[capture]
                size = asked.offsets[row + 1] - asked.offsets[row] - asked.starts[capture]
                marks = _marks_of(path, size)
                raw_size = size
                if marks & _CLOSER or (marks & _DOT and _has_dot_segment(path, size)):
                    if not asked.normal and path_end(path, size, 1) < 0:
                        capture = asked.located[row] = _ODD
                    else:
                        raw_size = 0
                        special = False
                        while raw_size < size:
                            look = looks[<unsigned char>path[raw_size]]
                            if look:
                                if look == 2:
                                    break
                                special = True
                            raw_size += 1
                        size = raw_size
                        if special and self._reading.form:
                            if 3 * size > room_size:
                                free(room)
                                room_size = 6 * size
                                room = <unsigned char*>malloc(room_size)
                                if room == NULL:
                                    with gil:
                                        raise MemoryError
                            size = normalise(<unsigned char*>path, size, self._reading.form, False, room)
                            path = <const char*>room
                        marks = _marks_of(path, size)
            if capture < 0:
                for agent in range(self._agents):
                    asked.codes[agent * asked.stride + row] = self._specials[-capture]
                    asked.cited[agent * asked.stride + row] = -1
                continue
            for agent in range(self._agents):
                at = agent * asked.stride + row
                entry = asked.entries[capture * self._agents + agent]
                other = 0
                while other < agent and asked.entries[capture * self._agents + other] != entry:
                    other += 1
                if other < agent:  # its groups are those of another agent
                    asked.codes[at] = asked.codes[other * asked.stride + row]
                    asked.cited[at] = asked.cited[other * asked.stride + row]
                    continue
                asked.cited[at] = -1
                program = _program_of(entry)
                if program == NULL:
                    itself = is_robots_txt(raw, raw_size)
                    asked.codes[at] = <unsigned short>(entry >> (33 if itself else 1))
                elif (self._robots_txt_allowed and is_robots_txt(path, size)):
                    asked.codes[at] = self._meanings[5]
                else:
                    rank = strongest(program, path, size, marks, &empty)
                    if rank == 0:
                        asked.codes[at] = self._meanings[3] if program.named else self._meanings[4]
                        continue
                    asked.codes[at] = self._meanings[(1 if empty else 0) if rank & 1 else 2]
                    asked.cited[at] = <int>(program.number + (_LOW - (rank >> 1 & _LOW)))
                    asked.used[asked.cited[at]] = 1
    finally:
        free(room)
    return 0
