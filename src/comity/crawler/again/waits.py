"""How long hosts are left alone from one run to the next: a restart, after a crash too, makes no request early.

What was sent after the last commit is known to nobody when a crash follows. So after one, every host is taken to have
been asked at the very end, and waits its whole interval from the beginning of the new run. A host that is to be left
alone for longer than that (Retry-After, a back-off), or whose interval has just been learnt, cannot wait for the next
commit to be remembered: that is written to a file beside the frontier the moment it is known, and read again with what
was committed.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from comity.frontier.database import explained_files
from comity.net import Clock, Session


class Waits:
    """The waits of one run. Use it as a context manager, before the first request and until after the last commit.

    Attributes:
        then: called with a pace when `heard` has been.

    Args:
        path: the file for what no commit has remembered yet.
        recall: gives back a fact by its name, or the default.

    Raises:
        StorageError: the file cannot be opened or read.
    """

    def __init__(self, path: Path, client: Session, clock: Clock, recall: Callable[[str, Any], Any]) -> None:
        self.then: Callable[[str], None] | None = None
        self._path = path
        self._client = client
        self._clock = clock
        self._least = client.policy.min_interval
        self._intervals: dict[str, float] = {}  # those that a later run would know of
        self._trouble: OSError | None = None
        with explained_files(path):
            self._file = path.open("ab", buffering=0)
            self._written = self._file.tell()  # bytes
        self._taken = 0  # bytes of them that the commit under way makes superfluous
        self._keep(recall)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def heard(self, pace: str) -> None:
        """A request was answered, or never will be: what came of it for its host is remembered at once if need be."""
        seconds, interval = self._client.driver.gate.throttles.delay_of(pace, self._clock.monotonic())
        known = max(self._intervals.get(pace, 0.0), self._least)
        if interval > known or seconds > max(known, interval):
            line = json.dumps([pace, self._clock.wall() + seconds, seconds, interval]) + "\n"
            try:
                self._written += self._file.write(line.encode("ascii"))
            except OSError as error:
                self._trouble = self._trouble or error
            self._intervals[pace] = max(known, interval)
        if self.then is not None:
            self.then(pace)

    def facts(self, *, at_rest: bool) -> dict[str, Any]:
        """What a later run has to know.

        Args:
            at_rest: whether this run sends nothing more.

        Raises:
            StorageError: what was heard could not be written.
        """
        with explained_files(self._path):
            if self._trouble is not None:
                raise self._trouble
        wall = self._clock.wall()
        waits = {
            key: (wall + seconds, seconds)
            for key, seconds in self._client.driver.gate.throttles.delays(self._clock.monotonic()).items()
        }
        self._taken = self._written
        return {"waits": waits, "intervals": self._client.driver.gate.throttles.intervals(), "at_rest": at_rest}

    def committed(self) -> None:
        """What `facts` gave last is durable."""
        if self._written and self._taken == self._written:  # else it waits for a commit after which nothing was heard
            with explained_files(self._path):
                self._file.truncate(0)
            self._written = self._taken = 0

    def _keep(self, recall: Callable[[str, Any], Any]) -> None:
        """Have the client wait as the run before says."""
        wall = self._clock.wall()
        waits: dict[str, float] = {}
        intervals: dict[str, float] = recall("intervals", {})
        heard = [(key, until, seconds, interval) for key, until, seconds, interval in self._lines()]
        stated = [(key, until, seconds, 0.0) for key, (until, seconds) in recall("waits", {}).items()]
        for key, until, seconds, interval in stated + heard:
            if until > wall:  # a clock that was set back makes no wait longer than it was
                waits[key] = max(waits.get(key, 0.0), min(until - wall, seconds))
            if interval > self._least:
                intervals[key] = max(intervals.get(key, 0.0), interval)
        others = 0.0
        if not recall("at_rest", True):
            others = self._least
            for key in waits.keys() | intervals.keys():
                waits[key] = max(waits.get(key, 0.0), intervals.get(key, others))
        self._client.driver.gate.throttles.restore_delays(
            waits, self._clock.monotonic(), intervals=intervals, others=others
        )

    def _lines(self) -> list[tuple[str, float, float, float]]:
        """What was heard in the run before; a line that a crash cut short is none."""
        found = []
        with explained_files(self._path):
            text = self._path.read_bytes()
        for line in text.split(b"\n")[:-1]:
            try:
                key, until, seconds, interval = json.loads(line)
                found.append((str(key), float(until), float(seconds), float(interval)))
            except (ValueError, TypeError):
                continue
        return found
