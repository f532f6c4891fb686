"""Sites left alone because their robots.txt cannot be reached: many of them cost no more than those that changed."""

import json
from pathlib import Path
from typing import Any

from clocks import FakeClock

from comity.crawler.observe.stats import UNREACHABLE
from comity.crawler.run.unreachable import UnreachableHosts
from comity.frontier.sqlite.store import Frontier
from comity.frontier.state_overlay import StateOverlay
from comity.frontier.values import Batch

HOSTS = 2_000


class Told:
    """Notes what is said of hosts and URLs."""

    def __init__(self) -> None:
        self.facts = StateOverlay()
        self.back: list[tuple[str, int]] = []

    def resumed(self, host: str, number: int) -> None:
        self.back.append((host, number))


def unreachable(clock: FakeClock, recalled: dict[str, Any] | None = None) -> tuple[UnreachableHosts, Told]:
    told = Told()
    return UnreachableHosts(told, clock, 300.0, recalled or {}), told  # type: ignore[arg-type]


def postpone(silent: UnreachableHosts, number: int, until: float) -> None:
    origin = f"http://h{number}.example"
    silent.postpone(f"h{number}.example", origin, "HTTP status 503", until)


def test_only_hosts_of_which_something_changed_are_written(clock: FakeClock) -> None:
    silent, told = unreachable(clock)
    for number in range(HOSTS):
        postpone(silent, number, clock.now + 100)
    assert len(told.facts.take()) == HOSTS
    assert told.facts.take() == {}
    postpone(silent, 7, clock.now + 100)
    facts = told.facts.take()
    assert list(facts) == [f"{UNREACHABLE}h7.example"]
    assert facts[f"{UNREACHABLE}h7.example"][0] == 2
    assert len(json.dumps(facts)) < 200


def test_hosts_come_up_each_in_its_time_and_are_forgotten_then(clock: FakeClock) -> None:
    silent, told = unreachable(clock)
    for number in range(5):
        postpone(silent, number, clock.now + 10 * (5 - number))
    postpone(silent, 4, clock.now + 45)  # put off again
    told.facts.take()
    assert silent.resume_due() == 20
    clock.now += 31
    assert silent.resume_due() == 9
    assert told.back == [("h3.example", 1), ("h2.example", 1)]
    assert told.facts.take() == {f"{UNREACHABLE}h3.example": None, f"{UNREACHABLE}h2.example": None}
    clock.now += 30
    assert silent.resume_due() is None
    assert sorted(told.back[2:]) == [("h0.example", 1), ("h1.example", 1), ("h4.example", 2)]
    assert not silent


def test_a_later_run_knows_what_the_frontier_remembers(tmp_path: Path, clock: FakeClock) -> None:
    silent, early = unreachable(clock)
    for number in range(3):
        postpone(silent, number, clock.now + 10 * (1 + number))

    def commit(frontier: Frontier) -> None:
        with frontier.commit(Batch()) as made:
            made.facts |= early.facts.take() | {"unreachably": 1}

    with Frontier(tmp_path / "frontier.sqlite") as frontier:
        commit(frontier)
        clock.now += 15
        silent.resume_due()
        commit(frontier)
    with Frontier(tmp_path / "frontier.sqlite") as frontier:
        known = frontier.load_states(UNREACHABLE)
        assert sorted(known) == [f"{UNREACHABLE}h1.example", f"{UNREACHABLE}h2.example"]
        assert frontier.load_state(f"{UNREACHABLE}h0.example") is None
    later, told = unreachable(clock, known)
    assert later.holds("h1.example", "http://h1.example")
    assert not later.holds("h0.example", "http://h0.example")
    assert told.facts.take() == {}
    assert later.resume_due() == 5
    clock.now += 5
    later.resume_due()
    assert told.back == [("h1.example", 1)]
