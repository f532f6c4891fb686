"""Runs crawls by handle, within limits. A handle lives for some time after its crawl's end and names a folder that
this module chose: nothing that a client or a site says becomes part of a path."""

import asyncio
import secrets
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from comity import AsyncClient, ClientSettings, ComityError, CrawledPage, Crawler, CrawlSettings
from comity.digests import sha256_of
from comity.domains import registrable
from comity.mcp.answers import ToolFailure, truncate
from comity.mcp.content_store import Store
from comity_pages import urls
from comity_robots.fields import MIB

MAX_CRAWL_PAGES: Final = 10_000  # of one crawl, that its status lists
_MAX_CANCEL_SECONDS: Final = 10.0  # that a cancelled crawl has to finish what is under way


@dataclass(frozen=True, slots=True)
class CrawlLimits:
    """How far a crawl may go without anybody being asked, and what this server keeps.

    Attributes:
        pages, seconds: of one crawl.
        bytes: of the bodies of one crawl; holds whatever is asked for.
        crawls: under way at the same time; holds as well.
        life: seconds that a crawl's handle and folder live after its end; less where there is more to keep than
        kept, listed, disk: crawls that ended, pages listed of all crawls, and bytes of their folders.
    """

    pages: int = 100
    seconds: float = 600.0
    bytes: int = 200 * MIB
    crawls: int = 4
    life: float = 3600.0
    kept: int = 100
    listed: int = 50_000
    disk: int = 1024 * MIB


State = Literal["running", "finished", "limit", "cancelled", "failed"]


@dataclass(slots=True)
class CrawlTask:
    """One crawl.

    Attributes:
        ended: why it ended, in our words; None while it runs.
        why: more about it, which may quote a site.
        state: `running`, `finished`, `limit`, `cancelled` or `failed`.
        crawler: while it runs; what is asked about it later stands in `counts` and `left`.
        disk: bytes of its folder, once it ended.
    """

    handle: str
    folder: Path
    seeds: list[str]
    crawler: Crawler | None
    begun: float
    counts: dict[str, Any] = field(default_factory=dict)
    left: int = 0
    disk: int = 0
    pages: list[dict[str, Any]] = field(default_factory=list)
    state: State = "running"
    ended: str | None = None
    why: str | None = None
    ended_at: float | None = None
    cancelled: bool = False
    task: "asyncio.Task[None] | None" = None

    def refresh_counts(self) -> None:
        """Take the counts from the crawler, while there is one."""
        if self.crawler is not None:
            stats = self.crawler.stats.to_dict()
            names = ("pages", "refused", "failed", "found", "outside", "body_bytes")
            self.counts = {name: stats[name] for name in names}
            self.left = self.crawler.end.left


