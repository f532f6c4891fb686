"""What a report shows, gathered in one pass and in bounded memory however long the crawl was. It judges nothing: that
is what `prove` is for. The crawl's own counts and why URLs failed are what the summary said, so that report and summary
agree, and are left out where a file is missing or damaged."""

import heapq
import math
import time
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from comity.audit.asked import Selection
from comity.audit.broken import BrokenLink, failed_in, failures
from comity.crawler.finding.sitemap_names import SITEMAP_PATHS
from comity.crawler.observe.stats import RequestCounters, Stats, count_in, sitemap_in_words, summed
from comity.crawler.observe.words import KEPT
from comity.crawler.output.columns import damaged_field
from comity.crawler.output.reader import JsonLine, read_lines
from comity.crawler.storage.crawl_output import OutputPart
from comity.crawler.storage.manifest import combined
from comity.crawler.storage.open_crawl import open_output
from comity.errors import ComityError, InputError, StorageError
from comity.files import open_regular
from comity.times import parse_iso
from comity_pages import urls

MAX_REASONS = 2_000  # told apart; further ones are counted together
OTHER = "(other reasons)"


def kept_counts(part: OutputPart) -> Stats | None:
    """The statistics of a shard as last committed; None where they cannot be had."""
    try:
        kept = part.state()["stats"]
        values = {field.name: kept[field.name] for field in fields(Stats)}
        return Stats(**values) if all(type(value) in (int, float) for value in values.values()) else None
    except (StorageError, ValueError, KeyError, TypeError):
        return None


BINS = 96  # of the plot over time
MAX_HOSTS = 20_000  # told apart; further ones are counted together
MAX_RULES = 20_000
MAX_REFUSALS = 50  # refusals
OTHERS = "(other hosts)"
CUT_OFF, RUNNING = "cut off", "still running"
RATIOS = (1.0, 1.01, 1.05, 1.1, 1.25, 1.5, 2.0, 5.0, 10.0)  # interval kept / interval demanded

CLASSES = ("2xx", "304", "3xx", "4xx", "5xx", "none")  # 304: not modified, which is no redirect
# seconds of a bin, each a multiple of the one before; then they double
WIDTHS = (0.25, 0.5, 1.0, 2.0, 10.0, 20.0, 60.0, 120.0, 600.0, 1_200.0, 3_600.0, 7_200.0, 21_600.0, 43_200.0, 86_400.0)


class Timeline:
    """Counts over time, whose bins get wider whenever the crawl outgrows them."""

    def __init__(self) -> None:
        self.start: float | None = None
        self.width = WIDTHS[0]
        self.bins: dict[str, list[int]] = {name: [0] * BINS for name in (*CLASSES, KEPT)}

    def add(self, at: float, name: str) -> None:
        self.start = at if self.start is None else self.start
        at = max(at, self.start)  # a request may have begun before the first that ended
        while (place := int((at - self.start) / self.width)) >= BINS:
            wider = next((width for width in WIDTHS if width > self.width), 2 * self.width)
            times, self.width = round(wider / self.width), wider
            for counts in self.bins.values():
                merged = [sum(counts[i : i + times]) for i in range(0, BINS, times)]
                counts[:] = merged + [0] * (BINS - len(merged))
        self.bins[name][place] += 1


@dataclass(slots=True)
class HostFigures:
    """One host of the crawl.

    Attributes:
        fetched, failed: requests for content, answered with 2xx, or with an error or not at all; of these `guessed` for
            a sitemap that nobody named and that is not there, which is no failure.
        whole, sitemaps: of those answered with 2xx the ones whose body was read, and those that were sitemaps.
        kept: the shortest interval kept while `interval` was demanded.
        silent: the origin whose robots.txt was unreachable when last asked for, and the status that said so.
    """

    requests: int = 0
    fetched: int = 0
    failed: int = 0
    guessed: int = 0
    whole: int = 0
    sitemaps: int = 0
    refused: int = 0
    bytes: int = 0
    seconds: float = 0.0
    answers: int = 0
    interval: float = 0.0
    kept: float = math.inf
    silent: tuple[str, int | None] | None = None

    @property
    def pages(self) -> int:
        """Pages kept, in all runs."""
        return self.whole - self.sitemaps


class Refusal(NamedTuple):
    """A URL that was refused; `line` and `rule` of its host's robots.txt, or the verdict where no line did it."""

    at: float
    url: str
    line: str
    rule: str


