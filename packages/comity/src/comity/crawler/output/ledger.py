"""The ledger: one record for every request sent and every refusal, each chained to the one before by its hash.

It writes down what the client and the gate did, into a file of its own whatever the output's format, and decides
nothing. `prove` checks it without trusting it; docs/ledger-format.md says what each field means.
"""

import base64
import dataclasses
import json
import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from comity import times
from comity.crawler.output.lines import AppendedFile
from comity.crawler.output.records import evidence
from comity.digests import sha256_of
from comity.frontier.durable import Anchor
from comity.frontier.values import Run
from comity.net import Clock, Response
from comity.net.request_record import RequestRecord
from comity.policy import Policy, RobotsResult
from comity.policy.policy import policy_to_dict
from comity_pages import urls
from comity_pages._utf8 import by_any_writer

START = "0" * 64  # what stands for the hash of the record before the first
# Channels whose records are counted; a refusal has a record here anyway.
COUNTED = ("pages", "redirects", "failures", "unwanted", "changes", "robots", "sitemaps", "requisites")
NOTHING: Mapping[str, int] = MappingProxyType({})
_MAX_PACES = 32_768  # of which the last answer is remembered; of another the seconds kept are not written
_MAX_BODIES = 10_000  # robots.txt hashes remembered, so that a body is not written again

try:
    import orjson
except ImportError:
    orjson = None  # type: ignore[assignment]

LedgerRecord = dict[str, Any]
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False, check_circular=False).encode


def canonical(record: Mapping[str, Any]) -> bytes:
    """The bytes of a record that its hash is made of: JSON with sorted keys, no spaces, ASCII only."""
    if orjson is not None and by_any_writer(record.values()):  # orjson takes a tenth of the time
        try:
            data = orjson.dumps(record, option=orjson.OPT_SORT_KEYS)
        except TypeError:  # surrogates, numbers beyond 64 bits
            pass
        else:
            if data.isascii() and data.find(b"\x7f") < 0:  # else the standard library escapes what orjson does not
                return data
    return _canonical(record).encode("ascii")


@dataclasses.dataclass(frozen=True, slots=True)
class Collected:
    """What came since the last commit, in its order, and when that was collected; refusals that the commit itself
    brings to light are of that time. `ended`: how the run ended, where this is the end of it."""

    waiting: list[LedgerRecord]
    at: float
    ended: str | None


