# cython: language_level=3, boundscheck=False, wraparound=False
"""The rules of an agent, ready to be asked, and the question: the fast form.

Literal patterns stand in one sorted table: if a pattern is a prefix of the path, so are all patterns that are prefixes
of it, so one binary search and a walk along parent links finds all that match. Patterns with `*` or a final `$` are few
as a rule and are then tried from the highest rank down; where they are many, each is filed under a rare run of three
octets that must occur in the path, so that the cost follows the path's length and not the file's.

A matcher works on the octets of the file: making one costs about as much as reading the file did, and a pattern becomes
an object only where it has to be normalised. What all this gives is documented in reference.py.
"""

from comity_robots.directives import ALLOW, RULES
from comity_robots.engine import reference
from comity_robots.engine.reference import unanswerable

cdef unsigned int _ALLOW = ALLOW
cdef unsigned int _RULES = RULES
cdef unsigned int _WILDCARDS = switch("wildcards")
cdef unsigned int _INDEX_HTML = switch("index_html")
cdef unsigned int _SEMICOLON = switch("semicolon_path")
cdef unsigned int _EXEMPT = switch("robots_txt_allowed")  # whatever the rules say
cdef enum:
    _FEW = 12  # wildcard patterns that are simply tried one after the other
    _SEEN = 1 << 13  # bits of the filter before the hash table
    _LONG = 1_000_000  # wildcard patterns times octets: an answer may take milliseconds
    _COUNTERS = 1 << 12  # of runs of three octets; some share one
    _MOST_KEPT = 128  # agents, and sets of groups, whose matchers a file keeps


cdef class Matcher:
    """The rules of one agent, ready to be asked. Immutable."""

    def allows(self, bytes path):
        """Whether the rules allow a path, given as `path_of` gives it."""
        return _allows(self, path)

    def best(self, bytes path):
        """The highest rank among the rules that match a path; 0 where none does."""
        return _best(self, path)

    def answer(self, url, agent):
        """`allows` for a URL."""
        return _answer(self, url, agent)

    def __sizeof__(self):
        return 160 + self._size

    def __dealloc__(self):
        free(self._text)
        free(self._starts)
        free(self._parents)
        free(self._bests)
        free(self._wild_text)
        free(self._wild_starts)
        free(self._wild_ranks)
        free(self._tried)
        free(self._keys)
        free(self._places)
        free(self._listed)
        free(self._seen)


cdef inline u64 _best(Matcher self, bytes path):
    cdef const char* octets = path
    cdef Py_ssize_t length = len(path)
    cdef u64 best
    if self._wild_count * length <= _LONG:
        return best_packed(self, octets, length)
    with nogil:  # other threads go on meanwhile
        best = best_packed(self, octets, length)
    return best


cdef inline bint _allows(Matcher matcher, bytes path):
    cdef u64 rank = _best(matcher, path)
    return rank & 1 or rank == 0 or (matcher._exempt and is_robots_txt(path, len(path)))


cdef inline bint _answer(Matcher matcher, object url, object agent) except -1:
    cdef bytes path = path_of(url, matcher._form, matcher._semicolon)
    if len(path) == 0:
        raise unanswerable(url, agent)
    return _allows(matcher, path)


