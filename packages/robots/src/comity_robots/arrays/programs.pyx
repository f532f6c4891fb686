# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""From robots.txt files to programs: an agent's rules in the little memory that asking them of any row takes.

Each file is read once, however many columns ask about it. Scan, choice of groups and ranks are the
engine's, called without the interpreter's lock; here their outcome is laid out.
"""

from comity_robots import Robots, directives
from comity_robots.rates import crawl_delay

# Kinds of record, as bits.
cdef unsigned int _RULES = directives.RULES
cdef unsigned int _RECORDS = directives.RECORDS
cdef unsigned int _DELAY = 1 << directives.CRAWL_DELAY
cdef unsigned int _USAGE = directives.STATED
cdef unsigned int _WILDCARDS = switch("wildcards")
cdef Py_ssize_t _MANY = 48  # rules tried for a path, above which a matcher may pay
cdef Py_ssize_t _PACKING = 150  # rules that are tried in the time in which a matcher packs one
cdef Py_ssize_t _BLOCK = 1 << 21
cdef unsigned int _NEVER = 0xFFFFFFFF
cdef Py_ssize_t _MAX_DELAYS_KEPT = 4096  # as written and as read: sites write the same few
cdef Py_ssize_t _MAX_KEPT_DELAY_OCTETS = 64
cdef Py_ssize_t _LONGEST = 0xFFFFFF - 8  # octets of texts: eight more are the size of a rule, which has 24 bits


cdef class Builder:
    """One thread's part of making programs, which live as long as it does."""

    def __init__(self, list names, dialect):
        self._names = names
        self._matchers = []
        self._delays = {}
        self._reading = reading_of(dialect)
        self._agents = len(names)
        self._by_agent = <Agent*>calloc(self._agents, sizeof(Agent))
        if self._by_agent == NULL:
            raise MemoryError
        for i, match_names in enumerate(names):
            self._by_agent[i].names = names_of(match_names, self._reading.letters)

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self._block_count):
            free(self._blocks[i])
        free(self._blocks)
        free(self._made)
        free(self._by_agent)
        free(self._records.records)
        free(self._room)
        free(self._found)
        free(self._rules)

    @property
    def octets(self):
        """Octets of memory that its programs take."""
        return self._octets

    def make(self, ProgramTable table, const long long[::1] wanted, double[:, ::1] delays, unsigned char[::1] has_usage,
             unsigned int[::1] asked, unsigned int[::1] limits, long long unparsable):
        """Make the programs of captures.

        Args:
            wanted: their numbers.
            delays, has_usage: by capture and agent, set to its Crawl-delay in seconds; by capture, set to 1 where its file
                states preferences.
            asked, limits: by capture, how many rows ask in all, and from how many on it is to be made anew.
            unparsable: the entry of a file that is none.
        """
        cdef Py_ssize_t i
        cdef Work work
        cdef Py_ssize_t many = len(wanted)
        cdef long long* numbers = <long long*>&wanted[0]
        if not table.count == len(delays) == len(has_usage) == len(asked) == len(limits) or not (
            table.agents == self._agents == delays.shape[1]
        ):
            raise ValueError("tables of one set of captures and agents differ in length")
        for i in range(many):
            if not (0 <= numbers[i] < table.count and table.captures[numbers[i]].body != NULL):
                raise ValueError(f"capture {numbers[i]} has no text")
        work.captures = table.captures
        work.entries = table.entries
        work.delays = &delays[0, 0]
        work.has_usage = &has_usage[0]
        work.asked = &asked[0]
        work.limits = &limits[0]
        work.unparsable = unparsable
        with nogil:
            for i in range(many):
                if i + 2 < many:
                    _ask_ahead(work.captures + numbers[i + 2])
                _make(self, &work, numbers[i])


