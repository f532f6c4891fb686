"""The evidence: each decision made again from the robots.txt in the ledger.

Each robots.txt must be known, and not too old, at the time of the request that cites it. Also the robots.txt that a
crawl read last of each site; whether the ledger was changed is for `comity prove` to see.
"""

import base64
import math
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from comity.audit.chain import misshapen
from comity.audit.paces import TOLERANCE_SECONDS
from comity.crawler.output.reader import JsonLine, JsonObject, load, read_lines
from comity.crawler.storage.crawl_output import OutputPart
from comity.digests import sha256_of
from comity.errors import ComityError, InputError
from comity.files import open_regular
from comity.http_rules import REDIRECTS
from comity.policy import Decision, OriginPolicy, Policy, RobotsResult
from comity.policy.presets import DAY
from comity.policy.robots_result import no_answer

_RULINGS = 16 * 1024 * 1024  # bytes of robots.txt files held parsed
_OVERHEAD = 2048  # bytes that one costs beside its text
_COPIES = 64  # answers of one origin held
_MINUTE = 60.0  # seconds: hours of the day begin and end with one
SLACK = 60.0  # seconds: by which the clock of the day may have been set while a site was unreachable
_SOURCES = ("request", "renewed", "standing", "cache")


class Bodies:
    """The robots.txt files in the ledgers of a shard, found by hash. They are read again when they are needed."""

    def __init__(self) -> None:
        self._places: dict[str, tuple[Path, int]] = {}

    def add(self, line: JsonLine, ledger: Path) -> str | None:
        """Take up the body in a record of a robots.txt; what is wrong with it."""
        sha256 = line.record["robots_sha256"]
        body = _served_body(line.record)
        if line.record["body_base64"] is None:
            return None if sha256 is None or sha256 in self._places else "its body is missing"
        if body is None:
            return "its body is not base64"
        found = sha256_of(body)
        if found != sha256:
            return f"its body was changed: the hash is {found}, not {sha256}"
        self._places.setdefault(found, (ledger, line.offset))
        return None

    def body(self, sha256: str) -> bytes:
        """The file with that hash; empty where no ledger has it. An InputError: the ledger cannot be read any more."""
        if sha256 not in self._places:
            return b""
        path, offset = self._places[sha256]
        try:
            with open_regular(path) as file:
                file.seek(offset)
                return _served_body(load(file.readline())[0]) or b""
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


@dataclass(slots=True, eq=False)
class _Copy:
    number: int
    record: JsonObject
    since: float  # when it was asked for
    used: bool = False


