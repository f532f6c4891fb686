"""Paths that bear witness: those that a pattern shows, and one about which two sets of rules disagree, looked for
where patterns with wildcards meet.

All patterns are followed octet by octet at once, as one nondeterministic automaton whose states are the bits of a
number; the shortest path is found first. What is looked for is found wherever it exists, unless it takes more steps
than is worth it, which is said.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from typing import Any, Final, Generic, TypeVar

from comity_robots.engine.reference import allows

MAX_STEPS: Final = 300_000
"""Steps of the search for one comparison: an octet tried in one state, where the state has up to WORD bits."""
WORD: Final = 1024
_FIRST: Final = b"xyzabcdefghijklmnopqrstuvw0123456789-_~!ABCDEFGHIJKLMNOPQRSTUVWXYZ.,:@+=&()';/?[]|"
LIKED: Final = _FIRST + bytes(octet for octet in range(1, 256) if octet not in _FIRST + b"#%*$")
"""Octets of which the first that is free stands for all that are."""
_SEVERAL: Final = re.compile(rb"[*]+")
_STAR: Final = 0x2A
_SLASH: Final = 0x2F
NONE_FRESH: Final = b"\1"
_HEAD: Final[Callable[[Any], bytes]] = itemgetter(0)
T = TypeVar("T")


class Exhausted(Exception):
    """The search took more steps than it is allowed."""


class Steps:
    """The steps that a comparison may still take."""

    def __init__(self, left: int = MAX_STEPS) -> None:
        self._left = left

    def take(self, count: int) -> None:
        """Raises: Exhausted."""
        self._left -= count
        if self._left < 0:
            raise Exhausted


class Patterns(Generic[T]):
    """Patterns with what belongs to each, found by how they begin.

    Attributes:
        plain: whether all of them are mere prefixes.
    """

    def __init__(self, items: Iterable[tuple[bytes, T]], wildcards: bool) -> None:
        known = list(items)
        self.plain = not any(is_wild(pattern, wildcards) for pattern, _ in known)
        self._wildcards = wildcards
        self._items = sorted(((head_of(pattern, wildcards), pattern, item) for pattern, item in known), key=_HEAD)
        self._with_head: dict[bytes, list[T]] = {}
        for head, _, item in self._items:
            self._with_head.setdefault(head, []).append(item)
        self._sizes = sorted({len(head) for head in self._with_head})

    def near(self, pattern: bytes, wildcards: bool, steps: Steps, *, longer: bool = True) -> Iterator[T]:
        """What belongs to each pattern that begins in no other way than this one.

        Args:
            wildcards: whether this one may have any.
            longer: also to mere prefixes that go on where it ends, of whose paths it matches more.
        """
        head = head_of(pattern, wildcards)
        longer = longer or (wildcards and b"*" in pattern)
        for size in self._sizes[: bisect_left(self._sizes, len(head))]:
            steps.take(1 + size // WORD)
            for item in self._with_head.get(head[:size], ()):
                steps.take(1)
                yield item
        for found, each, item in self._items[bisect_left(self._items, head, key=_HEAD) :]:
            if not found.startswith(head):
                break
            if longer or found == head or is_wild(each, self._wildcards):
                steps.take(1)
                yield item


def head_of(pattern: bytes, wildcards: bool) -> bytes:
    """What a pattern begins with, up to its first asterisk or its end."""
    return pattern.partition(b"*")[0].removesuffix(b"$") if wildcards else pattern


def is_wild(pattern: bytes, wildcards: bool) -> bool:
    """Whether a pattern is more than a prefix."""
    return wildcards and (b"*" in pattern or pattern.endswith(b"$"))


def fresh_octet(body: bytes) -> bytes:
    """An octet that a text does not hold, which stands for whatever a pattern leaves open; NONE_FRESH without any."""
    return bytes((next((octet for octet in LIKED if octet not in body and octet != _SLASH), NONE_FRESH[0]),))


def shown_paths(pattern: bytes, fresh: bytes, wildcards: bool) -> Iterator[bytes]:
    """Paths that a pattern matches, the plainest first."""
    if not pattern.startswith((b"/", b"*")):
        return
    stem, anchored = _stem(pattern, wildcards)
    for filling in (b"", fresh) if wildcards else (b"*",):
        path = stem.replace(b"*", filling)
        path = path if path.startswith(b"/") else b"/" + path
        yield path
        if not anchored:
            yield path + fresh


def typical_paths(pattern: bytes, fresh: bytes, wildcards: bool) -> list[bytes]:
    """Paths for each of which it holds: a pattern that matches it matches all paths like it of this pattern."""
    stem, anchored = _stem(pattern, wildcards)
    if not wildcards:
        return [stem + fresh]
    end = b"" if anchored else fresh
    whole = stem.replace(b"*", fresh) + end
    if not pattern.startswith(b"*"):
        return [whole]
    # A path begins with a slash: the first asterisk stands for it and more, or the rest begins with it.
    rest = stem.lstrip(b"*")
    return [b"/" + whole, *((rest.replace(b"*", fresh) + end,) if rest.startswith(b"/") else ())]


def _stem(pattern: bytes, wildcards: bool) -> tuple[bytes, bool]:
    """A pattern without its final `$`, and whether it has one."""
    anchored = wildcards and pattern.endswith(b"$")
    return (pattern[:-1] if anchored else pattern), anchored


class _Automaton:
    """Patterns side by side: a bit for each place in each of them, set where a path has led there.

    The last bit of a pattern says that it matches; of one that is not anchored it stays, whatever follows.
    """

    def __init__(self, steps: Steps) -> None:
        self.size = 0
        self.starts = 0
        self._steps = steps
        self._octets: dict[int, int] = {}  # octet -> the places that it leads on from
        self._inner = 0  # asterisks, each of which may stand for nothing
        self._lasting = 0  # the last bits that stay

    def add(self, pattern: bytes, wildcards: bool) -> tuple[int, bool]:
        """Put a pattern above the others; its last bit, and whether this one stays."""
        self._steps.take(1 + len(pattern) // 16 * (1 + self.size // WORD + len(pattern) // WORD))
        tokens, anchored = _stem(pattern, wildcards)
        self.starts |= 1 << self.size
        for octet in _SEVERAL.sub(b"*", tokens) if wildcards else tokens:
            if wildcards and octet == _STAR:
                self._inner |= 1 << self.size
            else:
                self._octets[octet] = self._octets.get(octet, 0) | 1 << self.size
            self.size += 1
        last = 1 << self.size
        if not anchored:
            self._lasting |= last
        self.size += 1
        return last, not anchored

    def begun(self) -> int:
        """The state before any octet."""
        return self.starts | (self.starts & self._inner) << 1

    def after(self, state: int, octet: int) -> int:
        state = (state & self._octets.get(octet, 0)) << 1 | (state & (self._inner | self._lasting))
        return state | (state & self._inner) << 1

    def octets(self, state: int) -> list[int]:
        """The octets that lead on in some pattern by themselves, and one that does in none."""
        found = [octet for octet, places in self._octets.items() if state & places]
        return [*found, *[octet for octet in LIKED if octet not in found][:1]]


def path_where(
    pattern: bytes,
    above: Iterable[bytes],
    *,
    others: Iterable[tuple[int, bytes]],
    says: bool,
    fits: Callable[[bytes], bool],
    wildcards: tuple[bool, bool],
    steps: Steps,
) -> bytes | None:
    """The shortest path that a pattern matches, that none of those above it does, and that others allow, or do not.

    Args:
        others: rank and pattern; of those that match a path the highest rank counts, 0 where none does.
        says: whether they allow it.
        fits: whether a path will do.
        wildcards: whether `*` and a final `$` are special in the first two; in others.

    Raises:
        Exhausted: it is not known whether there is one.
    """
    ordered = sorted(others)  # the higher the bit, the higher the rank
    if not any(allows(rank) is says for rank in (0, *(rank for rank, _ in ordered))):
        return None
    net = _Automaton(steps)
    goal, _ = net.add(pattern, wildcards[0])
    own = (1 << net.size) - 1
    masked = barred = 0  # the last bits of those above it; of those that stay
    for each in above:
        last, stays = net.add(each, wildcards[0])
        masked |= last
        barred |= last if stays else 0
    floor = net.size
    lasting = hopeful = 0
    ranks: dict[int, tuple[int, int]] = {0: (0, 0)}  # last bit's number -> rank; all bits of weaker ones
    for rank, each in ordered:
        weaker = (1 << net.size) - (1 << floor)
        last, stays = net.add(each, wildcards[1])
        ranks[net.size] = rank, weaker
        lasting |= last if stays else 0
        hopeful |= (1 << net.size) - (1 << floor) - weaker if allows(rank) is says else 0
    ends = sum(1 << size - 1 for size in ranks if size)
    cost = 1 + net.size // WORD
    reached: list[tuple[int, int, int]] = []  # state, the octet that led there, the number of the state before
    seen: set[int] = set()
    number, tried = -1, [(net.begun(), _SLASH)]
    while True:
        for before, octet in tried:
            steps.take(cost)
            state = net.after(before, octet)
            if state & barred or not state & own:
                continue
            rank, weaker = ranks[(state & lasting).bit_length()]
            state &= ~weaker
            if state in seen or not (allows(rank) is says or state & hopeful):
                continue
            seen.add(state)
            reached.append((state, octet, number))
            if state & goal and not state & masked and allows(ranks[(state & ends).bit_length()][0]) is says:
                if fits(path := _path_to(reached)):
                    return path
                seen.discard(state)  # another path to it may do
        number += 1
        if number == len(reached):
            return None
        tried = [(reached[number][0], octet) for octet in net.octets(reached[number][0])]


def _path_to(reached: list[tuple[int, int, int]]) -> bytes:
    path = bytearray()
    number = len(reached) - 1
    while number >= 0:
        _, octet, number = reached[number]
        path.append(octet)
    return bytes(reversed(path))
