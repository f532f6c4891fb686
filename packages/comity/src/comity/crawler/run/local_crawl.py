"""A crawl, or one shard of one, that is worked in this process: what it reads and writes is open while it runs."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import replace

from comity.crawler.observe.snapshot import HostStatus, Phase, Snapshot, take
from comity.crawler.observe.stats import Stats, StatsCollector
from comity.crawler.observe.telemetry import Telemetry
from comity.crawler.output.ledger import Ledger
from comity.crawler.output.runner import DEFAULT, LEDGER, SinkRunner, check_free, named
from comity.crawler.run.control import Control
from comity.crawler.run.hosts import status_of
from comity.crawler.run.recrawl import not_begun
from comity.crawler.run.run import End, Run
from comity.crawler.run.run_config import Listeners, RunConfig, RunResources
from comity.frontier.durable import make_folder
from comity.net import Session
from comity.net.names import dns_library


class LocalCrawl:
    """One crawl in this process.

    Attributes:
        control: how it is told to stop, to hold and to go on.
        collector: what it is counted by.
        running: the run that was begun last, with all its parts; None before.
        end: how the last run ended.
    """

    def __init__(self, config: RunConfig) -> None:
        self._config = config
        self.control = Control(config.clock)
        self.collector = StatsCollector(config.clock)
        self.running: Run | None = None
        self.end = End()
        self.stop = self.control.stop

    @property
    def stats(self) -> Stats:
        return self.collector.stats

    @property
    def stopped(self) -> bool:
        return self.control.stopping

    @property
    def format(self) -> str:
        assert self.running is not None
        return self.running.resources.sink.name

    @property
    def refreshes(self) -> bool:
        return self.running is not None and self.running.refresh is not None

    def snapshot(self, *, hosts: int = 10, rules: int = 10) -> Snapshot:
        """How the crawl stands, with its busiest hosts and rules: from any thread, before, while and after it runs."""
        phase: Phase = "stopping" if self.control.stopping else "held" if self.control.held else "running"
        collector, scheduler = self.collector, None if self.running is None else self.running.scheduler

        def standing(now: float) -> list[HostStatus]:
            return [] if scheduler is None else [status_of(host, collector, now) for host in scheduler.hosts.all()]

        under_way = 0 if scheduler is None else len(scheduler.tasks)
        return take(collector, standing, phase, under_way, most_hosts=hosts, most_rules=rules)

    async def run(self, listeners: Listeners, pace_with: Session | None = None) -> None:
        """Crawl until nothing is left, `max_pages` is reached or `control` says so."""
        config, settings = replace(self._config, listeners=listeners, pace_with=pace_with), self._config.settings
        folder, storage, sink = config.folder, config.storage, None if config.sink is None else named(config.sink)
        is_begun = storage.config().is_there
        has_start = bool(config.seeds) or config.plugins.source is not None
        if (config.begins_refresh or not has_start) and not is_begun:
            raise not_begun(folder, "refresh" if config.begins_refresh else "continue")
        if settings.renders:  # check for a missing browser before creating the folder
            from comity.crawler.rendering.browser import Browser

            Browser(settings.render_browser)
        if config.client_settings.nameservers:
            dns_library()
        if not is_begun and not (folder / "frontier.sqlite").exists():
            check_free(folder, DEFAULT if sink is None else sink.name, LEDGER)
        make_folder(folder, parents=config.assignment is None)  # that of a shard may have been moved away
        with (
            self.collector.running(folder),
            storage.frontier() as frontier,
            nullcontext(SinkRunner(sink, folder, frontier)) as runner,
            Ledger(folder / LEDGER, frontier.load_state("ledger"), config.clock) as ledger,
            ThreadPoolExecutor(1, "comity-read") as reader,  # has no thread until something is given to it
            ThreadPoolExecutor(1, "comity-commit") as writer,  # left when it is at rest
            runner.opened(writer),
            closing(storage.journal()) as journal,
            closing(Telemetry()) if settings.telemetry else nullcontext() as telemetry,
        ):
            resources = RunResources(frontier, journal, runner, ledger, reader, writer, telemetry)
            run = self.running = Run(config, resources, self.control, self.collector)
            async with run.client:
                self.end = await run.work()
