"""The pace of what was sent, checked again from what the ledger says: intervals, Retry-After, the operator's orders.

An interval counts from the head of the previous answer (or its failure) to the next request's start. Records stand in
the order in which requests ended, so one whose body took its time is held against those that were sent after it.
"""

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from comity.crawler.output.reader import JsonObject
from comity.crawler.storage.orders import EVERYTHING, Order
from comity.policy import Policy

ORDER_EFFECT_SECONDS = 1.0  # seconds after which an order holds for what is sent
TOLERANCE_SECONDS = 0.001  # seconds: what rounding and a clock's grain may take from an interval
_MAX_REQUESTS_UNDER_WAY = 64  # requests to one host that overlap in time and are told apart


@dataclass(frozen=True, slots=True)
class _PacedRequest:
    number: int
    sent: float
    head: float
    interval: float


@dataclass(slots=True)
class _PacedHost:
    answers: deque[_PacedRequest] = field(default_factory=lambda: deque(maxlen=_MAX_REQUESTS_UNDER_WAY))
    newest: float | None = None  # head
    hold: tuple[float, float] | None = None  # (head of the answer that asked, until when)

    def answered(self, head: float, retry_after: float | None, policy: Policy) -> None:
        self.newest = head if self.newest is None else max(head, self.newest)
        if retry_after is not None:
            until = head + min(retry_after, policy.max_retry_after)
            if self.hold is None or until > self.hold[1]:
                self.hold = (head, until)

    def earlier(self, seconds: float) -> None:
        """Take all that was as if it had been so much earlier."""
        moved = (replace(each, sent=each.sent - seconds, head=each.head - seconds) for each in self.answers)
        self.answers = deque(moved, maxlen=_MAX_REQUESTS_UNDER_WAY)
        self.newest = None if self.newest is None else self.newest - seconds
        self.hold = None if self.hold is None else (self.hold[0] - seconds, self.hold[1] - seconds)


class OrdersInForce:
    """What the operator ordered in the run at hand, by host and by what shares a pace: from when on, and how much."""

    def __init__(self) -> None:
        self._stopped: dict[str, float] = {}
        self._slowed: dict[str, tuple[float, float]] = {}

    def add(self, record: JsonObject) -> str | None:
        """Take up an order; what is wrong with it."""
        at, host, pace, seconds = record["at"] + ORDER_EFFECT_SECONDS, record["host"], record["pace"], record["seconds"]
        match record["order"]:
            case "stop":
                self._stopped.setdefault(host, at)
            case "slow" if seconds is not None and seconds > 0:
                self._slowed[pace] = at, seconds
            case "go":
                self._stopped.pop(host, None)
                self._slowed.pop(pace, None)
            case "end":
                pass  # the run says itself how it ended
            case _:
                return f"its order {record['order'][:40]!r} does not exist"
        return None

    def forbids(self, record: JsonObject) -> bool:
        """Whether a request was sent to a host that was stopped."""
        return bool(record["sent"] > self._stopped.get(record["host"], math.inf))

    def interval(self, record: JsonObject) -> float:
        """Seconds that an order wants between a request and the answer before it."""
        since, seconds = self._slowed.get(record["pace"], (math.inf, 0.0))
        return seconds if record["sent"] > since else 0.0


