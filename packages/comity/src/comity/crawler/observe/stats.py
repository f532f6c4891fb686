"""What a crawl has done so far: its counts, its speed over the last seconds, and its log. Counts are bounded, whatever
sites send: rules are counted up to a number.

The logger is `comity.crawl.run`, silent unless a program gives it somewhere to write. Text from sites goes there only
through `shown`, so that nothing a site sends can end a line or begin one.
"""

import logging
import math
import mmap
import os
import unicodedata
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from comity.crawler.observe.words import WAITS
from comity.http_rules import is_temporary
from comity_pages import urls

if TYPE_CHECKING:  # what reads a finished crawl needs no network
    from comity.frontier.rules import DurableFrontier
    from comity.frontier.values import State
    from comity.gate.throttle import Pause
    from comity.net import Clock
    from comity.net.request_record import RequestRecord
    from comity.policy import RobotsResult


def _count(metric: tuple[str, str] | None = None, *, start: float = 0, page: str | None = None) -> Any:
    """A count. `metric`: name and help of its own metric; `page`: the field of a page's record (run/outcomes.py) that
    says of a page kept that it counts."""
    return field(default=start, metadata={"metric": metric, "page": page})


@dataclass(slots=True)
class Stats:
    """Counts of one crawl, or of one refresh, over all its runs.

    Attributes:
        pages: pages kept.
        refused: URLs that robots.txt or the policy forbids; none was fetched.
        trapped: URLs left out because they lead nowhere (see traps.py).
        unwanted: URLs left out by their content type; their bodies were not read.
        duplicates: pages kept that are marked as duplicates of others.
        soft_404: pages kept that say that they are not there, though their status says that they are.
        challenges: pages kept that check their visitor (a bot wall), and are not what was asked for.
        misfit: pages kept that do not fit the schema that records are made by.
        failed: URLs failed.
        unpaid: of those the ones whose site asks for payment or a licence; nothing is ever paid.
        postponed: URLs that wait until their site's robots.txt can be reached.
        without_rules: origins crawled as if they had no rules, because what answered for their robots.txt is none that
            can be read, and does not say that there is none: 403, a page of HTML.
        robots_cut: origins whose robots.txt goes on behind the bytes that were read, so that rules may be unknown.
        redirects, sitemaps: answers that were a redirect, a sitemap.
        sitemaps_cut: of the sitemaps those that could not be read to their end.
        requisites: what pages need to look as they do, and an archive holds; `requisites_failed`: what of it failed.
        body_bytes: bytes of the pages' bodies.
        waited: seconds that hosts with work were left alone for politeness, summed over hosts.
        found: URLs known.
        outside: links left out because scope, patterns or depth do not cover them.
        nofollow: links left out because the page, or the link, asks not to follow them.
        new, changed, gone, unchanged: what a refresh found out about pages; all 0 in a first crawl.
    """

    pages: int = _count(("pages", "Pages kept."))
    refused: int = 0
    trapped: int = _count(("traps", "URLs left out as traps."))
    unwanted: int = _count(("unwanted", "URLs left out by their content type."))
    duplicates: int = _count(("duplicates", "Pages kept that repeat others."), page="duplicate")
    soft_404: int = _count(page="soft_404")
    challenges: int = _count(page="challenge")
    misfit: int = _count(page="misfit")
    failed: int = _count(("failures", "URLs failed."))
    unpaid: int = 0
    postponed: int = 0
    without_rules: int = 0
    robots_cut: int = 0
    redirects: int = _count(("redirects", "Redirects."))
    sitemaps: int = _count(("sitemaps", "Sitemaps read."))
    sitemaps_cut: int = 0
    requisites: int = _count(("requisites", "Requisites of pages kept."))
    requisites_failed: int = 0
    body_bytes: int = _count(("bytes", "Bytes of the bodies of pages kept."))
    waited: float = _count(
        ("wait_seconds", "Seconds that hosts with work waited for politeness, summed over hosts."), start=0.0
    )
    found: int = 0
    outside: int = 0
    nofollow: int = 0
    new: int = 0
    changed: int = 0
    gone: int = 0
    unchanged: int = 0

    @property
    def reached(self) -> int:
        """Pages that were there, or were known and are gone."""
        return self.pages + self.unchanged + self.gone

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


COUNTED_PAGES: Final = tuple((each.name, page) for each in fields(Stats) if (page := each.metadata.get("page")))
"""Counts of the pages kept whose record says something in a field."""


