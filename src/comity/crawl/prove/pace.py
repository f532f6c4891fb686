"""Intervals: whether a request went to its host before its time, judged by the times in the ledger alone.

An interval counts from the head of the previous answer (or its failure) to the next request's start. Records stand
in the order in which requests ended, so with several under way at once the previous ones are those sent before.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from comity.crawl.prove.lines import Record
from comity.policy import Policy

TOLERANCE = 0.001  # seconds: what rounding and a clock's grain may take from an interval
_MOST_UNDER_WAY = 64  # requests to one host that overlap in time and are told apart


@dataclass(slots=True)
class _Host:
    run: int
    answers: list[tuple[float, float]] = field(default_factory=list)  # (sent, head)
    hold: tuple[float, float] | None = None  # (head of the answer that asked, until when)


class Paces:
    """All hosts of a ledger, or what else the policy says shares a pace."""

    def __init__(self) -> None:
        self._hosts: dict[str, _Host] = {}

    def check(self, record: Record, run: int, policy: Policy) -> Iterator[str]:
        """What is wrong with the time of a request; takes it up for the ones that follow."""
        sent, interval = record["sent"], record["interval"]
        answered = record["end"] if record["head"] is None else record["head"]
        if not sent - TOLERANCE <= answered <= record["end"] + TOLERANCE:
            yield "its times are not in order"
        if interval is None:  # takes no part in the pacing of its host
            return
        host = self._hosts.setdefault(record["pace"], _Host(run))
        before = max((head for start, head in host.answers if start <= sent), default=None)
        if interval > 0 and before is not None and sent < before + interval - TOLERANCE:
            gone = max(sent - before, 0.0)
            yield f"it was sent {gone:.3f} s after the previous answer of {record['pace']}, not {interval:g} s"
        if host.hold is not None and host.hold[0] <= sent < host.hold[1] - TOLERANCE:
            yield f"it was sent {host.hold[1] - sent:.3f} s before the time that Retry-After named"
        if interval > 0 and host.run == run and host.answers:
            kept = record["kept"]
            if kept is None or before is None or abs(kept - (sent - before)) > TOLERANCE:
                yield f"it says that {kept} s were kept, its times say {sent - (before or sent):.3f} s"
        host.run = run
        if all(head <= sent for _, head in host.answers):
            host.answers = [(sent, answered)]
        else:
            host.answers = [*host.answers[1 - _MOST_UNDER_WAY :], (sent, answered)]
        # A robots.txt that did not arrive whole is no answer, so what its head asked for is not heard.
        heard = record["purpose"] == "content" or record["error"] is None
        if heard and record["retry_after"] is not None:
            until = answered + min(record["retry_after"], policy.max_retry_after)
            if host.hold is None or until > host.hold[1]:
                host.hold = (answered, until)
