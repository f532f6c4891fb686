"""From the rules of an agent to its Matcher: ranked, sorted, linked, filed.

The interpreted form keeps Python's own tables. The compiled one works on the octets of the file themselves, so that
making a matcher costs about as much as reading the file did: a pattern becomes an object of its own only where it has
to be normalised. What a rank is made of stands in rules.py.
"""

from __future__ import annotations

from array import array

try:
    import cython
except ModuleNotFoundError:
    from comity import _cython as cython

from comity.robots._match import Matcher, Tables
from comity.robots._path import FORMS
from comity.robots._path import LOOKS as _LOOKS
from comity.robots.dialects import Dialect
from comity.robots.rules import comparable, ranked

# How rules are ranked; see `precedence` of Dialect.
_LONGEST = cython.declare(cython.int, 0)
_ALLOW_FIRST = cython.declare(cython.int, 2)
_DISALLOW_FIRST = cython.declare(cython.int, 3)
_LOOKS_AT = _LOOKS  # compiled, its address
_ORDERS = {"longest": 0, "first": 1, "allow_first": 2, "disallow_first": 3}


def matcher_of(body: bytes, index: array[int], numbers: array[int], dialect: Dialect) -> Matcher:
    """The matcher of an agent.

    Args:
        index: of the records of `body`.
        numbers: which of them are the agent's Allow and Disallow records, in file order.
    """
    if cython.compiled:
        made = _blank(FORMS[dialect.path_form], dialect.semicolon_path, dialect.robots_txt_allowed)
        _pack_records(made, body, index, numbers, dialect)
        return made
    return matcher(
        ranked(body, [(number, index[number]) for number in numbers], dialect),
        FORMS[dialect.path_form],
        dialect.semicolon_path,
        dialect.wildcards,
        dialect.robots_txt_allowed,
    )


def matcher(ranks: dict[bytes, int], form: int, semicolon: bool, wildcards: bool, robots_txt_allowed: bool) -> Matcher:
    """A matcher of patterns that have their ranks.

    Args:
        ranks: normalised pattern -> rank of the best rule that has it.
        form: how paths are normalised, one of FORMS.
        wildcards: whether `*` and a final `$` are special.
        robots_txt_allowed: whether `/robots.txt` is allowed whatever the rules say.
    """
    made = _blank(form, semicolon, robots_txt_allowed)
    if cython.compiled:
        _pack_ranks(made, ranks, wildcards)
    else:
        made._tables = Tables(ranks, wildcards)
    return made


@cython.cfunc
def _blank(form: cython.int, semicolon: cython.bint, robots_txt_allowed: cython.bint) -> Matcher:
    made: Matcher = Matcher()
    made._form = form
    made._semicolon = semicolon
    made._robots_txt_allowed = robots_txt_allowed
    return made


def _blank_for(dialect: Dialect) -> Matcher:
    """A matcher without rules, to be packed."""
    return _blank(FORMS[dialect.path_form], dialect.semicolon_path, dialect.robots_txt_allowed)


# The compiled form.


@cython.cfunc
def _pack_ranks(made: Matcher, ranks: dict, wildcards: cython.bint) -> cython.int:
    found: Patterns = room_for(len(ranks))
    count: cython.Py_ssize_t = 0
    pattern: bytes
    try:
        for pattern, rank in ranks.items():
            found[count].text = cython.cast(cython.p_uchar, cython.cast(cython.p_char, pattern))
            found[count].size = len(pattern)
            found[count].rank = rank
            count += 1
        pack(made, found, count, wildcards)
    finally:
        free(found)
    return 0


@cython.cfunc
def _pack_records(
    made: Matcher,
    body: bytes,
    index: object,
    numbers: object,
    dialect: object,
) -> cython.int:
    """Rank the rules of an agent, as `ranked` in rules.py does, and pack them."""
    text: cython.p_const_char = body
    entries: cython.const[cython.ulonglong][:] = index
    records: cython.const[cython.uint][:] = numbers
    total: cython.Py_ssize_t = len(numbers)
    found: Patterns = room_for(2 * total)
    reading: Reading = reading_of(dialect)
    spare: cython.p_uchar = cython.NULL
    count: cython.Py_ssize_t
    try:
        if total:
            count = rank_records(
                cython.cast(cython.p_uchar, text),
                cython.address(entries[0]),
                cython.address(records[0]),
                total,
                cython.address(reading),
                dialect,
                found,
                cython.address(spare),
            )
        else:
            count = 0
        pack(made, found, count, reading.wildcards)
    finally:
        free(found)
        free(spare)
    return 0


