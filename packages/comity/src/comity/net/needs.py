"""What a way yields: what it needs, which a driver carries out. docs/decisions/0034-turns.md."""

from collections.abc import Generator, Hashable
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


class Relay(NamedTuple):
    """Have who keeps the pace of the URL's host ask it for a robots.txt that redirects there; give what `Ask` gives, or
    None where we keep it ourselves.
    """

    origin: str
    url: str
    conditions: dict[str, str]


Need = Sleep | News | Ask | Find | Relay
Way = Generator[Need, Any, T]
