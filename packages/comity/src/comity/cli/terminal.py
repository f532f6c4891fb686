"""What the command prints: words of sites, of files and of URLs may not steer the terminal that shows them.

Every line for people goes through here; JSON escapes such characters by itself.
"""

import io
import json
import os
import shutil
import stat
import sys
import textwrap
import threading
import unicodedata
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, TextIO

import click

from comity.cli.exits import Exit
from comity.errors import without_userinfo

STDOUT: Final = "standard output"  # as the file of an error of it
REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"
MAX_WAITING_BYTES: Final = 64 * 1024  # octets that wait to be read before more is dropped
MAX_WRITE_BYTES: Final = 512  # octets written at once
MAX_STALL_SECONDS: Final = 2.0  # seconds after which nobody is taken to read any more
# Not printable by Python's measure, and yet harmless: joiners, which scripts need, and the soft hyphen.
_HARMLESS: Final = frozenset("\u200c\u200d\xad")


def safe(text: str, *, lines: bool = False) -> str:
    """Replace what a terminal would obey (control characters, direction marks, invisible tags). With `lines`, line
    ends and tabs stay."""
    if text.isprintable():
        return text
    return "".join(char if _is_shown(char) or (lines and char in "\n\t") else REPLACEMENT for char in text)


def _is_shown(char: str) -> bool:
    return char.isprintable() or char in _HARMLESS or unicodedata.category(char) == "Zs"


def print_out(text: str, *, lead: str = "", colour: str | None = None, indent: int | None = None) -> None:
    """Print a line on standard output; on a terminal its lead is coloured, and with `indent` a line that is too long
    goes on below its text, so many columns from the left."""
    shown, text = safe(lead), safe(text)
    if sys.stdout.isatty():
        if indent is not None and len(shown) + len(text) > (columns := shutil.get_terminal_size().columns) > 2 * indent:
            words = text.lstrip()
            lines = textwrap.wrap(
                words,
                columns,
                initial_indent=" " * (len(shown) + len(text) - len(words)),
                subsequent_indent=" " * indent,
                break_long_words=False,
                break_on_hyphens=False,
            )
            text = "\n".join(lines)[len(shown) :]
        if colour is not None and not os.environ.get("NO_COLOR"):
            shown = click.style(shown, fg=colour)
    print(f"{shown}{text}")


def print_err(text: str) -> None:
    """Print a line on standard error."""
    print(safe(text), file=sys.stderr)


def error_line(message: str) -> None:
    """Print a line on standard error after the command's name; passwords in URLs are concealed."""
    click.echo(f"comity: {safe(without_userinfo(' '.join(message.split())))}", err=True)


class _Stdout(io.FileIO):
    """Standard output; its errors name it as their file."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = STDOUT
            raise


class NonBlockingStream(io.TextIOBase):
    """A stream whose write never blocks: a thread writes, and text is dropped while too much waits. A terminal that
    hangs or was stopped by Ctrl-S must not stop the crawl."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._waiting: deque[bytes] = deque()
        self._size = 0  # octets that wait
        self._changed = threading.Condition()
        threading.Thread(target=self._write, name="comity-terminal", daemon=True).start()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding or "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]
        return "backslashreplace"

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        data = text.encode(self.encoding, self.errors)
        with self._changed:
            if data and self._size + len(data) <= MAX_WAITING_BYTES:
                self._waiting.append(data)
                self._size += len(data)
                self._changed.notify_all()
        return len(text)

    def drain(self) -> None:
        """Wait until everything is written, or until nothing is read any more."""
        with self._changed:
            while left := self._size:
                self._changed.wait(MAX_STALL_SECONDS)
                if self._size == left:
                    return

    def _write(self) -> None:
        while True:
            with self._changed:
                while not self._waiting:
                    self._changed.wait()
                data = self._waiting[0]
            while data:
                try:
                    written = os.write(self._stream.fileno(), data[:MAX_WRITE_BYTES])
                except OSError:  # nobody will ever read it
                    written = len(data)
                data = data[written:]
                with self._changed:
                    self._size -= written
                    self._changed.notify_all()
            with self._changed:
                self._waiting.popleft()


@contextmanager
def nonblocking(name: str = "stderr") -> Iterator[None]:
    """Replace a standard stream by a non-blocking one within the block."""
    before, waits = getattr(sys, name), False
    with suppress(OSError, ValueError):  # one that has no number is no stream of the system's
        waits = os.name == "posix" and not stat.S_ISREG(os.fstat(before.fileno()).st_mode)
    if not waits:
        yield
        return
    before.flush()
    stream = NonBlockingStream(before)
    setattr(sys, name, stream)
    try:
        yield
    finally:
        setattr(sys, name, before)
        stream.drain()


def prepare_streams() -> None:
    """Make sure that three standard streams exist, that standard output accepts any text, and that its errors can be
    told from others. Reading a closed standard input is an error: an empty file would allow everything."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:  # closed by who started us (`>&-`): what is opened next would take its number
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), number)
            file = number if mode == "r" else os.devnull
            setattr(sys, name, open(file, mode, encoding="utf-8", closefd=file != number))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")
    old = sys.stdout
    raw = getattr(old.buffer, "raw", old.buffer) if isinstance(old, io.TextIOWrapper) else None
    if old is sys.__stdout__ and isinstance(old, io.TextIOWrapper) and isinstance(raw, io.FileIO):
        own: Any = _Stdout(raw.fileno(), "w", closefd=False)
        sys.stdout = io.TextIOWrapper(
            own if raw is old.buffer else io.BufferedWriter(own),  # unbuffered by `python -u`
            old.encoding,
            old.errors,
            line_buffering=old.line_buffering,
            write_through=old.write_through,
        )


def show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning as one line, for `warnings.showwarning`."""
    error_line(str(message).removeprefix("comity: "))


def report_missing(absent: Sequence[str]) -> Exit:
    """Print which parts of a crawl are missing; return the exit code."""
    for words in absent:
        error_line(words)
    return Exit.PARTLY if absent else Exit.DONE


def count_noun(number: int, noun: str) -> str:
    """Format a number with its noun: `1 page`, `2 pages`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    print(json.dumps(value, indent=2))
