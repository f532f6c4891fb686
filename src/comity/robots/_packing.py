"""Ranked patterns sorted, linked, filed and copied into the plain memory of a Matcher: its compiled form only.

The tables are those that `Tables` in _match.py describes.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from comity import _cython as cython

from comity.robots._match import FEW, Matcher

_FEW = cython.declare(cython.Py_ssize_t, FEW)
_DEEP = cython.declare(cython.uint, 40)  # octets in common, beyond which patterns are compared as a whole
_FEW_LEFT = cython.declare(cython.Py_ssize_t, 6)  # patterns, below which they are
_COUNTERS = cython.declare(cython.uint, 1 << 12)  # of runs of three octets; some share one
_SEEN = cython.declare(cython.uint, 1 << 13)  # bits of the filter before the hash table, as in _match.py


def room_for(count):  # types: see the .pxd
    """Room for patterns, to be freed by whom asked for it."""
    room: Patterns = cython.cast(Patterns, malloc((count if count else 1) * cython.sizeof(Pattern)))
    if room == cython.NULL:
        with cython.gil:
            raise MemoryError
    return room


@cython.cfunc
@cython.nogil
def _room(made: Matcher, count: cython.Py_ssize_t, width: cython.Py_ssize_t) -> cython.p_void:
    """Memory that belongs to a matcher."""
    room: cython.p_void = calloc(count if count else 1, width)
    if room == cython.NULL:
        with cython.gil:
            raise MemoryError
    made._size += count * width
    return room


def pack(made, found, count, wildcards):
    """Sort patterns, keep the strongest of equal ones, and copy them into plain memory."""
    i: cython.Py_ssize_t
    literals: cython.Py_ssize_t = 0
    others: cython.Py_ssize_t = 0
    octets: cython.Py_ssize_t = 0
    last: cython.Py_ssize_t = -1
    text: cython.p_uchar
    size: cython.uint
    wild: Patterns = room_for(count)
    try:
        _sort(found, wild, count, 0)
        for i in range(count):
            text = found[i].text
            size = found[i].size
            if last >= 0 and size == found[last].size and memcmp(text, found[last].text, size) == 0:
                continue
            last = i
            if wildcards and size and (text[size - 1] == 36 or memchr(text, 42, size) != cython.NULL):
                wild[others] = found[i]
                others += 1
            else:
                found[literals] = found[i]
                last = literals
                literals += 1
                octets += size
        _pack_literals(made, found, literals, octets)
        qsort(wild, others, cython.sizeof(Pattern), _by_rank)
        _pack_wild(made, wild, others)
    finally:
        free(wild)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sort(found: Patterns, spare: Patterns, count: cython.Py_ssize_t, depth: cython.uint) -> cython.void:
    """Sort patterns that have their first `depth` octets in common; of equal ones the strongest comes first.

    Eight octets at a time are compared as one number, which settles nearly all of them.
    """
    i: cython.Py_ssize_t
    begin: cython.Py_ssize_t
    at: cython.uint
    key: cython.ulonglong
    alike: cython.bint = True
    if count < 2:
        return
    if depth > _DEEP or (depth and count < _FEW_LEFT):
        qsort(found, count, cython.sizeof(Pattern), _by_octets)
        return
    for i in range(count):
        key = 0
        if found[i].size >= depth + 8:
            for at in range(depth, depth + 8):
                key = key << 8 | found[i].text[at]
        else:
            for at in range(depth, depth + 8):
                key = key << 8 | (found[i].text[at] if at < found[i].size else 0)
        found[i].key = key
        alike = alike and key == found[0].key and found[i].size > depth + 8
    if alike:
        _sort(found, spare, count, depth + 8)
        return
    _sort_by_key(found, spare, count)
    begin = 0
    for i in range(1, count + 1):
        if i == count or found[i].key != found[begin].key:
            while begin < i and found[begin].size <= depth + 8:
                begin += 1  # the shorter ones are in order
            _sort(found + begin, spare, i - begin, depth + 8)
            begin = i


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _precedes(one: Patterns, other: Patterns) -> cython.bint:
    """By the octets under comparison; what ends among them comes before what goes on."""
    if one.key != other.key:
        return one.key < other.key
    if one.size != other.size:
        return one.size < other.size
    return one.rank > other.rank


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sort_by_key(found: Patterns, spare: Patterns, count: cython.Py_ssize_t) -> cython.void:
    """Merge sort: qsort's calls would cost more than all the rest."""
    begin: cython.Py_ssize_t
    middle: cython.Py_ssize_t
    end: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    at: cython.Py_ssize_t
    width: cython.Py_ssize_t = 8
    one: Pattern
    source: Patterns = found
    target: Patterns = spare
    begin = 0
    while begin < count:  # short runs by insertion
        end = begin + width if begin + width < count else count
        for i in range(begin + 1, end):
            one = found[i]
            j = i
            while j > begin and _precedes(cython.address(one), found + j - 1):
                found[j] = found[j - 1]
                j -= 1
            found[j] = one
        begin = end
    while width < count:
        begin = 0
        while begin < count:
            middle = begin + width if begin + width < count else count
            end = begin + 2 * width if begin + 2 * width < count else count
            i = begin
            j = middle
            for at in range(begin, end):
                if j >= end or (i < middle and not _precedes(source + j, source + i)):
                    target[at] = source[i]
                    i += 1
                else:
                    target[at] = source[j]
                    j += 1
            begin = end
        source, target = target, source
        width *= 2
    if source != found:
        memcpy(found, source, count * cython.sizeof(Pattern))


