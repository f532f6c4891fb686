"""Driver: as AsyncDriver, for callers that block; any thread may use it."""

import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from comity import urls
from comity.gate import FetchRobots, Go, Resolve, Step, Wait
from comity.gate.machine import End
from comity.gate.steps import granted, refusal
from comity.http_rules import BUSY
from comity.http_rules import retry_after as read_retry_after
from comity.net.driver import LONGEST_SLEEP, GateDriver
from comity.policy import RobotsResult

Hop = Callable[[str], FetchRobots]
"""Waits for the turn of the host that a robots.txt redirects to; gives the step for it."""
RobotsFetch = Callable[[FetchRobots, Hop], RobotsResult]
"""What came of asking for a robots.txt."""


def system_address(host: str) -> str:
    """An address of a host by the system's resolver; the host itself where it has none."""
    try:
        return min(str(info[4][0]) for info in socket.getaddrinfo(host.strip("[]"), 0, type=socket.SOCK_STREAM))
    except (OSError, UnicodeError):
        return host


class _ThreadLine:
    """Threads that wait for one host, first come first served: only the first is woken."""

    def __init__(self, lock: threading.Lock) -> None:
        self.places: deque[threading.Event] = deque()
        self.changed = threading.Condition(lock)


class Driver(GateDriver):
    """For callers that block. Arguments and errors as for `AsyncDriver`."""

    def _begin(self) -> None:
        super()._begin()
        self._lock = threading.Lock()  # guards the gate, and what follows
        self._lines: dict[str, _ThreadLine] = {}
        self._reported = threading.Condition(self._lock)

    @contextmanager
    def turn(self, url: str, robots: RobotsFetch) -> Iterator[Go]:
        """As `AsyncDriver.turn`."""
        go = self._permission(urls.normalise(url), robots)
        try:
            yield go
        except BaseException as error:
            self._finished(go, "failed" if isinstance(error, Exception) else "abandoned")
            raise
        self._finished(go, "done")

    def headers_received(self, go: Go, status: int, retry_after: str | None = None) -> None:
        """The head of the answer arrived.

        Args:
            retry_after: its Retry-After, as sent.
        """
        later = read_retry_after(retry_after, self.clock.wall()) if status in BUSY else None
        with self._lock:
            self.gate.headers_received(go, self.clock.monotonic(), status, retry_after=later)
            self._report(go.key)

    def _finished(self, go: Go, end: End) -> None:
        with self._lock:
            self.gate.finished(go, self.clock.monotonic(), end)
            self._report(go.key)

    def _permission(self, url: str, robots: RobotsFetch) -> Go:
        limit = self._limit()
        with self._lock:
            first = self._key(url) not in self._lines
            step = self.gate.ask(url, self.clock.monotonic()) if first else None
        while isinstance(step, FetchRobots | Resolve):
            self._take(step, robots, limit)
            step = self._ask(url)
        if step is not None and not isinstance(step, Wait):
            return granted(url, step, self.clock.monotonic())
        with self._lock:
            known = self.known(url)
        if known is not None and not known.may_fetch:  # a refusal waits for nobody
            raise refusal(known)
        return self._in_line(url, robots, limit)

    def _in_line(self, url: str, robots: RobotsFetch, limit: float) -> Go:
        """Wait behind those who came before; only the first asks the gate."""
        with self._lock:
            key = self._key(url)
            self._pause(url, self.gate.throttles.ready_at(key), limit)
            line = self._lines.get(key)
            if line is None:
                line = self._lines[key] = _ThreadLine(self._lock)
            place = threading.Event()
            line.places.append(place)
            if line.places[0] is place:
                place.set()
        try:
            while not place.wait(min(limit - self.clock.monotonic(), LONGEST_SLEEP)):
                if self.clock.monotonic() >= limit:
                    with self._lock:
                        raise self._crowded_out(url)
            while True:
                with self._lock:
                    step = self.gate.ask(url, self.clock.monotonic())
                    if isinstance(step, Wait):
                        line.changed.wait(self._pause(url, step.until, limit))
                        continue
                if not isinstance(step, FetchRobots | Resolve):
                    return granted(url, step, self.clock.monotonic())
                self._take(step, robots, limit)
        finally:
            with self._lock:
                line.places.remove(place)
                if line.places:
                    line.places[0].set()
                else:
                    del self._lines[key]

    def _ask(self, url: str) -> Step:
        with self._lock:
            return self.gate.ask(url, self.clock.monotonic())

    def _take(self, step: FetchRobots | Resolve, robots: RobotsFetch, limit: float) -> None:
        if isinstance(step, Resolve):
            self._resolve(step)
            return
        result = None
        try:
            result = robots(step, lambda url: self._hop(step, url, limit))
        finally:
            with self._lock:
                if result is None:
                    self.gate.robots_abandoned(step, self.clock.monotonic())
                else:
                    self.gate.robots_arrived(result, self.clock.monotonic())
                for key in self._lines:  # of those whose turn a redirect took, too
                    self._report(key)

    def _hop(self, step: FetchRobots, url: str, limit: float) -> FetchRobots:
        while True:
            with self._lock:
                taken = self.gate.robots_redirected(step, url, self.clock.monotonic())
                self._report(step.key)
                if isinstance(taken, Wait):
                    self._reported.wait(self._pause(url, taken.until, limit))
                    continue
            if isinstance(taken, FetchRobots):
                return taken
            self._resolve(taken)

    def _resolve(self, step: Resolve) -> None:
        address = system_address(step.host)
        with self._lock:
            self.gate.resolved(step.host, address)

    def _report(self, key: str) -> None:
        """Something became known about a host: who waits first for that asks again. The lock is held."""
        line = self._lines.get(key)
        if line is not None:
            line.changed.notify_all()
        self._reported.notify_all()
