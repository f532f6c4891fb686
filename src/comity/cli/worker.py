"""`comity worker`: one process of a crawl of several shards. `comity crawl --workers` starts it; nobody types it."""

import logging
import signal
import sys
from contextlib import ExitStack, suppress
from pathlib import Path

from rich.console import Console

from comity.cli.crawl import loop_factory, tune
from comity.cli.logs import logging_to
from comity.crawler.workers.worker import Pipe, serve
from comity.errors import InputError


def prepare(folder: Path, verbose: int, log: Path | None) -> None:
    """Set up a process that is a worker, and nothing else until it ends.

    Args:
        folder: where the command is run: plug-ins are found there.
    """
    sys.path.insert(0, str(folder))
    tune()
    level = logging.DEBUG if verbose > 1 else logging.INFO
    _FOR_GOOD.enter_context(logging_to(log, Console(stderr=True) if verbose else None, level=level))


_FOR_GOOD = ExitStack()


def work(*, verbose: int, log: Path | None) -> int:
    """Do the job that standard input says."""
    for each in (signal.SIGINT, signal.SIGTERM):  # a terminal tells the whole group; who started us decides
        with suppress(ValueError):
            signal.signal(each, signal.SIG_IGN)
    if sys.stdin.isatty():
        raise InputError("this is started by comity crawl --workers", hint="run that")
    pipe = Pipe()
    prepare(Path.cwd(), verbose, log)
    with _FOR_GOOD, suppress(EOFError):
        return serve(pipe, pipe.job(), loop_factory())
    return 1  # who started us is gone already
