"""`comity worker`: one process of a crawl of several shards. `comity crawl --workers` starts it; nobody types it."""

import signal
import sys
from contextlib import suppress
from pathlib import Path

from comity.cli.options import PATH, command, option
from comity.errors import InputError


@command("")
@option("-v --verbose", None, "Log to standard error.", count=True)
@option("--log", "FILE", "Write a log to FILE.", type=PATH)
def worker(verbose: int, log: Path | None) -> int:
    """Run one process of a crawl with several; comity crawl --workers starts it."""
    for each in (signal.SIGINT, signal.SIGTERM):  # a terminal tells the whole group; who started us decides
        with suppress(ValueError):
            signal.signal(each, signal.SIG_IGN)
    if sys.stdin.isatty():
        raise InputError("this is started by comity crawl --workers", hint="run that command")
    from comity.cli.process import PROCESS_STACK, loop_factory, prepare
    from comity.crawler.cluster.pipe import Pipe, serve

    pipe = Pipe()
    prepare(Path.cwd(), verbose, log)
    with PROCESS_STACK, suppress(EOFError):
        return serve(pipe, pipe.job(), loop_factory())
    return 1  # who started us is gone already
