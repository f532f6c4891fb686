"""What a run remembers by name, as one: what is not saved yet, what a commit has on its way, and what is stored."""

from collections.abc import Callable
from typing import Any


class Facts:
    """The facts of one run.

    Args:
        stored: gives back what was committed under a name, or None.
    """

    __slots__ = ("_on_their_way", "_stored", "_unsaved")

    def __init__(self, stored: Callable[[str], Any] = lambda name: None) -> None:
        self._stored = stored
        self._unsaved: dict[str, Any] = {}
        self._on_their_way: dict[str, Any] = {}

    def get(self, name: str, default: Any = None) -> Any:
        """What was put under a name last, in this run or an earlier one; `default` where that is nothing."""
        for kept in (self._unsaved, self._on_their_way):
            if name in kept:
                value = kept[name]
                break
        else:
            value = self._stored(name)
        return default if value is None else value

    def put(self, name: str, value: Any) -> None:
        """Remember something with the next commit; None forgets it."""
        self._unsaved[name] = value

    def take(self) -> dict[str, Any]:
        """What the commit that begins is to save."""
        self._on_their_way, self._unsaved = self._unsaved, {}
        return self._on_their_way

    def committed(self) -> None:
        """What was taken last is stored."""
        self._on_their_way = {}
