# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Rows to outcomes: each row's path against the program of its capture.

Rows that come in no order are taken by their captures, so that a program is in the processor's cache while it is asked.

A row gets two numbers an agent: an outcome, and the rule that decided. No object of Python's is made for a row, and
the interpreter's lock is released.
"""

from comity_robots.arrays.located import NEEDS_NORMALISING

cdef int _NEEDS_NORMALISING = NEEDS_NORMALISING
cdef unsigned int _EXEMPT = switch("robots_txt_allowed")
cdef u64 _LOW = 0xFFFFFFFF
cdef u64 _CLOSER = 1 << 60  # see _marks in rules.pyx
cdef u64 _DOT = 1 << 61
cdef Py_ssize_t _FARTHEST = 64  # rows ahead whose entries are asked for
cdef Py_ssize_t _FAR = 40  # rows ahead whose programs and paths are asked for
cdef Py_ssize_t _NEAR = 16  # rows ahead whose buckets are
cdef Py_ssize_t _SLICE = 1 << 18  # rows that are put in order at a time


cdef class RowJudge:
    """The question, with what does not change from column to column.

    Args:
        of_rules: outcomes for: allowed by a rule, allowed by a rule without path, disallowed, no rule, no group,
            robots.txt itself.
        specials: by what stands for a capture, negated, the outcome.
    """

    def __init__(self, agents, dialect, tuple of_rules, tuple specials):
        cdef int i
        self._agents = agents
        self._reading = reading_of(dialect)
        for i in range(6):
            self._of_rules[i] = of_rules[i]
        for i in range(len(specials)):
            self._specials[i] = specials[i]

    def ask(self, ProgramTable table, const unsigned char[::1] octets, const long long[::1] offsets, int[::1] located,
            const unsigned int[::1] starts, unsigned short[:, ::1] codes, int[:, ::1] cited, Py_ssize_t begin,
            unsigned char[::1] used, bint normal):
        """Write an outcome and a rule for each row of a chunk and each agent.

        Args:
            octets, offsets: the chunk's.
            located: by row, the capture, or what stands for it; set to NEEDS_NORMALISING where a path is not plainly in normal form.
            starts: by capture, how many octets its origin has.
            codes, cited: by agent and row, set to outcome and rule.
            begin: the row that the chunk begins with.
            used: by rule, set to 1 where it decided.
            normal: whether all URLs are in normal form.
        """
        cdef Batch batch
        cdef Py_ssize_t first, count = len(offsets) - 1, most = min(count, _SLICE)
        check_offsets(octets, offsets)
        if not (0 <= begin and begin + count <= len(located) == codes.shape[1] == cited.shape[1]) or not (
            len(codes) == len(cited) == table.agents == self._agents
        ) or len(starts) != table.count or len(used) < table.rules:
            raise ValueError("columns of one chunk, or tables of one set of captures, differ in length")
        for first in range(begin, begin + count):
            if not -8 < located[first] < table.count:
                raise ValueError(f"row {first} has no capture of this table")
        batch.data = <const char*>&octets[0]
        batch.offsets = <long long*>&offsets[0]
        batch.located = &located[0] + begin
        batch.entries = table.entries
        batch.starts = <unsigned int*>&starts[0]
        batch.captures = table.count
        batch.codes = &codes[0, 0] + begin
        batch.cited = &cited[0, 0] + begin
        batch.used = &used[0]
        batch.stride = codes.shape[1]
        batch.normal = normal
        batch.order = <u64*>malloc(8 * (most + 1))
        batch.ends = <unsigned int*>malloc(4 * (batch.captures + 1))
        try:
            if batch.order == NULL or batch.ends == NULL:
                raise MemoryError
            with nogil:
                first = 0
                while first < count:
                    batch.rows = min(most, count - first)
                    _put_in_order(self, &batch)
                    _ask(self, &batch)
                    batch.offsets += batch.rows
                    batch.located += batch.rows
                    batch.codes += batch.rows
                    batch.cited += batch.rows
                    first += batch.rows
        finally:
            free(batch.order)
            free(batch.ends)


cdef void _put_in_order(RowJudge self, Batch* batch) noexcept nogil:
    """Set the order in which rows are asked about, and how many these are; those without a capture are answered."""
    cdef Py_ssize_t row, changes = 0, count = 0
    cdef int capture, before = -1
    cdef unsigned int at = 0
    for row in range(batch.rows):
        capture = batch.located[row]
        if capture < 0:
            _set(self, batch, row, self._specials[-capture])
            continue
        changes += capture != before
        before = capture
        batch.order[count] = <u64>capture << 32 | <u64>row
        count += 1
    batch.count = count
    if 2 * changes < count or count < 2 * batch.captures:
        return  # they are in order, or too few for it to pay
    memset(batch.ends, 0, 4 * batch.captures)
    for row in range(batch.rows):
        if batch.located[row] >= 0:
            batch.ends[batch.located[row]] += 1
    for row in range(batch.captures):
        at += batch.ends[row]
        batch.ends[row] = at - batch.ends[row]
    for row in range(batch.rows):
        capture = batch.located[row]
        if capture >= 0:
            batch.order[batch.ends[capture]] = <u64>capture << 32 | <u64>row
            batch.ends[capture] += 1


cdef inline void _set(RowJudge self, Batch* batch, Py_ssize_t row, unsigned short code) noexcept nogil:
    """One outcome for all agents, by no rule."""
    cdef Py_ssize_t agent
    for agent in range(self._agents):
        batch.codes[agent * batch.stride + row] = code
        batch.cited[agent * batch.stride + row] = -1


cdef inline Program* _program_of(long long entry) noexcept nogil:
    """The program of an entry, NULL where it has none."""
    return NULL if entry & 1 else <Program*><size_t>entry


cdef inline void _ask_ahead(RowJudge self, Batch* batch, Py_ssize_t place) noexcept nogil:
    """Paths and programs lie far from each other: ask for those that come next."""
    cdef Program* program
    cdef const char* path
    cdef Py_ssize_t row, capture
    cdef unsigned int at
    cdef u64* order = batch.order + place
    if place + _FARTHEST < batch.count:
        row = order[_FARTHEST] & _LOW
        prefetch(batch.offsets + row)
        prefetch(batch.codes + row)
        prefetch(batch.cited + row)
        if order[_FARTHEST] >> 32 != order[_FARTHEST - 1] >> 32:
            capture = order[_FARTHEST] >> 32
            prefetch(batch.entries + capture * self._agents)
            prefetch(batch.starts + capture)
    if place + _FAR >= batch.count:
        return
    row = order[_FAR] & _LOW
    capture = order[_FAR] >> 32
    prefetch(batch.data + batch.offsets[row] + batch.starts[capture])
    if order[_FAR] >> 32 != order[_FAR - 1] >> 32:
        program = _program_of(batch.entries[capture * self._agents])
        if program != NULL:
            prefetch(program)
            prefetch(<const char*>program + 64)
            prefetch(<const char*>program + 128)
    if order[_NEAR] >> 32 != order[_NEAR - 1] >> 32:
        row = order[_NEAR] & _LOW
        capture = order[_NEAR] >> 32
        program = _program_of(batch.entries[capture * self._agents])
        if program != NULL and program.bits:
            path = batch.data + batch.offsets[row] + batch.starts[capture]
            row = batch.offsets[row + 1] - batch.offsets[row] - batch.starts[capture]
            at = program.buckets[bucket_of(program, head_of(path, row))]
            prefetch(keys_of(program) + at)
            prefetch(program.rules + at)


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


cdef int _ask(RowJudge self, Batch* batch) except -1 nogil:
    cdef Py_ssize_t place, row, capture, agent, other
    cdef Path path
    cdef long long entry
    path.room = NULL
    path.room_size = 0
    try:
        for place in range(batch.count):
            _ask_ahead(self, batch, place)
            row = batch.order[place] & _LOW
            capture = batch.order[place] >> 32
            path.text = path.raw = batch.data + batch.offsets[row] + batch.starts[capture]
            path.size = path.raw_size = batch.offsets[row + 1] - batch.offsets[row] - batch.starts[capture]
            path.marks = _marks_of(path.text, path.size)
            if path.marks & _CLOSER or (path.marks & _DOT and _has_dot_segment(path.text, path.size)):
                if not batch.normal and path_end(path.text, path.size, 1) < 0:
                    batch.located[row] = _NEEDS_NORMALISING
                    _set(self, batch, row, self._specials[-_NEEDS_NORMALISING])
                    continue
                _normalise(&path, self._reading.form)
            for agent in range(self._agents):
                entry = batch.entries[capture * self._agents + agent]
                other = 0
                while other < agent and batch.entries[capture * self._agents + other] != entry:
                    other += 1
                if other < agent:  # its groups are those of another agent
                    batch.codes[agent * batch.stride + row] = batch.codes[other * batch.stride + row]
                    batch.cited[agent * batch.stride + row] = batch.cited[other * batch.stride + row]
                else:
                    _judge(self, batch, agent * batch.stride + row, entry, &path)
    finally:
        free(path.room)
    return 0


cdef int _normalise(Path* path, int form) except -1 nogil:
    """Bring a path into the form in which it is compared, without its fragment."""
    cdef char look
    cdef const char* looks = LOOKS_AT
    cdef bint special = False
    cdef Py_ssize_t size = 0
    while size < path.size:
        look = looks[<unsigned char>path.text[size]]
        if look:
            if look == 2:
                break
            special = True
        size += 1
    path.size = path.raw_size = size
    if special and form:
        if 3 * size > path.room_size:
            free(path.room)
            path.room_size = 6 * size
            path.room = <unsigned char*>malloc(path.room_size)
            if path.room == NULL:
                with gil:
                    raise MemoryError
        path.size = normalise(<unsigned char*>path.text, size, form, False, path.room)
        path.text = <const char*>path.room
    path.marks = _marks_of(path.text, path.size)
    return 0


cdef inline void _judge(RowJudge self, Batch* batch, Py_ssize_t at, long long entry, Path* path) noexcept nogil:
    """Set outcome and rule of a row and agent."""
    cdef u64 rank
    cdef bint empty = False
    cdef Program* program = _program_of(entry)
    batch.cited[at] = -1
    if program == NULL:
        batch.codes[at] = <unsigned short>(entry >> (33 if is_robots_txt(path.raw, path.raw_size) else 1))
    elif self._reading.switches & _EXEMPT and is_robots_txt(path.text, path.size):
        batch.codes[at] = self._of_rules[5]
    else:
        rank = strongest(program, path.text, path.size, path.marks, &empty)
        if rank == 0:
            batch.codes[at] = self._of_rules[3] if program.named else self._of_rules[4]
            return
        batch.codes[at] = self._of_rules[(1 if empty else 0) if rank & 1 else 2]
        batch.cited[at] = <int>(program.number + (_LOW - (rank >> 1 & _LOW)))
        batch.used[batch.cited[at]] = 1
