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

try:
    import cython
except ModuleNotFoundError:
    from comity import _cython as cython

from comity.robots._path import unanswerable
from comity.robots._pattern import matches

if not cython.compiled:  # compiled, it comes from the .pxd file, without Python in between
    from comity.robots._path import path_of

FEW = 12  # wildcard patterns that are simply tried one after the other
_SEEN = cython.declare(cython.uint, 1 << 13)  # bits of the filter before the hash table
_LONG = cython.declare(cython.longlong, 1_000_000)  # wildcard patterns times octets: an answer may take milliseconds


class Tables:
    """What a Matcher is made of where it is interpreted."""

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
    """The rules of one agent, ready to be asked. Made by `_making`; immutable."""

    def allows(self, path: bytes) -> bool:
        """Whether the rules allow a path, given as `path_of` gives it."""
        return _allows(self, path)

    def best(self, path: bytes) -> int:
        """The highest rank among the rules that match a path; 0 where none does."""
        return _best(self, path)

    def __sizeof__(self) -> int:
        return 160 + (self._size if cython.compiled else 0)

    def __dealloc__(self) -> None:
        emptied(self)


@cython.cfunc
@cython.inline
def _best(self: Matcher, path: bytes) -> cython.ulonglong:
    octets: cython.p_const_char
    length: cython.Py_ssize_t
    best: cython.ulonglong
    if cython.compiled:
        octets = path
        length = len(path)
        if self._wild_count * length <= _LONG:
            return best_packed(self, octets, length)
        with cython.nogil:  # other threads go on meanwhile
            best = best_packed(self, octets, length)
        return best
    return _best_of(self._tables, path)


def _best_of(tables: Tables, path: bytes) -> int:
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
def _allows(matcher: Matcher, path: bytes) -> cython.bint:
    rank: cython.ulonglong = _best(matcher, path)
    if rank & 1 or rank == 0:
        return True
    return matcher._robots_txt_allowed and path == b"/robots.txt"


@cython.cclass
class Asked:
    """The hot half of a parsed file: a matcher for each agent that has been asked about, and the question."""

    def __init__(self) -> None:
        self._matchers = {}

    def allowed(self, url, agent):  # types: see the .pyi
        """Whether `agent` may fetch `url`.

        Args:
            url: absolute, or a path with its query.
            agent: product token or whole User-Agent header.

        Raises:
            InvalidURL: `url` is neither a URL nor a path; the two may have been swapped.
            TypeError: one of the two is not text.
        """
        if not isinstance(agent, str):
            raise unanswerable(url, agent)
        matcher = self._matchers.get(agent)
        if matcher is None:
            return self._first_asked(url, agent)
        return _answer(matcher, url, agent)

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

    def _first_asked(self, url, agent):
        return _answer(self._matcher_for(agent), url, agent)

    def _matcher_for(self, agent):
        raise NotImplementedError


@cython.cfunc
@cython.inline
@cython.exceptval(-1)
def _answer(matcher: Matcher, url: object, agent: object) -> cython.bint:
    path: bytes = path_of(url, matcher._form, matcher._semicolon)
    if len(path) == 0:
        raise unanswerable(url, agent)
    return _allows(matcher, path)


# The compiled form.


def emptied(matcher):  # types: see the .pxd
    """Give back what a matcher holds, so that it can be packed anew."""
    free(matcher._text)
    free(matcher._starts)
    free(matcher._parents)
    free(matcher._bests)
    free(matcher._wild_text)
    free(matcher._wild_starts)
    free(matcher._wild_ranks)
    free(matcher._tried)
    free(matcher._keys)
    free(matcher._places)
    free(matcher._listed)
    free(matcher._seen)
    matcher._text = matcher._wild_text = cython.NULL
    matcher._starts = matcher._wild_starts = matcher._tried = cython.NULL
    matcher._keys = matcher._places = matcher._listed = cython.NULL
    matcher._parents = cython.NULL
    matcher._bests = matcher._wild_ranks = cython.NULL
    matcher._seen = cython.NULL
    matcher._count = matcher._wild_count = matcher._tried_count = matcher._size = 0
    matcher._mask = 0


def spread(key):  # types, here and below: see the .pxd
    """Mix the bits of a key, so that near keys land far apart."""
    mixer: cython.uint = 0x9E3779B1
    key = (key ^ (key >> 11)) * mixer
    return key ^ (key >> 15)


def best_packed(self, path, length):
    """`Matcher.best`."""
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
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _matches_wild(
    self: Matcher, number: cython.Py_ssize_t, path: cython.p_const_char, length: cython.Py_ssize_t
) -> cython.bint:
    at: cython.uint = self._wild_starts[number]
    return matches_octets(self._wild_text + at, self._wild_starts[number + 1] - at, path, length)


@cython.cfunc
@cython.nogil
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
        slot = spread(key)
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