class DecisionProof:
    """What was known of each origin when: follows the ledger, and judges the requests in it. `cached`: robots.txt files
    that came from a cache which the ledger does not cover."""

    def __init__(self) -> None:
        self.cached = 0
        self._bodies = Bodies()
        self._rulings: OrderedDict[_Copy, tuple[OriginPolicy, int]] = OrderedDict()  # with bytes
        self._held = 0
        self._copies: dict[str, list[_Copy]] = {}
        self._asked: dict[str, JsonObject] = {}  # origin -> the last request for its robots.txt without its answer
        self._since: dict[str, float] = {}  # origin -> when the first of those for one answer was sent
        self._late: dict[str, list[tuple[int, float]]] = {}  # origin -> requests by a stale copy, to be explained

    def begin(self) -> None:
        """A run begins, under a policy that may be another one."""
        self._rulings.clear()
        self._held = 0
        self._asked.clear()

    def asked(self, record: JsonObject) -> Iterator[str]:
        """A request for a robots.txt."""
        origin, url = record["origin"], record["url"]
        if url != f"{origin}/robots.txt" and not self.leads_on(origin or ""):
            yield f"{url[:200]} is not a robots.txt of {origin}"
            return
        if record["verdict"] is not None:
            yield "it has a verdict, which a request for robots.txt does not need"
        self._asked[origin] = record
        if url == f"{origin}/robots.txt":
            self._since[origin] = record["sent"]
        # A stale copy serves while its successor is on its way.
        late = self._late.pop(origin, [])
        if rest := [(number, sent) for number, sent in late if sent < record["sent"] - TOLERANCE_SECONDS]:
            self._late[origin] = rest

    def leads_on(self, origin: str) -> bool:
        """Whether the last answer of an origin's robots.txt was a redirect."""
        return origin in self._asked and self._asked[origin]["status"] in REDIRECTS

    def arrived(self, line: JsonLine, ledger: Path, policy: Policy) -> Iterator[str]:
        """What is in force since a robots.txt was asked for, as a line of a ledger says."""
        record, origin = line.record, line.record["origin"]
        if (problem := self._bodies.add(line, ledger)) is not None:
            yield problem
        copies = self._copies.setdefault(origin, [])
        asked = self._asked.pop(origin, None)
        yield from self._wrong_source(record, asked, copies)
        yield from _wrong_life(record, policy)
        cached = record["source"] == "cache"
        since = math.inf if cached else self._since.get(origin, math.inf)
        copies.append(_Copy(line.number, {**record, "body_base64": None}, since))
        result = result_of(record, self._bodies, policy)
        if result.kind != record["outcome"]:
            yield f"it says {record['outcome']}, its status and body say {result.kind}"
        if record["source"] == "standing":
            yield from _wrong_standing(record, copies, policy)
        del copies[:-_COPIES]

    def _wrong_source(self, record: JsonObject, asked: JsonObject | None, copies: list[_Copy]) -> Iterator[str]:
        """Whether the request before it gave what the record says."""
        origin, source = record["origin"], record["source"]
        if source not in _SOURCES:
            yield f"its source {source[:40]!r} does not exist"
            return
        if source == "cache":
            self.cached += 1
            if asked is not None:
                yield "it says that it came from a cache, but it was requested"
            return
        if asked is None or (asked["url"] != record["url"] and source != "standing"):
            yield f"no request for this robots.txt of {origin} stands before it"
            return
        status = asked["status"] if asked["error"] is None else None
        if source == "request":
            if record["status"] != status:
                yield f"it says status {record['status']}, the request for it {status}"
            elif record["robots_sha256"] is not None and asked["sha256"] != record["robots_sha256"]:
                yield f"it says hash {record['robots_sha256']}, the request for it {asked['sha256']}"
            before = copies[-1].record["unreachable_since"] if copies else None
            if record["unreachable_since"] not in (None, record["robots_at"], before):
                self.cached += 1  # how long it has been unreachable was known from an earlier crawl
            return
        if source == "renewed" and status != 304:
            yield f"it says that an earlier copy was confirmed, the request for it says status {status}"
        if source == "standing" and not no_answer(status):
            yield f"it says that its site was unreachable, the request for it says status {status}"
        if not any(copy.record["robots_sha256"] == record["robots_sha256"] for copy in copies):
            self.cached += 1  # the copy that was confirmed, or that stands in, is of an earlier crawl

    def decided(
        self, number: int, record: JsonObject, origin: str, policy: Policy
    ) -> tuple[Decision | None, list[str]]:
        """Decide about the URL of a request or refusal again; the decision, and what is wrong with its evidence."""
        problems: list[str] = []
        if policy.mode == "ignore":
            origin_policy = OriginPolicy(policy, None)
        else:
            copies = self._copies.get(origin, [])
            place = _cited(copies, record)
            if place is None:
                what = "the robots.txt it cites" if copies else f"any robots.txt of {origin}"
                return None, [f"it stands before {what} was known"]
            origin_policy = self._origin_policy(copies[place], policy)
            if record["kind"] == "request":
                problems.extend(self._time(number, record, copies, place))
        try:
            at = record["sent"] if record["kind"] == "request" else record["at"]
            decision = origin_policy.decide(record["url"], at)
            if record.get("interval") not in (None, decision.delay):  # permitted before, when another rate was in force
                decision = origin_policy.decide(record["url"], at - _MINUTE)
        except ComityError as error:
            return None, [str(error)]
        rule = decision.rule
        found = {"verdict": decision.verdict, "line": rule and rule.line, "rule": rule and rule.text}
        problems.extend(
            f"it says {name} {record[name]!r}, robots.txt and policy say {value!r}"
            for name, value in found.items()
            if record[name] != value
        )
        return decision, problems

    def never_explained(self) -> Iterator[tuple[int, str]]:
        """Requests of a ledger by a copy past its life for which no successor was on its way."""
        late, self._late = chain.from_iterable(self._late.values()), {}
        return ((number, "the robots.txt it cites was too old") for number, _ in late)

    def _origin_policy(self, copy: _Copy, policy: Policy) -> OriginPolicy:
        if copy not in self._rulings:
            result = result_of(copy.record, self._bodies, policy)
            self._rulings[copy] = OriginPolicy(policy, result), len(result.body) + _OVERHEAD
            self._held += self._rulings[copy][1]
            while self._held > _RULINGS and len(self._rulings) > 1:
                self._held -= self._rulings.popitem(last=False)[1][1]
        self._rulings.move_to_end(copy)
        return self._rulings[copy][0]

    def _time(self, number: int, record: JsonObject, copies: list[_Copy], place: int) -> Iterator[str]:
        """Whether the copy cited was the one in force when the request was sent."""
        copy, sent = copies[place], record["sent"]
        if copy.record["at"] > sent + TOLERANCE_SECONDS:
            yield f"it was sent before the robots.txt it cites had arrived (record {copy.number})"
        fetching = False
        if place + 1 < len(copies):
            later = copies[place + 1]
            if later.record["at"] < sent - TOLERANCE_SECONDS:
                yield f"a newer robots.txt was known (record {later.number})"
                return
            fetching = later.since <= sent + TOLERANCE_SECONDS
        life = math.inf if copy.record["life"] is None else copy.record["life"]
        # A copy may serve once however short its life, or it would have been asked for in vain.
        if sent - copy.record["at"] > life + TOLERANCE_SECONDS and copy.used and not fetching:
            self._late.setdefault(copy.record["origin"], []).append((number, sent))
        copy.used = True