@dataclass(slots=True)
class Figures:
    """Everything that the report shows.

    Attributes:
        tally: requests and refusals, as a crawl that runs counts them.
        reasons: why requests failed; or, where `urls_by_reason`, why URLs failed; `broken`: these URLs.
        damaged_sitemaps: by URL, how the sitemaps were read that could not be read to their end, in words.
        damaged: records that cannot be understood; `damage`: the first of them, by number and in words.
        stats: the counts of the crawl's own summary, where they are known.
        absent: parts of the crawl that could not be read, in words.
        run_at: when the last run began.
    """

    runs: int = 0
    run_at: float | None = None
    version: str = ""
    agent: str = ""
    modes: set[str] = field(default_factory=set)  # of any run
    seeds: list[str] = field(default_factory=list)
    started: float | None = None
    ended: float | None = None
    state: str = CUT_OFF
    hash: str = ""
    tally: RequestCounters = field(default_factory=RequestCounters)
    bytes: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    timeline: Timeline = field(default_factory=Timeline)
    hosts: dict[str, HostFigures] = field(default_factory=dict)
    refusals: deque[Refusal] = field(default_factory=lambda: deque(maxlen=MAX_REFUSALS))  # the last of them
    ratios: list[int] = field(default_factory=lambda: [0] * (len(RATIOS) + 1))
    damaged: int = 0
    damage: tuple[int, str] | None = None
    reasons: Counter[str] = field(default_factory=Counter)
    urls_by_reason: bool = False
    broken: list[BrokenLink] = field(default_factory=list)
    damaged_sitemaps: dict[str, str] = field(default_factory=dict)
    stats: Stats | None = None
    absent: list[str] = field(default_factory=list)

    @property
    def refused(self) -> int:
        return self.tally.refused.total()

    @property
    def requests(self) -> int:
        return sum((*self.tally.content, *self.tally.robots))

    @property
    def fetched(self) -> int:
        """Requests for pages and sitemaps that were answered with 2xx; `pages` are counted in `stats`."""
        return self.tally.content[2]

    def top_rules(self, most: int) -> list[tuple[str, str, str, int]]:
        """The rules that refused most: host, line, rule or verdict, number of URLs."""
        found = self.tally.rules.most_common(most)
        return [(host, "" if line is None else str(line), text, count) for (host, line, text), count in found]

    @property
    def seconds(self) -> float:
        """From the first record to the last, pauses between runs included."""
        return (self.ended or 0.0) - (self.started or 0.0)


def gather(folders: Path | Sequence[Path], *, store: str | None = None, chosen: Selection | None = None) -> Figures:
    """Read all of a crawl; records that cannot be understood are counted and passed over. `folders`, `store` and errors
    as of `prove`. `chosen`: only of these requests and refusals."""
    gathering = Gathering(folders, store=store, chosen=chosen)
    figures = gathering.read()
    if chosen is not None:
        figures.stats = None  # the summary counts all
        return figures
    return with_failures(gathering, figures)


def with_failures(gathering: "Gathering", figures: Figures) -> Figures:
    """The figures of a crawl that was read to its end, with why its URLs failed, where its output says so."""
    kept = [found for part in gathering.parts if (found := failures(part, all_formats=False)) is not None]
    if len(kept) == len(gathering.parts) and not figures.absent:
        figures.reasons, figures.urls_by_reason = Counter(), True

        def counted() -> Iterator[dict[str, Any]]:
            for record in chain.from_iterable(kept):
                if isinstance(why := record.get("why"), str):
                    count_in(figures.reasons, why[:200], MAX_REASONS, OTHER)
                yield record

        figures.broken = list(failed_in(counted()).values())
        for part in gathering.parts:
            for record in failures(part, all_formats=False, channel="sitemaps") or ():
                if record.get("problem") is not None and damaged_field("sitemaps", record) is None:
                    figures.damaged_sitemaps[record["url"]] = sitemap_in_words(record)
    return figures


@dataclass(slots=True)
class _Read:
    """How far a ledger was read, in bytes and lines, its last line and what that said."""

    offset: int = 0
    number: int = 0
    last: bytes = b""
    at: float = 0.0
    hash: str = ""
    state: str = CUT_OFF

    def is_in(self, ledger: Path) -> bool:
        """Whether the file has what was read of it: going on after a kill cuts off what was not committed."""
        with suppress(OSError), open_regular(ledger) as file:
            file.seek(self.offset - len(self.last))
            return file.read(len(self.last)) == self.last and self.last[-1:] in (b"", b"\n")
        return False


