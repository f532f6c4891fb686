"""The evidence: each decision made again from the stored robots.txt, and each robots.txt known, and not too old, at
the time of the request that cites it.
"""

import base64
import hashlib
import math
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self

from comity.crawl.prove.findings import Proof
from comity.crawl.prove.lines import Line, Record, load, read, wrong_field
from comity.crawl.prove.pace import TOLERANCE
from comity.errors import ComityError
from comity.policy import Decision, Policy, RobotsResult, decide
from comity.policy.settings import DAY

FILE = "robots.jsonl"
_PARSED = 128  # robots.txt files held parsed
_COPIES = 64  # answers of one origin held

_SHAPE: dict[str, tuple[type, ...]] = {
    "origin": (str,),
    "url": (str,),
    "outcome": (str,),
    "status": (int, type(None)),
    "fetched_at": (float,),
    "redirects": (list,),
    "sha256": (str, type(None)),
    "body_base64": (str,),
}


class StoredFiles:
    """The records of robots.jsonl, found by origin and time. Bodies are read again when they are needed."""

    def __init__(self, folder: Path, proof: Proof) -> None:
        self._path = folder / FILE
        self._places: dict[tuple[str, float, str | None], tuple[int, int]] = {}  # -> (line number, offset)
        self._hops: set[tuple[str, str]] = set()
        self._cited: set[int] = set()
        self._results: OrderedDict[tuple[int, str], RobotsResult | None] = OrderedDict()
        self._file: BinaryIO | None = None
        if not self._path.exists():
            proof.add(FILE, None, "it is missing")
            return
        for line in read(self._path):
            problem = line.problem or _problem(line.record)
            if problem is not None:
                proof.add(FILE, line.number, problem)
            else:
                self._take_up(line)
        self._file = self._path.open("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def is_hop(self, origin: str, url: str) -> bool:
        """Whether asking for an origin's robots.txt led to a URL."""
        return (origin, url) in self._hops

    def result(self, copy: Record, policy: Policy) -> RobotsResult | None:
        """What the ledger's record of a robots.txt stands for, parsed anew; None where the file has no such one."""
        place = self._places.get((copy["origin"], copy["robots_at"], copy["robots_sha256"]))
        if place is None or self._file is None:
            return None
        number, offset = place
        self._cited.add(number)
        key = (number, policy.dialect)
        if key not in self._results:
            self._file.seek(offset)
            self._results[key] = _result(load(self._file.readline())[0], policy.dialect)
            if len(self._results) > _PARSED:
                self._results.popitem(last=False)
        self._results.move_to_end(key)
        return self._results[key]

    def uncited(self) -> Iterator[int]:
        """Numbers of records that no record of the ledger stands for."""
        yield from sorted({number for number, _ in self._places.values()} - self._cited)

    def _take_up(self, line: Line) -> None:
        record = line.record
        key = (record["origin"], round(record["fetched_at"], 3), record["sha256"])
        self._places[key] = (line.number, line.offset)
        self._hops.update((record["origin"], str(url)) for url in (*record["redirects"], record["url"]))


@dataclass(slots=True)
class _Copy:
    number: int
    record: Record
    since: float  # when it was asked for
    used: bool = False


class Evidence:
    """What was known of each origin when: follows the ledger, and judges the requests in it."""

    def __init__(self, files: StoredFiles) -> None:
        self._files = files
        self._copies: dict[str, list[_Copy]] = {}
        self._asked: dict[str, Record] = {}  # origin -> the last request for its robots.txt
        self._since: dict[str, float] = {}  # origin -> when the first of those for one answer was sent
        self._late: dict[str, list[tuple[int, float]]] = {}  # origin -> requests by a stale copy, to be explained

    def asked(self, record: Record) -> Iterator[str]:
        """A request for a robots.txt."""
        origin, url = record["origin"], record["url"]
        if origin is None or (url != f"{origin}/robots.txt" and not self._files.is_hop(origin, url)):
            yield f"{url[:200]} is no robots.txt of {origin}"
            return
        if record["verdict"] is not None:
            yield "it has a verdict, which a request for robots.txt does not need"
        self._asked[origin] = record
        if url == f"{origin}/robots.txt":
            self._since[origin] = record["sent"]
        # A stale copy serves while its successor is on its way.
        late = self._late.pop(origin, [])
        if rest := [(number, sent) for number, sent in late if sent < record["sent"] - TOLERANCE]:
            self._late[origin] = rest

    def arrived(self, number: int, record: Record, policy: Policy) -> Iterator[str]:
        """What came of asking for a robots.txt."""
        origin = record["origin"]
        asked = self._asked.get(origin)
        if asked is None or asked["url"] != record["url"]:
            yield f"no request for this robots.txt of {origin} stands before it"
        elif record["status"] is not None and asked["status"] != record["status"]:
            yield f"it says status {record['status']}, the request for it {asked['status']}"
        elif record["robots_sha256"] is not None and asked["sha256"] != record["robots_sha256"]:
            yield f"it says hash {record['robots_sha256']}, the request for it {asked['sha256']}"
        result = self._files.result(record, policy)
        if result is None:
            yield f"{FILE} holds no robots.txt of {origin} with this hash and time"
        elif (result.kind, result.status, result.url) != (record["outcome"], record["status"], record["url"]):
            yield f"it says {record['outcome']}, {FILE} says {result.kind}, status {result.status}"
        copies = self._copies.setdefault(origin, [])
        copies.append(_Copy(number, record, self._since.get(origin, math.inf)))
        if len(copies) > _COPIES:
            good = max((i for i, copy in enumerate(copies) if copy.record["outcome"] == "read"), default=-1)
            del copies[1 if good == 0 else 0]

    def decided(self, number: int, record: Record, origin: str, policy: Policy) -> tuple[Decision | None, list[str]]:
        """Decide about the URL of a request or refusal again; the decision, and what is wrong with its evidence."""
        problems: list[str] = []
        result: RobotsResult | None = None
        if policy.mode != "ignore":
            copies = self._copies.get(origin, [])
            place = next((i for i in reversed(range(len(copies))) if _is(copies[i].record, record)), None)
            if place is None:
                what = "the robots.txt it cites" if copies else f"any robots.txt of {origin}"
                return None, [f"it stands before {what} was known"]
            result = self._files.result(copies[place].record, policy)
            if result is None:
                return None, [f"the robots.txt it cites is not in {FILE}"]
            if record["kind"] == "request":
                problems.extend(self._time(number, record, copies, place, policy))
        try:
            decision = decide(policy, record["url"], result)
        except ComityError as error:
            return None, [str(error)]
        said = tuple(record[name] for name in ("verdict", "line", "rule", "robots_sha256"))
        rule, source = decision.rule, decision.source
        found = (
            decision.verdict,
            rule.line if rule else None,
            rule.text if rule else None,
            source.sha256 if source else None,
        )
        problems.extend(
            f"it says {name} {mine!r}, robots.txt and policy say {theirs!r}"
            for name, mine, theirs in zip(("verdict", "line", "rule", "robots_sha256"), said, found, strict=True)
            if mine != theirs
        )
        return decision, problems

    def never_explained(self) -> Iterator[tuple[int, str]]:
        """Requests by a copy past its life for which no successor was on its way."""
        for late in self._late.values():
            for number, _ in late:
                yield number, "the robots.txt it cites was too old"

    def _time(self, number: int, record: Record, copies: list[_Copy], place: int, policy: Policy) -> Iterator[str]:
        """Whether the copy cited was the one in force when the request was sent."""
        copy, sent = copies[place], record["sent"]
        if copy.record["at"] > sent + TOLERANCE:
            yield f"it was sent before the robots.txt it cites had arrived (record {copy.number})"
        last = copy.record
        fetching = False
        for later in copies[place + 1 :]:
            if later.record["at"] >= sent - TOLERANCE:
                fetching = later.since <= sent + TOLERANCE
                break
            # While a site is unreachable its last good copy stays in force (RFC 9309, 2.3.1.4).
            if later.record["outcome"] != "unreachable" or copy.record["outcome"] != "read":
                yield f"a newer robots.txt was known (record {later.number})"
                return
            last = later.record
        if last["outcome"] == "unreachable":
            life = policy.failure_life
        else:
            life = DAY if policy.cache_life is None else policy.cache_life
        # A copy may serve once however short its life, or it would have been asked for in vain.
        if sent - last["at"] > life + TOLERANCE and copy.used and not fetching:
            self._late.setdefault(copy.record["origin"], []).append((number, sent))
        copy.used = True


def _is(copy: Record, cited: Record) -> bool:
    return bool(copy["robots_at"] == cited["robots_at"] and copy["robots_sha256"] == cited["robots_sha256"])


def _problem(record: Record) -> str | None:
    """What is wrong with a record of robots.jsonl by itself."""
    name = wrong_field(record, _SHAPE)
    if name is not None:
        return f"its field {name!r} is missing or damaged"
    body = _body(record)
    if body is None:
        return "its body is not base64"
    found = hashlib.sha256(body).hexdigest() if record["sha256"] is not None else None
    if found != record["sha256"]:
        return f"its body was changed: the hash is {found}, not {record['sha256']}"
    if record["sha256"] is None and body:
        return "it has a body and no hash"
    return None


def _body(record: Record) -> bytes | None:
    try:
        return base64.b64decode(record["body_base64"], validate=True)
    except ValueError:
        return None


def _result(record: Record, dialect: str) -> RobotsResult | None:
    if wrong_field(record, _SHAPE) is not None or (body := _body(record)) is None:
        return None
    origin, url, at = record["origin"], record["url"], record["fetched_at"]
    if record["status"] is None:
        return RobotsResult.unreachable(origin, url, "no answer", fetched_at=at)
    return RobotsResult.from_response(origin, url, record["status"], body, fetched_at=at, dialect=dialect)