class Crawls:
    """The crawls of one server. To each host, all of them and its tools keep one pace. `client`: the tools' client."""

    def __init__(
        self, client: AsyncClient, settings: ClientSettings, limits: CrawlLimits, folder: Path, store: Store
    ) -> None:
        self._client = client
        self._settings = settings
        self._limits = limits
        self._folder = folder
        self._store = store
        self._crawls: dict[str, CrawlTask] = {}
        self._removing: set[asyncio.Future[None]] = set()

    def beyond_limits(self, seeds: list[str], pages: int, seconds: float) -> str | None:
        """The question to a person before a crawl goes beyond the limits; None where it does not."""
        limits = self._limits
        asked = ((pages, limits.pages, "pages"), (seconds, limits.seconds, "seconds"))
        beyond = [f"{wanted:g} {what} (the limit is {limit:g})" for wanted, limit, what in asked if wanted > limit]
        if not beyond:
            return None
        hosts = sorted({urls.host(url) for url in seeds})
        return f"May the crawl of {', '.join(hosts)} take up to {' and '.join(beyond)}?"

    async def start(self, start_urls: list[str], settings: CrawlSettings) -> CrawlTask:
        """Begin a crawl. Raises InvalidURL, or ToolFailure: there are enough crawls, or the site is crawled already."""
        self._forget_old()
        seeds = [urls.normalise(url) for url in start_urls]
        running = [each for each in self._crawls.values() if each.ended is None]
        if len(running) >= self._limits.crawls:
            raise ToolFailure(
                "too_many_crawls", f"{len(running)} crawls are under way.", "Wait for one to end, or cancel one."
            )
        if not {_site_of(seed) for seed in seeds}.isdisjoint(_site_of(seed) for each in running for seed in each.seeds):
            raise ToolFailure(
                "crawled_already", "A crawl of this site is under way.", "Wait for its end, or cancel it."
            )
        handle = secrets.token_urlsafe(16)
        folder = self._folder / f"crawl-{handle}"
        pages: list[dict[str, Any]] = []
        crawler = Crawler(
            seeds,
            folder,
            policy=self._client.policy,
            settings=settings,
            client_settings=self._settings,
            plugins={"sink": "jsonl"},
        )
        crawl = CrawlTask(handle, folder, seeds, crawler, time.time(), pages=pages)
        self._crawls[handle] = crawl
        crawl.task = asyncio.ensure_future(self._run(crawl))
        return crawl

    def find(self, handle: str) -> CrawlTask:
        """The crawl of a handle. Raises ToolFailure: there is none, or not any more."""
        self._forget_old()
        crawl = self._crawls.get(handle)
        if crawl is None:
            raise ToolFailure(
                "unknown_handle",
                "No crawl has this handle, or it ended too long ago.",
                "Use the handle that crawl_start gave.",
            )
        return crawl

    def all(self) -> list[CrawlTask]:
        """Return the crawls that are kept, the latest first."""
        self._forget_old()
        return list(reversed(self._crawls.values()))

    async def cancel(self, crawl: CrawlTask) -> None:
        """Cancel a crawl: requests in progress are finished and written. An ended one stays as it is."""
        if crawl.ended is not None or crawl.task is None:
            return
        crawl.cancelled = True
        if crawl.crawler is not None:
            crawl.crawler.stop()
        _, waiting = await asyncio.wait([crawl.task], timeout=_MAX_CANCEL_SECONDS)
        if waiting:
            crawl.task.cancel()
            await asyncio.wait([crawl.task])

    async def close(self) -> None:
        """Cancel all crawls."""
        await asyncio.gather(*(self.cancel(each) for each in self._crawls.values()))
        await asyncio.gather(*self._removing)

    def _arrived(self, pages: list[dict[str, Any]], page: CrawledPage) -> None:
        key = sha256_of(page.body)
        self._store.crawled.put(key, page, len(page.body))
        if len(pages) < MAX_CRAWL_PAGES:
            pages.append(
                {
                    "url": truncate(page.url, 2048),
                    "title": truncate(page.title or "", 200),
                    "resource": f"comity://page/{key}",
                }
            )

    async def _run(self, crawl: CrawlTask) -> None:
        crawler = crawl.crawler
        assert crawler is not None
        try:
            stats = await crawler.run(on_page=partial(self._arrived, crawl.pages), pace_with=self._client)
        except asyncio.CancelledError:
            crawl.state, crawl.ended = "cancelled", "It was cancelled."
        except (ComityError, ToolFailure) as error:
            crawl.state, crawl.ended, crawl.why = "failed", "It failed.", truncate(str(error))
        except Exception as error:  # a defect of ours must not leave a crawl without an end
            crawl.state, crawl.ended = "failed", f"It failed inside: {type(error).__name__}."
        else:
            if crawl.cancelled:
                crawl.state, crawl.ended = "cancelled", "It was cancelled; what was under way is kept."
            elif limit := crawler.end.limit_reached:
                crawl.state, crawl.ended = "limit", "A limit was reached."
                crawl.why = truncate(crawler.settings.budget.in_words(limit))
            elif crawler.end.deferred:
                crawl.state, crawl.ended, crawl.why = "limit", "A limit was reached.", truncate(crawler.end.deferred)
            elif not stats.reached and (why := crawler.end.trouble or crawler.end.refusal):
                crawl.state, crawl.ended, crawl.why = "finished", "Nothing could be fetched.", truncate(why)
            else:
                crawl.state, crawl.ended = "finished", "Nothing in scope is left to fetch."
        finally:
            crawl.refresh_counts()
            crawl.crawler = None  # it holds all that it has met
            crawl.ended_at = time.time()
            with suppress(OSError):
                crawl.disk = await asyncio.to_thread(_size_of, crawl.folder)
            asyncio.get_running_loop().call_later(self._limits.life, self._forget_old)
            self._forget_old()

    def _forget_old(self) -> None:
        """Forget ended crawls and remove their folders: those whose life is over, and the oldest beyond the limits."""
        now, limits = time.time(), self._limits
        ended = {handle: crawl for handle, crawl in self._crawls.items() if crawl.ended_at is not None}
        count = len(ended)
        disk = sum(crawl.disk for crawl in ended.values())
        listed = sum(len(crawl.pages) for crawl in self._crawls.values())
        for handle, crawl in ended.items():
            over = count > limits.kept or disk > limits.disk or listed > limits.listed
            if not over and now < (crawl.ended_at or 0.0) + limits.life:
                continue
            del self._crawls[handle]
            count, disk, listed = count - 1, disk - crawl.disk, listed - len(crawl.pages)
            removing = asyncio.ensure_future(asyncio.to_thread(shutil.rmtree, crawl.folder, ignore_errors=True))
            self._removing.add(removing)
            removing.add_done_callback(self._removing.discard)


def _site_of(url: str) -> str:
    return registrable(urls.host(url))


def _size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
