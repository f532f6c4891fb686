"""What a crawl tells those who look on: counts, its pace over the last seconds, lines in the log. It decides nothing.

The logger is `comity.crawl.run`, silent unless a program gives it somewhere to write. Text from sites goes there only
through `shown`, so that nothing a site sends can end a line or begin one.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from comity import urls
from comity.crawler.stats import Stats
from comity.crawler.watch.shown import shown
from comity.crawler.watch.tally import Commits, Tally
from comity.frontier import Frontier, State
from comity.gate.throttle import Pause
from comity.net import Clock
from comity.net.request_record import RequestRecord
from comity.policy import RobotsResult

RECENT: Final = 10.0  # seconds that the current pace is measured over
FIRST: Final = 1.0  # seconds of the first back-off; where the interval is longer, that is what a host waits for
SLOW: Final = 1.0  # seconds of a commit that are worth a line
WAITS: Final = {
    "interval": "interval",
    "retry_after": "Retry-After",
    "back_off": "back-off",
    "circuit_open": "circuit open",
    "visiting_hours": "visiting hours",
}

UNREACHABLE: Final = "unreachable "
"""How the names of facts begin that say of a host: `[URLs that wait, {origin: until}]`, until in Unix time."""
log = logging.getLogger("comity.crawl.run")
log.addHandler(logging.NullHandler())


class Watch:
    """The eyes on one crawl.

    Attributes:
        started, ended: when this run began and ended, on the clock's monotonic time; None before.
        earlier: pages that were kept before this run.
        stats, tally, commits: the counts.
        pause: says how a host is treated now.
        unreachable: by host, the origins whose robots.txt could not be reached, and until when (Unix time) each is
            left alone.
        how: how this run ended; `limit`: because of which limit, if one was reached. In words.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.started: float | None = None
        self.ended: float | None = None
        self.earlier = 0
        self.stats = Stats()
        self.tally = Tally()
        self.commits = Commits()
        self.pause: Callable[[str], Pause] = lambda _: Pause()
        self.unreachable: dict[str, Mapping[str, float]] = {}
        self.how = ""
        self.limit: str | None = None
        self._frontier: Frontier | None = None
        self._samples: deque[tuple[float, int]] = deque(maxlen=int(RECENT) + 1)  # time, pages
        self._slow = SLOW

    @property
    def urls(self) -> dict[State, int]:
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

    def began(self, frontier: Frontier, pause: Callable[[str], Pause]) -> None:
        """The counts of earlier runs, if there were any, go on."""
        self._frontier, self.pause = frontier, pause
        self.stats = Stats(**frontier.recall("stats", {}))
        self.tally = Tally(frontier.recall("tally", ()))
        self.earlier = self.stats.pages
        known = frontier.recall_all(UNREACHABLE)
        self.unreachable = {name.removeprefix(UNREACHABLE): times for name, (_, times) in known.items()}
        if self.stats.found:
            log.info("resumed: %s so far", _counts(self.stats))

    def request(self, exchange: RequestRecord) -> None:
        """A request is over, whatever came of it."""
        status = exchange.status
        counts = self.tally.content if exchange.origin is None else self.tally.robots
        counts[0 if status is None else status // 100] += 1
        if status is None or status == 429 or status >= 500:
            self._trouble(exchange)
        if log.isEnabledFor(logging.DEBUG):
            size = "no body" if exchange.body is None else f"{len(exchange.body):,} bytes"
            took = exchange.end - exchange.sent
            log.debug("%s %s: %s, %s, %.3f s", exchange.method, shown(exchange.url), status or "no answer", size, took)

    def robots(self, result: RobotsResult) -> None:
        """A site was asked for its robots.txt."""
        answer = shown(result.error) if result.error else f"HTTP status {result.status}"
        level = logging.INFO
        host = urls.host(result.origin)
        if result.kind == "unreachable":
            level = logging.WARNING
            # made anew, for another thread may be reading
            self.unreachable[host] = {**self.unreachable.get(host, {}), result.origin: result.expires_at}
        elif result.origin in self.unreachable.get(host, ()):
            left = {origin: until for origin, until in self.unreachable.pop(host).items() if origin != result.origin}
            if left:
                self.unreachable[host] = left
        log.log(level, "%s: %s (%s)", shown(result.url), result.kind, answer)

    def refused(self, record: Mapping[str, Any]) -> None:
        """A URL was refused; `record` as it goes to the output."""
        self.tally.refusal(record)
        if log.isEnabledFor(logging.DEBUG):
            log.debug("refused %s: %s", shown(record["url"]), shown(record["why"]))

    def failed(self, url: str, why: str) -> None:
        """A URL is given up."""
        if log.isEnabledFor(logging.INFO):
            log.info("given up %s: %s", shown(url), shown(why))

    def postponed(self, host: str, why: str, seconds: float) -> None:
        """Nothing is sent to a host for a while, though its turn had come."""
        log.warning("%s: left alone for %.1f s (%s)", shown(host), seconds, WAITS[why])

    def committed(self, seconds: float) -> None:
        """What was found is durable; it took so long to make it so."""
        self.commits.add(seconds)
        now = self.clock.monotonic()
        if not self._samples or now - self._samples[-1][0] >= 1.0:
            self._samples.append((now, self.stats.pages))
        if seconds >= self._slow:
            log.warning("a commit took %.1f s: the disk is slow, or the machine is", seconds)
            self._slow = 2 * seconds  # told again when it gets much worse

    def pages_per_second(self, now: float) -> float:
        """Over the last ten seconds, or since the run began if that is less."""
        if self.started is None:
            return 0.0
        since, before = self.started, self.earlier
        for at, pages in list(self._samples):
            if at > now - RECENT:
                break
            since, before = at, pages
        return (self.stats.pages - before) / max(now - since, 1.0)

    def _trouble(self, exchange: RequestRecord) -> None:
        if exchange.origin is not None or exchange.error == "given up" or not log.isEnabledFor(logging.WARNING):
            return  # of a robots.txt the crawl is told what it means
        host = urls.host(exchange.url)
        pause = self.pause(host)
        what = f"HTTP status {exchange.status}" if exchange.status else shown(exchange.error or "no answer")
        seconds = max(pause.until - self.clock.monotonic(), 0.0)
        why = pause.why
        if why == "interval" and (exchange.interval or 0.0) <= FIRST:
            why = "back_off"  # no longer than the interval, but the failure is what holds it
        log.warning("%s: %s; left alone for %.1f s (%s)", shown(host), what, seconds, WAITS[why])


def _counts(stats: Stats) -> str:
    return f"{stats.pages:,} pages, {stats.refused:,} refused, {stats.failed:,} failed, {stats.found:,} URLs known"
