# cython: boundscheck=False, wraparound=False, cdivision=True
"""From robots.txt files to programs: an agent's rules in the little memory that asking them of any row takes.

Each file is read once, however many columns ask about it. Scan, choice of groups and ranks are those of
`comity.robots`, called without the interpreter's lock; here their outcome is only laid out. Compiled only.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from comity import _cython as cython

from comity.robots import Robots, kinds
from comity.robots._making import _blank_for

# Kinds of record, as bits.
_RULES = cython.declare(cython.uint, kinds.RULES)
_RECORDS = cython.declare(cython.uint, kinds.RECORDS)
_DELAY = cython.declare(cython.uint, 1 << kinds.CRAWL_DELAY)
_USAGE = cython.declare(cython.uint, 1 << kinds.CONTENT_USAGE | 1 << kinds.CONTENT_SIGNAL)
# Bits of what a file holds.
HAS_USAGE, UNREADABLE_DELAY = 1, 2
_MANY = cython.declare(cython.Py_ssize_t, 48)  # rules tried for a path, above which a matcher may pay
_PACKING = cython.declare(cython.Py_ssize_t, 150)  # rules that are tried in the time in which a matcher packs one
_BLOCK = cython.declare(cython.Py_ssize_t, 1 << 21)
_NEVER = cython.declare(cython.uint, 0xFFFFFFFF)
_LONGEST = cython.declare(cython.Py_ssize_t, 0xFFFFFF)


@cython.cclass
class Maker:
    """One thread's part of making programs, which live as long as it does."""

    def __init__(self, names: list, letters: bool, dialect: object) -> None:
        self._dialect = dialect
        self._names = names
        self._matchers = []
        self._letters = letters
        self._max_bytes = dialect.max_bytes
        self._typos = dialect.typos
        self._nul_ends_line = dialect.nul_ends_line
        self._longest_line = dialect.longest_line
        self._reading = reading_of(dialect)
        self._agents = len(names)
        self._called = cython.cast(CalledAs, calloc(self._agents, cython.sizeof(Called)))
        if self._called == cython.NULL:
            raise MemoryError
        for i in range(self._agents):
            one: bytes = names[i][0]
            other: bytes = names[i][1]
            self._called[i].one = one
            self._called[i].one_size = len(one)
            self._called[i].other = other
            self._called[i].other_size = len(other)

    def __dealloc__(self) -> None:
        i: cython.Py_ssize_t
        for i in range(self._block_count):
            free(self._blocks[i])
        free(self._blocks)
        free(self._made)
        free(self._called)
        free(self._records.records)
        free(self._room)
        free(self._found)
        free(self._rules)

    @property
    def octets(self) -> int:
        """Octets of memory that its programs take."""
        return self._octets

    def make(
        self,
        captures: int,
        wanted: int,
        count: int,
        entries: int,
        delays: int,
        flags: int,
        asked: int,
        limits: int,
        unparsable: int,
    ) -> None:
        """Make the programs of captures.

        Args:
            captures: address of an array of Capture.
            wanted, count: address of the numbers of those to make, 64 bits each, and how many.
            entries: address, by capture and agent, of what is to be asked: a program's address (64 bits).
            delays, flags: addresses of a float a capture and agent, and an octet a capture: bits of what it holds.
            asked, limits: by capture, how many rows ask in all, and from how many on it is to be made anew.
            unparsable: the entry of a file that is none.
        """
        i: cython.Py_ssize_t
        many: cython.Py_ssize_t = count
        numbers: Numbers = cython.cast(Numbers, cython.cast(cython.size_t, wanted))
        work: Work
        work.captures = cython.cast(CaptureAt, cython.cast(cython.size_t, captures))
        work.entries = cython.cast(Numbers, cython.cast(cython.size_t, entries))
        work.delays = cython.cast(cython.p_double, cython.cast(cython.size_t, delays))
        work.flags = cython.cast(cython.p_uchar, cython.cast(cython.size_t, flags))
        work.asked = cython.cast(cython.p_uint, cython.cast(cython.size_t, asked))
        work.limits = cython.cast(cython.p_uint, cython.cast(cython.size_t, limits))
        work.unparsable = unparsable
        with cython.nogil:
            for i in range(many):
                if i + 2 < many:
                    _ask_ahead(work.captures + numbers[i + 2])
                _make(self, cython.address(work), numbers[i])

    @property
    def made(self) -> int:
        """How many programs have been made since they were last numbered."""
        return self._made_count

    def numbered(self, base: int, addresses: int, firsts: int) -> int:
        """Number the rules of the programs made since from `base` on; the number behind the last.

        Args:
            addresses, firsts: where to write each program's address, and the number of its first rule (64 bits).
        """
        number: cython.uint = base
        i: cython.Py_ssize_t
        into: Programs = cython.cast(Programs, cython.cast(cython.size_t, addresses))
        numbers: Numbers = cython.cast(Numbers, cython.cast(cython.size_t, firsts))
        for i in range(self._made_count):
            into[i] = self._made[i]
            numbers[i] = self._made[i].number = number
            number += self._made[i].count
        self._made_count = 0
        return number


