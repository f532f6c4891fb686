"""`comity crawl`: runs a Crawler, shows how it goes, sums up."""

import asyncio
import ctypes
import gc
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from comity import urls
from comity._compiled import lacks_compiled
from comity._ray import joined
from comity.cli.exits import Exit
from comity.cli.logs import logging_to
from comity.cli.progress import watch
from comity.cli.resuming import as_begun, settled_before, told_anew
from comity.cli.summary import sum_up
from comity.cli.terminal import complain, is_read, say, tell, unwaited
from comity.configuration import Configuration
from comity.crawler import Crawler, CrawlSettings, Stats
from comity.crawler.checkpoint import Begun
from comity.crawler.plugins import look_in
from comity.crawler.shards import is_sharded, manifest_of, shards_for, stored_in
from comity.crawler.workers.joined import LEASE, AnyCrawl, JoinedCrawl, begun_in
from comity.crawler.workers.processes import Start
from comity.crawler.workers.sharded import ShardedCrawl
from comity.crawler.workers.supervisor import COMMAND
from comity.errors import ComityError, InvalidSetting, StorageError
from comity.fields import SettingField
from comity.frontier.durable import writing_to

SWITCH = 0.0005  # seconds between threads: a commit must not hold up requests whose time has come
GARBAGE = 50_000  # objects made between two looks for cycles, of which a crawl makes few
OF_ITS_OWN = 1024 * 1024  # bytes of a block that goes back to the system when it is freed
KEPT_FREE = 32 * 1024 * 1024  # bytes at the end of the heap that do not
GROWTH = 4 * 1024 * 1024  # bytes by which the heap grows at least
_LEASE = SettingField(name="--lease", hint=float, unit="seconds")
FOR_GOOD = ExitStack()  # what a worker's process has open until it ends
INTERPRETED = (
    "modules are interpreted, which costs several times the CPU: comity was installed without a C compiler, or from "
    "the wheel that pip kept of such a time (with one: pip cache remove comity && "
    "pip install --force-reinstall --no-deps comity; COMITY_NO_EXTENSIONS=1 leaves this line out)"
)
DEMO_DELAY = 0.2  # seconds; the demo site is ours

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -2, -3, -8  # malloc.h: M_TRIM_THRESHOLD and so on


