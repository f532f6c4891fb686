# cython: boundscheck=False, wraparound=False, cdivision=True
"""The hot half of verdicts over columns: rows to captures, and captures to verdicts, over Arrow's buffers.

No object of Python's is made for a row, and the interpreter's lock is released. What a rule means is decided by the
functions of `comity.robots`; here rows are only sorted, rules read once a capture, and numbers written. Compiled only:
where the modules are interpreted, `plain.py` does all of it.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from comity import _cython as cython

from comity.robots._making import _blank_for
from comity.robots._path import LOOKS as _LOOKS

COMPILED = cython.compiled
# What stands for a row in the place of its capture.
NULL, UNKNOWN, ODD, TOO_EARLY, BAD = -1, -2, -3, -4, -5
_UNKNOWN = cython.declare(cython.int, -2)
_ODD = cython.declare(cython.int, -3)
_TOO_EARLY = cython.declare(cython.int, -4)
_LOW = cython.declare(cython.ulonglong, 0xFFFFFFFF)
_LOOKS_AT = _LOOKS  # compiled, its address
# Bits of what a file holds.
HAS_USAGE, UNREADABLE_DELAY = 1, 2


@cython.cclass
class Origins:
    """Which number an origin has, by its octets; origins are in normal form and plain (see urls.py)."""

    def __init__(self, data: int, offsets: int, count: int) -> None:
        size: cython.size_t = 16
        i: cython.Py_ssize_t
        slot: cython.size_t
        length: cython.Py_ssize_t
        hashed: cython.ulonglong
        while size < 2 * count:
            size *= 2
        self._data = cython.cast(cython.p_const_char, cython.cast(cython.size_t, data))
        self._offsets = cython.cast(Offsets, cython.cast(cython.size_t, offsets))
        self._mask = size - 1
        self._slots = cython.cast(cython.p_ulonglong, calloc(size, 8))
        if self._slots == cython.NULL:
            raise MemoryError
        for i in range(count):
            length = self._offsets[i + 1] - self._offsets[i]
            if authority_end(self._data + self._offsets[i], length) != length:
                continue
            hashed = _hash(self._data + self._offsets[i], length)
            slot = hashed & self._mask
            while self._slots[slot]:
                slot = (slot + 1) & self._mask
            self._slots[slot] = (hashed >> 32) << 32 | cython.cast(cython.ulonglong, i + 1)

    def __dealloc__(self) -> None:
        free(self._slots)

    def locate(
        self, data: int, offsets: int, count: int, captures: int, times: int, at: int, at_step: int, out: int
    ) -> int:
        """The capture of each URL of a chunk; how many are odd: to be normalised first.

        Args:
            data, offsets: addresses of the chunk's octets and of its 64-bit offsets.
            captures: address, by origin, of the number of its first capture (64 bits), and one more.
            times: address, by capture, of its time, ascending for an origin.
            at: address of the times asked about; 0 for the last capture.
            at_step: 0 where one time is meant for all URLs, else 1.
            out: address of a 32-bit number a URL.
        """
        odd: cython.Py_ssize_t
        many: cython.Py_ssize_t = count
        step: cython.Py_ssize_t = at_step
        text: cython.p_const_char = cython.cast(cython.p_const_char, cython.cast(cython.size_t, data))
        places: Offsets = cython.cast(Offsets, cython.cast(cython.size_t, offsets))
        firsts: Offsets = cython.cast(Offsets, cython.cast(cython.size_t, captures))
        clocks: Offsets = cython.cast(Offsets, cython.cast(cython.size_t, times))
        asked: Offsets = cython.cast(Offsets, cython.cast(cython.size_t, at))
        found: cython.p_int = cython.cast(cython.p_int, cython.cast(cython.size_t, out))
        with cython.nogil:
            odd = _locate(self, text, places, many, firsts, clocks, asked, step, found)
        return odd


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _hash(text: cython.p_const_char, size: cython.Py_ssize_t) -> cython.ulonglong:
    """Eight octets at a time, multiplied and mixed."""
    mixer: cython.ulonglong = 0x9E3779B97F4A7C15
    state: cython.ulonglong = cython.cast(cython.ulonglong, size) * mixer
    word: cython.ulonglong
    i: cython.Py_ssize_t = 0
    while i + 8 <= size:
        memcpy(cython.address(word), text + i, 8)
        state = (state ^ word) * mixer
        state ^= state >> 29
        i += 8
    if i < size:
        word = 0
        memcpy(cython.address(word), text + i, size - i)
        state = (state ^ word) * mixer
        state ^= state >> 29
    state *= mixer
    return state ^ (state >> 32)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _locate(
    self: Origins,
    data: cython.p_const_char,
    offsets: Offsets,
    count: cython.Py_ssize_t,
    firsts: Offsets,
    times: Offsets,
    at: Offsets,
    step: cython.Py_ssize_t,
    out: cython.p_int,
) -> cython.Py_ssize_t:
    odd: cython.Py_ssize_t = 0
    row: cython.Py_ssize_t
    size: cython.Py_ssize_t
    text: cython.p_const_char
    slash: cython.p_const_char
    last: cython.p_const_char = cython.NULL  # the row before, which often has the same origin
    last_size: cython.Py_ssize_t = 0
    length: cython.Py_ssize_t
    origin: cython.Py_ssize_t = -1
    slot: cython.size_t
    hashed: cython.ulonglong
    low: cython.Py_ssize_t
    high: cython.Py_ssize_t
    middle: cython.Py_ssize_t
    moment: cython.longlong
    candidate: cython.Py_ssize_t
    for row in range(count):
        text = data + offsets[row]
        size = offsets[row + 1] - offsets[row]
        if last_size == 0 or size <= last_size or text[last_size] != 47 or memcmp(text, last, last_size) != 0:
            last_size = 0
            slash = cython.NULL
            if size > 8:
                slash = cython.cast(cython.p_const_char, memchr(text + 8, 47, size - 8))
            if slash == cython.NULL:
                out[row] = _ODD
                odd += 1
                continue
            length = slash - text
            hashed = _hash(text, length)
            slot = hashed & self._mask
            origin = -1
            while self._slots[slot]:
                if self._slots[slot] >> 32 == hashed >> 32:
                    candidate = cython.cast(cython.Py_ssize_t, self._slots[slot] & _LOW) - 1
                    if (
                        self._offsets[candidate + 1] - self._offsets[candidate] == length
                        and memcmp(self._data + self._offsets[candidate], text, length) == 0
                    ):
                        origin = candidate
                        break
                slot = (slot + 1) & self._mask
            if origin < 0:
                if authority_end(text, size) == length:
                    out[row] = _UNKNOWN
                else:
                    out[row] = _ODD
                    odd += 1
                continue
            last = text
            last_size = length
        if path_end(text, size, last_size + 1) < 0:
            out[row] = _ODD
            odd += 1
            continue
        low = firsts[origin]
        high = firsts[origin + 1]
        if at == cython.NULL:
            out[row] = cython.cast(cython.int, high - 1)
            continue
        moment = at[row * step]
        while low < high:  # the first that is later
            middle = (low + high) >> 1
            if times[middle] <= moment:
                low = middle + 1
            else:
                high = middle
        out[row] = cython.cast(cython.int, low - 1) if low > firsts[origin] else _TOO_EARLY
    return odd


def by_capture(captures: int, count: int, begins: int, order: int) -> None:
    """Row numbers in the order of their captures (a counting sort).

    Args:
        captures: address of a row's capture each; those below 0 are left out.
        begins: address, by capture, of where its rows begin (64 bits), and of where the next one's do at the end.
        order: address of the row numbers, 32 bits each.
    """
    rows: cython.Py_ssize_t = count
    row: cython.Py_ssize_t
    own: cython.p_int = cython.cast(cython.p_int, cython.cast(cython.size_t, captures))
    places: Offsets = cython.cast(Offsets, cython.cast(cython.size_t, begins))
    into: cython.p_uint = cython.cast(cython.p_uint, cython.cast(cython.size_t, order))
    with cython.nogil:
        for row in range(rows):
            if own[row] >= 0:
                into[places[own[row]]] = cython.cast(cython.uint, row)
                places[own[row]] += 1


@cython.cclass
class Judging:
    """One thread's part: captures from one number to another, with the rows that ask about each.

    Attributes:
        rules: octets of the rules that decided, one after the other; `ends`, `lines`: where each ends, its line.
    """

    def __init__(self, names: list, letters: bool, dialect: object) -> None:
        self._dialect = dialect
        self._names = names
        self._letters = letters
        self._max_bytes = dialect.max_bytes
        self._typos = dialect.typos
        self._nul_ends_line = dialect.nul_ends_line
        self._longest_line = dialect.longest_line
        self._robots_txt_allowed = dialect.robots_txt_allowed
        self._reading = reading_of(dialect)
        self._matcher = _blank_for(dialect)
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
        free(self._called)
        free(self._records.records)
        free(self._room)
        free(self._found)
        free(self._keys)
        free(self._path)
        free(self._cited.text)
        free(self._cited.entries)

    @property
    def cited(self) -> bytes:
        return self._cited.text[: self._cited.size] if self._cited.size else b""

    @property
    def entries(self) -> bytes:
        """Where each rule's text ends, and its line: pairs of 64-bit numbers."""
        if self._cited.count == 0:
            return b""
        return cython.cast(cython.p_char, self._cited.entries)[: self._cited.count * 16]

    def judge(
        self,
        chunks: int,
        begins: int,
        order: int,
        first: int,
        last: int,
        captures: int,
        codes: int,
        cited: int,
        delays: int,
        flags: int,
        rows: int,
        meanings: tuple,
    ) -> None:
        """Write a code and a cited rule for each row and agent.

        Args:
            chunks: address of an array of Chunk, in the order of their rows.
            begins, order: as `by_capture` leaves them: a capture's rows begin where the one before ends.
            first, last: the captures to judge.
            captures: address of an array of Capture.
            codes, cited: addresses of 16-bit and 32-bit numbers, agent by agent, `rows` each.
            delays: address of a float a capture and agent.
            flags: address of an octet a capture: bits of what it holds.
            meanings: codes for: allowed by a rule, allowed by a rule without path, disallowed, no rule, no group,
                robots.txt itself, not a robots.txt at all.
        """
        i: cython.Py_ssize_t
        low: cython.Py_ssize_t = first
        high: cython.Py_ssize_t = last
        work: Work
        work.chunks = cython.cast(Chunks, cython.cast(cython.size_t, chunks))
        work.begins = cython.cast(Offsets, cython.cast(cython.size_t, begins))
        work.order = cython.cast(cython.p_uint, cython.cast(cython.size_t, order))
        work.captures = cython.cast(Captures, cython.cast(cython.size_t, captures))
        work.codes = cython.cast(cython.p_ushort, cython.cast(cython.size_t, codes))
        work.cited = cython.cast(cython.p_int, cython.cast(cython.size_t, cited))
        work.delays = cython.cast(cython.p_double, cython.cast(cython.size_t, delays))
        work.flags = cython.cast(cython.p_uchar, cython.cast(cython.size_t, flags))
        work.rows = rows
        work.total = work.begins[high - 1] if high > low else 0
        for i in range(7):
            work.meanings[i] = meanings[i]
        with cython.nogil:
            for i in range(low, high):
                if work.captures[i].body == cython.NULL or work.begins[i] == (work.begins[i - 1] if i else 0):
                    continue
                _judge(self, cython.address(work), i)


