"""Sets up the process of a crawl and runs it until it ends or is stopped. Workers are set up in the same way."""

import asyncio
import ctypes
import gc
import logging
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from rich.console import Console

from comity.cli.logs import logging_to
from comity.cli.progress import watch
from comity.cli.terminal import error_line, nonblocking, print_err
from comity.crawler import Crawler, Stats
from comity.crawler.output.plugins import look_in

SWITCH_SECONDS = 0.0005  # seconds between threads: a commit must not hold up requests whose time has come
GC_OBJECTS = 50_000  # objects made between two looks for cycles, of which a crawl makes few
MMAP_THRESHOLD_BYTES = 1024 * 1024  # bytes of a block that goes back to the system when it is freed
TRIM_THRESHOLD_BYTES = 32 * 1024 * 1024  # bytes at the end of the heap that do not
TOP_PAD_BYTES = 4 * 1024 * 1024  # bytes by which the heap grows at least
PROCESS_STACK = ExitStack()  # what a worker's process has open until it ends
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -2, -3, -8  # malloc.h: M_TRIM_THRESHOLD and so on


def tune() -> None:
    """Tune the interpreter and malloc for a crawl, which has the process to itself."""
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.freeze()  # what is there now stays to the end
    gc.set_threshold(GC_OBJECTS, 20, 100)
    # Left to itself, glibc takes blocks from the heap up to the size of the largest ever freed, and the bodies of a
    # crawl leave holes in it: several times as much memory as is in use. And it gives back what it needs for the next
    # page: each page of memory that comes again takes the kernel microseconds, and a body has seventy.
    with suppress(AttributeError, OSError, TypeError):  # another C library, or none that has a name
        option = ctypes.CDLL(None).mallopt
        option(_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES)
        option(_TRIM_THRESHOLD, TRIM_THRESHOLD_BYTES)
        option(_TOP_PAD, TOP_PAD_BYTES)
        option(_ARENA_MAX, 1)  # threads share one heap: bodies are made in one and freed in another


def prepare(folder: Path, verbose: int, log: Path | None) -> None:
    """Set up a worker process for its whole life. Plug-ins are found in `folder`, where the command was run."""
    look_in(folder)
    tune()
    PROCESS_STACK.enter_context(nonblocking())
    PROCESS_STACK.enter_context(logging_to(log, Console(stderr=True) if verbose else None, level=level_of(verbose)))


def level_of(verbose: int) -> int:
    """Return the log level for a number of -v."""
    return logging.DEBUG if verbose > 1 else logging.INFO


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return uvloop's loop factory if it is installed (extra `speed`)."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def on_signal(loop: asyncio.AbstractEventLoop, number: signal.Signals, action: Callable[[], object]) -> None:
    """Call an action when a signal arrives, also on Windows, whose loop has no signal handlers."""
    try:
        loop.add_signal_handler(number, action)
    except NotImplementedError:
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(action))


def run(crawler: Crawler, console: Console | None, on_begin: Callable[[], None]) -> Stats:
    """Run a crawl, displayed on the console, until it ends or a signal stops it."""
    tune()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(_run(crawler, console, on_begin))


async def _run(crawler: Crawler, console: Console | None, on_begin: Callable[[], None]) -> Stats:
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(crawler.run(on_begin=on_begin))

    def interrupt() -> None:
        crawler.stop()
        on_signal(loop, signal.SIGINT, task.cancel)
        print_err("")
        error_line("finishing the requests in progress; press Ctrl-C again to stop at once")

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
