"""The crawl: takes URLs from the frontier host by host, fetches them through the client, writes what came.

It keeps the order of things: robots.txt before a URL enters the queue, the gate again before each fetch, output and
frontier committed together. What may be fetched and when is decided below, in the gate.
"""

import asyncio
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from comity import urls
from comity.crawl import records
from comity.crawl.frontier import Batch, Entry, Found, Frontier, Kind, State
from comity.crawl.hosts import Host, Hosts
from comity.crawl.ledger import Ledger
from comity.crawl.settings import CrawlSettings
from comity.crawl.sink import JsonLines
from comity.crawl.stats import Stats
from comity.errors import AddressBlocked, FetchError, RobotsDisallowed, StorageError, TooLarge
from comity.net import AsyncClient, ClientSettings, Clock, Response
from comity.policy import Decision, Policy, RobotsResult
from comity.signals import sitemaps
from comity.signals.links import Page, read_page
from comity.signals.robots_meta import read as read_robots_meta

COMMIT_EVERY = 0.5  # seconds
COMMIT_SIZE = 1000  # URLs settled or found
COMMIT_BYTES = 64 * 1024 * 1024  # of records
REFILL = 256  # URLs of one host held in memory
RECENT = 100_000  # URLs remembered in memory to spare the frontier most repeats
LONGEST_BACKOFF = 60.0  # seconds
MOST_HOPS = 10  # redirects in a row
HTML = ("text/html", "application/xhtml+xml")