cdef class Matchers:
    """The hot half of a parsed file: a matcher for each agent that has been asked about, and the question."""

    def __init__(self, bytes body, dialect):
        self.body = body
        self.dialect = dialect
        self._reading = reading_of(dialect)
        self._matchers = {}

    def allowed(self, url, agent):
        if not isinstance(agent, str):
            raise unanswerable(url, agent)
        matcher = self._matchers.get(agent)
        if matcher is not None:
            return _answer(matcher, url, agent)
        cdef bytes path = path_of(url, self._reading.form, self._reading.switches & _SEMICOLON)
        if len(path) == 0:
            raise unanswerable(url, agent)
        if _suits_first(self._reading) and agent.isascii() and agent not in self._matchers:
            answer = _first_answer(self, path, agent)
            self._keep(agent, None)
            return answer
        return _allows(self._matcher_for(agent), path)

    def allowed_many(self, urls, agent):
        """`allowed` for many URLs."""
        if isinstance(urls, str | bytes):
            raise TypeError("urls: several URLs are expected, not one text")
        if not isinstance(agent, str):
            raise unanswerable("/", agent)
        matcher = self._matchers.get(agent)
        if matcher is None:
            matcher = self._matcher_for(agent)
        return [_answer(matcher, url, agent) for url in urls]

    cpdef _keep(self, key, matcher):
        if len(self._matchers) >= _MOST_KEPT:
            self._matchers.clear()
        self._matchers[key] = matcher

    def _matcher_for(self, agent):
        raise NotImplementedError


cdef inline bint _suits_first(Reading reading):
    """Whether the first question about an agent, which is often the only one, is answered without a matcher."""
    return reading.merged and reading.order == LONGEST and reading.allow_wins and reading.switches & _WILDCARDS


def matcher_of(bytes body, array index, array numbers, dialect):
    cdef Reading reading = reading_of(dialect)
    cdef Matcher made = blank_for(reading)
    cdef const char* text = body
    cdef Py_ssize_t total = len(numbers), count
    cdef Patterns found = room_for(2 * total)
    cdef unsigned char* spare = NULL
    try:
        count = rank_records(<unsigned char*>text, <Entry*>index.data.as_voidptr,
                             <unsigned int*>numbers.data.as_voidptr, total, reading, found, &spare)
        pack(made, found, count, reading.switches & _WILDCARDS)
    finally:
        free(found)
        free(spare)
    return made


def matcher(dict ranks, dialect):
    cdef Reading reading = reading_of(dialect)
    cdef Matcher made = blank_for(reading)
    cdef Patterns found = room_for(len(ranks))
    cdef Py_ssize_t count = 0
    cdef bytes pattern
    try:
        for pattern, rank in ranks.items():
            found[count].text = <unsigned char*><char*>pattern
            found[count].size = len(pattern)
            found[count].rank = rank
            count += 1
        pack(made, found, count, reading.switches & _WILDCARDS)
    finally:
        free(found)
    return made


cdef Matcher blank_for(Reading reading):
    """A matcher without rules, to be packed."""
    cdef Matcher made = Matcher()
    made._form = reading.form
    made._semicolon = reading.switches & _SEMICOLON
    made._exempt = reading.switches & _EXEMPT
    return made


cdef bint _first_answer(Matchers self, bytes path, agent) except -1:
    """Rules are tried as they stand in the file, one after the other: of the longest that match one that allows wins."""
    cdef Reading reading = self._reading
    cdef const char* text = self.body
    cdef const char* target = path
    cdef const Entry* entries = <Entry*>self._index.data.as_voidptr
    cdef Py_ssize_t total = len(self._index), groups = 0, i, most = -1
    cdef Entry entry
    cdef tuple match_names = match_names_of(reading, agent)
    cdef Names names = names_of(match_names, reading.letters)
    cdef unsigned int* found
    if reading.switches & _EXEMPT and is_robots_txt(path, len(path)):
        return True
    found = <unsigned int*>malloc(8 * total + 8)
    if found == NULL:
        raise MemoryError
    try:
        for i in range(choose_into(text, entries, total, &names, _RULES, _RULES, found, found + total, &groups)):
            entry = entries[found[i]]
            most = max(most, _weight(text + start_of(entry), size_of(entry), directive_of(entry) == _ALLOW, target,
                                     len(path), reading))
    finally:
        free(found)
    return most < 2 or most & 1 == 1