class Gathering:
    """The figures of the ledgers of a crawl, which may go on: each reading takes up what was written since. `folders`,
    `store`: as of `prove`. `parts`: those with a ledger, as of the last reading; `behind`: whether that stopped before
    the end."""

    def __init__(
        self, folders: Path | Sequence[Path], *, store: str | None = None, chosen: Selection | None = None
    ) -> None:
        self.parts: list[OutputPart] = []
        self.behind = False
        self._folders, self._store, self._chosen = folders, store, chosen
        self._figures = Figures()
        self._ledgers: dict[Path, _Read] = {}
        self._sitemaps: dict[Path, tuple[int, int]] = {}  # bytes and lines read
        self._runs: Counter[int] = Counter()  # by shard

    def read(self, seconds: float = math.inf) -> Figures:
        """The figures so far, always the same object. After so many seconds of this thread's processor time it reads no
        further. Errors as of `gather`."""
        crawl = open_output(self._folders, self._store)
        self.parts = parts = [part for shard in crawl.there for part in shard if part.ledger.exists()]
        if not parts:
            raise InputError(f"{crawl.name} holds no ledger", hint="name the folder given to comity crawl -o")
        if not all(read.is_in(ledger) for ledger, read in self._ledgers.items()):
            self._figures, self._ledgers, self._sitemaps, self._runs = Figures(), {}, {}, Counter()
        figures, running, until = self._figures, crawl.is_running(), time.thread_time() + seconds
        reads = [self._ledgers.setdefault(part.ledger, _Read()) for part in parts]
        lines = (_lines(number, part, reads[number], running=running) for number, part in enumerate(parts))
        self.behind = False
        for count, (at, number, line) in enumerate(heapq.merge(*lines, key=lambda each: each[0])):
            if count % 50 == 49 and time.thread_time() >= until:
                self.behind = True
                break
            self._take(parts[number], reads[number], line)
            read = reads[number]
            read.offset, read.number, read.last, read.at = line.offset + len(line.data), line.number, line.data, at
        self._count_sitemaps()
        figures.absent = crawl.absent
        figures.runs = max(self._runs.values(), default=0)
        hashes = [read.hash for read in reads]
        figures.hash = hashes[0] if len(parts) == 1 else combined(hashes)
        states = {read.state for part, read in zip(parts, reads, strict=True) if not part.followed}
        figures.state = next((state for state in (CUT_OFF, "stopped") if state in states), "finished")
        if running and figures.state == CUT_OFF:
            figures.state = RUNNING
        stats = [kept_counts(part) for part in parts if not part.followed]
        whole = None not in stats and not figures.absent
        figures.stats = summed(each for each in stats if each is not None) if whole else None
        return figures

    def _count_sitemaps(self) -> None:
        for part in self.parts:
            if (path := part.path / "sitemaps.jsonl").exists():
                until = (part.committed or {}).get("sitemaps") if part.kept else None
                for line in read_lines(path, after=self._sitemaps.get(path, (0, 0)), until=until):
                    self._sitemaps[path] = line.offset + len(line.data), line.number
                    with suppress(KeyError, TypeError, ValueError, ComityError):
                        at, host = parse_iso(line.record["fetched_at"]), urls.host(line.record["url"])
                        if host in self._figures.hosts and (self._chosen is None or self._chosen.covers(host, at)):
                            self._figures.hosts[host].sitemaps += 1

    def _take(self, part: OutputPart, read: _Read, line: JsonLine) -> None:
        figures = self._figures
        try:
            kind = line.record["kind"]
            if self._chosen is None or kind in ("run", "seal") or self._chosen.holds(line.record):
                _TAKE[kind](figures, line.record)
            read.hash = str(line.record["hash"])
            if kind in ("run", "seal"):
                read.state = figures.state
                self._runs[0 if part.assignment is None else part.assignment.number] += kind == "run"
        except (KeyError, TypeError, ValueError, OverflowError, ComityError):
            figures.damaged += 1
            figures.damage = figures.damage or (line.number, line.problem or "a field is missing or wrong")


