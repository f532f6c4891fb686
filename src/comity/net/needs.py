"""What a way yields: what it needs, which a driver carries out. docs/decisions/0034-turns.md."""

from collections.abc import Callable, Generator, Hashable
from typing import Any, NamedTuple, TypeVar

from comity.gate import FetchRobots

T = TypeVar("T")


class Sleep(NamedTuple):
    """Wait so many seconds."""

    seconds: float


class News(NamedTuple):
    """Wait until the token is told (`Turns.tell`), at most so many seconds; give whether it was."""

    token: Hashable
    seconds: float | None


class Ask(NamedTuple):
    """Send the request for a robots.txt, with conditions as headers, and follow no redirect; give the answer, or the
    error (NO_ANSWER) that came instead.
    """

    step: FetchRobots
    conditions: dict[str, str]


class Find(NamedTuple):
    """Find an address of a host; give the host itself where there is none."""

    host: str


class Borrow(NamedTuple):
    """Get the turn of a host from who keeps its pace; give what to call when the request is over, or None where we keep
    it ourselves.
    """

    host: str


Need = Sleep | News | Ask | Find | Borrow
Way = Generator[Need, Any, T]
GiveBack = Callable[[bool | None, float | None], None]
"""Is told that a borrowed turn is over: whether the answer was good, and its Retry-After; see `Gate.release`."""
