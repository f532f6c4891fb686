"""`comity crawl`: runs a Crawler, shows how it goes, sums up."""

import asyncio
import dataclasses
import gc
import json
import logging
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from comity import urls
from comity.cli.exits import Exit
from comity.cli.logs import logging_to
from comity.cli.progress import size, watch
from comity.configuration import Configuration
from comity.crawl import Crawler, Stats
from comity.crawl.again import policies
from comity.crawl.frontier import has_begun
from comity.crawl.sinks.guarded import FORMATS
from comity.crawl.watch.shown import shown
from comity.errors import FetchError, InvalidSetting, StorageError
from comity.policy import Policy

SWITCH = 0.0005  # seconds between threads: a commit must not hold up requests whose time has come
GARBAGE = 50_000  # objects made between two looks for cycles, of which a crawl makes few
DEMO_DELAY = 0.2  # seconds; the demo site is ours


def crawl(
    seeds: Sequence[str],
    *,
    folder: Path | None,
    configuration: Configuration,
    resume: bool,
    refresh: bool,
    report: Path | None,
    demo: bool,
    as_json: bool,
    sink: str | None = None,
    source: str | None = None,
    expander: str | None = None,
    quiet: bool = False,
    verbose: int = 0,
    log: Path | None = None,
    metrics: str | None = None,
) -> Exit:
    """Crawl into a folder and print the summary."""
    console = Console(stderr=True)
    sys.path.insert(0, str(Path.cwd()))  # plug-ins are found where the command is run
    policy, settings = configuration.policy, configuration.crawl
    client_settings = configuration.client
    if client_settings.connections < settings.concurrency:
        client_settings = replace(client_settings, connections=settings.concurrency)
    with ExitStack() as stack:
        if demo:
            from comity.demo import serve

            site = stack.enter_context(serve())
            seeds = list(site.seeds)
            policy = policy.with_changes(allow_addresses=(*policy.allow_addresses, "127.0.0.0/8"))
            if configuration.settings["min_interval"].origin == "default":
                policy = policy.with_changes(min_interval=DEMO_DELAY)
            client_settings = replace(client_settings, resolve=site.resolve)
        if not seeds and not resume and not refresh and source is None:
            raise InvalidSetting("no URL given: write for example: comity crawl https://example.com/")
        normal = [urls.normalise(seed) for seed in seeds]
        folder = _folder(folder, normal, "--resume" if resume else "--refresh" if refresh else None)
        if resume or refresh:
            policy = _as_begun(folder, configuration)
        crawler = Crawler(
            normal,
            folder,
            policy=policy,
            settings=settings,
            client_settings=client_settings,
            sink=sink,
            source=source,
            expander=expander,
            refresh=refresh,
        )
        level = logging.DEBUG if verbose > 1 else logging.INFO
        stack.enter_context(logging_to(log, console if verbose else None, level=level))
        if metrics is not None:
            from comity.cli.metrics import serving

            served = stack.enter_context(serving(crawler, metrics))
            if not quiet:
                print(f"comity: metrics at {served}", file=sys.stderr)
        tune()
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            stats = runner.run(_run(crawler, None if as_json or quiet else console))
    if report is not None:
        from comity.crawl.report import write

        write(folder, report)
    return _sum_up(crawler, stats, as_json=as_json)


def _as_begun(folder: Path, configuration: Configuration) -> Policy:
    """The policy that a crawl was begun with, but for what the command line says now."""
    now = configuration.policy
    begun = policies.begun_with(folder)
    if begun is None:
        return now
    typed = {name for name, setting in configuration.settings.items() if setting.origin == "argument"}
    fields = {field.name for field in dataclasses.fields(Policy)}
    begun = begun.with_changes(**{name: getattr(now, name) for name in typed & fields})
    if (begun.agent, begun.min_interval, begun.mode) != (now.agent, now.min_interval, now.mode):
        pace = f"{begun.min_interval:g} s between requests to a host, mode {begun.mode}"
        print(f"comity: goes on as it was begun: {shown(begun.agent)}, {pace}", file=sys.stderr)
    return begun


def tune() -> None:
    """Set the interpreter up for a crawl: the process is ours."""
    sys.setswitchinterval(SWITCH)
    gc.freeze()  # what is there now stays to the end
    gc.set_threshold(GARBAGE, 20, 100)