@cython.cfunc
@cython.nogil
@cython.exceptval(-1)
def _no_room() -> cython.int:
    with cython.gil:
        raise MemoryError


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _ask_ahead(capture: CaptureAt) -> cython.void:
    at: cython.Py_ssize_t = 0
    while at < capture.size and at < 512:
        prefetch(capture.body + at)
        at += 64


@cython.cfunc
@cython.with_gil
@cython.exceptval(-1)
def _limits(self: Maker, capture: CaptureAt, start: cython.p_Py_ssize_t, stop: cython.p_Py_ssize_t) -> cython.int:
    """Where reading begins and ends in a file that has a byte order mark, or is too long: as `Parsed` says."""
    robots = Robots(capture.body[: capture.size], self._dialect)
    start[0] = robots._start()
    stop[0] = robots._stop()
    return 0


@cython.cfunc
@cython.with_gil
@cython.exceptval(-1)
def _is_parsable(self: Maker, capture: CaptureAt) -> cython.int:
    return 1 if Robots(capture.body[: capture.size], self._dialect).parsable else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(-1)
def _make(self: Maker, work: WorkAt, number: cython.Py_ssize_t) -> cython.int:
    """Read a file and lay out the rules of each agent; agents with the same groups share them."""
    capture: CaptureAt = work.captures + number
    text: cython.p_uchar = cython.cast(cython.p_uchar, capture.body)
    start: cython.Py_ssize_t = 0
    stop: cython.Py_ssize_t = capture.size
    entries: Numbers = work.entries + number * self._agents
    records: cython.p_ulonglong
    total: cython.Py_ssize_t
    agent: cython.Py_ssize_t
    other: cython.Py_ssize_t
    i: cython.Py_ssize_t
    line: cython.Py_ssize_t
    seen: cython.uint = 0
    own: CalledAs
    found: cython.p_uint
    most: cython.p_uint
    count: cython.Py_ssize_t
    groups: cython.Py_ssize_t
    if stop > self._max_bytes or (stop and text[0] == 0xEF):
        _limits(self, capture, cython.address(start), cython.address(stop))
    self._records.count = 0
    if scan_into(
        text, start, stop, self._typos, self._nul_ends_line, self._longest_line, cython.address(self._records)
    ):
        return _no_room()
    total = self._records.count
    records = self._records.records
    for i in range(total):
        seen |= cython.cast(cython.uint, 1) << cython.cast(cython.int, records[i] & 0xFF)
    if seen & _USAGE:
        work.flags[number] |= 1
    work.limits[number] = _NEVER
    if total == 0 and capture.size and not _is_parsable(self, capture):
        for agent in range(self._agents):
            entries[agent] = work.unparsable
        return 0
    line = 2 * total + 1  # numbers kept for an agent: its rules, and where its groups begin
    if (self._agents + 1) * line > self._room_size:
        free(self._room)
        self._room_size = 2 * (self._agents + 1) * line
        self._room = cython.cast(cython.p_uint, malloc(4 * self._room_size))
        if self._room == cython.NULL:
            self._room_size = 0
            return _no_room()
    for agent in range(self._agents):
        own = self._called + agent
        found = self._room + agent * line
        own.rules = choose_into(
            capture.body,
            records,
            total,
            self._letters,
            own.one,
            own.one_size,
            own.other,
            own.other_size,
            _RULES,
            _RULES,
            found,
            found + total,
            cython.address(own.groups),
        )
        if seen & _DELAY:
            most = self._room + self._agents * line
            count = choose_into(
                capture.body,
                records,
                total,
                self._letters,
                own.one,
                own.one_size,
                own.other,
                own.other_size,
                _RECORDS,
                _DELAY,
                most,
                most + total,
                cython.address(groups),
            )
            if longest_delay(capture.body, records, most, count, work.delays + number * self._agents + agent):
                work.flags[number] |= 2
        other = 0
        while other < agent and not (
            self._called[other].groups == own.groups
            and self._called[other].rules == own.rules
            and memcmp(self._room + other * line + total, found + total, 4 * own.groups) == 0
        ):
            other += 1
        if other < agent:
            entries[agent] = entries[other]
        else:
            _lay_out(self, work, number, own, found, entries + agent)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(-1)