cdef Py_ssize_t _weight(const char* pattern, Py_ssize_t size, bint allow, const char* path, Py_ssize_t length,
                        Reading reading) except -2:
    """Twice the octets of a rule's pattern, plus one where it allows; -1 where it does not match."""
    cdef Py_ssize_t i
    cdef unsigned char char
    cdef bytes normal
    cdef bint plain = True
    cdef const char* looks = LOOKS_AT
    for i in range(size):
        char = <unsigned char>pattern[i]
        if _is_special(looks, char, i + 1 == size, True):
            normal = reference.comparable(pattern[:size], reading.dialect)
            return _weight_of(normal, len(normal), allow, path, length, reading.switches & _INDEX_HTML)
        if char == 42 or char == 36:
            plain = False
        elif plain and (i >= length or char != <unsigned char>path[i]):
            # No match, whatever follows; but `Allow: /dir/index.html` may still allow /dir/, and so may what is
            # the same once it is decoded.
            if not (allow and reading.switches & _INDEX_HTML):
                return -1
            plain = False
    return _weight_of(pattern, size, allow, path, length, reading.switches & _INDEX_HTML)


cdef Py_ssize_t _weight_of(const char* pattern, Py_ssize_t size, bint allow, const char* path, Py_ssize_t length,
                           bint index_html) noexcept:
    cdef Py_ssize_t slash
    if matches_octets(pattern, size, path, length):
        return 2 * size + allow
    if allow and index_html:
        slash = _index_html(pattern, size)
        if slash >= 0 and _directory_matches(pattern, slash + 1, path, length):
            return 2 * (slash + 2) + 1
    return -1


cdef bint _directory_matches(const char* pattern, Py_ssize_t size, const char* path, Py_ssize_t length) noexcept:
    """Whether the pattern's directory, anchored at its end, matches the path."""
    cdef bytes anchored
    if memchr(pattern, 42, size) == NULL:
        return size == length and memcmp(pattern, path, size) == 0
    anchored = pattern[:size] + b"$"
    return matches_octets(anchored, size + 1, path, length)


cdef inline bint _is_special(const char* looks, unsigned char char, bint last, bint wildcards) noexcept nogil:
    """Whether a pattern with this octet may have to be normalised."""
    return looks[char] and not (wildcards and (char == 42 or (char == 36 and last)))


cdef Py_ssize_t _index_html(const char* pattern, Py_ssize_t size) noexcept nogil:
    """Where the last slash of a pattern stands, if `index.htm` follows it; negative where not."""
    cdef Py_ssize_t slash = size - 1
    while slash >= 0 and pattern[slash] != 47:
        slash -= 1
    return slash if slash >= 0 and size - slash >= 10 and memcmp(pattern + slash, b"/index.htm", 10) == 0 else -1


cdef Py_ssize_t rank_records(unsigned char* octets, const Entry* entries, const unsigned int* records,
                             Py_ssize_t total, Reading reading, Patterns found, unsigned char** spare) except -1 nogil:
    """Patterns with their ranks, as `ranked` gives them, but equal ones each: how many there are.

    Args:
        found: room for twice as many patterns as there are records.
        spare: set to memory that holds patterns that do not stand in the file as they are; to be freed with `found`.
    """
    cdef Py_ssize_t i, at, size
    cdef Entry entry
    cdef unsigned char* text
    cdef bint allow, special
    cdef bint wildcards = reading.switches & _WILDCARDS, index_html = reading.switches & _INDEX_HTML
    cdef const char* looks = LOOKS_AT
    cdef Py_ssize_t count = 0, octets_in_all = 0
    cdef unsigned char* free_room = NULL
    for i in range(total):
        entry = entries[records[i]]
        text = octets + start_of(entry)
        size = size_of(entry)
        allow = directive_of(entry) == _ALLOW
        special = False
        for at in range(size):
            if _is_special(looks, text[at], at + 1 == size, wildcards):
                special = True
                break
        if (special or (allow and index_html)) and free_room == NULL:
            for at in range(i, total):
                octets_in_all += size_of(entries[records[at]])
            spare[0] = <unsigned char*>(malloc(6 * octets_in_all + total + 1))
            free_room = spare[0]
            if free_room == NULL:
                with gil:
                    raise MemoryError
        if special:
            if reading.form == 0:
                size = _compared(text, size, reading.dialect, free_room)
            else:  # as `comparable`, without its cost
                size = normalise(text, size, reading.form, wildcards, free_room)
            text = free_room
            free_room += size
        found[count].text = text
        found[count].size = size
        found[count].rank = _rank(records[i], size, allow, reading.order, reading.allow_wins)
        count += 1
        if allow and index_html:
            at = _index_html(<const char*>text, size)
            if at >= 0:
                memcpy(free_room, text, at + 1)
                free_room[at + 1] = 36
                found[count].text = free_room
                found[count].size = at + 2
                found[count].rank = _rank(records[i], at + 2, allow, reading.order, reading.allow_wins)
                free_room += at + 2
                count += 1
    return count


