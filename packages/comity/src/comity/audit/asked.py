"""What a crawl asked one host, and when: each request and refusal in its ledger, with the interval and the rule. It
answers who complains of a crawl; whether the ledger can be trusted is for `prove` to say."""

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from comity import times
from comity.crawler.output.reader import JsonLine, JsonObject, read_lines
from comity.crawler.storage.crawl_output import OutputPart
from comity.crawler.storage.open_crawl import open_output
from comity.crawler.storage.orders import host_named
from comity.errors import InputError, InvalidSetting

_KINDS: Final = ("request", "refusal", "copy")
_BY: Final = {None: "which holds the rules", "allowed_implicit": "no rule of robots.txt matches"}


@dataclass(frozen=True, slots=True)
class Selection:
    """Records of a ledger: those about a host, if one is named, from a time until before another, in Unix seconds."""

    host: str = ""
    since: float = -math.inf
    until: float = math.inf

    @classmethod
    def of(cls, host: str | None, since: str | None, until: str | None) -> "Selection | None":
        """What people typed, a host or a URL of it and two times; None where they typed nothing.

        Raises:
            InvalidSetting: one of them cannot be understood.
        """
        if host is None and since is None and until is None:
            return None
        chosen = cls(
            "" if host is None else host_named(host),
            -math.inf if since is None else _moment("--from", since),
            math.inf if until is None else _moment("--to", until, is_end=True),
        )
        if chosen.since >= chosen.until:
            raise InvalidSetting(f"--from {since} is not before --to {until}")
        return chosen

    def holds(self, record: JsonObject) -> bool:
        """Whether a request, refusal or copy is among them; other records have no host of their own."""
        return record.get("kind") in _KINDS and self.covers(record.get("host"), _time(record))

    def covers(self, host: object, at: object) -> bool:
        """Whether what happened to a host at a time is among them, as it is shown."""
        return (
            self.host in ("", host)
            and isinstance(at, float | int)
            and self.since <= times.to_milliseconds(at) < self.until
        )


def _moment(option: str, text: str, *, is_end: bool = False) -> float:
    """The Unix time of a date or of a time by ISO 8601, in UTC where it says no offset; of a date, its end if that
    `is_end`."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        hint = "write a date such as 2026-11-24, or a time such as 2026-11-24T14:30 or 2026-11-24T14:30+01:00"
        raise InvalidSetting(f"{option}: {text[:80]!r} is no time", hint=hint) from None
    if is_end and not any(each in text for each in "T :"):
        moment += timedelta(days=1)
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


def _time(record: JsonObject) -> Any:
    return record.get("sent", record.get("at"))


@dataclass(frozen=True, slots=True)
class Asked:
    """One URL of a host that was requested, or that was not. Fields as of the ledger; `by`: its rule, in words."""

    at: str
    kind: str
    url: str
    method: str | None
    status: int | None
    error: str | None
    bytes: int | None
    interval: float | None
    kept: float | None
    by: str
    robots_at: str | None
    agent: str

    @property
    def came(self) -> str:
        """What came of it."""
        came = {"request": self.error or f"status {self.status}", "refusal": "not requested", "copy": "from the cache"}
        return came[self.kind]

    @property
    def waited(self) -> str:
        """The interval before it; empty where none was demanded."""
        if self.interval is None:
            return ""
        return "first request" if self.kept is None else f"waited {self.kept:.2f} s, {self.interval:g} s demanded"

    def __str__(self) -> str:
        return "  ".join(filter(None, (self.at, self.came, self.waited, self.url, self.by)))


@dataclass(slots=True)
class Account:
    """How much was asked of a host: `closest` is the shortest interval kept, with what was demanded then."""

    requests: int = 0
    refusals: int = 0
    closest: tuple[float, float] | None = None
    agents: dict[str, None] = field(default_factory=dict)

    def add(self, row: Asked) -> None:
        """Count one URL."""
        self.requests += row.kind == "request"
        self.refusals += row.kind == "refusal"
        self.agents[row.agent] = None
        if row.interval is not None and row.kept is not None:
            self.closest = min(self.closest or (math.inf, 0.0), (row.kept, row.interval))

    def __str__(self) -> str:
        closest = (
            "" if self.closest is None else "; shortest interval {:.2f} s, of {:g} s demanded".format(*self.closest)
        )
        sent = f"{self.requests:,} request{'' if self.requests == 1 else 's'}"
        as_whom = f"; as {', '.join(self.agents)}" if self.agents else " in that time"
        return f"{sent}, {self.refusals:,} not sent because of a rule{closest}{as_whom}"


def asked(folders: Path | Sequence[Path], chosen: Selection, *, store: str | None = None) -> Iterator[Asked]:
    """What a selection holds, in the order of time. `folders`, `store`: as of `prove`.

    Raises:
        InputError: the ledger has no record at all of the host, or ends before the time, or begins after it, or there
            is none.
    """
    crawl = open_output(folders, store)
    parts = [part for shard in crawl.there for part in shard if part.ledger.exists()]
    if not parts:
        raise InputError(f"{crawl.name} holds no ledger", hint="name the folder given to comity crawl -o")
    first, last, met = math.inf, -math.inf, False
    for at, row in heapq.merge(*(_rows(part, chosen) for part in parts), key=lambda each: each[0]):
        met = True
        if math.isfinite(at):
            last = times.to_milliseconds(at)  # as it is shown
            first = min(first, last)
        if row is not None:
            yield row
    if first <= last and not (chosen.since <= last and first < chosen.until):  # of a year, perhaps, that was not meant
        said = f"it did between {times.iso(first)} and {times.iso(last)}"
        raise InputError(f"in that time this crawl asked nothing{f' of {chosen.host}' * bool(chosen.host)}", hint=said)
    if not met and chosen.host:
        hosts = {
            str(line.record["host"]) for part in parts for line in _lines(part, b'"host":') if "host" in line.record
        }
        near = get_close_matches(chosen.host, sorted(hosts), 3, 0.6) or sorted(hosts)[:3]
        raise InputError(f"{chosen.host}: this crawl never asked that host anything", hint=f"it met {', '.join(near)}")


def _rows(part: OutputPart, chosen: Selection) -> Iterator[tuple[float, Asked | None]]:
    """What a part's ledger has of the host, with a time that only grows; None where it is of another time."""
    agent, now = "", -math.inf
    naming = b'"host":"%b"' % chosen.host.encode() if chosen.host else b'"host":'
    for line in _lines(part, naming, b'"kind":"run"'):
        record = line.record
        agent = str(record.get("agent", agent))
        if record.get("kind") not in _KINDS or chosen.host not in ("", record.get("host")):
            continue
        at = _time(record)
        now = max(now, at) if isinstance(at, float | int) else now
        yield now, _row(record, agent) if chosen.holds(record) else None


def _lines(part: OutputPart, *naming: bytes) -> Iterator[JsonLine]:
    lines = read_lines(part.ledger, until=part.ledger_length, naming=naming)
    return (line for line in lines if line.problem is None)


def _row(record: JsonObject, agent: str) -> Asked:
    rule, verdict, robots_at = record.get("rule"), record.get("verdict"), record.get("robots_at")
    by = f"robots.txt line {record.get('line')}: {rule}" if rule else _BY.get(verdict, str(verdict))
    values = {name: record.get(name) for name in ("method", "status", "error", "bytes", "interval", "kept")}
    said = times.iso(robots_at if isinstance(robots_at, float | int) else None)
    at = times.iso(_time(record)) or "?"
    return Asked(at=at, kind=record["kind"], url=str(record.get("url")), by=by, robots_at=said, agent=agent, **values)
