# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The rules of an agent laid out for many questions, and the question: which rule that matches a path is strongest?

Ranks and patterns come from `comity_robots`. A rule is tried by a mask over seven octets, by a set of octets that
the path must hold, and only then by its text; where there are many, by the bucket of a path's first octets. Where that
does not tell them apart, the engine's own Matcher is asked. Compiled only; no object of Python's is made.
"""

from comity_robots.engine.reference import LOOKS
from comity_robots.plain_urls import QUERY, SEGMENT

cdef unsigned int _WILD = 1
cdef unsigned int _LONG = 2
cdef unsigned int _EMPTY = 4
cdef enum:
    _LEAD = 7  # octets of a key
cdef Py_ssize_t _FEW = 12  # rules that need no buckets
cdef u64 _LOW = 0xFFFFFFFF
cdef u64 _SET = (1 << 60) - 1


def _marks():
    """By octet: a bit of the set of a path's octets (0 to 59); 60 where the path needs a closer look, 61 for a dot."""
    others = [code for code in range(33, 127) if not chr(code).isalnum()]
    found = []
    for code in range(256):
        char = chr(code)
        if code < 128 and char.isalpha():
            bit = ord(char.lower()) - 97
        elif code < 128 and char.isdigit():
            bit = 26 + code - 48
        else:
            bit = 36 + (others.index(code) % 24 if code in others else 0)
        plain = char in "/.?" or (char in SEGMENT and char in QUERY)
        found.append(1 << bit | (0 if plain and not LOOKS[code] else 1 << 60) | (1 << 61 if char == "." else 0))
    return found


def _prepare():
    cdef int i, at
    cdef unsigned char* octets
    marks: list = _marks()
    for i in range(256):
        MARKS[i] = marks[i]
    for i in range(9):
        MASKS[i] = 0
        octets = <unsigned char*>(&MASKS[i])
        for at in range(i):
            octets[at] = 255


_prepare()


cdef u64 head_of(const char* path, Py_ssize_t length) noexcept nogil:
    """Up to eight octets behind a path's first slash, zeros behind its end."""
    cdef u64 head = 0
    if length > 8:
        memcpy(&head, path + 1, 8)
    elif length > 1:
        memcpy(&head, path + 1, length - 1)
    return head


cdef unsigned int bucket_of(Program* program, u64 head) noexcept nogil:
    """The bucket in which the rules are that a path with this head may match."""
    return _bucket(head, program.depth, program.bits)


cdef inline int _lead_of(u64 key) noexcept nogil:
    """How many octets a key has."""
    return (<unsigned char*>&key)[_LEAD]


cdef inline unsigned int _bucket(u64 head, int depth, int bits) noexcept nogil:
    cdef u64 mixer = 0x9E3779B97F4A7C15
    if bits == 0:
        return 0
    return <unsigned int>(((head & MASKS[depth]) * mixer) >> (64 - bits))


cdef void make_rules(Patterns found, Py_ssize_t count, const u64* records, bint wildcards, u64* keys, Rule* rules,
                u64* entries, Plan* plan) noexcept nogil:
    """From ranked patterns to rules, those left out that match no path; and how they will be laid out.

    Args:
        found: patterns with their ranks; those that stay are moved to the front, and a rank gets the place of its rule
            there for the number of its record.
        keys, rules, entries: room for `count` each; entries are set to the records of the rules.
    """
    cdef Py_ssize_t i, at, size, lead
    cdef unsigned char* text
    cdef unsigned char* key
    cdef Rule* rule
    cdef u64 entry
    cdef unsigned int about
    cdef Py_ssize_t kept = 0
    plan.octets = 0
    for i in range(count):
        text = found[i].text
        size = found[i].size
        about = 0
        if wildcards:
            while size and text[size - 1] == 42:  # a last asterisk changes nothing
                size -= 1
            if size and ((text[size - 1] == 36 and size == found[i].size) or memchr(text, 42, size) != NULL):
                about = _WILD
        if size and text[0] != 47 and not (about and text[0] == 42):
            continue  # a path begins with a slash
        entry = records[_LOW - (found[i].rank >> 1 & _LOW)]
        if size_of(entry) == 0:
            about |= _EMPTY
        rule = rules + kept
        rule.need = keys[kept] = 0
        key = <unsigned char*>(keys + kept)
        lead = 0
        while lead < _LEAD and lead + 1 < size:
            if about & _WILD and (text[lead + 1] == 42 or (text[lead + 1] == 36 and lead + 2 == size)):
                break
            key[lead] = text[lead + 1]
            lead += 1
        if about & _WILD:
            if text[0] == 42:
                lead = 0
            for at in range(size):
                if text[at] != 42 and not (text[at] == 36 and at + 1 == size):
                    rule.need |= MARKS[text[at]]
            rule.need &= _SET
        elif size > _LEAD + 1:
            about |= _LONG
        key[_LEAD] = <unsigned char>lead
        rule.text = <unsigned int>plan.octets
        if about & _WILD:
            plan.octets += size
        elif size > _LEAD + 1:
            plan.octets += size - _LEAD - 1
        rule.about = <unsigned int>size << 8 | about
        rule.rank = found[i].rank >> 33 << 33 | (_LOW - <u64>kept) << 1 | (found[i].rank & 1)
        entries[kept] = entry
        found[kept] = found[i]
        found[kept].rank = rule.rank
        kept += 1
    plan.count = kept
    _planned(keys, plan)