cdef Py_ssize_t _compared(unsigned char* text, Py_ssize_t size, object dialect, unsigned char* out) except -1 with gil:
    """`comparable`, written to `out`."""
    cdef bytes pattern = reference.comparable(text[:size], dialect)
    cdef const char* given = pattern
    memcpy(out, given, len(pattern))
    return len(pattern)


cdef u64 _rank(u64 number, Py_ssize_t size, bint allow, int order, bint allow_wins) noexcept nogil:
    cdef u64 yes = 1 if allow else 0, weight = 0, most = 0xFFFFFFFF
    if order == LONGEST:
        weight = <u64>size << 34
        if allow_wins:
            weight |= yes << 33
    elif order == ALLOW_FIRST:
        weight = yes << 33
    elif order == DISALLOW_FIRST:
        weight = (1 - yes) << 33
    return weight | (most - number) << 1 | (yes if size else 1)


cdef Patterns room_for(Py_ssize_t count) except NULL nogil:
    """Room for patterns, to be freed by whom asked for it."""
    cdef Patterns room = <Patterns>(malloc((count if count else 1) * sizeof(Pattern)))
    if room == NULL:
        with gil:
            raise MemoryError
    return room


cdef void* _room(Matcher made, Py_ssize_t count, Py_ssize_t width) nogil:
    """Memory that belongs to a matcher."""
    cdef void* room = calloc(count if count else 1, width)
    if room == NULL:
        with gil:
            raise MemoryError
    made._size += count * width
    return room


cdef int pack(Matcher made, Patterns found, Py_ssize_t count, bint wildcards) except -1 nogil:
    """Sort patterns, keep the strongest of equal ones, and copy them into plain memory."""
    cdef Py_ssize_t i
    cdef unsigned char* text
    cdef unsigned int size
    cdef Py_ssize_t literals = 0, others = 0, octets = 0, last = -1
    cdef Patterns wild = room_for(count)
    try:
        _sort(found, wild, count)
        for i in range(count):
            text = found[i].text
            size = found[i].size
            if last >= 0 and size == found[last].size and memcmp(text, found[last].text, size) == 0:
                continue
            last = i
            if wildcards and size and (text[size - 1] == 36 or memchr(text, 42, size) != NULL):
                wild[others] = found[i]
                others += 1
            else:
                found[literals] = found[i]
                last = literals
                literals += 1
                octets += size
        _pack_literals(made, found, literals, octets)
        qsort(wild, others, sizeof(Pattern), _by_rank)
        _pack_wild(made, wild, others)
    finally:
        free(wild)
    return 0


cdef inline bint _precedes(Patterns one, Patterns other) noexcept nogil:
    """By their octets; of equal patterns the strongest first. The eight in which they differ first settle most."""
    cdef int order
    if one.key != other.key:
        return one.key < other.key
    order = memcmp(one.text, other.text, min(one.size, other.size))
    if order:
        return order < 0
    return one.size < other.size if one.size != other.size else one.rank > other.rank


