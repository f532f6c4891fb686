"""Intervals: whether a request went to its host before its time, judged by the times in the ledger alone.

An interval counts from the head of the previous answer (or its failure) to the next request's start. Records stand
in the order in which requests ended, so one whose body took its time is held against those that were sent after it.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from comity.crawler.lines import Record
from comity.policy import Policy

TOLERANCE = 0.001  # seconds: what rounding and a clock's grain may take from an interval
_MOST_UNDER_WAY = 64  # requests to one host that overlap in time and are told apart


@dataclass(frozen=True, slots=True)
class _Answer:
    number: int
    sent: float
    head: float
    interval: float


@dataclass(slots=True)
class _Host:
    answers: deque[_Answer] = field(default_factory=lambda: deque(maxlen=_MOST_UNDER_WAY))
    newest: float | None = None  # head
    hold: tuple[float, float] | None = None  # (head of the answer that asked, until when)


class Paces:
    """All hosts of a ledger, or what else the policy says shares a pace."""

    def __init__(self) -> None:
        self._hosts: dict[str, _Host] = {}

    def check(self, number: int, record: Record, policy: Policy) -> Iterator[str]:
        """What is wrong with the time of a request; takes it up for the ones that follow."""
        sent, interval = record["sent"], record["interval"]
        head = record["end"] if record["head"] is None else record["head"]
        if not sent - TOLERANCE <= head <= record["end"] + TOLERANCE:
            yield "its times are not in order"
        if interval is None:  # takes no part in the pacing of its host
            return
        host = self._hosts.setdefault(record["pace"], _Host())
        before = host.newest
        if before is not None and sent < before:  # others were sent, or answered, meanwhile
            before = max((answer.head for answer in host.answers if answer.sent <= sent), default=None)
            yield from _too_early(host, sent, head)
        if interval > 0 and before is not None and sent < before + interval - TOLERANCE:
            gone = max(sent - before, 0.0)
            yield f"it was sent {gone:.3f} s after the previous answer of {record['pace']}, not {interval:g} s"
        if host.hold is not None and host.hold[0] <= sent < host.hold[1] - TOLERANCE:
            yield f"it was sent {host.hold[1] - sent:.3f} s before the time that Retry-After named"
        kept = record["kept"]
        if interval > 0 and kept is not None and (before is None or abs(kept - (sent - before)) > TOLERANCE):
            yield f"it says that {kept} s were kept, its times say {0.0 if before is None else sent - before:.3f} s"
        host.answers.append(_Answer(number, sent, head, interval))
        host.newest = head if host.newest is None else max(head, host.newest)
        # A robots.txt that did not arrive whole is no answer, so what its head asked for is not heard.
        heard = record["purpose"] == "content" or record["error"] is None
        if heard and record["retry_after"] is not None:
            until = head + min(record["retry_after"], policy.max_retry_after)
            if host.hold is None or until > host.hold[1]:
                host.hold = (head, until)


def _too_early(host: _Host, sent: float, head: float) -> Iterator[str]:
    """Requests with records before, sent after the one at hand but too early after its answer."""
    for answer in host.answers:
        if answer.sent > sent and answer.interval > 0 and answer.sent < head + answer.interval - TOLERANCE:
            gone = max(answer.sent - head, 0.0)
            which = f"the request in record {answer.number}"
            yield f"{which} was sent {gone:.3f} s after its answer, not {answer.interval:g} s"
