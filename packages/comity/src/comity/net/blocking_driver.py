"""Driver: carries out the effects of turns in the calling thread; any thread may use it."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from comity.errors import system_failed
from comity.gate import FetchRobots, Go
from comity.gate.machine import End
from comity.gate.steps import Body
from comity.net import turns
from comity.net.names import system_addresses
from comity.net.response import Response
from comity.policy import Decision
from comity_pages.urls import Url

Get = Callable[[FetchRobots, dict[str, str], float], Response]
"""Sends one request for a robots.txt, with conditions as headers, and follows no redirect. It may read until a time on
the monotonic clock."""


class Driver(turns.TurnProtocol):
    """For callers that block."""

    def _begin(self, other: turns.TurnProtocol | None = None) -> None:
        super()._begin(other)
        self._lock = threading.Lock()  # held whenever a flow goes on

    @contextmanager
    def turn(self, url: str, get: Get) -> Iterator[Go]:
        """As `AsyncDriver.turn`."""
        wanted = Url(url)
        with self._lock:
            step = self.first_step(wanted)
        go = self._run(self.permission_for(wanted, step), get)
        try:
            yield go
        except BaseException as error:
            self.finished(go, "failed" if isinstance(error, Exception) else "abandoned")
            raise
        self.finished(go)

    def decision(self, url: Url, get: Get) -> Decision:
        """As `AsyncDriver.decision`."""
        return self._run(self.decision_on(url), get)

    def headers_received(
        self, go: Go, status: int, headers: Mapping[str, str] = turns.NO_HEADERS, *, body: Body | None = None
    ) -> None:
        with self._lock:
            super().headers_received(go, status, headers, body=body)

    def finished(self, go: Go, end: End = "done", *, may_repeat: bool = False) -> bool:
        with self._lock:
            return super().finished(go, end, may_repeat=may_repeat)

    def _run(self, flow: turns.Flow[turns.T], get: Get) -> turns.T:
        outcome: Any = None
        error: BaseException | None = None
        while True:
            with self._lock:
                try:
                    effect = flow.send(outcome) if error is None else flow.throw(error)
                except StopIteration as end:
                    return end.value  # type: ignore[no-any-return]
                if isinstance(effect, turns.WaitForEvent):  # from now on it may be woken
                    self._events.setdefault(effect.token, threading.Event())
                    event = self._events[effect.token]
            outcome = error = None
            try:
                if isinstance(effect, turns.WaitForEvent):
                    outcome = event.wait(effect.seconds)
                else:
                    outcome = self._carry_out(effect, get)
            except BaseException as raised:
                error = raised

    def _carry_out(self, effect: turns.Effect, get: Get) -> Any:
        match effect:
            case turns.RequestRobots(step, conditions):
                try:
                    return get(step, conditions, time.monotonic() + self.robots_timeout)
                except turns.NO_ANSWER as error:
                    return error
            case turns.ResolveHost(host):
                try:
                    return min(system_addresses(host.strip("[]")))
                except OSError as error:
                    if (failed := system_failed(error)) is not None:
                        raise failed from error
                    return host
            case turns.Sleep(seconds):
                time.sleep(seconds)
        return None


def read_robots(url: str, status: int, headers: Mapping[str, str], parts: Iterable[bytes], deadline: float) -> Response:
    """Return the answer of a wrapped library whose body comes in parts, undecoded. Errors as for RobotsBody.

    Raises:
        TimeoutError: they come so slowly that they are given up.
    """
    body = turns.RobotsBody(url, status, headers)
    for part in parts:
        body.take(part)
        if body.is_full:
            break
        if time.monotonic() > deadline:
            raise TimeoutError
    return Response(url=url, status=status, headers=headers, body=body.end(), truncated=body.is_full)