class OrdersGiven:
    """What the operator ordered of a crawl while it ran, by what lies in its folder, against what the ledgers of its
    shards say was carried out."""

    def __init__(self, given: Sequence[Order]) -> None:
        self._given = given
        self._hosts = {order.host for order in given}
        self._began: dict[int, float] = {}  # by run, when the last of its shards did
        self._sent: dict[tuple[int, str], float] = {}  # by run and host, the last request of those that were ordered
        self._carried_out: set[tuple[int, str, str, float]] = set()

    def begin(self, run: int, record: JsonObject) -> None:
        """A run begins, in one of its shards."""
        self._began[run] = max(record["at"], self._began.get(run, -math.inf))

    def sent(self, run: int, record: JsonObject) -> None:
        """A request was sent."""
        for host in (record["host"], EVERYTHING) if self._hosts else ():
            if host in self._hosts:
                self._sent[run, host] = max(record["sent"], self._sent.get((run, host), -math.inf))

    def carried_out(self, run: int, record: JsonObject) -> None:
        """An order holds from here on."""
        self._carried_out.add((run, record["host"], record["order"], record["given_at"]))

    def ignored(self) -> Iterator[str]:
        """The orders that a run did not carry out, though it sent requests later that they were about."""
        for order in self._given:
            for run, began in self._began.items():
                last = self._sent.get((run, order.host), -math.inf)
                is_late = began <= order.at < last - ORDER_EFFECT_SECONDS
                if is_late and (run, order.host, order.order, order.at) not in self._carried_out:
                    whose = "" if order.host == EVERYTHING else f" about {order.host[:200]}"
                    yield f"run {run} did not carry out the order {order.order!r}{whose}, and sent requests after it"


class Paces:
    """All hosts of a ledger, or what else shares a pace by the policy, and the operator's orders in the run at hand."""

    def __init__(self) -> None:
        self.orders = OrdersInForce()
        self._hosts: dict[str, _PacedHost] = {}

    def handed_over(self, within: float) -> None:
        """What follows is by another clock: the two may differ by so many seconds, which no host is to pay for."""
        if within > 0:
            for host in self._hosts.values():
                host.earlier(within)

    def check(self, number: int, record: JsonObject, policy: Policy) -> Iterator[str]:
        """What is wrong with the time of a request; takes it up for the ones that follow."""
        sent, interval = record["sent"], record["interval"]
        if self.orders.forbids(record):
            yield f"it was sent after the order to stop {record['host'][:200]}"
        if interval is not None:
            interval = max(interval, self.orders.interval(record))
        head = record["end"] if record["head"] is None else record["head"]
        if not sent - TOLERANCE_SECONDS <= head <= record["end"] + TOLERANCE_SECONDS:
            yield "its times are not in order"
        if interval is None:  # takes no part in the pacing of its host
            return
        host = self._hosts.setdefault(record["pace"], _PacedHost())
        before = host.newest
        if before is not None and sent < before:  # others were sent, or answered, meanwhile
            before = max((answer.head for answer in host.answers if answer.sent <= sent), default=None)
            yield from _too_early(host, sent, head)
        if interval > 0 and before is not None and sent < before + interval - TOLERANCE_SECONDS:
            gone = max(sent - before, 0.0)
            yield f"it was sent {gone:.3f} s after the previous answer of {record['pace']}, not {interval:g} s"
        if host.hold is not None and host.hold[0] <= sent < host.hold[1] - TOLERANCE_SECONDS:
            yield f"it was sent {host.hold[1] - sent:.3f} s before the time that Retry-After named"
        kept = record["kept"]
        if interval > 0 and kept is not None and (before is None or abs(kept - (sent - before)) > TOLERANCE_SECONDS):
            yield f"it says that {kept} s were kept, its times say {0.0 if before is None else sent - before:.3f} s"
        host.answers.append(_PacedRequest(number, sent, head, interval))
        # A robots.txt that did not arrive whole is no answer, so what its head asked for is not heard.
        heard = record["purpose"] == "content" or record["error"] is None
        host.answered(head, record["retry_after"] if heard else None, policy)


def _too_early(host: _PacedHost, sent: float, head: float) -> Iterator[str]:
    """Requests with records before, sent after the one at hand but too early after its answer."""
    for answer in host.answers:
        if answer.sent > sent and answer.interval > 0 and answer.sent < head + answer.interval - TOLERANCE_SECONDS:
            gone = max(answer.sent - head, 0.0)
            which = f"the request in record {answer.number}"
            yield f"{which} was sent {gone:.3f} s after its answer, not {answer.interval:g} s"
