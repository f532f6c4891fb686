"""Overlay of pending, in-flight and stored key-value state: what a run remembers by name."""

from collections.abc import Callable
from typing import Any, Final

FILTER_BITS: Final = 1 << 23  # bits


class BloomFilter:
    """Whether a name may have been added, in a fixed amount of memory (a Bloom filter); never no where it was."""

    def __init__(self) -> None:
        self._bits = bytearray(FILTER_BITS // 8)

    def add(self, name: str) -> None:
        place = hash(name) % FILTER_BITS
        self._bits[place >> 3] |= 1 << (place & 7)

    def __contains__(self, name: str) -> bool:
        place = hash(name) % FILTER_BITS
        return bool(self._bits[place >> 3] >> (place & 7) & 1)


class StateOverlay:
    """The facts of one run; `stored` gives back what was committed under a name. `is_new`: nothing that is asked for
    here was remembered before, so only what was put is looked for. Each page asks whether its content is known, and of
    most it is not."""

    __slots__ = ("_in_flight", "_names", "_stored", "_unsaved")

    def __init__(self, stored: Callable[[str], Any] = lambda name: None, *, is_new: bool = False) -> None:
        self._stored = stored
        self._names = BloomFilter() if is_new else None
        self._unsaved: dict[str, Any] = {}
        self._in_flight: dict[str, Any] = {}

    def get(self, name: str, default: Any = None) -> Any:
        """What was put under a name last, in this run or an earlier one; `default` where that is nothing."""
        for kept in (self._unsaved, self._in_flight):
            if name in kept:
                value = kept[name]
                break
        else:
            value = self._stored(name) if self._names is None or name in self._names else None
        return default if value is None else value

    def put(self, name: str, value: Any) -> None:
        """Remember something with the next commit; None forgets it."""
        self._unsaved[name] = value
        if self._names is not None:
            self._names.add(name)

    def take(self) -> dict[str, Any]:
        """What the commit that begins is to save."""
        self._in_flight, self._unsaved = self._unsaved, {}
        return self._in_flight

    def committed(self) -> None:
        """What was taken last is stored."""
        self._in_flight = {}
