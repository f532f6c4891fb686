"""URLs met lately, in bounded memory: those that a frontier need not be asked about again."""

from collections.abc import Iterable


class MetLately:
    """The URLs met last. What was met long ago leaves one by one, so that memory does not rise and fall.

    Args:
        most: URLs that are remembered.
    """

    def __init__(self, most: int) -> None:
        self._order: list[str | None] = [None] * most  # a ring: the next one takes the place of the oldest
        self._places: dict[str, int] = {}
        self._next = 0

    def __len__(self) -> int:
        return len(self._places)

    def unmet(self, found: Iterable[str]) -> list[str]:
        """Those that were not met lately."""
        met = self._places
        return [url for url in found if url not in met]

    def meet(self, url: str) -> bool:
        """Whether a URL was met lately; from now on it was."""
        places = self._places
        if url in places:
            return True
        place = self._next
        oldest = self._order[place]
        if oldest is not None and places.get(oldest) == place:  # else it was forgotten, and perhaps met again since
            del places[oldest]
        self._order[place], places[url] = url, place
        self._next = (place + 1) % len(self._order)
        return False

    def forget(self, url: str) -> None:
        """Remember a URL no more."""
        self._places.pop(url, None)
