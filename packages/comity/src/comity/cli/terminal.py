"""What the command prints: words of sites, of files and of URLs may not steer the terminal that shows them.

Every line for people goes through here; JSON escapes such characters by itself.
"""

import io
import json
import os
import stat
import sys
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
INSTEAD: Final = "\N{REPLACEMENT CHARACTER}"
MOST_WAITING: Final = 64 * 1024  # octets that wait to be read before more is dropped
PIECE: Final = 512  # octets written at once
READ_WITHIN: Final = 2.0  # seconds after which nobody is taken to read any more
# Not printable by Python's measure, and yet harmless: joiners, which scripts need, and the soft hyphen.
_HARMLESS: Final = frozenset("\u200c\u200d\xad")


def safe(text: str, *, lines: bool = False) -> str:
    """A text without what a terminal obeys: control characters, what turns the direction of writing, invisible tags. Of
    several `lines` ends and tabs stay."""
    if text.isprintable():
        return text
    return "".join(char if _is_shown(char) or (lines and char in "\n\t") else INSTEAD for char in text)


def _is_shown(char: str) -> bool:
    return char.isprintable() or char in _HARMLESS or unicodedata.category(char) == "Zs"


def say(text: str, *, lead: str = "", colour: str | None = None) -> None:
    """One line on standard output; on a terminal what leads it has a colour."""
    shown = safe(lead)
    if colour is not None and sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        shown = click.style(shown, fg=colour)
    print(f"{shown}{safe(text)}")


def tell(text: str) -> None:
    """One line on standard error."""
    print(safe(text), file=sys.stderr)


def complain(message: str) -> None:
    """One line on standard error that begins with the command's name; passwords in URLs are concealed."""
    click.echo(f"comity: {safe(without_userinfo(' '.join(message.split())))}", err=True)


class _Stdout(io.FileIO):
    """Standard output, whose errors say that they are its own."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = STDOUT
            raise


class Unwaited(io.TextIOBase):
    """A stream that takes text at once and never waits for who reads it: a thread writes it, whole pieces of it are
    dropped while too much waits. A terminal that hangs or was stopped by Ctrl-S must not stop what goes on.
    """

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
            if data and self._size + len(data) <= MOST_WAITING:
                self._waiting.append(data)
                self._size += len(data)
                self._changed.notify_all()
        return len(text)

    def drain(self) -> None:
        """Come back when all is written, or for a while nothing more of it is read."""
        with self._changed:
            while left := self._size:
                self._changed.wait(READ_WITHIN)
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
                    written = os.write(self._stream.fileno(), data[:PIECE])
                except OSError:  # nobody will ever read it
                    written = len(data)
                data = data[written:]
                with self._changed:
                    self._size -= written
                    self._changed.notify_all()
            with self._changed:
                self._waiting.popleft()


@contextmanager
def unwaited(name: str = "stderr") -> Iterator[None]:
    """Have nothing wait in the block for who reads a standard stream, be it a terminal or another program."""
    before, waits = getattr(sys, name), False
    with suppress(OSError, ValueError):  # one that has no number is no stream of the system's
        waits = os.name == "posix" and not stat.S_ISREG(os.fstat(before.fileno()).st_mode)
    if not waits:
        yield
        return
    before.flush()
    stream = Unwaited(before)
    setattr(sys, name, stream)
    try:
        yield
    finally:
        setattr(sys, name, before)
        stream.drain()


def take_streams() -> None:
    """See that there are three standard streams, that standard output takes any text, whatever the locale, and that an
    error of it can be told from others. What is read from a standard input that is closed is an error, and not an empty
    file, which would allow everything.
    """
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


def warned(message: Warning | str, *_: object, **__: object) -> None:
    """A warning as one line, for `warnings.showwarning`."""
    complain(str(message).removeprefix("comity: "))


def partly(absent: Sequence[str]) -> Exit:
    """Say what of a crawl is missing; the exit code of that."""
    for words in absent:
        complain(words)
    return Exit.PARTLY if absent else Exit.DONE


def counted(number: int, noun: str) -> str:
    """A number with its noun: `1 page`, `2 pages`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def show_json(value: Any) -> None:
    """A value as JSON on standard output."""
    print(json.dumps(value, indent=2))
