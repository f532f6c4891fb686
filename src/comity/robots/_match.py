"""Which rule decides about a path: the matching rule with the highest rank.

A Matcher holds the rules of one agent. Literal patterns stand in one sorted table: if a pattern is a prefix of the
path, so are all patterns that are prefixes of it, so one binary search and a walk along parent links finds all that
match. Patterns with `*` or a final `$` are few as a rule and are then tried from the highest rank down; where they are
many, each is filed under a rare run of three octets that must occur in the path, so that the cost follows the path's
length and not the file's. Nothing here knows of files, lines, groups or dialects' names.

A rank is one number: precedence first, then tie, then position in the file (see rules.py); its lowest bit says
whether the rule allows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

try:
    import cython
except ModuleNotFoundError:
    from comity import _cython as cython

from comity.robots._pattern import matches

if not cython.compiled:  # compiled, it comes from the .pxd file, without Python in between
    from comity.robots._path import path_of

FEW = 12  # wildcard patterns that are simply tried one after the other
_SEEN = cython.declare(cython.uint, 1 << 13)  # bits of the filter before the hash table


class _Tables:
    """What a Matcher is made of, before it is packed: built the same way in both forms."""

    def __init__(self, ranks: dict[bytes, int], wildcards: bool) -> None:
        self.literals: list[bytes] = []
        self.parents: list[int] = []
        self.bests: list[int] = []
        wild: list[tuple[int, bytes]] = []
        for pattern, rank in ranks.items():
            if wildcards and (b"*" in pattern or pattern.endswith(b"$")):
                wild.append((rank, pattern))
            else:
                self.literals.append(pattern)
        self.literals.sort()
        chain: list[int] = []
        for number, literal in enumerate(self.literals):
            while chain and not literal.startswith(self.literals[chain[-1]]):
                chain.pop()
            parent = chain[-1] if chain else -1
            rank = ranks[literal]
            self.parents.append(parent)
            self.bests.append(max(rank, self.bests[parent]) if parent >= 0 else rank)
            chain.append(number)
        wild.sort(reverse=True)
        self.wild_ranks = [rank for rank, _ in wild]
        self.wild = [pattern for _, pattern in wild]
        self.tried, self.filed = _file(self.wild)


def _file(patterns: list[bytes]) -> tuple[list[int], dict[int, list[int]]]:
    """Patterns to be tried always, and patterns filed under a run of three octets that a path must hold."""
    if len(patterns) <= FEW:
        return list(range(len(patterns))), {}
    grams: list[set[int]] = []
    frequency: dict[int, int] = {}
    for pattern in patterns:
        own = {
            run[i] << 16 | run[i + 1] << 8 | run[i + 2]
            for run in pattern.removesuffix(b"$").split(b"*")
            for i in range(len(run) - 2)
        }
        grams.append(own)
        for gram in own:
            frequency[gram] = frequency.get(gram, 0) + 1
    tried: list[int] = []
    filed: dict[int, list[int]] = {}
    for number, own in enumerate(grams):
        if own:
            filed.setdefault(min(own, key=lambda gram: (frequency[gram], gram)), []).append(number)
        else:
            tried.append(number)
    return tried, filed


@cython.cclass
class Matcher:
    """The rules of one agent, ready to be asked. Immutable.

    Args:
        ranks: normalised pattern -> rank of the best rule that has it.
        form: how paths are normalised, one of FORMS.
        wildcards: whether `*` and a final `$` are special.
        robots_txt_allowed: whether `/robots.txt` is allowed whatever the rules say.
    """

    def __init__(
        self, ranks: dict[bytes, int], form: int, semicolon: bool, wildcards: bool, robots_txt_allowed: bool
    ) -> None:
        tables = _Tables(ranks, wildcards)
        self._form = form
        self._semicolon = semicolon
        self._robots_txt_allowed = robots_txt_allowed
        if cython.compiled:
            _pack(self, tables)
        else:
            self._tables = tables

    def allows(self, url: str) -> bool:
        """Whether the rules allow a URL."""
        return _allows(self, url)

    def best(self, path: bytes) -> int:
        """The highest rank among the rules that match a path; 0 where none does."""
        return _best(self, path)

    def __sizeof__(self) -> int:
        return 160 + (self._size if cython.compiled else 0)

    def __dealloc__(self) -> None:
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


@cython.cfunc
@cython.inline
def _best(self: Matcher, path: bytes) -> cython.ulonglong:
    if cython.compiled:
        return _best_packed(self, path, len(path))
    return _best_of(self._tables, path)


def _best_of(tables: _Tables, path: bytes) -> int:
    """The interpreted form of the question."""
    best = 0
    number = bisect_right(tables.literals, path) - 1
    while number >= 0:
        if path.startswith(tables.literals[number]):
            best = tables.bests[number]
            break
        number = tables.parents[number]
    for number in tables.tried:
        if tables.wild_ranks[number] <= best:
            break
        if matches(tables.wild[number], path):
            best = tables.wild_ranks[number]
            break
    if tables.filed:
        filed = tables.filed
        for i in range(len(path) - 2):
            for number in filed.get(path[i] << 16 | path[i + 1] << 8 | path[i + 2], ()):
                if tables.wild_ranks[number] > best and matches(tables.wild[number], path):
                    best = tables.wild_ranks[number]
    return best


@cython.cfunc
@cython.inline
def _allows(matcher: Matcher, url: str) -> cython.bint:
    path: bytes = path_of(url, matcher._form, matcher._semicolon)
    rank: cython.ulonglong = _best(matcher, path)
    if rank & 1 or rank == 0:
        return True
    return matcher._robots_txt_allowed and path == b"/robots.txt"


@cython.cclass
class Asked:
    """The hot half of a parsed file: a matcher for each agent that has been asked about, and the question."""

    def __init__(self) -> None:
        self._matchers = {}

    def allowed(self, url: str, agent: str) -> bool:
        """Whether `agent` may fetch `url`.

        Args:
            url: absolute, or a path with its query.
            agent: product token or whole User-Agent header.
        """
        matcher = self._matchers.get(agent)
        if matcher is None:
            return self._first_asked(url, agent)
        return _allows(matcher, url)

    def allowed_many(self, urls: Iterable[str], agent: str) -> list[bool]:
        """`allowed` for many URLs."""
        matcher = self._matchers.get(agent)
        if matcher is None:
            matcher = self._matcher_for(agent)
        return [_allows(matcher, url) for url in urls]

    def _first_asked(self, url: str, agent: str) -> bool:
        return _allows(self._matcher_for(agent), url)

    def _matcher_for(self, agent: str) -> Matcher:
        raise NotImplementedError


# The compiled form.


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _spread(key: cython.uint) -> cython.uint:
    """Mix the bits of a key, so that near keys land far apart."""
    mixer: cython.uint = 0x9E3779B1
    key = (key ^ (key >> 11)) * mixer
    return key ^ (key >> 15)


@cython.cfunc
def _room(self: Matcher, count: cython.Py_ssize_t, width: cython.Py_ssize_t) -> cython.p_void:
    room: cython.p_void = calloc(count if count else 1, width)
    if room == cython.NULL:
        raise MemoryError
    self._size += count * width
    return room


@cython.cfunc
def _pack(self: Matcher, tables: object) -> cython.int:
    """Copy the tables into plain memory."""
    i: cython.Py_ssize_t
    literals: list[bytes] = tables.literals
    wild: list[bytes] = tables.wild
    at: cython.uint = 0
    pattern: bytes
    self._count = len(literals)
    self._text = cython.cast(cython.p_char, _room(self, sum(map(len, literals)), 1))
    self._starts = cython.cast(cython.p_uint, _room(self, self._count + 1, 4))
    self._parents = cython.cast(cython.p_int, _room(self, self._count, 4))
    self._bests = cython.cast(cython.p_ulonglong, _room(self, self._count, 8))
    for i in range(self._count):
        pattern = literals[i]
        memcpy(self._text + at, cython.cast(cython.p_char, pattern), len(pattern))
        self._starts[i] = at
        at += len(pattern)
        self._parents[i] = tables.parents[i]
        self._bests[i] = tables.bests[i]
    self._starts[self._count] = at
    at = 0
    self._wild_count = len(wild)
    self._wild_text = cython.cast(cython.p_char, _room(self, sum(map(len, wild)), 1))
    self._wild_starts = cython.cast(cython.p_uint, _room(self, self._wild_count + 1, 4))
    self._wild_ranks = cython.cast(cython.p_ulonglong, _room(self, self._wild_count, 8))
    for i in range(self._wild_count):
        pattern = wild[i]
        memcpy(self._wild_text + at, cython.cast(cython.p_char, pattern), len(pattern))
        self._wild_starts[i] = at
        at += len(pattern)
        self._wild_ranks[i] = tables.wild_ranks[i]
    self._wild_starts[self._wild_count] = at
    self._tried_count = len(tables.tried)
    self._tried = cython.cast(cython.p_uint, _room(self, self._tried_count, 4))
    for i in range(self._tried_count):
        self._tried[i] = tables.tried[i]
    if tables.filed:
        _pack_filed(self, tables.filed)
    return 0


@cython.cfunc
def _pack_filed(self: Matcher, filed: dict[int, list[int]]) -> cython.int:
    size: cython.uint = 4
    while size < 2 * len(filed):
        size *= 2
    self._mask = size - 1
    self._keys = cython.cast(cython.p_uint, _room(self, size, 4))
    self._places = cython.cast(cython.p_uint, _room(self, size, 4))
    # Each list: how many, then the numbers.
    self._listed = cython.cast(cython.p_uint, _room(self, len(filed) + sum(map(len, filed.values())), 4))
    self._seen = cython.cast(cython.p_uchar, _room(self, _SEEN // 8, 1))
    place: cython.uint = 0
    slot: cython.uint
    key: cython.uint
    for gram, numbers in filed.items():
        key = gram + 1
        slot = _spread(key) & self._mask
        while self._keys[slot]:
            slot = (slot + 1) & self._mask
        self._keys[slot] = key
        self._places[slot] = place
        slot = _spread(key) >> 16 & (_SEEN - 1)
        self._seen[slot >> 3] |= 1 << (slot & 7)
        self._listed[place] = len(numbers)
        place += 1
        for number in numbers:
            self._listed[place] = number
            place += 1
    return 0


@cython.cfunc
@cython.exceptval(check=False)
def _best_packed(self: Matcher, path: cython.p_const_char, length: cython.Py_ssize_t) -> cython.ulonglong:
    best: cython.ulonglong = 0
    low: cython.Py_ssize_t = 0
    high: cython.Py_ssize_t = self._count
    middle: cython.Py_ssize_t
    size: cython.Py_ssize_t
    order: cython.int
    text: cython.p_char
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
        while low >= 0 and cython.cast(cython.Py_ssize_t, self._starts[low + 1] - self._starts[low]) > high:
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
    if self._keys != cython.NULL:
        best = _best_filed(self, path, length, best)
    return best


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _matches_wild(
    self: Matcher, number: cython.Py_ssize_t, path: cython.p_const_char, length: cython.Py_ssize_t
) -> cython.bint:
    at: cython.uint = self._wild_starts[number]
    return matches_octets(self._wild_text + at, self._wild_starts[number + 1] - at, path, length)


@cython.cfunc
@cython.exceptval(check=False)
def _best_filed(
    self: Matcher, path: cython.p_const_char, length: cython.Py_ssize_t, best: cython.ulonglong
) -> cython.ulonglong:
    octets: cython.p_uchar = cython.cast(cython.p_uchar, path)
    key: cython.uint
    slot: cython.uint
    place: cython.uint
    number: cython.uint
    left: cython.uint
    i: cython.Py_ssize_t
    for i in range(length - 2):
        key = (
            cython.cast(cython.uint, octets[i]) << 16 | cython.cast(cython.uint, octets[i + 1]) << 8 | octets[i + 2]
        ) + 1
        slot = _spread(key)
        if not self._seen[(slot >> 16 & (_SEEN - 1)) >> 3] >> (slot >> 16 & 7) & 1:
            continue
        slot = slot & self._mask
        while self._keys[slot] and self._keys[slot] != key:
            slot = (slot + 1) & self._mask
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