cdef void _sort(Patterns found, Patterns spare, Py_ssize_t count) noexcept nogil:
    """Merge sort: qsort's calls would cost more than all the rest."""
    cdef Py_ssize_t begin, middle, end, i, j, at
    cdef Pattern one
    cdef Py_ssize_t width = 8
    cdef Patterns source = found, target = spare
    cdef Py_ssize_t shared = found[0].size if count else 0  # octets that all of them begin with
    for i in range(1, count):
        at = 0
        while at < shared and at < found[i].size and found[i].text[at] == found[0].text[at]:
            at += 1
        shared = at
    for i in range(count):
        found[i].key = 0
        for at in range(shared, shared + 8):
            found[i].key = found[i].key << 8 | (found[i].text[at] if at < found[i].size else 0)
    begin = 0
    while begin < count:  # short runs by insertion
        end = min(begin + width, count)
        for i in range(begin + 1, end):
            one = found[i]
            j = i
            while j > begin and _precedes(&one, found + j - 1):
                found[j] = found[j - 1]
                j -= 1
            found[j] = one
        begin = end
    while width < count:
        begin = 0
        while begin < count:
            middle = min(begin + width, count)
            end = min(begin + 2 * width, count)
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
        memcpy(found, source, count * sizeof(Pattern))


cdef int _by_rank(const void* one, const void* other) noexcept nogil:
    """The strongest first."""
    return -1 if (<Patterns>one).rank > (<Patterns>other).rank else 1


cdef int _pack_literals(Matcher made, Patterns found, Py_ssize_t count, Py_ssize_t octets) except -1 nogil:
    cdef Py_ssize_t i
    cdef int parent
    cdef unsigned int at = 0
    made._count = count
    made._text = <char*>(_room(made, octets, 1))
    made._starts = <unsigned int*>(_room(made, count + 1, 4))
    made._parents = <int*>(_room(made, count, 4))
    made._bests = <u64*>(_room(made, count, 8))
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


cdef int _pack_wild(Matcher made, Patterns wild, Py_ssize_t count) except -1 nogil:
    cdef Py_ssize_t i
    cdef unsigned int at = 0
    cdef Py_ssize_t octets = 0
    for i in range(count):
        octets += wild[i].size
    made._wild_count = count
    made._wild_text = <char*>(_room(made, octets, 1))
    made._wild_starts = <unsigned int*>(_room(made, count + 1, 4))
    made._wild_ranks = <u64*>(_room(made, count, 8))
    made._tried = <unsigned int*>(_room(made, count, 4))
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


cdef inline unsigned int _run(Patterns pattern, Py_ssize_t at) noexcept nogil:
    """The run of three octets at a place of a pattern, plus one; 0 where an asterisk or the end interrupts it."""
    cdef unsigned int a = pattern.text[at]
    cdef unsigned int b = pattern.text[at + 1]
    cdef unsigned int c = pattern.text[at + 2]
    if a == 42 or b == 42 or c == 42 or (c == 36 and at + 3 == pattern.size):
        return 0
    return (a << 16 | b << 8 | c) + 1


cdef inline unsigned int _counter(unsigned int key) noexcept nogil:
    """Which counter counts a run; quicker than `spread` and good enough."""
    cdef unsigned int mixer = 0x9E3779B1
    key = key * mixer
    return key >> 20  # _COUNTERS of them


