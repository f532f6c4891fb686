"""A vocabulary in which a site states preferences, in a line of robots.txt or a response header of the same name.

Each has a module here, with a `VOCABULARY`; its directive, in `comity_robots.directives`, names the module.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from comity_robots.usage.statements import StatedValue

MAX_CHARS: Final = 8_192  # a longer value is not read: its preferences are unknown
MAX_KEYS: Final = 32  # keys outside the vocabulary that are reported for one value
MAX_KEY_CHARACTERS: Final = 100  # characters kept of such a key


class Stated(NamedTuple):
    """One key of a value: what it says about a purpose, and why where that is unknown."""

    purpose: str
    value: StatedValue
    note: str = ""


class Vocabulary(NamedTuple):
    """How preferences are written.

    Attributes:
        name: as `Statement.vocabulary` has it.
        label: of the line and the header.
        read: gives what a value of at most MAX_CHARS characters states; never raises.
        keys: those it knows, in order.
        no, yes: what is written for a key.
        joined: whether several headers are one value (RFC 9651, 4.2).
    """

    name: str
    label: str
    read: Callable[[str], list[Stated]]
    keys: tuple[str, ...]
    no: str
    yes: str
    joined: bool = False

    def stated(self, value: str) -> list[Stated]:
        """The preferences in one value."""
        if len(value) > MAX_CHARS:
            return [Stated("", "unknown", f"longer than {MAX_CHARS} characters, not read")]
        return self.read(value)