def size(count: float) -> str:
    """Bytes for people."""
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def sitemap_in_words(record: Mapping[str, Any]) -> str:
    """How a sitemap or a feed was read, by its record."""
    if record["kind"] == "unknown":
        return f"no sitemap: {record['problem']}"
    kind = {"urlset": "sitemap", "sitemapindex": "index", "text": "list", "rss": "RSS feed"}.get(
        record["kind"], "Atom feed"
    )
    said = f"{kind} with {record['entries']:,} entr{'y' if record['entries'] == 1 else 'ies'}"
    if record["problem"] is not None:
        said += f", read up to line {record['stopped_line']:,}, byte {record['stopped_byte']:,} ({record['problem']})"
    if record["skipped"]:
        said += f"; {record['skipped']:,} more without a URL that can be used"
    if record["elsewhere"]:
        said += f"; {record['elsewhere']:,} of them left out, of hosts whose robots.txt does not name it"
    return said


def summed(parts: Iterable[Stats]) -> Stats:
    """The counts of several shards together."""
    return Stats(*map(sum, zip(*map(astuple, (Stats(), *parts)), strict=True)))


_Key = TypeVar("_Key")


def count_in(counts: Counter[_Key], key: _Key, most: int, others: _Key) -> None:
    """Count a key, in bounded memory: those met after the first `most` are counted together, as `others`."""
    counts[key if key in counts or len(counts) < most else others] += 1


MAX_SHOWN_CHARACTERS = 200  # characters


def shown(text: str, most: int = MAX_SHOWN_CHARACTERS) -> str:
    """A text with line ends, control characters and what turns the direction of writing escaped, and cut short.

    Marks that pile up over a letter are left out.
    """
    if len(text) > most:
        text = f"{text[: most - 3]}..."
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in unicodedata.normalize("NFC", text)
        if not unicodedata.combining(char)
    )


STATUS_CLASSES: Final = 10  # hundreds of an HTTP status
MAX_RULES: Final = 1000  # counted one by one
MAX_LABEL_CHARACTERS: Final = 300  # characters of a rule, or of a content type
DEPTHS: Final = 21  # counted one by one
MAX_TYPES: Final = 100  # content types counted one by one
COMMIT_BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds


class RefusingRule(NamedTuple):
    """A rule that refused: a line of a host's robots.txt, or where no line did, the verdict."""

    host: str
    line: int | None
    text: str


OTHERS: Final = RefusingRule("others", None, "")