cdef int _pack_filed(Matcher made, Patterns wild, Py_ssize_t count) except -1 nogil:
    """File patterns under a rare run of three octets that a path must hold; those without any are always tried."""
    cdef Py_ssize_t i, at
    cdef unsigned int key, rarest, occurs, slot
    cdef unsigned int* counters = <unsigned int*>(calloc(_COUNTERS, 4))
    cdef unsigned int* keys = <unsigned int*>(calloc(count, 4))  # what each is filed under
    cdef unsigned int size = 4
    cdef Py_ssize_t filed = 0
    cdef unsigned int place = 0
    try:
        if counters == NULL or keys == NULL:
            with gil:
                raise MemoryError
        for i in range(count):
            for at in range(<Py_ssize_t>(wild[i].size) - 2):
                key = _run(wild + i, at)
                if key:
                    counters[_counter(key)] += 1
        for i in range(count):
            rarest = 0xFFFFFFFF
            for at in range(<Py_ssize_t>(wild[i].size) - 2):
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
        made._keys = <unsigned int*>(_room(made, size, 4))
        made._places = <unsigned int*>(_room(made, size, 4))
        made._listed = <unsigned int*>(_room(made, 2 * filed, 4))  # each list: how many, then the numbers
        made._seen = <unsigned char*>(_room(made, _SEEN // 8, 1))
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


cdef unsigned int _slot(Matcher made, unsigned int key) noexcept nogil:
    """Where in the hash table a key stands, or would."""
    cdef unsigned int slot = spread(key) & made._mask
    while made._keys[slot] and made._keys[slot] != key:
        slot = (slot + 1) & made._mask
    return slot


cdef unsigned int spread(unsigned int key) noexcept nogil:
    """Mix the bits of a key, so that near keys land far apart."""
    cdef unsigned int mixer = 0x9E3779B1
    key = (key ^ (key >> 11)) * mixer
    return key ^ (key >> 15)


cdef u64 best_packed(Matcher self, const char* path, Py_ssize_t length) noexcept nogil:
    """`Matcher.best`."""
    cdef Py_ssize_t middle, size
    cdef int order
    cdef char* text
    cdef u64 best = 0
    cdef Py_ssize_t low = 0, high = self._count
    while low < high:  # how many literals sort before the path or equal it
        middle = (low + high) >> 1
        text = self._text + self._starts[middle]
        size = self._starts[middle + 1] - self._starts[middle]
        order = memcmp(text, path, size if size < length else length)
        if order < 0 or (order == 0 and size <= length):
            low = middle + 1
        else:
            high = middle
    low -= 1
    if low >= 0:
        text = self._text + self._starts[low]
        size = self._starts[low + 1] - self._starts[low]
        high = 0  # from here on: how many octets the two have in common
        while high < size and high < length and text[high] == path[high]:
            high += 1
        while low >= 0 and <Py_ssize_t>(self._starts[low + 1] - self._starts[low]) > high:
            low = self._parents[low]
        if low >= 0:
            best = self._bests[low]
    for middle in range(self._tried_count):
        low = self._tried[middle]
        if self._wild_ranks[low] <= best:
            break
        if _matches_wild(self, low, path, length):
            best = self._wild_ranks[low]
            break
    if self._keys != NULL:
        best = _best_filed(self, path, length, best)
    return best


cdef inline bint _matches_wild(Matcher self, Py_ssize_t number, const char* path, Py_ssize_t length) noexcept nogil:
    cdef unsigned int at = self._wild_starts[number]
    return matches_octets(self._wild_text + at, self._wild_starts[number + 1] - at, path, length)


cdef u64 _best_filed(Matcher self, const char* path, Py_ssize_t length, u64 best) noexcept nogil:
    cdef unsigned int key, slot, place, number, left
    cdef Py_ssize_t i
    cdef unsigned char* octets = <unsigned char*>path
    for i in range(length - 2):
        key = (<unsigned int>octets[i] << 16 | <unsigned int>octets[i + 1] << 8 | octets[i + 2]) + 1
        slot = spread(key)
        if not self._seen[(slot >> 16 & (_SEEN - 1)) >> 3] >> (slot >> 16 & 7) & 1:
            continue
        slot = _slot(self, key)
        if not self._keys[slot]:
            continue
        place = self._places[slot]
        left = self._listed[place]
        while left:
            place += 1
            left -= 1
            number = self._listed[place]
            if self._wild_ranks[number] <= best:
                break  # listed from the highest rank down
            if _matches_wild(self, number, path, length):
                best = self._wild_ranks[number]
                break
    return best