cdef void _planned(const u64* keys, Plan* plan) noexcept nogil:
    """By how many octets rules are told apart best, and how many are then tried for a path."""
    cdef unsigned int counts[257]
    cdef Py_ssize_t i, common, largest, tried
    cdef unsigned int bucket
    cdef int depth = 1, bits = 0
    plan.depth = plan.bits = 0
    plan.tried = plan.count
    if plan.count <= _FEW:
        return
    while bits < 8 and 2 << bits < plan.count:
        bits += 1
    while True:
        for i in range(1 << bits):
            counts[i] = 0
        common = largest = 0
        for i in range(plan.count):
            if _lead_of(keys[i]) < depth:
                common += 1
                continue
            bucket = _bucket(keys[i], depth, bits)
            counts[bucket] += 1
            if counts[bucket] > largest:
                largest = counts[bucket]
        tried = common + largest
        if tried < plan.tried:
            plan.tried = tried
            plan.depth = depth
            plan.bits = bits
        if depth == _LEAD:
            return
        depth = min(2 * depth, _LEAD)


cdef Py_ssize_t octets_of(Plan* plan) noexcept nogil:
    """How much memory a program takes."""
    cdef Py_ssize_t size = sizeof(Program) + plan.count * (sizeof(Rule) + 16) + plan.octets
    if plan.bits:
        size += 8 * ((1 << plan.bits) // 2 + 1)
    return (size + 63) & ~63


cdef void write_program(Program* program, Patterns found, const u64* keys, Rule* rules, const u64* entries,
                   Plan* plan) noexcept nogil:
    """Write a program where `octets_of` its plan are free."""
    cdef unsigned int ends[257]
    cdef Py_ssize_t i, size
    cdef unsigned int at, bucket
    cdef int depth = plan.depth
    cdef u64* own = keys_of(program)
    cdef char* here = <char*>(own + plan.count)
    program.count = program.common = <unsigned int>plan.count
    program.depth = plan.depth
    program.bits = plan.bits
    program.matcher = NULL
    program.buckets = NULL
    if plan.bits:
        program.buckets = <unsigned int*>here
        here += 8 * ((1 << plan.bits) // 2 + 1)
    program.rules = <Rule*>here
    program.records = <u64*>(program.rules + plan.count)
    program.text = <char*>(program.records + plan.count)
    if plan.count:  # without any there is nothing to copy from, not even a place
        memcpy(program.records, entries, 8 * plan.count)
    for i in range(plan.count if plan.octets else 0):
        size = rules[i].about >> 8
        if rules[i].about & _WILD:
            memcpy(program.text + rules[i].text, found[i].text, size)
        elif rules[i].about & _LONG:
            memcpy(program.text + rules[i].text, found[i].text + _LEAD + 1, size - _LEAD - 1)
    if plan.bits == 0:
        if plan.count:
            memcpy(own, keys, 8 * plan.count)
            memcpy(program.rules, rules, plan.count * sizeof(Rule))
        return
    for i in range((1 << plan.bits) + 1):
        ends[i] = 0
    for i in range(plan.count):
        if _lead_of(keys[i]) >= depth:
            ends[_bucket(keys[i], depth, plan.bits) + 1] += 1
    program.common = 0
    at = <unsigned int>plan.count
    for i in range(1 << plan.bits):
        at -= ends[i + 1]
    for i in range((1 << plan.bits) + 1):
        at += ends[i]
        ends[i] = program.buckets[i] = at
    for i in range(plan.count):
        if _lead_of(keys[i]) < depth:
            at = program.common
            program.common += 1
        else:
            bucket = _bucket(keys[i], depth, plan.bits)
            at = ends[bucket]
            ends[bucket] += 1
        own[at] = keys[i]
        program.rules[at] = rules[i]


cdef inline Rule* _best_among(Program* program, unsigned int at, unsigned int end, u64 head, const char* path,
                              Py_ssize_t length, u64 marks, Rule* best) noexcept nogil:
    cdef Py_ssize_t size
    cdef Rule* rule
    cdef const u64* keys = keys_of(program)
    while at < end:
        if (head ^ keys[at]) & MASKS[_lead_of(keys[at])] == 0:
            rule = program.rules + at
            if (best == NULL or rule.rank > best.rank) and rule.need & ~marks == 0:
                size = rule.about >> 8
                if rule.about & _WILD:
                    if matches_octets(program.text + rule.text, size, path, length):
                        best = rule
                elif size <= length and (
                    not rule.about & _LONG
                    or memcmp(program.text + rule.text, path + _LEAD + 1, size - _LEAD - 1) == 0
                ):
                    best = rule
        at += 1
    return best


cdef u64 strongest(Program* program, const char* path, Py_ssize_t length, u64 marks, bint* empty) noexcept nogil:
    """The rank of the strongest rule that matches a path, 0 where none does; `empty` is set where it has no pattern.

    The lowest 33 bits of a rank say which rule it is: see `rule_of` in rows.pyx.
    """
    cdef u64 head, rank
    cdef unsigned int bucket
    cdef Rule* best = NULL
    if program.matcher != NULL:
        rank = best_packed(<Matcher>program.matcher, path, length)
        if rank:
            empty[0] = program.rules[_LOW - (rank >> 1 & _LOW)].about & _EMPTY != 0
        return rank
    head = head_of(path, length)
    if program.bits:
        bucket = bucket_of(program, head)
        best = _best_among(program, program.buckets[bucket], program.buckets[bucket + 1], head, path, length, marks,
                           best)
    best = _best_among(program, 0, program.common, head, path, length, marks, best)
    if best == NULL:
        return 0
    empty[0] = best.about & _EMPTY != 0
    return best.rank