cdef class ProgramTable:
    """What answers questions about captures, by capture and agent; it holds the captures' texts where they lie."""

    def __init__(self, list buffers, const long long[::1] held, const long long[::1] starts, const long long[::1] sizes,
                 const long long[::1] entries, Py_ssize_t agents):
        """
        Args:
            buffers: octets that hold the texts.
            held, starts, sizes: by capture, which of them holds its text, where, and how many octets it has; -1 where
                it has none.
            entries: by capture, the outcomes for all URLs, 0 where its rules are read.
        """
        cdef const unsigned char[::1] octets
        cdef Py_ssize_t i, agent
        cdef Capture* whole
        self.count, self.agents, self._buffers = len(entries), agents, [memoryview(each) for each in buffers]
        self.captures = <Capture*>calloc(self.count + len(buffers) + 1, sizeof(Capture))
        self.entries = <long long*>calloc(self.count * agents + 1, 8)
        if self.captures == NULL or self.entries == NULL:
            raise MemoryError
        if not len(held) == len(starts) == len(sizes) == self.count:
            raise ValueError("tables of one set of captures differ in length")
        whole = self.captures + self.count  # what the buffers hold
        for i, octets in enumerate(self._buffers):
            if len(octets):
                whole[i] = Capture(<const char*>&octets[0], len(octets))
        for i in range(self.count):
            for agent in range(agents):
                self.entries[i * agents + agent] = entries[i]
            if sizes[i] == 0:
                self.captures[i].body = b""
            elif sizes[i] > 0:
                if not (0 <= held[i] < len(buffers) and 0 <= starts[i] <= whole[held[i]].size - sizes[i]):
                    raise ValueError(f"the text of capture {i} does not lie where it is said to lie")
                self.captures[i] = Capture(whole[held[i]].body + starts[i], sizes[i])

    def __dealloc__(self):
        free(self.captures)
        free(self.entries)
        free(self.made)

    def number(self, list builders):
        """Number the rules of the programs that builders have made since this was last called."""
        cdef Builder builder
        cdef Program** grown
        cdef Py_ssize_t i
        for builder in builders:
            grown = <Program**>realloc(self.made, 8 * (self.made_count + builder._made_count + 1))
            if grown == NULL:
                raise MemoryError
            self.made = grown
            for i in range(builder._made_count):
                builder._made[i].number = <unsigned int>self.rules
                self.rules += builder._made[i].count
                self.made[self.made_count + i] = builder._made[i]
            self.made_count += builder._made_count
            builder._made_count = 0


cdef int _no_room() except -1 nogil:
    with gil:
        raise MemoryError


cdef inline void _ask_ahead(Capture* capture) noexcept nogil:
    cdef Py_ssize_t at = 0
    while at < capture.size and at < 512:
        prefetch(capture.body + at)
        at += 64


cdef int _limits(Builder self, Capture* capture, Py_ssize_t* start, Py_ssize_t* stop) except -1 with gil:
    """Where reading begins and ends in a file that has a byte order mark, or is too long: as `Robots` says."""
    robots = Robots(capture.body[: capture.size], self._reading.dialect)
    start[0], stop[0] = robots.extent
    return 0


cdef int _is_parsable(Builder self, Capture* capture) except -1 with gil:
    return 1 if Robots(capture.body[: capture.size], self._reading.dialect).parsable else 0


cdef int _make(Builder self, Work* work, Py_ssize_t number) except -1 nogil:
    """Read a file and lay out the rules of each agent; agents with the same groups share them."""
    cdef u64* records
    cdef Py_ssize_t total, agent, other, i, line, count, groups
    cdef Agent* own
    cdef unsigned int *found
    cdef unsigned int *most
    cdef Capture* capture = work.captures + number
    cdef unsigned char* text = <unsigned char*>capture.body
    cdef Py_ssize_t start = 0, stop = capture.size
    cdef long long* entries = work.entries + number * self._agents
    cdef unsigned int seen = 0
    cdef long long alone = -1  # the one record that `delay` was read from
    cdef double delay = NAN
    if stop > self._reading.max_bytes or (stop and text[0] == 0xEF):
        _limits(self, capture, &start, &stop)
    self._records.count = 0
    if scan_into(text, start, stop, self._reading, &self._records):
        return _no_room()
    total = self._records.count
    records = self._records.records
    for i in range(total):
        seen |= <unsigned int>1 << directive_of(records[i])
    if seen & _USAGE:
        work.has_usage[number] = 1
    work.limits[number] = _NEVER
    if total == 0 and capture.size and not _is_parsable(self, capture):
        for agent in range(self._agents):
            entries[agent] = work.unparsable
        return 0
    line = 2 * total + 1  # numbers kept for an agent: its rules, and where its groups begin
    if (self._agents + 1) * line > self._room_size:
        free(self._room)
        self._room_size = 2 * (self._agents + 1) * line
        self._room = <unsigned int*>malloc(4 * self._room_size)
        if self._room == NULL:
            self._room_size = 0
            return _no_room()
    for agent in range(self._agents):
        own = self._by_agent + agent
        found = self._room + agent * line
        own.rules = choose_into(capture.body, records, total, &own.names, _RULES, _RULES, found, found + total,
                                &own.groups)
        if seen & _DELAY:
            most = self._room + self._agents * line
            count = choose_into(capture.body, records, total, &own.names, _RECORDS, _DELAY, most, most + total, &groups)
            if count > 1 or (count and most[0] != alone):
                alone = most[0] if count == 1 else -1
                _read_delay(self, capture.body, most, count, &delay)
            if count:  # of one record, that of the agent before as a rule, it is read once
                work.delays[number * self._agents + agent] = delay
        other = 0
        while other < agent and not (
            self._by_agent[other].groups == own.groups
            and self._by_agent[other].rules == own.rules
            and memcmp(self._room + other * line + total, found + total, 4 * own.groups) == 0
        ):
            other += 1
        if other < agent:
            entries[agent] = entries[other]
        else:
            _lay_out(self, work, number, own, found, entries + agent)
    return 0