def result_of(record: JsonObject, bodies: Bodies, policy: Policy) -> RobotsResult:
    """What a record of a robots.txt stands for, judged anew by its status and body (RFC 9309, 2.3.1)."""
    origin, url, at = record["origin"], record["url"], record["robots_at"]
    if record["status"] is None:
        result = RobotsResult.unreachable(origin, url, "no answer", policy=policy, fetched_at=at)
    else:
        headers = {"content-type": record["content_type"]} if record["content_type"] is not None else {}
        body = bodies.body(record["robots_sha256"] or "")
        result = RobotsResult.from_response(
            origin, url, record["status"], body, policy=policy, fetched_at=at, headers=headers
        )
    since = record["unreachable_since"]
    return replace(result, unreachable_since=None if since is None else max(since, 0.0))


def robots_files(
    parts: Iterable[OutputPart], policy: Policy, origins: Collection[str] | None = None
) -> Iterator[RobotsResult]:
    """The last of each origin, in the order in which these were met; or of some origins. Parts that are not there are
    passed over, and records that cannot be read."""
    last: dict[str, JsonLine] = {}
    bodies = Bodies()
    for part in parts:
        for line in read_lines(part.ledger, until=part.ledger_length) if part.absent is None else ():
            if line.problem is None and line.record.get("kind") == "robots" and misshapen(line.record) is None:
                bodies.add(line, part.ledger)
                if origins is None or line.record["origin"] in origins:
                    last[line.record["origin"]] = line
    for line in last.values():
        yield result_of(line.record, bodies, policy)


def _cited(copies: list[_Copy], record: JsonObject) -> int | None:
    """The place of the copy that a record cites: the last that was there in time, or else the last."""
    at = record["sent"] if record["kind"] == "request" else record["at"]
    cited = record["robots_at"], record["robots_sha256"]
    known = [(copy.record["robots_at"], copy.record["robots_sha256"]) for copy in copies]
    places = [place for place in reversed(range(len(copies))) if known[place] == cited]
    in_time = (place for place in places if copies[place].record["at"] <= at + TOLERANCE_SECONDS)
    return next(in_time, places[0] if places else None)


def _wrong_life(record: JsonObject, policy: Policy) -> Iterator[str]:
    """Whether it was to be kept for longer than the policy allows."""
    life = math.inf if record["life"] is None else record["life"]
    if record["unreachable_since"] is not None:
        most = policy.failure_life
    else:
        most = DAY if policy.cache_life is None else policy.cache_life
    if life > most + TOLERANCE_SECONDS:
        yield f"it says that it holds for {life:g} s, the policy says at most {most:g} s"


def _wrong_standing(record: JsonObject, copies: list[_Copy], policy: Policy) -> Iterator[str]:
    """Whether the last good copy stood in for its unreachable successor for too long (RFC 9309, 2.4)."""
    since = record["unreachable_since"]
    if since is None:
        yield "it does not say since when its site was unreachable"
        return
    before = copies[-2].record["unreachable_since"] if len(copies) > 1 else None
    if before is not None and before != since:
        yield f"it says that its site was unreachable since {since}, the record before it says {before}"
    lives = [life for life in (policy.stale_life, policy.unreachable_life) if life is not None]
    if lives and record["at"] - since >= min(lives) + SLACK:
        yield f"it stood in for {record['at'] - since:.0f} s, the policy says {min(lives):g} s"


def _served_body(record: JsonObject) -> bytes | None:
    try:
        return base64.b64decode(record["body_base64"], validate=True)
    except (KeyError, TypeError, ValueError):
        return None