def _lay_out(
    self: Maker, work: WorkAt, number: cython.Py_ssize_t, own: CalledAs, records: cython.p_uint, entry: Numbers
) -> cython.int:
    """The program of an agent: its entry is set to the address."""
    capture: CaptureAt = work.captures + number
    before: ProgramAt = cython.cast(ProgramAt, cython.cast(cython.size_t, entry[0]))
    spare: cython.p_uchar = cython.NULL
    program: ProgramAt
    grown: Programs
    plan: Plan
    size: cython.Py_ssize_t
    heavy: cython.bint
    asked: cython.Py_ssize_t
    limit: cython.uint
    count: cython.Py_ssize_t = 0
    if 2 * own.rules > self._found_size:
        free(self._found)
        free(self._rules)
        self._found_size = 4 * own.rules
        self._found = room_for(self._found_size)
        self._rules = cython.cast(Rules, malloc(self._found_size * (cython.sizeof(Rule) + 8)))
        if self._rules == cython.NULL:
            self._found_size = 0
            return _no_room()
        self._entries = cython.cast(cython.p_ulonglong, self._rules + self._found_size)
    try:
        if own.rules:
            count = rank_records(
                cython.cast(cython.p_uchar, capture.body),
                self._records.records,
                records,
                own.rules,
                cython.address(self._reading),
                self._dialect,
                self._found,
                cython.address(spare),
            )
        ruled(
            self._found,
            count,
            self._records.records,
            self._reading.wildcards,
            self._rules,
            self._entries,
            cython.address(plan),
        )
        asked = work.asked[number]
        heavy = plan.tried > _MANY and asked * plan.tried >= _PACKING * plan.count
        if heavy or plan.octets > _LONGEST:
            heavy = True
            plan.bits = 0
        elif plan.tried > _MANY:
            limit = cython.cast(cython.uint, 1 + _PACKING * plan.count // plan.tried)
            if limit < work.limits[number]:
                work.limits[number] = limit
        size = octets_of(cython.address(plan))
        _have(self, size)
        program = cython.cast(ProgramAt, self._free)
        self._free += size
        self._left -= size
        laid_out(program, self._found, self._rules, self._entries, cython.address(plan))
        program.capture = cython.cast(cython.uint, number)
        program.named = 1 if own.groups else 0
        if heavy:
            _pack(self, program)
    finally:
        free(spare)
    if entry[0]:
        program.number = before.number
    else:
        if self._made_count == self._made_room:
            grown = cython.cast(Programs, realloc(self._made, 8 * (2 * self._made_room + 1024)))
            if grown == cython.NULL:
                return _no_room()
            self._made = grown
            self._made_room = 2 * self._made_room + 1024
        self._made[self._made_count] = program
        self._made_count += 1
    entry[0] = cython.cast(cython.longlong, cython.cast(cython.size_t, program))
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(-1)
def _have(self: Maker, size: cython.Py_ssize_t) -> cython.int:
    """See that there is memory for a program, at the beginning of a line of the cache."""
    grown: Blocks
    block: cython.p_char
    room: cython.Py_ssize_t = max(_BLOCK, min(cython.cast(cython.Py_ssize_t, self._octets), 16 * _BLOCK), size)
    if size <= self._left:
        return 0
    grown = cython.cast(Blocks, realloc(self._blocks, 8 * (self._block_count + 1)))
    if grown == cython.NULL:
        return _no_room()
    self._blocks = grown
    block = cython.cast(cython.p_char, large_room(room))
    if block == cython.NULL:
        return _no_room()
    self._blocks[self._block_count] = block
    self._block_count += 1
    self._octets += room
    self._free = block
    self._left = room
    return 0


@cython.cfunc
@cython.with_gil
@cython.exceptval(-1)
def _pack(self: Maker, program: ProgramAt) -> cython.int:
    """Have the engine's own matcher decide on the rules in hand."""
    matcher: Matcher = _blank_for(self._dialect)
    pack(matcher, self._found, program.count, self._reading.wildcards)
    self._matchers.append(matcher)
    self._octets += matcher._size
    program.matcher = cython.cast(cython.p_void, matcher)
    return 0