@unwaited()
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
    ok_if_some_failed: bool = False,
    workers: int = 1,
    shards: int | None = None,
    store: str | None = None,
    join: bool = False,
    lease: str | None = None,
    engine: str = "local",
    address: str | None = None,
) -> Exit:
    """Crawl into a folder and print the summary."""
    if address is not None and engine != "ray":
        raise InvalidSetting("--address names a Ray cluster: add --engine ray")
    if demo and (seeds or resume or refresh):
        raise InvalidSetting("--demo starts its own web site and cannot be combined with a URL, --resume or --refresh")
    console = Console(stderr=True)
    try:
        look_in(Path.cwd())  # plug-ins are found where the command is run
    except OSError as error:
        raise StorageError(f"the current folder cannot be used: {error.strerror}", hint="change to one") from error
    policy, concurrency = configuration.policy, configuration.crawl.concurrency
    settings: CrawlSettings | dict[str, Any] = configuration.crawl
    client_settings = configuration.client
    if client_settings.connections < concurrency:
        client_settings = replace(client_settings, connections=concurrency)
    with ExitStack() as stack:
        if demo:
            from comity.demo import serve

            try:
                site = stack.enter_context(serve())
            except OSError as error:
                what = error.strerror or error
                raise ComityError(f"--demo: its web site cannot be served on this machine: {what}") from error
            seeds = list(site.seeds)
            policy = policy.with_changes(allow_addresses=(*policy.allow_addresses, "127.0.0.0/8"))
            if configuration.settings["min_interval"].origin == "default":
                policy = policy.with_changes(min_interval=DEMO_DELAY)
            client_settings = replace(client_settings, resolve=site.resolve)
        if join and (settled := settled_before(configuration, lease)):
            raise InvalidSetting(f"--join takes part in a crawl as it was begun: leave out {', '.join(settled)}")
        again = "--resume" if resume else "--refresh" if refresh else None
        begun = Begun.at(folder) if store is None and folder is not None else Begun()
        if not seeds and not again and not join and source is None and not begun.is_there:
            raise InvalidSetting("no URL given: write for example: comity crawl https://example.com/")
        normal = [urls.normalise(seed) for seed in seeds]
        crawler: AnyCrawl
        goes_on = limits = ""
        command = (*COMMAND, *("-v",) * verbose, *(() if log is None else ("--log", str(log))))
        folder = _own_folder(folder, normal) if store is not None else _folder(folder, normal, again, begun)
        if resume or refresh:
            if store is not None:
                begun = begun_in(store)
            policy, goes_on = as_begun(begun.policy, configuration)
            settings, limits = told_anew(begun.settings, configuration)
        if engine == "ray" and store is None and shards is None and manifest_of(folder) is None:
            shards = shards_for(workers)  # one worker is placed as several are
        on_ray = None if engine == "local" else _on_ray(address, workers, verbose, log, anywhere=store is not None)
        if store is not None:
            crawler = JoinedCrawl(
                normal,
                folder,
                store,
                join=join,
                resume=resume,
                refresh=refresh,
                shards=shards,
                workers=workers,
                policy=policy,
                settings=settings,
                client_settings=client_settings,
                sink=sink,
                expander=expander,
                lease=LEASE if lease is None else _LEASE.checked(_LEASE.read(lease)),
                command=command,
                start=None if on_ray is None else stack.enter_context(on_ray),
            )
            crawler.on_word = complain
        elif is_sharded(folder, workers, shards):
            if source is not None:
                raise InvalidSetting("--source supplies URLs to a crawl in one process: leave out --workers, --shards")
            crawler = ShardedCrawl(
                normal,
                folder,
                shards=shards,
                workers=workers,
                policy=policy,
                settings=settings,
                client_settings=client_settings,
                sink=sink,
                expander=expander,
                refresh=refresh,
                command=command,
                start=None if on_ray is None else stack.enter_context(on_ray),
            )
        else:
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
                begun=begun,
            )
        crawler.on_begin = partial(_told, goes_on, limits)
        if report is not None:
            _check_writable(report, folder)
        level = logging.DEBUG if verbose > 1 else logging.INFO
        stack.enter_context(logging_to(log, console if verbose else None, level=level))
        if metrics is not None:
            from comity.cli.metrics import serving

            served = stack.enter_context(serving(crawler, metrics))
            if not quiet:
                complain(f"metrics at {served}")
        if lacks_compiled() and not quiet:
            complain(INTERPRETED)
        tune()
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            stats = runner.run(_run(crawler, None if as_json or quiet else console))
    if crawler.stopped and not is_read(sys.stdout):  # who ended it does not wait for a terminal that hangs
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    code = sum_up(crawler, stats, as_json=as_json, resumable=not demo, ok_if_some_failed=ok_if_some_failed)
    if report is not None:
        from comity.audit.report import write

        for words in write(folder, report, store=store):
            complain(words)
        if as_json:
            complain(f"report in {report}")
        else:
            say(f"{'report in':20}{'':>12}  {report}")
    return code


@contextmanager
def _on_ray(address: str | None, workers: int, verbose: int, log: Path | None, *, anywhere: bool) -> Iterator[Start]:
    """What starts workers as actors of Ray, which is joined meanwhile."""
    from comity.crawler.workers.on_ray import placing

    log = None if log is None else log.absolute()
    with joined("--engine ray", address, processors=workers, logs=verbose > 0) as ray:
        yield placing(ray, prepare=partial(prepare, Path.cwd(), verbose, log), anywhere=anywhere)


