"""Data of the dashboard: a running or finished crawl, in a folder or a store. It reads what resume, status and audit
read, and gives orders as `comity frontier` does."""

import asyncio
import json
import math
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from comity.audit.broken import broken_links, linking
from comity.audit.listing import listing
from comity.audit.prove import Proof
from comity.audit.report.figures import Figures, Gathering, with_failures
from comity.audit.report.page import CrawlView, html, no_crawl, parts, proved
from comity.audit.report.queue import look
from comity.audit.url_status import explain_url
from comity.crawler.observe.stats import PageRate
from comity.crawler.observe.words import KEPT
from comity.crawler.storage.open_crawl import STORES, end, open_crawl
from comity.crawler.storage.orders import ORDERS, host_named
from comity.errors import ComityError, InputError
from comity.templates import date
from comity.web.workbench import InvalidQuestion

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
MAX_LEAVING_SECONDS: Final = 0.5
"""Seconds of the processor that the last reading may take when the server ends."""
MAX_LEAVING_REQUESTS: Final = 2_000
"""Requests of a crawl that is proved then."""


class Dashboard:
    """The crawl at a place, which may begin later.

    Args:
        place: its folder, or the URL of its store.
    """

    def __init__(self, place: str) -> None:
        self.place = place
        self._store = place if place.startswith(STORES) else None
        self._gathering: Gathering | None = None
        self._rate: PageRate | None = None
        self._read_at = 0.0
        self._ran = False
        self._proved = ""  # the last hash of what was proved
        self._proof: Proof | str | None = None
        self._proving = ThreadPoolExecutor(1, "comity-prove")
        self._left: dict[str, Any] | None = None
        self._looking = ThreadPoolExecutor(1, "comity-look")  # of its own: long questions hold up no look
        self._last: tuple[float, dict[str, Any]] = 0.0, {}

    def view(self, *, leaving: bool = False) -> CrawlView:
        """Look at the crawl: its queue, and its ledger as far as it was read. While the crawl runs, reading keeps to
        its share of a processor, and falls behind one that is faster.

        Args:
            leaving: whether this is the last look before the server ends, which must not take long.
        """
        crawl = open_crawl(self.place)
        queue, now = look(crawl), time.monotonic()
        if queue.running and not self._ran:
            self._gathering, self._rate, self._proved = None, None, ""
        self._ran = queue.running
        gathering = self._gathering = self._gathering or Gathering(self._folders(), store=self._store)
        share = max(MIN_READING_SECONDS, MAX_LEDGER_CPU_SHARE * (now - self._read_at)) if self._read_at else 0.0
        bound = max(share, MIN_READING_SECONDS) if queue.running else MAX_LEAVING_SECONDS if leaving else math.inf
        self._read_at = now
        try:
            figures = gathering.read(bound)
        except InputError:  # it begins
            figures = Figures()
        pages = queue.counts[KEPT]
        first, self._rate = self._rate is None, self._rate or PageRate(now, pages)
        self._rate.add(now, pages)
        view = CrawlView(
            self.place if self._store is None else "",
            figures,
            queue,
            rate=None if first else self._rate.per_second(now, pages),
            live=True,
            leaving=leaving,
        )
        if gathering.behind:
            view.remarks.append(
                f"Charts and hosts are as of {date(figures.ended)} UTC: reading the ledger lags behind."
            )
        elif not queue.running and figures.hash:
            self._conclude(gathering, figures, leaving=leaving)
            view.proof = self._proof
        return view

    def _conclude(self, gathering: Gathering, figures: Figures, *, leaving: bool) -> None:
        """Have a crawl that has ended proved once, and its failures counted, while others look."""
        if self._proved == figures.hash:
            return
        self._proved, self._proof = figures.hash, None
        with_failures(gathering, figures)

        def conclude() -> None:
            proof = proved(self._folders(), self._store)
            if self._proved == figures.hash:
                self._proof, self._last = proof, (0.0, self._last[1])
                with suppress(ComityError):  # else each is named by the page that was met first
                    figures.broken = broken_links(self._folders(), store=self._store) if figures.broken else []
                    self._last = 0.0, self._last[1]

        if not leaving:
            self._proving.submit(conclude)
        elif figures.requests <= MAX_LEAVING_REQUESTS:
            conclude()
        else:
            self._proof = "comity prove says whether the rules were kept"

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

    async def page(self) -> str:
        """The page as it is now."""
        return await asyncio.get_running_loop().run_in_executor(self._looking, self._page)

    def _page(self) -> str:
        try:
            return html(self.view())
        except ComityError as error:
            return no_crawl(str(error))

    async def changes(self, ending: Callable[[], bool]) -> AsyncIterator[dict[str, Any]]:
        """What changes of the page, again and again until the server ends, and then once more; seldom enough to cost
        the machine a hundredth of a processor, however many pages are open: they share what was seen.
        """
        loop, seen = asyncio.get_running_loop(), None
        while not ending():
            again, found = await loop.run_in_executor(self._looking, self._look)
            if found is not seen:
                yield found
            seen = found
            while time.monotonic() < min(again, self._last[0]) and not ending():
                await asyncio.sleep(POLL_SECONDS)
        yield await loop.run_in_executor(self._looking, self._leave)

    def _look(self) -> tuple[float, dict[str, Any]]:
        """When to look again, and what was seen, or why nothing was. It costs the processor's seconds of this thread,
        for the crawl may run in this process.
        """
        if time.monotonic() >= self._last[0]:
            began, is_first = time.thread_time(), not self._last[1]  # which reads templates too
            found = self._seen()
            pause = 0 if is_first else (time.thread_time() - began) / MAX_CPU_SHARE
            self._last = time.monotonic() + max(MIN_LOOK_SECONDS, pause), found
        return self._last

    def _leave(self) -> dict[str, Any]:
        """The last look, the same for all pages that are open."""
        self._left = self._left or self._seen(leaving=True)
        return self._left

    def _seen(self, **how: bool) -> dict[str, Any]:
        try:
            return parts(self.view(**how))
        except ComityError as error:
            return {"error": str(error)}

    def _folders(self) -> list[Path]:
        return [] if self._store is not None else [Path(self.place)]


def _bounded(text: str) -> None:
    if len(text) > MAX_TEXT_CHARACTERS:
        raise InvalidQuestion(f"more than {MAX_TEXT_CHARACTERS:,} characters")


def event(found: dict[str, Any]) -> str:
    """Format a server-sent event (HTML standard, 9.2)."""
    return f"data: {json.dumps(found)}\n\n"