def _by_octets(one, other):
    """By all their octets."""
    left: Patterns = cython.cast(Patterns, one)
    right: Patterns = cython.cast(Patterns, other)
    order: cython.int = memcmp(left.text, right.text, left.size if left.size < right.size else right.size)
    if order:
        return order
    if left.size != right.size:
        return -1 if left.size < right.size else 1
    return -1 if left.rank > right.rank else 1


def _by_rank(one, other):
    """The strongest first."""
    return -1 if cython.cast(Patterns, one).rank > cython.cast(Patterns, other).rank else 1


@cython.cfunc
@cython.nogil
@cython.exceptval(-1)
def _pack_literals(made: Matcher, found: Patterns, count: cython.Py_ssize_t, octets: cython.Py_ssize_t) -> cython.int:
    i: cython.Py_ssize_t
    at: cython.uint = 0
    parent: cython.int
    made._count = count
    made._text = cython.cast(cython.p_char, _room(made, octets, 1))
    made._starts = cython.cast(cython.p_uint, _room(made, count + 1, 4))
    made._parents = cython.cast(cython.p_int, _room(made, count, 4))
    made._bests = cython.cast(cython.p_ulonglong, _room(made, count, 8))
    for i in range(count):
        memcpy(made._text + at, found[i].text, found[i].size)
        made._starts[i] = at
        at += found[i].size
        parent = i - 1  # the nearest before it that is a prefix of it; nothing else before it can be one
        while parent >= 0 and (
            found[parent].size > found[i].size or memcmp(found[parent].text, found[i].text, found[parent].size) != 0
        ):
            parent = made._parents[parent]
        made._parents[i] = parent
        made._bests[i] = found[i].rank
        if parent >= 0 and made._bests[parent] > found[i].rank:
            made._bests[i] = made._bests[parent]
    made._starts[count] = at
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(-1)
def _pack_wild(made: Matcher, wild: Patterns, count: cython.Py_ssize_t) -> cython.int:
    i: cython.Py_ssize_t
    at: cython.uint = 0
    octets: cython.Py_ssize_t = 0
    for i in range(count):
        octets += wild[i].size
    made._wild_count = count
    made._wild_text = cython.cast(cython.p_char, _room(made, octets, 1))
    made._wild_starts = cython.cast(cython.p_uint, _room(made, count + 1, 4))
    made._wild_ranks = cython.cast(cython.p_ulonglong, _room(made, count, 8))
    made._tried = cython.cast(cython.p_uint, _room(made, count, 4))
    for i in range(count):
        memcpy(made._wild_text + at, wild[i].text, wild[i].size)
        made._wild_starts[i] = at
        at += wild[i].size
        made._wild_ranks[i] = wild[i].rank
    made._wild_starts[count] = at
    if count > _FEW:
        return _pack_filed(made, wild, count)
    made._tried_count = count
    for i in range(count):
        made._tried[i] = i
    return 0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _run(pattern: Patterns, at: cython.Py_ssize_t) -> cython.uint:
    """The run of three octets at a place of a pattern, plus one; 0 where an asterisk or the end interrupts it."""
    a: cython.uint = pattern.text[at]
    b: cython.uint = pattern.text[at + 1]
    c: cython.uint = pattern.text[at + 2]
    if a == 42 or b == 42 or c == 42 or (c == 36 and at + 3 == pattern.size):
        return 0
    return (a << 16 | b << 8 | c) + 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _counter(key: cython.uint) -> cython.uint:
    """Which counter counts a run; quicker than `spread` and good enough."""
    mixer: cython.uint = 0x9E3779B1
    key = key * mixer
    return key >> 20  # _COUNTERS of them


