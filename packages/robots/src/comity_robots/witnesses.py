"""A path about which two sets of rules disagree, looked for where patterns with wildcards meet.

All patterns are followed octet by octet at once, as one nondeterministic automaton whose states are the bits of a
number; the shortest path is found first. What is looked for is found wherever it exists, unless it takes more steps
than is worth it, which is said.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from comity_robots.engine.reference import allows

MAX_STEPS: Final = 300_000
"""Steps of the search for one comparison: an octet tried in one state, where the state has up to WORD bits."""
WORD: Final = 1024
_FIRST: Final = b"xyzabcdefghijklmnopqrstuvw0123456789-_~!ABCDEFGHIJKLMNOPQRSTUVWXYZ.,:@+=&()';/?[]|"
LIKED: Final = _FIRST + bytes(octet for octet in range(1, 256) if octet not in _FIRST + b"#%*$")
"""Octets of which the first that is free stands for all that are."""
_SEVERAL: Final = re.compile(rb"[*]+")
_STAR: Final = 0x2A


class Exhausted(Exception):
    """More steps would have to be taken than is worth it."""


class Steps:
    """What a comparison may still cost."""

    def __init__(self, left: int = MAX_STEPS) -> None:
        self._left = left

    def take(self, count: int) -> None:
        """Raises: Exhausted."""
        self._left -= count
        if self._left < 0:
            raise Exhausted


class Ranked:
    """Patterns with their ranks, found by how they begin."""

    def __init__(self, ranks: dict[bytes, int], wildcards: bool) -> None:
        self.ranks = ranks
        self._wildcards = wildcards
        self.plain = not any(is_wild(pattern, wildcards) for pattern in ranks)
        self._heads = sorted((head_of(pattern, wildcards), pattern) for pattern in ranks)
        self._sizes = sorted({len(head) for head, _ in self._heads})
        self._with_head: dict[bytes, list[bytes]] = {}
        for head, pattern in self._heads:
            self._with_head.setdefault(head, []).append(pattern)

    def near(self, pattern: bytes, wildcards: bool, steps: Steps) -> Iterator[tuple[int, bytes]]:
        """Rank and pattern of each that begins in no other way than a pattern."""
        head = head_of(pattern, wildcards)
        for size in self._sizes[: bisect_left(self._sizes, len(head))]:
            steps.take(1 + size // WORD)
            for each in self._with_head.get(head[:size], ()):
                steps.take(1)
                yield self.ranks[each], each
        for found, each in self._heads[bisect_left(self._heads, (head, b"")) :]:
            if not found.startswith(head):
                break
            steps.take(1)
            yield self.ranks[each], each


def head_of(pattern: bytes, wildcards: bool) -> bytes:
    """What a pattern begins with, up to its first asterisk or its end."""
    return pattern.partition(b"*")[0].removesuffix(b"$") if wildcards else pattern


def is_wild(pattern: bytes, wildcards: bool) -> bool:
    """Whether a pattern is more than a prefix."""
    return wildcards and (b"*" in pattern or pattern.endswith(b"$"))


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
        anchored = wildcards and pattern.endswith(b"$")
        self.starts |= 1 << self.size
        tokens = pattern[:-1] if anchored else pattern
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
        """The state after one more octet."""
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
    number, tried = -1, [(net.begun(), 0x2F)]
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
    """The octets that led to the last state."""
    path = bytearray()
    number = len(reached) - 1
    while number >= 0:
        _, octet, number = reached[number]
        path.append(octet)
    return bytes(reversed(path))
