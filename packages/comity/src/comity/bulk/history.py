"""How robots.txt files changed from capture to capture: what each agent gained or lost, by meaning, with the lines."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, NamedTuple

from comity.bulk.captures import Captures
from comity_robots import Change, diff, parse


class AccessChange(NamedTuple):
    """What an agent gained or lost at an origin; `seen`: the day of the later capture, None where it is not known."""

    origin: str
    seen: str | None
    change: Change


def changes(table: Any, agents: Iterable[str]) -> Iterator[AccessChange]:
    """What is different for some agents, or for all others, between two captures that follow each other."""
    captures, wanted = Captures(table), {agent.lower() for agent in agents} | {"*"}
    for origin, number in captures.numbers.items():
        for old, new in pairwise(range(int(captures.firsts[number]), int(captures.firsts[number + 1]))):
            if not all(200 <= captures.statuses[each] < 300 and captures.sizes[each] >= 0 for each in (old, new)):
                continue
            at = captures.times[new]
            seen = f"{datetime.fromtimestamp(at / 1e6, UTC):%Y-%m-%d}" if at > 0 else None
            for change in diff(parse(captures.body(old)), parse(captures.body(new))).changes:
                if change.agent.lower() in wanted:
                    yield AccessChange(origin, seen, change)
