"""Sends the log of a command to standard error or a file, one line per message, whatever a site sent."""

import logging.handlers
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.text import Text

from comity.cli.terminal import error_line
from comity.crawler.observe.stats import shown
from comity.frontier.durable import writing_to

MAX_LINE_CHARACTERS = 2000  # characters of a line


class LineFormatter(logging.Formatter):
    """`2026-11-21T06:39:07Z warning  message`, on one line."""

    def format(self, record: logging.LogRecord) -> str:
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
        message = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            message += f": {type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
        return f"{at} {record.levelname.lower():7}  {shown(message, MAX_LINE_CHARACTERS)}"


class OnConsole(logging.Handler):
    """Prints log lines above the live display on the same console."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._console.print(Text(self.format(record)), soft_wrap=True, highlight=False)
        except Exception:
            self.handleError(record)


class ToFile(logging.handlers.WatchedFileHandler):
    """Appends to a file, to a new one once it was moved away; if that fails, it says so once and stops."""

    full = False

    def emit(self, record: logging.LogRecord) -> None:
        if not self.full:
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - its name in the standard library
        error = sys.exc_info()[1]
        if isinstance(error, OSError):
            self._given_up(error)
        else:
            super().handleError(record)

    def close(self) -> None:
        try:
            super().close()
        except OSError as error:
            self._given_up(error)

    def _given_up(self, error: OSError) -> None:
        if not self.full:
            self.full = True
            why = error.strerror or str(error)
            error_line(f"{self.baseFilename} cannot be written: {why}; nothing more is logged")


@contextmanager
def logging_to(file: Path | None, console: Console | None, *, level: int) -> Iterator[None]:
    """Send comity's log, from a level on, to a file, a console, both or neither."""
    handlers: list[logging.Handler] = [] if console is None else [OnConsole(console)]
    if file is not None:
        with writing_to(file, "name another --log FILE"):
            handlers.append(ToFile(file, encoding="utf-8"))
    logger = logging.getLogger("comity")
    before = logger.level
    if handlers:
        logger.setLevel(level)
    for handler in handlers:
        handler.setFormatter(LineFormatter())
        logger.addHandler(handler)
    try:
        yield
    finally:
        logger.setLevel(before)
        for handler in handlers:
            logger.removeHandler(handler)
            handler.close()