def resident() -> int | None:
    """Bytes of memory that this process has, where the system tells (Linux)."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * mmap.PAGESIZE
    except (OSError, ValueError, IndexError):
        return None


@dataclass(init=False, slots=True)
class RequestCounters:
    """Counts of one crawl over all its runs, except `rules`, which are those of this run: of one that runs, or by its
    ledger.

    Attributes:
        content, robots: requests by the hundred of their status, 0 for no answer.
        refused: URLs by verdict.
        depths: pages kept by depth; the last count is of that depth and all below it.
        types: pages kept by content type; further types are counted for OTHERS.host.
        rules: URLs by rule; those of further rules are counted for OTHERS.
    """

    content: list[int]
    robots: list[int]
    refused: Counter[str]
    depths: list[int]
    types: Counter[str]
    rules: Counter[RefusingRule]

    def __init__(self, kept: Sequence[Any] = ()) -> None:
        """The counts of an earlier run, if there was one, go on: `kept` is what `to_list` gave."""
        content, robots, refused, depths, types, *_ = kept or ((), (), {}, (), {})
        self.content = list(content) or [0] * STATUS_CLASSES
        self.robots = list(robots) or [0] * STATUS_CLASSES
        self.refused = Counter(refused)
        self.depths = list(depths) or [0] * DEPTHS
        self.types = Counter(types)
        self.rules = Counter()

    def request(self, status: int | None, *, of_robots: bool) -> None:
        """A request is over."""
        counts = self.robots if of_robots else self.content
        counts[0 if status is None else status // 100] += 1

    def page(self, depth: int, content_type: str) -> None:
        """A page was kept."""
        self.depths[min(depth, DEPTHS - 1)] += 1
        count_in(self.types, content_type[:MAX_LABEL_CHARACTERS] or "none", MAX_TYPES, OTHERS.host)

    def refusal(self, host: str, decision: Mapping[str, Any], *, most: int = MAX_RULES) -> RefusingRule:
        """A URL was refused, by a decision as output or ledger have it. Gives what refused it; `most` rules are counted
        one by one."""
        text = decision["rule"]
        line, text = (None, decision["verdict"]) if text is None else (decision["line"], text)
        rule = RefusingRule(host, line, text[:MAX_LABEL_CHARACTERS])
        count_in(self.rules, rule, most, OTHERS)
        count_in(self.refused, decision["verdict"][:MAX_LABEL_CHARACTERS], MAX_TYPES, OTHERS.host)  # a ledger names any
        return rule

    def add(self, other: "RequestCounters") -> None:
        """Count the pages of another shard too."""
        self.depths = [sum(each) for each in zip(self.depths, other.depths, strict=True)]
        self.types += other.types

    def requests(self) -> dict[tuple[str, str], int]:
        """Requests by what was asked for, `content` or `robots`, and the answer: `2xx` and so on, `none` for none."""
        return {
            (purpose, f"{hundred}xx" if hundred else "none"): count
            for purpose, counts in (("content", self.content), ("robots", self.robots))
            for hundred, count in enumerate(counts)
            if count
        }

    def to_list(self, refusals: Sequence[Mapping[str, Any]]) -> list[Any]:
        """What is to be remembered, as JSON can hold it, with refusals that are counted only later; the process and its
        memory come last.
        """
        more = Counter(record["decision"]["verdict"] for record in refusals)
        memory = [os.getpid(), resident()]
        return [self.content, self.robots, self.refused + more, self.depths, self.types, memory]

    def copy(self) -> "RequestCounters":
        """The counts that are remembered, as they are now."""
        return RequestCounters((self.content, self.robots, self.refused, self.depths, self.types))


class CommitHistogram:
    """How long commits took: how many up to each of COMMIT_BOUNDS from the one before, or longer; seconds in all."""

    __slots__ = ("counts", "seconds")

    def __init__(self) -> None:
        self.counts = [0] * (len(COMMIT_BOUNDS) + 1)
        self.seconds = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(COMMIT_BOUNDS, seconds)] += 1
        self.seconds += seconds


RATE_SECONDS: Final = 10.0  # seconds that the current pace is measured over


class PageRate:
    """Pages kept a second, over the last ten seconds; in a run that started then (monotonic time), after `earlier`
    ones."""

    __slots__ = ("_samples", "earlier", "started")

    def __init__(self, started: float, earlier: int = 0) -> None:
        self.started, self.earlier = started, earlier
        self._samples: deque[tuple[float, int]] = deque(maxlen=int(RATE_SECONDS) + 1)

    def add(self, now: float, pages: int) -> None:
        """So many pages are kept now."""
        if not self._samples or now - self._samples[-1][0] >= 1.0:
            self._samples.append((now, pages))

    def per_second(self, now: float, pages: int) -> float:
        """Over the last ten seconds, or since the run began if that is less; `pages`: kept now."""
        since, before = self.started, self.earlier
        for sample in list(self._samples):
            if sample[0] > now - RATE_SECONDS:
                break
            since, before = sample
        return max(pages - before, 0) / max(now - since, 1.0)


FIRST_BACKOFF_SECONDS: Final = 1.0  # where the interval is longer, that is what a host waits for
SLOW_COMMIT_SECONDS: Final = 1.0  # seconds of a commit that are worth a line
UNREACHABLE: Final = "unreachable "
"""How the names begin under which is saved of a host: `[URLs that wait, {origin: until}]`, until in Unix time."""
log = logging.getLogger("comity.crawl.run")
log.addHandler(logging.NullHandler())


class StatsCollector:
    """Counts what one crawl does, and logs it.

    Attributes:
        started, ended: when this run began and ended, on the clock's monotonic time; None before.
        pause: says how a host is treated now.
        unreachable: by host, the origins whose robots.txt could not be reached, and until when (Unix time) each is left
            alone.
        how: how this run ended; `limit`: because of which limit, if one was reached. In words.
    """

    def __init__(self, clock: "Clock") -> None:
        self.clock = clock
        self.started: float | None = None
        self.ended: float | None = None
        self.stats = Stats()
        self.tally = RequestCounters()
        self.commits = CommitHistogram()
        self.pause: Callable[[str], Pause] = _unpaused
        self.unreachable: dict[str, Mapping[str, float]] = {}
        self.how = ""
        self.limit: str | None = None
        self._frontier: DurableFrontier | None = None
        self._pace = PageRate(0.0)
        self._slow = SLOW_COMMIT_SECONDS

    @property
    def urls(self) -> "dict[State, int]":
        """How many URLs are in each state, as last committed."""
        return {} if self._frontier is None else self._frontier.totals

    @contextmanager
    def running(self, folder: Path) -> Iterator[None]:
        """While the crawl runs."""
        where = shown(str(folder))
        self.started, self.ended = self.clock.monotonic(), None
        log.info("%s: the crawl begins", where)
        try:
            yield
            log.info("%s: the crawl ends: %s; %s", where, self.limit or self.how, _counts(self.stats))
        except BaseException as error:
            log.error("%s: the crawl is broken off: %s", where, shown(str(error) or type(error).__name__))
            raise
        finally:
            self.ended = self.clock.monotonic()

    def began(self, frontier: "DurableFrontier", pause: "Callable[[str], Pause]") -> None:
        """The counts of earlier runs, if there were any, go on."""
        self._frontier, self.pause = frontier, pause
        self.stats = Stats(**frontier.load_state("stats", {}))
        self.tally = RequestCounters(frontier.load_state("tally", ()))
        self._pace = PageRate(self.started or 0.0, self.stats.pages)
        known = frontier.load_states(UNREACHABLE)
        self.unreachable = {name.removeprefix(UNREACHABLE): times for name, (_, times, _) in known.items()}
        if self.stats.found:
            log.info("resumed: %s so far", _counts(self.stats))

    def request(self, request: "RequestRecord") -> None:
        """A request is over, whatever came of it."""
        status = request.status
        self.tally.request(status, of_robots=request.origin is not None)
        if is_temporary(status):
            self._trouble(request)
        if log.isEnabledFor(logging.DEBUG):
            size = "no body" if request.body is None else f"{len(request.body):,} bytes"
            took = request.end - request.sent
            log.debug("%s %s: %s, %s, %.3f s", request.method, shown(request.url), status or "no answer", size, took)

    def robots(self, result: "RobotsResult") -> None:
        """A site was asked for its robots.txt."""
        answer = shown(result.error) if result.error else f"HTTP status {result.status}"
        host = urls.host(result.origin)
        silent = result.kind == "unreachable"
        if silent:
            # made anew, for another thread may be reading
            self.unreachable[host] = {**self.unreachable.get(host, {}), result.origin: result.expires_at}
        elif result.origin in self.unreachable.get(host, ()):
            left = {origin: until for origin, until in self.unreachable.pop(host).items() if origin != result.origin}
            if left:
                self.unreachable[host] = left
        if result.is_cut:
            answer += f", read to {len(result.body):,} bytes: what follows is not known"
        level = logging.WARNING if silent or result.is_cut else logging.INFO
        log.log(level, "%s: %s (%s)", shown(result.url), result.kind, answer)

    def sitemap(self, record: Mapping[str, Any]) -> None:
        """A sitemap or a feed was read; `record` as it goes to the output."""
        level = logging.INFO if record["problem"] is None else logging.WARNING
        if log.isEnabledFor(level):
            log.log(level, "sitemap %s: %s", shown(record["url"]), shown(sitemap_in_words(record)))

    def refused(self, record: Mapping[str, Any]) -> None:
        """A URL was refused; `record` as it goes to the output."""
        self.tally.refusal(urls.host(record["url"]), record["decision"])
        if log.isEnabledFor(logging.INFO):
            log.info("refused %s: %s", shown(record["url"]), shown(record["why"]))

    def failed(self, record: Mapping[str, Any]) -> None:
        """A URL is given up; `record` as it goes to the output."""
        if log.isEnabledFor(logging.INFO):
            log.info("failed %s: %s", shown(record["url"]), shown(record["why"]))

    def postponed(self, host: str, why: str, seconds: float) -> None:
        """Nothing is sent to a host for a while, though its turn had come."""
        if math.isinf(seconds):
            return  # the operator stopped it, which was told
        log.warning("%s: waiting %.1f s (%s)", shown(host), seconds, WAITS[why])

    def ordered(self, host: str, words: str) -> None:
        """The operator ordered something of a host."""
        log.warning("%s: order of the operator: %s", shown(host), words)

    def committed(self, seconds: float) -> None:
        """What was found is durable; it took so long to make it so."""
        self.commits.add(seconds)
        self._pace.add(self.clock.monotonic(), self.stats.pages)
        if seconds >= self._slow:
            log.warning("a commit took %.1f s: the disk is slow, or the machine is", seconds)
            self._slow = 2 * seconds  # told again when it gets much worse

    def pages_per_second(self, now: float) -> float:
        """Over the last ten seconds, or since the run began if that is less."""
        return 0.0 if self.started is None else self._pace.per_second(now, self.stats.pages)

    def _trouble(self, request: "RequestRecord") -> None:
        if request.origin is not None or request.error == "cancelled" or not log.isEnabledFor(logging.WARNING):
            return  # of a robots.txt the crawl is told what it means
        host = urls.host(request.url)
        pause = self.pause(host)
        what = f"HTTP status {request.status}" if request.status else shown(request.error or "no answer")
        seconds = max(pause.until - self.clock.monotonic(), 0.0)
        why = pause.why
        if why == "interval" and (request.interval or 0.0) <= FIRST_BACKOFF_SECONDS:
            why = "back_off"  # no longer than the interval, but the failure is what holds it
        log.warning("%s: %s; waiting %.1f s (%s)", shown(host), what, seconds, WAITS[why])


def _unpaused(_: str) -> "Pause":
    from comity.gate.throttle import Pause

    return Pause()


def _counts(stats: Stats) -> str:
    return f"{stats.pages:,} pages, {stats.refused:,} refused, {stats.failed:,} failed, {stats.found:,} URLs known"