class Crawler:
    """One crawl into one folder; a folder that holds an unfinished crawl is continued.

    Args:
        seeds: absolute URLs to start from; the crawl stays on their hosts.
        folder: where frontier and output lie; made if need be.

    Raises:
        InvalidURL: a seed is no web address.
        StorageError: the folder cannot be used.
    """

    def __init__(
        self,
        seeds: Iterable[str],
        folder: Path,
        *,
        policy: Policy | None = None,
        settings: CrawlSettings | None = None,
        client_settings: ClientSettings | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.seeds = [urls.normalise(seed) for seed in seeds]
        self.folder = folder
        self.policy = policy or Policy()
        self.settings = settings or CrawlSettings()
        self.stats = Stats()
        self.trouble: str | None = None  # the first failure or unreachable robots.txt, in words
        self._client_settings = client_settings or ClientSettings()
        self._clock = clock or Clock()
        self._hosts = Hosts()
        self._scope: set[str] = set()
        self._batch = Batch()
        self._recent: set[str] = set()
        self._tasks: set[asyncio.Task[Entry | None]] = set()
        self._wake = asyncio.Event()
        self._stopping = False
        self._broken: BaseException | None = None
        self._client: AsyncClient
        self._frontier: Frontier
        self._sink: JsonLines
        self._ledger: Ledger

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called: URLs may be waiting for a later run."""
        return self._stopping

    def stop(self) -> None:
        """Start nothing new; what is under way is finished and written."""
        self._stopping = True
        self._wake.set()

    async def run(self) -> Stats:
        """Crawl until nothing is left, `max_pages` is reached or `stop` was called."""
        _make(self.folder)
        with (
            Frontier(self.folder / "frontier.sqlite") as self._frontier,
            JsonLines(self.folder, self._frontier.recall("lengths", {})) as self._sink,
            Ledger(self.folder / "ledger.jsonl", self._frontier.recall("ledger"), self._clock) as self._ledger,
        ):
            async with AsyncClient(self.policy, self._client_settings, clock=self._clock) as self._client:
                self._client.on_robots = self._robots_seen
                self._client.on_exchange = self._ledger.request
                self._start()
                try:
                    await self._loop()
                finally:
                    for task in self._tasks:
                        task.cancel()
                    await asyncio.gather(*self._tasks, return_exceptions=True)
                self._ledger.seal(stopped=self._stopping)
                self._commit()
        return self.stats

    # The loop

    def _start(self) -> None:
        self.stats = Stats(**self._frontier.recall("stats", {}))
        self.seeds = self.seeds or self._frontier.recall("seeds", [])
        self._scope = set(self._frontier.recall("scope", [])) | {urls.host(seed) for seed in self.seeds}
        self._frontier.remember("seeds", self.seeds)
        self._ledger.begin(self.policy, version=version("comity"), seeds=self.seeds)
        for seed in self.seeds:
            self._discover(seed, depth=0)
        self._commit()
        for name in self._frontier.hosts():
            self._hosts.push(self._hosts.of(name), 0.0)

    async def _loop(self) -> None:
        next_commit = self._clock.monotonic() + COMMIT_EVERY
        while True:
            if self._broken is not None:
                raise self._broken
            now = self._clock.monotonic()
            while not self._full() and (host := self._hosts.pop_ready(now)) is not None:
                self._serve(host, now)
            idle = not self._tasks and (self._stopping or self._enough() or self._hosts.next_time() is None)
            if idle or now >= next_commit or self._is_much():
                self._commit()
                next_commit = now + COMMIT_EVERY
                if idle and (self._stopping or self._enough() or self._hosts.next_time() is None):
                    return
                continue
            times = [next_commit] if self._batch or self._tasks else []
            ready = self._hosts.next_time()
            if ready is not None and not self._full():
                times.append(ready)
            await self._sleep(min(times, default=now + COMMIT_EVERY) - now)

    def _is_much(self) -> bool:
        """Whether so much waits for the next commit that it should not wait for its time."""
        batch = self._batch
        return len(batch.settled) + len(batch.found) >= COMMIT_SIZE or self._sink.pending >= COMMIT_BYTES

    def _full(self) -> bool:
        return self._stopping or len(self._tasks) >= self.settings.concurrency or self._enough(len(self._tasks))

    def _enough(self, more: int = 0) -> bool:
        return self.settings.max_pages is not None and self.stats.pages + more >= self.settings.max_pages

    async def _sleep(self, seconds: float) -> None:
        """Until something happens, at most `seconds`."""
        if not self._wake.is_set() and seconds > 0:
            waking = asyncio.ensure_future(self._wake.wait())
            sleeping = asyncio.ensure_future(self._clock.sleep(seconds))
            await asyncio.wait((waking, sleeping), return_when=asyncio.FIRST_COMPLETED)
            for task in (waking, sleeping):
                task.cancel()
        elif not self._wake.is_set():
            await asyncio.sleep(0)
        self._wake.clear()

    def _serve(self, host: Host, now: float) -> None:
        """Start the next request of a host that is ready."""
        ready_at = max(host.not_before, self._client.ready_at(host.name))
        if ready_at > now:  # put off while it stood in the heap, by Retry-After for example
            self._hosts.push(host, ready_at)
            return
        if not host.queue and not self._refill(host):
            return
        entry = host.queue.popleft()
        host.under_way.add(entry.id)
        task = asyncio.get_running_loop().create_task(self._visit(host, entry))
        self._tasks.add(task)
        task.add_done_callback(lambda task: self._visited(task, host, entry))
        self._again(host)

    def _refill(self, host: Host) -> bool:
        if host.drained:
            return False
        settled = {id_ for _, id_ in self._batch.settled}
        host.queue.extend(self._frontier.waiting(host.name, but_not=host.under_way | settled, most=REFILL))
        host.drained = len(host.queue) < REFILL
        return bool(host.queue)

    def _again(self, host: Host) -> None:
        """Have a host come up again, if it has work and room."""
        if host.in_heap or (not host.queue and host.drained):
            return
        if host.delay is None or host.delay > 0:  # one at a time; the wait is counted once
            if host.under_way:
                return
            ready_at = max(host.not_before, self._client.ready_at(host.name))
            self.stats.waited += max(ready_at - self._clock.monotonic(), 0.0)
            self._hosts.push(host, ready_at)
        elif len(host.under_way) < self.settings.per_host:
            self._hosts.push(host, max(host.not_before, self._client.ready_at(host.name)))

    def _visited(self, task: asyncio.Task[Entry | None], host: Host, entry: Entry) -> None:
        self._tasks.discard(task)
        host.under_way.discard(entry.id)
        self._wake.set()
        if task.cancelled():
            return
        if (error := task.exception()) is not None:
            self._broken = self._broken or error
            return
        # Only now may the URL be taken again: before, it would have been under way twice.
        if (once_more := task.result()) is not None:
            if once_more is entry:
                host.queue.appendleft(entry)
            else:
                host.queue.append(once_more)
        self._again(host)

    # One URL

    async def _visit(self, host: Host, entry: Entry) -> Entry | None:
        """Fetch one URL and write down what came; gives the entry back where it is to be tried again."""
        try:
            if host.delay is None:  # robots.txt first; the URL has its turn when the host is ready again
                decision = await self._client.check(entry.url)
                host.delay = decision.delay
                if decision.may_fetch:
                    self._read_sitemaps_of(entry)
                    return entry
                self._refuse(entry, decision)
                return None
            response = await self._client.fetch(entry.url)
            host.delay = response.decision.delay
            return self._answered(host, entry, response)
        except RobotsDisallowed as error:
            self._refuse(entry, error.decision)
        except (AddressBlocked, TooLarge) as error:
            self._fail(entry, str(error))
        except FetchError as error:
            return self._fail_or_retry(host, entry, str(error))
        except Exception as error:  # one page that defeats us must not end the crawl
            self._fail(entry, f"cannot be processed: {type(error).__name__}: {error}")
        return None

    def _answered(self, host: Host, entry: Entry, response: Response) -> Entry | None:
        if response.location is not None:
            target = urls.join(entry.url, response.location)
            self._sink.add("redirects", records.redirect(response, target, depth=entry.depth))
            self.stats.redirects += 1
            self._settle(State.DONE, entry)
            if target is not None and entry.hops < MOST_HOPS:
                if entry.depth == 0 and entry.kind is Kind.PAGE:  # example.com -> www.example.com
                    self._scope.add(urls.host(target))
                self._discover(target, depth=entry.depth, kind=entry.kind, hops=entry.hops + 1)
        elif response.ok and entry.kind is Kind.SITEMAP:
            self.stats.sitemaps += 1
            self._settle(State.DONE, entry)
            self._read_sitemap(entry, response)
        elif response.ok:
            if self._enough():
                return entry  # stays in the frontier for a later run with a higher limit
            read = None
            if response.content_type in HTML or (not response.content_type and b"<" in response.body[:512]):
                read = read_page(
                    response.body,
                    response.url,
                    response.headers.get("Content-Type"),
                    [value for name, value in response.all_headers if name.lower() == "link"],
                )
            record = records.page(response, read, depth=entry.depth)
            if read is not None:
                self._follow(entry, response, read)
            self._sink.add("pages", record)
            self.stats.pages += 1
            self.stats.body_bytes += len(response.body)
            self._settle(State.DONE, entry)
        elif response.status == 429 or response.status >= 500:
            return self._fail_or_retry(host, entry, f"HTTP status {response.status}", response.status)
        else:
            self._fail(entry, f"HTTP status {response.status}", response.status)
        return None

    def _follow(self, entry: Entry, response: Response, read: Page) -> None:
        if self.settings.max_depth is not None and entry.depth >= self.settings.max_depth:
            return
        tags = [value for name, value in response.all_headers if name.lower() == "x-robots-tag"]
        if (tags or read.metas) and read_robots_meta(tags, read.metas, agent=self.policy.agent, now=None).nofollow:
            return
        for link in read.links:
            if not link.nofollow:
                self._discover(link.url, depth=entry.depth + 1)

    def _read_sitemap(self, entry: Entry, response: Response) -> None:
        host = urls.host(entry.url)
        for item in sitemaps.read(response.body):
            target = urls.join(entry.url, item.loc)
            if target is None:
                continue
            if isinstance(item, sitemaps.SitemapRef):
                if entry.hops < MOST_HOPS:
                    self._discover(target, depth=entry.depth, kind=Kind.SITEMAP, hops=entry.hops + 1)
            elif sitemaps.in_scope(target, entry.url, named_by=host):
                self._discover(target, depth=entry.depth)

    def _read_sitemaps_of(self, entry: Entry) -> None:
        result = self._client.inspect().get(urls.origin(entry.url))
        if self.settings.sitemaps and result is not None and result.robots is not None:
            for sitemap in result.robots.sitemaps:
                target = urls.join(entry.url, sitemap)
                if target is not None:
                    self._discover(target, depth=1, kind=Kind.SITEMAP)

    # What becomes of URLs

    def _discover(self, url: str, *, depth: int, kind: Kind = Kind.PAGE, hops: int = 0) -> None:
        """Take up a URL that is new and in scope: into the queue if robots.txt allows it."""
        if url in self._recent:
            return
        if len(self._recent) >= RECENT:
            self._recent.clear()
        self._recent.add(url)
        host = urls.host(url)
        if host not in self._scope:
            return
        decision = self._client.check_now(url)
        refusal = None
        if decision is None:
            state = State.UNASKED
        elif decision.may_fetch:
            state = State.QUEUED
        else:
            state, refusal = State.REFUSED, records.refusal(decision, depth=depth)
        self._batch.found.append(Found(url, host, depth, kind, state, hops, refusal))

    def _settle(self, state: State, entry: Entry) -> None:
        self._batch.settled.append((state, entry.id))

    def _refuse(self, entry: Entry, decision: Decision) -> None:
        self._write_refusal(records.refusal(decision, depth=entry.depth))
        self.stats.refused += 1
        if decision.verdict == "unknown_unreachable":
            self.trouble = self.trouble or decision.why
        self._settle(State.REFUSED, entry)

    def _write_refusal(self, record: dict[str, Any]) -> None:
        self._sink.add("refusals", record)
        self._ledger.refusal(record["url"], record["decision"])

    def _fail(self, entry: Entry, why: str, status: int | None = None) -> None:
        attempts = entry.attempts + 1
        self._sink.add("failures", records.failure(entry.url, why, depth=entry.depth, attempts=attempts, status=status))
        self.stats.failed += 1
        self.trouble = self.trouble or why
        self._settle(State.FAILED, entry)

    def _fail_or_retry(self, host: Host, entry: Entry, why: str, status: int | None = None) -> Entry | None:
        if entry.attempts >= self.settings.retries:
            self._fail(entry, why, status)
            return None
        attempts = entry.attempts + 1
        self._batch.retried.append(entry.id)
        host.not_before = self._clock.monotonic() + min(2.0 ** (attempts - 1), LONGEST_BACKOFF)
        return Entry(entry.id, entry.url, entry.depth, entry.kind, attempts, entry.hops)

    def _robots_seen(self, result: RobotsResult) -> None:
        self._sink.add("robots", records.robots(result))
        self._ledger.robots(result)

    def _commit(self) -> None:
        """Make everything so far durable and give hosts with new URLs their turn."""
        batch, self._batch = self._batch, Batch()

        def write(new: int, refusals: list[dict[str, Any]]) -> dict[str, Any]:
            for record in refusals:
                self._write_refusal(record)
            self.stats.refused += len(refusals)
            self.stats.found += new
            return {
                "lengths": self._sink.flush(),
                "ledger": self._ledger.flush(),
                "stats": self.stats.to_dict(),
                "scope": sorted(self._scope),
            }

        self._frontier.commit(batch, write)
        for name in {found.host for found in batch.found if found.state < State.DONE}:
            host = self._hosts.of(name)
            host.drained = False
            self._again(host)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"{folder} cannot be made: {error.strerror}", hint="choose another folder with -o"
        ) from error
