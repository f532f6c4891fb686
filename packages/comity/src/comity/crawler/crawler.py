"""The crawl as who starts it sees it: with what it is made, how it is told to stop, how it stands and how it ended."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never

from comity.crawler.crawl_settings import CrawlSettings
from comity.crawler.observe.snapshot import Phase, Snapshot, take
from comity.crawler.observe.stats import Stats, StatsCollector
from comity.crawler.observe.telemetry import Telemetry
from comity.crawler.observe.webhook import Webhook
from comity.crawler.output.ledger import Ledger
from comity.crawler.output.plugins import Expander, Plugins, Source
from comity.crawler.output.records import CrawledPage
from comity.crawler.output.runner import DEFAULT, LEDGER, SinkRunner, check_free, have_columns, named
from comity.crawler.output.sink import Sink
from comity.crawler.run.checkpoint import check_names, resolved
from comity.crawler.run.control import Control
from comity.crawler.run.hosts import status_of
from comity.crawler.run.recrawl import not_begun
from comity.crawler.run.run import End, Run
from comity.crawler.run.run_config import Listeners, RunConfig, RunResources, ShardContext
from comity.crawler.storage.crawl import RunStorage
from comity.crawler.storage.folder import FolderStorage
from comity.crawler.storage.orders import Orders
from comity.crawler.storage.stored_config import StoredConfig
from comity.errors import check_type
from comity.frontier.durable import make_folder
from comity.net import ClientSettings, Clock
from comity.net.names import dns_library
from comity.policy import Decision, Policy, RobotsResult, decide
from comity_pages import urls

if TYPE_CHECKING:
    from comity.client import AsyncClient


class Crawler:
    """One crawl into one folder; a folder that holds an unfinished crawl is continued.

    Args:
        seeds: absolute URLs to start from, or one; the crawl stays on their hosts, or as far around them as the
            settings say.
        folder: where frontier and output lie; made if need be.
        sink: the output: a format's name, a plug-in as `MODULE:NAME`, or an object; None for what the crawl was begun
            with, JSON Lines if it is new.
        policy: None for what the crawl was begun with, the default policy if it is new. Of what it was begun with, no
            more is taken over than the default policy allows.
        begun: what was read of the crawl already; None: it is read now.
        pace_with: a client on the event loop that the crawl runs on; to each host, both keep one pace together.
        on_page: told of each page once it is committed.
        on_record: told of each failure and refusal, by channel and record, once it is committed.
        on_begin: told when nothing refuses the crawl any more.
        storage: where it keeps what it has to know; None: in the folder.
        shard_context: for a shard of a larger crawl (see cluster/).
        settings: the settings, or a mapping of some. A resumed crawl keeps its earlier ones, field by
            field, except those given now: what a mapping names, or what differs from the default in a CrawlSettings.
            So `{"max_pages": None}` lifts a limit. Patterns in `exclude` add to those before; `()` lifts them.
        source, expander: plug-ins, each as an object or as `MODULE:NAME`. These, `sink`, and settings that allow more
            than the defaults (`follow_nofollow`, `render`) are given again for each run, because a folder may be
            anybody's.
        refresh: crawl what the folder's finished crawl covers again, asking for a page only if it has changed; `stats`
            says how many are new, changed, gone and unchanged, the channel `changes` which.
        others: none is taken: a TypeError says to which argument each belongs.

    Attributes:
        control: how it is told to stop, to hold and to go on.
        end: how the last run ended.

    Raises:
        InvalidURL: a seed is not a web address.
        InvalidSetting: a setting is not allowed, or is to be given again.
        StorageError: the folder cannot be used, or its crawl has not ended and so cannot be refreshed.
    """

    def __init__(
        self,
        seeds: str | Iterable[str],
        folder: str | Path,
        *,
        policy: Policy | None = None,
        settings: CrawlSettings | Mapping[str, Any] | None = None,
        client_settings: ClientSettings | None = None,
        clock: Clock | None = None,
        sink: Sink | str | None = None,
        source: Source | str | None = None,
        expander: Expander | str | None = None,
        refresh: bool = False,
        begun: StoredConfig | None = None,
        pace_with: "AsyncClient | None" = None,
        on_page: Callable[[CrawledPage], None] | None = None,
        on_record: Callable[[str, dict[str, Any]], None] | None = None,
        on_begin: Callable[[], None] | None = None,
        storage: RunStorage | None = None,
        shard_context: ShardContext | None = None,
        **others: Never,
    ) -> None:
        check_names(others)
        check_type("client_settings", client_settings, ClientSettings)
        self.folder = Path(folder)
        storage = storage or FolderStorage(self.folder, Orders(self.folder))
        self._begun_with = begun or storage.config()
        plugins = None if shard_context is not None else {"source": source, "expander": expander, "sink": sink}
        self.policy, self.settings = resolved(self._begun_with, self.folder, policy, settings, plugins, refresh=refresh)
        self.end = End()
        self._sink = sink
        hook = self._webhook = None if self.settings.webhook is None else Webhook(self.settings.webhook, self.policy)
        self._config = RunConfig(
            seeds=[urls.normalise(seed) for seed in ((seeds,) if isinstance(seeds, str) else seeds)],
            folder=self.folder,
            policy=self.policy,
            settings=self.settings,
            client_settings=client_settings or ClientSettings(),
            clock=clock or Clock(),
            plugins=Plugins(source, expander),
            begins_refresh=refresh,
            listeners=Listeners(
                page=on_page,
                records=[
                    listener for listener in (on_record, None if hook is None else hook.record) if listener is not None
                ],
                begin=on_begin,
            ),
            pace_with=None if pace_with is None else pace_with._session,
            storage=storage,
            shard_context=shard_context,
        )
        self.control = Control(self._config.clock)
        self._collector = StatsCollector(self._config.clock)
        self._run: Run | None = None

    @property
    def seeds(self) -> list[str]:
        """The URLs given, in normal form; once it runs, also those of earlier runs."""
        return self._config.seeds if self._run is None else self._run.seeds

    @property
    def stats(self) -> Stats:
        """Counts over all runs."""
        return self._collector.stats

    @property
    def running(self) -> Run | None:
        """The run that was begun last, with all its parts; None before."""
        return self._run

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called: URLs may be waiting for a later run."""
        return self.control.stopping

    def snapshot(self, *, hosts: int = 10, rules: int = 10) -> Snapshot:
        """How the crawl stands, with its busiest hosts and rules: from any thread, before, while and after it runs."""
        phase: Phase = "stopping" if self.control.stopping else "held" if self.control.held else "running"
        scheduler, collector = None if self._run is None else self._run.scheduler, self._collector
        return take(
            collector,
            lambda now: (
                [] if scheduler is None else [status_of(host, collector, now) for host in scheduler.hosts.all()]
            ),
            phase,
            0 if scheduler is None else len(scheduler.tasks),
            most_hosts=hosts,
            most_rules=rules,
        )

    def inspect(self) -> Mapping[str, RobotsResult]:
        """The robots.txt files of this run, origin by origin, those met last where there are very many: while the crawl
        runs and after it. Each has `robots`: groups, rules, crawl delay, sitemaps.
        """
        return {} if self._run is None else self._run.client.driver.gate.robots.results()

    def check(self, url: str) -> Decision | None:
        """The decision about a URL by what was learned in this run; None where that is nothing of its site. Nothing is
        sent."""
        url = urls.normalise(url)
        result = self.inspect().get(urls.origin(url))
        return None if result is None else decide(self.policy, url, result)

    @property
    def format(self) -> str:
        """What the output is written as: a format's name, or a plug-in's `MODULE:NAME`. Known once the crawl runs."""
        assert self._run is not None
        return self._run.resources.sink.name

    @property
    def refreshes(self) -> bool:
        """Whether this is a refresh, or goes on with one. Known once the crawl runs."""
        return self._run is not None and self._run.refresh is not None

    def stop(self) -> None:
        """Start nothing new; what is under way is finished and written."""
        self.control.stop()

    def hold(self) -> None:
        """Start nothing until `resume`; what is under way is finished and written."""
        self.control.hold()

    def resume(self) -> None:
        """Start requests again after `hold`."""
        self.control.resume()

    async def run(self) -> Stats:
        """Crawl until nothing is left, `max_pages` is reached or `stop` was called."""
        with self._webhook_block():
            config, sink = self._config, None if self._sink is None else named(self._sink)
            if sink is not None:
                have_columns(sink, config.plugins.expander)
            has_start = bool(config.seeds) or config.plugins.source is not None
            if (config.begins_refresh or not has_start) and not self._begun_with.is_there:
                raise not_begun(self.folder, "refresh" if config.begins_refresh else "continue")
            if self.settings.renders:  # check for a missing browser before creating the folder
                from comity.crawler.rendering.browser import Browser

                Browser(self.settings.render_browser)
            if config.client_settings.nameservers:
                dns_library()
            if not self._begun_with.is_there and not (self.folder / "frontier.sqlite").exists():
                check_free(self.folder, DEFAULT if sink is None else sink.name, LEDGER)
            make_folder(self.folder, parents=config.shard_context is None)  # that of a shard may have been moved away
            with (
                self._collector.running(self.folder),
                config.storage.frontier() as frontier,
                nullcontext(SinkRunner(sink, self.folder, frontier)) as runner,
                Ledger(self.folder / LEDGER, frontier.load_state("ledger"), config.clock) as ledger,
                ThreadPoolExecutor(1, "comity-read") as reader,  # has no thread until something is given to it
                ThreadPoolExecutor(1, "comity-commit") as writer,  # left when it is at rest
                runner.opened(writer),
                closing(config.storage.journal()) as journal,
                closing(Telemetry()) if self.settings.telemetry else nullcontext() as telemetry,
            ):
                resources = RunResources(frontier, journal, runner, ledger, reader, writer, telemetry)
                run = self._run = Run(config, resources, self.control, self._collector)
                async with run.client:
                    self.end = await run.work()
        return self.stats

    def _webhook_block(self) -> AbstractContextManager[object]:
        """A block of which the webhook is told how it ended; of a shard it tells of hosts alone."""
        if self._webhook is None:
            return nullcontext()
        is_whole = self._config.shard_context is None
        return self._webhook.told_end(self.folder, lambda: self.stats) if is_whole else closing(self._webhook)
