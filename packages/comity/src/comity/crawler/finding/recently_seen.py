"""URLs met lately, in bounded memory: those that a frontier need not be asked about again."""

from collections.abc import Iterable
from itertools import filterfalse


class RecentlySeen:
    """The URLs met last, at most so many. What was met long ago leaves one by one, so that memory does not rise and
    fall."""

    def __init__(self, most: int) -> None:
        self._order: list[str | None] = [None] * most  # a ring: the next one takes the place of the oldest
        self._next = 0
        self._met: dict[str, None] = {}  # a set of as many takes twice the memory

    def unmet(self, found: Iterable[str]) -> list[str]:
        """Those that were not met lately."""
        return list(filterfalse(self._met.__contains__, found))

    def others(self, found: set[str]) -> set[str]:
        """The same for many at once, in no order."""
        return found.difference(self._met)

    def meet(self, url: str) -> bool:
        """Whether a URL was met lately; from now on it was."""
        if url in self._met:
            return True
        place = self._next
        oldest = self._order[place]
        if oldest is not None:
            self._met.pop(oldest, None)
        self._order[place], self._met[url] = url, None
        self._next = (place + 1) % len(self._order)
        return False

    def forget(self, url: str) -> None:
        """Remember a URL no more. Where it is met again, it may leave as early as if it had not been forgotten."""
        self._met.pop(url, None)

    def clear(self) -> None:
        """Remember none of them any more."""
        self._order = [None] * len(self._order)
        self._met.clear()