def reading_of(dialect):  # types, here and below: see the .pxd
    """How a dialect reads patterns."""
    reading: Reading
    reading.form = FORMS[dialect.path_form]
    reading.order = _ORDERS[dialect.precedence]
    reading.allow_wins = dialect.tie == "allow"
    reading.wildcards = dialect.wildcards
    reading.index_html = dialect.index_html
    return reading


def rank_records(octets, entries, records, total, reading, dialect, found, spare):
    """Patterns with their ranks, as `ranked` in rules.py gives them, but equal ones each: how many there are.

    Args:
        found: room for twice as many patterns as there are records.
        spare: set to memory that holds patterns that do not stand in the file as they are; to be freed with `found`.
    """
    looks: cython.p_const_char = _LOOKS_AT
    count: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    at: cython.Py_ssize_t
    size: cython.Py_ssize_t
    octets_in_all: cython.Py_ssize_t = 0
    entry: cython.ulonglong
    text: cython.p_uchar
    free_room: cython.p_uchar = cython.NULL
    char: cython.uchar
    allow: cython.bint
    special: cython.bint
    index: cython.bint
    for i in range(total):
        entry = entries[records[i]]
        text = octets + cython.cast(cython.Py_ssize_t, entry >> 32)
        size = cython.cast(cython.Py_ssize_t, entry >> 8 & 0xFFFFFF)
        allow = (entry & 0xFF) == 2
        special = False
        for at in range(size):
            char = text[at]
            if looks[char] and not (reading.wildcards and (char == 42 or (char == 36 and at + 1 == size))):
                special = True
                break
        if (special or (allow and reading.index_html)) and free_room == cython.NULL:
            for at in range(i, total):
                octets_in_all += cython.cast(cython.Py_ssize_t, entries[records[at]] >> 8 & 0xFFFFFF)
            spare[0] = cython.cast(cython.p_uchar, malloc(6 * octets_in_all + total + 1))
            free_room = spare[0]
            if free_room == cython.NULL:
                with cython.gil:
                    raise MemoryError
        if special:
            if reading.form == 0:
                size = _compared(text, size, dialect, free_room)
            else:  # as `comparable`, without its cost
                size = normalise(text, size, reading.form, reading.wildcards, free_room)
            text = free_room
            free_room += size
        found[count].text = text
        found[count].size = size
        found[count].rank = _rank(records[i], size, allow, reading.order, reading.allow_wins)
        count += 1
        if allow and reading.index_html:
            at = size - 1
            while at >= 0 and text[at] != 47:
                at -= 1
            index = at >= 0 and size - at >= 10
            if index and memcmp(text + at, cython.cast(cython.p_const_char, b"/index.htm"), 10) == 0:
                memcpy(free_room, text, at + 1)
                free_room[at + 1] = 36
                found[count].text = free_room
                found[count].size = at + 2
                found[count].rank = _rank(records[i], at + 2, allow, reading.order, reading.allow_wins)
                free_room += at + 2
                count += 1
    return count


@cython.cfunc
@cython.with_gil
@cython.exceptval(-1)
def _compared(text: cython.p_uchar, size: cython.Py_ssize_t, dialect: object, out: cython.p_uchar) -> cython.Py_ssize_t:
    """`comparable`, written to `out`."""
    pattern: bytes = comparable(text[:size], dialect)
    given: cython.p_const_char = pattern
    memcpy(out, given, len(pattern))
    return len(pattern)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rank(
    number: cython.ulonglong, size: cython.Py_ssize_t, allow: cython.bint, order: cython.int, allow_wins: cython.bint
) -> cython.ulonglong:
    """As `_rank` in rules.py."""
    yes: cython.ulonglong = 1 if allow else 0
    weight: cython.ulonglong = 0
    most: cython.ulonglong = 0xFFFFFFFF
    if order == _LONGEST:
        weight = cython.cast(cython.ulonglong, size) << 34
        if allow_wins:
            weight |= yes << 33
    elif order == _ALLOW_FIRST:
        weight = yes << 33
    elif order == _DISALLOW_FIRST:
        weight = (1 - yes) << 33
    return weight | (most - number) << 1 | (yes if size else 1)
