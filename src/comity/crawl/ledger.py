"""The ledger: one record for every request sent and every refusal, each chained to the one before by its hash.

It writes down what the client and the gate did, into a file of its own whatever the output's format, and decides
nothing. `prove` checks it without trusting it; docs/ledger.md says what each field means.
"""

import base64
import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from comity import urls
from comity.crawl.appended import AppendedFile
from comity.net import Clock
from comity.net.exchange import Exchange
from comity.policy import Decision, Policy, RobotsResult

START = "0" * 64  # what stands for the hash of the record before the first
_DIGITS = 6  # of times in seconds
_MOST_BODIES = 10_000  # robots.txt hashes remembered, so that a body is not written again

Record = dict[str, Any]


def canonical(record: Mapping[str, Any]) -> bytes:
    """The bytes of a record that its hash is made of: JSON with sorted keys, no spaces, ASCII only."""
    return json.dumps(record, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


class Ledger:
    """Chains records and appends them to a file. Use it as a context manager.

    Times are Unix time, but run on the monotonic clock from the start of the run on, so that no setting of the
    machine's clock can make an interval look shorter or longer than it was.

    Args:
        mark: what `flush` gave when the frontier last committed; None for a new ledger.

    Raises:
        StorageError: the file cannot be opened or is shorter than what was committed.
    """

    def __init__(self, path: Path, mark: Mapping[str, Any] | None, clock: Clock) -> None:
        self._file = AppendedFile(path, mark["length"] if mark else 0)
        self._count: int = mark["count"] if mark else 0
        self._hash: str = mark["hash"] if mark else START
        self._offset = clock.wall() - clock.monotonic()
        self._clock = clock
        self._policy = Policy()
        self._answered: dict[str, float] = {}  # host -> head of its last answer, monotonic
        self._intervals: dict[str, float] = {}  # host -> the interval last demanded
        self._bodies: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def flush(self) -> dict[str, Any]:
        """Make every record durable; what this returns belongs into the frontier's transaction."""
        return {"length": self._file.flush(), "count": self._count, "hash": self._hash}

    def begin(self, policy: Policy, *, version: str, seeds: Sequence[str]) -> None:
        """The record that heads a run, the first and each that resumes it."""
        self._policy = policy
        self._add(
            {
                "kind": "run",
                "at": self._now(),
                "version": version,
                "agent": policy.agent,
                "policy": policy_to_dict(policy),
                "seeds": list(seeds),
            }
        )

    def request(self, exchange: Exchange) -> None:
        """A request that is over, whatever came of it."""
        host = urls.host(exchange.url)
        interval: float | None = None
        kept: float | None = None
        if exchange.paced:
            interval = self._interval(host, exchange.decision)
            last = self._answered.get(host, -math.inf)
            if -math.inf < last <= exchange.sent:
                kept = round(exchange.sent - last, _DIGITS)
            self._answered[host] = max(last, exchange.end if exchange.head is None else exchange.head)
        body = exchange.body
        self._add(
            {
                "kind": "request",
                "purpose": "content" if exchange.origin is None else "robots",
                "method": exchange.method,
                "url": exchange.url,
                "host": host,
                "origin": exchange.origin,
                "sent": self._wall(exchange.sent),
                "head": None if exchange.head is None else self._wall(exchange.head),
                "end": self._wall(exchange.end),
                "status": exchange.status,
                "bytes": None if body is None else len(body),
                "sha256": None if body is None else hashlib.sha256(body).hexdigest(),
                "error": exchange.error,
                "retry_after": exchange.retry_after,
                "interval": interval,
                "kept": kept,
                **evidence(exchange.decision),
            }
        )

    def robots(self, result: RobotsResult) -> None:
        """What came of asking for a robots.txt; from here on requests may name it as their evidence."""
        body = None
        if result.sha256 is not None and result.sha256 not in self._bodies:
            if len(self._bodies) >= _MOST_BODIES:
                self._bodies.clear()
            self._bodies.add(result.sha256)
            body = base64.b64encode(result.body).decode("ascii")
        self._add(
            {
                "kind": "robots",
                "at": self._now(),
                "origin": result.origin,
                "url": result.url,
                "outcome": result.kind,
                "status": result.status,
                "robots_sha256": result.sha256,
                "robots_at": round(result.fetched_at, 3),
                "body_base64": body,
            }
        )

    def refusal(self, url: str, brief: Mapping[str, Any]) -> None:
        """A URL that was not requested; `brief` as in the records of refusals."""
        found = {name: brief[name] for name in ("verdict", "line", "rule", "robots_sha256", "robots_at")}
        self._add({"kind": "refusal", "at": self._now(), "url": url, "host": urls.host(url), **found})

    def seal(self, *, stopped: bool) -> None:
        """The record that ends a run."""
        ended = "stopped" if stopped else "finished"
        self._add({"kind": "seal", "at": self._now(), "ended": ended, "count": self._count, "final": self._hash})

    def _interval(self, host: str, decision: Decision | None) -> float:
        """What the gate demanded; a robots.txt keeps the interval that its host was last asked with."""
        if decision is None:
            return max(self._policy.min_interval, self._intervals.get(host, 0.0))
        self._intervals[host] = decision.delay
        return decision.delay

    def _add(self, record: Record) -> None:
        self._count += 1
        record |= {"n": self._count, "prev": self._hash}
        data = canonical(record)
        self._hash = hashlib.sha256(data).hexdigest()
        self._file.add(b'%s,"hash":"%s"}\n' % (data[:-1], self._hash.encode()))

    def _now(self) -> float:
        return self._wall(self._clock.monotonic())

    def _wall(self, monotonic: float) -> float:
        return round(monotonic + self._offset, _DIGITS)


def evidence(decision: Decision | None) -> Record:
    """Verdict, rule and robots.txt of a decision; all None where none was needed."""
    source = decision.source if decision else None
    rule = decision.rule if decision else None
    return {
        "verdict": decision.verdict if decision else None,
        "line": rule.line if rule else None,
        "rule": rule.text if rule else None,
        "robots_sha256": source.sha256 if source else None,
        "robots_at": round(source.fetched_at, 3) if source else None,
    }


def policy_to_dict(policy: Policy) -> Record:
    """A policy as JSON can hold it: infinity is the text "inf"."""
    values = dataclasses.asdict(policy)
    return {name: "inf" if value == math.inf else value for name, value in values.items()}