@cython.cfunc
@cython.nogil
@cython.exceptval(-1)
def _pack_filed(made: Matcher, wild: Patterns, count: cython.Py_ssize_t) -> cython.int:
    """File patterns under a rare run of three octets that a path must hold; those without any are always tried."""
    counters: cython.p_uint = cython.cast(cython.p_uint, calloc(_COUNTERS, 4))
    keys: cython.p_uint = cython.cast(cython.p_uint, calloc(count, 4))  # what each is filed under
    size: cython.uint = 4
    i: cython.Py_ssize_t
    at: cython.Py_ssize_t
    filed: cython.Py_ssize_t = 0
    key: cython.uint
    rarest: cython.uint
    occurs: cython.uint
    slot: cython.uint
    place: cython.uint = 0
    try:
        if counters == cython.NULL or keys == cython.NULL:
            with cython.gil:
                raise MemoryError
        for i in range(count):
            for at in range(cython.cast(cython.Py_ssize_t, wild[i].size) - 2):
                key = _run(wild + i, at)
                if key:
                    counters[_counter(key)] += 1
        for i in range(count):
            rarest = 0xFFFFFFFF
            for at in range(cython.cast(cython.Py_ssize_t, wild[i].size) - 2):
                key = _run(wild + i, at)
                if key:
                    occurs = counters[_counter(key)]
                    if occurs < rarest:
                        rarest = occurs
                        keys[i] = key
                    if occurs == 1:
                        break
            if keys[i]:
                filed += 1
            else:
                made._tried[made._tried_count] = i
                made._tried_count += 1
        if filed == 0:
            return 0
        while size < 2 * filed:
            size *= 2
        made._mask = size - 1
        made._keys = cython.cast(cython.p_uint, _room(made, size, 4))
        made._places = cython.cast(cython.p_uint, _room(made, size, 4))
        made._listed = cython.cast(cython.p_uint, _room(made, 2 * filed, 4))  # each list: how many, then the numbers
        made._seen = cython.cast(cython.p_uchar, _room(made, _SEEN // 8, 1))
        for i in range(count):
            if keys[i]:
                slot = _slot(made, keys[i])
                made._keys[slot] = keys[i]
                made._places[slot] += 1
                slot = spread(keys[i]) >> 16 & (_SEEN - 1)
                made._seen[slot >> 3] |= 1 << (slot & 7)
        for slot in range(size):
            if made._keys[slot]:
                occurs = made._places[slot]
                made._places[slot] = place
                place += occurs + 1
        for i in range(count):
            if keys[i]:
                place = made._places[_slot(made, keys[i])]
                made._listed[place] += 1
                made._listed[place + made._listed[place]] = i
    finally:
        free(counters)
        free(keys)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _slot(made: Matcher, key: cython.uint) -> cython.uint:
    """Where in the hash table a key stands, or would."""
    slot: cython.uint = spread(key) & made._mask
    while made._keys[slot] and made._keys[slot] != key:
        slot = (slot + 1) & made._mask
    return slot