cdef int _lay_out(Builder self, Work* work, Py_ssize_t number, Agent* own, unsigned int* records,
                  long long* entry) except -1 nogil:
    """The program of an agent: its entry is set to the address."""
    cdef Program* program
    cdef Program** grown
    cdef Plan plan
    cdef Py_ssize_t size, asked
    cdef bint heavy
    cdef unsigned int limit
    cdef Capture* capture = work.captures + number
    cdef Program* before = <Program*><size_t>entry[0]
    cdef unsigned char* spare = NULL
    cdef Py_ssize_t count = 0
    if 2 * own.rules > self._found_size:
        free(self._found)
        free(self._rules)
        self._found = NULL  # what follows may fail
        self._rules = NULL
        self._found_size = 0
        self._found = room_for(4 * own.rules)
        self._rules = <Rule*>(malloc(4 * own.rules * (sizeof(Rule) + 16)))
        if self._rules == NULL:
            return _no_room()
        self._found_size = 4 * own.rules
        self._entries = <u64*>(self._rules + self._found_size)
        self._keys = self._entries + self._found_size
    try:
        if own.rules:
            count = rank_records(<unsigned char*>capture.body, self._records.records, records, own.rules,
                                 self._reading, self._found, &spare)
        make_rules(self._found, count, self._records.records, self._reading.switches & _WILDCARDS, self._keys, self._rules,
              self._entries, &plan)
        asked = work.asked[number]
        heavy = plan.tried > _MANY and asked * plan.tried >= _PACKING * plan.count
        if heavy or plan.octets > _LONGEST:
            heavy = True
            plan.bits = 0
            plan.octets = 0  # the matcher has texts of its own, of any size
        elif plan.tried > _MANY:
            limit = <unsigned int>(1 + _PACKING * plan.count // plan.tried)
            if limit < work.limits[number]:
                work.limits[number] = limit
        size = octets_of(&plan)
        _have(self, size)
        program = <Program*>self._free
        self._free += size
        self._left -= size
        write_program(program, self._found, self._keys, self._rules, self._entries, &plan)
        program.capture = <unsigned int>number
        program.named = 1 if own.groups else 0
        if heavy:
            _pack(self, program)
    finally:
        free(spare)
    if entry[0]:
        program.number = before.number
    else:
        if self._made_count == self._made_room:
            grown = <Program**>(realloc(self._made, 8 * (2 * self._made_room + 1024)))
            if grown == NULL:
                return _no_room()
            self._made = grown
            self._made_room = 2 * self._made_room + 1024
        self._made[self._made_count] = program
        self._made_count += 1
    entry[0] = <long long><size_t>program
    return 0


cdef int _have(Builder self, Py_ssize_t size) except -1 nogil:
    """See that there is memory for a program, at the beginning of a line of the cache."""
    cdef char** grown
    cdef char* block
    cdef Py_ssize_t room = max(_BLOCK, min(<Py_ssize_t>self._octets, 16 * _BLOCK), size)
    if size <= self._left:
        return 0
    grown = <char**>(realloc(self._blocks, 8 * (self._block_count + 1)))
    if grown == NULL:
        return _no_room()
    self._blocks = grown
    block = <char*>large_room(room)
    if block == NULL:
        return _no_room()
    self._blocks[self._block_count] = block
    self._block_count += 1
    self._octets += room
    self._free = block
    self._left = room
    return 0


cdef int _pack(Builder self, Program* program) except -1 with gil:
    """Have the engine's own matcher decide on the rules in hand."""
    cdef Matcher matcher = blank_for(self._reading)
    pack(matcher, self._found, program.count, self._reading.switches & _WILDCARDS)
    self._matchers.append(matcher)
    self._octets += matcher._size
    program.matcher = <void*>matcher
    return 0


cdef int _read_delay(Builder self, const char* body, const unsigned int* numbers, Py_ssize_t count,
                     double* delay) except -1 with gil:
    """Set the Crawl-delay that records, given by their numbers, ask for; NaN where none can be read."""
    cdef u64 entry
    cdef Py_ssize_t i
    values = []
    for i in range(count):
        entry = self._records.records[numbers[i]]
        values.append(body[start_of(entry) : start_of(entry) + size_of(entry)])
    written = b"\n".join(values)  # no value holds one
    read = self._delays.get(written)
    if read is None:
        if len(self._delays) >= _MAX_DELAYS_KEPT:
            self._delays.clear()
        asked = crawl_delay(written.decode("utf-8", "replace").split("\n"))
        read = NAN if asked is None else asked
        if len(written) <= _MAX_KEPT_DELAY_OCTETS:
            self._delays[written] = read
    delay[0] = read
    return 0
