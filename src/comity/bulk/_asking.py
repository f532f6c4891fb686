# cython: boundscheck=False, wraparound=False, cdivision=True
"""Rows to outcomes: each row's path against the program of its capture, in the order of rows.

A row gets two numbers an agent: an outcome, and the rule that decided. No object of Python's is made for a row, and
the interpreter's lock is released. Compiled only; where the modules are interpreted, `plain.py` does all of it.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from comity import _cython as cython

from comity.bulk.captures import ODD
from comity.robots._path import LOOKS as _LOOKS

_LOOKS_AT = _LOOKS  # compiled, its address
_ODD = cython.declare(cython.int, ODD)
_LOW = cython.declare(cython.ulonglong, 0xFFFFFFFF)
_CLOSER = cython.declare(cython.ulonglong, 1 << 60)  # see _marks in _rules.py
_DOT = cython.declare(cython.ulonglong, 1 << 61)
_FARTHEST = cython.declare(cython.Py_ssize_t, 40)  # rows ahead whose entries are asked for
_FAR = cython.declare(cython.Py_ssize_t, 24)  # rows ahead whose programs are asked for
_NEAR = cython.declare(cython.Py_ssize_t, 12)  # rows ahead whose buckets are


@cython.cclass
class Asking:
    """The question, with what does not change from column to column.

    Args:
        meanings: outcomes for: allowed by a rule, allowed by a rule without path, disallowed, no rule, no group,
            robots.txt itself.
        specials: by what stands for a capture, negated, the outcome.
    """

    def __init__(self, agents: int, dialect: object, meanings: tuple, specials: tuple) -> None:
        i: cython.int
        self._agents = agents
        self._reading = reading_of(dialect)
        self._robots_txt_allowed = dialect.robots_txt_allowed
        for i in range(6):
            self._meanings[i] = meanings[i]
        for i in range(len(specials)):
            self._specials[i] = specials[i]

    def ask(
        self,
        data: int,
        offsets: int,
        rows: int,
        located: int,
        entries: int,
        starts: int,
        codes: int,
        cited: int,
        stride: int,
        used: int,
        normal: bool,
    ) -> None:
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
        asked: Asked
        asked.data = cython.cast(cython.p_const_char, cython.cast(cython.size_t, data))
        asked.offsets = cython.cast(Numbers, cython.cast(cython.size_t, offsets))
        asked.located = cython.cast(cython.p_int, cython.cast(cython.size_t, located))
        asked.entries = cython.cast(Numbers, cython.cast(cython.size_t, entries))
        asked.starts = cython.cast(cython.p_uint, cython.cast(cython.size_t, starts))
        asked.codes = cython.cast(cython.p_ushort, cython.cast(cython.size_t, codes))
        asked.cited = cython.cast(cython.p_int, cython.cast(cython.size_t, cited))
        asked.used = cython.cast(cython.p_uchar, cython.cast(cython.size_t, used))
        asked.rows = rows
        asked.stride = stride
        asked.normal = normal
        with cython.nogil:
            _ask(self, cython.address(asked))


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _program_of(entry: cython.longlong) -> ProgramAt:
    """The program of an entry, NULL where it has none."""
    return cython.NULL if entry & 1 else cython.cast(ProgramAt, cython.cast(cython.size_t, entry))


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _ask_ahead(self: Asking, asked: AskedAt, row: cython.Py_ssize_t) -> cython.void:
    """Programs lie far from each other: ask for those that come next."""
    program: ProgramAt
    path: cython.p_const_char
    here: cython.Py_ssize_t
    capture: cython.Py_ssize_t
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
        if program != cython.NULL:
            prefetch(program)
            prefetch(cython.cast(cython.p_const_char, program) + 64)
            prefetch(cython.cast(cython.p_const_char, program) + 128)
    here = row + _NEAR
    capture = asked.located[here]
    if capture >= 0:
        program = _program_of(asked.entries[capture * self._agents])
        if program != cython.NULL:
            prefetch(program.rules)
            if program.bits:
                path = asked.data + asked.offsets[here] + asked.starts[capture]
                here = asked.offsets[here + 1] - asked.offsets[here] - asked.starts[capture]
                prefetch(program.rules + program.buckets[bucket_of(program, head_of(path, here))])


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _marks_of(path: cython.p_const_char, size: cython.Py_ssize_t) -> u64:
    marks: u64 = 0
    more: u64 = 0
    i: cython.Py_ssize_t = 0
    while i + 4 <= size:
        marks |= MARKS[cython.cast(cython.uchar, path[i])] | MARKS[cython.cast(cython.uchar, path[i + 1])]
        more |= MARKS[cython.cast(cython.uchar, path[i + 2])] | MARKS[cython.cast(cython.uchar, path[i + 3])]
        i += 4
    while i < size:
        marks |= MARKS[cython.cast(cython.uchar, path[i])]
        i += 1
    return marks | more


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _has_dot_segment(path: cython.p_const_char, size: cython.Py_ssize_t) -> cython.bint:
    """Whether a dot stands behind a slash: it may make a dot segment."""
    i: cython.Py_ssize_t
    for i in range(size - 1):  # noqa: SIM110 (a generator would be slow here)
        if path[i] == 47 and path[i + 1] == 46:
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(-1)
def _ask(self: Asking, asked: AskedAt) -> cython.int:
    row: cython.Py_ssize_t
    at: cython.Py_ssize_t
    agent: cython.Py_ssize_t
    capture: cython.Py_ssize_t
    size: cython.Py_ssize_t
    raw_size: cython.Py_ssize_t
    path: cython.p_const_char
    raw: cython.p_const_char
    marks: u64
    rank: u64
    entry: cython.longlong
    other: cython.Py_ssize_t
    empty: cython.bint
    program: ProgramAt
    looks: cython.p_const_char = _LOOKS_AT
    look: cython.char
    special: cython.bint
    itself: cython.bint
    room: cython.p_uchar = cython.NULL
    room_size: cython.Py_ssize_t = 0
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
                            look = looks[cython.cast(cython.uchar, path[raw_size])]
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
                                room = cython.cast(cython.p_uchar, malloc(room_size))
                                if room == cython.NULL:
                                    with cython.gil:
                                        raise MemoryError
                            size = normalise(cython.cast(cython.p_uchar, path), size, self._reading.form, False, room)
                            path = cython.cast(cython.p_const_char, room)
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
                if program == cython.NULL:
                    itself = raw_size == 11 and memcmp(raw, cython.cast(cython.p_const_char, b"/robots.txt"), 11) == 0
                    asked.codes[at] = cython.cast(cython.ushort, entry >> (33 if itself else 1))
                elif (
                    self._robots_txt_allowed
                    and size == 11
                    and memcmp(path, cython.cast(cython.p_const_char, b"/robots.txt"), 11) == 0
                ):
                    asked.codes[at] = self._meanings[5]
                else:
                    rank = strongest(program, path, size, marks, cython.address(empty))
                    if rank == 0:
                        asked.codes[at] = self._meanings[3] if program.named else self._meanings[4]
                        continue
                    asked.codes[at] = self._meanings[(1 if empty else 0) if rank & 1 else 2]
                    asked.cited[at] = cython.cast(cython.int, program.number + (_LOW - (rank >> 1 & _LOW)))
                    asked.used[asked.cited[at]] = 1
    finally:
        free(room)
    return 0
