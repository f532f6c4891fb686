"""The delays that go from one run of a crawl to the next: a restart, after a crash too, makes no request early.

What was sent after the last commit is known to nobody when a crash follows. So after one, every host is taken to have
been asked at the very end, and waits its whole interval from the beginning of the new run: that of the policy then or
now, whichever is longer, or what the operator ordered. A host that is to be left alone for longer (Retry-After, a
back-off), or whose interval has just been learnt, cannot wait for the next commit: that is written down beside the
frontier the moment it is known, and read again with what was committed.
"""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from comity.crawler.storage.crawl import WaitJournal

if TYPE_CHECKING:
    from comity.net import Clock, Session


class Waits:
    """The waits of one run, made before its first request. `load_state` gives back a fact by its name, or the default.
    Where a later run has another clock (not `keeps_clock`), it leaves hosts alone as after a crash."""

    def __init__(
        self,
        journal: WaitJournal,
        client: "Session",
        clock: "Clock",
        load_state: Callable[[str, Any], Any],
        *,
        keeps_clock: bool = True,
    ) -> None:
        self._keeps_clock = keeps_clock
        self._at_rest = False
        self._journal = journal
        self._client = client
        self._clock = clock
        self._least = client.policy.min_interval
        self._others_until = clock.monotonic()  # until then hosts wait of which nothing is known
        # Intervals that a later run would know of: from what the last commit remembered, from that under way, and from
        # what was written down since. A commit knows nothing of hosts that were forgotten, because long not asked.
        self._remembered: dict[str, float] = {}
        self._in_flight: dict[str, float] = {}
        self._written_down: dict[str, float] = {}
        lines = journal.lines()
        self._written = len(lines)
        self._taken = 0  # of them, those that the commit under way makes superfluous
        self._keep(load_state, lines)

    def rest(self) -> None:
        """This run sends nothing more."""
        self._at_rest = True

    def after_request(self, pace: str) -> None:
        """A request was answered, or never will be: what came of it for its host is remembered at once if need be."""
        seconds, interval = self._client.driver.gate.throttles.delay_of(pace, self._clock.monotonic())
        if seconds <= self._least >= interval:
            return
        committed = min(self._remembered.get(pace, 0.0), self._in_flight.get(pace, 0.0))
        known = max(self._written_down.get(pace, 0.0), committed, self._least)
        if interval > known or seconds > max(known, interval):
            unordered = self._client.driver.gate.throttles.unordered(self._clock.monotonic()).get(pace, seconds)
            until, *others = [wall + seconds for wall in self._clock.walls()]
            line = json.dumps([pace, until, seconds, interval, unordered, *others]) + "\n"
            self._journal.add(line.encode("ascii"))
            self._written += 1
            self._written_down[pace] = max(known, interval)

    def save_state(self) -> dict[str, Any]:
        """What a later run has to know. A StorageError says that what was heard could not be written."""
        self._journal.check()
        (wall, *walls), now = self._clock.walls(), self._clock.monotonic()  # once: a wait and its reason end together
        throttles = self._client.driver.gate.throttles
        least = 0.0 if self._at_rest else self._least  # a run that was cut off leaves every host alone for so long
        waits = {
            key: (wall + seconds, seconds, *(other + seconds for other in walls))
            for key, seconds in throttles.delays(now).items()
            if seconds > least
        }
        self._taken = self._written
        self._in_flight = throttles.intervals()
        return {
            "waits": waits,
            "paces": self._client.driver.gate.hosts_at(waits),
            "unordered": throttles.unordered(now),
            "intervals": self._in_flight,
            "reasons": {key: (wall + left, why) for key, (left, why) in throttles.reasons(now).items()},
            # The run before, if it was cut off, still counts.
            "at_rest": self._at_rest and self._keeps_clock and self._others_until <= now,
            "least": max(self._least, self._others_until - now),
        }

    def committed(self) -> None:
        """What `save_state` gave last is durable."""
        self._remembered = self._in_flight
        if self._written and self._taken == self._written:  # else it waits for a commit after which nothing was heard
            self._journal.clear()
            self._written = self._taken = 0
            self._written_down = {}

    def _keep(self, load_state: Callable[[str, Any], Any], lines: list[bytes]) -> None:
        """Have the client wait as the run before says."""
        walls = self._clock.walls()
        waits: dict[str, float] = {}
        unordered: dict[str, float] = {}  # what is left of them where an order is lifted
        intervals: dict[str, float] = load_state("intervals", {})
        lifted = load_state("unordered", {})
        stated = [
            (key, [until, *others], seconds, 0.0, lifted.get(key, seconds))
            for key, (until, seconds, *others) in load_state("waits", {}).items()
        ]
        for key, untils, seconds, interval, without in stated + _journal_entries(lines):
            left = max(until - wall for until, wall in zip(untils, walls, strict=False))
            if left > 0:  # a clock that was set back makes no wait longer than it was
                left = min(left, seconds)
                waits[key] = max(waits.get(key, 0.0), left)
                unordered[key] = max(unordered.get(key, 0.0), left - max(seconds - without, 0.0))
            if interval > self._least:
                intervals[key] = max(intervals.get(key, 0.0), interval)
        now, others = self._clock.monotonic(), None
        if not load_state("at_rest", True):
            others = max(self._least, load_state("least", 0.0))
            self._others_until = now + others
            for key in waits.keys() | intervals.keys():
                for each in (waits, unordered):
                    each[key] = max(each.get(key, 0.0), intervals.get(key, others))
        self._client.driver.gate.throttles.restore_delays(
            waits, now, intervals=intervals, unordered=unordered, others=others
        )


def _journal_entries(lines: list[bytes]) -> list[tuple[str, list[float], float, float, float]]:
    """What was heard in the run before; a line that a crash cut short is none."""
    found = []
    for line in lines:
        try:
            key, until, seconds, interval, without, *others = json.loads(line)
            untils = [float(until), *map(float, others)]
            found.append((str(key), untils, float(seconds), float(interval), float(without)))
        except (ValueError, TypeError):
            continue
    return found
