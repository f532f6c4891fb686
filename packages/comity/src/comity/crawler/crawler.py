"""The crawl as who starts it sees it: with what it is made, how it is told to stop, how it stands and how it ended."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never, TypedDict

from comity.crawler.cluster.workers import Workers
from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.observe.snapshot import Snapshot
from comity.crawler.observe.stats import Stats
from comity.crawler.observe.webhook import Webhook
from comity.crawler.output.plugins import Expander, Plugins, SchemaExpander, Source
from comity.crawler.output.records import CrawledPage
from comity.crawler.output.sink import Sink
from comity.crawler.run.checkpoint import check_names, resolved
from comity.crawler.run.local_crawl import LocalCrawl
from comity.crawler.run.run import End, Run
from comity.crawler.run.run_config import Listeners, RunConfig
from comity.crawler.storage.crawl import RunStorage
from comity.crawler.storage.export import export_at_end
from comity.crawler.storage.folder import FolderStorage
from comity.errors import InvalidSetting, check_type
from comity.net import ClientSettings
from comity.policy import Decision, Policy, RobotsResult, decide
from comity_pages import urls

if TYPE_CHECKING:
    from comity.client import AsyncClient
    from comity.crawler.cluster.worker_process import WorkerProcess


class ChosenPlugins(TypedDict, total=False):
    """The plug-ins of a crawl, each as an object or as `MODULE:NAME`; `sink` may be a format's name."""

    source: Source | str | None
    expander: Expander | str | None
    sink: Sink | str | None