def _folder(folder: Path | None, seeds: list[str], again: str | None) -> Path:
    """Where the crawl lies; `again` is the option that goes on with one, if it was given."""
    if folder is None:
        if again:
            raise InvalidSetting(f"{again} needs the folder of the crawl: -o DIR")
        host = f"{urls.host(seeds[0])}-" if seeds else ""
        return Path(f"crawl-{host}{time.strftime('%Y%m%d-%H%M%S')}")
    held = has_begun(folder / "frontier.sqlite")
    if held and not again:
        raise StorageError(
            f"{folder} holds a crawl already", hint="add --resume to go on with it, --refresh to see what changed"
        )
    if again and not held:
        raise StorageError(
            f"{folder} holds no crawl to {again.removeprefix('--')}", hint=f"leave {again} out to start one"
        )
    return folder


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's loop where it is installed (extra `speed`)."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


async def _run(crawler: Crawler, console: Console | None) -> Stats:
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(crawler.run())

    def interrupt() -> None:
        crawler.stop()
        loop.remove_signal_handler(signal.SIGINT)
        loop.add_signal_handler(signal.SIGINT, task.cancel)
        print("\ncomity: finishing what is under way; once more stops at once", file=sys.stderr)

    with suppress(NotImplementedError):  # Windows
        loop.add_signal_handler(signal.SIGINT, interrupt)
        loop.add_signal_handler(signal.SIGTERM, crawler.stop)
    watching = None if console is None else asyncio.ensure_future(watch(crawler, console))
    try:
        return await task
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        if watching is not None:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching


def _sum_up(crawler: Crawler, stats: Stats, *, as_json: bool) -> Exit:
    if as_json:
        print(json.dumps({"folder": str(crawler.folder), **stats.to_dict()}))
    else:
        changes = (
            ("new", f"{stats.new:,}", _where(crawler, "changes")),
            ("changed", f"{stats.changed:,}", ""),
            ("gone", f"{stats.gone:,}", ""),
            ("unchanged", f"{stats.unchanged:,}", ""),
        )
        rows = (
            *(changes if crawler.refreshes else ()),
            ("pages", f"{stats.pages:,}", _where(crawler, "pages")),
            ("refused by rule", f"{stats.refused:,}", _where(crawler, "refusals")),
            ("left out as traps", f"{stats.trapped:,}", _where(crawler, "traps")),
            ("failed", f"{stats.failed:,}", _where(crawler, "failures")),
            *((("wait for robots.txt", f"{stats.postponed:,}", "that could not be reached"),) * bool(stats.postponed)),
            ("redirects", f"{stats.redirects:,}", _where(crawler, "redirects")),
            ("duplicates", f"{stats.duplicates:,}", f"marked in {_where(crawler, 'pages')}"),
            ("size of pages", size(stats.body_bytes), ""),
            ("waited to be polite", f"{stats.waited:,.1f} s", "summed over hosts"),
        )
        console = Console(highlight=False, soft_wrap=True)
        for name, value, where in rows:
            console.print(f"{name:20}[bold]{value:>12}[/]  [dim]{where}[/]".rstrip())
        if crawler.limit_reached:
            console.print(f"{'ended because':20}{'':>12}  {crawler.limit_reached}", markup=False)
        console.print(f"{'results in':20}{'':>12}  {crawler.folder}", markup=False)
    if not (stats.pages or stats.unchanged or stats.gone) and crawler.trouble:
        raise FetchError(f"nothing was fetched: {crawler.trouble}")
    if stats.postponed and not crawler.stopped:
        print(
            f"comity: URLs that wait for a robots.txt that could not be reached: {stats.postponed:,}; "
            f"later, comity crawl -o {crawler.folder} --resume asks again",
            file=sys.stderr,
        )
        if not stats.pages:
            return Exit.NOT_READY
    if crawler.stopped:
        print(f"comity: stopped before the end; comity crawl -o {crawler.folder} --resume goes on", file=sys.stderr)
        return Exit.INTERRUPTED
    return Exit.PARTLY if stats.failed else Exit.DONE


def _where(crawler: Crawler, channel: str) -> str:
    """Which file of the folder holds a channel's records."""
    return FORMATS[crawler.format].where.format(channel) if crawler.format in FORMATS else crawler.format
