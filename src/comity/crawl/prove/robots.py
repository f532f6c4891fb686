"""The evidence: each decision made again from the robots.txt in the ledger, and each robots.txt known, and not too
old, at the time of the request that cites it.
"""

import base64
import hashlib
import math
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self

from comity import parse
from comity.crawl.prove.lines import Line, Record, load
from comity.crawl.prove.pace import TOLERANCE
from comity.errors import ComityError, StorageError
from comity.policy import Decision, Policy, RobotsResult, decide
from comity.policy.outcome import Kind
from comity.policy.settings import DAY
from comity.robots import Robots

REDIRECTS = (301, 302, 303, 307, 308)
_PARSED = 128  # robots.txt files held parsed
_COPIES = 64  # answers of one origin held


class Bodies:
    """The robots.txt files in the ledger, found by hash. They are read again when they are needed."""

    def __init__(self, path: Path) -> None:
        self._offsets: dict[str, int] = {}
        self._parsed: OrderedDict[tuple[str, str], Robots | None] = OrderedDict()
        try:
            self._file: BinaryIO = path.open("rb")
        except OSError as error:
            raise StorageError(f"{path} cannot be read: {error.strerror or error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, line: Line) -> str | None:
        """Take up the body in a record of a robots.txt; what is wrong with it."""
        sha256 = line.record["robots_sha256"]
        body = body_of(line.record)
        if line.record["body_base64"] is None:
            return None if sha256 is None or sha256 in self._offsets else "its body is missing"
        if body is None:
            return "its body is not base64"
        found = hashlib.sha256(body).hexdigest()
        if found != sha256:
            return f"its body was changed: the hash is {found}, not {sha256}"
        self._offsets.setdefault(found, line.offset)
        return None

    def parsed(self, sha256: str, dialect: str) -> Robots | None:
        """The file with that hash, parsed anew; None where the ledger does not have it."""
        key = (sha256, dialect)
        if key not in self._parsed:
            offset = self._offsets.get(sha256)
            if offset is None:
                return None
            self._file.seek(offset)
            body = body_of(load(self._file.readline())[0])
            self._parsed[key] = parse(body, dialect) if body is not None else None
            if len(self._parsed) > _PARSED:
                self._parsed.popitem(last=False)
        self._parsed.move_to_end(key)
        return self._parsed[key]


@dataclass(slots=True)
class _Copy:
    number: int
    record: Record
    since: float  # when it was asked for
    used: bool = False


class Evidence:
    """What was known of each origin when: follows the ledger, and judges the requests in it."""

    def __init__(self, bodies: Bodies) -> None:
        self._bodies = bodies
        self._copies: dict[str, list[_Copy]] = {}
        self._asked: dict[str, Record] = {}  # origin -> the last request for its robots.txt
        self._since: dict[str, float] = {}  # origin -> when the first of those for one answer was sent
        self._late: dict[str, list[tuple[int, float]]] = {}  # origin -> requests by a stale copy, to be explained

    def asked(self, record: Record) -> Iterator[str]:
        """A request for a robots.txt."""
        origin, url = record["origin"], record["url"]
        before = self._asked.get(origin or "")
        if url != f"{origin}/robots.txt" and (before is None or before["status"] not in REDIRECTS):
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

    def arrived(self, line: Line, policy: Policy) -> Iterator[str]:
        """What came of asking for a robots.txt."""
        record, origin = line.record, line.record["origin"]
        if (problem := self._bodies.add(line)) is not None:
            yield problem
        asked = self._asked.get(origin)
        if asked is None or asked["url"] != record["url"]:
            yield f"no request for this robots.txt of {origin} stands before it"
        elif record["status"] is not None and asked["status"] != record["status"]:
            yield f"it says status {record['status']}, the request for it {asked['status']}"
        elif record["robots_sha256"] is not None and asked["sha256"] != record["robots_sha256"]:
            yield f"it says hash {record['robots_sha256']}, the request for it {asked['sha256']}"
        result = self._result(record, policy)
        if result.kind != record["outcome"]:
            yield f"it says {record['outcome']}, its status and body say {result.kind}"
        number = line.number
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
            result = self._result(copies[place].record, policy)
            if record["kind"] == "request":
                problems.extend(self._time(number, record, copies, place, policy))
        try:
            decision = decide(policy, record["url"], result)
        except ComityError as error:
            return None, [str(error)]
        rule = decision.rule
        found = {
            "verdict": decision.verdict,
            "line": rule.line if rule else None,
            "rule": rule.text if rule else None,
        }
        problems.extend(
            f"it says {name} {record[name]!r}, robots.txt and policy say {value!r}"
            for name, value in found.items()
            if record[name] != value
        )
        return decision, problems

    def never_explained(self) -> Iterator[tuple[int, str]]:
        """Requests by a copy past its life for which no successor was on its way."""
        for late in self._late.values():
            for number, _ in late:
                yield number, "the robots.txt it cites was too old"

    def _result(self, copy: Record, policy: Policy) -> RobotsResult:
        """What a record of a robots.txt stands for, judged anew by its status and body (RFC 9309, 2.3.1)."""
        status, sha256 = copy["status"], copy["robots_sha256"]
        robots = None
        kind: Kind
        if status is None or status == 429 or status >= 500:
            kind = "unreachable"
        elif not 200 <= status < 300:
            kind = "unavailable"
        else:
            robots = self._bodies.parsed(sha256 or "", policy.dialect)
            kind = "read" if robots is not None and robots.parsable else "unparsable"
        return RobotsResult(
            origin=copy["origin"],
            url=copy["url"],
            kind=kind,
            fetched_at=copy["robots_at"],
            status=status,
            robots=robots if kind == "read" else None,
        )

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


def body_of(record: Record) -> bytes | None:
    """The body in a record, None where there is none or it is not base64."""
    try:
        return base64.b64decode(record["body_base64"], validate=True)
    except (KeyError, TypeError, ValueError):
        return None