class Ledger:
    """Chains records and appends them to a file. Use it as a context manager. `mark`: what `commit` gave when the
    frontier last committed; None for a new ledger. `anchor` says whether the crawl's folder is still where it was.

    Records are collected on the crawl's own thread; `commit` may run in any, one at a time. Times are Unix time, but
    run on the monotonic clock from the start of the run on, so that no setting of the machine's clock can make an
    interval look shorter or longer than it was.
    """

    def __init__(self, path: Path, mark: Mapping[str, Any] | None, clock: Clock) -> None:
        self._file = AppendedFile(path, mark["length"] if mark else 0)
        self.anchor = Anchor(path, self._file.descriptor)
        self._count: int = mark["count"] if mark else 0
        self._hash: str = mark["hash"] if mark else START
        # Records of the output so far, by channel.
        self._written: dict[str, int] = mark["written"] if mark else dict.fromkeys(COUNTED, 0)
        self._offset = clock.wall() - clock.monotonic()
        self._clock = clock
        self._policy = Policy()
        self._waiting: list[LedgerRecord] = []
        self._ended: str | None = None
        self._answered: OrderedDict[str, float] = OrderedDict()  # pace -> head of its last answer; the oldest first
        self._asked: dict[str, int | None] = {}  # origin -> status of a robots.txt of which no result came yet
        self._bodies: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    # On the crawl's thread

    def begin(self, policy: Policy, seeds: Sequence[str], sink: str, run: Run) -> None:
        """The record that heads a run, the first and each that resumes it. `sink`: the name of the output's."""
        self._policy = policy
        within = self._clock.within
        self._note(
            "run",
            crawl=run.crawl,
            run=run.number,
            version=version("comity"),
            agent=policy.agent,
            policy=policy_to_dict(policy),
            seeds=list(seeds),
            sink=sink,
            **({} if within is None else {"clock_within": times.to_microseconds(within)}),
        )

    def request(self, request: RequestRecord) -> None:
        """A request that is over, whatever came of it."""
        origin, pace, decision = request.origin, request.key, request.decision
        interval = request.interval if decision is None else decision.delay
        kept: float | None = None
        if interval is not None:
            last = self._answered.get(pace, -math.inf)
            if -math.inf < last <= request.sent:
                kept = times.to_microseconds(request.sent - last)
            self._note_answer(pace, request.end if request.head is None else request.head)
        if origin is not None:
            self._asked[origin] = request.status if request.error is None else None
        body = request.body
        self._waiting.append(
            {
                "kind": "request",
                "purpose": "content" if origin is None else "robots",
                "method": request.method,
                "url": request.url,
                "host": urls.host(request.url),
                "pace": pace,
                "origin": origin,
                "sent": self._wall(request.sent),
                "head": None if request.head is None else self._wall(request.head),
                "end": self._wall(request.end),
                "status": request.status,
                "bytes": None if body is None else len(body),
                "sha256": request.sha256,
                "error": request.error,
                "retry_after": request.retry_after,
                "interval": interval,
                "kept": kept,
                **evidence(decision),
                **_location(request.location),
                **({} if request.signed is None else {"signed": request.signed}),
            }
        )

    def copy(self, response: Response) -> None:
        """An answer whose body is a copy kept from earlier."""
        self._note(
            "copy",
            url=response.url,
            host=urls.host(response.url),
            status=response.status,
            sha256=response.sha256,
            **evidence(response.decision),
            **_location(response.location),
        )

    def robots(self, result: RobotsResult) -> None:
        """What is in force since a robots.txt was asked for; from here on requests may name it as their evidence."""
        body = None
        if result.sha256 is not None and result.sha256 not in self._bodies:
            if len(self._bodies) >= _MAX_BODIES:
                self._bodies.clear()
            self._bodies.add(result.sha256)
            body = base64.b64encode(result.body).decode("ascii")
        source, life = self._source(result)
        since = result.unreachable_since
        self._note(
            "robots",
            source=source,
            origin=result.origin,
            url=result.url,
            outcome=result.kind,
            status=result.status,
            content_type=result.headers.get("content-type"),
            life=None if math.isinf(life) else round(life, 3),
            unreachable_since=None if since is None else times.to_milliseconds(since),
            robots_sha256=result.sha256,
            robots_at=times.to_milliseconds(result.fetched_at),
            body_base64=body,
        )

    def refusal(self, record: Mapping[str, Any]) -> None:
        """A URL that was not requested because of robots.txt or policy; `record` as it goes to the output."""
        self._waiting.append(_refusal(record, self._now()))

    def unsent(self, record: Mapping[str, Any]) -> None:
        """A URL that was given up before any request for it; `record` as it goes to the output."""
        self._note("unsent", url=record["url"], why=record["why"])

    def order(self, host: str, order: str, seconds: float | None, given_at: float, *, pace: str) -> None:
        """An order of the operator, which holds from now on; `pace` names what shares the host's."""
        self._note("order", host=host, pace=pace, order=order, seconds=seconds, given_at=given_at)

    def relayed(self, origin: str, url: str, shard: int, outcome: Response | Exception) -> None:
        """What a host of another shard answered, to which an origin's robots.txt redirects: that shard's ledger has the
        request.
        """
        status = sha256 = error = None
        if isinstance(outcome, Response):
            status, sha256 = outcome.status, sha256_of(outcome.body)
        else:
            error = str(outcome)
        self._asked[origin] = status
        self._note("relayed", shard=shard, origin=origin, url=url, status=status, sha256=sha256, error=error)

    def seal(self, *, stopped: bool) -> None:
        """The next commit ends the run: the seal is its last record."""
        self._ended = "stopped" if stopped else "finished"

    def collect(self) -> Collected:
        """Hand out what came since the last time, for `commit`."""
        collected = Collected(self._waiting, self._now(), self._ended)
        self._waiting, self._ended = [], None
        return collected

    # On any thread

    def commit(
        self, collected: Collected, refusals: Sequence[Mapping[str, Any]] = (), written: Mapping[str, int] = NOTHING
    ) -> dict[str, Any]:
        """Chain what was collected and make it durable.

        Args:
            refusals: records of the output that the commit brought to light.
            written: how many records the commit adds to the output, by channel.

        Returns:
            The marker that belongs into the frontier's transaction: length of the file, number and hash of the last
                record, records of the output.
        """
        for record in collected.waiting:
            self._write(record)
        for refused in refusals:
            self._write(_refusal(refused, collected.at))
        self._written = {name: count + written.get(name, 0) for name, count in self._written.items()}
        counts: LedgerRecord = {"written": self._written}
        if collected.ended is not None:
            last = {"ended": collected.ended, "count": self._count, "final": self._hash}
            self._write({"kind": "seal", "at": collected.at, **last, **counts})
        return {"length": self._file.flush(), "count": self._count, "hash": self._hash, **counts}

    def _write(self, record: LedgerRecord) -> None:
        self._count += 1
        record |= {"n": self._count, "prev": self._hash}
        data = canonical(record)
        self._hash = sha256_of(data)
        self._file.add(b'%s,"hash":"%s"}\n' % (data[:-1], self._hash.encode()))

    def _note(self, kind: str, **said: Any) -> None:
        self._waiting.append({"kind": kind, "at": self._now(), **said})

    def _note_answer(self, pace: str, at: float) -> None:
        answered = self._answered
        if at >= answered.get(pace, -math.inf):
            answered[pace] = at
        answered.move_to_end(pace)
        if len(self._answered) > _MAX_PACES:
            self._answered.popitem(last=False)

    def _source(self, result: RobotsResult) -> tuple[str, float]:
        """Where what is in force comes from, and for how many seconds from now on it holds."""
        if result.origin not in self._asked:
            return "cache", result.expires_at - self._clock.wall()
        status = self._asked.pop(result.origin)
        if result.unreachable_since is not None:
            return ("standing" if result.stale else "request"), self._policy.failure_life
        source = "renewed" if status == 304 and result.status != 304 else "request"
        return source, result.expires_at - result.fetched_at

    def _now(self) -> float:
        return self._wall(self._clock.monotonic())

    def _wall(self, monotonic: float) -> float:
        return times.to_microseconds(monotonic + self._offset)


def _refusal(record: Mapping[str, Any], at: float) -> LedgerRecord:
    decision, url = record["decision"], record["url"]
    return {
        "kind": "refusal",
        "at": at,
        "url": url,
        "host": urls.host(url),
        "verdict": decision["verdict"],
        "line": decision["line"],
        "rule": decision["rule"],
        "robots_sha256": decision["robots_sha256"],
        "robots_at": None if decision["robots_at"] is None else times.parse_iso(decision["robots_at"]),
    }


def _location(location: str | None) -> LedgerRecord:
    """A redirect's target; nothing where there is none."""
    return {} if location is None else {"location": location}