class Crawler:
    """One crawl; where one lies that is unfinished, it is continued.

    Args:
        seeds: absolute URLs to start from, or one; the crawl stays on their hosts, or as far around them as the
            settings say.
        folder: where it is kept: a folder, made if need be, or what keeps it in another way (storage/crawl.py). Of a
            crawl in a store this machine's parts of the output and of the ledger lie there.
        policy: None for what the crawl was begun with, the default policy if it is new. Of what it was begun with, no
            more is taken over than the default policy allows.
        settings: the settings, or a mapping of some. A resumed crawl keeps its earlier ones, field by
            field, except those given now: what a mapping names, or what differs from the default in a CrawlSettings.
            So `{"max_pages": None}` lifts a limit. Patterns in `exclude` add to those before; `()` lifts them.
        plugins: by kind: where the URLs come from (`source`), what is made of pages (`expander`), what writes the
            output (`sink`: what the crawl was begun with, JSON Lines if it is new). These, and settings that allow more
            than the defaults (`follow_nofollow`, `render`) are given again for each run, because a folder may be
            anybody's.
        refresh: crawl what the folder's finished crawl covers again, asking for a page only if it has changed; `stats`
            says how many are new, changed, gone and unchanged, the channel `changes` which.
        workers: how many processes; 1 for this one, unless the crawl has several shards.

    Attributes:
        folder: where its output lies.
        store: the address of the store, without a password; None of a crawl in a folder.
        policy, settings: those in force.
        is_sharded: whether it is cut into shards, each with a folder of its own.

    Raises:
        InvalidURL: a seed is not a web address.
        InvalidSetting: a setting is not allowed, or is to be given again.
        StorageError: the folder or store cannot be used, or its crawl has not ended and so cannot be refreshed.
    """

    def __init__(
        self,
        seeds: str | Iterable[str],
        folder: str | Path | RunStorage,
        *,
        policy: Policy | None = None,
        settings: CrawlSettings | Mapping[str, Any] | None = None,
        client_settings: ClientSettings | None = None,
        plugins: ChosenPlugins | None = None,
        refresh: bool = False,
        workers: int | Workers = 1,
        **others: Never,
    ) -> None:
        check_names(others)
        check_type("client_settings", client_settings, ClientSettings)
        workers = workers if isinstance(workers, Workers) else Workers(workers)
        storage = FolderStorage(Path(folder)) if isinstance(folder, str | Path) else folder
        given, start = plugins or {}, (seeds,) if isinstance(seeds, str) else tuple(seeds)
        if unknown := given.keys() - ChosenPlugins.__annotations__.keys():
            raise InvalidSetting(f"plugins: {', '.join(sorted(unknown))} is no kind of plug-in")
        in_store = None
        if workers.store is not None:
            from comity.crawler.cluster.in_store import InStore  # late, as below: one process needs none of it

            in_store = InStore(storage.folder, workers, refresh=refresh)
            if workers.how == "join":
                if start or any(given.values()):
                    raise InvalidSetting(
                        "join: what is crawled, and how it is written, was settled when the crawl began"
                    )
                policy = settings = None
        begun = storage.config() if in_store is None else in_store.config
        # What is joined lies in a store that the operator names, and others work on it.
        checked = None if workers.how == "join" else given
        self.folder, self.store = storage.folder, None if in_store is None else str(in_store.store.where)
        self.policy, self.settings = resolved(begun, self.folder, policy, settings, checked, refresh=refresh)
        self.is_sharded = workers.needs_shards(self.folder, begun.manifest)
        if self.is_sharded:
            if given.get("source") is not None:
                raise InvalidSetting("source: it is for a crawl in one process: leave out --workers, --shards")
            for kind in ("expander", "sink"):
                if not isinstance(given.get(kind), str | SchemaExpander | None):
                    raise InvalidSetting(f"{kind}: workers make it by its name, so give that: MODULE:NAME")
        self._webhook = None if self.settings.webhook is None else Webhook(self.settings.webhook, self.policy)
        config = RunConfig(
            seeds=list(map(urls.normalise, start)),
            storage=storage,
            policy=self.policy,
            settings=self.settings,
            client_settings=client_settings or ClientSettings(),
            plugins=Plugins(given.get("source"), given.get("expander")),
            sink=given.get("sink"),
            begins_refresh=refresh,
        )
        self._local: LocalCrawl | None = None
        if self.is_sharded:
            from comity.crawler.cluster.sharded import ShardedCrawl

            self._crawl: LocalCrawl | ShardedCrawl = ShardedCrawl(config, begun.manifest, workers, in_store)
        else:
            self._crawl = self._local = LocalCrawl(config)
        self._seeds, self._store_url = config.seeds, workers.store

    def stop(self) -> None:
        """Start nothing new on this machine; what is under way is finished and written."""
        self._crawl.stop()

    @property
    def seeds(self) -> list[str]:
        """The URLs given, in normal form; once it runs in this process, also those of earlier runs."""
        return self._seeds if self.running is None else self.running.seeds

    @property
    def end(self) -> End:
        """How the last run ended."""
        return self._crawl.end

    @property
    def stats(self) -> Stats:
        """Counts over all runs, shards and machines."""
        return self._crawl.stats

    @property
    def running(self) -> Run | None:
        """The run in this process that was begun last, with all its parts; None before."""
        return None if self._local is None else self._local.running

    @property
    def processes(self) -> Sequence["WorkerProcess"]:
        """The workers of the run that was begun last; none where it is worked in this process."""
        return () if isinstance(self._crawl, LocalCrawl) else self._crawl.processes

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called on this machine: URLs may be waiting for a later run, or others may go on."""
        return self._crawl.stopped

    @property
    def format(self) -> str:
        """What the output is written as: a format's name, or a plug-in's `MODULE:NAME`. Known once the crawl runs."""
        return self._crawl.format

    @property
    def refreshes(self) -> bool:
        """Whether this is a refresh, or goes on with one. Known once the crawl runs."""
        return self._crawl.refreshes

    def snapshot(self, *, hosts: int = 10, rules: int = 10) -> Snapshot:
        """How the crawl stands, with its busiest hosts and rules: from any thread, before, while and after it runs. Of
        several workers it shows this machine's hosts, as of a second ago or less."""
        return self._crawl.snapshot(hosts=hosts, rules=rules)

    def inspect(self) -> Mapping[str, RobotsResult]:
        """The robots.txt files of this run, origin by origin, those met last where there are very many: while the crawl
        runs and after it. Each has `robots`: groups, rules, crawl delay, sitemaps. None of those of other processes.
        """
        return {} if self.running is None else self.running.client.driver.gate.robots.results()

    def check(self, url: str) -> Decision | None:
        """The decision about a URL by what was learned in this run; None where that is nothing of its site. Nothing is
        sent."""
        url = urls.normalise(url)
        result = self.inspect().get(urls.origin(url))
        return None if result is None else decide(self.policy, url, result)

    def hold(self) -> None:
        """Start nothing until `resume`; what is under way is finished and written. Other processes go on."""
        if self._local is not None:
            self._local.control.hold()

    def resume(self) -> None:
        """Start requests again after `hold`."""
        if self._local is not None:
            self._local.control.resume()

    async def run(
        self,
        *,
        on_page: Callable[[CrawledPage], None] | None = None,
        on_record: Callable[[str, dict[str, Any]], None] | None = None,
        on_begin: Callable[[], None] | None = None,
        pace_with: "AsyncClient | None" = None,
    ) -> Stats:
        """Crawl until nothing is left, a limit is reached or `stop` was called; then what the format names is made of
        the log.

        Args:
            on_page: told of each page once it is committed; as on_record, by a crawl in this process.
            on_record: told of each failure and refusal, by channel and record, once it is committed.
            on_begin: told when nothing refuses the crawl any more.
            pace_with: a client on the event loop that the crawl runs on; to each host, both keep one pace together.
        """
        if self.is_sharded and any(each is not None for each in (on_page, on_record, pace_with)):
            raise InvalidSetting("on_page, on_record, pace_with: they are for a crawl in one process, without workers")
        hook = self._webhook
        heard = [each for each in (on_record, None if hook is None else hook.record) if each is not None]
        listeners = Listeners(page=on_page, records=heard, begin=on_begin)
        with nullcontext() if hook is None else hook.told_end(self.folder, lambda: self.stats):
            await self._crawl.run(listeners, None if pace_with is None else pace_with._session)
            await asyncio.to_thread(export_at_end, self.folder, self.format, self._store_url)
        return self.stats
