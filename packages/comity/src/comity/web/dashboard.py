"""Data of the dashboard: a running or finished crawl, in a folder or a store. It reads what resume, status and audit
read, and gives orders as `comity frontier` does."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from threading import Lock
from typing import Any, Final

from comity.audit.broken import linking
from comity.audit.listing import listing
from comity.audit.prove import prove
from comity.audit.report.figures import RATIOS, Figures, Gathering, gather
from comity.audit.url_status import explain_url
from comity.crawler.observe.stats import RequestCounters
from comity.crawler.storage.open_crawl import STORES, end, open_crawl
from comity.crawler.storage.orders import ORDERS, host_named
from comity.errors import ComityError
from comity.frontier.values import HostCounts, State
from comity.web.workbench import InvalidQuestion

MAX_HOSTS: Final = 200
MAX_ROWS: Final = 30
MAX_TEXT_CHARACTERS: Final = 10_000
"""Characters of a URL, or of a text that is sought."""
MIN_LOOK_SECONDS: Final = 2.0
"""Seconds between two looks at a crawl."""
POLL_SECONDS: Final = 0.25
"""Seconds after which an open page is told no more once the server ends."""
MAX_CPU_SHARE: Final = 0.01
"""Of one processor, what looking may take."""
MAX_LEDGER_CPU_SHARE: Final = 0.0025
"""Of one processor, what reading the ledger may take while the crawl runs."""
MIN_READING_SECONDS: Final = 0.02
"""Seconds of the processor that one reading may take in any case."""


class Dashboard:
    """The crawl at a place, which may begin later.

    Args:
        place: its folder, or the URL of its store.
    """

    def __init__(self, place: str) -> None:
        self.place = place
        self._store = place if place.startswith(STORES) else None
        self._figures: tuple[float, dict[str, Any]] | None = None
        self._gathering: Gathering | None = None  # while the crawl runs
        self._read_at = 0.0
        self._reading = Lock()  # two pages that ask for the figures have them read once
        self._ran = False
        self._looking = ThreadPoolExecutor(1, "comity-look")  # of its own: long questions hold up no look
        self._last: tuple[float, dict[str, Any]] = 0.0, {}

    def now(self) -> dict[str, Any]:
        """Return the queue's state: counts, the hosts with the longest queues and their delays, shards."""
        crawl = open_crawl(self.place)
        counts: Counter[State] = Counter(dict.fromkeys(State, 0))
        hosts: list[HostCounts] = []
        tally, memory = RequestCounters(), dict[int, int | None]()  # by process: shards may share one
        for each in crawl.views():
            with each as view:
                counts.update(view.counts())
                hosts += view.busiest(MAX_HOSTS)
                if kept := view.load_state("tally"):
                    tally.add(RequestCounters(kept))
                    memory |= [kept[-1]]
        hosts = sorted(hosts, key=lambda host: -host.waiting)[:MAX_HOSTS]
        moment, running = time.time(), crawl.is_running()
        if self._ran and not running:
            self._figures = None  # the last ones are worth reading at once
        self._ran = running
        delays = crawl.delays([host.host for host in hosts if host.waiting])
        return {
            "at": moment,
            "running": running,
            "memory": sum(size or 0 for size in memory.values()) if running else 0,
            "depths": tally.depths,
            "types": dict(tally.types.most_common(MAX_ROWS)),
            "counts": {state.name.lower(): number for state, number in counts.items()},
            "hosts": [
                asdict(host) | {"why": delays[host.host].in_words(moment) if host.host in delays else ""}
                for host in hosts
            ],
            "shards": [asdict(each) for each in crawl.status()],
        }

    def figures(self) -> dict[str, Any]:
        """What the ledger says so far: answers over time, refusals by rule, failures, intervals; `at` up to when it was
        read, and in how many seconds it is read `again`. While a crawl runs, reading keeps to its share of a processor,
        and falls behind one that is faster.
        """
        with self._reading:
            kept = self._figures
            if kept is None or time.monotonic() >= kept[0]:
                began, at = time.thread_time(), time.time()
                if open_crawl(self.place).is_running():
                    found, at = self._read_on(at)
                else:
                    self._gathering = None
                    found = _shown(gather(self._folders(), store=self._store))
                cost = time.thread_time() - began
                kept = self._figures = (
                    time.monotonic() + max(MIN_LOOK_SECONDS, cost / MAX_CPU_SHARE),
                    found | {"at": at},
                )
        return kept[1] | {"again": round(max(0.0, kept[0] - time.monotonic()), 1)}

    def _read_on(self, at: float) -> tuple[dict[str, Any], float]:
        """Return the figures of a running crawl, and up to when they were read."""
        gathering = self._gathering = self._gathering or Gathering(self._folders(), store=self._store)
        now = time.monotonic()
        share = (
            max(MIN_READING_SECONDS, MAX_LEDGER_CPU_SHARE * (now - self._read_at))
            if self._read_at
            else MIN_READING_SECONDS
        )
        self._read_at = now
        figures = gathering.read(share)
        return _shown(figures), (figures.ended or at) if gathering.behind else at

    def fate(self, url: str) -> dict[str, Any]:
        """Return what became of a URL, and why."""
        _bounded(url)
        return explain_url(self._folders(), url, store=self._store).to_dict()

    def urls(self, search: str = "", state: str = "", after: str = "") -> dict[str, Any]:
        """URLs of the crawl that contain a text, with what became of each; `after` says where to go on.

        Raises:
            InvalidQuestion: the text is too long.
        """
        _bounded(search)
        return asdict(listing(self._folders(), store=self._store, sought=search, state=state, after=after))

    def linking(self, url: str) -> dict[str, Any]:
        """Return the first pages that link to a URL, and whether all pages were searched."""
        _bounded(url)
        pages, everything = linking(self._folders(), url, store=self._store)
        return {"pages": pages, "all": everything}

    def order(self, host: str, kind: str, seconds: str = "") -> dict[str, Any]:
        """Slow a host down, stop it, let it go, or end the whole crawl; the crawl writes the order into its ledger.
        `met`: whether the crawl knows the host; of one that it does not, the order holds once it does. `confirmed`:
        whether it carries the order out by now.

        Raises:
            InvalidQuestion: it is no order.
        """
        if kind not in ORDERS:
            raise InvalidQuestion(f"an order is one of {', '.join(ORDERS)}")
        try:
            interval = float(seconds) if ORDERS[kind].is_timed else None
        except ValueError:
            raise InvalidQuestion(f"{seconds[:40]!r} is not a number of seconds") from None
        crawl = open_crawl(self.place)
        given = end(crawl) if kind == "end" else crawl.give(host_named(host), kind, interval)
        met = kind == "end" or crawl.has(given.host)
        runs = crawl.is_running()
        confirmed = runs and crawl.confirms(given)
        return {"host": given.host, "kind": kind, "running": runs, "met": met, "confirmed": confirmed}

    def proof(self) -> dict[str, Any]:
        """Prove the crawl; a running one is reported as running."""
        return prove(self._folders(), store=self._store).to_dict()

    async def changes(self, ending: Callable[[], bool]) -> AsyncIterator[dict[str, Any]]:
        """`now` again and again until the server ends, seldom enough to cost the machine a hundredth of a processor,
        however many pages are open: they share what was seen.
        """
        while not ending():
            again, found = await asyncio.get_running_loop().run_in_executor(self._looking, self._look)
            yield found
            while time.monotonic() < again and not ending():
                await asyncio.sleep(POLL_SECONDS)

    def _look(self) -> tuple[float, dict[str, Any]]:
        """When to look again, and `now`, or why there is none. It costs the processor's seconds of this thread, for the
        crawl may run in this process.
        """
        if time.monotonic() >= self._last[0]:
            began = time.thread_time()
            try:
                found = self.now()
            except ComityError as error:
                found = {"error": str(error)}
            self._last = time.monotonic() + max(MIN_LOOK_SECONDS, (time.thread_time() - began) / MAX_CPU_SHARE), found
        return self._last

    def _folders(self) -> list[Path]:
        return [] if self._store is not None else [Path(self.place)]