@cython.cfunc
@cython.nogil
@cython.exceptval(-1)
def _no_room() -> cython.int:
    with cython.gil:
        raise MemoryError


@cython.cfunc
@cython.with_gil
@cython.exceptval(-1)
def _limits(self: Judging, capture: CaptureAt, start: cython.p_Py_ssize_t, stop: cython.p_Py_ssize_t) -> cython.int:
    """Where reading begins and ends in a file that has a byte order mark, or is too long: as `Parsed` says."""
    from comity.robots import Robots

    robots = Robots(capture.body[: capture.size], self._dialect)
    start[0] = robots._start()
    stop[0] = robots._stop()
    return 0


@cython.cfunc
@cython.with_gil
@cython.exceptval(-1)
def _is_parsable(self: Judging, capture: CaptureAt) -> cython.int:
    from comity.robots import Robots

    return 1 if Robots(capture.body[: capture.size], self._dialect).parsable else 0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _row(work: WorkAt, place: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The row that a place in the order stands for: those that were normalised stand behind all others."""
    row: cython.Py_ssize_t = work.order[place]
    return row if row < work.rows else work.chunks.rows[row - work.rows]


@cython.cfunc
@cython.nogil
@cython.exceptval(-1)
def _judge(self: Judging, work: WorkAt, number: cython.Py_ssize_t) -> cython.int:
    capture: CaptureAt = work.captures + number
    text: cython.p_uchar = cython.cast(cython.p_uchar, capture.body)
    start: cython.Py_ssize_t = 0
    stop: cython.Py_ssize_t = capture.size
    begin: cython.Py_ssize_t = work.begins[number - 1] if number else 0
    end: cython.Py_ssize_t = work.begins[number]
    total: cython.Py_ssize_t
    agent: cython.Py_ssize_t
    other: cython.Py_ssize_t
    i: cython.Py_ssize_t
    kind: cython.int
    seen: cython.uint = 0
    own: CalledAs
    found: cython.p_uint
    starts: cython.p_uint
    line: cython.Py_ssize_t
    row: cython.Py_ssize_t
    if stop > self._max_bytes or (stop and text[0] == 0xEF):
        _limits(self, capture, cython.address(start), cython.address(stop))
    self._records.count = 0
    if scan_into(
        text,
        start,
        stop,
        self._typos,
        self._nul_ends_line,
        self._longest_line,
        cython.address(self._records),
    ):
        return _no_room()
    total = self._records.count
    for i in range(total):
        kind = cython.cast(cython.int, self._records.records[i] & 0xFF)
        seen |= cython.cast(cython.uint, 1) << kind
    if seen & (1 << 11 | 1 << 12):
        work.flags[number] |= 1
    if total == 0 and capture.size and not _is_parsable(self, capture):
        for agent in range(self._agents):
            for i in range(begin, end):
                work.codes[agent * work.rows + _row(work, i)] = work.meanings[6]
        return 0
    line = 2 * total + 1  # numbers kept for an agent: its rules, its groups, how many of these
    if self._agents * line + 2 * total > self._room_size:
        free(self._room)
        self._room_size = 2 * (self._agents * line + 2 * total)
        self._room = cython.cast(cython.p_uint, malloc(4 * self._room_size))
        if self._room == cython.NULL:
            self._room_size = 0
            return _no_room()
    slots: cython.p_int = cython.cast(cython.p_int, self._room + self._agents * line)
    memset(slots, 255, 4 * total)
    for agent in range(self._agents):
        own = self._called + agent
        found = self._room + agent * line
        starts = found + total
        own.rules = choose_into(
            capture.body,
            self._records.records,
            total,
            self._letters,
            own.one,
            own.one_size,
            own.other,
            own.other_size,
            found,
            starts,
            cython.address(own.groups),
        )
        if seen & (1 << 5):
            _delay(self, work, number, agent, capture.body, total, cython.cast(cython.p_uint, slots) + total)
        other = 0
        while other < agent:
            if (
                self._called[other].groups == own.groups
                and self._called[other].rules == own.rules
                and memcmp(self._room + other * line + total, starts, 4 * own.groups) == 0
            ):
                break
            other += 1
        if other < agent:
            for i in range(begin, end):  # its groups are those of another agent
                row = _row(work, i)
                work.codes[agent * work.rows + row] = work.codes[other * work.rows + row]
                work.cited[agent * work.rows + row] = work.cited[other * work.rows + row]
            continue
        _ask(self, work, capture, agent, begin, end, found, slots)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(-1)
def _delay(
    self: Judging,
    work: WorkAt,
    number: cython.Py_ssize_t,
    agent: cython.Py_ssize_t,
    body: cython.p_const_char,
    total: cython.Py_ssize_t,
    found: cython.p_uint,
) -> cython.int:
    """The longest Crawl-delay that can be read; a value that is no plain number is left to Python."""
    own: CalledAs = self._called + agent
    count: cython.Py_ssize_t = records_into(
        body,
        self._records.records,
        total,
        5,
        self._letters,
        own.one,
        own.one_size,
        own.other,
        own.other_size,
        found,
    )
    i: cython.Py_ssize_t
    at: cython.Py_ssize_t
    size: cython.Py_ssize_t
    digits: cython.Py_ssize_t
    whole: cython.longlong
    scale: cython.longlong
    dots: cython.int
    text: cython.p_const_char
    value: cython.double
    slot: cython.p_double = work.delays + number * self._agents + agent
    for i in range(count):
        text = body + cython.cast(cython.Py_ssize_t, self._records.records[found[i]] >> 32)
        size = cython.cast(cython.Py_ssize_t, self._records.records[found[i]] >> 8 & 0xFFFFFF)
        whole = 0
        scale = 1
        digits = 0
        dots = 0
        for at in range(size):
            if 48 <= text[at] <= 57 and digits < 15:
                whole = 10 * whole + (text[at] - 48)
                digits += 1
                if dots:
                    scale *= 10
            elif text[at] == 46 and dots == 0:
                dots = 1
            else:
                digits = 0
                break
        if digits == 0:
            work.flags[number] |= 2
            continue
        value = cython.cast(cython.double, whole) / cython.cast(cython.double, scale)
        if not slot[0] >= value:
            slot[0] = value
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(-1)
def _ask(
    self: Judging,
    work: WorkAt,
    capture: CaptureAt,
    agent: cython.Py_ssize_t,
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    found: cython.p_uint,
    slots: cython.p_int,
) -> cython.int:
    """The verdicts of one agent on the rows of one capture."""
    own: CalledAs = self._called + agent
    count: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    at: cython.Py_ssize_t
    row: cython.uint
    size: cython.Py_ssize_t
    spare: cython.p_uchar = cython.NULL
    packed: cython.bint
    looks: cython.p_const_char = _LOOKS_AT
    look: cython.char
    path: cython.p_const_char
    text: cython.p_const_char
    length: cython.Py_ssize_t
    special: cython.bint
    best: cython.ulonglong
    head: cython.ulonglong
    record: cython.uint
    code: cython.ushort
    cited: cython.int
    chunk: ChunkAt = work.chunks
    codes: cython.p_ushort = work.codes + agent * work.rows
    cites: cython.p_int = work.cited + agent * work.rows
    wildcards: cython.bint = self._reading.wildcards
    if 2 * own.rules > self._found_size:
        free(self._found)
        free(self._keys)
        self._found_size = 4 * own.rules
        self._found = room_for(self._found_size)
        self._keys = cython.cast(cython.p_ulonglong, malloc(16 * self._found_size))
        if self._keys == cython.NULL:
            return _no_room()
    try:
        if own.rules:
            count = rank_records(
                cython.cast(cython.p_uchar, capture.body),
                self._records.records,
                found,
                own.rules,
                cython.address(self._reading),
                self._dialect,
                self._found,
                cython.address(spare),
            )
        # A table pays where many rows ask: making it costs a rule about 150 ns, trying one about 1 ns a row.
        packed = count > 24 and (end - begin) * (count - 24) > 150 * count
        if packed:
            emptied(self._matcher)
            pack(self._matcher, self._found, count, wildcards)
        else:
            _heads(self, count)
        for k in range(begin, end):
            if k + 24 < work.total:  # rows of a capture stand far from each other: ask for what comes next
                row = work.order[k + 24]
                if chunk.first <= row < chunk.last:
                    prefetch(chunk.offsets + (row - chunk.first))
                row = work.order[k + 10]
                if chunk.first <= row < chunk.last:
                    prefetch(chunk.data + chunk.offsets[row - chunk.first] + capture.origin_size)
                    prefetch(codes + row)
                    prefetch(cites + row)
            row = work.order[k]
            while row >= chunk.last:
                chunk += 1
            text = chunk.data + chunk.offsets[row - chunk.first]
            size = chunk.offsets[row - chunk.first + 1] - chunk.offsets[row - chunk.first]
            path = text + capture.origin_size
            size -= capture.origin_size
            special = False
            length = 0
            while length < size:
                look = looks[cython.cast(cython.uchar, path[length])]
                if look:
                    if look == 2:
                        break
                    special = True
                length += 1
            if special and self._reading.form:
                if 3 * length > self._path_size:
                    free(self._path)
                    self._path_size = 6 * length
                    self._path = cython.cast(cython.p_uchar, malloc(self._path_size))
                    if self._path == cython.NULL:
                        self._path_size = 0
                        return _no_room()
                length = normalise(cython.cast(cython.p_uchar, path), length, self._reading.form, False, self._path)
                path = cython.cast(cython.p_const_char, self._path)
            cited = -1
            if (
                self._robots_txt_allowed
                and length == 11
                and memcmp(path, cython.cast(cython.p_const_char, b"/robots.txt"), 11) == 0
            ):
                code = work.meanings[5]
            else:
                if packed:
                    best = best_packed(self._matcher, path, length)
                else:
                    best = 0
                    head = 0
                    memcpy(cython.address(head), path, length if length < 8 else 8)
                    for i in range(count):
                        if (
                            (head ^ self._keys[2 * i]) & self._keys[2 * i + 1] == 0
                            and self._found[i].rank > best
                            and (
                                matches_octets(
                                    cython.cast(cython.p_const_char, self._found[i].text),
                                    self._found[i].size,
                                    path,
                                    length,
                                )
                                if wildcards
                                else (
                                    self._found[i].size <= length
                                    and memcmp(self._found[i].text, path, self._found[i].size) == 0
                                )
                            )
                        ):
                            best = self._found[i].rank
                if best == 0:
                    code = work.meanings[3] if own.groups else work.meanings[4]
                else:
                    record = cython.cast(cython.uint, _LOW - (best >> 1 & _LOW))
                    if not best & 1:
                        code = work.meanings[2]
                    elif self._records.records[record] >> 8 & 0xFFFFFF:
                        code = work.meanings[0]
                    else:
                        code = work.meanings[1]
                    cited = slots[record]
                    if cited < 0:
                        cited = _cite(self, capture, self._records.records[record])
                        slots[record] = cited
            at = _row(work, k)
            codes[at] = code
            cites[at] = cited
    finally:
        free(spare)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _heads(self: Judging, count: cython.Py_ssize_t) -> cython.void:
    """Of each pattern up to eight octets that a path must begin with, and which of them count."""
    i: cython.Py_ssize_t
    size: cython.Py_ssize_t
    at: cython.Py_ssize_t
    text: cython.p_uchar
    key: cython.p_uchar
    mask: cython.p_uchar
    for i in range(count):
        text = self._found[i].text
        size = self._found[i].size
        self._keys[2 * i] = self._keys[2 * i + 1] = 0
        key = cython.cast(cython.p_uchar, self._keys + 2 * i)
        mask = cython.cast(cython.p_uchar, self._keys + 2 * i + 1)
        for at in range(size if size < 8 else 8):
            if text[at] == 42 or (text[at] == 36 and at + 1 == size):
                break
            key[at] = text[at]
            mask[at] = 255


@cython.cfunc
@cython.nogil
@cython.exceptval(-1)
def _cite(self: Judging, capture: CaptureAt, entry: cython.ulonglong) -> cython.int:
    """Keep the line of a rule that decided: its text and number."""
    start: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, entry >> 32)
    end: cython.Py_ssize_t = start + cython.cast(cython.Py_ssize_t, entry >> 8 & 0xFFFFFF)
    begin: cython.Py_ssize_t = start
    line: cython.Py_ssize_t = line_at(capture.body, start)
    cited: CitedAt = cython.address(self._cited)
    more: cython.p_void
    while begin > 0 and capture.body[begin - 1] != 10 and capture.body[begin - 1] != 13:
        begin -= 1
    if end - begin > 4000:  # 300 characters will be shown
        end = begin + 4000
    if cited.size + end - begin > cited.room:
        more = realloc(cited.text, 2 * (cited.size + end - begin))
        if more == cython.NULL:
            return _no_room()
        cited.text = cython.cast(cython.p_char, more)
        cited.room = 2 * (cited.size + end - begin)
    if cited.count == cited.most:
        more = realloc(cited.entries, 16 * (2 * cited.most + 64))
        if more == cython.NULL:
            return _no_room()
        cited.entries = cython.cast(OffsetsToo, more)
        cited.most = 2 * cited.most + 64
    memcpy(cited.text + cited.size, capture.body + begin, end - begin)
    cited.size += end - begin
    cited.entries[2 * cited.count] = cited.size
    cited.entries[2 * cited.count + 1] = line
    cited.count += 1
    return cython.cast(cython.int, cited.count - 1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def line_at(body: cython.p_const_char, offset: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The number of the line, from 1, that holds an offset: CR, LF and CRLF each end one (as LineNumbers counts)."""
    line: cython.Py_ssize_t = 1
    i: cython.Py_ssize_t
    for i in range(offset):
        line += body[i] == 10
    if memchr(body, 13, offset) != cython.NULL:
        for i in range(offset):
            line += (body[i] == 13) & (body[i + 1] != 10)
    return line