def _lines(number: int, part: OutputPart, read: _Read, *, running: bool) -> Iterator[tuple[float, int, JsonLine]]:
    """The next lines of one ledger of several, with the time that each is of, which only grows."""
    at = read.at
    for line in read_lines(part.ledger, after=(read.offset, read.number), until=part.ledger_length):
        if running and line.problem == "the line is cut short":
            return  # it is being written
        said = line.record.get("at", line.record.get("end"))
        at = max(at, said) if isinstance(said, float) else at
        yield at, number, line


def _run(figures: Figures, record: dict[str, Any]) -> None:
    figures.runs += 1
    figures.run_at = _number(record["at"])
    figures.version, figures.agent = str(record["version"]), str(record["agent"])
    figures.modes.add(str(record["policy"]["mode"]))
    figures.seeds = list(dict.fromkeys((*figures.seeds, *map(str, record["seeds"][:50]))))[:50]
    figures.state = CUT_OFF
    _passed(figures, record["at"])


def _request(figures: Figures, record: dict[str, Any]) -> None:
    sent, end = _number(record["sent"]), _number(record["end"])
    status = record["status"]
    kind = f"{status // 100}xx" if status is not None and 200 <= status < 600 else "none"
    if status == 304:
        kind = "304"
    host = _host(figures, str(record["host"]))
    figures.tally.request(None if kind == "none" else status, of_robots=record["purpose"] == "robots")
    host.requests += 1
    figures.statuses[str(status) if kind != "none" else "none"] += 1
    figures.timeline.add(end, kind)
    _passed(figures, end)
    size = record["bytes"] or 0
    figures.bytes += size
    host.bytes += size
    is_content = record["purpose"] != "robots"
    if is_content and kind == "2xx":
        host.fetched += 1
        if record["sha256"] is not None:  # else its type was not wanted
            host.whole += 1
            figures.timeline.add(end, KEPT)
    elif is_content and kind == "4xx" and str(record["url"]).removeprefix(urls.origin(record["url"])) in SITEMAP_PATHS:
        host.guessed += 1
    elif is_content and kind not in ("304", "3xx"):
        host.failed += 1
        error = record["error"]
        why = f"HTTP status {status}" if error is None else str(error)
        count_in(figures.reasons, why[:200], MAX_REASONS, OTHER)
    if record["head"] is not None:
        host.answers += 1
        host.seconds += max(_number(record["head"]) - sent, 0.0)
    interval, kept = record["interval"], record["kept"]
    if interval and kept is not None:
        figures.ratios[bisect_right(RATIOS, _number(kept) / _number(interval))] += 1
        host.interval = max(host.interval, interval)
        host.kept = min(host.kept, kept)


def _refusal(figures: Figures, record: dict[str, Any]) -> None:
    host = str(record["host"])
    rule = figures.tally.refusal(host, record, most=MAX_RULES)
    _host(figures, host).refused += 1
    _passed(figures, record["at"])
    line = "" if rule.line is None else str(rule.line)
    figures.refusals.append(Refusal(_number(record["at"]), str(record["url"]), line, rule.text))


def _robots(figures: Figures, record: dict[str, Any]) -> None:
    origin, status = str(record["origin"])[:300], record["status"]
    host = _host(figures, urls.host(origin))
    if record["outcome"] == "unreachable":
        host.silent = origin, status if isinstance(status, int) else None
    elif host.silent is not None and host.silent[0] == origin:
        host.silent = None


def _seal(figures: Figures, record: dict[str, Any]) -> None:
    figures.state = "stopped" if record["ended"] == "stopped" else "finished"
    _passed(figures, record["at"])


_TAKE = {
    **dict.fromkeys(("copy", "unsent", "order", "relayed"), lambda figures, record: _passed(figures, record["at"])),
    "run": _run,
    "request": _request,
    "refusal": _refusal,
    "robots": _robots,
    "seal": _seal,
}


def _host(figures: Figures, name: str) -> HostFigures:
    if name not in figures.hosts and len(figures.hosts) >= MAX_HOSTS:
        name = OTHERS
    return figures.hosts.setdefault(name, HostFigures())


def _passed(figures: Figures, at: object) -> None:
    moment = _number(at)
    figures.started = moment if figures.started is None else min(figures.started, moment)
    figures.ended = moment if figures.ended is None else max(figures.ended, moment)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e12:
        raise ValueError(value)
    return float(value)