def _bounded(text: str) -> None:
    if len(text) > MAX_TEXT_CHARACTERS:
        raise InvalidQuestion(f"more than {MAX_TEXT_CHARACTERS:,} characters")


def _shown(figures: Figures) -> dict[str, Any]:
    hosts = sorted(figures.hosts.items(), key=lambda item: -item[1].requests)[:MAX_ROWS]
    return {
        "state": figures.state,
        "agent": figures.agent,
        "started": figures.started,
        "ended": figures.ended,
        "requests": figures.requests,
        "refused": figures.refused,
        "bytes": figures.bytes,
        "statuses": dict(figures.statuses.most_common(MAX_ROWS)),
        "timeline": {"start": figures.timeline.start, "width": figures.timeline.width, "bins": figures.timeline.bins},
        "hosts": [
            {
                "host": name,
                "requests": each.requests,
                "failed": each.failed,
                "interval": each.interval,
                "kept": None if each.kept == float("inf") else each.kept,
            }
            for name, each in hosts
        ],
        "reasons": dict(figures.reasons.most_common(MAX_ROWS)),
        "rules": figures.top_rules(MAX_ROWS),
        "refusals": [each._asdict() for each in reversed(figures.refusals)],
        "ratios": {"bounds": RATIOS, "counts": figures.ratios},
        "stats": None if figures.stats is None else asdict(figures.stats),
        "absent": figures.absent,
    }


def event(found: dict[str, Any]) -> str:
    """Format a server-sent event (HTML standard, 9.2)."""
    return f"data: {json.dumps(found)}\n\n"