def _told(*lines: str) -> None:
    for line in filter(None, lines):
        complain(line)


def tune() -> None:
    """Set the interpreter up for a crawl: the process is ours."""
    sys.setswitchinterval(SWITCH)
    gc.freeze()  # what is there now stays to the end
    gc.set_threshold(GARBAGE, 20, 100)
    # Left to itself, glibc takes blocks from the heap up to the size of the largest ever freed, and the bodies of a
    # crawl leave holes in it: several times as much memory as is in use. And it gives back what it needs for the next
    # page: each page of memory that comes again takes the kernel microseconds, and a body has seventy.
    with suppress(AttributeError, OSError, TypeError):  # another C library, or none that has a name
        option = ctypes.CDLL(None).mallopt
        option(_MMAP_THRESHOLD, OF_ITS_OWN)
        option(_TRIM_THRESHOLD, KEPT_FREE)
        option(_TOP_PAD, GROWTH)
        option(_ARENA_MAX, 1)  # threads share one heap: bodies are made in one and freed in another


def _own_folder(folder: Path | None, seeds: list[str]) -> Path:
    """Where this machine keeps its parts of a crawl that lies in PostgreSQL."""
    if folder is not None and stored_in(folder) is None and Begun.at(folder).is_there:
        raise StorageError(f"{folder} already contains a crawl of its own", hint="choose another folder with -o")
    return folder or _folder(None, seeds, None, Begun())


def prepare(folder: Path, verbose: int, log: Path | None) -> None:
    """Set up a process that is a worker, and nothing else until it ends.

    Args:
        folder: where the command is run: plug-ins are found there.
    """
    look_in(folder)
    tune()
    FOR_GOOD.enter_context(unwaited())
    level = logging.DEBUG if verbose > 1 else logging.INFO
    FOR_GOOD.enter_context(logging_to(log, Console(stderr=True) if verbose else None, level=level))


def _folder(folder: Path | None, seeds: list[str], again: str | None, begun: Begun) -> Path:
    """Where the crawl lies; `again` is the option that goes on with one, if it was given, `begun` what lies there."""
    if folder is None:
        if again:
            raise InvalidSetting(f"{again} needs the folder of the crawl: -o DIR")
        host = urls.host(seeds[0]).strip("[]").replace(":", "-") + "-" if seeds else ""  # Windows allows no colon
        return Path(f"crawl-{host}{time.strftime('%Y%m%d-%H%M%S')}")
    if begun.is_there and not again:
        raise StorageError(
            f"{folder} already contains a crawl", hint="add --resume to continue it, --refresh to see what changed"
        )
    if again and not begun.is_there:
        raise StorageError(
            f"there is no crawl in {folder} to {again.removeprefix('--')}", hint=f"leave out {again} to start one"
        )
    return folder


def _check_writable(file: Path, folder: Path) -> None:
    """See before the crawl whether a file can be written after it; in the crawl's own folder it can."""
    if file.parent == folder and not file.is_dir():
        return
    before = file.exists()
    with writing_to(file, "name another --report FILE"):
        file.open("ab").close()
        if not before:
            file.unlink()


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's loop where it is installed (extra `speed`)."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def on_signal(loop: asyncio.AbstractEventLoop, number: signal.Signals, action: Callable[[], object]) -> None:
    """Have the loop do something when a signal comes, on Windows too, whose loop takes no handlers."""
    try:
        loop.add_signal_handler(number, action)
    except NotImplementedError:
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(action))


async def _run(crawler: AnyCrawl, console: Console | None) -> Stats:
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(crawler.run())

    def interrupt() -> None:
        crawler.stop()
        on_signal(loop, signal.SIGINT, task.cancel)
        tell("")
        complain("finishing the requests in progress; press Ctrl-C again to stop at once")

    on_signal(loop, signal.SIGINT, interrupt)
    on_signal(loop, signal.SIGTERM, crawler.stop)
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
